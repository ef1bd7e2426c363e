// The implementation of PostQueue: a queue of jobs under one lock.
//
// Terms.
//
//  ready       a job in the ready list. A runner will run it.
//  Timed       a job that waits for a time or a deadline. It is in a heap.
//  Waiting     a job that waits for Wake or Signal, without a deadline.
//  runner      a task that takes the oldest ready job and calls its callback.
//  dispatcher  a task that waits for the earliest time of the Timed jobs.
//  alarm       a counter on the dispatcher's stack. To ring it is to decrement it: the dispatcher
//              wakes before the time has come.
//  debt        a reason why the queue must still exist. It is paid when the reason has gone.
//
// The lock. It guards the queue and all decisions about its jobs. A deadline, a call of Wake or
// Signal and the end of a callback may want the same job at the same time. The first one that gets
// the lock moves the job to the ready list, or takes it. The others find it there, or in no list.
// What costs more than a few instructions is noted in a Todo and done after the lock is free:
// submitting tasks, and waking the dispatcher.
//
// Runners. For each ready job one runner comes. A runner takes the oldest ready job. So jobs begin
// in the order of the list, in whichever order the runners begin. Runners are submitted only when
// no runner is on its way: one for each ready job, up to kMaxRunners. The thread that makes a job
// ready does this, and the last runner on its way does it when it begins. So while runners are on
// their way, a post only puts its job into the list.
//
// Deadlines. While there are Timed jobs, there is one dispatcher. It waits for the earliest time,
// makes the due jobs ready, and ends when no job is Timed. A call that brings an earlier time, or
// removes the last Timed job, rings the alarm. Under the lock it is decided whether the alarm is
// rung. If so, the dispatcher waits for the decrement, so that the counter on its stack outlives
// this decrement.
//
// Lifetime of a job. A runner copies under the lock what it needs of the job, then calls the
// callback. Wake and Signal access the job only under the lock. ReceiveSignal takes the same lock:
// if it finds a signal, the call of Signal does not access the job any more.
//
// Lifetime of the queue. There is one debt for each ready job (the runner that takes the job takes
// over its debt), each Timed job, and the dispatcher. `m_owed` counts the debts that were made,
// under the lock. `m_paid` counts the debts that were paid, without the lock, on a cache line of
// its own. A thread that makes jobs ready has made their debts under the lock. So the queue exists
// until this thread has submitted their runners.
//
// The end of the queue. `m_paid` counts in steps of two (kOne), so it is even. The destructor
// subtracts the debts that were made so far, and adds one (kEnding). From then on each new debt is
// subtracted at once. So `m_paid` becomes kEnding when the last debt is paid. The call that pays it
// decrements `m_ended`. This is its last access to the queue (invariant 4 of source/README.md).
#pragma once

#include "containers/spin_lock.h"
#include "platform/env.h"
#include "post/job_state.h"
#include "scheduler/api/internal_api.h"
#include "weft/post/post_queue.h"

namespace weft::internal {

/// A queue of jobs. Wake, Signal, ReceiveSignal and Statistics are thread-safe; see PostedJob for
/// Post.
class JobQueue {
public:
    JobQueue(TaskScheduler &scheduler, const TaskOptions &options) noexcept
        : m_scheduler(scheduler), m_options(OfOwner(options)) {}
    ~JobQueue();
    JobQueue(const JobQueue &) = delete;
    JobQueue &operator=(const JobQueue &) = delete;

    static constexpr Clock::time_point kAtOnce = Clock::time_point::min();
    /// Posts the job: it becomes ready at `due`, or at once (kAtOnce). If it `waits`, Wake and
    /// Signal make it ready, too; `due` may then be time_point::max(), which never comes.
    void Post(JobState &job, Clock::time_point due, bool waits) noexcept;
    /// Wake, or Signal if `isSignal`.
    void Call(JobState &job, bool isSignal) noexcept;
    bool ReceiveSignal(JobState &job) noexcept;
    /// Returns false, after a report with the text `what`, if there is no callback.
    bool IsCallback(PostedFunction callback, const char *what) const noexcept;
    /// Removes a job that is destroyed while it is posted, and reports that.
    void Forget(JobState &job) noexcept;
    PostStatistics Statistics() noexcept;

private:
    static constexpr uint64_t kEnding = 1, kOne = 2;
    static constexpr uint32_t kMaxDue = 64;  // jobs that become ready while the lock is held once
    // submitted at once; each is an entry of its own in a deque
    static constexpr uint32_t kMaxRunners = 16;

    // What is to be done when the lock is free.
    struct Todo {
        uint32_t runners = 0;
        bool startsDispatcher = false;
        Counter *alarm = nullptr;
    };
    // Holds the lock while it lives, and counts that in the statistics.
    class Held {
    public:
        explicit Held(JobQueue &lane) noexcept : m_held(lane.m_lock) {
            ++lane.m_statistics.locks;
            if (m_held.WasTaken()) ++lane.m_statistics.contended;
        }

    private:
        const SpinLock::Held m_held;
    };
    // Pays a debt at its end.
    class Debt {
    public:
        explicit Debt(JobQueue &queue) noexcept : m_queue(queue) {}
        ~Debt() { m_queue.Release(); }
        Debt(const Debt &) = delete;
        Debt &operator=(const Debt &) = delete;

    private:
        JobQueue &m_queue;
    };

    bool IsRunning() const noexcept;
    bool IsTask() const noexcept;
    bool IsInMemoryHook() const noexcept;
    template <class Decide>
    void Enter(const char *call, Decide decide) noexcept;
    bool Do(const Caller &caller, const Todo &todo) noexcept;
    void TakeBack(uint32_t runners) noexcept;
    void Owe() noexcept;
    void OweLess() noexcept;
    void Release(uint32_t count = 1) noexcept;

    // The caller of these holds the lock.
    void Put(JobState &job, Clock::time_point due, Clock::time_point now, bool waits,
             Todo &todo) noexcept;
    // Put the job into the ready list, or into the heap. Its debt was made before.
    void MakeReady(JobState &job, bool isExpired) noexcept;
    void MakeTimed(JobState &job, Todo &todo) noexcept;
    // Removes the job from the list or the heap that it is in. Rings the alarm after the last Timed
    // job.
    void TakeOut(JobState &job, Todo &todo) noexcept;
    // Notes that the alarm is to be rung.
    void Ring(Todo &todo) noexcept;
    // Drops all jobs of the list, and returns how many there were.
    uint32_t GiveBack(JobList &list) noexcept;

    // The runner, the dispatcher, and one turn of the dispatcher. DispatchOnce returns false when
    // no job is Timed.
    static void RunOldest(TaskScheduler *scheduler, void *arg);
    static void Dispatch(TaskScheduler *scheduler, void *arg);
    bool DispatchOnce() noexcept;

    TaskScheduler &m_scheduler;
    const TaskOptions m_options;
    Counter m_ended{1};
    // paid debts, in steps of kOne; once the destructor has begun, less the debts made
    alignas(64) env::Atomic<uint64_t> m_paid{0};

    alignas(64) SpinLock m_lock;
    // The lock guards all members from here on. The first ones are those that each post and each
    // runner uses.
    bool m_isEnding = false;
    // Runners that have not begun. At least one while a job is ready. More than the ready jobs if a
    // job was destroyed.
    uint32_t m_onTheirWay = 0;
    JobList m_ready;
    uint64_t m_owed = 0;
    PostStatistics m_statistics;
    JobList m_waiting;
    PairingHeap<JobState, DueEarlier> m_timed;
    uint64_t m_nextTurn = 0;
    bool m_hasDispatcher = false;
    Counter *m_alarm = nullptr;  // the dispatcher waits for it, and it was not rung
    Clock::time_point m_wakesAt{};
};

}  // namespace weft::internal
