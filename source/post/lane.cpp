#include "post/lane.h"

#include "platform/race_finder.h"
#include "sync/misuse.h"

namespace weft::internal {

// A task's scheduler runs. For other threads a counter tells: what does not run does not raise it, and reports that.
bool PostLane::IsRunning() const noexcept {
    if (m_scheduler.CurrentWorker() != kAnyWorker) return true;
    Counter probe;
    return m_scheduler.AddToCounter(&probe);
}

PostStatistics PostLane::Statistics() noexcept {
    const Held held(*this);
    return m_statistics;
}

// relaxed: under the lock, or by somebody who is counted himself, and the queue's end comes after both anyway.
void PostLane::Owe() noexcept { m_owed.fetch_add(kOne, kRelaxed); }

// release: what this one did to the queue comes before its end. acquire: so does what the others did, which the last one tells.
void PostLane::Release() noexcept {
    TaskScheduler &scheduler = m_scheduler;
    Counter &ended = m_ended;
    if (m_owed.fetch_sub(kOne, kAcqRel) == (kOne | kEnding)) scheduler.DecrementCounter(&ended);
    // From here on the queue may be gone.
}

// After the first submission the queue may be gone, unless the caller is counted himself.
void PostLane::Do(const Todo &todo) noexcept {
    if (todo.alarm == nullptr && !todo.startsDispatcher && todo.runners == 0) return;
    TaskScheduler &scheduler = m_scheduler;
    const TaskOptions options = m_options;
    if (todo.alarm != nullptr) scheduler.DecrementCounter(todo.alarm);
    if (todo.startsDispatcher) {
        scheduler.AddTask({Dispatch, this}, nullptr,
                          {Priority::High, StackClass::Small, kAnyWorker, "deadlines of a PostQueue"});
    }
    for (uint32_t i = 0; i < todo.runners; ++i) scheduler.AddTask({RunOldest, this}, nullptr, options);
}

void PostLane::Post(JobState &job, Clock::time_point due, bool waits) noexcept {
    if (job.callback == nullptr) {
        return ReportMisuse(m_scheduler, ReportCode::NullTask, "Set it, by the constructor or SetCallback.",
                            "a job without a callback was posted");
    }
    if (!IsRunning()) return;
    const bool isTimed = due != Clock::time_point::min() && due != Clock::time_point::max();
    const Clock::time_point now = isTimed ? Now() : Clock::time_point::min();
    Todo todo;
    bool isPosted;
    {
        const Held held(*this);
        isPosted = job.place != JobPlace::Nowhere;
        if (!isPosted) {
            race::Finishes(&job);
            Put(job, due, now, waits, todo);
        }
    }
    if (isPosted) {
        return ReportMisuse(m_scheduler, ReportCode::WrongThread,
                            "Post it from its callback, or when that has said that it does not.",
                            "a job was posted that is posted already");
    }
    // From here on the job may be gone.
    Do(todo);
}

void PostLane::Put(JobState &job, Clock::time_point due, Clock::time_point now, bool waits, Todo &todo) noexcept {
    job.due = due;
    job.waits = waits;
    if (waits && (job.isCalled || job.isSignalled)) {
        Owe();
        MakeReady(job, false, todo);
    } else if (due == Clock::time_point::max()) {
        job.place = JobPlace::Waiting;
        m_waiting.Append(job);
    } else if (due <= now) {
        Owe();
        MakeReady(job, due != Clock::time_point::min(), todo);
    } else {
        Owe();
        MakeTimed(job, todo);
    }
}

// It is owed already.
void PostLane::MakeReady(JobState &job, bool isExpired, Todo &todo) noexcept {
    job.isExpired = isExpired;
    job.place = JobPlace::Ready;
    m_ready.Append(job);
    ++todo.runners;
}

void PostLane::MakeTimed(JobState &job, Todo &todo) noexcept {
    job.turn = m_nextTurn++;
    job.place = JobPlace::Timed;
    m_timed.Push(job);
    if (!m_hasDispatcher) {
        Owe();
        m_hasDispatcher = todo.startsDispatcher = true;
    } else if (m_alarm != nullptr && job.due < m_wakesAt) {
        Ring(todo);
    }
}

void PostLane::Ring(Todo &todo) noexcept {
    todo.alarm = m_alarm;
    m_alarm = nullptr;
}

void PostLane::TakeOut(JobState &job, Todo &todo) noexcept {
    if (job.place != JobPlace::Timed) {
        (job.place == JobPlace::Ready ? m_ready : m_waiting).Remove(job);
    } else {
        m_timed.Remove(job);
        if (m_timed.IsEmpty() && m_alarm != nullptr) Ring(todo);
    }
    job.place = JobPlace::Nowhere;
}

void PostLane::Call(JobState &job, bool isSignal) noexcept {
    if (!IsRunning()) return;
    Todo todo;
    {
        const Held held(*this);
        race::Finishes(&job);
        job.isCalled = true;
        if (isSignal) job.isSignalled = true;
        const JobPlace place = job.place;
        if (job.waits && (place == JobPlace::Timed || place == JobPlace::Waiting)) {
            TakeOut(job, todo);
            if (place == JobPlace::Waiting) Owe();
            MakeReady(job, false, todo);
        }
    }
    // From here on the job may be gone.
    Do(todo);
}

bool PostLane::ReceiveSignal(JobState &job) noexcept {
    const Held held(*this);
    const bool isSignalled = job.isSignalled;
    job.isSignalled = false;
    if (isSignalled) race::SawAll(&job);
    return isSignalled;
}

void PostLane::RunOldest(TaskScheduler *scheduler, void *arg) {
    PostLane &lane = *static_cast<PostLane *>(arg);
    const Debt debt(lane);  // to its end even if the callback throws
    PostedJob *job;
    PostedFunction callback;
    {
        const Held held(lane);
        JobState *const oldest = lane.m_ready.First();
        if (oldest == nullptr) return;  // destroyed, and that was reported
        lane.m_ready.Remove(*oldest);
        oldest->place = JobPlace::Nowhere;
        oldest->isCalled = false;
        race::SawAll(oldest);
        job = oldest->job;
        callback = oldest->callback;
    }
    callback(scheduler, job);
    // The job may be gone, since its callback began.
}

void PostLane::Dispatch(TaskScheduler *, void *arg) {
    PostLane &lane = *static_cast<PostLane *>(arg);
    const Debt debt(lane);
    while (lane.DispatchOnce()) {
    }
}

bool PostLane::DispatchOnce() noexcept {
    Counter alarm(1);
    Todo todo;
    const Clock::time_point now = Now();
    Clock::time_point next = now;
    bool goesOn;
    {
        const Held held(*this);
        while (todo.runners < kMostDue && !m_timed.IsEmpty() && m_timed.Top().due <= now) {
            JobState &due = m_timed.Top();
            m_timed.Remove(due);
            MakeReady(due, true, todo);
        }
        goesOn = !m_timed.IsEmpty();
        m_hasDispatcher = goesOn;
        if (goesOn && m_timed.Top().due > now) {
            next = m_wakesAt = m_timed.Top().due;
            m_alarm = &alarm;
        }
    }
    Do(todo);
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

void PostLane::Forget(JobState &job) noexcept {
    Todo todo;
    {
        const Held held(*this);
        const bool isOwed = job.place == JobPlace::Timed;  // who is Ready leaves its debt to a runner
        TakeOut(job, todo);
        if (!isOwed) m_owed.fetch_add(kOne, kRelaxed);  // Release is then the same for all
    }
    Do(todo);
    ReportMisuse(m_scheduler, ReportCode::CounterDestroyed,
                 "Destroy it in its callback, or when that does not post it.",
                 "a job was destroyed while it was posted");
    Release();
}

uint32_t PostLane::GiveBack(JobList &list) noexcept {
    uint32_t count = 0;
    for (; JobState *job = list.First(); ++count) {
        list.Remove(*job);
        job->place = JobPlace::Nowhere;
    }
    return count;
}

PostLane::~PostLane() {
    // acquire: what those did who owe nothing any more. release: m_ended, for who will lower it.
    if (m_owed.fetch_or(kEnding, kAcqRel) != 0) {
        m_scheduler.WaitForCounter(&m_ended);
        // Refused, and that was reported: a hook that waits; or nothing runs, and nobody will come.
        while (!m_ended.IsZero() && IsRunning()) env::YieldThread();
    }
    uint32_t left;
    {
        const Held held(*this);
        left = GiveBack(m_waiting) + GiveBack(m_ready);
    }
    if (left != 0) {
        ReportMisuse(m_scheduler, ReportCode::CounterDestroyed, "Call them before, or let them wait with a deadline.",
                     "a PostQueue was destroyed while jobs waited in it; they are given back");
    }
}

}  // namespace weft::internal
