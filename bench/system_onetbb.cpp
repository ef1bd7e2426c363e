// The rows of oneTBB: task_group::run for each task, and task_group::wait. Two nested tasks use
// run_and_wait for one of them, as in the fork-join examples of the oneTBB specification.
#include "argument_batch.h"
#include "external_rows.h"
#include "staged_frame.h"
#include "workloads.h"

#if __has_include(<tbb/task_group.h>)

#include "run_onetbb.h"

#include <tbb/global_control.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>
#include <tbb/task_group.h>

namespace bench {

namespace {

struct OneTbb : PlainSystem, RunsOnOneTbb {
    static constexpr const char *kName = "onetbb";

    class Group {
    public:
        explicit Group(Context = nullptr) {}
        void Add(Function function, void *arg) {
            m_group.run([=] { function(nullptr, arg); });
        }
        void AddTwo(Function function, void *first, void *second) {
            Add(function, first);
            Add(function, second);
        }
        void AddAll(const Batch &batch) {
            for (void *arg : batch.args) Add(batch.function, arg);
        }
        void Wait() { m_group.wait(); }

    private:
        tbb::task_group m_group;
    };

    static void Both(Context, Function function, void *first, void *second) {
        tbb::task_group group;
        group.run([=] { function(nullptr, second); });
        group.run_and_wait([=] { function(nullptr, first); });
    }
};

double BulkLoop(uint32_t workers) {
    Cells cells(kBulk);
    const double cost = PerTask<OneTbb>(workers, 4, kBulk, [&] {
        tbb::parallel_for(0u, kBulk, [&](uint32_t i) { WriteCell(cells.At(i)); });
    });
    cells.Verify();
    return cost;
}

// External threads submit with task_arena::enqueue, which "does not require the calling thread to
// join the arena" (oneapi/tbb/task_arena.h). To wait for its group, a thread joins the arena with
// execute() and runs tasks. A worker may leave the arena to make room for it.
double External(uint32_t workers, uint32_t threads) {
    // the limit counts one external thread, too
    const tbb::global_control limit(tbb::global_control::max_allowed_parallelism, workers + 1);
    tbb::task_arena arena(static_cast<int>(workers), 0);
    return ExternalCost(threads, [&](Cells &cells) {
        tbb::task_group group;
        for (uint32_t i = 0; i < cells.Count(); ++i) {
            arena.enqueue(group.defer([cell = cells.At(i)] { WriteCell(cell); }));
        }
        arena.execute([&] { group.wait(); });
    });
}

}  // namespace

void AddOneTbbRows(std::vector<Row> &rows, uint32_t workers) {
    AddWorkloads<OneTbb>(rows, workers);
    AddFrameRows<OneTbb>(rows, workers);
    rows.push_back(
        {"bulk_65536", "onetbb_loop", workers, "ns", [=] { return BulkLoop(workers); }, {}});
    AddExternalRows(rows, OneTbb::kName, workers, External);
}

}  // namespace bench

#else

namespace bench {
void AddOneTbbRows(std::vector<Row> &, uint32_t) {}
}  // namespace bench

#endif
