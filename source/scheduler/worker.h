// A worker: all that one thread of the scheduler owns. Data only; the verbs are in the other files of this folder.
#pragma once

#include "containers/push_list.h"
#include "containers/task_slab.h"
#include "containers/work_stealing_deque.h"
#include "platform/env.h"
#include "scheduler/fiber.h"
#include "scheduler/letter.h"
#include "scheduler/task_entry.h"

#include <cstdint>

namespace weft::internal {

struct Scheduler;

/// What becomes of the fiber that was left; carried out by the next context on the same thread.
enum class Destination : uint8_t {
    None,       ///< it stays this worker's own (a thread stack)
    ToPool,     ///< free it
    ToWaiting,  ///< register it on the counter that it waits for
    ToReady     ///< it only yielded: to the back of the ready lane
};

struct Handoff {
    Fiber *from = nullptr;
    Destination destination = Destination::None;
};

/// A claimed Large task for which no fiber was free, and the lane that it came from.
struct BacklogEntry {
    TaskEntry entry;
    uint64_t lane = 0;
};

/// Tasks that a worker has claimed and not started yet: a part of a slice, or one task.
struct Claim {
    Task single{nullptr, nullptr};
    const Task *first = nullptr;  // that is not given back to its slab yet; null while nothing is claimed
    const Task *next = nullptr;   // to start
    const Task *end = nullptr;
    Counter *counter = nullptr;
    const char *name = nullptr;
    uint64_t batch = 0;  // 0: not a slice
    uint32_t lane = 0;
    StackClass stack = StackClass::Small;
    bool stolen = false;
    bool pinned = false;
    bool low = false;  // with a permit, see low_limit.h

    bool HasMore() const noexcept { return next != end; }
    uint32_t Left() const noexcept { return static_cast<uint32_t>(end - next); }
    void Clear() noexcept { first = next = end = nullptr; }
};

/// A fiber in RunPinnedTasks. It is left, but goes nowhere: the loops of its worker return to it.
struct Pump {
    Fiber *fiber;
    uint32_t max;
    uint32_t ran;
    Pump *outer;
};

/// Finished tasks whose counter has not been lowered yet.
struct PendingDecrement {
    Counter *counter = nullptr;
    uint32_t count = 0;
};

/// What the tasks of the latest slice took. An estimate of another batch says nothing.
struct TaskTime {
    uint64_t batch = 0;
    uint64_t ticks = 0;
    uint64_t tasks = 1;             // that took so many ticks together
    uint64_t lookedAt = 0;          // when they ended,
    uint64_t finishedThen = ~0ull;  // and how many tasks had finished on this worker then
};

/// See shared_cpu.h. In ticks.
struct CpuSharing {
    bool mayLeave = false;   // the thread is ours, and there are enough processors
    bool look = false;       // between two pieces of work
    int32_t wakersCpu = -1;  // the waker's processor, while this worker is on it
    uint64_t since = 0;      // it was woken, or fell asleep
    uint64_t cost = 0;       // that the waker had before
    uint64_t lookedAt = 0;
    uint64_t leftAt = 0;
};

inline constexpr uint32_t kLanes = 3;  // one per Priority
inline constexpr uint32_t kLowLane = 2;

struct alignas(kLineBytes) Worker {
    // Owner only.
    Scheduler *scheduler = nullptr;
    TaskScheduler *facade = nullptr;  // the scheduler's: each public call compares it
    uint32_t index = 0;
    Fiber *current = nullptr;
    Handoff handoff;
    Claim claim;
    PendingDecrement pending;
    Pump *pump = nullptr;
    TaskTime taskTime;
    uint32_t newestLane = 0;    // where this worker published last
    uint64_t batches = 0;       // that this worker has submitted
    uint32_t urgentStreak = 0;  // consecutive picks of ready fibers and High tasks
    uint32_t picks = 0;
    bool taskBeforeReady = false;  // somebody yielded: one new task first
    bool pinnedInTurn = false;     // see FiberInTurn in find_work.cpp
    bool looksNext = false;        // the caller looks for work right away: one ready fiber wakes nobody
    bool mustNotSubmit = false;    // a hook runs while the worker may be on its way out
    bool inHook = false;           // the host's function runs: it must not wait
    bool inactive = false;         // see TaskScheduler::SetActiveWorkers
    bool searching = false;        // counted as a searcher
    bool anyDeadline = false;      // when it last looked, see timing.h
    bool owesWake = false;         // so it was; a wake is owed if something else is picked
    uint32_t victim = 0;           // the last one that was robbed with success
    uint64_t stealAgainAt = 0;     // ticks: no steal before
    uint64_t stealPenalty = 0;     // ticks
    uint64_t lookAgainAt = 0;      // ticks: no look at others before
    uint64_t lookInterval = 1;     // ticks
    uint64_t activitySeen = 0;     // of the others, at the last look
    uint64_t activityChangedAt = 0;
    CpuSharing sharing;
    LetterQueue pinnedFibers;  // both taken from the mailbox, oldest first
    LetterQueue pinnedTasks;
    // It went to sleep with pinned tasks that it has no fiber for. relaxed: published by the announcement.
    env::Atomic<bool> keepsTasks{false};
    bool wantsLarge = false;  // counted in Scheduler::pinnedLarge
    TaskSlab slab;
    Fiber threadFiber;  // the stack that the thread came with; an attached thread's reserve stack
    env::Thread thread;
    env::SignalStack signalStack;
    env::ExitCall exitCall;     // of an attached thread
    void *outerSlot = nullptr;  // of an attached thread, and of the caller of Run: what it was before

    // Written by the owner, read by all: tasks submitted and finished here. Their sums tell whether anything is pending.
    alignas(kLineBytes) env::Atomic<uint64_t> submitted{0};
    env::Atomic<uint64_t> finished{0};
    env::Atomic<int32_t> cpu{-1};  // where it was lately, or -1 while it sleeps

    // Shared.
    WorkStealingDeque<TaskEntry> lanes[kLanes];
    WorkStealingDeque<BacklogEntry> largeBacklog[2];  // not Low, Low
    WorkStealingDeque<uint64_t> ready;                // indices of ready fibers
    alignas(kLineBytes) PushList<Letter> mailbox;     // what only this worker may run
    env::Parker parker;

    // Attached threads only.
    env::Atomic<uint32_t> accepts{0};  // pinned tasks
    Counter bound;                     // pinned tasks, and waits that must end on this worker, that are not over
};

/// The calling thread's worker, or null. Stale after anything that may switch: use fiber->worker then.
inline Worker *CurrentWorker() noexcept { return static_cast<Worker *>(env::ThreadSlot()); }

}  // namespace weft::internal
