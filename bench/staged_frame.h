// A frame of dependent stages, for all systems. The tasks of a stage may begin when all tasks of
// the stages before it have ended, and the last of these tasks submits them. There are no
// priorities and stack sizes, because few systems have them.
#pragma once

#include "frame/ideal.h"
#include "workloads.h"

namespace bench {

template <class System>
class StagedFrame {
    using Group = typename System::Group;
    using Context = typename System::Context;
    using Batch = typename System::Batch;

public:
    explicit StagedFrame(const std::vector<frame::Stage> &plan) : m_stages(plan.size()) {
        for (size_t i = 0; i < plan.size(); ++i) {
            Stage &stage = m_stages[i];
            stage.frame = this;
            stage.items.assign(plan[i].nanoseconds.size(), {0, 0, &stage});
            stage.batch = std::make_unique<Batch>(RunTask, stage.items);
            for (uint32_t earlier : plan[i].after) m_stages[earlier].later.push_back(&stage);
        }
    }
    StagedFrame(const StagedFrame &) = delete;
    StagedFrame &operator=(const StagedFrame &) = delete;

    /// Prepares the next Run for this frame, which has the same stages.
    void Prepare(const std::vector<frame::Stage> &plan) {
        for (size_t i = 0; i < plan.size(); ++i) {
            Stage &stage = m_stages[i];
            for (size_t task = 0; task < stage.items.size(); ++task) {
                stage.items[task].nanoseconds = plan[i].nanoseconds[task];
                stage.items[task].cell = 0;
            }
            stage.tasksLeft = static_cast<uint32_t>(stage.items.size());
            stage.earlierLeft = static_cast<uint32_t>(plan[i].after.size());
            stage.isFirst = plan[i].after.empty();
        }
    }

    /// Runs the frame. Call it where tasks may be submitted. Returns when all tasks have ended.
    void Run() {
        Group group;
        m_group = &group;
        if constexpr (WaitsForOwnChildrenOnly<System>::value) {
            System::RunWithDescendants([this] { SubmitFirst(); });
        } else {
            SubmitFirst();
            group.Wait();
        }
    }

    void Verify() const {
        for (const Stage &stage : m_stages) {
            if (stage.tasksLeft != 0) Wrong("a stage has not ended, or more than once");
            for (const Item &item : stage.items) {
                if (item.cell != Sign(&item.cell)) Wrong("a task did not run");
            }
        }
    }

private:
    struct Stage;
    struct Item {
        double nanoseconds;
        Cell cell;
        Stage *stage;
    };
    struct Stage {
        StagedFrame *frame = nullptr;
        std::vector<Item> items;
        std::unique_ptr<Batch> batch;
        std::vector<Stage *> later;  ///< the stages that wait for this one
        bool isFirst = false;
        std::atomic<uint32_t> tasksLeft{0}, earlierLeft{0};
    };

    void SubmitFirst() {
        for (Stage &stage : m_stages) {
            if (stage.isFirst) m_group->AddAll(*stage.batch);
        }
    }

    static void RunTask(Context, void *arg) {
        Item &item = *static_cast<Item *>(arg);
        Stage &stage = *item.stage;
        Spin(item.nanoseconds);
        WriteCell(&item.cell);
        if (stage.tasksLeft.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
        for (Stage *later : stage.later) {
            if (later->earlierLeft.fetch_sub(1, std::memory_order_acq_rel) == 1) {
                stage.frame->m_group->AddAll(*later->batch);
            }
        }
    }

    std::vector<Stage> m_stages;
    Group *m_group = nullptr;
};

/// Returns the stages of bench/frame/aaa.frame for each frame, with durations divided by four. They
/// are the same in all systems and rounds.
const std::vector<std::vector<frame::Stage>> &PlannedFrames();

/// Returns frame time / ideal time. The ideal is the longer of the critical path and (all work /
/// workers).
template <class System>
Quantiles FramesOverIdeal(uint32_t workers) {
    const std::vector<std::vector<frame::Stage>> &plans = PlannedFrames();
    StagedFrame<System> staged(plans[0]);
    std::vector<double> ratios;
    System::Run(workers, [&] {
        Workloads<System>::WarmUp(workers);
        for (size_t i = 0; i < plans.size(); ++i) {
            staged.Prepare(plans[i]);
            const Clock::time_point begin = Clock::now();
            staged.Run();
            const double elapsed = Since(begin);
            staged.Verify();
            const double ideal = frame::IdealNs(plans[i], frame::KnownWork(plans[i]), workers);
            if (i != 0) ratios.push_back(elapsed / ideal);
        }
    });
    return QuantilesOf(std::move(ratios));
}

template <class System>
void AddFrameRows(std::vector<Row> &rows, uint32_t workers, const char *name = System::kName) {
    AddQuantiles(
        rows, "frame", name, workers, [=] { return FramesOverIdeal<System>(workers); }, "ideal");
}

}  // namespace bench
