// The rows of weft. All options but the number of workers are the defaults, unless a row is about
// an option.
#include "external_rows.h"
#include "hand_over.h"
#include "run_weft.h"
#include "sleep_late.h"
#include "staged_frame.h"
#include "workloads.h"

#include <weft/task_scheduler.h>
#include <weft/time.h>
#include <weft/trace/recorder.h>

namespace bench {

namespace {

struct Weft : RunsOnWeft {
    static constexpr const char *kName = "weft";
    using Context = weft::TaskScheduler *;
    using Function = weft::TaskFunction;

    static Context Current() { return s_running; }

    class Batch {
    public:
        Batch(Function function, Cells &cells) {
            for (uint32_t i = 0; i < cells.Count(); ++i) m_tasks.push_back({function, cells.At(i)});
        }
        template <class Item>
        Batch(Function function, std::vector<Item> &items) {
            for (Item &item : items) m_tasks.push_back({function, &item});
        }
        uint32_t Count() const { return static_cast<uint32_t>(m_tasks.size()); }
        const weft::Task *Tasks() const { return m_tasks.data(); }

    private:
        std::vector<weft::Task> m_tasks;
    };

    class Group {
    public:
        explicit Group(Context scheduler = s_running) : m_scheduler(scheduler) {}
        void Add(Function function, void *arg) {
            m_scheduler->AddTask({function, arg}, &m_counter);
        }
        void AddTwo(Function function, void *first, void *second) {
            const weft::Task tasks[2] = {{function, first}, {function, second}};
            m_scheduler->AddTasks(2, tasks, &m_counter);
        }
        void AddAll(const Batch &batch) {
            m_scheduler->AddTasks(batch.Count(), batch.Tasks(), &m_counter);
        }
        void Wait() { m_scheduler->WaitForCounter(&m_counter); }

    protected:
        weft::Counter *Counter() { return &m_counter; }

    private:
        Context m_scheduler;
        weft::Counter m_counter;
    };

    static void Both(Context scheduler, Function function, void *first, void *second) {
        const weft::Task tasks[2] = {{function, first}, {function, second}};
        scheduler->AddTasksAndWait(2, tasks);
    }
};

constexpr uint32_t kTurns = 20000;

// Returns the cost of one turn of two players. `across`: each player has its own worker.
template <class Player>
double Play(Player (&players)[2], bool across) {
    weft::Counter counter;
    const Clock::time_point begin = Clock::now();
    for (uint32_t i = 0; i < 2; ++i) {
        weft::TaskOptions options;
        if (across) options.worker = i;
        Weft::s_running->AddTask({Player::Play, &players[i]}, &counter, options);
    }
    Weft::s_running->WaitForCounter(&counter);
    return Since(begin) / kTurns;
}

// Returns the cost of one wait that suspends and is resumed.
double HandOver(uint32_t workers, bool across) {
    double cost = 0;
    Weft::Run(workers, [&] {
        for (int round = 0; round < 2; ++round) {  // the first one warms up
            weft::Counter turns[2] = {weft::Counter(1), weft::Counter(1)};
            Player players[2] = {{&turns[0], &turns[1], kTurns / 2, true},
                                 {&turns[1], &turns[0], kTurns / 2, false}};
            cost = Play(players, across);
        }
    });
    return cost;
}

double HandOverFresh(uint32_t workers) {
    double cost = 0;
    Weft::Run(workers, [&] {
        for (int round = 0; round < 2; ++round) {
            const std::unique_ptr<FreshPlayer::One[]> turns(new FreshPlayer::One[kTurns]);
            FreshPlayer players[2] = {{turns.get(), kTurns, 0}, {turns.get(), kTurns, 1}};
            cost = Play(players, false);
        }
    });
    return cost;
}

// Tasks that wait until this object is destroyed. Each is on a fiber of its own.
class Blocked {
public:
    Blocked(weft::TaskScheduler *scheduler, uint32_t count)
        : m_scheduler(scheduler), m_notBegun(count) {
        const std::vector<weft::Task> tasks(count, {WaitForGate, this});
        scheduler->AddTasks(count, tasks.data(), &m_tasks);
        scheduler->WaitForCounter(&m_notBegun);
    }
    ~Blocked() {
        m_scheduler->DecrementCounter(&m_gate);
        m_scheduler->WaitForCounter(&m_tasks);
    }

private:
    static void WaitForGate(weft::TaskScheduler *scheduler, void *arg) {
        Blocked *self = static_cast<Blocked *>(arg);
        scheduler->DecrementCounter(&self->m_notBegun);
        scheduler->WaitForCounter(&self->m_gate);
    }

    weft::TaskScheduler *m_scheduler;
    weft::Counter m_gate{1}, m_notBegun, m_tasks;
};

// Bulk work while a thousand tasks are blocked. Only systems with fibers have this row. In other
// systems each blocked task holds a thread.
double BesideBlocked(uint32_t workers, uint32_t count) {
    constexpr uint32_t kBlocked = 1000;
    weft::SchedulerOptions options;
    options.workers = workers;
    options.fibers = kBlocked + 64;
    weft::TaskScheduler scheduler(options);
    Cells cells(count);
    const Weft::Batch batch(Workloads<Weft>::Write, cells);
    double cost = 0;
    auto main = [&](weft::TaskScheduler *running) {
        const Blocked blocked(running, kBlocked);
        cost = PerTaskHere(BulkRepeats(count), count, [&] {
            Weft::Group group(running);
            group.AddAll(batch);
            group.Wait();
        });
    };
    const weft::Task task = weft::MakeTask(main);
    if (scheduler.Run(task.function, task.arg) != weft::Status::Ok) Wrong("Run");
    cells.Verify();
    return cost;
}

// Returns the resident memory while that many tasks wait, each on a fiber of its own.
double ResidentWith(uint32_t fibers) {
    weft::SchedulerOptions options;
    options.workers = 1;
    options.fibers = fibers + 8;
    weft::TaskScheduler scheduler(options);
    double bytes = 0;
    auto main = [&](weft::TaskScheduler *running) {
        const Blocked blocked(running, fibers);
        bytes = ResidentBytes();
    };
    const weft::Task task = weft::MakeTask(main);
    if (scheduler.Run(task.function, task.arg) != weft::Status::Ok) Wrong("Run");
    return bytes;
}

double BytesPerFiber() {
    ResidentWith(8);
    return (ResidentWith(1008) - ResidentWith(8)) / 1000;
}

// As Weft, while a task waits with a deadline one hour ahead. At the end its counter is
// decremented, which ends the wait.
struct WeftBesideDeadline : Weft {
    template <class Body>
    static void Run(uint32_t workers, Body body) {
        Weft::Run(workers, [&] {
            weft::Counter gate(1), notBegun(1), counter;
            auto wait = [&](weft::TaskScheduler *scheduler) {
                scheduler->DecrementCounter(&notBegun);
                if (!weft::WaitForCounterFor(*scheduler, &gate, std::chrono::hours(1)))
                    Wrong("an hour has passed");
            };
            s_running->AddTask(weft::MakeTask(wait), &counter);
            s_running->WaitForCounter(&notBegun);
            body();
            s_running->DecrementCounter(&gate);
            s_running->WaitForCounter(&counter);
        });
    }
};

// As Weft, but two tasks that a task adds to its group are its child tasks.
struct WeftChildren : Weft {
    class Group : public Weft::Group {
    public:
        using Weft::Group::Group;
        void AddTwo(Function function, void *first, void *second) {
            const weft::Task tasks[2] = {{function, first}, {function, second}};
            s_running->AddChildTasks(2, tasks);
        }
    };
};

// As Weft, with a recorder.
struct WeftRecorded : Weft {
    template <class Body>
    static void Run(uint32_t workers, Body body) {
        static std::vector<unsigned char> memory(64 << 20);
        weft::Recorder recorder(memory.data(), memory.size());
        weft::SchedulerOptions options;
        options.workers = workers;
        options.recorder = &recorder;
        Weft::RunWith(options, body);
    }
};

// As Weft, with a trace hook that does nothing.
struct WeftHooked : Weft {
    template <class Body>
    static void Run(uint32_t workers, Body body) {
        weft::SchedulerOptions options;
        options.workers = workers;
        options.trace.event = [](const weft::TraceEvent &, void *) {};
        Weft::RunWith(options, body);
    }
};

// As Weft, but each worker is a group of its own. All tasks name the group of the worker that runs
// the main task, so this worker runs all of them.
struct WeftInGroup : Weft {
    template <class Body>
    static void Run(uint32_t workers, Body body) {
        const std::vector<weft::WorkerGroup> groups(workers, weft::WorkerGroup{nullptr, 1});
        weft::SchedulerOptions options;
        options.workers = workers;
        options.groups = groups.data();
        options.groupCount = workers;
        Weft::RunWith(options, body);
    }
    class Group : public Weft::Group {
    public:
        using Weft::Group::Group;
        void Add(Function function, void *arg) {
            s_running->AddTask({function, arg}, Counter(), kFirstGroup);
        }
        void AddAll(const Batch &batch) {
            s_running->AddTasks(batch.Count(), batch.Tasks(), Counter(), kFirstGroup);
        }

    private:
        static inline const weft::TaskOptions kFirstGroup = [] {
            weft::TaskOptions options;
            options.group = 0;
            return options;
        }();
    };
};

// Returns the time to make a scheduler, run one empty task, and destroy the scheduler.
double StartUp(uint32_t workers, uint32_t fibers) {
    constexpr uint32_t kTimes = 5;
    const Clock::time_point begin = Clock::now();
    for (uint32_t i = 0; i < kTimes; ++i) {
        weft::SchedulerOptions options;
        options.workers = workers;
        if (fibers != 0) options.fibers = fibers;
        weft::TaskScheduler scheduler(options);
        if (scheduler.Run([](weft::TaskScheduler *, void *) {}) != weft::Status::Ok) Wrong("Run");
    }
    return Since(begin) / kTimes;
}

// Returns how much the resident memory grows until the workers of a new scheduler wait for tasks,
// in KiB.
double Memory(uint32_t workers, uint32_t fibers) {
    const double before = ResidentBytes();
    weft::SchedulerOptions options;
    options.workers = workers;
    if (fibers != 0) options.fibers = fibers;
    weft::TaskScheduler scheduler(options);
    if (scheduler.Start() != weft::Status::Ok) Wrong("Start");
    const weft::Task task{[](weft::TaskScheduler *, void *) {}, nullptr};
    weft::Counter counter;
    scheduler.AddTask(task, &counter);
    scheduler.WaitForCounter(&counter);
    const double bytes = ResidentBytes() - before;
    scheduler.Stop();
    return bytes / 1024;
}

double External(uint32_t workers, uint32_t threads) {
    weft::SchedulerOptions options;
    options.workers = workers;
    weft::TaskScheduler scheduler(options);
    if (scheduler.Start() != weft::Status::Ok) Wrong("Start");
    const double cost = ExternalCost(threads, [&](Cells &cells) {
        weft::Counter counter;
        for (uint32_t i = 0; i < cells.Count(); ++i) {
            scheduler.AddTask({Workloads<Weft>::Write, cells.At(i)}, &counter);
        }
        scheduler.WaitForCounter(&counter);
    });
    scheduler.Stop();
    return cost;
}

// Returns how late sleeps end. `busy`: all workers run tasks of 20 microseconds meanwhile, so that
// no worker sleeps until the deadline.
Quantiles Late(uint32_t workers, bool busy) {
    Quantiles late{};
    std::atomic<bool> over{false};
    weft::Counter others;
    auto work = [&](weft::TaskScheduler *running) {
        while (!over.load(std::memory_order_relaxed)) {
            Spin(20e3);
            running->Yield();
        }
    };
    Weft::Run(workers, [&] {
        for (uint32_t i = 0; busy && i < workers; ++i)
            Weft::s_running->AddTask(weft::MakeTask(work), &others);
        late =
            SleepLate([](Clock::duration duration) { weft::SleepFor(*Weft::s_running, duration); });
        over.store(true);
        Weft::s_running->WaitForCounter(&others);
    });
    return late;
}

}  // namespace

void AddWeftRows(std::vector<Row> &rows, uint32_t workers) {
    AddWorkloads<Weft>(rows, workers);
    AddFrameRows<Weft>(rows, workers);
    const auto add = [&](const std::string &workload, auto measure) {
        rows.push_back({workload, "weft", workers, "ns", measure, {}});
    };
    add("hand_over", [=] { return HandOver(workers, false); });
    add("hand_over_fresh", [=] { return HandOverFresh(workers); });
    if (workers == 2) add("hand_over_across", [] { return HandOver(2, true); });
    add("1000_beside_1000_blocked", [=] { return BesideBlocked(workers, 1000); });
    add("bulk_beside_1000_blocked", [=] { return BesideBlocked(workers, kBulk); });
    if (workers == 1) rows.push_back({"bytes_per_fiber", "weft", 1, "bytes", BytesPerFiber, {}});
    add("fork_join_fused_deadline",
        [=] { return Workloads<WeftBesideDeadline>::ForkJoin<true>(workers); });
    if (workers == 2) {
        for (uint32_t fibers : {1000u, 10000u, 100000u}) {
            const std::string name = std::to_string(fibers) + "_fibers";
            add("start_up_" + name, [=] { return StartUp(2, fibers); });
            rows.push_back(
                {"memory_" + name, "weft", 2, "KiB", [=] { return Memory(2, fibers); }, {}});
        }
        for (uint32_t many : {2u, 16u, 64u, 256u}) {
            rows.push_back({"start_up", "weft", many, "ns", [=] { return StartUp(many, 0); }, {}});
            rows.push_back({"memory", "weft", many, "KiB", [=] { return Memory(many, 0); }, {}});
        }
    }
    if (workers == 2) {
        add("bulk_1000_in_group", [] { return Workloads<WeftInGroup>::Bulk(2, 1000); });
        add("one_by_one_in_group", [] { return Workloads<WeftInGroup>::OneByOne(2); });
    }
    add("bulk_1000_recorded", [=] { return Workloads<WeftRecorded>::Bulk(workers, 1000); });
    add("one_by_one_recorded", [=] { return Workloads<WeftRecorded>::OneByOne(workers); });
    add("bulk_1000_hooked", [=] { return Workloads<WeftHooked>::Bulk(workers, 1000); });
    add("one_by_one_hooked", [=] { return Workloads<WeftHooked>::OneByOne(workers); });
    add("tree_children", [=] { return Workloads<WeftChildren>::TreeOneGroup(workers); });
    AddExternalRows(rows, "weft", workers, External);
    AddQuantiles(rows, "sleep_late", "weft", workers, [=] { return Late(workers, false); });
    AddQuantiles(rows, "sleep_late_busy", "weft", workers, [=] { return Late(workers, true); });
}

}  // namespace bench
