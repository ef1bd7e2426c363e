// Runs a frame without time, to find waits that would never end.
#include "machine/what_if/frame_graph.h"

namespace machine {

namespace {

using Kind = GraphStep::Kind;

class Execution {
public:
    explicit Execution(FrameGraph &graph)
        : m_graph(graph),
          m_values(graph.counters.begin(), graph.counters.end()),
          m_next(graph.jobs.size()),
          m_counterOf(graph.jobs.size(), kNone) {
        for (const GraphBatch &batch : graph.batches) {
            for (const uint32_t job : batch.jobs) m_counterOf[job] = batch.counter;
        }
    }

    uint32_t Run() {
        for (const uint32_t batch : m_graph.first) Submit(batch);
        for (const uint32_t job : m_graph.threads) m_begun.push_back(job);
        uint32_t stuck = 0;
        for (;; ++stuck) {
            while (RunRound()) {
            }
            if (m_begun.empty()) return stuck;
            GraphStep &step = m_graph.jobs[m_begun.front()].steps[m_next[m_begun.front()]];
            step.kind = Kind::Sleep;
        }
    }

private:
    void Submit(uint32_t index) {
        const GraphBatch &batch = m_graph.batches[index];
        if (batch.counter != kNone) m_values[batch.counter] += batch.jobs.size();
        m_begun.insert(m_begun.end(), batch.jobs.begin(), batch.jobs.end());
    }

    // Runs each job until it has to wait. Returns whether one has gone on.
    bool RunRound() {
        bool hasGoneOn = false;
        std::vector<uint32_t> jobs;
        jobs.swap(m_begun);
        for (const uint32_t job : jobs) {
            const size_t before = m_next[job];
            if (RunJob(job)) {
                hasGoneOn = true;
                if (m_counterOf[job] != kNone) Lower(m_counterOf[job], 1);
            } else {
                hasGoneOn = hasGoneOn || m_next[job] != before;
                m_begun.push_back(job);
            }
        }
        return hasGoneOn;
    }

    // Returns whether the job has ended.
    bool RunJob(uint32_t job) {
        const std::vector<GraphStep> &steps = m_graph.jobs[job].steps;
        for (size_t &next = m_next[job]; next != steps.size(); ++next) {
            const GraphStep &step = steps[next];
            if (step.kind == Kind::Wait && m_values[step.index] > step.value) return false;
            if (step.kind == Kind::Submit) Submit(step.index);
            if (step.kind == Kind::Raise) m_values[step.index] += step.value;
            if (step.kind == Kind::Lower) Lower(step.index, step.value);
        }
        return true;
    }

    void Lower(uint32_t counter, uint64_t by) {
        m_values[counter] -= by < m_values[counter] ? by : m_values[counter];
    }

    FrameGraph &m_graph;
    std::vector<uint64_t> m_values;
    std::vector<size_t> m_next;         // step of each job
    std::vector<uint32_t> m_counterOf;  // that counts the job
    std::vector<uint32_t> m_begun;      // jobs that have not ended
};

}  // namespace

uint32_t EndStuckWaits(FrameGraph &graph) { return Execution(graph).Run(); }

}  // namespace machine
