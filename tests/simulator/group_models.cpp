// Models of groups of workers: each task runs only where it may, no task is lost, and no task waits
// for a group that does not have to run it.
#include "platform/memory.h"
#include "simulator/fair_support.h"
#include "simulator/models.h"
#include "weft/deferred.h"

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
        TaskOptions options = Of(AnyPriority());
        if (Random(2) != 0) options.group = m_layout.Any();
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
            for (uint32_t i = Random(3); i != 0; --i)
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
void Groups() {
    const uint32_t depth = 1 + 2 * Random(2);
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
    uint32_t round = 0;
    IndexedTasks waiters(layout.Count(), [&](TaskScheduler *scheduler, uint32_t group) {
        const TaskOptions next =
            InGroup((group + 1) % layout.Count(), static_cast<Priority>((round + group) % 3));
        if (round % 2 != 0) return AddBatchAndWait(scheduler, tasks, yields, next);
        RunBatch(scheduler, tasks, yields, next);
    });
    RunMain(options, [&](TaskScheduler *scheduler) {
        for (; round < rounds; ++round) {
            Counter counter;
            for (uint32_t group = 0; group < layout.Count(); ++group)
                scheduler->AddTask(waiters[group], &counter,
                                   InGroup(group, static_cast<Priority>(group % 3)));
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
    StartedScheduler scheduler(options);
    const auto work = [&](Tree &tree) {
        Counter counter;
        tree.Run(&scheduler, 1, &counter);
        scheduler.WaitForCounter(&counter);
    };
    RunningThread outside([&] { work(first); });
    const bool attached = Random(2) != 0 && scheduler.AttachThread() == Status::Ok;
    auto leaf = [&](TaskScheduler *running) {
        Check(running->CurrentWorker() < layout.Workers(),
              "an attached thread runs a task that names a group");
    };
    Counter counter;
    const TaskOptions named = InGroup(layout.Any());
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
    std::vector<uint32_t> low{layout.Low()};  // the groups so far, a bit each
    size_t since[6] = {};
    uint32_t done = 0;
    IndexedTasks tasks(6, [&](TaskScheduler *scheduler, uint32_t index) {
        bool may = false;
        for (size_t i = since[index]; i < low.size(); ++i)
            may = may || layout.IsIn(scheduler->CurrentWorker(), low[i]);
        Check(may, "a Low task began in groups that do not run Low tasks any more");
        if (Random(2) != 0) scheduler->Yield();
        ++done;
    });
    RunCounted(options, [&](TaskScheduler *scheduler, Counter *counter) {
        for (uint32_t i = 0; i < 6; ++i) {
            since[i] = low.size() - 1;
            scheduler->AddTask(tasks[i], counter, Of(Priority::Low));
            if (Random(2) == 0) continue;
            const uint32_t group = layout.Any(), bit = 1u << group;
            const bool runsLow = Random(2) != 0;
            low.push_back(runsLow ? low.back() | bit : low.back() & ~bit);
            scheduler->SetRunsLow(group, runsLow);
        }
    });
    Check(done == 6, "a task was lost");
}

// A scheduler with groups, and an event that measures when a task begins.
struct Fair {
    Layout layout;
    SchedulerOptions options = FairOptions(layout.Workers());
    Event event;

    Fair() { layout.ApplyTo(options); }
};

// All groups but one have endless work. A busy worker submits a task for the idle group. It must
// begin at once.
void GroupIsReserved() {
    Fair fair;
    const Layout &layout = fair.layout;
    Event &event = fair.event;
    fair.layout.RunLowIn(kAnyGroup);
    const uint32_t last = layout.Count() - 1;
    auto busy = [&](TaskScheduler *scheduler) { YieldUntil(event.over, scheduler, 20); };
    auto begins = [&](TaskScheduler *) { event.Begin(); };
    RunCounted(fair.options, [&](TaskScheduler *scheduler, Counter *counter) {
        const Priority others = AnyPriority();
        for (uint32_t i = 0; i < 2 * layout.Workers(); ++i)
            scheduler->AddTask(MakeTask(busy), counter, InGroup(i % last, others));
        Compute(200);
        event.Ask();
        scheduler->AddTask(MakeTask(begins), counter, InGroup(last, AnyPriority()));
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
    RunCounted(fair.options, [&](TaskScheduler *scheduler, Counter *counter) {
        const uint8_t last = static_cast<uint8_t>(layout.Count() - 1);
        const bool isOfLast = layout.MayRun(scheduler->CurrentWorker(), last, Priority::Normal);
        const uint8_t group = isOfLast ? uint8_t{0} : last;
        AddBatch(scheduler, 60, normal, counter, InGroup(group));
        Compute(100);
        event.Ask();
        scheduler->AddTask(MakeTask(high), counter, InGroup(group, Priority::High));
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
    auto low = [&](TaskScheduler *scheduler) { AddAndWait(scheduler, first, second); };
    RunMain(options, [&](TaskScheduler *scheduler) {
        AddBatchAndWait(scheduler, 1, low, Of(Priority::Low));
    });
    CheckSoon(event.late <= 20 * kUs, "Normal tasks waited for the worker of a Low one");
}

// A fiber of a group becomes ready on a worker that does not continue it: this worker is inactive,
// runs another task first, or runs pinned tasks in the middle of a task. All other workers sleep.
// Another worker of the group must be woken.
void ReadyInGroup() {
    enum class On : uint32_t { Busy, Inactive, Pumping };
    const On on = static_cast<On>(Random(3));
    const Layout layout(1, 2);
    SchedulerOptions options = FairOptions(layout.Workers());
    layout.ApplyTo(options);
    StartedScheduler scheduler(options);
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
    const TaskOptions there = PinnedTo(on == On::Inactive ? 2 : 1);
    auto ends = [&](TaskScheduler *running) {
        if (on == On::Inactive) return;
        running->AddTask(MakeTask(busy), &all, PinnedTo(1, Priority::High));
    };
    auto pumps = [&](TaskScheduler *running) {
        running->AddTask(MakeTask(ends), &last, there);
        running->DecrementCounter(&last);
        running->RunPinnedTasks();
    };
    scheduler.AddTask(MakeTask(waiter), &all, InGroup(1));
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
    const TaskOptions its = Random(2) != 0 ? Of(Priority::Low) : InGroup(group);
    TaskScheduler scheduler(options);
    const auto submit = [&] {
        scheduler.WaitForCounter(&waits);
        TaskOptions higher = its;
        higher.priority = Priority::Normal;
        s_pauses = Random(200);
        // The other workers may be asleep after that.
        for (uint32_t i = Random(2) * 300; i != 0; --i) weft::env::Pause();
        for (uint32_t i = 0; i < leaves; ++i) scheduler.AddTask(MakeTask(leaf), &comes, higher);
        scheduler.DecrementCounter(&comes);
    };
    HostThread outside(submit);
    RunMain(scheduler, [&](TaskScheduler *) {
        const bool isOutside = Random(2) != 0;
        scheduler.AddTask(MakeTask(waiter), nullptr, its);
        if (isOutside)
            outside.Start();
        else
            submit();
        // A task for the other group must run although this worker does not look for work.
        while (its.group != kAnyGroup && scheduler.CurrentWorker() != group && ran != leaves) {
            scheduler.Yield();
            weft::env::Pause();
        }
        scheduler.WaitForCounter(&over);
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
    const auto endless = [&](uint8_t group) {
        return [&, group](TaskScheduler *scheduler, Task again) {
            Compute(20);
            if (event.over || weft::env::Now() > event.asked + bound) return;
            scheduler->AddTask(again, nullptr, InGroup(group));
        };
    };
    Repeated unnamed(endless(kAnyGroup)), other(endless(layout.Any()));
    auto begins = [&](TaskScheduler *) { event.Begin(); };
    RunCounted(fair.options, [&](TaskScheduler *scheduler, Counter *counter) {
        event.Ask();
        for (uint32_t i = 0; i < 2 * layout.Workers(); ++i)
            AddEach(scheduler, nullptr, unnamed, other);
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
        {"groups", "tasks of several groups submit, wait for and yield to each other", Groups},
        {"groups_ring", "a task of each group waits for tasks of the next one", GroupsInARing, 3},
        {"groups_outside", "external threads submit to groups", GroupsFromOutside},
        {"groups_low", "the groups of Low tasks change", LowGroupsChange},
        {"group_reserved", "an idle group, while other groups are busy", GroupIsReserved, 3},
        {"group_high", "a High task of a group that also has Normal tasks", HighInGroup, 3},
        {"group_low_helped", "a Low task waits for Normal tasks that other groups may run, too",
         LowIsHelped},
        {"group_ready",
         "a fiber becomes ready on a worker that is busy, is inactive or runs pinned tasks",
         ReadyInGroup},
        {"group_handed", "on the last fiber, a waiter runs a task of another group's worker",
         HandedToGroup, 3},
        {"group_aging", "tasks with and without groups, among endless other tasks",
         NamedDoesNotStarve, 10},
    };
}

}  // namespace simulator
