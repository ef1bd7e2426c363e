// Posted jobs, which post themselves until their bytes are used up.
#include "weft/post/posted_job.h"

#include "fuzz/script.h"

#include <optional>

namespace fuzz {

using namespace weft;

namespace {

// All jobs of one queue.
struct Jobs {
    Jobs(World &of, TaskScheduler &by, const TaskOptions &options, bool mayBeSignalled)
        : world(of), scheduler(by), maySignal(mayBeSignalled), queue(std::in_place, by, options) {}
    World &world;
    TaskScheduler &scheduler;
    const bool maySignal;
    Counter alive;
    std::atomic<uint32_t> posts{0}, begins{0};
    std::optional<PostQueue> queue;
};

class Job : public PostedJob {
public:
    Job(Jobs &jobs, Bytes steps) : PostedJob(*jobs.queue, Begin), m_jobs(jobs), m_steps(steps) {
        m_jobs.scheduler.IncrementCounter(&m_jobs.alive);
        m_jobs.posts.fetch_add(1);
        Post();
    }

private:
    enum class Reason : uint8_t { None, Time, Deadline, Call, Signal };

    static void Begin(TaskScheduler *, PostedJob *job) { static_cast<Job *>(job)->Step(); }
    void Step();
    void WaitForSignal(Clock::duration duration);
    Clock::duration Short() { return std::chrono::microseconds(m_steps.Next()); }

    Jobs &m_jobs;
    Bytes m_steps;
    Reason m_reason = Reason::None;  // why the callback will be called next
    // The job has received a signal that may have come after the callback began. Then the next wait
    // ends at once.
    bool m_mayBeCalled = false;
};

constexpr PostedFunction kNever = [](TaskScheduler *, PostedJob *) {
    Finding("a refused job began");
};

void Signalling(TaskScheduler *scheduler, void *cell) {
    Leaf(scheduler, cell);
    static_cast<PostedJob *>(static_cast<Cell *>(cell)->target)->Signal();
}

void Job::Step() {
    m_jobs.begins.fetch_add(1);
    const bool mayBeCalled = m_mayBeCalled;
    Require(m_reason != Reason::Time || IsExpired(), "a job began before its time");
    Require(m_reason != Reason::Deadline || IsExpired() || mayBeCalled,
            "a job that nobody called began too early");
    Require(m_reason != Reason::Call || !IsExpired(), "a job that was called began by its time");
    const bool isSignalled = m_mayBeCalled = ReceiveSignal();
    Require(!isSignalled || m_reason == Reason::Signal, "a job has a signal that nobody gave");
    if (m_reason == Reason::Signal && !isSignalled) {
        Require(IsExpired() || mayBeCalled, "a job was called and has no signal");
        m_jobs.posts.fetch_add(1);
        return PostOnWake();  // the signal will come
    }
    m_reason = Reason::None;
    if (m_steps.IsEmpty()) {
        Jobs &jobs = m_jobs;
        delete this;
        return jobs.scheduler.DecrementCounter(&jobs.alive);
    }
    const uint32_t kind = m_steps.Below(6);
    if (kind >= 4) return WaitForSignal(kind == 4 ? Clock::duration::max() : Short());
    m_jobs.posts.fetch_add(1);
    static constexpr Reason kReasons[] = {Reason::None, Reason::Time, Reason::Deadline,
                                          Reason::Call};
    m_reason = kReasons[kind];
    if (kind == 0) Post();
    if (kind == 1) PostAfter(Short());
    if (kind == 2) PostOnWakeFor(Short());
    if (kind == 3) {
        Wake();
        PostOnWake();
    }
}

void Job::WaitForSignal(Clock::duration duration) {
    Cell *cell = m_jobs.maySignal ? m_jobs.world.NewCells(1) : nullptr;
    m_jobs.posts.fetch_add(1);
    if (cell == nullptr) return Post();
    cell->accepted = true;
    cell->target = this;
    m_reason = Reason::Signal;
    m_jobs.scheduler.AddTask({Signalling, cell});
    duration == Clock::duration::max() ? PostOnWake() : PostOnWakeFor(duration);
}

}  // namespace

// The end of the queue waits for all jobs, except those that wait and have not been woken.
void Script::PostJobs() {
    const uint32_t count = 1 + m_bytes.Below(4);
    const bool waits = m_bytes.Below(2) != 0;
    const TaskOptions options = Options();
    Bytes steps[4] = {m_bytes, m_bytes, m_bytes, m_bytes};
    for (uint32_t i = 0; i < count; ++i) steps[i] = m_bytes.Split(m_bytes.Below(8));
    const Spares spare(m_world, 1);  // in use while a job has a deadline
    if (!m_mayWait || spare.Count() == 0) return;
    Jobs jobs(m_world, m_scheduler, options, waits);
    for (uint32_t i = 0; i < count; ++i) new Job(jobs, steps[i]);
    if (waits) m_scheduler.WaitForCounter(&jobs.alive);
    jobs.queue.reset();
    Require(jobs.alive.IsZero(), "a queue ended before its jobs");
    Require(jobs.begins.load() == jobs.posts.load(), "a post did not begin its callback once");
}

void Script::MistakeInJobs() {
    if (!m_mayWait) return;
    static constexpr PostedFunction kNothing = [](TaskScheduler *, PostedJob *) {};
    const uint32_t kind = m_bytes.Below(7), how = m_bytes.Below(3);
    std::optional<PostQueue> queue(std::in_place, kind >= 4 ? *m_world.idle : m_scheduler);
    std::optional<PostedJob> job(std::in_place, *queue,
                                 kind == 0   ? nullptr
                                 : kind == 1 ? kNothing
                                             : kNever);
    Oracle &oracle = m_world.oracle;
    const auto post = [&] {
        how == 0 ? job->Post() : how == 1 ? job->PostAfter(Short()) : job->PostOnWakeUntil(Soon());
    };
    if (kind == 0) oracle.Expect(ReportCode::NullTask, post);
    if (kind >= 1 && kind <= 3) job->PostOnWake();
    if (kind == 1) {
        oracle.Expect(ReportCode::WrongThread, post);
        job->Wake();
    }
    if (kind == 2) oracle.Expect(ReportCode::DestroyedInUse, [&] { job.reset(); });
    if (kind == 3) oracle.Expect(ReportCode::DestroyedInUse, [&] { queue.reset(); });
    if (kind == 4) oracle.Expect(ReportCode::NotRunning, post);
    if (kind == 5) oracle.Expect(ReportCode::NotRunning, [&] { job->Wake(); });
    if (kind == 6) {
        oracle.Expect(ReportCode::NotRunning, [&] { job->Signal(); });
        Require(!job->ReceiveSignal(), "a signal of a queue that does not run");
    }
    queue.reset();
}

// No worker may run the jobs of this queue. A call that would make a job ready is refused and
// removes the job from the queue. So the end of the queue waits for nothing.
void Script::MistakeInJobOptions() {
    const uint32_t how = m_bytes.Below(4), count = 1 + m_bytes.Below(3);
    TaskOptions nobody = Options();
    // There are never so many attached threads.
    nobody.worker = m_world.options.workers + m_world.options.maxAttached - 1;
    PostQueue queue(m_scheduler, nobody);
    const auto refuse = [&](auto call) { m_world.oracle.Expect(ReportCode::BadOption, call); };
    for (uint32_t i = 0; i < count; ++i) {
        PostedJob job(queue, kNever);
        if (how == 0) refuse([&] { job.Post(); });
        if (how == 1) refuse([&] { job.PostAt(Clock::time_point()); });  // a time in the past
        if (how < 2) continue;
        job.PostOnWake();
        refuse([&] { how == 2 ? job.Wake() : job.Signal(); });
        Require(job.ReceiveSignal() == (how == 3), "the signal of a job that nobody may run");
        refuse([&] { job.PostOnWake(); });  // the job was woken since its callback began last
    }
}

}  // namespace fuzz
