// Turns the events of a recording into what a timeline shows: tasks, the pieces of them that each
// worker ran, waits and what ended them, sleeps and who woke the worker, frames.
//
// It shows the time for which the events of all workers are there (Recording::from and until). What
// began before is clipped, if the events tell what it was. Other things without a begin are left
// out.
#pragma once

#include "trace/trace_file.h"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace trace {

// An actor is a worker or an attached thread (0 to Timeline::slots - 1), or another thread. Threads
// are told apart by a number that two of them may share.

/// A task, or other code that takes time.
struct Task {
    enum class Kind : uint8_t {
        Task,     ///< A task of weft.
        OwnCode,  ///< What an attached thread does outside of tasks.
        Thread,   ///< What another thread does between its events.
        Call      ///< A blocking call.
    };
    Kind kind = Kind::Task;
    bool isBeginKnown = false;  // false: it began before the window
    bool isEndKnown = false;    // false: it goes on after the window, or its end is missing
    uint64_t id = 0;            // its number, or the argument of a call
    uint32_t name = 0;          // index in Timeline::names
    uint32_t fiber = 0;
    uint32_t parent = kNone;  // the task on whose stack it runs; index in Timeline::tasks
    uint32_t depth = 0;       // how many tasks are below it on the stack
    uint32_t stolenFrom = kNone;
    uint32_t submission = kNone;  // index in Timeline::submissions
    uint32_t beginActor = kNone, endActor = kNone;
    int64_t begin = 0, end = 0;
    int64_t run = 0;  // without waits, tasks on top of it, and time off the processor
    int64_t waited = 0, longestWait = 0;
    uint32_t stackBytes = 0;  // how much stack it has used; 0: not measured
};

/// A piece of a task: from where a worker begins or continues it to where the worker leaves it.
/// Tasks on top of it lie inside. Or a sleep of a worker.
struct Slice {
    int64_t begin, end;
    uint32_t actor;
    uint32_t task;   // kNone: the worker sleeps
    uint32_t depth;  // how many slices of the actor it lies in
    uint32_t wait;   // the wait that has ended before it, index in Timeline::waits, or kNone
    bool isFirst;    // the task begins here
};

/// Why a segment did not begin earlier, as far as another actor had to do with it.
enum class Edge : uint8_t {
    None,
    Submit,   // the task was submitted
    Release,  // a wait was ended
    Deadline  // a wait was ended by its deadline
};

/// A time in which an actor ran one task: without the tasks on top of it, and without time off the
/// processor. The segments of an actor do not overlap.
struct Segment {
    int64_t begin, end;
    uint32_t task;
    Edge edge;
    uint32_t wait;       // of Release and Deadline: index in Timeline::waits, or kNone
    uint32_t edgeActor;  // the actor that submitted or released, kNone without an edge
    int64_t edgeNs;
};

struct Wait {
    int64_t begin, end;
    int64_t ready;  // when it was ended; kUnknown if the event is missing
    uint32_t task;  // index in Timeline::tasks, or kNone
    uint32_t fiber;
    uint32_t actor, endActor;
    uint32_t readyActor;  // who ended it
    uint32_t target;      // the value of the counter for which it waits
    uint64_t counter;
    uint64_t lock;    // for which it waits, or 0
    uint32_t holder;  // the task that held the lock when the wait began, or kNone
    bool byDeadline;
    bool isOver;  // false: it goes on after the window
};

struct Submission {
    int64_t ns;
    uint64_t first;  // the number of the first task
    uint32_t count;  // of tasks
    uint32_t begun;  // of them in the recording
    uint32_t name;
    uint32_t actor;
    uint64_t counter;
    weft::Priority priority;
};

struct Park {
    int64_t begin, end;
    int64_t woken;  // when another actor woke the worker; kUnknown if none did
    uint32_t slot;
    uint32_t wokenBy;  // kNone if nobody did
};

/// A time in which a worker's thread was off its processor: preempted, or blocked in the system.
/// The recording says how long it was, and between which two events. `end` is assumed to be the
/// time of the second one.
struct OffCpu {
    int64_t begin, end;
};

/// The time between two frame marks.
struct Frame {
    uint32_t number;
    uint32_t actor;  // has marked the end
    int64_t begin, end;
    int64_t Length() const { return end - begin; }
};

/// A number that changes with time.
struct Step {
    int64_t ns;
    int64_t value;  // from then on
};

struct Timeline {
    int64_t from = 0, until = 0;  // the window
    uint32_t workers = 0;
    uint32_t slots = 0;       // workers and attached threads
    uint32_t actors = 0;      // all of these, and other threads
    uint64_t stackBytes = 0;  // SchedulerOptions::stackBytes
    // As in the recording, and a few more. The first one is empty.
    std::vector<std::string> names;
    std::vector<Task> tasks;    // in the order in which the events tell of them
    std::vector<Slice> slices;  // by begin; outer ones before inner ones
    // Tasks are nested so deeply that the slices of the outer ones are not all there.
    bool isCoarse = false;
    std::vector<std::vector<Segment>> segments;  // for each actor, by begin
    std::vector<Wait> waits;                     // by begin
    std::vector<Submission> submissions;         // by time; also those before the window
    std::vector<std::vector<Park>> parks;        // for each slot, by begin
    std::vector<std::vector<OffCpu>> offCpu;     // the same; outside of parks
    std::vector<Frame> frames;                   // by time
    std::map<uint64_t, uint32_t> counterNames;   // address to name
    // The number of tasks and fibers that wait for a worker, over time. A task of AddTaskAfter or
    // AddTaskAt counts from its submission on.
    std::vector<Step> ready;
    std::vector<int64_t> withWork;  // for each step of `ready`: how long it was not 0 before
    std::vector<Step> running;      // how many workers and attached threads run something

    /// Returns how long in [begin, end] there was something that could run, but did not.
    int64_t TimeWithWork(int64_t begin, int64_t end) const;
    std::string NameOfTask(uint32_t task) const;
    std::string NameOfActor(uint32_t actor) const;
    /// Returns the name of the counter, or its address.
    std::string NameOfCounter(uint64_t counter) const;
    /// Returns what it waits for: "counter 0x90", "lock 0x80, held by importer".
    std::string NameOfWait(const Wait &wait) const;
};

Timeline BuildTimeline(const Recording &recording);

/// Calls open(index, ns) and close(index, ns) for items that lie within each other, in an order and
/// with times that a viewer accepts: the last one that was opened is closed first, and no time is
/// smaller than the one before. `items` is sorted by begin. depth(item) says how many items an item
/// lies in. Items of a damaged recording are cut so that this holds.
template <class Item, class Depth, class Open, class Close>
void ForEachEdge(const std::vector<Item> &items, Depth depth, Open open, Close close) {
    std::vector<size_t> stack;
    int64_t now = INT64_MIN;
    const auto closeDownTo = [&](size_t size, int64_t limit) {
        while (stack.size() > size) {
            const size_t index = stack.back();
            stack.pop_back();
            now = now > items[index].end     ? now
                  : items[index].end < limit ? items[index].end
                                             : limit;
            close(index, now);
        }
    };
    for (size_t i = 0; i < items.size(); ++i) {
        closeDownTo(depth(items[i]), items[i].begin);
        now = now > items[i].begin ? now : items[i].begin;
        open(i, now);
        stack.push_back(i);
    }
    closeDownTo(0, INT64_MAX);
}

}  // namespace trace
