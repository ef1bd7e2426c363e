// Implements frame_graph.h.
#include "machine/what_if/frame_graph.h"

#include "machine/what_if/counter_history.h"

#include <algorithm>
#include <map>
#include <set>

namespace machine {

namespace {

using Recorded = RecordedStep::Kind;
using Kind = GraphStep::Kind;

class Cutter {
public:
    Cutter(const RecordedWork &work, const Stretch &stretch)
        : m_work(work),
          m_stretch(stretch),
          m_begin(stretch.begin),
          m_end(stretch.end),
          m_jobOf(work.jobs.size(), kNone) {
        m_graph.frames = stretch.frames;
        m_graph.recordedNs = static_cast<double>(stretch.lastMark - stretch.firstMark) /
                             static_cast<double>(stretch.frames.size());
    }

    FrameGraph Cut() {
        FindJobs();
        FindHistories();
        for (const Part &part : m_parts) {
            for (const RecordedStep &step : part) CutStep(step, m_jobOf[part.job]);
        }
        SubmitFirst();
        for (CounterHistory &history : m_histories)
            m_graph.counters[history.Index()] = history.ValueAtBegin();
        return std::move(m_graph);
    }

private:
    // --- which jobs ---

    // The steps of a job that lie in the frame.
    struct Part {
        uint32_t job;  // in RecordedWork
        std::vector<RecordedStep>::const_iterator first, last;
        std::vector<RecordedStep>::const_iterator begin() const { return first; }
        std::vector<RecordedStep>::const_iterator end() const { return last; }
    };

    Part PartOf(uint32_t index) const {
        const std::vector<RecordedStep> &steps = m_work.jobs[index].steps;
        auto first =
            std::lower_bound(steps.begin(), steps.end(), m_begin,
                             [](const RecordedStep &step, int64_t ns) { return step.end < ns; });
        for (auto step = first; step != steps.end() && step->begin <= m_begin; ++step) {
            if (step->kind == Recorded::Mark && step->begin == m_begin) first = step + 1;
        }
        auto last = first;
        for (; last != steps.end() && !EndsBefore(*last); ++last) {
            if (last->kind == Recorded::Mark && last->begin == m_end) return {index, first, ++last};
        }
        return {index, first, last};
    }

    // Returns whether the job does not come to the end of this step in the frame.
    bool EndsBefore(const RecordedStep &step) const {
        if (step.kind == Recorded::Wait)
            return !m_work.waits[step.index].isOver || step.end > m_end;
        return step.begin >= m_end && !(step.kind == Recorded::Mark && step.begin == m_end);
    }

    // Returns whether the job does something in the frame, apart from waiting.
    bool TakesPart(const RecordedJob &job, const Part &part) const {
        if (job.kind == RecordedJob::Kind::Task)
            return job.begin > m_begin || part.first != part.last;
        return std::any_of(part.begin(), part.end(), [](const RecordedStep &step) {
            return step.kind != Recorded::Compute && step.kind != Recorded::Release;
        });
    }

    void FindJobs() {
        for (uint32_t i = 0; i < m_work.jobs.size(); ++i) {
            const RecordedJob &job = m_work.jobs[i];
            if (job.begin >= m_end || job.end < m_begin || (job.isOver && job.end == m_begin))
                continue;
            const Part part = PartOf(i);
            if (!TakesPart(job, part)) continue;
            m_jobOf[i] = static_cast<uint32_t>(m_graph.jobs.size());
            m_parts.push_back(part);
            m_graph.jobs.push_back({job.kind, job.name, {}});
            if (job.kind != RecordedJob::Kind::Task) m_graph.threads.push_back(m_jobOf[i]);
        }
        m_isSubmitted.resize(m_graph.jobs.size());
    }

    // --- counters ---

    CounterHistory &HistoryOf(uint64_t address) {
        const auto [at, isNew] =
            m_historyOf.emplace(address, static_cast<uint32_t>(m_histories.size()));
        if (isNew) m_histories.emplace_back(NewCounter(0));
        return m_histories[at->second];
    }
    uint32_t NewCounter(uint32_t value) {
        m_graph.counters.push_back(value);
        return static_cast<uint32_t>(m_graph.counters.size()) - 1;
    }
    uint64_t CounterOf(const RecordedJob &job) const {
        return job.submission == kNone ? 0 : m_work.submissions[job.submission].counter;
    }

    // Follows the values of all counters in the frame.
    void FindHistories() {
        for (const Part &part : m_parts) {
            const RecordedJob &job = m_work.jobs[part.job];
            if (const uint64_t counter = CounterOf(job); counter != 0) {
                const int64_t submitted = m_work.submissions[job.submission].ns;
                HistoryOf(counter).Change(std::max(submitted, m_begin - 1), 1);
                if (job.isOver && job.end <= m_end) HistoryOf(counter).Change(job.end, -1);
            }
            for (const RecordedStep &step : part) {
                if (step.kind == Recorded::Raise)
                    HistoryOf(step.counter).Change(step.begin, step.value);
                if (step.kind == Recorded::Lower)
                    HistoryOf(step.counter).Change(step.begin, -int64_t{step.value});
                if (EndsItsWait(step)) m_isReleased.insert(step.index);
            }
        }
        for (CounterHistory &history : m_histories) history.Sort();
        for (const Part &part : m_parts) {
            for (const RecordedStep &step : part) {
                if (step.kind == Recorded::Wait) FindEnd(step.index);
            }
        }
    }

    // A wait may be ended several times, if the task then waits again. The last time counts.
    bool EndsItsWait(const RecordedStep &step) const {
        return step.kind == Recorded::Release && step.begin == m_work.waits[step.index].ready;
    }

    // Finds out what ends a wait when the frame runs again.
    void FindEnd(uint32_t index) {
        const RecordedWait &wait = m_work.waits[index];
        if (!wait.byDeadline) {
            if (CounterHistory &history = HistoryOf(wait.counter); history.Explains(wait))
                return history.Take(wait);
            if (m_isReleased.count(index) != 0) {
                m_releasedBy[index] = NewCounter(1);
                return;
            }
        }
        m_sleeps.insert({index, static_cast<double>(wait.ready - std::max(wait.begin, m_begin))});
    }

    // --- steps ---

    void CutStep(const RecordedStep &step, uint32_t job) {
        GraphJob &into = m_graph.jobs[job];
        switch (step.kind) {
            case Recorded::Compute: {
                const auto inside =
                    static_cast<double>(std::min(step.end, m_end) - std::max(step.begin, m_begin));
                const auto whole = static_cast<double>(std::max<int64_t>(step.end - step.begin, 1));
                const double ns = static_cast<double>(step.ns) * std::max(inside, 0.0) / whole;
                if (ns > 0) into.steps.push_back({Kind::Compute, ns});
                return;
            }
            case Recorded::Submit:
                return CutSubmission(step, into);
            case Recorded::Wait:
                return CutWait(step, into);
            case Recorded::Raise:
            case Recorded::Lower:
                into.steps.push_back({step.kind == Recorded::Raise ? Kind::Raise : Kind::Lower, 0,
                                      HistoryOf(step.counter).Index(), step.value});
                return;
            case Recorded::Release:
                if (const auto to = m_releasedBy.find(step.index);
                    to != m_releasedBy.end() && EndsItsWait(step))
                    into.steps.push_back({Kind::Lower, 0, to->second, 1});
                return;
            case Recorded::Mark:
                if (step.begin != m_stretch.firstMark && step.begin != m_stretch.lastMark) return;
                into.steps.push_back({Kind::Mark, 0, 0, step.begin == m_stretch.lastMark});
                if (step.begin == m_stretch.lastMark) m_graph.driver = job;
        }
    }

    void CutSubmission(const RecordedStep &step, GraphJob &into) {
        const uint32_t batch = NewBatch(step.index);
        for (const uint32_t index : m_work.submissions[step.index].jobs) {
            if (m_jobOf[index] != kNone && !m_isSubmitted[m_jobOf[index]])
                Put(batch, m_jobOf[index]);
        }
        if (m_graph.batches[batch].jobs.empty())
            m_graph.batches.pop_back();
        else
            into.steps.push_back({Kind::Submit, 0, batch});
    }

    void CutWait(const RecordedStep &step, GraphJob &into) {
        if (const auto sleep = m_sleeps.find(step.index); sleep != m_sleeps.end()) {
            if (sleep->second <= 0) return;
            into.steps.push_back({Kind::Sleep, sleep->second});
            ++m_graph.guessed;
            return;
        }
        const auto released = m_releasedBy.find(step.index);
        const RecordedWait &wait = m_work.waits[step.index];
        const auto ns = static_cast<double>(wait.ready - std::max(wait.begin, m_begin));
        if (released != m_releasedBy.end())
            into.steps.push_back({Kind::Wait, ns, released->second, 0});
        else
            into.steps.push_back({Kind::Wait, ns, HistoryOf(wait.counter).Index(), wait.target});
    }

    // --- batches ---

    // `submission`: kNone if it is not known.
    uint32_t NewBatch(uint32_t submission) {
        GraphBatch batch{kNone, 0, weft::Priority::Normal, {}};
        if (submission != kNone) {
            const RecordedSubmission &from = m_work.submissions[submission];
            batch.counter = from.counter == 0 ? kNone : HistoryOf(from.counter).Index();
            batch.name = from.name;
            batch.priority = from.priority;
        }
        m_graph.batches.push_back(batch);
        return static_cast<uint32_t>(m_graph.batches.size()) - 1;
    }
    void Put(uint32_t batch, uint32_t job) {
        m_graph.batches[batch].jobs.push_back(job);
        m_isSubmitted[job] = true;
    }

    // Tasks that no job of the frame submits are there at the beginning.
    void SubmitFirst() {
        std::map<uint32_t, uint32_t> batchOf;  // by submission
        for (const Part &part : m_parts) {
            const RecordedJob &job = m_work.jobs[part.job];
            const uint32_t index = part.job;
            if (job.kind != RecordedJob::Kind::Task || m_isSubmitted[m_jobOf[index]]) continue;
            const auto [at, isNew] = batchOf.emplace(job.submission, 0);
            if (isNew || job.submission == kNone) {
                at->second = NewBatch(job.submission);
                m_graph.first.push_back(at->second);
            }
            Put(at->second, m_jobOf[index]);
        }
    }

    const RecordedWork &m_work;
    const Stretch m_stretch;
    const int64_t m_begin, m_end;
    std::vector<uint32_t> m_jobOf;  // recorded job to that of the graph
    std::vector<Part> m_parts;      // of each job of the graph
    std::vector<bool> m_isSubmitted;
    std::vector<CounterHistory> m_histories;
    std::map<uint64_t, uint32_t> m_historyOf;   // by address
    std::set<uint32_t> m_isReleased;            // waits that a job of the frame ends
    std::map<uint32_t, uint32_t> m_releasedBy;  // wait to a counter of its own
    std::map<uint32_t, double> m_sleeps;        // wait to its duration
    FrameGraph m_graph;
};

// A job that submits tasks and at once waits for them has probably called AddTasksAndWait. Then
// the tasks have at least the priority of the job.
class Fuser {
public:
    explicit Fuser(FrameGraph &graph) : m_graph(graph), m_isOther(graph.counters.size()) {}

    void Run() {
        for (size_t i = 0; i < m_graph.counters.size(); ++i)
            m_isOther[i] = m_graph.counters[i] != 0;
        for (const GraphJob &job : m_graph.jobs) FindOthers(job.steps);
        for (GraphJob &job : m_graph.jobs) Fuse(job.steps);
    }

private:
    static constexpr double kBetweenNs = 2000;

    void NoteOther(uint32_t counter) {
        if (counter != kNone) m_isOther[counter] = true;
    }

    // Returns the place of the wait that belongs to the submission at `at`, or `at`.
    size_t WaitAfter(const std::vector<GraphStep> &steps, size_t at) const {
        if (steps[at].kind != Kind::Submit) return at;
        const uint32_t counter = m_graph.batches[steps[at].index].counter;
        size_t next = at + 1;
        if (next < steps.size() && steps[next].kind == Kind::Compute &&
            steps[next].ns <= kBetweenNs)
            ++next;
        const bool isIt = next < steps.size() && steps[next].kind == Kind::Wait &&
                          steps[next].index == counter && steps[next].value == 0;
        return isIt ? next : at;
    }

    // Finds counters that are also used in another way.
    void FindOthers(const std::vector<GraphStep> &steps) {
        for (size_t i = 0; i < steps.size(); ++i) {
            const GraphStep &step = steps[i];
            if (const size_t wait = WaitAfter(steps, i); wait != i)
                i = wait;
            else if (step.kind == Kind::Submit)
                NoteOther(m_graph.batches[step.index].counter);
            else if (step.kind == Kind::Raise || step.kind == Kind::Lower)
                NoteOther(step.index);
            else if (step.kind == Kind::Wait && i != 0)  // the first one may have begun before
                NoteOther(step.index);
        }
    }

    void Fuse(std::vector<GraphStep> &steps) const {
        std::vector<GraphStep> fused;
        for (size_t i = 0; i < steps.size(); ++i) {
            fused.push_back(steps[i]);
            const size_t wait = WaitAfter(steps, i);
            if (wait == i || m_isOther[m_graph.batches[steps[i].index].counter]) continue;
            fused.back().kind = Kind::SubmitAndWait;
            i = wait;
        }
        steps.swap(fused);
    }

    FrameGraph &m_graph;
    std::vector<bool> m_isOther;  // by counter
};

}  // namespace

FrameGraph CutStretch(const RecordedWork &work, const Stretch &stretch) {
    FrameGraph graph = Cutter(work, stretch).Cut();
    if (graph.driver == kNone) return graph;
    graph.guessed += EndStuckWaits(graph);
    Fuser(graph).Run();
    return graph;
}

}  // namespace machine
