// Rings of trace records: the memory of a Recorder while a scheduler runs.
//
// A record is four words. A ring keeps the newest records. It has one writer: the thread that is
// the worker, or a holder of the lock of the ring for external threads. Any thread may read the
// ring meanwhile, and a signal handler may, too.
//
// No lock, and no torn records. The writer of record n stores the four words and then n + 1 to
// m_next, all as releases. A reader loads the words and then m_next, all as acquires. If it has
// read a word of record n, it then finds at least n in m_next. So if m_next <= n + capacity - 1
// after the words of record n were read, none of them was overwritten by record n + capacity.
#pragma once

#include "containers/spin_lock.h"
#include "platform/env.h"
#include "weft/trace/recorder.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>

namespace weft::internal {

struct TraceRecord {
    uint64_t words[4];
};

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
    uint32_t count = 0;
    uint32_t workers = 0;
    uint32_t fibers = 0;
    uint64_t ticksAtStart = 0;
    uint64_t nanosecondsAtStart = 0;  // of the steady clock
    double ticksPerMicrosecond = 0;
    uint64_t stackBytes = 0;
    SpinLock external;  // held by the writer of the last ring

    TraceRing &External() noexcept { return rings[count - 1]; }
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
        rings->count = count;
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
