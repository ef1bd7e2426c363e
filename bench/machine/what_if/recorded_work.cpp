// Implements recorded_work.h: goes through all events once, and keeps the stack of tasks of each
// fiber.
#include "machine/what_if/recorded_work.h"

#include <algorithm>
#include <map>
#include <unordered_map>
#include <utility>

namespace machine {

namespace {

using trace::Event;
using trace::kUnknown;
using weft::TraceKind;

// The scheduler takes at most this time between two tasks that run on the stack of a waiting one.
constexpr int64_t kBetweenNs = 2000;

// What two calls of the scheduler cost before the task goes on. Between the event and the next one
// of the same worker there is the call, and often something else. So a small quantile is taken.
struct CallCosts {
    int64_t submit = 0;
    int64_t wake = 0;
};

CallCosts EstimateCosts(const trace::Recording &recording) {
    std::vector<int64_t> submits, wakes;
    std::vector<const Event *> last(recording.Slots());
    for (const Event &event : recording.events) {
        if (event.ring >= recording.Slots()) continue;
        const Event *const before = std::exchange(last[event.ring], &event);
        if (before == nullptr) continue;
        if (before->kind == TraceKind::Submit) submits.push_back(event.ns - before->ns);
        if (before->kind == TraceKind::Wake) wakes.push_back(event.ns - before->ns);
    }
    const auto small = [](std::vector<int64_t> &gaps) {
        std::sort(gaps.begin(), gaps.end());
        return gaps.empty() ? 0 : std::max<int64_t>(gaps[gaps.size() / 20], 0);
    };
    return {small(submits), small(wakes)};
}

struct Fiber {
    std::vector<uint32_t> stack;  // jobs, the outermost first
    uint32_t wait = kNone;        // of the innermost one
};

// A job while it is on a stack.
struct Running {
    int64_t since = kUnknown;  // it computes; kUnknown: it does not
    int64_t calls = 0;         // what the scheduler took of this time
    int64_t offCpu = 0;        // how much of this time its thread was off its processor
    uint64_t inlineOf = 0;     // it has just waited for this counter, or run tasks of it inline
};

class Builder {
public:
    explicit Builder(const trace::Recording &recording)
        : m_recording(recording), m_costs(EstimateCosts(recording)) {
        m_afterDeadline.resize(recording.rings.size());
        m_lastNs.resize(recording.rings.size(), recording.from);
    }

    RecordedWork Build() {
        FindSubmissions();
        for (const Event &event : m_recording.events) {
            if (event.ns < m_recording.from || event.ns > m_recording.until) continue;
            event.ring < m_recording.Slots() ? OnSlot(event) : OnThread(event);
        }
        for (auto &[key, fiber] : m_fibers) {
            if (!fiber.stack.empty()) Pause(fiber.stack.back(), m_recording.until);
            for (const uint32_t job : fiber.stack) m_work.jobs[job].end = m_recording.until;
        }
        for (RecordedSubmission &submission : m_work.submissions) {
            std::sort(submission.jobs.begin(), submission.jobs.end(),
                      [&](uint32_t a, uint32_t b) { return m_ids.at(a) < m_ids.at(b); });
        }
        return std::move(m_work);
    }

private:
    using Kind = RecordedStep::Kind;

    void FindSubmissions() {
        for (const Event &event : m_recording.events) {
            if (event.kind != TraceKind::Submit) continue;
            m_byFirst[event.id] = static_cast<uint32_t>(m_work.submissions.size());
            m_work.submissions.push_back(
                {event.ns, event.other, event.name, event.counter, event.priority, {}});
        }
    }

    uint32_t SubmissionOf(uint64_t id) const {
        const auto after = m_byFirst.upper_bound(id);
        if (id == 0 || after == m_byFirst.begin()) return kNone;
        const auto &[first, index] = *std::prev(after);
        return id - first < m_work.submissions[index].count ? index : kNone;
    }

    uint64_t CounterOf(uint32_t job) const {
        const uint32_t submission = m_work.jobs[job].submission;
        return submission == kNone ? 0 : m_work.submissions[submission].counter;
    }

    uint32_t KeyOf(uint32_t fiber, uint32_t slot) const {
        fiber &= 0xffffff;
        return fiber == trace::kThreadStack ? trace::kThreadStack + 1 + slot : fiber;
    }

    // --- steps ---

    // The job stops computing.
    void Pause(uint32_t index, int64_t ns) {
        Running &running = m_running[index];
        const int64_t since = std::exchange(running.since, kUnknown);
        const int64_t others = running.calls + running.offCpu;
        running.calls = running.offCpu = 0;
        if (since == kUnknown || ns <= since) return;
        RecordedStep step{Kind::Compute, since, ns};
        step.ns = std::max<int64_t>(ns - since - others, 0);
        m_work.jobs[index].steps.push_back(step);
    }
    void Continue(uint32_t index, int64_t ns) {
        m_running[index].since = ns;
        m_running[index].calls = m_running[index].offCpu = 0;
    }
    // The thread of the worker was off its processor before `event`, at most since its event before
    // (`before`).
    void LoseCpu(uint32_t index, int64_t before, const Event &event) {
        Running &running = m_running[index];
        if (running.since == kUnknown) return;
        const int64_t most = event.ns - std::max(before, running.since);
        running.offCpu += std::clamp<int64_t>(event.other, 0, std::max<int64_t>(most, 0));
    }

    // Adds a step that takes no time.
    RecordedStep &Add(uint32_t index, Kind kind, const Event &event, int64_t call = 0) {
        Pause(index, event.ns);
        m_running[index].inlineOf = 0;
        Continue(index, event.ns);
        m_running[index].calls = call;
        RecordedStep step{kind, event.ns, event.ns};
        step.counter = event.counter;
        step.value = event.other;
        m_work.jobs[index].steps.push_back(step);
        return m_work.jobs[index].steps.back();
    }

    // Begins a wait, or goes on with the wait in which the job has run tasks on its own stack.
    uint32_t BeginWait(uint32_t index, uint64_t counter, uint32_t target, bool suspends,
                       int64_t ns) {
        RecordedJob &job = m_work.jobs[index];
        Running &running = m_running[index];
        const bool goesOn = running.inlineOf != 0 && running.inlineOf == counter &&
                            !job.steps.empty() && job.steps.back().kind == Kind::Wait &&
                            running.since != kUnknown &&
                            ns - running.since - running.offCpu <= kBetweenNs;
        if (goesOn) {
            running.since = kUnknown;
            running.offCpu = 0;
            RecordedWait &wait = m_work.waits[job.steps.back().index];
            wait.isOver = false;
            wait.ready = kUnknown;
            return job.steps.back().index;
        }
        Pause(index, ns);
        running.inlineOf = 0;
        RecordedStep step{Kind::Wait, ns, ns};
        step.index = static_cast<uint32_t>(m_work.waits.size());
        job.steps.push_back(step);
        RecordedWait wait{ns, ns, kUnknown, counter, target};
        wait.suspends = suspends;
        m_work.waits.push_back(wait);
        return step.index;
    }
    void EndWait(uint32_t index, uint32_t waitIndex, int64_t ns) {
        RecordedWait &wait = m_work.waits[waitIndex];
        wait.end = ns;
        if (wait.ready == kUnknown || wait.ready > ns) wait.ready = ns;
        wait.isOver = true;
        m_work.jobs[index].steps.back().end = ns;
        Continue(index, ns);
    }

    // --- jobs ---

    uint32_t NewJob(RecordedJob::Kind kind, uint32_t name, int64_t ns) {
        RecordedJob job;
        job.kind = kind;
        job.name = name;
        job.begin = job.end = ns;
        m_work.jobs.push_back(job);
        m_running.emplace_back();
        const auto index = static_cast<uint32_t>(m_work.jobs.size()) - 1;
        Continue(index, ns);
        return index;
    }

    // Returns the job that runs on the fiber. Its begin may be missing.
    uint32_t JobOn(Fiber &fiber, const Event &event) {
        if (!fiber.stack.empty()) return fiber.stack.back();
        const uint64_t number = event.fiber & 0xffffff;
        const bool isOwn = number >= m_recording.OwnStacks() && number != trace::kThreadStack;
        fiber.stack.push_back(NewJob(
            isOwn ? RecordedJob::Kind::AttachedThread : RecordedJob::Kind::Task,
            event.kind == TraceKind::Wait || event.kind == TraceKind::Resume ? event.name : 0,
            event.ns));
        return fiber.stack.back();
    }

    void BeginTask(const Event &event, Fiber &fiber) {
        const uint32_t submission = SubmissionOf(event.id);
        if (!fiber.stack.empty() && fiber.wait == kNone) {  // the task below waits for this one
            const uint64_t counter =
                submission == kNone ? 0 : m_work.submissions[submission].counter;
            const uint32_t below = fiber.stack.back();
            if (counter != 0)
                BeginWait(below, counter, 0, false, event.ns);
            else
                Pause(below, event.ns);
        }
        const uint32_t index = NewJob(RecordedJob::Kind::Task, event.name, event.ns);
        m_ids[index] = event.id;
        m_work.jobs[index].submission = submission;
        if (submission != kNone) m_work.submissions[submission].jobs.push_back(index);
        fiber.stack.push_back(index);
    }

    void EndTask(const Event &event, Fiber &fiber) {
        const auto isIt = [&](uint32_t job) {
            const auto id = m_ids.find(job);
            return id != m_ids.end() && id->second == event.id;
        };
        std::vector<uint32_t> &stack = fiber.stack;
        if (std::find_if(stack.begin(), stack.end(), isIt) == stack.end()) return;
        for (bool isLast = false; !isLast;) {  // tasks above it have ended, too
            const uint32_t index = stack.back();
            isLast = isIt(index);
            Pause(index, event.ns);
            m_work.jobs[index].end = event.ns;
            m_work.jobs[index].isOver = isLast;
            stack.pop_back();
            if (isLast && !stack.empty() && fiber.wait == kNone)
                ContinueBelow(stack.back(), CounterOf(index), event.ns);
        }
    }

    // A task on top of this one has ended.
    void ContinueBelow(uint32_t index, uint64_t counter, int64_t ns) {
        RecordedJob &job = m_work.jobs[index];
        if (counter == 0 || job.steps.empty() || job.steps.back().kind != Kind::Wait)
            return Continue(index, ns);
        EndWait(index, job.steps.back().index, ns);
        m_running[index].inlineOf = counter;
    }

    // --- events ---

    void OnSlot(const Event &event) {
        Fiber &fiber = m_fibers[KeyOf(event.fiber, event.ring)];
        const int64_t before = std::exchange(m_lastNs[event.ring], event.ns);
        if (event.kind == TraceKind::OffCpu) {
            if (!fiber.stack.empty()) LoseCpu(fiber.stack.back(), before, event);
            return;
        }
        const bool wasAfterDeadline = m_afterDeadline[event.ring];
        m_afterDeadline[event.ring] =
            event.kind == TraceKind::Deadline ||
            (wasAfterDeadline && (event.kind == TraceKind::Ready || event.kind == TraceKind::Wake));
        switch (event.kind) {
            case TraceKind::TaskBegin:
                return BeginTask(event, fiber);
            case TraceKind::TaskEnd:
                return EndTask(event, fiber);
            case TraceKind::FiberSwitch: {
                if (!fiber.stack.empty()) Pause(fiber.stack.back(), event.ns);
                const Fiber &next = m_fibers[KeyOf(event.other, event.ring)];
                if (!next.stack.empty() && next.wait == kNone)
                    Continue(next.stack.back(), event.ns);
                return;
            }
            case TraceKind::Wait:
                fiber.wait =
                    BeginWait(JobOn(fiber, event), event.counter, event.other, true, event.ns);
                return;
            case TraceKind::Resume: {
                const uint32_t job = JobOn(fiber, event);
                const uint32_t wait = std::exchange(fiber.wait, kNone);
                wait == kNone ? Continue(job, event.ns) : EndWait(job, wait, event.ns);
                m_running[job].inlineOf = event.counter;
                return;
            }
            case TraceKind::Wake:
                if (!fiber.stack.empty() && m_running[fiber.stack.back()].since != kUnknown)
                    m_running[fiber.stack.back()].calls += m_costs.wake;
                return;
            case TraceKind::Ready:
                return MakeReady(
                    event, fiber.stack.empty() || fiber.wait != kNone ? kNone : fiber.stack.back());
            case TraceKind::Detach:
                for (const uint32_t job : fiber.stack) Pause(job, event.ns);
                for (const uint32_t job : fiber.stack) m_work.jobs[job].end = event.ns;
                fiber.stack.clear();
                return;
            default:
                if (IsStep(event)) AddEvent(event, JobOn(fiber, event));
        }
    }

    static bool IsStep(const Event &event) {
        return event.kind == TraceKind::Submit || event.kind == TraceKind::Satisfied ||
               event.kind == TraceKind::Increment || event.kind == TraceKind::Decrement ||
               event.kind == TraceKind::Frame;
    }

    void AddEvent(const Event &event, uint32_t job) {
        switch (event.kind) {
            case TraceKind::Submit:
                Add(job, Kind::Submit, event, m_costs.submit).index = m_byFirst.at(event.id);
                return;
            case TraceKind::Satisfied:
                EndWait(job, BeginWait(job, event.counter, event.other, false, event.ns), event.ns);
                return;
            case TraceKind::Increment:
                Add(job, Kind::Raise, event);
                return;
            case TraceKind::Decrement:
                Add(job, Kind::Lower, event);
                return;
            default:
                Add(job, Kind::Mark, event);
        }
    }

    // `job` has ended the wait of another fiber or thread; kNone: the scheduler has.
    void MakeReady(const Event &event, uint32_t job) {
        uint32_t waitIndex = kNone;
        if (event.other != kNone) {
            const auto found = m_fibers.find(event.other & 0xffffff);
            if (found != m_fibers.end()) waitIndex = found->second.wait;
        } else {
            for (const auto &[number, thread] : m_threads) {
                if (thread.wait != kNone && m_work.waits[thread.wait].counter == event.counter)
                    waitIndex = thread.wait;
            }
        }
        if (waitIndex == kNone) return;
        RecordedWait &wait = m_work.waits[waitIndex];
        wait.ready = std::max(event.ns, wait.begin);
        wait.byDeadline = m_afterDeadline[event.ring];
        if (job == kNone || m_running[job].since == kUnknown) return;
        const uint64_t inlineOf = m_running[job].inlineOf;
        Pause(job, event.ns);
        RecordedStep step{Kind::Release, event.ns, event.ns};
        step.index = waitIndex;
        m_work.jobs[job].steps.push_back(step);
        Continue(job, event.ns);
        m_running[job].inlineOf = inlineOf;
    }

    // A thread that is no worker computes between its events.
    void OnThread(const Event &event) {
        Fiber &thread = m_threads[event.fiber];
        if (thread.stack.empty())
            thread.stack.push_back(NewJob(RecordedJob::Kind::Thread, 0, event.ns));
        const uint32_t job = thread.stack.back();
        m_work.jobs[job].end = event.ns;
        if (event.kind == TraceKind::Wait) {
            thread.wait = BeginWait(job, event.counter, event.other, true, event.ns);
        } else if (event.kind == TraceKind::Resume) {
            const uint32_t wait = std::exchange(thread.wait, kNone);
            wait == kNone ? Continue(job, event.ns) : EndWait(job, wait, event.ns);
        } else if (event.kind == TraceKind::Ready) {
            MakeReady(event, thread.wait == kNone ? job : kNone);
        } else if (IsStep(event)) {
            AddEvent(event, job);
        }
    }

    const trace::Recording &m_recording;
    const CallCosts m_costs;
    RecordedWork m_work;
    std::vector<Running> m_running;                // by job
    std::unordered_map<uint32_t, uint64_t> m_ids;  // of the jobs that are tasks
    std::map<uint64_t, uint32_t> m_byFirst;        // submissions by their first task
    std::unordered_map<uint32_t, Fiber> m_fibers;  // by key
    std::map<uint32_t, Fiber> m_threads;           // by their number
    std::vector<bool> m_afterDeadline;             // by ring
    std::vector<int64_t> m_lastNs;                 // of the last event, by ring
};

}  // namespace

RecordedWork FindWork(const trace::Recording &recording) { return Builder(recording).Build(); }

}  // namespace machine
