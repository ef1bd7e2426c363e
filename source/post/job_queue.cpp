// How a PostQueue posts, runs and ends its jobs. The terms are in job_queue.h.
#include "post/job_queue.h"

#include "platform/backoff.h"
#include "platform/race_finder.h"
#include "scheduler/api/internal_api.h"

#include <algorithm>

namespace weft::internal {

// Returns true if the scheduler runs. That is so in a task. In other threads IncrementCounter
// reports NotRunning and fails if the scheduler does not run.
bool JobQueue::IsRunning() const noexcept {
    if (IsTask()) return true;
    Counter probe;
    return m_scheduler.IncrementCounter(&probe);
}

// False in a child process that a task has forked.
bool JobQueue::IsTask() const noexcept {
    return m_scheduler.CurrentWorker() != kAnyWorker && !IsForkedWorker(m_scheduler);
}

// Returns true in one of the host's memory functions, if runners may still come. relaxed: only asks
// whether there is a scheduler.
bool JobQueue::IsInMemoryHook() const noexcept {
    return MemoryHookCall::Current() != nullptr &&
           EntryGate::StateOf(m_scheduler).scheduler.load(kRelaxed) != nullptr;
}

PostStatistics JobQueue::Statistics() noexcept {
    const Held held(*this);
    return m_statistics;
}

void JobQueue::Owe() noexcept {
    ++m_owed;
    // relaxed: the caller has a debt of its own, and pays it later.
    if (m_isEnding) m_paid.fetch_sub(kOne, kRelaxed);
}

// Takes back a debt. The caller knows that it is not the last one.
void JobQueue::OweLess() noexcept {
    if (m_isEnding) {
        m_paid.fetch_add(kOne, kRelaxed);  // relaxed: as in Owe
    } else {
        --m_owed;
    }
}

// Pays `count` debts. release: what the callers did to the queue comes before its end. acquire: so
// does what the payers of the other debts did; the last payer passes it on.
void JobQueue::Release(uint32_t count) noexcept {
    TaskScheduler &scheduler = m_scheduler;
    Counter &ended = m_ended;
    if (m_paid.fetch_add(count * kOne, kAcqRel) + count * kOne == kEnding)
        LowerForWaiter(scheduler, ended, "the end of a PostQueue");
    // From here on the queue may be gone.
}

// Calls `decide` under the lock, and then does what `decide` has noted. If the call is refused,
// only reports that. Afterwards the queue may be gone, unless the caller has a debt.
template <class Decide>
void JobQueue::Enter(const char *call, Decide decide) noexcept {
    Todo todo;
    bool done;
    {
        const Caller caller(m_scheduler, call);
        if (!caller.MaySubmit()) return;
        {
            const Held held(*this);
            decide(todo);
            if (m_onTheirWay == 0)
                m_onTheirWay = todo.runners = std::min(m_ready.Size(), kMaxRunners);
        }
        done = Do(caller, todo);
    }
    if (!done) TakeBack(todo.runners);
}

// Returns false if the runners were refused (reported). The queue exists until all three are done:
// the dispatcher waits for its alarm, and the dispatcher and the ready jobs have debts.
bool JobQueue::Do(const Caller &caller, const Todo &todo) noexcept {
    if (todo.alarm != nullptr) caller.Lower(*todo.alarm);
    if (todo.startsDispatcher) {
        const Task dispatcher{Dispatch, this};
        caller.Submit(1, &dispatcher,
                      {Priority::High, kAnyWorker, "deadlines of a PostQueue", kInSlot});
    }
    if (todo.runners == 0) return true;
    Task runners[kMaxRunners];
    std::fill_n(runners, todo.runners, Task{RunOldest, this});
    // a copy: the queue may be gone before the submission has ended
    const TaskOptions options = m_options;
    if (WEFT_UNLIKELY(options.taskGroup != nullptr) && !caller.Accepts(options)) return false;
    return caller.Submit(todo.runners, runners, options);
}

// The runners were refused and will not come. Drops the newest ready jobs, for which no runner is
// left, as if they had not been posted.
void JobQueue::TakeBack(uint32_t runners) noexcept {
    uint32_t count;
    {
        const Held held(*this);
        // a runner has a debt even if its job was destroyed
        const uint32_t before = std::max(m_ready.Size(), m_onTheirWay);
        m_onTheirWay -= runners;
        while (m_ready.Size() > m_onTheirWay) {
            JobState &newest = *m_ready.Last();
            m_ready.Remove(newest);
            newest.status = JobStatus::Nowhere;
        }
        count = before - m_onTheirWay;
    }
    if (count != 0) Release(count);
}

bool JobQueue::IsCallback(PostedFunction callback, const char *what) const noexcept {
    if (callback != nullptr) return true;
    ReportMisuse(m_scheduler, ReportCode::NullTask,
                 "Give the job a callback, in the constructor or by SetCallback.", what);
    return false;
}

void JobQueue::Post(JobState &job, Clock::time_point due, bool waits) noexcept {
    TaskScheduler &scheduler = m_scheduler;
    if (!IsCallback(job.callback, "a job without a callback was posted")) return;
    if (due == Clock::time_point::max() && !waits) {
        return ReportMisuse(scheduler, ReportCode::BadOption,
                            "Post it when its time is known, or let it wait (PostOnWake).",
                            "a job was posted for a time that never comes");
    }
    const bool isTimed = due != kAtOnce && due != Clock::time_point::max();
    const Clock::time_point now = isTimed ? Now() : kAtOnce;
    bool isPosted = false;
    Enter("PostedJob::Post", [&](Todo &todo) {
        isPosted = job.status != JobStatus::Nowhere;
        if (isPosted) return;
        race::Finishes(&job);
        Put(job, due, now, waits, todo);
    });
    // From here on the job may be gone, unless it was posted already.
    if (isPosted) {
        ReportMisuse(scheduler, ReportCode::WrongThread,
                     "Post it in its callback, or after a callback that did not post it.",
                     "a job was posted that is posted already");
    }
}

void JobQueue::Put(JobState &job, Clock::time_point due, Clock::time_point now, bool waits,
                   Todo &todo) noexcept {
    job.due = due;
    job.waits = waits;
    if (waits && (job.isCalled || job.isSignalled)) {
        Owe();
        MakeReady(job, false);
    } else if (due == Clock::time_point::max()) {
        job.status = JobStatus::Waiting;
        m_waiting.Append(job);
    } else if (due <= now) {
        Owe();
        MakeReady(job, due != kAtOnce);
    } else {
        Owe();
        MakeTimed(job, todo);
    }
}

// The job's debt was made before.
void JobQueue::MakeReady(JobState &job, bool isExpired) noexcept {
    job.isExpired = isExpired;
    job.status = JobStatus::Ready;
    // a runner comes whose job was destroyed. It takes this job, and has a debt already
    if (m_ready.Size() < m_onTheirWay) OweLess();
    m_ready.Append(job);
}

void JobQueue::MakeTimed(JobState &job, Todo &todo) noexcept {
    job.turn = m_nextTurn++;
    job.status = JobStatus::Timed;
    m_timed.Push(job);
    if (!m_hasDispatcher) {
        Owe();
        m_hasDispatcher = todo.startsDispatcher = true;
    } else if (m_alarm != nullptr && job.due < m_wakesAt) {
        Ring(todo);
    }
}

void JobQueue::Ring(Todo &todo) noexcept {
    todo.alarm = m_alarm;
    m_alarm = nullptr;
}

void JobQueue::TakeOut(JobState &job, Todo &todo) noexcept {
    if (job.status != JobStatus::Timed) {
        (job.status == JobStatus::Ready ? m_ready : m_waiting).Remove(job);
    } else {
        m_timed.Remove(job);
        if (m_timed.IsEmpty() && m_alarm != nullptr) Ring(todo);
    }
    job.status = JobStatus::Nowhere;
}

void JobQueue::Call(JobState &job, bool isSignal) noexcept {
    Enter(isSignal ? "PostedJob::Signal" : "PostedJob::Wake", [&](Todo &todo) {
        race::Finishes(&job);
        job.isCalled = true;
        if (isSignal) job.isSignalled = true;
        const JobStatus status = job.status;
        if (job.waits && (status == JobStatus::Timed || status == JobStatus::Waiting)) {
            TakeOut(job, todo);
            if (status == JobStatus::Waiting) Owe();
            MakeReady(job, false);
        }
    });
    // From here on the job may be gone, because the lock is free.
}

bool JobQueue::ReceiveSignal(JobState &job) noexcept {
    const Held held(*this);
    const bool isSignalled = job.isSignalled;
    job.isSignalled = false;
    if (isSignalled) race::SawAll(&job);
    return isSignalled;
}

void JobQueue::RunOldest(TaskScheduler *scheduler, void *arg) {
    JobQueue &lane = *static_cast<JobQueue *>(arg);
    const Debt debt(lane);  // paid at the end, even if the callback throws
    PostedJob *job = nullptr;
    PostedFunction callback = nullptr;
    lane.Enter("the end of a post", [&](Todo &) {
        --lane.m_onTheirWay;
        JobState *const oldest = lane.m_ready.TakeFirst();
        if (oldest == nullptr) return;  // its job was destroyed, which was reported
        oldest->status = JobStatus::Nowhere;
        oldest->isCalled = false;
        race::SawAll(oldest);
        job = oldest->job;
        callback = oldest->callback;
    });
    if (job == nullptr) return;
    callback(scheduler, job);
    // From here on the job may be gone, because its callback has begun.
}

void JobQueue::Dispatch(TaskScheduler *, void *arg) {
    JobQueue &lane = *static_cast<JobQueue *>(arg);
    const Debt debt(lane);
    while (lane.DispatchOnce()) {
    }
}

bool JobQueue::DispatchOnce() noexcept {
    Counter alarm(1);
    const Clock::time_point now = Now();
    Clock::time_point next = now;
    bool goesOn = false;
    Enter("the deadline of a post", [&](Todo &) {
        for (uint32_t due = 0; due < kMaxDue && !m_timed.IsEmpty() && m_timed.Top().due <= now;
             ++due) {
            JobState &job = m_timed.Top();
            m_timed.Remove(job);
            MakeReady(job, true);
        }
        goesOn = !m_timed.IsEmpty();
        m_hasDispatcher = goesOn;
        if (goesOn && m_timed.Top().due > now) {
            next = m_wakesAt = m_timed.Top().due;
            m_alarm = &alarm;
        }
    });
    if (!goesOn || next == now) return goesOn;
    WaitForCounterUntil(m_scheduler, &alarm, next);
    bool isRung;
    {
        const Held held(*this);
        isRung = m_alarm == nullptr;
        m_alarm = nullptr;
    }
    if (isRung) m_scheduler.WaitForCounter(&alarm);
    return true;
}

void JobQueue::Forget(JobState &job) noexcept {
    Todo todo;
    {
        const Held held(*this);
        const JobStatus status = job.status;
        if (status != JobStatus::Nowhere)
            TakeOut(job, todo);  // else it has begun since the destructor checked, without the lock
        // If a runner is on its way for this job, the job's debt stays with that runner.
        const bool isOwed = status == JobStatus::Timed ||
                            (status == JobStatus::Ready && m_ready.Size() >= m_onTheirWay);
        if (!isOwed) Owe();  // a debt of its own: it keeps the queue until the Release below
    }
    if (todo.alarm != nullptr) LowerForWaiter(m_scheduler, *todo.alarm, "~PostedJob");
    ReportMisuse(m_scheduler, ReportCode::DestroyedInUse,
                 "Destroy it in its callback, or after a callback that did not post it.",
                 "a job was destroyed while it was posted");
    Release();
}

uint32_t JobQueue::GiveBack(JobList &list) noexcept {
    uint32_t count = 0;
    for (; JobState *job = list.TakeFirst(); ++count) job->status = JobStatus::Nowhere;
    return count;
}

JobQueue::~JobQueue() {
    uint64_t owed;
    {
        const Held held(*this);
        m_isEnding = true;
        owed = m_owed * kOne;
    }
    // acquire: what was done before the debts were paid is visible. release: m_ended, for the call
    // that will decrement it.
    if (m_paid.fetch_add(kEnding - owed, kAcqRel) != owed) {
        // if it does not run, no runner comes, and IncrementCounter has reported that
        if (IsRunning()) m_scheduler.WaitForCounter(&m_ended);
        // In a hook the wait was refused, which was reported. So wait here for the last debt.
        for (Backoff backoff; !m_ended.IsZero() && (IsTask() || IsInMemoryHook()); backoff.Next()) {
        }
    }
    uint32_t left;
    {
        const Held held(*this);
        left = GiveBack(m_waiting) + GiveBack(m_ready);
    }
    if (left != 0) {
        ReportMisuse(m_scheduler, ReportCode::DestroyedInUse,
                     "Wake all jobs before, or let them wait with a deadline.",
                     "a PostQueue was destroyed while jobs waited in it; they are dropped");
    }
}

}  // namespace weft::internal
