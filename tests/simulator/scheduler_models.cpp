// Basic models of the whole scheduler.
#include "simulator/model_support.h"
#include "simulator/models.h"
#include "weft/closure.h"
#include "weft/time.h"

#include <chrono>
#include <utility>

namespace simulator {

namespace {

using namespace weft;

struct Node {
    Counters *counters;
    uint32_t depth;
    uint32_t ran;
};

// A task submits two children and waits for them. Each must run exactly once before the wait ends.
void Tree(TaskScheduler *scheduler, void *arg) {
    Node *node = static_cast<Node *>(arg);
    ++node->ran;
    if (node->depth == 0) return;
    Node children[2] = {{node->counters, node->depth - 1, 0}, {node->counters, node->depth - 1, 0}};
    const Task tasks[2] = {{Tree, &children[0]}, {Tree, &children[1]}};
    Counter *counter = node->counters->New();
    scheduler->AddTasks(2, tasks, counter);
    WaitAndKill(scheduler, counter);
    Check(children[0].ran == 1 && children[1].ran == 1, "a task was lost or run twice");
}

void ForkJoin() {
    Counters counters;
    Node root{&counters, 2, 0};
    const uint32_t workers = 2 + Random(2);
    RunMain(Options(workers, 2 * workers + 1),
            [&](TaskScheduler *scheduler) { Tree(scheduler, &root); });
}

// Two tasks end each other's waits in turn, on either worker. Each wait must end, and its counter
// may be destroyed then.
void HandOver() {
    Counters counters;
    constexpr uint32_t kTurns = 3;
    Counter *turns[2][kTurns];
    for (auto &row : turns) {
        for (Counter *&turn : row) turn = counters.New(1);
    }
    uint32_t passed[2] = {};
    IndexedTasks players(2, [&](TaskScheduler *scheduler, uint32_t me) {
        for (uint32_t i = 0; i < kTurns; ++i) {
            if (me == 0) scheduler->DecrementCounter(turns[1][i]);
            scheduler->WaitForCounter(turns[me][i], 0,
                                      Random(2) != 0 ? ResumeOn::SameWorker : ResumeOn::AnyWorker);
            Counters::Kill(turns[me][i]);
            if (me == 1) scheduler->DecrementCounter(turns[0][i]);
            ++passed[me];
        }
    });
    RunCounted(Options(2, 3 + Random(3)), [&](TaskScheduler *scheduler, Counter *counter) {
        scheduler->AddTasks(2, players.data(), counter);
    });
    Check(passed[0] == kTurns && passed[1] == kTurns, "a turn was lost");
}

// A task waits and its worker continues a fiber that this task made ready. Meanwhile the task
// itself is made ready. The continued fiber blocks its worker until the task has resumed. So
// another worker must be woken for the task.
void LeftForReady() {
    Counters counters;
    Counter *starts = counters.New(1), *gate = counters.New(1);
    uint32_t waiting = 0;
    bool passed = false;
    auto blocker = [&](TaskScheduler *scheduler) {
        ++waiting;
        scheduler->WaitForCounter(starts);
        while (!passed) weft::env::Pause();
    };
    auto waiter = [&](TaskScheduler *scheduler) {
        scheduler->DecrementCounter(starts);
        scheduler->WaitForCounter(gate);
        passed = true;
    };
    auto opener = [&](TaskScheduler *scheduler) { scheduler->DecrementCounter(gate); };
    RunCounted(Options(2, 6), [&](TaskScheduler *scheduler, Counter *counter) {
        const Task tasks[2] = {MakeTask(opener), MakeTask(waiter)};
        scheduler->AddTask(MakeTask(blocker), counter);
        while (waiting == 0) scheduler->Yield();
        scheduler->AddTasks(2, tasks, counter);
    });
    Check(passed, "a task was lost");
}

// A task waits for a later task of its own slice. Each task must run exactly once in each round.
void Slices() {
    Counters counters;
    constexpr uint32_t kTasks = 18;  // so many that the batch is split into slices
    uint32_t ran[kTasks] = {};
    Counter *gate = counters.New(1);
    IndexedTasks tasks(kTasks, [&](TaskScheduler *scheduler, uint32_t index) {
        ++ran[index];
        if (index == 1) scheduler->WaitForCounter(gate);
        if (index == kTasks - 1) scheduler->DecrementCounter(gate);
    });
    RunMain(Options(1 + Random(2), 5), [&](TaskScheduler *scheduler) {
        for (int round = 0; round < 2; ++round) {
            Counter *counter = counters.New();
            scheduler->AddTasks(kTasks, tasks.data(), counter);
            WaitAndKill(scheduler, counter);
            if (round == 0) scheduler->IncrementCounter(gate);
        }
    });
    for (uint32_t count : ran) Check(count == 2, "a task was lost or run twice");
}

// Nearly all fibers wait, so workers sleep on their thread stacks without a fiber. The last task
// must still get a fiber.
void OutOfFibers() {
    Counters counters;
    const uint32_t fibers = 2 + Random(2);
    Counter *gates[2] = {counters.New(1), counters.New(1)};
    uint32_t done = 0;
    auto waiter = [&](TaskScheduler *scheduler) {
        scheduler->WaitForCounter(gates[0]);
        ++done;
    };
    auto opener = [&](TaskScheduler *scheduler) {
        scheduler->DecrementCounter(gates[0]);
        scheduler->WaitForCounter(gates[1]);
        ++done;
    };
    RunCounted(Options(2 + Random(2), fibers + 1), [&](TaskScheduler *scheduler, Counter *counter) {
        // At most fibers - 1 tasks wait for the opener at any time.
        for (uint32_t i = 0; i + 1 < fibers; ++i) scheduler->AddTask(MakeTask(waiter), counter);
        scheduler->AddTask(MakeTask(opener), counter);
        scheduler->WaitForCounter(counter, 1);
        scheduler->DecrementCounter(gates[1]);
    });
    Check(done == fibers, "a task was lost");
}

struct DeepWait {
    Counters &counters;
    uint32_t depth;
    uint32_t &ran;
    bool hasChildren = false, isTimed = false;
    uint32_t leaves = 0;
};

void Leaf(TaskScheduler *, void *leaves) { ++*static_cast<uint32_t *>(leaves); }
void LeafWithChild(TaskScheduler *scheduler, void *leaves) {
    const Task child{Leaf, leaves};
    scheduler->AddChildTasks(1, &child);
    Leaf(scheduler, leaves);
}

// Its frame is so large that a stack has room for two of them.
void DescendOnStack(TaskScheduler *scheduler, void *arg) {
    volatile char frame[28 << 10];
    const volatile uint32_t first = 0;  // or clang leaves out the rest of the frame
    DeepWait &wait = *static_cast<DeepWait *>(arg);
    frame[first] = static_cast<char>(wait.depth);
    if (wait.depth != 0) {
        DeepWait below{wait.counters, wait.depth - 1, wait.ran, wait.hasChildren, wait.isTimed};
        Counter *counter = wait.counters.New();
        const Task child{LeafWithChild, &wait.leaves};
        if (wait.hasChildren) scheduler->AddChildTasks(1, &child);
        scheduler->AddTask({DescendOnStack, &below}, counter);
        const Clock::time_point soon = Now() + std::chrono::microseconds(Random(100));
        if (!wait.isTimed || Random(3) != 0 || !WaitForCounterUntil(*scheduler, counter, soon))
            scheduler->WaitForCounter(counter);
        Check(!wait.hasChildren || below.depth == 0 || below.leaves == 2,
              "a wait ended before children of the task");
        Counters::Kill(counter);
    }
    Check(frame[first] == static_cast<char>(wait.depth), "a stack was overwritten");
    ++wait.ran;
}

// Each task waits for the next one. There are fewer fibers than tasks, so the last tasks run on
// fibers of tasks that wait for them, directly or not.
void DescendWithFewFibers() {
    Counters counters;
    uint32_t ran = 0;
    const uint32_t fibers = 2 + Random(3);
    DeepWait top{counters, 2 * fibers - 2 + Random(2), ran, Random(2) != 0, Random(2) != 0};
    const uint32_t rounds = 1 + Random(12);
    const uint64_t begin = weft::env::Now();
    SchedulerOptions options = Options(2 + Random(2), fibers);
    options.stallMilliseconds = 1000;
    RunMain(options, [&](TaskScheduler *scheduler) {
        for (uint32_t i = 0; i < rounds; ++i) {
            Counter *counter = counters.New();
            top.leaves = 0;
            scheduler->AddTask({DescendOnStack, &top}, counter);
            WaitAndKill(scheduler, counter);
        }
    });
    // otherwise only the watch for stalls has woken a worker that can hand a task to a waiter
    Check(weft::env::Now() - begin < 1'000'000'000, "a worker slept although a waiter had room");
    Check(ran == rounds * (top.depth + 1), "a task was lost");
}

struct WaitWithoutRoom {
    Counter *counter;
    bool isTimed, hasRun = false, wasLate = false;
    uint32_t leaves = 0;
};

// Waits with so little stack left that no task has room on top.
void WaitsWithoutRoom(TaskScheduler *scheduler, void *arg) {
    volatile char frame[40 << 10];
    const volatile uint32_t first = 0;
    WaitWithoutRoom &wait = *static_cast<WaitWithoutRoom *>(arg);
    frame[first] = 1;
    const Task child{LeafWithChild, &wait.leaves};
    scheduler->AddChildTasks(1, &child);
    auto last = [&](TaskScheduler *) { wait.hasRun = true; };
    scheduler->AddTask(MakeTask(last), wait.counter);
    const Clock::time_point soon = Now() + std::chrono::milliseconds(1);
    if (wait.isTimed) wait.wasLate = !WaitForCounterUntil(*scheduler, wait.counter, soon);
    Check(!wait.isTimed || !wait.hasRun, "a task ran on top of a wait beyond one with a deadline");
    scheduler->WaitForCounter(wait.counter);
    Check(frame[first] == 1, "a stack was overwritten");
}

// The main task waits for a task that waits without room, so only the main task can run the last
// task, on its own fiber. If the wait in between has a deadline, the main task must not. After the
// last task, it runs the child task inline. The grandchild must belong to the same counter.
void RescueOnTop() {
    Counters counters;
    WaitWithoutRoom wait{counters.New(), Random(2) != 0};
    SchedulerOptions options = Options(1, 2);
    options.maxAttached = 1;
    constexpr uint32_t kHolders = 2;  // tasks that only hold a fiber
    Counter *const gate = counters.New(1), *const held = counters.New();
    uint32_t holding = 0;
    auto holds = [&](TaskScheduler *scheduler) {
        ++holding;
        WaitForCounterFor(*scheduler, gate, std::chrono::hours(1));
    };
    RunMain(options, [&](TaskScheduler *scheduler) {
        for (uint32_t i = 0; i < kHolders; ++i) scheduler->AddTask(MakeTask(holds), held);
        while (holding != kHolders) scheduler->Yield();
        Counter *counter = counters.New();
        // pinned, so that the task does not run inline
        scheduler->AddTask({WaitsWithoutRoom, &wait}, counter, PinnedTo(0));
        scheduler->WaitForCounter(counter);
        Check(wait.leaves == 2, "a wait ended before children of the task");
        Counters::Kill(counter);
        scheduler->DecrementCounter(gate);
        scheduler->WaitForCounter(held);
    });
    Check(wait.hasRun && wait.wasLate == wait.isTimed, "a task was lost");
}

// An external thread decrements the counter of a waiting task while the workers fall asleep. The
// wait must end.
void ExternalDecrement() {
    Counters counters;
    Counter *gate = counters.New(1);
    TaskScheduler scheduler(Options<ReportCode::Stalled>(2, 4));
    HostThread thread([&] { scheduler.DecrementCounter(gate); });
    RunMain(scheduler, [&](TaskScheduler *) {
        thread.Start();
        scheduler.WaitForCounter(gate, 0,
                                 Random(2) != 0 ? ResumeOn::SameWorker : ResumeOn::AnyWorker);
        Counters::Kill(gate);
        thread.Join();
    });
}

// A task of a batch blocks its thread until all others have run. The worker may have claimed some
// of them, and the other worker may sleep. After PrepareToBlock it must be woken for them.
void BlocksInBatch() {
    constexpr uint32_t kTasks = 32;  // so many that a worker claims several of them
    uint32_t begun = 0, ended = 0;
    weft::env::Parker parker;
    const uint32_t blocks = kTasks - 2 - Random(6);  // the task that begins after so many others
    auto task = [&](TaskScheduler *scheduler) {
        if (begun++ == blocks) {
            scheduler->PrepareToBlock();
            parker.Park();
            Check(ended == kTasks - 1, "a task continues before the others have ended");
        } else if (++ended == kTasks - 1) {
            parker.Unpark();
        }
    };
    RunMain(Options(2, 5), [&](TaskScheduler *scheduler) { RunBatch(scheduler, kTasks, task); });
    Check(begun == kTasks, "a task was lost or run twice");
}

// Closures are submitted by tasks, by closures that wait, and by an external thread. Each must be
// called once and destroyed once, must see what was written before its submission, and must be
// destroyed before its counter is lowered.
struct Ledger {
    uint32_t made = 0, ended = 0, called = 0;
};

class Owned {
public:
    Owned(Ledger &ledger, Cell &before, uint32_t value)
        : m_ledger(&ledger), m_before(&before), m_value(value) {
        ++ledger.made;
        before.Set(value);
    }
    Owned(Owned &&other) noexcept
        : m_ledger(std::exchange(other.m_ledger, nullptr)),
          m_before(other.m_before),
          m_value(other.m_value) {}
    ~Owned() {
        if (m_ledger != nullptr) ++m_ledger->ended;
    }
    void operator()(TaskScheduler *scheduler) {
        Check(m_before->Get() == m_value, "what was written before the submission is not visible");
        if (Random(2) != 0) scheduler->Yield();
        ++m_ledger->called;
    }

private:
    Ledger *m_ledger;
    Cell *m_before;
    uint32_t m_value;
};

void Closures() {
    constexpr uint32_t kClosures = 12;
    Counters counters;
    Ledger ledger;
    Cell cells[kClosures];
    RunMain(Options<ReportCode::Stalled>(1 + Random(3), 5), [&](TaskScheduler *scheduler) {
        Counter *gate = counters.New(1), *all = counters.New();
        RunningThread host([&] {
            for (uint32_t i = 0; i < 2; ++i)
                AddTask(*scheduler, Owned(ledger, cells[i], i + 1), all);
            scheduler->DecrementCounter(gate);
        });
        for (uint32_t i = 2; i < 6; ++i) AddTask(*scheduler, Owned(ledger, cells[i], i + 1), all);
        for (uint32_t i = 6; i < kClosures; i += 2) {
            AddTask(
                *scheduler,
                [&, i](TaskScheduler *running) {
                    AddTask(*running, Owned(ledger, cells[i], i + 1), all);
                    if (i == 6) running->WaitForCounter(gate);
                    AddTask(*running, Owned(ledger, cells[i + 1], i + 2), all);
                },
                all);
        }
        scheduler->WaitForCounter(gate);
        WaitAndKill(scheduler, all);
        Check(ledger.made == kClosures && ledger.ended == kClosures,
              "a closure was not destroyed, or destroyed twice");
        host.Join();
    });
    Check(ledger.called == kClosures, "a task was lost or run twice");
}

}  // namespace

std::vector<Model> SchedulerModels() {
    return {
        {"fork_join", "nested waits on two or three workers", ForkJoin},
        {"hand_over", "two tasks that wake each other", HandOver},
        {"left_for_ready",
         "a task switches to another one, which needs it to continue on another worker",
         LeftForReady},
        {"slices", "slices, claims, a wait for a later task of the slice", Slices},
        {"batch_blocks", "a task of a batch blocks its thread until the others have run",
         BlocksInBatch},
        {"pool_empty", "fewer fibers than waiting tasks", OutOfFibers},
        {"rescue_climbs", "a chain of waits that needs the room of all fibers",
         DescendWithFewFibers},
        {"rescue_on_top", "a task on top of a wait that depends on it indirectly", RescueOnTop},
        {"external", "a decrement by an external thread", ExternalDecrement},
        {"closures", "closures submitted by tasks and by an external thread", Closures},
    };
}

}  // namespace simulator
