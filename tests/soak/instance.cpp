// The work that the soak does with one TaskScheduler, and the checks after each run.
#include "soak/instance.h"
#include "support/low_groups.h"
#include "weft/time.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <new>

#include <sys/mman.h>
#include <unistd.h>

namespace soak {

using namespace weft;

namespace {

#if defined(WEFT_DEBUG)
constexpr uint32_t kShare = 20;  // sanitizers are slow
#else
constexpr uint32_t kShare = 1;
#endif

void Mark(TaskScheduler *, void *arg) { ++*static_cast<uint8_t *>(arg); }

}  // namespace

Instance::Instance(uint64_t seed, bool hooks, bool nested, Figures &figures)
    : m_figures(figures),
      m_random(seed),
      m_hooks(hooks),
      m_nested(nested),
      m_options(RandomOptions()) {
    figures.schedulers.fetch_add(1);
}

SchedulerOptions Instance::RandomOptions() {
    static constexpr uint32_t kWorkers[] = {1, 2, 2, 2, 3, 4, 8, kAnyWorker, 0};
    static constexpr uint32_t kFibers[] = {3, 5, 20, 160, 160};
    SchedulerOptions options;
    options.workers = kWorkers[m_random.Below(m_nested ? 5 : 9)];
    options.fibers = kFibers[m_random.Below(m_nested ? 3 : 5)];
    options.maxAttached = 1 + m_random.Below(3);
    m_random.OneIn(3) ? ChooseGroups(options) : test::LimitLow(options, m_random.Below(3));
    options.idle = m_random.OneIn(6)   ? IdlePolicy::Spin
                   : m_random.OneIn(3) ? IdlePolicy::Sleep
                                       : IdlePolicy::Balanced;
    options.reportStackOverflow = m_random.OneIn(4);
    if (m_random.OneIn(4)) options.pendingTasks = 1 + m_random.Below(2000);
#if defined(WEFT_DEBUG)
    options.stackBytes = 1 << 20;
#endif
    if (m_random.OneIn(2)) ObserveMemory(options);
    if (m_hooks) ObserveTasks(options);
    options.onReport = Report;
    options.user = this;
    return options;
}

// Chooses two or three groups, if there are enough workers. The last group may be namedOnly. Some
// may run Low tasks.
void Instance::ChooseGroups(SchedulerOptions &options) {
    if (options.workers < 2 || options.workers == kAnyWorker) return;
    const uint32_t count = options.workers == 2 || m_random.OneIn(2) ? 2 : 3;
    for (uint32_t i = 0; i < count; ++i) m_groups[i].workers = 1;
    for (uint32_t left = options.workers - count; left != 0; --left)
        ++m_groups[m_random.Below(count)].workers;
    m_groups[count - 1].namedOnly = m_random.OneIn(2);
    options.groups = m_groups;
    options.groupCount = count;
    const bool isLimited = m_random.OneIn(2);
    const uint32_t low = isLimited ? 1 + m_random.Below((1u << count) - 1) : 0;  // a bit each
    for (uint32_t i = 0; i < count; ++i) m_groups[i].runsLow = (low >> i & 1) != 0;
}

void Instance::ObserveMemory(SchedulerOptions &options) {
    MemoryHooks &memory = options.memory;
    memory.user = this;
    memory.allocate = [](size_t bytes, size_t alignment, void *user) -> void * {
        static_cast<Instance *>(user)->m_bytes.fetch_add(static_cast<int64_t>(bytes));
        return ::operator new(bytes, std::align_val_t(alignment), std::nothrow);
    };
    memory.release = [](void *at, size_t bytes, size_t alignment, void *user) {
        static_cast<Instance *>(user)->m_bytes.fetch_sub(static_cast<int64_t>(bytes));
        ::operator delete(at, std::align_val_t(alignment));
    };
    memory.reserveStacks = [](size_t bytes, void *user) -> void * {
        static_cast<Instance *>(user)->m_bytes.fetch_add(static_cast<int64_t>(bytes));
        void *pages =
            mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        return pages == MAP_FAILED ? nullptr : pages;
    };
    memory.releaseStacks = [](void *at, size_t bytes, void *user) {
        static_cast<Instance *>(user)->m_bytes.fetch_sub(static_cast<int64_t>(bytes));
        munmap(at, bytes);
    };
}

void Instance::ObserveTasks(SchedulerOptions &options) {
    options.trace.user = this;
    options.trace.event = [](const TraceEvent &event, void *user) {
        Instance &self = *static_cast<Instance *>(user);
        if (event.kind == TraceKind::TaskBegin && IsCounted(event)) self.m_begun.fetch_add(1);
        if (event.kind == TraceKind::TaskEnd && IsCounted(event)) self.m_ended.fetch_add(1);
        if (event.kind == TraceKind::FiberSwitch)
            self.m_figures.switches.fetch_add(1, std::memory_order_relaxed);
    };
}

bool Instance::IsCounted(const TraceEvent &event) {
    return std::find(std::begin(kTaskNames), std::end(kTaskNames), event.task) !=
           std::end(kTaskNames);
}

void Instance::Report(const weft::Report &report, void *user) {
    Instance &self = *static_cast<Instance *>(user);
    // A thread will lower these counters. It may not have had a processor for a second.
    if (report.code == ReportCode::Stalled || report.code == ReportCode::EndDelayed) return;
    // Noise may bind the thread that asks the system for CPUs, before it reads the answer.
    if (report.code == ReportCode::OneCpu) return;
    if (report.code == ReportCode::TaskThrew) {
        self.m_threw.fetch_add(1);
        return;
    }
    self.m_figures.Fail("report %u: %s", static_cast<unsigned>(report.code), report.what);
}

void Instance::Live() {
    TaskScheduler scheduler(m_options);
    for (uint32_t runs = 1 + m_random.Below(3); runs != 0; --runs) {
        m_options.workers != 0 && m_random.OneIn(2) ? LiveInRun(scheduler)
                                                    : LiveAfterStart(scheduler);
        CheckRun();
    }
}

void Instance::LiveInRun(TaskScheduler &scheduler) {
    Call call{this, &scheduler};
    Count(1);
    TaskOptions options{Priority::Normal, kAnyWorker, kTaskNames[2]};
    if (m_random.OneIn(4)) options.worker = 0;
    const Status status =
        scheduler.Run([](TaskScheduler *running,
                         void *arg) { static_cast<Call *>(arg)->self->Work(*running, true, 0); },
                      &call, options);
    if (status != Status::Ok) m_figures.Fail("Run returned %u", static_cast<unsigned>(status));
}

void Instance::LiveAfterStart(TaskScheduler &scheduler) {
    const bool attaches = m_options.workers == 0 || (!m_nested && m_random.OneIn(2));
    const Status status = scheduler.Start();
    if (status != Status::Ok)
        return m_figures.Fail("Start returned %u", static_cast<unsigned>(status));
    if (attaches && scheduler.AttachThread() != Status::Ok) m_figures.Fail("AttachThread failed");
    Work(scheduler, false, attaches ? 1 : 0);
    if (attaches) scheduler.DetachThread();
    if (m_random.OneIn(2)) return scheduler.Stop();
    if (!StopFor(scheduler, std::chrono::hours(1))) m_figures.Fail("StopFor has withdrawn tasks");
}

// Called by the main task, an attached thread or an external thread.
void Instance::Work(TaskScheduler &scheduler, bool isTask, uint32_t attached) {
    m_graph = std::make_unique<Graph>(m_figures, m_options, scheduler);
    StartHelpers(scheduler, attached);
    for (uint32_t steps = 1 + m_random.Below(6); steps != 0; --steps) {
        if (m_random.OneIn(6)) {
            Frames(scheduler, m_random);
        } else if (m_random.OneIn(3)) {
            Batches(scheduler, m_random, (1u << 23) / kShare);
        } else {
            m_graph->Grow(scheduler, m_random.Next(), (100 + m_random.Below(8000)) / kShare);
        }
        if (!m_nested && m_random.OneIn(30))
            Instance(m_random.Next(), m_hooks, true, m_figures).Live();
    }
    EndHelpers(scheduler);
    if (m_random.OneIn(2)) scheduler.WaitIdle();
    Count(CheckFibers(scheduler, m_options, isTask, m_figures));
}

void Instance::StartHelpers(TaskScheduler &scheduler, uint32_t attached) {
    const auto start = [&](void (Instance::*help)(TaskScheduler &, uint64_t)) {
        scheduler.IncrementCounter(&m_helping);
        m_helpers.emplace_back([this, &scheduler, help, seed = m_random.Next()] {
            (this->*help)(scheduler, seed);
            scheduler.DecrementCounter(&m_helping);
        });
    };
    for (uint32_t count = m_random.Below(3); count != 0; --count) start(&Instance::HelpFromOutside);
    const uint32_t places = m_options.workers == 0 ? 0 : m_options.maxAttached - attached;
    for (uint32_t count = m_random.Below(places + 1); count != 0; --count) {
        start(&Instance::HelpAttached);
    }
    if (m_random.OneIn(2)) return;
    m_graph->StartLowering();
    scheduler.IncrementCounter(&m_lowering);
    m_helpers.emplace_back([this, &scheduler] {
        m_graph->LowerGates(scheduler);
        scheduler.DecrementCounter(&m_lowering);
    });
}

// The threads are joined when only their end is left.
void Instance::EndHelpers(TaskScheduler &scheduler) {
    scheduler.WaitForCounter(&m_helping);
    m_graph->StopLowering();
    scheduler.WaitForCounter(&m_lowering);
    for (std::thread &thread : m_helpers) thread.join();
    m_helpers.clear();
}

void Instance::HelpFromOutside(TaskScheduler &scheduler, uint64_t seed) {
    Random random(seed);
    for (uint32_t turns = random.Below(4); turns != 0; --turns) {
        m_graph->Grow(scheduler, random.Next(), (50 + random.Below(1000)) / kShare);
        Batches(scheduler, random, 5000 / kShare);
    }
}

void Instance::HelpAttached(TaskScheduler &scheduler, uint64_t seed) {
    Random random(seed);
    for (uint32_t turns = random.Below(4); turns != 0; --turns) {
        if (scheduler.AttachThread() != Status::Ok) return m_figures.Fail("AttachThread failed");
        const uint32_t self = scheduler.CurrentWorker();
        m_graph->Grow(scheduler, random.Next(), (50 + random.Below(1000)) / kShare,
                      random.OneIn(2) ? self : kAnyWorker);
        scheduler.RunPinnedTasks();
        scheduler.Yield();
        scheduler.DetachThread();
    }
}

// Cheap tasks, the same ones repeatedly, about `tasks` in all. Each has a cell that counts how
// often it has run.
void Instance::Batches(TaskScheduler &scheduler, Random &random, uint32_t tasks) {
    const uint32_t size = std::min(1 + random.Below(1u << (1 + random.Below(16))), tasks);
    // More threads may spin than there are processors. Then each wait can take a time slice of
    // each.
    const uint32_t most = m_options.idle == IdlePolicy::Spin ? 200 : 20000;
    const uint32_t times = std::min(tasks / size, most);
    std::vector<uint8_t> cells(size);
    std::vector<Task> batch;
    for (uint8_t &cell : cells) batch.push_back({Mark, &cell});
    const uint32_t parts = random.OneIn(2) ? 0 : 1 + random.Below(3);  // 0: AddTasksAndWait
    TaskOptions options;
    options.priority = static_cast<Priority>(random.Below(3));
    options.name = kTaskNames[1];
    for (uint32_t time = 1; time <= times; ++time) {
        if (parts == 0) {
            scheduler.AddTasksAndWait(size, batch.data(), options);
        } else {
            Counter counter;
            for (uint32_t part = 0, begin = 0; part < parts; ++part) {
                const uint32_t end = part + 1 == parts ? size : size / parts * (part + 1);
                scheduler.AddTasks(end - begin, batch.data() + begin, &counter, options);
                begin = end;
            }
            scheduler.WaitForCounter(&counter);
            if (!counter.IsZero())
                m_figures.Fail("a batch's counter is %u after the wait", counter.Value());
        }
        const bool same = std::memcmp(cells.data(), cells.data() + 1, size - 1) == 0;
        if (!same || cells[0] != static_cast<uint8_t>(time))
            return m_figures.Fail("after %u batches of %u tasks not every task has run as often",
                                  time, size);
    }
    Count(uint64_t{size} * times);
    m_figures.waits.fetch_add(times);
}

void Instance::CheckRun() {
    m_graph->CheckForgotten();
    const uint64_t tasks = m_graph->Submitted() + m_batchTasks.load();
    if (m_graph->Ran() != m_graph->Submitted())
        m_figures.Fail("%ju tasks were submitted and %ju have run", m_graph->Submitted(),
                       m_graph->Ran());
    if (m_hooks && (m_begun.load() != tasks || m_ended.load() != tasks))
        m_figures.Fail("of %ju tasks %ju have begun and %ju ended", tasks, m_begun.load(),
                       m_ended.load());
    if (m_threw.load() != m_graph->Thrown())
        m_figures.Fail("%ju tasks threw and %ju were reported", m_graph->Thrown(), m_threw.load());
    if (m_bytes.load() != 0) m_figures.Fail("%jd bytes were not given back", m_bytes.load());
    if (!m_helping.IsZero() || !m_lowering.IsZero())
        m_figures.Fail("a counter is not zero after the run");
    m_figures.runs.fetch_add(1);
    m_figures.tasks.fetch_add(tasks);
    m_figures.graphTasks.fetch_add(m_graph->Submitted());
    m_figures.waits.fetch_add(m_graph->Waits());
    m_batchTasks.store(0);
    m_begun.store(0);
    m_ended.store(0);
    m_threw.store(0);
}

}  // namespace soak
