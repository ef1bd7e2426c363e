// The inside of a PostQueue.
//
// One lock is over the queue and all that decides about its jobs: for a job that a deadline, a call
// and its end want at the same time, whoever has the lock first moves it from where it waits to the
// ready list, and the others find it there, or nowhere. What costs more than a few instructions is
// done after the lock is free (Todo): the tasks that are submitted, the dispatcher that is woken.
//
// Each job that becomes ready will be taken by one task, a runner, which takes the oldest ready
// job: so the order of the list is the order in which jobs begin, whichever runner comes first.
// Runners are submitted when no other is on its way: by whoever then makes a job ready, or, for all
// that are ready, by the last of them when it begins. So while some are on their way a post only
// puts its job into the list.
//
// Deadlines. While a job is Timed there is one dispatcher: a task that waits for the earliest
// deadline, makes ready what is due, and ends when nothing is Timed. Who brings an earlier
// deadline, or takes away the last job, rings its alarm: a counter that lies on the dispatcher's
// stack. Whether it was rung is decided under the lock. If it was, the dispatcher waits for the
// decrement that is on its way, so that the counter outlives it.
//
// Lifetime of a job. The runner copies what it needs under the lock, and then calls. A call of Wake
// or Signal has its last access to the job under the lock, and ReceiveSignal takes the same lock:
// if it finds a signal, who left it is done.
//
// Lifetime of the queue. Each ready job, each runner that has taken one, the dispatcher and each
// job that is Timed owes its end: `m_owed` counts them as they come, under the lock, `m_paid` as
// they end, in twos, without it, in a line of its own. A job that becomes ready is counted under
// the lock; so who submits runners may touch the queue until then. The end of the queue takes what
// was owed from what is paid, and adds one, and whoever comes later is taken off at once: so who
// makes it one ended as the last, and lowers `m_ended`, which is its last access (invariant 4 of
// source/README.md).
#pragma once

#include "containers/spin_lock.h"
#include "platform/env.h"
#include "post/job_state.h"
#include "scheduler/api/internal_api.h"
#include "weft/post/post_queue.h"

namespace weft::internal {

class JobQueue {
public:
    JobQueue(TaskScheduler &scheduler, const TaskOptions &options) noexcept
        : m_scheduler(scheduler), m_options(options) {}
    ~JobQueue();
    JobQueue(const JobQueue &) = delete;
    JobQueue &operator=(const JobQueue &) = delete;

    static constexpr Clock::time_point kAtOnce = Clock::time_point::min();
    /// Ready at `due`, or kAtOnce; if it `waits`, when it is called, too, and the greatest
    /// time_point never comes.
    void Post(JobState &job, Clock::time_point due, bool waits) noexcept;
    void Call(JobState &job, bool isSignal) noexcept;
    bool ReceiveSignal(JobState &job) noexcept;
    /// False after a report, which says `what`.
    bool IsCallback(PostedFunction callback, const char *what) const noexcept;
    /// A job that dies.
    void Forget(JobState &job) noexcept;
    PostStatistics Statistics() noexcept;

private:
    static constexpr uint64_t kEnding = 1, kOne = 2;
    static constexpr uint32_t kMaxDue = 64;  // under one lock
    // at once, each with an entry of its own in a deque
    static constexpr uint32_t kMaxRunners = 16;

    // To be done when the lock is free.
    struct Todo {
        uint32_t runners = 0;
        bool startsDispatcher = false;
        Counter *alarm = nullptr;
    };
    class Held {
    public:
        explicit Held(JobQueue &lane) noexcept : m_held(lane.m_lock) {
            ++lane.m_statistics.locks;
            if (m_held.WasTaken()) ++lane.m_statistics.contended;
        }

    private:
        const SpinLock::Held m_held;
    };
    // Whoever is counted in m_owed.
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

    // Under the lock.
    void Put(JobState &job, Clock::time_point due, Clock::time_point now, bool waits,
             Todo &todo) noexcept;
    void MakeReady(JobState &job, bool isExpired) noexcept;
    void MakeTimed(JobState &job, Todo &todo) noexcept;
    void TakeOut(JobState &job, Todo &todo) noexcept;
    void Ring(Todo &todo) noexcept;
    uint32_t GiveBack(JobList &list) noexcept;

    static void RunOldest(TaskScheduler *scheduler, void *arg);
    static void Dispatch(TaskScheduler *scheduler, void *arg);
    bool DispatchOnce() noexcept;

    TaskScheduler &m_scheduler;
    const TaskOptions m_options;
    Counter m_ended{1};
    // in kOne; from the queue's end on less what had been owed until then
    alignas(64) env::Atomic<uint64_t> m_paid{0};

    alignas(64) SpinLock m_lock;
    // Under the lock, from here on; what each post and each runner wants, first.
    bool m_isEnding = false;
    // runners that have not begun: some while any job is ready; more than are if jobs died
    uint32_t m_onTheirWay = 0;
    JobList m_ready;
    uint64_t m_owed = 0;
    PostStatistics m_statistics;
    JobList m_waiting;
    PairingHeap<JobState, DueEarlier> m_timed;
    uint64_t m_nextTurn = 0;
    bool m_hasDispatcher = false;
    Counter *m_alarm = nullptr;  // the dispatcher waits for it and was not rung
    Clock::time_point m_wakesAt{};
};

}  // namespace weft::internal
