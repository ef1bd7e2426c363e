// How events become records of 32 bytes, the rings that keep them while a scheduler runs, and the
// file that holds them. bench/trace/FORMAT.md describes records and file for readers of the file.
//
// A ring lies in the memory of a Recorder, and keeps the newest records. It has one writer: the
// thread that is the worker, or a holder of the lock of the ring for external threads. Any thread
// may read the ring meanwhile, and a signal handler may, too.
//
// No lock, and no torn records. The writer of record n stores the four words and then n + 1 to
// m_next, all as releases. A reader loads the words and then m_next, all as acquires. If it has
// read a word of record n, it then finds at least n in m_next. So if m_next <= n + capacity - 1
// after the words of record n were read, none of them was overwritten by record n + capacity.
#pragma once

#include "containers/spin_lock.h"
#include "platform/env.h"
#include "weft/hooks.h"
#include "weft/trace/recorder.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>

namespace weft::internal {

/// The first word has the time. The second one has the kind in bits 0 to 7, a fiber in bits 8 to
/// 31, and another number in bits 32 to 63. The third and the fourth word are a number of a task,
/// or addresses of a counter, a text or a function.
struct TraceRecord {
    uint64_t words[4];
};

struct TraceRecords {
    /// In the place of the kind: the task that ran has ended, and this one begins at once. Not the
    /// number after the last kind, because more kinds may come.
    static constexpr uint32_t kTaskNext = 63;
    static_assert(kTraceKinds <= kTaskNext, "each kind needs a number of its own");
    /// In the place of the kind: more about the Submit of the record before.
    static constexpr uint32_t kMoreOfSubmit = 64;
    /// Added to the kind: the fourth word is the address of a function, not of a text.
    static constexpr uint32_t kIsFunction = 128;

    static constexpr uint64_t SecondWord(uint32_t kind, uint32_t fiber, uint32_t other) noexcept {
        return kind | uint64_t{fiber & 0xffffff} << 8 | uint64_t{other} << 32;
    }
};

template <class Pointer>
uint64_t AddressOf(Pointer pointer) noexcept {
    return reinterpret_cast<uintptr_t>(pointer);
}

/// The record of an event of a task. `kind`: a TraceKind, or kTaskNext.
inline TraceRecord TaskRecord(uint32_t kind, uint64_t ticks, uint32_t fiber, uint32_t other,
                              uint64_t taskId, const char *name, TaskFunction function) noexcept {
    const uint32_t flag = name != nullptr ? 0 : TraceRecords::kIsFunction;
    return {{ticks, TraceRecords::SecondWord(kind | flag, fiber, other), taskId,
             name != nullptr ? AddressOf(name) : AddressOf(function)}};
}

/// The (first) record of an event.
inline TraceRecord RecordOf(const TraceEvent &event) noexcept {
    const bool isTask = event.kind == TraceKind::TaskBegin || event.kind == TraceKind::TaskEnd;
    if (isTask || event.kind == TraceKind::Submit || event.kind == TraceKind::StackUse)
        return TaskRecord(static_cast<uint32_t>(event.kind), event.ticks, event.fiber,
                          isTask ? event.other : event.count, event.taskId, event.task,
                          event.function);
    const bool isCall = event.call != nullptr;
    const uint32_t kind =
        static_cast<uint32_t>(event.kind) | (isCall ? TraceRecords::kIsFunction : 0);
    const bool hasOther = event.kind == TraceKind::FiberSwitch || event.kind == TraceKind::Ready ||
                          event.kind == TraceKind::Wake;
    return {{event.ticks,
             TraceRecords::SecondWord(kind, event.fiber, hasOther ? event.other : event.count),
             isCall ? AddressOf(event.arg)
                    : AddressOf(event.lock) | AddressOf(event.counter),  // one of them is null
             isCall ? AddressOf(event.call) : AddressOf(event.task)}};
}

/// The second record of a Submit.
inline TraceRecord MoreOfSubmit(const TraceEvent &event) noexcept {
    return {{event.ticks,
             TraceRecords::SecondWord(TraceRecords::kMoreOfSubmit, event.fiber,
                                      static_cast<uint32_t>(event.priority)),
             AddressOf(event.counter), AddressOf(event.function)}};
}

/// The beginning of a file. Sections follow.
struct TraceFileHeader {
    char magic[8] = {'W', 'E', 'F', 'T', 'R', 'A', 'C', 'E'};
    uint32_t version = 2;
    uint32_t headerBytes = sizeof(TraceFileHeader);
    uint32_t recordBytes = sizeof(TraceRecord);
    uint32_t rings = 0;
    uint32_t workers = 0;
    uint32_t fibers = 0;
    uint64_t ticksAtStart = 0;
    uint64_t nanosecondsAtStart = 0;
    double ticksPerMicrosecond = 0;
    uint64_t stackBytes = 0;
};
static_assert(sizeof(TraceFileHeader) == 64, "the file format says so");

struct TraceSection {
    static constexpr uint32_t kText = 1, kRecords = 2, kEnd = 3, kRing = 4;
    uint32_t kind;
    uint32_t bytes;  // behind this object
};

/// The content of a section kRing.
struct TraceRingSection {
    uint32_t ring;
    uint32_t reserved;
    uint64_t firstRecord;  // the number of the record that follows
    uint64_t ticks;        // when the ring was read
};
static_assert(sizeof(TraceRingSection) == 24, "the file format says so");

class alignas(kLineBytes) TraceRing {
public:
    struct Cell {
        env::Atomic<uint64_t> words[4];
    };

    /// `cells` must outlive the ring. `capacity` is at least 2.
    void Use(Cell *cells, uint64_t capacity) noexcept {
        m_cells = cells;
        m_capacity = capacity;
        m_at = 0;
        m_next.store(0, kRelease);
    }

    /// For the one writer. Wait-free.
    void Put(const TraceRecord &record) noexcept {
        Cell &cell = m_cells[m_at];
        for (uint32_t i = 0; i < 4; ++i) cell.words[i].store(record.words[i], kRelease);
        // relaxed load: only the writer stores
        m_next.store(m_next.load(kRelaxed) + 1, kRelease);
        m_at = m_at + 1 == m_capacity ? 0 : m_at + 1;
    }

    /// Returns how many records have been written. acquire: they can be read afterwards.
    uint64_t Written() const noexcept { return m_next.load(kAcquire); }
    uint64_t Capacity() const noexcept { return m_capacity; }

    /// Copies record `index`, which has been written. Returns false if it has been overwritten.
    bool Read(uint64_t index, TraceRecord &record) const noexcept {
        const Cell &cell = m_cells[index % m_capacity];
        for (uint32_t i = 0; i < 4; ++i) record.words[i] = cell.words[i].load(kAcquire);
        return m_next.load(kAcquire) <= index + m_capacity - 1;
    }

private:
    Cell *m_cells = nullptr;
    uint64_t m_capacity = 0;
    uint64_t m_at = 0;  // m_next % m_capacity
    env::Atomic<uint64_t> m_next{0};
};

/// What a Recorder keeps of one run: a ring for each slot of the scheduler, and a last one for
/// external threads.
struct TraceRings {
    TraceRing *rings = nullptr;
    TraceFileHeader header;  // of the file; also has the number of rings
    SpinLock external;       // held by the writer of the last ring
};

/// Makes the rings of a Recorder, in the memory of the host.
struct RecorderAccess {
    /// Makes rings for a run with that many slots. Returns null if the memory is too small.
    static TraceRings *Begin(Recorder &recorder, uint32_t slots) noexcept {
        recorder.m_rings = nullptr;
        recorder.m_frameBegan.store(0, kRelaxed);  // no thread of the run exists yet
        void *at = recorder.m_memory;
        size_t left = recorder.m_bytes;
        const uint32_t count = slots + 1;
        auto *rings = Take<TraceRings>(at, left, 1);
        auto *ring = rings != nullptr ? Take<TraceRing>(at, left, count) : nullptr;
        if (ring == nullptr || std::align(alignof(TraceRing::Cell), 1, at, left) == nullptr)
            return nullptr;
        const size_t capacity = left / sizeof(TraceRing::Cell) / count;
        auto *cells = capacity >= kLeastCapacity ? Take<TraceRing::Cell>(at, left, capacity * count)
                                                 : nullptr;
        if (cells == nullptr) return nullptr;
        rings->rings = ring;
        rings->header.rings = count;
        for (uint32_t i = 0; i < count; ++i) ring[i].Use(cells + i * capacity, capacity);
        return recorder.m_rings = rings;
    }

    /// A frame has ended. Returns how long it took, in ticks; 0 for the first one of a run.
    /// relaxed: one number after the other.
    static uint64_t EndFrame(Recorder &recorder, uint64_t now) noexcept {
        const uint64_t began = recorder.m_frameBegan.exchange(now, kRelaxed);
        return began != 0 ? now - began : 0;
    }
    static const RecorderOptions &OptionsOf(const Recorder &recorder) noexcept {
        return recorder.m_options;
    }

private:
    static constexpr size_t kLeastCapacity = 64;

    // Makes `count` objects at the beginning of the memory that is left. Returns null if they have
    // no room.
    template <class T>
    static T *Take(void *&at, size_t &left, size_t count) noexcept {
        if (std::align(alignof(T), count * sizeof(T), at, left) == nullptr) return nullptr;
        T *first = static_cast<T *>(at);
        for (size_t i = 0; i < count; ++i) new (first + i) T();
        at = first + count;
        left -= count * sizeof(T);
        return first;
    }
};

}  // namespace weft::internal
