// A worker: all that one thread of the scheduler owns.
#pragma once

#include "containers/push_list.h"
#include "containers/work_stealing_deque.h"
#include "platform/env.h"
#include "scheduler/state/fiber.h"
#include "scheduler/state/work.h"

#include <cstdint>

namespace weft {
class NoSuspend;
}

namespace weft::internal {

struct Scheduler;
struct ThreadWaiter;

/// What happens to the fiber that was left. The next context on the thread carries it out first
/// (run/fiber_switch.cpp).
enum class Destination : uint8_t {
    None,       ///< it stays with this worker
    ToPool,     ///< it is free
    ToWaiting,  ///< it is registered on the counter that it waits for
    ToReady,    ///< it may continue
    ToBack      ///< it has yielded: it goes to the injector, or to its inbox if it is pinned
};

/// Finished tasks of one counter. While there are any, the counter is above zero, so it is alive.
struct Finished {
    Counter *counter = nullptr;
    uint32_t tasks = 0;
    uint32_t uncounted = 0;  // not in Worker::counted yet; also tasks of no counter

    /// Returns true if a task of this counter may run before the finished ones are counted off.
    bool MayFollow(const Counter *next) const noexcept { return tasks == 0 || next == counter; }
};

/// The fiber that this worker has made ready last: see MakeReady.
struct HandOver {
    const Fiber *last = nullptr;  // the latest one that this worker has made ready; compared only
    bool isQuiet = false;         // nobody was woken for it
    Level level;

    bool Is(const Entry &entry) const noexcept {
        return entry.TheKind() == Entry::Fiber && &entry.TheFiber() == last;
    }
};

/// What the worker may run. Masks of levels.
struct Filter {
    uint32_t runs = 0;             // the levels of its group, and those of no group
    uint32_t may = 0;              // of the levels that it runs, what its waits allow
    uint32_t limit = kPriorities;  // it begins nothing of the priorities from this one on
    uint32_t pinned = 0;           // priorities of the pinned work that it may run now (at slot 0)
    uint32_t heeds = 0;            // the notices that interrupt it
    Level home{Priority::Normal};  // of its usual tasks
    bool isChoosy = false;         // see core/idle.h
    bool isSpecial = false;        // it needs the slow path: see NoteFilter
    uint32_t changes = 0;          // Scheduler::changes when it was computed
    // Number of waits that limit it to the priorities with numbers below the index.
    uint32_t limits[kPriorities + 1] = {};

    bool May(Level level) const noexcept { return (may & level.Bit()) != 0; }
};

/// A wait with OwnTasks (policy/own_tasks.h).
struct OwnWait {
    const Counter *counter = nullptr;
    uint32_t scope = 0;
    const Fiber *fiber = nullptr;  // the caller
    const Fiber *pump = nullptr;   // the innermost fiber that pumped on the worker when it began
    OwnWait *next = nullptr;
    uint64_t dugAt = 0;  // in ticks: when the worker has dug for it
};

/// When the worker looks at the clock, and what it owes to work that waits for long
/// (policy/next_work.h). Times are in ticks.
struct Fairness {
    static constexpr uint32_t kMostPicks = 128;  // between two looks
    static constexpr uint32_t kShortPicks = 32;  // tasks are long if fewer fit between two looks

    uint32_t budget = 1;        // picks until the next look
    uint32_t period = 1;        // picks from one look to the next, unless `isOne`
    bool isOne = false;         // one pick, a fair one or one of a late level
    uint32_t turn = 0;          // number of fair picks, and of rounds of PickInTurn
    uint32_t nextInTurn = 0;    // the lowest level that PickInTurn looks at next
    uint32_t serves = kLevels;  // the late level that gets its share now; kLevels: none
    uint32_t tookPinned = 0;    // levels of which TakeOldest took pinned work last
    bool isUrgent = false;      // something other than the usual order is due
    bool isPutOff = false;      // the last pick came before a fair one: a deadline was due
    bool wasFair = false;       // the last pick was a fair one
    bool isAsked = false;       // the next pick is a fair one, because a task has yielded
    bool othersWait = false;    // every second fair pick steals first (policy/next_work.h)
    uint64_t lookedAt = 0;
    uint64_t fairAt = 0;          // then a fair pick is due
    uint64_t countAt = 0;         // then the counters of finished tasks are lowered
    uint64_t late[kLevels] = {};  // since when the level is owed a share of the time
    uint32_t seen = 0;            // the levels that had work at the latest look at them

    /// Tasks take longer than 3 us, or the worker does not know yet how long they take.
    bool AreLong() const noexcept { return period < kShortPicks; }
    /// Returns true if a fair pick is due, as of the last look.
    bool IsDue() const noexcept { return isAsked || lookedAt >= fairAt; }
};

/// When the worker looks for work of others, and where (policy/places.cpp). Times are in ticks.
struct Thief {
    uint32_t random = 1;
    uint32_t round = 0;  // number of fair looks
    uint64_t stoleAt = 0;
    uint64_t rest = 0;   // for so long after `stoleAt` it takes nothing of `restsFrom`
    uint64_t ended = 0;  // Worker::ended at `stoleAt`
    Level restsFrom;
    bool isBusy = false;    // since `stoleAt` it has not looked at others for that level
    bool tookTiny = false;  // until that look it was busy for less than 200 ns a task, or 1 us
    bool isPatient = true;  // it leaves lone fibers to their workers once
    uint32_t left = 0;      // entries that the latest victim had left
    uint64_t moves = 0;     // sum of Moves of the deques that it has looked at
};

/// Adds to a number of the worker that only its owner writes. `order`: of the store.
template <class Number>
WEFT_FORCEINLINE void AddTo(Number &number, uint64_t n, std::memory_order order) noexcept {
    number.store(number.load(kRelaxed) + n, order);
}

/// Numbers for weft/inspect.h. The owner writes them, others read them. relaxed: they are only
/// shown.
struct Figures {
    env::Atomic<uint64_t> inlineRuns{0}, suspensions{0}, steals{0}, sleeps{0}, wakes{0};

    void Count(env::Atomic<uint64_t> Figures::*one) noexcept { AddTo(this->*one, 1, kRelaxed); }
};

/// Hints for a worker that was woken. relaxed.
struct WakeHints {
    env::Atomic<uint32_t> by{0};      // the index of its waker, plus one
    env::Atomic<uint32_t> passes{0};  // for how many entries it is to wake others

    static uint32_t Take(env::Atomic<uint32_t> &hint) noexcept {
        const uint32_t value = hint.load(kRelaxed);
        if (value != 0) hint.store(0, kRelaxed);
        return value;
    }
};

/// Bits of Worker::submitBits.
inline constexpr uint8_t kMustNotSubmit = 1;  // a hook runs that must not submit tasks
inline constexpr uint8_t kWatched = 2;        // the run is traced, or has an order
inline constexpr uint8_t kMigrates = 4;       // SchedulerOptions::migrateAfterWait

/// What a worker does while it runs nothing. The checks for stalls read it (diagnose/stall.cpp).
/// Written by the owner.
struct Rest {
    enum Kind : uint8_t {
        kNone,
        kAway,   // no thread runs the worker
        kLooks,  // it looks again and again, and has found nothing that it has a fiber for
        kSleeps  // it has announced its sleep, and has found nothing afterwards
    };
    env::Atomic<Kind> kind{kAway};
    // It has parked or is about to, and touches nothing that it owns until it is woken: for
    // TrimMemory.
    env::Atomic<bool> isParked{false};
    // It is blocked in a wait (Meanwhile::Nothing), or null.
    env::Atomic<ThreadWaiter *> blockedOn{nullptr};
    uint32_t heard = 0;                 // the number of the round when its look began
    env::Atomic<uint32_t> answered{0};  // the same, of the latest look that has ended
    env::Atomic<uint64_t> refused{0};   // pieces of work for which it had no fiber

    /// The worker has found nothing that it can run, and does not sleep. Answers the round of the
    /// check for stalls in which its look began. release: the thread that reads the answer sees
    /// this look. acquire: the next look sees what was done before the round.
    void Answer(const env::Atomic<uint32_t> &round) noexcept {
        answered.store(heard, kRelease);
        heard = round.load(kAcquire);
        kind.store(kLooks, kRelease);
    }
};

struct alignas(kLineBytes) Worker {
    // Of the owner alone.
    Scheduler *scheduler = nullptr;
    TaskScheduler *taskScheduler = nullptr;
    // *home is `taskScheduler`, but null in a child process that was forked during the run. Each
    // public call compares it.
    void *const *home = nullptr;
    uint32_t index = 0;
    uint32_t group = 0;  // of SchedulerOptions::groups
    Fiber *current = nullptr;
    Fiber *comesNext = nullptr;  // the fiber that called RunPinnedTasks; NextWork returns it
    Fiber *left = nullptr;       // the fiber that was left, and where it goes
    Destination destination = Destination::None;
    Chunk *claim = nullptr;  // the chunks that it runs, innermost first (submit/finish.h)
    Finished finished;
    HandOver handOver;
    Filter filter;
    Fairness fair;
    Thief thief;
    OwnWait *ownWaits = nullptr;  // the waits with OwnTasks on this worker, the latest one first
    uint32_t holds = 0;           // levels whose own deque may hold entries
    NodeQueue pinned[kPriorities];
    uint64_t floatingPoint = 0;            // the thread's control words, with which tasks begin
    bool isHeld = false;                   // TrimMemory uses what it owns
    bool leaves = false;                   // without work it leaves its thread, see life/life.h
    uint8_t submitBits = 0;                // see above; 0: AddTask needs no more checks
    bool inHook = false;                   // a hook or onReport runs: it must not wait
    const NoSuspend *noSuspend = nullptr;  // the innermost scope of the running task, or null
    void *outerSlot = nullptr;             // what env::ThreadSlot() was before
    // Runs no tasks: the thread's own stack; of an attached thread, its reserve stack.
    Fiber thread;
    env::Thread osThread;
    env::SignalStack signalStack;        // of a thread of weft; or with reportStackOverflow
    env::ExitCall exitCall;              // for an attached thread
    env::Atomic<bool> hasThread{false};  // with SchedulerOptions::hostThreads

    // Written by the owner, read by all: the numbers of tasks submitted here, ended here, and ended
    // here with a counter that has been lowered already, or with none.
    alignas(kLineBytes) env::Atomic<uint64_t> submitted{0};
    env::Atomic<uint64_t> ended{0}, counted{0};
    Figures figures;
    Rest rest;

    // Shared.
    alignas(kLineBytes) PushList<Node> inbox;  // what only this worker may run
    // See state/groups.h. The signal lies in the inbox while `isSignalled`.
    env::Atomic<bool> isSignalled{false};
    Node signal{Node::Kind::Signal};
    WakeHints woken;
    env::Atomic<uint32_t> spareFiber{~0u};  // a free fiber, see state/fibers.h
    env::Parker parker;
    WorkStealingDeque<Entry> queue[kLevels];

    // Attached threads only.
    env::Atomic<uint32_t> accepts{0};  // not 0: tasks may be pinned to this worker
    // Pinned tasks that have not finished, and waits that must end on this worker.
    Counter bound;

    bool MustNotSubmit() const noexcept { return (submitBits & kMustNotSubmit) != 0; }
    void SetMustNotSubmit(bool mustNot) noexcept {
        submitBits = static_cast<uint8_t>((submitBits & ~kMustNotSubmit) | (mustNot ? 1 : 0));
    }
};

/// Returns the calling thread's worker, or null. The result is stale after anything that may switch
/// fibers. Use fiber->worker then.
inline Worker *CurrentWorker() noexcept { return static_cast<Worker *>(env::ThreadSlot()); }

}  // namespace weft::internal
