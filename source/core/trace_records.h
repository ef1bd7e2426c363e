// How events become records of 32 bytes, and the file that holds records. bench/trace/FORMAT.md
// describes both for readers of the file.
#pragma once

#include "core/trace_rings.h"
#include "weft/hooks.h"

#include <cstdint>

namespace weft::internal {

// The first word of a record has the time. The second one has the kind in bits 0 to 7, a fiber in
// bits 8 to 31, and another number in bits 32 to 63. The third and the fourth word are a number of
// a task, or addresses of a counter, a text or a function.
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

/// Returns the address of the text that a record refers to, or 0.
inline uint64_t TextOf(const TraceRecord &record) noexcept {
    const uint32_t kind = record.words[1] & 0xff;
    return kind < TraceRecords::kMoreOfSubmit ? record.words[3] : 0;
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

}  // namespace weft::internal
