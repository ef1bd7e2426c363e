// Models of groups of workers: each task runs only where it may, no task is lost, and no task waits
// for a group that does not have to run it.
#include "platform/memory.h"
#include "simulator/fair_support.h"
#include "simulator/models.h"
#include "weft/deferred.h"

#include <algorithm>
#include <vector>

namespace simulator {

namespace {

// The groups of a scheduler: by default two or three groups of one or two workers each, some of
// which run only tasks that name them.
class Layout {
public:
    Layout() {
        m_count = 2 + Random(2);
        for (uint32_t i = 0; i < m_count; ++i) {
            m_groups[i].workers = 1 + Random(2);
            m_groups[i].namedOnly = i != 0 && Random(3) == 0;
            m_workers += m_groups[i].workers;
            if (!m_groups[i].namedOnly) m_open |= 1u << i;
        }
        if (Random(3) == 0) m_groups[Random(m_count)].runsLow = true;
    }

    // Two groups with these numbers of workers.
    Layout(uint32_t first, uint32_t second) : m_count(2), m_workers(first + second), m_open(3) {
        m_groups[0].workers = first;
        m_groups[1].workers = second;
    }

    uint32_t Workers() const { return m_workers; }
    uint8_t Any() const { return static_cast<uint8_t>(Random(m_count)); }
    uint32_t Count() const { return m_count; }
    void ApplyTo(SchedulerOptions &options) const {
        options.groups = m_groups;
        options.groupCount = m_count;
    }
    // Only this group runs Low tasks that name none. kAnyGroup: all open groups do.
    void RunLowIn(uint32_t group) {
        for (uint32_t i = 0; i < m_count; ++i) m_groups[i].runsLow = i == group;
    }

    // Whether this worker or attached thread may run a task that names this group (or kAnyGroup).
    bool MayRun(uint32_t worker, uint8_t group, Priority priority) const {
        if (worker >= m_workers) return group == kAnyGroup;
        if (group != kAnyGroup) return GroupOf(worker) == group;
        return IsIn(worker, priority == Priority::Low ? Low() : 0);
    }
    // Whether the worker belongs to one of these groups, a bit each (0: those that are open).
    bool IsIn(uint32_t worker, uint32_t groups) const {
        return ((groups != 0 ? groups : m_open) >> GroupOf(worker) & 1) != 0;
    }
    // The groups that run Low tasks, a bit each.
    uint32_t Low() const {
        uint32_t low = 0;
        for (uint32_t i = 0; i < m_count; ++i) low |= uint32_t{m_groups[i].runsLow} << i;
        return low;
    }

private:
    uint32_t GroupOf(uint32_t worker) const {
        uint32_t group = 0;
        for (uint32_t end = m_groups[0].workers; worker >= end; end += m_groups[++group].workers) {
        }
        return group;
    }

    WorkerGroup m_groups[3];
    uint32_t m_count = 0, m_workers = 0, m_open = 0;
};

// A tree of tasks that submit tasks for other groups, wait for them and yield. Each task checks
// where it runs.
class Tree {
public:
    explicit Tree(const Layout &layout) : m_layout(layout) {}

    void Run(TaskScheduler *scheduler, uint32_t depth, Counter *counter) {
        for (uint32_t i = 1 + Random(2); i != 0; --i) Submit(scheduler, depth, kAnyGroup, counter);
    }
    bool IsDone() const { return m_done == m_nodes.size(); }

private:
    struct Node {
        Tree *tree;
        uint32_t depth;
        uint8_t named;  // by this task or the nearest ancestor that names a group
        Priority priority;
        static void Begin(TaskScheduler *scheduler, void *node) {
            const Node its = *static_cast<Node *>(node);
            its.tree->Visit(scheduler, its);
        }
    };

    void Submit(TaskScheduler *scheduler, uint32_t depth, uint8_t outer, Counter *counter) {
        TaskOptions options;
        if (Random(2) != 0) options.group = m_layout.Any();
        options.priority = static_cast<Priority>(Random(3));
        const uint8_t named = options.group != kAnyGroup ? options.group : outer;
        Node &node = m_nodes.emplace_back(Node{this, depth, named, options.priority});
        const Task task{Node::Begin, &node};
        switch (Random(4)) {
            case 0:
                return scheduler->AddTask(task, counter, options);
            case 1:
                return scheduler->AddTasks(1, &task, counter, options);
            case 2:
                AddTaskAt(*scheduler, Now(), task, counter, options);
                return;
            default:
                return scheduler->AddTasksAndWait(1, &task, options);
        }
    }

    void Visit(TaskScheduler *scheduler, const Node &its) {
        const auto check = [&] {
            Check(m_layout.MayRun(scheduler->CurrentWorker(), its.named, its.priority),
                  "a task runs on a worker of another group");
        };
        check();
        if (its.depth != 0) {
            Counter counter;
            const uint32_t children = Random(3);
            for (uint32_t i = 0; i < children; ++i)
                Submit(scheduler, its.depth - 1, its.named, &counter);
            if (Random(4) == 0) scheduler->Yield();
            check();
            scheduler->WaitForCounter(&counter);
            check();
        }
        ++m_done;
    }

    const Layout &m_layout;
    std::deque<Node> m_nodes;
    uint32_t m_done = 0;
};

// A tree of tasks with a group of their own or an inherited one. All must run.
void Groups(uint32_t depth) {
    const Layout layout;
    Tree tree(layout);
    SchedulerOptions options = Options(layout.Workers(), 32);
    layout.ApplyTo(options);
    RunMain(options, [&](TaskScheduler *scheduler) {
        Counter counter;
        tree.Run(scheduler, depth, &counter);
        scheduler->WaitForCounter(&counter);
        // Some tasks have no counter for which anybody waits.
        scheduler->WaitIdle();
    });
    Check(tree.IsDone(), "a task was lost");
}

// A task of each group waits for tasks of the next group. The priorities are mixed and there is
// hardly a spare fiber. All tasks must run.
void GroupsInARing() {
    const Layout layout;
    SchedulerOptions options = Options(layout.Workers(), layout.Workers() + 3);
    layout.ApplyTo(options);
    uint32_t ran = 0;
    const uint32_t rounds = 1 + Random(3), tasks = 1 + Random(6);
    auto yields = [&](TaskScheduler *scheduler) {
        if (Random(6) == 0) scheduler->Yield();
        ++ran;
    };
    const std::vector<Task> next(tasks, MakeTask(yields));
    struct Waiter {
        const std::vector<Task> &next;
        TaskOptions its;
        bool fused;
        static void Run(TaskScheduler *scheduler, void *waiter) {
            const auto &[next, its, fused] = *static_cast<Waiter *>(waiter);
            const auto count = static_cast<uint32_t>(next.size());
            if (fused) return scheduler->AddTasksAndWait(count, next.data(), its);
            Counter counter;
            scheduler->AddTasks(count, next.data(), &counter, its);
            scheduler->WaitForCounter(&counter);
        }
    };
    RunMain(options, [&](TaskScheduler *scheduler) {
        for (uint32_t round = 0; round < rounds; ++round) {
            std::deque<Waiter> waiters;
            Counter counter;
            for (uint32_t group = 0; group < layout.Count(); ++group) {
                TaskOptions its;
                its.group = static_cast<uint8_t>((group + 1) % layout.Count());
                its.priority = static_cast<Priority>((round + group) % 3);
                waiters.push_back({next, its, round % 2 != 0});
                its.group = static_cast<uint8_t>(group);
                its.priority = static_cast<Priority>(group % 3);
                scheduler->AddTask({Waiter::Run, &waiters.back()}, &counter, its);
            }
            scheduler->WaitForCounter(&counter);
        }
    });
    Check(ran == rounds * layout.Count() * tasks, "a task was lost");
}

// External threads and an attached thread submit tasks for groups and wait. An attached thread must
// not run a task that names a group.
void GroupsFromOutside() {
    const Layout layout;
    Tree first(layout), second(layout);
    SchedulerOptions options = Options(layout.Workers(), 32);
    layout.ApplyTo(options);
    TaskScheduler scheduler(options);
    Check(scheduler.Start() == Status::Ok, "Start failed");
    const auto work = [&](Tree &tree) {
        Counter counter;
        tree.Run(&scheduler, 1, &counter);
        scheduler.WaitForCounter(&counter);
    };
    HostThread outside([&] { work(first); });
    outside.Start();
    const bool attached = Random(2) != 0 && scheduler.AttachThread() == Status::Ok;
    auto leaf = [&](TaskScheduler *running) {
        Check(running->CurrentWorker() < layout.Workers(),
              "an attached thread runs a task that names a group");
    };
    Counter counter;
    TaskOptions named;
    named.group = layout.Any();
    for (uint32_t i = 0; i < 3; ++i) scheduler.AddTask(MakeTask(leaf), &counter, named);
    scheduler.WaitForCounter(&counter);
    if (attached) scheduler.DetachThread();
    work(second);
    outside.Join();
    scheduler.Stop();
    Check(first.IsDone() && second.IsDone(), "a task was lost");
}

// SetRunsLow changes the groups of Low tasks while such tasks are queued. No task may be lost. A
// task begins only in groups that run Low tasks when it is submitted, or later.
void LowGroupsChange() {
    const Layout layout;
    SchedulerOptions options = FairOptions(layout.Workers());
    layout.ApplyTo(options);
    struct Shared {
        const Layout &layout;
        std::vector<uint32_t> low;  // the groups so far, a bit each
        uint32_t done = 0;
    } shared{layout, {layout.Low()}};
    struct LowTask {
        Shared *shared;
        size_t since;
        static void Run(TaskScheduler *scheduler, void *arg) {
            const LowTask its = *static_cast<LowTask *>(arg);
            Shared &shared = *its.shared;
            bool may = false;
            for (size_t i = its.since; i < shared.low.size(); ++i)
                may = may || shared.layout.IsIn(scheduler->CurrentWorker(), shared.low[i]);
            Check(may, "a Low task began in groups that do not run Low tasks any more");
            if (Random(2) != 0) scheduler->Yield();
            ++shared.done;
        }
    };
    std::vector<LowTask> tasks(6);
    RunMain(options, [&](TaskScheduler *scheduler) {
        Counter counter;
        for (LowTask &task : tasks) {
            task = {&shared, shared.low.size() - 1};
            scheduler->AddTask({LowTask::Run, &task}, &counter, Of(Priority::Low));
            if (Random(2) == 0) continue;
            const uint32_t group = layout.Any(), bit = 1u << group, low = shared.low.back();
            const bool runsLow = Random(2) != 0;
            shared.low.push_back(runsLow ? low | bit : low & ~bit);
            scheduler->SetRunsLow(group, runsLow);
        }
        scheduler->WaitForCounter(&counter);
    });
    Check(shared.done == 6, "a task was lost");
}

// A scheduler with groups, and an event that measures when a task begins.
struct Fair {
    Layout layout;
    SchedulerOptions options = FairOptions(layout.Workers());
    Event event;
    Counters counters;

    Fair() { layout.ApplyTo(options); }
    // Runs `main`, and waits for the tasks that it submits with the counter.
    template <class Main>
    void Run(Main main) {
        RunMain(options, [&](TaskScheduler *scheduler) {
            Counter *counter = counters.New();
            main(scheduler, counter);
            scheduler->WaitForCounter(counter);
            Counters::Kill(counter);
        });
    }
};

// All groups but one have endless work. A busy worker submits a task for the idle group. It must
// begin at once.
void GroupIsReserved() {
    Fair fair;
    const Layout &layout = fair.layout;
    Event &event = fair.event;
    fair.layout.RunLowIn(kAnyGroup);
    const uint32_t last = layout.Count() - 1;
    struct Busy {
        const bool *over;
        static void Run(TaskScheduler *scheduler, void *busy) {
            const auto &its = *static_cast<Busy *>(busy);
            while (!*its.over) {
                Compute(20);
                scheduler->Yield();
            }
        }
    } busy{&event.over};
    auto begins = [&](TaskScheduler *) { event.Begin(); };
    fair.Run([&](TaskScheduler *scheduler, Counter *counter) {
        TaskOptions others = Of(static_cast<Priority>(Random(3)));
        for (uint32_t i = 0; i < 2 * layout.Workers(); ++i) {
            others.group = static_cast<uint8_t>(i % last);
            scheduler->AddTask({Busy::Run, &busy}, counter, others);
        }
        Compute(200);
        TaskOptions its = Of(static_cast<Priority>(Random(3)));
        its.group = static_cast<uint8_t>(last);
        event.Ask();
        scheduler->AddTask(MakeTask(begins), counter, its);
    });
    CheckSoon(event.late <= 20 * kUs, "a task waited although its group was idle");
}

// The workers of a group have Normal work. A High task for this group, perhaps from a worker of
// another group, must begin before the remaining Normal tasks.
void HighInGroup() {
    Fair fair;
    const Layout &layout = fair.layout;
    Event &event = fair.event;
    auto normal = [&](TaskScheduler *) { Compute(20); };
    auto high = [&](TaskScheduler *) { event.Begin(); };
    fair.Run([&](TaskScheduler *scheduler, Counter *counter) {
        TaskOptions its = Of(Priority::Normal);
        const uint8_t last = static_cast<uint8_t>(layout.Count() - 1);
        const bool isOfLast = layout.MayRun(scheduler->CurrentWorker(), last, Priority::Normal);
        its.group = isOfLast ? uint8_t{0} : last;
        const std::vector<Task> tasks(60, MakeTask(normal));
        scheduler->AddTasks(60, tasks.data(), counter, its);
        Compute(100);
        its.priority = Priority::High;
        event.Ask();
        scheduler->AddTask(MakeTask(high), counter, its);
        Compute(100);  // this worker does not run the High task
    });
    CheckSoon(event.late <= (20 + 10) * kUs + kThiefRests,
              "a High task waited for Normal ones of its group");
}

// A Low task, which only one group may run, waits for Normal tasks. The worker of the other group
// must take its share of them at once.
void LowIsHelped() {
    Layout layout(1, 1);
    layout.RunLowIn(0);
    SchedulerOptions options = FairOptions(layout.Workers());
    layout.ApplyTo(options);
    Event event;
    auto first = [&](TaskScheduler *) {
        event.Ask();
        Compute(200);
    };
    auto second = [&](TaskScheduler *) { event.Begin(); };
    auto low = [&](TaskScheduler *scheduler) {
        const Task tasks[] = {MakeTask(first), MakeTask(second)};
        scheduler->AddTasksAndWait(2, tasks);
    };
    RunMain(options, [&](TaskScheduler *scheduler) {
        const Task task = MakeTask(low);
        scheduler->AddTasksAndWait(1, &task, Of(Priority::Low));
    });
    CheckSoon(event.late <= 20 * kUs, "Normal tasks waited for the worker of a Low one");
}

// A fiber of a group becomes ready on a worker that does not continue it: this worker is inactive,
// runs another task first, or runs pinned tasks in the middle of a task. All other workers sleep.
// Another worker of the group must be woken.
enum class On { Busy, Inactive, Pumping };
void ReadyInGroup(On on) {
    const Layout layout(1, 2);
    SchedulerOptions options = FairOptions(layout.Workers());
    layout.ApplyTo(options);
    TaskScheduler scheduler(options);
    Check(scheduler.Start() == Status::Ok, "Start failed");
    // The first worker of each other group stays active, too.
    if (on == On::Inactive) scheduler.SetActiveWorkers(1);
    Event event;
    Counter last(1), all;
    bool waits = false;
    auto waiter = [&](TaskScheduler *running) {
        waits = true;
        running->WaitForCounter(&last);
        event.Begin();
    };
    auto busy = [&](TaskScheduler *) {
        for (uint32_t i = 0; i < 100 && !event.over; ++i) Compute(1);
    };
    TaskOptions there = Of(Priority::Normal), high = Of(Priority::High);
    there.worker = on == On::Inactive ? 2 : 1;
    high.worker = 1;
    auto ends = [&](TaskScheduler *running) {
        if (on != On::Inactive) running->AddTask(MakeTask(busy), &all, high);
    };
    auto pumps = [&](TaskScheduler *running) {
        running->AddTask(MakeTask(ends), &last, there);
        running->DecrementCounter(&last);
        running->RunPinnedTasks();
    };
    TaskOptions its = Of(Priority::Normal);
    its.group = 1;
    scheduler.AddTask(MakeTask(waiter), &all, its);
    while (!waits) weft::env::Pause();
    for (uint32_t i = 0; i < 600; ++i) weft::env::Pause();  // the workers fall asleep
    event.Ask();
    if (on == On::Pumping) {
        scheduler.AddTask(MakeTask(pumps), &all, there);
    } else {
        scheduler.AddTask(MakeTask(ends), &last, there);
        scheduler.DecrementCounter(&last);
    }
    scheduler.WaitForCounter(&all);
    scheduler.Stop();
    CheckSoon(event.late <= 20 * kUs, "a ready fiber waited although a worker of its group slept");
}

// There are two fibers. One belongs to the main task, the other one to a task that waits. The tasks
// for which it waits are submitted later, perhaps by a worker of another group, while the main task
// waits for something else. They must run on the stack of the waiter, and the waiter must resume in
// its group.
void HandedToGroup() {
    Layout layout(1, 1);
    const uint8_t group = layout.Any();  // also the index of this group's only worker
    layout.RunLowIn(group);
    SchedulerOptions options = Options(layout.Workers(), 1);
    layout.ApplyTo(options);
    // A worker allocates its queues for a group when it gets the first task of this group. The
    // pauses make this take long.
    static uint32_t s_pauses;
    s_pauses = 0;
    options.memory.allocate = [](size_t bytes, size_t alignment, void *) -> void * {
        for (uint32_t i = 0; i < s_pauses; ++i) weft::env::Pause();
        return weft::internal::Memory().AllocateZeroed(bytes, alignment);
    };
    options.memory.release = [](void *memory, size_t bytes, size_t alignment, void *) {
        weft::internal::Memory().Free(memory, bytes, alignment);
    };
    Counter waits(1), comes(1), over(1);
    const uint32_t leaves = 1 + Random(3);
    uint32_t ran = 0;
    auto leaf = [&](TaskScheduler *) { ++ran; };
    auto waiter = [&](TaskScheduler *scheduler) {
        scheduler->DecrementCounter(&waits);
        scheduler->WaitForCounter(&comes);
        Check(scheduler->CurrentWorker() == group, "a task runs on a worker of another group");
        scheduler->DecrementCounter(&over);
    };
    TaskOptions its;
    if (Random(2) != 0)
        its.priority = Priority::Low;
    else
        its.group = group;
    TaskScheduler *running = nullptr;
    const auto submit = [&] {
        running->WaitForCounter(&waits);
        TaskOptions higher = its;
        higher.priority = Priority::Normal;
        s_pauses = Random(200);
        // The other workers may be asleep after that.
        for (uint32_t i = Random(2) * 300; i != 0; --i) weft::env::Pause();
        for (uint32_t i = 0; i < leaves; ++i) running->AddTask(MakeTask(leaf), &comes, higher);
        running->DecrementCounter(&comes);
    };
    HostThread outside(submit);
    RunMain(options, [&](TaskScheduler *scheduler) {
        running = scheduler;
        const bool isOutside = Random(2) != 0;
        scheduler->AddTask(MakeTask(waiter), nullptr, its);
        if (isOutside)
            outside.Start();
        else
            submit();
        // A task for the other group must run although this worker does not look for work.
        while (its.group != kAnyGroup && scheduler->CurrentWorker() != group && ran != leaves) {
            scheduler->Yield();
            weft::env::Pause();
        }
        scheduler->WaitForCounter(&over);
        if (isOutside) outside.Join();
    });
    Check(ran == leaves, "a task was lost");
}

// Tasks of no group, and tasks of some groups, keep all workers busy. A further task, mostly one
// that names a group, must begin within 10 ms, or 100 ms if it is Low.
void NamedDoesNotStarve() {
    Fair fair;
    const Layout &layout = fair.layout;
    Event &event = fair.event;
    const uint8_t named = layout.Any();
    const Priority priority = Random(2) != 0 ? Priority::Normal : Priority::Low;
    const uint64_t bound = (priority == Priority::Low ? 100'000 : 10'000) * kUs + 40 * kUs;
    struct Endless {
        const Event *event;
        uint64_t bound;
        uint8_t group;
        bool IsOver() const { return event->over || weft::env::Now() > event->asked + bound; }
        static void Run(TaskScheduler *scheduler, void *endless) {
            const auto &its = *static_cast<Endless *>(endless);
            Compute(20);
            TaskOptions again;
            again.group = its.group;
            if (!its.IsOver()) scheduler->AddTask({Run, endless}, nullptr, again);
        }
    };
    Endless unnamed{&event, bound, kAnyGroup}, other{&event, bound, layout.Any()};
    auto begins = [&](TaskScheduler *) { event.Begin(); };
    fair.Run([&](TaskScheduler *scheduler, Counter *counter) {
        event.Ask();
        for (uint32_t i = 0; i < 2 * layout.Workers(); ++i) {
            scheduler->AddTask({Endless::Run, &unnamed});
            scheduler->AddTask({Endless::Run, &other});
        }
        Compute(100);
        TaskOptions its = Of(priority);
        if (Random(3) != 0) its.group = named;
        event.Ask();
        scheduler->AddTask(MakeTask(begins), counter, its);
    });
    // The task is late after 1 ms. Then up to 12 tasks of 20 us begin before it, because a late
    // queue gets a sixth of the time, or less beside other late queues.
    CheckSoon(event.late <= bound, "a task starved");
}

}  // namespace

std::vector<Model> GroupModels() {
    return {
        {"groups", "tasks of several groups submit, wait for and yield to each other",
         [] { Groups(1); }},
        {"groups_deep", "the same, deeper", [] { Groups(3); }, 3},
        {"groups_ring", "a task of each group waits for tasks of the next one", GroupsInARing, 3},
        {"groups_outside", "external threads submit to groups", GroupsFromOutside},
        {"groups_low", "the groups of Low tasks change", LowGroupsChange},
        {"group_reserved", "an idle group, while other groups are busy", GroupIsReserved, 3},
        {"group_high", "a High task of a group that also has Normal tasks", HighInGroup, 3},
        {"group_low_helped", "a Low task waits for Normal tasks that other groups may run, too",
         LowIsHelped},
        {"group_ready", "a fiber becomes ready on a worker that begins another task",
         [] { ReadyInGroup(On::Busy); }},
        {"group_ready_inactive", "the same on an inactive worker",
         [] { ReadyInGroup(On::Inactive); }},
        {"group_ready_pumping", "the same in RunPinnedTasks", [] { ReadyInGroup(On::Pumping); }},
        {"group_handed", "on the last fiber, a waiter runs a task of another group's worker",
         HandedToGroup, 3},
        {"group_aging", "tasks with and without groups, among endless other tasks",
         NamedDoesNotStarve, 10},
    };
}

}  // namespace simulator
