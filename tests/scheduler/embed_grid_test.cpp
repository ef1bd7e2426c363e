// Tasks, attached threads and external threads submit the same work, in every configuration.
#include "support/scheduler_run.h"
#include "support/threads.h"
#include "weft/task_scheduler.h"

#include <atomic>
#include <memory>
#include <vector>

#include <catch2/catch.hpp>

using namespace weft;

namespace {

// Work that a caller of any kind may submit. Counts wrong results.
class Work {
public:
    Work(TaskScheduler &scheduler, const test::GridPoint &point)
        : m_scheduler(scheduler), m_point(point) {}

    uint32_t Wrong() {
        ForkJoin();
        if (m_point.fibers >= 16) Targets();
        AnyOf();
        Lanes();
        m_scheduler.WaitIdle();
        return m_wrong;
    }

private:
    void ForkJoin() {
        std::atomic<uint32_t> leaves{0};
        test::Batch leaf(20, [&](TaskScheduler &, uint32_t) { leaves.fetch_add(1); });
        test::Batch tree(3, [&](TaskScheduler &inside, uint32_t) {
            const uint32_t before = leaves.load();
            inside.AddTasksAndWait(20, leaf.Tasks());
            m_wrong += leaves.load() < before + 20;
        });
        Counter counter;
        m_scheduler.AddTasks(3, tree.Tasks(), &counter);
        m_scheduler.AddTasksAndWait(20, leaf.Tasks());
        m_scheduler.WaitForCounter(&counter);
        m_wrong += leaves.load() != 80;
    }

    // Each task waits for another value of the same counter, and holds a fiber until then.
    void Targets() {
        constexpr uint32_t kTasks = 2;
        Counter gate(kTasks), counter;
        std::atomic<uint32_t> passed{0};
        test::Batch waiter(kTasks, [&](TaskScheduler &inside, uint32_t i) {
            inside.WaitForCounter(&gate, i);
            passed.fetch_add(1);
        });
        m_scheduler.AddTasks(kTasks, waiter.Tasks(), &counter);
        m_scheduler.DecrementCounter(&gate);
        m_scheduler.WaitForCounter(&counter, 1);  // waits for the task whose target is 1
        m_wrong += passed.load() != 1;
        m_scheduler.DecrementCounter(&gate);
        m_scheduler.WaitForCounter(&counter);
        m_wrong += passed.load() != kTasks;
    }

    void AnyOf() {
        Counter never(1), some;
        Counter *both[2] = {&never, &some};
        std::atomic<uint32_t> ran{0};
        test::Batch one(1, [&](TaskScheduler &, uint32_t) { ran.fetch_add(1); });
        m_scheduler.AddTasks(1, one.Tasks(), &some);
        m_wrong += m_scheduler.WaitForAny(2, both) != 1 || ran.load() != 1;
        m_scheduler.DecrementCounter(&never);
    }

    void Lanes() {
        std::atomic<uint32_t> ran{0};
        test::Batch batch(5, [&](TaskScheduler &inside, uint32_t i) {
            if (i == 3) inside.Yield();
            ran.fetch_add(1);
        });
        Counter counter;
        for (const TaskOptions &options : {test::kLow, TaskOptions{}, test::kHigh}) {
            m_scheduler.AddTasks(5, batch.Tasks(), &counter, options);
        }
        m_scheduler.WaitForCounter(&counter);
        m_wrong += ran.load() != 15;
    }

    TaskScheduler &m_scheduler;
    const test::GridPoint m_point;
    std::atomic<uint32_t> m_wrong{0};
};

std::vector<test::GridPoint> GridWithoutWorkersToo() {
    std::vector<test::GridPoint> points = test::Grid();
    points.push_back({0, 160, IdlePolicy::Balanced});
    points.push_back({0, 5, IdlePolicy::Sleep});
    return points;
}

}  // namespace

TEST_CASE("every caller: tasks, attached and external threads do the same work at once",
          "[embed][grid]") {
    for (const test::GridPoint &point : GridWithoutWorkersToo()) {
        INFO(test::Describe(point));
        test::Runner runner(point);
        TaskScheduler &scheduler = runner.scheduler;
        REQUIRE(scheduler.Start() == Status::Ok);
        std::atomic<uint32_t> wrong{0};
        test::Batch task(1, [&](TaskScheduler &inside, uint32_t) {
            wrong.fetch_add(Work(inside, point).Wrong());
        });
        // Without workers, this thread runs all tasks.
        REQUIRE(scheduler.AttachThread() == Status::Ok);
        Counter counter;
        scheduler.AddTasks(1, task.Tasks(), &counter);
        std::atomic<bool> over{false};
        std::thread other([&] {
            wrong.fetch_add(Work(scheduler, point).Wrong());
            over.store(true);
        });
        wrong.fetch_add(Work(scheduler, point).Wrong());
        scheduler.WaitForCounter(&counter);
        while (!over.load()) scheduler.Yield();
        other.join();
        scheduler.DetachThread();
        scheduler.Stop();
        CHECK(wrong.load() == 0);
        CHECK(test::Faults(runner.log) == "");
    }
}
