#include "weft/frame/budgeted_queue.h"

#include "support/group_layouts.h"
#include "support/scheduler_run.h"
#include "support/threads.h"
#include "weft/testing/explore_orders.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <vector>

#include <catch2/catch.hpp>

using namespace weft;
using std::chrono::milliseconds;

namespace {

// The time is virtual. Each look at the clock takes a microsecond, and time may also pass while
// something else could run. Nothing runs between the look of the queue at the begin or end of a
// task and the look of the task itself. So a task sees a little less time than the queue.
constexpr Clock::duration kLooks =
    std::chrono::microseconds(100);  // more than all looks of a frame

struct Span {
    uint32_t index;
    Clock::time_point begin, end;
};

constexpr uint32_t kTasks = 12;

// Tasks that sleep for some milliseconds, and write down when.
class Sleepers {
public:
    explicit Sleepers(std::vector<uint32_t> lengths)
        : m_lengths(std::move(lengths)),
          m_batch(static_cast<uint32_t>(m_lengths.size()),
                  [this](TaskScheduler &running, uint32_t i) {
                      const size_t at = spans.size();
                      spans.push_back({i, Now(), Clock::time_point::max()});
                      SleepFor(running, milliseconds(m_lengths[i]));
                      spans[at].end = Now();
                  }) {
        spans.reserve(m_lengths.size());
    }
    bool AddAll(BudgetedQueue &queue) const {
        for (uint32_t i = 0; i < m_batch.Count(); ++i)
            if (!queue.Add(m_batch[i])) return false;
        return true;
    }
    std::vector<Span> spans;  // in the order in which they have begun

private:
    const std::vector<uint32_t> m_lengths;
    test::Batch m_batch;
};

// The time of the spans between two times.
Clock::duration TimeBetween(const std::vector<Span> &spans, Clock::time_point from,
                            Clock::time_point to) {
    Clock::duration sum{0};
    for (const Span &span : spans)
        sum +=
            std::max(std::min(span.end, to) - std::max(span.begin, from), Clock::duration::zero());
    return sum;
}

// Whether each task of a frame, the spans from `first` on, began when the budget said so.
bool BeganInBudget(const std::vector<Span> &spans, size_t first, Clock::time_point frameBegin,
                   Clock::duration budget) {
    for (size_t i = first; i < spans.size(); ++i) {
        if (i != first && TimeBetween(spans, frameBegin, spans[i].begin) >= budget) return false;
    }
    return true;
}

bool IsAbout(Clock::duration used, Clock::duration seen) {
    return used >= seen && used <= seen + kLooks;
}

template <class Test>
void HoldsInAllOrders(uint32_t count, Test test) {
    const ExploredOrders explored = ExploreOrders(count, test);
    CHECK(explored.tried == count);
    CHECK(explored.order == 0);
}

}  // namespace

TEST_CASE("BudgetedQueue: tasks begin in their order until the budget of the frame is used up",
          "[budget]") {
    for (const uint32_t runners : {1u, 2u, 3u}) {
        INFO(runners);
        size_t fewest = kTasks, most = 0;  // frames
        HoldsInAllOrders(100, [&](TaskScheduler &scheduler) {
            Task slots[kTasks];
            BudgetedQueue queue(scheduler, kTasks, slots);
            Sleepers sleepers({1, 2, 1, 1, 7, 1, 1, 1, 3, 1, 2, 1});
            if (!sleepers.AddAll(queue)) return false;
            const Clock::duration budget = milliseconds(4);
            size_t frames = 0;
            for (; queue.QueuedCount() != 0; ++frames) {
                const size_t first = sleepers.spans.size();
                if (!queue.BeginFrame(budget, runners)) return false;
                const Clock::time_point begin = Now();
                if (queue.Wait() != GroupResult::Finished) return false;
                if (sleepers.spans.size() == first) return false;
                if (!BeganInBudget(sleepers.spans, first, begin, budget)) return false;
                // nothing was left to do
                if (queue.QueuedCount() != 0 && queue.UsedTime() < budget) return false;
                const Clock::duration used = TimeBetween(sleepers.spans, begin, Now());
                if (!IsAbout(queue.UsedTime(), used)) return false;
            }
            for (uint32_t i = 0; i < kTasks; ++i)
                if (sleepers.spans[i].index != i) return false;
            fewest = std::min(fewest, frames);
            most = std::max(most, frames);
            return queue.BegunCount() == kTasks && sleepers.spans.size() == kTasks;
        });
        CHECK(fewest >= 2);
        CHECK(most <= 6);
    }
}

TEST_CASE(
    "BudgetedQueue: without budget or runners nothing begins; the smallest budget lets one begin",
    "[budget]") {
    HoldsInAllOrders(50, [](TaskScheduler &scheduler) {
        Task slots[3];
        BudgetedQueue queue(scheduler, 3, slots);
        Sleepers sleepers({5, 5, 5});
        if (!sleepers.AddAll(queue)) return false;
        const auto beginsIn = [&](Clock::duration budget, uint32_t runners) {
            const size_t before = sleepers.spans.size();
            queue.BeginFrame(budget, runners);
            queue.Wait();
            return sleepers.spans.size() - before;
        };
        return beginsIn(milliseconds(0), 1) == 0 && beginsIn(milliseconds(-1), 1) == 0 &&
               beginsIn(milliseconds(100), 0) == 0 && queue.QueuedCount() == 3 &&
               beginsIn(Clock::duration(1), 1) == 1 && beginsIn(Clock::duration(1), 1) == 1 &&
               beginsIn(Clock::duration::max(), 4) == 1 && beginsIn(milliseconds(1), 1) == 0;
    });
}

TEST_CASE("BudgetedQueue: a task that goes on in the next frame counts there", "[budget]") {
    uint32_t shown = 0;  // orders in which it went on
    HoldsInAllOrders(100, [&](TaskScheduler &scheduler) {
        Task slots[4];
        BudgetedQueue queue(scheduler, 4, slots);
        Sleepers sleepers({30, 1, 1, 1});
        if (!sleepers.AddAll(queue)) return false;
        const Clock::duration budget = milliseconds(5);
        queue.BeginFrame(budget);
        SleepFor(scheduler, milliseconds(20));
        const std::vector<Span> &spans = sleepers.spans;
        if (spans.empty() || spans[0].end != Clock::time_point::max()) return true;
        ++shown;
        if (spans.size() != 1) return false;  // the only runner is not free
        queue.BeginFrame(budget);
        const Clock::time_point second = Now();
        queue.Wait();
        // It may have used the budget of the second frame, but one task begins in any case.
        return spans.size() >= 2 && BeganInBudget(spans, 1, second, budget) &&
               IsAbout(queue.UsedTime(), TimeBetween(spans, second, Now()));
    });
    CHECK(shown >= 20);
}

TEST_CASE("BudgetedQueue: runners beyond the limit of a new frame stop", "[budget]") {
    uint32_t shown = 0;  // orders in which three tasks went on
    HoldsInAllOrders(100, [&](TaskScheduler &scheduler) {
        Sleepers sleepers({30, 30, 30, 1, 1, 1, 1, 1, 1});  // it outlives the queue
        Task slots[9];
        BudgetedQueue queue(scheduler, 9, slots);
        if (!sleepers.AddAll(queue)) return false;
        queue.BeginFrame(Clock::duration::max(), 3);
        SleepFor(scheduler, milliseconds(20));
        const std::vector<Span> &spans = sleepers.spans;
        const auto runs = [](const Span &span) { return span.end == Clock::time_point::max(); };
        if (spans.size() != 3 || !std::all_of(spans.begin(), spans.end(), runs)) return true;
        ++shown;
        queue.BeginFrame(Clock::duration::max(), 1);
        if (queue.Wait() != GroupResult::Finished || spans.size() != 9) return false;
        // The later tasks begin when all before them have ended.
        for (size_t i = 3; i < spans.size(); ++i) {
            for (size_t earlier = 0; earlier < i; ++earlier)
                if (spans[earlier].end > spans[i].begin) return false;
        }
        return true;
    });
    CHECK(shown >= 20);
}

TEST_CASE("BudgetedQueue: tasks may add tasks, which begin in the same frame", "[budget]") {
    HoldsInAllOrders(50, [](TaskScheduler &scheduler) {
        Task slots[1];
        BudgetedQueue queue(scheduler, 1, slots);
        uint32_t ran = 0;
        Task self{};
        auto again = [&](TaskScheduler *) {
            if (++ran < 5) queue.Add(self);
        };
        self = MakeTask(again);
        if (!queue.Add(self) || queue.Add(self)) return false;  // full
        queue.BeginFrame(milliseconds(1));
        return queue.Wait() == GroupResult::Finished && ran == 5 && queue.Add(self);
    });
}

TEST_CASE("BudgetedQueue: Cancel drops what has not begun, and Wait waits for the rest",
          "[budget]") {
    HoldsInAllOrders(100, [](TaskScheduler &scheduler) {
        Task slots[8];
        TaskGroup level(scheduler);
        TaskOptions options = kBudgetedTasks;
        options.taskGroup = &level;
        BudgetedQueue queue(scheduler, 8, slots, options);
        Sleepers sleepers({2, 2, 2, 2, 2, 2, 2, 2});
        if (!sleepers.AddAll(queue)) return false;
        queue.BeginFrame(milliseconds(100), 2);
        SleepFor(scheduler, milliseconds(3));
        level.Cancel();  // and so its child group
        const size_t begun = sleepers.spans.size();
        if (queue.Wait() != GroupResult::Cancelled || !queue.IsCancelled()) return false;
        for (const Span &span : sleepers.spans)
            if (span.end == Clock::time_point::max()) return false;
        return sleepers.spans.size() == begun && begun < 8 && queue.QueuedCount() == 0 &&
               queue.DroppedCount() == 8 - begun && queue.BegunCount() == begun &&
               !sleepers.AddAll(queue) && queue.BeginFrame(milliseconds(1)) &&
               queue.Wait() == GroupResult::Cancelled;
    });
}

TEST_CASE("BudgetedQueue: the destructor waits for the tasks that have begun", "[budget]") {
    HoldsInAllOrders(100, [](TaskScheduler &scheduler) {
        Sleepers sleepers({5, 5, 5});
        {
            Task slots[3];
            BudgetedQueue queue(scheduler, 3, slots);
            if (!sleepers.AddAll(queue)) return false;
            queue.BeginFrame(milliseconds(6), 2);
            SleepFor(scheduler, milliseconds(2));
        }
        const size_t begun = sleepers.spans.size();
        SleepFor(scheduler, milliseconds(50));
        for (const Span &span : sleepers.spans)
            if (span.end == Clock::time_point::max()) return false;
        return sleepers.spans.size() == begun;
    });
}

#if !defined(WEFT_NO_EXCEPTIONS)  // built without exceptions, weft catches none
TEST_CASE("BudgetedQueue: an exception cancels it, and is kept", "[budget]") {
    HoldsInAllOrders(50, [](TaskScheduler &scheduler) {
        Task slots[4];
        BudgetedQueue queue(scheduler, 4, slots);
        uint32_t ran = 0;
        auto fail = [&](TaskScheduler *) {
            if (++ran == 2) throw 5;
        };
        for (uint32_t i = 0; i < 4; ++i) queue.Add(MakeTask(fail));
        queue.BeginFrame(milliseconds(100));
        if (queue.Wait() != GroupResult::Failed || ran != 2) return false;
        return queue.FirstException() != nullptr && queue.DroppedCount() == 2 &&
               queue.UsedTime() >= Clock::duration::zero();
    });
}
#endif

TEST_CASE("BudgetedQueue: each task runs once while threads add and frames begin",
          "[budget][grid]") {
    for (const test::GridPoint &point : test::GridOfLargePools()) {
        INFO(test::Describe(point));
        test::Runner runner(point);
        test::Marks marks(100);
        uint32_t wrong = 0;
        CHECK(test::WhileItRuns(runner, test::Life::Start, [&](TaskScheduler &scheduler) {
                  std::vector<Task> slots(16);
                  BudgetedQueue queue(scheduler, 16, slots.data());
                  test::Threads threads(2, [&](uint32_t thread) {
                      for (uint32_t i = 0; i < 50;) {
                          if (queue.Add(marks.Tasks()[thread * 50 + i])) {
                              ++i;
                          } else {
                              std::this_thread::yield();
                          }
                      }
                  });
                  while (queue.BegunCount() != 100) {
                      wrong += !queue.BeginFrame(milliseconds(1), 3);
                      queue.Wait();
                  }
                  threads.Join();
                  wrong += queue.Wait() != GroupResult::Finished || queue.QueuedCount() != 0;
              }) == Status::Ok);
        CHECK(wrong == 0);
        CHECK(marks.Wrong() == 0);
        CHECK(test::Faults(runner.log) == "");
    }
}

TEST_CASE(
    "BudgetedQueue: without a group in its options, tasks are in no group, whoever begins frames",
    "[budget][groups]") {
    const test::GroupLayout layout({test::Group(1), test::Group(1, true)});
    test::Runner runner(layout.Options());
    test::GroupWitness witness(layout);
    test::Batch sees(1, [&](TaskScheduler &running, uint32_t) {
        witness.See(running, kAnyGroup);
        witness.ran.fetch_add(1);
    });
    CHECK(runner.Run([&](TaskScheduler &scheduler) {
        Task slots[4];
        BudgetedQueue queue(scheduler, 4, slots);
        test::Batch begins(1, [&](TaskScheduler &, uint32_t) {
            queue.Add(sees[0]);
            queue.BeginFrame(Clock::duration::max());
        });
        scheduler.AddTasksAndWait(1, begins.Tasks(), test::InGroup(1));
        queue.Wait();
    }) == Status::Ok);
    CHECK(witness.ran.load() == 1);
    CHECK(witness.wrong.load() == 0);
    CHECK(runner.log.Text() == "");
}

TEST_CASE("BudgetedQueue: mistakes are reported and leave the queue as it was",
          "[budget][report]") {
    test::Runner runner(test::Options(1));
    uint32_t ran = 0;
    auto count = [&](TaskScheduler *) { ++ran; };
    Task slots[2];
    BudgetedQueue queue(runner.scheduler, 2, slots);
    CHECK(!queue.Add({nullptr, nullptr}));
    CHECK(runner.log.CountOf(ReportCode::NullTask) == 1);
    CHECK(queue.Add(MakeTask(count)));
    CHECK(!queue.BeginFrame(milliseconds(1)));  // the scheduler does not run
    CHECK(runner.log.CountOf(ReportCode::NotRunning) == 1);
    CHECK(runner.Run([&](TaskScheduler &) {
        CHECK(queue.BeginFrame(milliseconds(1)));
        CHECK(queue.Wait() == GroupResult::Finished);
    }) == Status::Ok);
    CHECK(ran == 1);
    BudgetedQueue none(runner.scheduler, 5, nullptr);
    CHECK(runner.log.CountOf(ReportCode::BadOption) == 1);
    CHECK(!none.Add(MakeTask(count)));
    CHECK(runner.log.Count() == 3);
}
