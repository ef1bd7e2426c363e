// Computes shares, durations and steals from the recorded events.
#include "frame/shares.h"

#include <algorithm>
#include <unordered_map>

namespace frame {

const char *const kOwnTask = "frame";

namespace {

constexpr uint32_t kNoStage = ~0u;

struct RunningTask {
    uint32_t stage;
    bool isOwn;
    double ns = 0;
};

struct StageState {
    uint32_t notBegun, notEnded, submitter;
};

// Reads the events once, in order. It keeps what each worker and each stage does at the moment.
class Accountant {
public:
    Accountant(const std::vector<Stage> &stages, uint32_t workers)
        : m_stages(stages), m_current(workers, weft::kAnyWorker) {
        m_account.workers.resize(workers);
        for (uint32_t i = 0; i < stages.size(); ++i) m_places[stages[i].name.c_str()] = i;
    }

    void Take(const Event &event) {
        if (m_isInFrame) Spend(static_cast<double>(event.ns - m_now));
        m_now = event.ns;
        switch (event.kind) {
            case Event::Kind::FrameBegin:
                BeginFrame();
                break;
            case Event::Kind::FrameEnd:
                m_isInFrame = false;
                m_account.frameNs.push_back(static_cast<double>(event.ns - m_frameBegin));
                break;
            case Event::Kind::Submit:
                if (m_isInFrame) m_states[m_places.at(event.task)].submitter = event.worker;
                break;
            case Event::Kind::Begin:
                Begin(event);
                break;
            case Event::Kind::End:
                End(event);
                break;
            case Event::Kind::Switch:
                m_current[event.worker] = event.fiber;
                break;
        }
    }

    Account Finish() {
        const double frames = std::max(static_cast<double>(m_account.frameNs.size()), 1.0);
        m_account.stolen /= frames;
        for (Share &share : m_account.workers) {
            const double all = std::max(share.busy + share.idle + share.overhead, 1.0);
            share = {share.busy / all, share.idle / all, share.overhead / all};
        }
        return std::move(m_account);
    }

private:
    std::vector<RunningTask> &StackOf(uint32_t fiber) {
        if (fiber >= m_stacks.size()) m_stacks.resize(fiber + 1);
        return m_stacks[fiber];
    }

    bool HasEnded(uint32_t stage) const { return m_states[stage].notEnded == 0; }

    bool MayBegin(uint32_t stage) const {
        const std::vector<uint32_t> &after = m_stages[stage].after;
        return m_states[stage].notBegun != 0 &&
               std::all_of(after.begin(), after.end(),
                           [this](uint32_t earlier) { return HasEnded(earlier); });
    }

    // Finds out whether the shape of the frame leaves workers without a task. This changes only
    // when a task begins or ends.
    void LookForTasks() {
        m_mustBeIdle = false;
        for (uint32_t i = 0; i < m_stages.size(); ++i) {
            if (MayBegin(i)) {
                m_mustBeIdle = false;
                return;
            }
            m_mustBeIdle |= !HasEnded(i);
        }
    }

    void Spend(double ns) {
        for (size_t i = 0; i < m_current.size(); ++i) {
            Share &share = m_account.workers[i];
            RunningTask *task = nullptr;
            if (m_current[i] != weft::kAnyWorker && !StackOf(m_current[i]).empty())
                task = &StackOf(m_current[i]).back();
            if (task != nullptr && !task->isOwn) {
                task->ns += ns;
                share.busy += ns;
                m_account.work.back().all += ns;
            } else {
                (m_mustBeIdle ? share.idle : share.overhead) += ns;
            }
        }
    }

    void BeginFrame() {
        m_isInFrame = true;
        m_frameBegin = m_now;
        m_states.clear();
        for (const Stage &stage : m_stages) {
            const uint32_t tasks = static_cast<uint32_t>(stage.tasks.size());
            m_states.push_back({tasks, tasks, weft::kAnyWorker});
        }
        m_account.work.push_back({std::vector<double>(m_stages.size()), 0});
        LookForTasks();
    }

    void Begin(const Event &event) {
        const auto place = m_places.find(event.task);
        const uint32_t stage = place == m_places.end() ? kNoStage : place->second;
        m_current[event.worker] = event.fiber;
        StackOf(event.fiber).push_back({stage, event.task == kOwnTask});
        if (!m_isInFrame || stage == kNoStage) return;
        if (m_states[stage].submitter != event.worker) ++m_account.stolen;
        if (--m_states[stage].notBegun == 0) LookForTasks();
    }

    void End(const Event &event) {
        std::vector<RunningTask> &stack = StackOf(event.fiber);
        if (stack.empty()) return;
        const RunningTask task = stack.back();
        stack.pop_back();
        if (!m_isInFrame || task.stage == kNoStage) return;
        double &longest = m_account.work.back().longest[task.stage];
        longest = std::max(longest, task.ns);
        if (--m_states[task.stage].notEnded == 0) LookForTasks();
    }

    const std::vector<Stage> &m_stages;
    std::unordered_map<const char *, uint32_t> m_places;
    // by fiber; several tasks if a task runs another one while it waits
    std::vector<std::vector<RunningTask>> m_stacks;
    std::vector<uint32_t> m_current;  // by worker: its fiber
    std::vector<StageState> m_states;
    int64_t m_now = 0, m_frameBegin = 0;
    bool m_isInFrame = false, m_mustBeIdle = false;
    Account m_account;
};

}  // namespace

Account TakeAccount(const std::vector<Event> &events, const std::vector<Stage> &stages,
                    uint32_t workers) {
    Accountant accountant(stages, workers);
    for (const Event &event : events) accountant.Take(event);
    return accountant.Finish();
}

}  // namespace frame
