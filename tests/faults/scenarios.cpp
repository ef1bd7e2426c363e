// Scenarios: what is done with a scheduler while calls fail, and the limits.
#include "faults/trial.h"

#include "support/low_groups.h"
#include "support/scheduler_run.h"
#include "support/spin.h"
#include "support/threads.h"

#include <cstdlib>

#include <sys/mman.h>
#include <unistd.h>

namespace faults {

using namespace weft;

namespace {

TaskOptions PinnedTo(uint32_t worker) { return {Priority::Normal, worker, "pinned"}; }

// Waits for any of the counters. If this fails because of memory, waits for the first one only.
void WaitForAnyOf(Trial &trial, TaskScheduler &scheduler, uint32_t count,
                  Counter *const *counters) {
    if (scheduler.WaitForAny(count, counters) != count) return;
    trial.Check(trial.WasReported(ReportCode::OutOfMemory),
                "WaitForAny tells why it does not wait");
    scheduler.WaitForCounter(counters[0]);
}

// ---- start and end ----

void Run(Trial &trial) {
    test::Marks plain(40), inner(18), more(3), pinned(2), last(5);
    test::Batch forks(6, [&](TaskScheduler &scheduler, uint32_t i) {
        scheduler.AddTasksAndWait(3, inner.Tasks() + 3 * i);
    });
    const bool ran = RunMain(trial, trial.First(), [&](TaskScheduler &scheduler) {
        Counter counter;
        scheduler.AddTasks(40, plain.Tasks(), &counter);
        scheduler.AddTasks(6, forks.Tasks(), &counter);
        scheduler.WaitForCounter(&counter, 5);
        scheduler.AddTasks(3, more.Tasks(), &counter);
        scheduler.Yield();
        scheduler.AddTask(pinned[0], &counter, PinnedTo(0));
        scheduler.WaitForCounter(&counter);
        trial.Check(plain.Wrong() + inner.Wrong() + more.Wrong() == 0,
                    "what was waited for has run once");
        scheduler.AddTask(pinned[1], nullptr, PinnedTo(0));
        scheduler.AddTasks(5, last.Tasks());  // no wait for these
    });
    trial.Check(plain.Wrong(ran) + inner.Wrong(ran) + more.Wrong(ran) + pinned.Wrong(ran) +
                        last.Wrong(ran) ==
                    0,
                "every task has run once after Ok, and none after another status");
}

void StartAndStop(Trial &trial) {
    TaskScheduler &scheduler = trial.First();
    test::Marks plain(40), last(30);
    if (!trial.IsOk(scheduler.Start())) {
        Counter counter;
        scheduler.AddTask(plain[0], &counter);
        trial.Check(trial.WasReported(ReportCode::NotRunning) && counter.IsZero(),
                    "it does not run when Start has failed");
        return;
    }
    scheduler.AddTasksAndWait(20, plain.Tasks());
    Counter counter;
    scheduler.AddTasks(20, plain.Tasks() + 20, &counter);
    scheduler.WaitForCounter(&counter);
    scheduler.WaitIdle();
    trial.Check(plain.Wrong() == 0, "what was waited for has run once");
    scheduler.AddTasks(30, last.Tasks());
    scheduler.Stop();
    trial.Check(last.Wrong() == 0, "Stop runs what is left");
}

// Without workers. The one attached thread runs the tasks, an external thread waits, and Stop runs
// the rest.
void SingleThreaded(Trial &trial) {
    TaskScheduler &scheduler = trial.First();
    if (!trial.IsOk(scheduler.Start())) return;
    test::Marks external(12), own(30), left(30);
    std::atomic<bool> submitted{false}, done{false};
    Counter counter;
    test::Threads threads(1, [&](uint32_t) {
        scheduler.AddTasks(12, external.Tasks(), &counter);
        submitted.store(true);
        scheduler.WaitForCounter(&counter);  // Stop may have run the tasks before
        trial.Check(external.Wrong() == 0, "what a thread waits for has run once");
        done.store(true);
    });
    test::SpinUntil([&] { return submitted.load(); });
    if (trial.IsOk(scheduler.AttachThread())) {
        scheduler.AddTasksAndWait(30, own.Tasks());
        trial.Check(own.Wrong() == 0, "what was waited for has run once");
        test::SpinUntil([&] {
            scheduler.Yield();
            return done.load();
        });
        scheduler.DetachThread();
    } else {
        scheduler.AddTasks(30, own.Tasks());
    }
    scheduler.AddTasks(30, left.Tasks());
    scheduler.Stop();
    threads.Join();
    trial.Check(external.Wrong() + own.Wrong() + left.Wrong() == 0, "Stop runs what is left");
}

// ---- threads beside the workers ----

void Attach(Trial &trial) {
    TaskScheduler &scheduler = trial.First();
    if (!trial.IsOk(scheduler.Start())) return;
    test::Marks first(2 * 20), pinned(2 * 3), second(2 * 10);
    test::Threads threads(2, [&](uint32_t self) {
        for (int round = 0; round < 2; ++round) {
            const bool attached = trial.IsOk(scheduler.AttachThread());
            Counter counter;
            if (round == 0) {
                scheduler.AddTasks(20, first.Tasks() + 20 * self, &counter);
                if (attached)
                    scheduler.AddTask(pinned[3 * self], &counter,
                                      PinnedTo(scheduler.CurrentWorker()));
                if (attached)
                    scheduler.AddTask(pinned[3 * self + 1], nullptr,
                                      PinnedTo(scheduler.CurrentWorker()));
                if (attached) scheduler.RunPinnedTasks();
                if (attached) scheduler.Yield();
                // DetachThread runs this task.
                if (attached)
                    scheduler.AddTask(pinned[3 * self + 2], nullptr,
                                      PinnedTo(scheduler.CurrentWorker()));
                if (!attached) scheduler.AddTasks(3, pinned.Tasks() + 3 * self, &counter);
            } else {
                scheduler.AddTasks(10, second.Tasks() + 10 * self, &counter);
            }
            scheduler.WaitForCounter(&counter);
            if (attached) scheduler.DetachThread();
        }
    });
    threads.Join();
    scheduler.Stop();
    trial.Check(first.Wrong() + pinned.Wrong() + second.Wrong() == 0, "every task has run once");
}

// A thread ends without detaching. If it was attached, weft detaches it and reports this. Stop must
// return.
void LeaveAttached(Trial &trial) {
    TaskScheduler &scheduler = trial.First();
    if (!trial.IsOk(scheduler.Start())) return;
    test::Marks pinned(4);
    bool attached = false;
    test::Threads(1, [&](uint32_t) {
        attached = trial.IsOk(scheduler.AttachThread());
        scheduler.AddTasks(4, pinned.Tasks(), nullptr,
                           attached ? PinnedTo(scheduler.CurrentWorker()) : TaskOptions());
    }).Join();
    scheduler.Stop();
    trial.Check(pinned.Wrong() == 0, "every task has run once");
    trial.Check(attached == trial.WasReported(ReportCode::LeftAttached),
                "who leaves attached is told");
}

void External(Trial &trial) {
    TaskScheduler &scheduler = trial.First();
    if (!trial.IsOk(scheduler.Start())) return;
    constexpr uint32_t kThreads = 3;
    test::Marks waited(kThreads * 20), more(kThreads * 10), pinned(kThreads * 4);
    test::Threads threads(kThreads, [&](uint32_t self) {
        scheduler.AddTasksAndWait(20, waited.Tasks() + 20 * self);
        Counter tasks, event;
        scheduler.IncrementCounter(&event);
        scheduler.AddTasks(10, more.Tasks() + 10 * self, &tasks);
        scheduler.AddTasks(4, pinned.Tasks() + 4 * self, &tasks, PinnedTo(0));
        Counter *const both[2] = {&tasks, &event};
        WaitForAnyOf(trial, scheduler, 2, both);
        scheduler.WaitForCounter(&tasks);
        scheduler.DecrementCounter(&event);
        scheduler.WaitIdle();
    });
    threads.Join();
    scheduler.Stop();
    trial.Check(waited.Wrong() + more.Wrong() + pinned.Wrong() == 0, "every task has run once");
}

// More threads wait than there are records at the start.
void ManyWaitingThreads(Trial &trial) {
    TaskScheduler &scheduler = trial.First();
    if (!trial.IsOk(scheduler.Start())) return;
    Counter gate;
    scheduler.IncrementCounter(&gate);
    std::atomic<uint32_t> begun{0}, through{0};
    constexpr uint32_t kThreads = 70;
    test::Threads threads(kThreads, [&](uint32_t) {
        begun.fetch_add(1);
        scheduler.WaitForCounter(&gate);
        through.fetch_add(1);
    });
    test::SpinUntil([&] { return begun.load() == kThreads; });
    test::Linger(20);
    trial.Check(through.load() == 0, "nobody goes on before the counter is lowered");
    scheduler.DecrementCounter(&gate);
    threads.Join();
    scheduler.Stop();
}

// ---- waits ----

// More counters than spare records at the start.
void WaitForAny(Trial &trial) {
    constexpr uint32_t kCounters = 150;
    test::Marks marks(kCounters);
    const auto wait = [&](TaskScheduler &scheduler) {
        std::vector<Counter> counters(kCounters);
        std::vector<Counter *> pointers;
        for (uint32_t i = 0; i < kCounters; ++i) {
            scheduler.AddTask(marks[i], &counters[i], test::kLow);
            pointers.push_back(&counters[i]);
        }
        WaitForAnyOf(trial, scheduler, kCounters, pointers.data());
        scheduler.WaitForAll(kCounters, pointers.data());
    };
    const bool ran = RunMain(trial, trial.First(), wait);
    trial.Check(marks.Wrong(ran) == 0, "every task has run once");
    if (!trial.IsOk(trial.First().Start())) return;
    wait(trial.First());
    trial.First().Stop();
    trial.Check(marks.Wrong(ran + 1u) == 0, "every task has run once");
}

// Workers and an external thread sleep and are woken repeatedly.
void Park(Trial &trial) {
    TaskScheduler &scheduler = trial.First();
    if (!trial.IsOk(scheduler.Start())) return;
    constexpr uint32_t kTurns = 12;
    test::Marks marks(2 * kTurns);
    for (uint32_t turn = 0; turn < kTurns; ++turn) {
        scheduler.AddTasksAndWait(1, marks.Tasks() + turn);
        scheduler.AddTasksAndWait(1, marks.Tasks() + kTurns + turn,
                                  PinnedTo(turn % scheduler.WorkerCount()));
    }
    scheduler.Stop();
    trial.Check(marks.Wrong() == 0, "every task has run once");
}

// ---- queues that grow ----

// Deques, slabs and queues of ready fibers grow.
void Grow(Trial &trial) {
    test::Marks batch(6000), singles(600);
    std::atomic<uint32_t> through{0};
    Counter gate;
    test::Batch waiters(100, [&](TaskScheduler &scheduler, uint32_t) {
        scheduler.WaitForCounter(&gate);
        through.fetch_add(1);
    });
    const bool ran = RunMain(trial, trial.First(), [&](TaskScheduler &scheduler) {
        Counter counter;
        scheduler.IncrementCounter(&gate);
        scheduler.AddTasks(100, waiters.Tasks(), &counter, test::kHigh);
        for (uint32_t i = 0; i < 600; ++i) scheduler.Yield();
        scheduler.AddTasks(6000, batch.Tasks(), &counter);
        for (uint32_t i = 0; i < 600; ++i) scheduler.AddTask(singles[i], &counter, test::kLow);
        scheduler.DecrementCounter(&gate);
        scheduler.WaitForCounter(&counter);
    });
    trial.Check(batch.Wrong(ran) + singles.Wrong(ran) == 0 && through.load() == 100u * ran,
                "every task has run once");
}

// More tasks from an external thread, some of them pinned, than blocks at the start, while the
// worker is busy.
void Post(Trial &trial) {
    TaskScheduler &scheduler = trial.First();
    if (!trial.IsOk(scheduler.Start())) return;
    std::atomic<bool> busy{false}, released{false};
    test::Batch block(1, [&](TaskScheduler &, uint32_t) {
        busy.store(true);
        test::SpinUntil([&] { return released.load(); });
    });
    test::Marks posted(120 * 45), pinned(120);
    Counter counter;
    scheduler.AddTask(block[0], &counter);
    test::SpinUntil([&] { return busy.load(); });
    for (uint32_t i = 0; i < 120; ++i) {
        scheduler.AddTasks(45, posted.Tasks() + 45 * i, &counter);
        scheduler.AddTask(pinned[i], &counter, PinnedTo(0));
    }
    released.store(true);
    scheduler.WaitForCounter(&counter);
    scheduler.Stop();
    trial.Check(posted.Wrong() + pinned.Wrong() == 0, "every task has run once");
}

// ---- several schedulers ----

void Several(Trial &trial) {
    TaskScheduler &outer = trial.First(), &inner = trial.Second();
    test::Marks before(10), within(20), started(20), after(10);
    bool innerRan = false, innerStarted = false;
    const bool ran = RunMain(trial, outer, [&](TaskScheduler &) {
        outer.AddTasksAndWait(10, before.Tasks());
        innerRan = RunMain(trial, inner,
                           [&](TaskScheduler &) { inner.AddTasksAndWait(20, within.Tasks()); });
        trial.Check(TaskScheduler::Current() == &outer,
                    "a task is the outer scheduler's after an inner run");
        innerStarted = trial.IsOk(inner.Start());
        trial.Check(TaskScheduler::Current() == &outer,
                    "a task is the outer scheduler's after an inner Start");
        if (innerStarted) {
            inner.AddTasksAndWait(20, started.Tasks());
            inner.Stop();
        }
        trial.Check(TaskScheduler::Current() == &outer,
                    "a task is the outer scheduler's after an inner Stop");
        outer.AddTasksAndWait(10, after.Tasks());
    });
    trial.Check(before.Wrong(ran) + after.Wrong(ran) + within.Wrong(innerRan) +
                        started.Wrong(innerStarted) ==
                    0,
                "every task has run once");
}

// ---- the host's memory ----

void UseHostMemory(SchedulerOptions &options) {
    options.memory.allocate = [](size_t bytes, size_t alignment, void *) -> void * {
        if (MustFail(Function::HostAllocate)) return nullptr;
        return ::operator new(bytes, std::align_val_t(alignment), std::nothrow);
    };
    options.memory.release = [](void *memory, size_t, size_t alignment, void *) {
        ::operator delete(memory, std::align_val_t(alignment));
    };
    options.memory.reserveStacks = [](size_t bytes, void *) -> void * {
        if (MustFail(Function::ReserveStacks)) return nullptr;
        void *pages =
            mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        return pages != MAP_FAILED ? pages : nullptr;
    };
    options.memory.releaseStacks = [](void *pages, size_t bytes, void *) {
        // The host uses these pages again, so all must be writable. If the system refused to remove
        // a guard, that guard page stays.
        if (!HasFailed(Function::MprotectUnguard) && !HasFailed(Function::MadviseUnguard)) {
            const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
            for (size_t i = 0; i < bytes; i += page) static_cast<volatile char *>(pages)[i] = 1;
        }
        munmap(pages, bytes);
    };
}

// ---- where threads run ----

void PlaceCompact(SchedulerOptions &options) {
    options.affinity.kind = Affinity::Kind::Compact;
    options.threadNice = 1;
    options.reportStackOverflow = true;
}

void PlaceExplicit(SchedulerOptions &options) {
    static const std::vector<uint64_t> all(8 * 16, ~uint64_t{0});
    options.affinity = {Affinity::Kind::Explicit, 16, all.data()};
    options.reportStackOverflow = true;
}

void ReportOverflows(SchedulerOptions &options) { options.reportStackOverflow = true; }

void Sleepy(SchedulerOptions &options) { options.idle = IdlePolicy::Sleep; }

void OneOfEach(SchedulerOptions &options) {
    options.fibers = 2;
    options.maxAttached = 1;
    test::LimitLow(options, 1);
}

void ManyPending(SchedulerOptions &options) { options.pendingTasks = 300; }
void ManyFibers(SchedulerOptions &options) { options.fibers = 128; }

// ---- all features together ----

// Works with one fiber: tasks that fork and wait for their children, other tasks, an attached
// thread, external threads, and a task that waits for one of them.
void Host(Trial &trial, TaskScheduler &scheduler, uint32_t rounds) {
    std::atomic<bool> eventDue{false};
    Counter event;
    const bool single = scheduler.WorkerCount() == 0;
    const auto attach = [&] {
        if (trial.IsOk(scheduler.AttachThread())) return true;
        if (!single) return false;
        Disarm();  // otherwise no thread would run tasks
        return trial.IsOk(scheduler.AttachThread());
    };
    for (uint32_t round = 0; round < rounds; ++round) {
        test::Marks inner(15), more(4), low(6), pinned(2), waited(20);
        std::atomic<uint32_t> through{0};
        std::atomic<bool> done{false};
        test::Batch forks(5, [&](TaskScheduler &running, uint32_t i) {
            running.AddTasksAndWait(3, inner.Tasks() + 3 * i);
        });
        test::Batch waits(1, [&](TaskScheduler &running, uint32_t) {
            eventDue.store(true);
            running.WaitForCounter(&event);
            through.fetch_add(1);
        });
        scheduler.IncrementCounter(&event);
        eventDue.store(false);
        test::Threads threads(2, [&](uint32_t self) {
            if (self == 0) {
                test::SpinUntil([&] { return eventDue.load(); });
                scheduler.DecrementCounter(&event);
                return;
            }
            scheduler.AddTasksAndWait(5, forks.Tasks());
            scheduler.AddTasksAndWait(1, waits.Tasks());
            Counter counter;
            scheduler.AddTasks(6, low.Tasks(), &counter, test::kLow);
            scheduler.AddTasks(4, more.Tasks(), &counter);
            scheduler.WaitForCounter(&counter, 2);
            scheduler.WaitForCounter(&counter);
            done.store(true);
        });
        test::Threads guest(1, [&](uint32_t) {
            const bool attached = attach();
            const TaskOptions mine = attached ? PinnedTo(scheduler.CurrentWorker()) : TaskOptions();
            Counter counter;
            scheduler.AddTasks(2, pinned.Tasks(), &counter, mine);
            scheduler.AddTasks(20, waited.Tasks(), &counter);
            scheduler.WaitForCounter(&counter);
            while (attached && single && !done.load()) scheduler.Yield();
            if (attached) scheduler.DetachThread();
        });
        guest.Join();
        if (single && !done.load()) {
            const bool attached = attach();
            while (attached && !done.load()) scheduler.Yield();
            if (attached) scheduler.DetachThread();
        }
        threads.Join();
        trial.Check(
            inner.Wrong() + more.Wrong() + low.Wrong() + pinned.Wrong() + waited.Wrong() == 0 &&
                through.load() == 1,
            "every task has run once");
    }
}

template <uint32_t kRounds>
void HostStarted(Trial &trial) {
    if (!trial.IsOk(trial.First().Start())) return;
    Host(trial, trial.First(), kRounds);
    trial.First().Stop();
}

template <uint32_t kRounds>
void HostRun(Trial &trial) {
    TaskScheduler &scheduler = trial.First();
    std::atomic<int> state{0};
    std::atomic<bool> hostIsDone{false};
    Counter hostRuns;
    test::Threads host(1, [&](uint32_t) {
        test::SpinUntil([&] { return state.load() != 0; });
        if (state.load() == 2) return;
        Host(trial, scheduler, kRounds);
        hostIsDone.store(true);
        scheduler.DecrementCounter(&hostRuns);
    });
    RunMain(trial, scheduler, [&](TaskScheduler &) {
        scheduler.IncrementCounter(&hostRuns);
        state.store(1);
        scheduler.WaitForCounter(&hostRuns);
        trial.Check(hostIsDone.load(), "the main task waits for its event");
    });
    if (state.load() == 0) state.store(2);
    host.Join();
}

// Works while the main task holds the only fiber: tasks that fork and wait for their children, and
// an event of another thread.
void RunAlone(Trial &trial) {
    TaskScheduler &scheduler = trial.First();
    test::Marks inner(15), waited(40);
    Counter event;
    std::atomic<bool> due{false}, ended{false};
    test::Batch forks(5, [&](TaskScheduler &running, uint32_t i) {
        running.AddTasksAndWait(3, inner.Tasks() + 3 * i);
    });
    test::Threads thread(1, [&](uint32_t) {
        test::SpinUntil([&] { return due.load() || ended.load(); });
        if (due.load()) scheduler.DecrementCounter(&event);
    });
    const bool ran = RunMain(trial, scheduler, [&](TaskScheduler &) {
        scheduler.AddTasksAndWait(5, forks.Tasks());
        scheduler.AddTasksAndWait(40, waited.Tasks());
        scheduler.IncrementCounter(&event);
        due.store(true);
        scheduler.WaitForCounter(&event);
    });
    ended.store(true);
    thread.Join();
    trial.Check(inner.Wrong(ran) + waited.Wrong(ran) == 0, "every task has run once");
}

constexpr uint32_t kPoolReports = BitOf(ReportCode::OutOfFibers) | BitOf(ReportCode::Stalled);
constexpr uint32_t kNotRunning = BitOf(ReportCode::NotRunning);
constexpr uint32_t kWaiters = BitOf(ReportCode::Stalled);
constexpr uint32_t kMemory = BitOf(Function::Allocate);
constexpr uint32_t kStacks = BitOf(Function::Mmap) | BitOf(Function::Munmap) |
                             BitOf(Function::MprotectGuard) | BitOf(Function::MprotectUnguard) |
                             BitOf(Function::MadviseGuard) | BitOf(Function::MadviseUnguard) |
                             BitOf(Function::MadviseOther);
constexpr uint32_t kHost = BitOf(Function::HostAllocate) | BitOf(Function::ReserveStacks);
constexpr uint32_t kPlaces = BitOf(Function::SetName) | BitOf(Function::GetAffinity) |
                             BitOf(Function::SetAffinity) | BitOf(Function::SetPriority) |
                             BitOf(Function::SigAltStack) | BitOf(Function::SigAction);

}  // namespace

const std::vector<Scenario> &Scenarios() {
    static const std::vector<Scenario> all = {
        {"run-1", 1, nullptr, Run},
        {"run-2", 2, nullptr, Run},
        {"run-3", 3, nullptr, Run},
        {"run-old-kernel", 2, nullptr, Run, kStacks, 0, true},
        {"start-1", 1, nullptr, StartAndStop, 0, kNotRunning},
        {"start-2", 2, nullptr, StartAndStop, 0, kNotRunning},
        {"start-3", 3, nullptr, StartAndStop, 0, kNotRunning},
        {"start-old-kernel", 2, nullptr, StartAndStop, kStacks, kNotRunning, true},
        {"start-pending", 1, ManyPending, StartAndStop, kMemory, kNotRunning},
        {"single", 0, nullptr, SingleThreaded, 0,
         kWaiters | kNotRunning | BitOf(ReportCode::NoWorkers)},
        {"single-overflow", 0, ReportOverflows, SingleThreaded, 0,
         kWaiters | kNotRunning | BitOf(ReportCode::NoWorkers)},
        {"attach-1", 1, nullptr, Attach},
        {"attach-overflow", 2, ReportOverflows, Attach},
        {"leave-attached", 1, nullptr, LeaveAttached, 0, BitOf(ReportCode::LeftAttached)},
        {"external", 2, nullptr, External, 0, kWaiters},
        {"external-1", 1, nullptr, External, 0, kWaiters},
        {"many-waiting-threads", 1, nullptr, ManyWaitingThreads, kMemory, kWaiters},
        {"wait-for-any", 2, nullptr, WaitForAny, kMemory, kWaiters},
        {"park", 2, nullptr, Park, BitOf(Function::FutexWait)},
        {"park-quiet", 2, Sleepy, Park, BitOf(Function::FutexWait)},
        {"grow", 1, ManyFibers, Grow, kMemory, kPoolReports},
        {"grow-2", 2, ManyFibers, Grow, kMemory, kPoolReports, false, true},
        {"post", 1, nullptr, Post, kMemory},
        {"several", 1, nullptr, Several},
        {"several-2", 2, nullptr, Several},
        {"host-memory-run", 2, UseHostMemory, Run, kStacks | kHost},
        {"host-memory-old-kernel", 2, UseHostMemory, Run, kStacks | kHost, 0, true},
        {"host-memory-attach", 1, UseHostMemory, Attach, kStacks | kHost},
        {"compact", 2, PlaceCompact, Run, kPlaces},
        {"compact-start", 3, PlaceCompact, StartAndStop, kPlaces, kNotRunning},
        {"explicit", 3, PlaceExplicit, StartAndStop, kPlaces | kMemory, kNotRunning},
        {"any-workers", kAnyWorker, nullptr, Run,
         BitOf(Function::GetAffinity) | BitOf(Function::Open) | BitOf(Function::Read)},
        {"one-of-each", 2, OneOfEach, HostStarted<1>, 0, kPoolReports},
        {"one-of-each-single", 0, OneOfEach, HostStarted<1>, 0,
         kPoolReports | BitOf(ReportCode::NoWorkers)},
        {"mixed-run", 3, nullptr, HostRun<1>, 0, kPoolReports},
        {"run-8", 8, nullptr, Run, 0, 0, false, true},
        {"start-8", 8, nullptr, StartAndStop, 0, kNotRunning, false, true},
        {"attach-8", 8, PlaceCompact, Attach, 0, 0, false, true},
        {"external-8", 8, Sleepy, External, 0, kWaiters, false, true},
        {"long", 2, nullptr, HostStarted<8>, 0, kPoolReports, false, true},
        {"long-quiet", 3, Sleepy, HostStarted<8>, 0, kPoolReports, false, true},
    };
    return all;
}

namespace {

#if defined(WEFT_DEBUG)
constexpr size_t kLeastStack =
    64 << 10;  // unoptimised code and sanitizers need more than the permitted minimum
#else
constexpr size_t kLeastStack = 16 << 10;
#endif

struct Limit {
    const char *name;
    void (*set)(SchedulerOptions &);
};

const uint64_t kOneMask[4] = {~uint64_t{0}, ~uint64_t{0}, ~uint64_t{0}, ~uint64_t{0}};

const Limit kLimits[] = {
    {"maxAttached", [](SchedulerOptions &o) { o.maxAttached = 1; }},
    {"groups", [](SchedulerOptions &o) { test::LimitLow(o, 1); }},
    {"fibers", [](SchedulerOptions &o) { o.fibers = 1; }},
    {"stackBytes", [](SchedulerOptions &o) { o.stackBytes = kLeastStack; }},
    {"threadStackBytes", [](SchedulerOptions &o) { o.threadStackBytes = 64 << 10; }},
    {"maskWords",
     [](SchedulerOptions &o) {
         o.affinity = {Affinity::Kind::Explicit, 1, kOneMask};
     }},
    {"threadName", [](SchedulerOptions &o) { o.threadName = nullptr; }},
    {"threadNice", [](SchedulerOptions &o) { o.threadNice = -20; }},
    {"threadSliceMicroseconds", [](SchedulerOptions &o) { o.threadSliceMicroseconds = 100; }},
    {"pendingTasks", [](SchedulerOptions &o) { o.pendingTasks = 1; }},
};

template <IdlePolicy kIdle>
void AllLimits(SchedulerOptions &options) {
    for (const Limit &limit : kLimits) limit.set(options);
    options.idle = kIdle;
}
// HostRun's main task holds a fiber, so its tasks need another one.
template <IdlePolicy kIdle>
void AllLimitsButFibers(SchedulerOptions &options) {
    AllLimits<kIdle>(options);
    options.fibers = 2;
}

}  // namespace

std::vector<Scenario> Limits() {
    // A nice value that this user may not set is reported, and so is a mask without a usable CPU.
    // The run continues.
    constexpr uint32_t kReports =
        kPoolReports | BitOf(ReportCode::BadOption) | BitOf(ReportCode::NoWorkers);
    std::vector<Scenario> all = {
        {"workers", 1, nullptr, HostRun<2>, 0, kReports},
        {"workers", 0, nullptr, HostStarted<2>, 0, kReports},
    };
    for (const Limit &limit : kLimits) {
        SchedulerOptions options;
        limit.set(options);
        for (uint32_t workers : {1u, 3u}) {
            all.push_back({limit.name, workers, limit.set, HostStarted<2>, 0, kReports});
            if (options.fibers != 1)
                all.push_back({limit.name, workers, limit.set, HostRun<2>, 0, kReports});
        }
        all.push_back({limit.name, 1, limit.set, RunAlone, 0, kReports});
    }
    for (uint32_t workers : {0u, 1u, 2u}) {
        all.push_back({"all, Balanced", workers, AllLimits<IdlePolicy::Balanced>, HostStarted<2>, 0,
                       kReports});
        all.push_back(
            {"all, Eager", workers, AllLimits<IdlePolicy::Spin>, HostStarted<2>, 0, kReports});
        all.push_back(
            {"all, Quiet", workers, AllLimits<IdlePolicy::Sleep>, HostStarted<2>, 0, kReports});
        if (workers == 0) continue;
        all.push_back({"all but fibers", workers, AllLimitsButFibers<IdlePolicy::Balanced>,
                       HostRun<2>, 0, kReports});
        all.push_back({"all but fibers", workers, AllLimitsButFibers<IdlePolicy::Sleep>, HostRun<2>,
                       0, kReports});
    }
    all.push_back({"all", 1, AllLimits<IdlePolicy::Balanced>, RunAlone, 0, kReports});
    return all;
}

}  // namespace faults
