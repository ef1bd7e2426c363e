// Mistakes with tasks, options, groups, counters and the life of a scheduler. Each must be reported
// once, with its code, and have no effect.
#include "fuzz/script.h"

namespace fuzz {

using namespace weft;

void Script::MistakeInTasks() {
    Cell *cells = m_world.NewCells(3);
    if (cells == nullptr) return;
    const Task broken[3] = {{Leaf, &cells[0]}, {nullptr, nullptr}, {Leaf, &cells[2]}};
    Counter *counter = SomeCounter();
    const uint32_t kind = m_bytes.Below(5);
    m_world.oracle.Expect(ReportCode::NullTask, [&] {
        if (kind == 0) m_scheduler.AddTask({nullptr, nullptr}, counter);
        if (kind == 1) m_scheduler.AddTasks(3, nullptr, counter);
        if (kind == 2) m_scheduler.AddTasks(3, broken, counter);
        if (kind == 3) m_scheduler.AddTasksAndWait(3, broken);
        if (kind == 4)
            Require(m_scheduler.Run(nullptr) == Status::BadOption, "Run without a function");
    });
}

void Script::MistakeInOptions() {
    Cell *cell = m_world.NewCells(1);
    if (cell == nullptr) return;
    const Task task{Leaf, cell};
    TaskOptions options = Options();
    const uint32_t places = m_world.options.workers + m_world.options.maxAttached;
    const uint32_t kind = m_bytes.Below(4);
    if (kind == 0) options.priority = static_cast<Priority>(3 + m_bytes.Below(253));
    if (kind == 1) options.group = static_cast<uint8_t>(8 + m_bytes.Below(200));
    if (kind == 2) options.worker = places + m_bytes.Next();
    if (kind == 3) {
        // The index of the last attached thread, which no thread has, because there are never so
        // many. Without workers only one thread may attach.
        options = {};
        options.worker = places - 1;
    }
    Counter *counter = SomeCounter();
    const bool waits = m_bytes.Below(2) != 0;
    m_world.oracle.Expect(ReportCode::BadOption, [&] {
        if (waits) {
            m_scheduler.AddTasksAndWait(1, &task, options);
        } else {
            m_scheduler.AddTask(task, counter, options);
        }
    });
}

void Script::MistakeInGroups() {
    Cell *cell = m_world.NewCells(1);
    if (cell == nullptr) return;
    const Task task{Leaf, cell};
    Counter *counter = SomeCounter();
    const uint32_t kind = m_bytes.Below(4);
    TaskOptions options;
    options.group = kind == 0 ? 8 : 0;
    if (kind != 0) options.worker = 0;  // without workers this is the attached thread
    m_world.oracle.Expect(ReportCode::BadOption, [&] {
        if (kind < 2) m_scheduler.AddTask(task, counter, options);
        if (kind == 2) m_scheduler.AddTasksAndWait(1, &task, options);
        if (kind == 3) m_scheduler.SetRunsLow(8 + m_bytes.Next(), true);
    });
}

void Script::MistakeInCounters() {
    Counter *some[2] = {&m_account.counters[0], nullptr};
    const uint32_t kind = m_bytes.Below(8);
    const ReportCode code = kind < 6 ? ReportCode::NullCounter : ReportCode::BadOption;
    m_world.oracle.Expect(code, [&] {
        if (kind == 0) m_scheduler.WaitForCounter(nullptr, m_bytes.Next());
        if (kind == 1) m_scheduler.DecrementCounter(nullptr, m_bytes.Next());
        if (kind == 2) m_scheduler.IncrementCounter(nullptr, m_bytes.Next());
        if (kind == 3) m_scheduler.PollCounter(nullptr);
        if (kind == 4) m_scheduler.WaitForAll(2, nullptr);
        if (kind == 5)
            Require(m_scheduler.WaitForAny(2, some) == 2, "WaitForAny with a null counter");
        if (kind == 6) Require(m_scheduler.WaitForAny(0, some) == 0, "WaitForAny of none");
        if (kind == 7)
            m_scheduler.SetActiveWorkers(m_bytes.Below(2) == 0 ? 0 : m_world.options.workers + 1);
    });
}

void Script::MistakeWithCounts() {
    Cell *cell = m_world.NewCells(1);
    if (cell == nullptr) return;
    const uint32_t kind = m_bytes.Below(4), n = m_bytes.Next();
    Counter own(kind == 3 ? ~0u : n);
    // More than all tasks of an input, and than all increments by scripts.
    if (kind == 0) {
        Counter &shared = m_account.counters[n % Account::kCounters];
        m_world.oracle.Expect(ReportCode::CounterUnderflow,
                              [&] { m_scheduler.DecrementCounter(&shared, 1u << 30); });
    } else if (kind == 1) {
        m_world.oracle.Expect(ReportCode::CounterUnderflow,
                              [&] { m_scheduler.DecrementCounter(&own, n + 1); });
    } else if (kind == 2) {
        if (n == 0) return;
        m_world.oracle.Expect(ReportCode::CounterOverflow,
                              [&] { m_scheduler.IncrementCounter(&own, ~0u - n + 1); });
    } else {
        m_world.oracle.Expect(ReportCode::CounterOverflow, [&] {
            m_scheduler.AddTask({Leaf, cell}, &own);
        });
    }
    Require(own.Value() == (kind == 3 ? ~0u : n), "a mistake has changed a counter");
}

void Script::MistakeOfThread() {
    Oracle &oracle = m_world.oracle;
    const bool first = m_bytes.Below(2) == 0;
    if (m_caller == Caller::External) {
        oracle.Expect(ReportCode::NotAWorker, [&] {
            first ? m_scheduler.Yield()
                  : Require(m_scheduler.RunPinnedTasks() == 0, "RunPinnedTasks of no worker");
        });
        oracle.Expect(ReportCode::WrongThread, [&] { m_scheduler.DetachThread(); });
    } else {
        oracle.Expect(ReportCode::WrongThread, [&] { m_scheduler.Stop(); });
        if (m_caller == Caller::Task)
            oracle.Expect(ReportCode::WrongThread, [&] { m_scheduler.DetachThread(); });
        oracle.Expect(ReportCode::NotRunning, [&] { m_world.idle->Yield(); });
    }
}

void Script::MistakeWhileIdle() {
    Cell *cell = m_world.NewCells(1);
    if (cell == nullptr) return;
    const Task task{Leaf, cell};
    TaskScheduler &idle = *m_world.idle;
    Counter own(1);
    Counter *list[1] = {&own};
    const uint32_t kind = m_bytes.Below(9);
    m_world.oracle.Expect(ReportCode::NotRunning, [&] {
        if (kind == 0) idle.AddTask(task, &own);
        if (kind == 1) idle.AddTasksAndWait(1, &task);
        if (kind == 2) idle.WaitForCounter(&own);
        if (kind == 3) idle.IncrementCounter(&own);
        if (kind == 4) idle.DecrementCounter(&own);
        if (kind == 5) idle.WaitIdle();
        if (kind == 6)
            Require(idle.AttachThread() == Status::NotRunning,
                    "AttachThread of one that does not run");
        if (kind == 7) idle.Stop();
        if (kind == 8)
            Require(idle.WaitForAny(1, list) == 1, "WaitForAny of one that does not run");
    });
    Require(own.Value() == 1, "one that does not run has changed a counter");
}

void Script::MistakeWithOther() {
    if (m_world.other == nullptr) return;
    Cell *cell = m_world.NewCells(1);
    if (cell == nullptr) return;
    Counter &held = m_world.held;
    Counter *list[2] = {&held, &held};
    const uint32_t kind = m_bytes.Below(5);
    m_world.oracle.Expect(ReportCode::WrongScheduler, [&] {
        if (kind == 0) m_scheduler.AddTask({Leaf, cell}, &held, Options());
        if (kind == 1) m_scheduler.WaitForCounter(&held, m_bytes.Below(3));
        if (kind == 2) m_scheduler.IncrementCounter(&held, 1 + m_bytes.Next());
        if (kind == 3) m_scheduler.DecrementCounter(&held, 1 + m_bytes.Below(3));
        if (kind == 4)
            Require(m_scheduler.WaitForAny(2, list) == 2,
                    "WaitForAny for the counter of another one");
    });
    Require(held.Value() == 3, "a scheduler has changed the counter of another one");
}

// Mistakes that only the returned status shows.
void Script::MistakeInLife() {
    const auto main = [](TaskScheduler *, void *) { Finding("the main task of a second Run"); };
    if (m_world.options.workers == 0) {
        m_world.oracle.Expect(ReportCode::BadOption, [&] {
            Require(m_scheduler.Run(main) == Status::BadOption, "Run without workers");
        });
    } else {
        Require(m_scheduler.Run(main) == Status::AlreadyRunning, "Run while it runs");
    }
    Require(m_scheduler.Start() == Status::AlreadyRunning, "Start while it runs");
    if (m_caller != Caller::External) {
        Require(m_scheduler.AttachThread() == Status::AlreadyRunning, "AttachThread of a worker");
    }
}

// Starts with invalid options.
void Script::MistakeAtStart() {
    SchedulerOptions bad = m_world.options;
    switch (m_bytes.Below(16)) {
        case 0:
            bad.workers = 1025 + m_bytes.Next();
            break;
        case 1:
            bad.maxAttached = 0;
            break;
        case 2:
            bad.maxAttached = 1025;
            break;
        case 3:
            bad.stallMilliseconds = m_bytes.Below(2) == 0 ? 0 : 60001;
            break;
        case 4:
            m_bytes.Below(2) == 0 ? bad.fibers = 1000001 : bad.pendingTasks = 65537;
            break;
        case 5:
            bad.stopGraceMilliseconds = 60001 + m_bytes.Next();
            break;
        case 6:
            bad.fibers = ~0u;
            break;
        case 7:
            bad.stackBytes = (16 << 10) - 1;
            break;
        case 8:
            bad.stackBytes = m_bytes.Next();
            break;
        case 9:
            bad.threadStackBytes = (64 << 10) - 1;
            break;
        case 10:
            bad.threadNice = 20;
            break;
        case 11:
            bad.idle = static_cast<IdlePolicy>(3 + m_bytes.Below(253));
            break;
        case 12:
            bad.affinity.kind = Affinity::Kind::Explicit;
            break;
        case 13:
            bad.structBytes = m_bytes.Next() % 4;
            break;
        case 14:
            bad.memory.allocate = [](size_t, size_t, void *) -> void * {
                Finding("memory was asked for");
            };
            break;
        default:
            bad.memory.releaseStacks = [](void *, size_t, void *) {
                Finding("stacks were given back");
            };
            break;
    }
    TaskScheduler scheduler(bad);
    const bool start = m_bytes.Below(2) == 0;
    m_world.oracle.Expect(ReportCode::BadOption, [&] {
        const Status status =
            start ? scheduler.Start()
                  : scheduler.Run([](TaskScheduler *, void *) { Finding("it runs"); });
        Require(status == Status::BadOption, "options that cannot be");
    });
}

}  // namespace fuzz
