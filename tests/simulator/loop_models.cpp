// Models of ParallelFor and ParallelReduce. The state of a loop lies on the stack of its caller,
// while other workers use it.
#include "simulator/fair_support.h"
#include "simulator/models.h"
#include "weft/algorithms/parallel_for_each.h"
#include "weft/algorithms/parallel_reduce.h"

#include <list>
#include <numeric>
#include <vector>

namespace simulator {

namespace {

// Counts how often each index has run. Each must run exactly once.
class Marks {
public:
    explicit Marks(uint32_t count) : m_marks(count) {}
    void operator()(uint32_t index) {
        Check(index < m_marks.size(), "an index outside of the range");
        Check(m_marks[index]++ == 0, "an index was run twice");
        Linger(6);
    }
    void CheckAll() const {
        for (uint32_t marks : m_marks) Check(marks == 1, "an index was not run");
    }

private:
    std::vector<uint32_t> m_marks;
};

LoopOptions AnyLoopOptions() {
    LoopOptions options;
    options.grain = Random(4);
    options.priority = AnyPriority();
    return options;
}

void RunMarked(TaskScheduler &scheduler, uint32_t count) {
    Marks marks(count);
    ParallelFor(scheduler, 0, count, marks, AnyLoopOptions());
    marks.CheckAll();
}

// The last indices of a range or a list are expensive, the others cost nothing. Up to eight workers
// must share the last ones: the loop lasts at most one of them longer than the ideal.
void LoopUneven() {
    constexpr uint32_t kCheap = 500, kSlowMicroseconds = 1000;
    const uint32_t workers = 2 + Random(7), slow = 4 * workers + Random(2 * workers);
    std::vector<uint32_t> marks(kCheap + slow);
    std::list<uint32_t> items(Random(2) != 0 ? kCheap + slow : 0);
    std::iota(items.begin(), items.end(), 0u);
    uint64_t took = 0;
    RunMain(FairOptions(workers), [&](TaskScheduler *scheduler) {
        const uint64_t begin = weft::env::Now();
        const auto visit = [&](uint32_t i) {
            ++marks[i];
            if (i >= kCheap) Compute(kSlowMicroseconds);
        };
        if (items.empty())
            ParallelFor(*scheduler, 0u, kCheap + slow, visit);
        else
            ParallelForEach(*scheduler, items.begin(), items.end(), visit);
        took = weft::env::Now() - begin;
    });
    for (const uint32_t mark : marks) Check(mark == 1, "an index was not run once");
    const uint64_t ideal = slow * kSlowMicroseconds * kUs / workers;
    CheckSoon(took <= (ideal + kSlowMicroseconds * kUs) / 10 * 11,
              "expensive indices are not shared");
}

// A few loops with up to 12 indices, any grain and any priority.
void Loop() {
    RunMain(Options(1 + Random(3), 13), [](TaskScheduler *scheduler) {
        for (uint32_t i = 1 + Random(2); i != 0; --i) RunMarked(*scheduler, Random(13));
    });
}

// Each iteration of a loop runs another loop.
void LoopNested() {
    RunMain(Options(1 + Random(3), 13), [](TaskScheduler *scheduler) {
        Marks marks(3);
        ParallelFor(*scheduler, 0, 3u, [&](uint32_t i) {
            marks(i);
            RunMarked(*scheduler, Random(5));
        });
        marks.CheckAll();
    });
}

// Each iteration submits a task and waits for it, so an iteration may resume on another worker.
void LoopWaits() {
    RunMain(Options(1 + Random(2), 13), [](TaskScheduler *scheduler) {
        Marks marks(5);
        ParallelFor(*scheduler, 0, 5u, [&](uint32_t i) {
            bool ran = false;
            auto child = [&](TaskScheduler *self) {
                if (Random(2) != 0) self->Yield();
                ran = true;
            };
            RunTask(scheduler, child);
            Check(ran, "a wait returned early");
            marks(i);
        });
        marks.CheckAll();
    });
}

// Each iteration blocks its worker until as many iterations have begun as there are workers. So the
// loop must offer work to each idle worker. Otherwise the model ends in a deadlock.
void LoopMeets() {
    const uint32_t workers = 2 + Random(2), count = workers + Random(3);
    SchedulerOptions options = Options(workers, 13);
    options.idle = Random(2) != 0 ? IdlePolicy::Sleep : IdlePolicy::Balanced;
    RunMain(options, [&](TaskScheduler *scheduler) {
        Meeting meeting{workers};
        ParallelFor(*scheduler, 0, count, [&](uint32_t) { meeting.Come(); });
        Check(meeting.come == count, "an index was not run");
    });
}

// An external thread and an attached thread run loops at the same time. Right after that the
// scheduler is stopped.
void LoopOutside() {
    StartedScheduler scheduler(Options(1 + Random(2), 13));
    RunningThread other([&] { RunMarked(scheduler, 1 + Random(6)); });
    const bool attach = Random(2) != 0;
    if (attach) Check(scheduler.AttachThread() == Status::Ok, "AttachThread failed");
    RunMarked(scheduler, 1 + Random(6));
    if (attach) scheduler.DetachThread();
    other.Join();
    scheduler.Stop();
}

// An external thread runs a loop while the main task returns. The run must not end before the loop.
void LoopLast() {
    TaskScheduler scheduler(Options(1 + Random(3), 13));
    uint32_t begun = 0, sum = 0;
    const bool reduce = Random(2) != 0;
    const auto body = [&](uint32_t i) {
        ++begun;
        weft::env::SchedulePoint(nullptr);
        return i;
    };
    HostThread other([&] {
        if (reduce) {
            sum = ParallelReduce(scheduler, 0, 4u, 0u, body, std::plus<>());
        } else {
            ParallelFor(scheduler, 0, 4u, body);
        }
    });
    RunMain(scheduler, [&](TaskScheduler *self) {
        other.Start();
        while (begun == 0) self->Yield();
    });
    other.Join();
    Check(begun == 4, "an index was not run, or run twice");
    Check(sum == (reduce ? 6 : 0), "an index is not in the result");
}

// A reduction must join only neighbouring results, in order, and cover the whole range.
void Reduce() {
    struct Stretch {
        uint32_t first, last;
    };
    RunMain(Options(1 + Random(3), 13), [](TaskScheduler *scheduler) {
        const uint32_t count = 1 + Random(12);
        const Stretch whole = ParallelReduce(
            *scheduler, 0, count, Stretch{0, 0},
            [](uint32_t i) {
                return Stretch{i, i + 1};
            },
            [](Stretch left, Stretch right) {
                Check(left.last == right.first, "two results that are not neighbours were joined");
                return Stretch{left.first, right.last};
            },
            AnyLoopOptions());
        Check(whole.first == 0 && whole.last == count, "an index is not in the result");
    });
}

}  // namespace

std::vector<Model> LoopModels() {
    return {
        {"loop", "ranges of up to 12 indices, any grain and priority", Loop},
        {"loop_uneven", "the last indices are expensive", LoopUneven, 10},
        {"loop_nested", "loops in a loop", LoopNested},
        {"loop_waits", "bodies that wait for tasks of their own", LoopWaits},
        {"loop_meets", "indices that hold their workers until others have begun", LoopMeets},
        {"loop_outside", "called by an attached and an external thread, then Stop", LoopOutside},
        {"loop_last", "called by an external thread while the run ends", LoopLast},
        {"reduce", "neighbours are joined, in order", Reduce},
    };
}

}  // namespace simulator
