// Reads a recording: the file that weft::Recorder writes. FORMAT.md describes it.
//
//     trace::Recording recording;
//     const trace::Problem problem = trace::ReadFile("frame.weft", &recording);
//     for (const trace::Event &event : recording.events) ...
//
// A file may be cut off or damaged. The reader keeps what can be read, and Recording::remarks says
// what is missing. It needs at most about ten times the memory of the file.
#pragma once

#include "weft/hooks.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace trace {

/// Says what is wrong; empty if nothing is.
using Problem = std::string;

/// Stands for "none" in an index, and for "unknown" in a time.
inline constexpr uint32_t kNone = ~0u;
inline constexpr int64_t kUnknown = INT64_MIN;

/// The fiber on which a worker looks for work if no other fiber is free. Each worker has its own.
inline constexpr uint32_t kThreadStack = 0xffffff;

/// The most workers, attached threads and external rings that a recording may have.
inline constexpr uint32_t kMaxRings = 1 << 12;

/// One event. FORMAT.md says which fields a kind has. Others are 0, or kNone.
struct Event {
    int64_t ns;        // since the start of the run
    uint64_t id;       // the number of the (first) task, or the argument of a blocking call
    uint64_t counter;  // the address of the counter
    uint32_t name;     // index in Recording::names
    uint32_t fiber;    // the fiber that runs; in the last ring a number of the thread
    uint32_t other;    // the other fiber or worker, or a number
    uint32_t ring;     // the worker; the last ring belongs to all other threads
    weft::TraceKind kind;
    weft::Priority priority;
};

/// What the file has of one ring.
struct Ring {
    bool isThere = false;      // false: the file ends before this ring
    uint64_t records = 0;      // in the file
    uint64_t lost = 0;         // overwritten before the first record in the file
    int64_t from = kUnknown;   // all events from then on are there; kUnknown: from the start
    int64_t until = kUnknown;  // all events until then are there; kUnknown: the file does not say
};

struct Recording {
    uint32_t workers = 0;
    uint32_t fibers = 0;              // as in SchedulerOptions
    uint64_t stackBytes = 0;          // the same
    uint64_t nanosecondsAtStart = 0;  // of the steady clock
    std::vector<std::string> names;   // valid UTF-8 without control characters; names[0] is empty
    std::vector<Event> events;        // ordered by time; those of one ring in their order
    std::vector<Ring> rings;
    int64_t from = 0;                  // from then on the events of all workers are there
    int64_t until = 0;                 // and until then
    bool isComplete = false;           // the file was not cut off
    std::vector<std::string> remarks;  // what is missing or damaged, in sentences

    /// Workers and attached threads. Ring `Slots()` is that of the other threads.
    uint32_t Slots() const { return rings.empty() ? 0 : static_cast<uint32_t>(rings.size()) - 1; }
    /// The fibers from this index on are the own stacks of attached threads. The pool has one fiber
    /// more for each slot.
    uint64_t OwnStacks() const { return uint64_t{fibers} + Slots(); }
};

/// Reads a recording in memory. Returns a problem if it is none at all.
Problem Read(const void *data, size_t bytes, Recording *recording);

/// Reads a file.
Problem ReadFile(const std::string &path, Recording *recording);

/// Returns "what 0x1234".
std::string Hexadecimal(const char *what, uint64_t address);

/// Returns the name of a kind of event, as in weft::TraceKind.
const char *NameOf(weft::TraceKind kind);

}  // namespace trace
