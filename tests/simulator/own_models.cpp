// Models of waits with Meanwhile::OwnTasks, whose thread runs only what the wait depends on.
#include "simulator/fair_support.h"
#include "simulator/models.h"
#include "support/low_groups.h"
#include "weft/deferred.h"
#include "weft/external_work.h"
#include "weft/time.h"

#include <chrono>
#include <deque>
#include <vector>

namespace simulator {

namespace {

// Options of a tree: what its tasks do besides submitting children and waiting for them.
struct Forms {
    bool allOwn = false;    // every wait uses OwnTasks
    bool rootOwn = false;   // only the root's wait uses OwnTasks
    bool pinned = false;    // some tasks are pinned
    bool deferred = false;  // some children follow another task (AddTaskAfter)
    bool timed = false;     // some waits have a deadline, far away
    bool values = false;    // some tasks wait for the value 1 before they wait for 0
    bool batches = false;   // some children follow two other tasks (AddTasksAfter)
    bool limited = false;   // only one worker runs Low tasks
    uint32_t priorities = 1;
    // Each task with children also submits up to so many tasks for which no task of the tree waits.
    uint32_t strangers = 2;
    uint32_t height = 2;
};

// Draws how many of the waits use OwnTasks, and one other form, or nearly all of them.
Forms AnyForms() {
    const uint32_t which = Random(9);
    if (which == 0) return {false, true, true, true, true, true, false, true, 3, 1};
    Forms forms;
    // With two restricted waits, each could need a task that is pinned to the other worker.
    forms.pinned = which == 1;
    forms.limited = which == 2;
    forms.rootOwn = which <= 2;
    forms.allOwn = which > 2 && Random(2) != 0;
    forms.deferred = which == 3;
    forms.batches = which == 4;
    forms.timed = which == 5;
    forms.values = which == 6;
    forms.priorities = which == 2 || which == 7 ? 3 : 1;
    forms.height = which == 8 && forms.allOwn ? 3 : 2;
    return forms;
}

class Tree;

// A sleeping waiter looks for new tasks of its scope this often.
constexpr uint64_t kLooksEach = 1000 * kUs;

struct Node {
    Tree *tree;
    Node *parent;  // the node whose wait depends on this one, or null
    uint32_t height;
    Node *scope = nullptr;  // of a node without a parent: the node that may wait for it, or null
};

class Tree {
public:
    explicit Tree(const Forms &forms, uint32_t workers) : m_forms(forms), m_waits(workers) {}

    void RunRoot(TaskScheduler *scheduler, uint32_t height) {
        Run(scheduler, NewNode(nullptr, height), true);
    }
    void AwaitStrangers(TaskScheduler *scheduler) {
        WaitAndKill(scheduler, m_strange);
        Check(m_done == m_submitted, "a task was lost");
    }

private:
    Node *NewNode(Node *parent, uint32_t height) {
        return &m_nodes.emplace_back(Node{this, parent, height});
    }

    Node *NewStranger(Node *submitter) {
        Node *const node = NewNode(nullptr, 0);
        node->scope = submitter;
        return node;
    }

    // Fails unless the innermost wait with OwnTasks on this worker, if there is one, depends on the
    // node or belongs to it.
    void Look(TaskScheduler *scheduler, const Node *node) const {
        const std::vector<const Node *> &waits = m_waits[scheduler->CurrentWorker()];
        if (waits.empty()) return;
        for (const Node *each = node; each != nullptr;
             each = each->parent != nullptr ? each->parent : each->scope) {
            if (each == waits.back()) return;
        }
        Fail("a wait with OwnTasks runs a task that it does not depend on");
    }

    void Wait(TaskScheduler *scheduler, Node *node, Counter *counter, uint32_t value, bool own) {
        const uint32_t worker = scheduler->CurrentWorker();
        if (own) m_waits[worker].push_back(node);
        const Meanwhile meanwhile = own ? Meanwhile::OwnTasks : Meanwhile::AnyTask;
        if (m_forms.timed && Random(2) == 0) {
            Check(WaitForCounterFor(*scheduler, counter, std::chrono::hours(1), meanwhile, value),
                  "a deadline came too early");
        } else {
            scheduler->WaitForCounter(counter, meanwhile, value);
        }
        if (!own) return Look(scheduler, node);
        Check(scheduler->CurrentWorker() == worker, "the wait ended on another worker");
        Check(m_waits[worker].back() == node, "an outer wait ended first");
        m_waits[worker].pop_back();
    }

    static void Main(TaskScheduler *scheduler, void *arg) {
        Node *node = static_cast<Node *>(arg);
        node->tree->Run(scheduler, node, node->tree->WaitsOwn());
    }

    bool WaitsOwn() const { return m_forms.allOwn || (!m_forms.rootOwn && Random(2) == 0); }

    TaskOptions SomeOptions() const {
        TaskOptions options;
        options.priority = static_cast<Priority>((1 + Random(m_forms.priorities)) % 3);
        if (m_forms.pinned && Random(3) == 0)
            options.worker = Random(static_cast<uint32_t>(m_waits.size()));
        return options;
    }

    void Submit(TaskScheduler *scheduler, Node *child, Counter *counter) {
        ++m_submitted;
        scheduler->AddTask({Main, child}, counter, SomeOptions());
    }

    // The wait for `counter` then depends on the tasks of two other counters.
    void SubmitAfterTwo(TaskScheduler *scheduler, Node *node, Counter *counter) {
        Counter *after[2] = {m_counters.New(), m_counters.New()};
        for (Counter *each : after) Submit(scheduler, NewNode(node, node->height - 1), each);
        const CounterTarget targets[2] = {{after[0]}, {after[1]}};
        const Task tasks[2] = {{Main, NewNode(node, 0)}, {Main, NewNode(node, 0)}};
        m_submitted += 2;
        Check(AddTasksAfter(*scheduler, 2, targets, 2, tasks, counter), "AddTasksAfter failed");
    }

    void Run(TaskScheduler *scheduler, Node *node, bool own) {
        Look(scheduler, node);
        if (Random(4) == 0) {
            scheduler->Yield();
            Look(scheduler, node);
        }
        if (node->height != 0) {
            Counter *counter = m_counters.New();
            for (uint32_t i = 1 + Random(2); i != 0; --i)
                Submit(scheduler, NewNode(node, node->height - 1), counter);
            if (m_forms.deferred && Random(2) == 0) {
                Counter *after = m_counters.New();
                Submit(scheduler, NewNode(node, node->height - 1), after);
                ++m_submitted;
                Check(AddTaskAfter(*scheduler, after, 0, {Main, NewNode(node, 0)}, counter),
                      "AddTaskAfter failed");
            }
            if (m_forms.batches && Random(2) == 0) SubmitAfterTwo(scheduler, node, counter);
            for (uint32_t i = Random(m_forms.strangers + 1); i != 0; --i)
                Submit(scheduler, NewStranger(node), m_strange);
            if (m_forms.values && Random(2) == 0) Wait(scheduler, node, counter, 1, own);
            Wait(scheduler, node, counter, 0, own);
            Counters::Kill(counter);
        }
        if (node->parent != nullptr || node->height == 0) ++m_done;
    }

    const Forms m_forms;
    std::vector<std::vector<const Node *>>
        m_waits;  // for each worker, the nodes that wait with OwnTasks, the innermost last
    std::deque<Node> m_nodes;
    Counters m_counters;
    Counter *m_strange = m_counters.New();
    uint32_t m_submitted = 0;
    uint32_t m_done = 0;
};

void OwnTree() {
    const Forms forms = AnyForms();
    const uint32_t workers = 1 + Random(3);
    Tree tree(forms, workers);
    SchedulerOptions options = Options(workers, 41);
    if (forms.limited) test::LimitLow(options, 1);
    RunMain(options, [&](TaskScheduler *scheduler) {
        tree.RunRoot(scheduler, forms.height);
        tree.AwaitStrangers(scheduler);
    });
}

// Two workers wait with OwnTasks. What the first wait needs comes late, to the queues of the second
// worker, whose own wait does not depend on it. It is a task of the first wait's counter, a task
// that a deferred task of this counter follows, or a fiber that becomes ready. The first worker
// must be woken for it. Otherwise the model ends in a deadlock.
void OwnNeedsComeLate() {
    Counters counters;
    Counter *const own = counters.New(1), *const others = counters.New(),
                   *const gate = counters.New(1);
    Counter *const before = counters.New(), *const ready = counters.New(1);
    const uint32_t form = Random(3);
    uint32_t done = 0;
    auto last = [&](TaskScheduler *scheduler) {
        ++done;
        scheduler->DecrementCounter(gate);
        scheduler->DecrementCounter(own);
    };
    auto first = [&](TaskScheduler *) { ++done; };
    auto isReady = [&](TaskScheduler *scheduler) {
        scheduler->WaitForCounter(ready);
        last(scheduler);
    };
    auto holds = [&](TaskScheduler *scheduler) {
        scheduler->WaitForCounter(gate);
        ++done;
    };
    auto submits = [&](TaskScheduler *scheduler) {
        if (form == 0) {
            scheduler->AddTask(MakeTask(last), own);
        } else if (form == 1) {
            scheduler->AddTask(MakeTask(first), before);
            Dawdle(400);
            Check(AddTaskAfter(*scheduler, before, 0, MakeTask(last), own), "AddTaskAfter failed");
        } else {
            scheduler->DecrementCounter(ready);
        }
        ++done;
    };
    auto other = [&](TaskScheduler *scheduler) {
        Counter *counter = counters.New();
        AddEach(scheduler, counter, submits, holds);
        scheduler->WaitForCounter(counter, Meanwhile::OwnTasks);
        Counters::Kill(counter);
        ++done;
    };
    RunMain(Options(2, 13), [&](TaskScheduler *scheduler) {
        if (form == 2) scheduler->AddTask(MakeTask(isReady), own);
        scheduler->AddTask(MakeTask(other), others);
        scheduler->WaitForCounter(own, Meanwhile::OwnTasks);
        scheduler->WaitForCounter(others);
    });
    Check(done == (form == 1 ? 5u : 4u), "a task was lost");
}

// One or two workers wait with OwnTasks. The tasks that they need are in another worker's queue,
// among tasks that they do not need. Then that worker waits with Nothing or HighOnly. So each
// worker is restricted now, and the waiting workers must find their tasks themselves.
void OwnNeedsAreBuried() {
    Counters counters;
    Counter *const gate = counters.New(2), *const others = counters.New();
    Counter *const own[2] = {counters.New(), counters.New()};
    Counter *const inner[2] = {counters.New(1), counters.New(1)};
    const uint32_t workers = 2 + Random(2), count = workers - 1;
    const Meanwhile meanwhile = Random(2) != 0 ? Meanwhile::Nothing : Meanwhile::HighOnly;
    uint32_t done = 0;
    auto leaf = [&](TaskScheduler *) { ++done; };
    IndexedTasks needs(count, [&](TaskScheduler *scheduler, uint32_t side) {
        scheduler->WaitForCounter(inner[side]);
        ++done;
    });
    IndexedTasks waits(count, [&](TaskScheduler *scheduler, uint32_t side) {
        scheduler->AddTask(needs[side], own[side]);
        scheduler->WaitForCounter(own[side], Meanwhile::OwnTasks);
        ++done;
        scheduler->DecrementCounter(gate);
    });
    RunMain(Options(workers, 13), [&](TaskScheduler *scheduler) {
        for (uint32_t i = 0; i < count; ++i) scheduler->AddTask(waits[i], others);
        for (uint32_t i = 0; i < 6; ++i) scheduler->Yield();
        for (uint32_t i = 0; i < count; ++i) {
            scheduler->AddTask(MakeTask(leaf), inner[i]);
            scheduler->DecrementCounter(inner[i]);
            scheduler->AddTask(MakeTask(leaf), others);
        }
        if (count == 1) scheduler->DecrementCounter(gate);
        scheduler->WaitForCounter(gate, meanwhile);
        scheduler->WaitForCounter(others);
    });
    Check(done == 4 * count, "a task was lost");
}

// Two tasks wait for the same counter, only the first one with OwnTasks. The second one runs a task
// of this counter on its own stack. That task waits for a leaf in the queue of a worker that waits
// with OwnTasks for something else. The first worker must run the leaf.
void OwnSharesCounter() {
    Counters counters;
    Counter *const shared = counters.New(1), *const others = counters.New(),
                   *const gate = counters.New(1);
    uint32_t done = 0;
    auto leaf = [&](TaskScheduler *scheduler) {
        ++done;
        scheduler->DecrementCounter(gate);
    };
    auto holds = [&](TaskScheduler *scheduler) {
        scheduler->WaitForCounter(gate);
        ++done;
    };
    auto other = [&](TaskScheduler *scheduler) {
        Counter *counter = counters.New();
        scheduler->AddTask(MakeTask(holds), counter);
        scheduler->WaitForCounter(counter, Meanwhile::OwnTasks);
        Counters::Kill(counter);
        ++done;
    };
    auto child = [&](TaskScheduler *scheduler) {
        Counter *counter = counters.New();
        scheduler->AddTask(MakeTask(leaf), counter);
        scheduler->AddTask(MakeTask(other), others);
        WaitAndKill(scheduler, counter);
        ++done;
    };
    auto shares = [&](TaskScheduler *scheduler) {
        scheduler->AddTask(MakeTask(child), shared);
        scheduler->DecrementCounter(shared);
        scheduler->WaitForCounter(shared);
        ++done;
    };
    RunMain(Options(2, 13), [&](TaskScheduler *scheduler) {
        scheduler->AddTask(MakeTask(shares), others);
        scheduler->WaitForCounter(shared, Meanwhile::OwnTasks);
        scheduler->WaitForCounter(others);
    });
    Check(done == 5, "a task was lost");
}

// What a wait with OwnTasks needs lies behind a task that cannot end before the wait does, as if it
// wanted a lock that the waiter holds. The worker of that task is not restricted, but it does not
// come back to its queue. So the waiting worker must find its task soon.
void OwnNeedsNobodyElse() {
    CountNanoseconds();
    Counters counters;
    Counter *const own = counters.New(), *const others = counters.New();
    SchedulerOptions options = Options(2, 13);
    options.idle = IdlePolicy::Sleep;
    uint32_t done = 0;
    bool isOver = false;
    uint64_t asked = 0, late = 0;
    auto leaf = [&](TaskScheduler *) {
        late = weft::env::Now() - asked;
        ++done;
    };
    auto locks = [&](TaskScheduler *) {
        while (!isOver) Compute(100);
        ++done;
    };
    auto child = [&](TaskScheduler *scheduler) {
        Compute(Random(20000));
        Counter *counter = counters.New();
        scheduler->AddTask(MakeTask(leaf), counter);
        scheduler->AddTask(MakeTask(locks), others);
        asked = weft::env::Now();
        WaitAndKill(scheduler, counter);
        ++done;
    };
    RunMain(options, [&](TaskScheduler *scheduler) {
        scheduler->AddTask(MakeTask(child), own);
        Compute(100);  // another worker takes it
        scheduler->WaitForCounter(own, Meanwhile::OwnTasks);
        Counters::Kill(own);
        isOver = true;
        WaitAndKill(scheduler, others);
    });
    Check(done == 3, "a task was lost");
    Check(weak::g_orders != nullptr || late <= 2'100'000,
          "a worker searched too late for tasks that its wait needs");
}

// Two tasks wait for each other's counter to be nearly at zero, so their waits form a circle.
// Workers follow these waits to find out whether they need what is pinned to them. They must not do
// this without end.
void OwnClimbsInCircles() {
    Counters counters;
    Counter *const sides[2] = {counters.New(1), counters.New(1)}, *const gate = counters.New(2),
                   *const awaited = counters.New(1);
    uint32_t done = 0;
    auto leaf = [&](TaskScheduler *) { ++done; };
    IndexedTasks waits(2, [&](TaskScheduler *scheduler, uint32_t side) {
        scheduler->WaitForCounter(sides[1 - side], 1);
        ++done;
    });
    // Something is pinned to this worker that its wait does not need.
    IndexedTasks follows(2, [&](TaskScheduler *scheduler, uint32_t side) {
        scheduler->AddTask(MakeTask(leaf), sides[side], PinnedTo(1 + side));
        scheduler->WaitForCounter(awaited, Meanwhile::OwnTasks);
        scheduler->DecrementCounter(sides[side]);
        scheduler->DecrementCounter(gate);
    });
    RunMain(Options(3, 13), [&](TaskScheduler *scheduler) {
        for (uint32_t i = 0; i < 2; ++i) scheduler->AddTask(waits[i], sides[i]);
        for (uint32_t turns = Random(8); turns != 0; --turns) scheduler->Yield();
        for (uint32_t i = 0; i < 2; ++i) scheduler->AddTask(follows[i], nullptr, PinnedTo(1 + i));
        Compute(Random(1000));
        scheduler->DecrementCounter(awaited);
        scheduler->WaitForCounter(gate);
        for (Counter *each : sides) scheduler->WaitForCounter(each);
    });
    Check(done == 4, "a task was lost");
}

// A pinned task waits with OwnTasks inside RunPinnedTasks of an attached thread. Until this wait is
// over, the thread must neither return to the host nor run other tasks.
void OwnKeepsHost() {
    Counters counters;
    uint32_t done = 0;
    bool isWaiting = false;
    StartedScheduler scheduler(Options(1 + Random(2), 9));
    const bool isChildPinned = Random(2) != 0;
    RunningThread attached([&] {
        Check(scheduler.AttachThread() == Status::Ok, "AttachThread failed");
        const uint32_t own = scheduler.CurrentWorker();
        const TaskOptions here = PinnedTo(own);
        const auto look = [&](TaskScheduler *running) {
            Check(!isWaiting || running->CurrentWorker() != own,
                  "a wait with OwnTasks runs a task that it does not need");
        };
        auto stranger = [&](TaskScheduler *running) {
            look(running);
            ++done;
        };
        auto yields = [&](TaskScheduler *running) {
            look(running);
            running->Yield();
            look(running);
            ++done;
        };
        auto child = [&](TaskScheduler *) { ++done; };
        auto waits = [&](TaskScheduler *running) {
            look(running);
            Counter *counter = counters.New();
            running->AddTask(MakeTask(child), counter, isChildPinned ? here : TaskOptions{});
            if (Random(2) != 0)
                running->AddTask(MakeTask(stranger), nullptr, here);
            else
                ++done;
            isWaiting = true;
            running->WaitForCounter(counter, Meanwhile::OwnTasks);
            isWaiting = false;
            Counters::Kill(counter);
            ++done;
        };
        scheduler.AddTask(MakeTask(yields), nullptr, here);
        scheduler.AddTask(MakeTask(waits), nullptr, here);
        while (done < 4) {
            scheduler.RunPinnedTasks();
            Check(!isWaiting,
                  "RunPinnedTasks returned although the thread still waits with OwnTasks");
        }
        scheduler.DetachThread();
    });
    attached.Join();
    scheduler.Stop();
    Check(done == 4, "a task was lost");
}

// No fiber is free for the task that a restricted wait needs, but the task fits on the stack of the
// waiter. The other worker blocks until this task has run. So it must run inline.
void OwnHasRoom() {
    Counters counters;
    Counter *const own = counters.New(1), *const others = counters.New(),
                   *const gate = counters.New(1);
    const Meanwhile meanwhile = Random(2) != 0 ? Meanwhile::OwnTasks : Meanwhile::HighOnly;
    uint32_t done = 0;
    auto leaf = [&](TaskScheduler *scheduler) {
        ++done;
        scheduler->DecrementCounter(gate);
    };
    auto blocks = [&](TaskScheduler *scheduler) {
        scheduler->AddTask(MakeTask(leaf), own, Of(Priority::High));
        scheduler->DecrementCounter(own);
        scheduler->WaitForCounter(gate, Meanwhile::Nothing);
        ++done;
    };
    RunMain(Options(2, 2), [&](TaskScheduler *scheduler) {
        scheduler->SetPriority(Priority::High);
        scheduler->AddTask(MakeTask(blocks), others);
        scheduler->WaitForCounter(own, meanwhile);
        scheduler->WaitForCounter(others);
    });
    Check(done == 2, "a task was lost");
}

// A worker sleeps in a wait with OwnTasks. A task on the other worker submits a task of the awaited
// counter, and computes on. The other worker is open, but busy: the sleeper must run the new task.
void OwnIsWoken() {
    Counters counters;
    Counter *const own = counters.New();
    Event event;
    auto part = [&](TaskScheduler *) { event.Begin(); };
    auto submits = [&](TaskScheduler *scheduler) {
        if (Random(2) == 0)
            Dawdle(400);  // the other worker is about to go to sleep
        else
            Compute(150 + Random(1000));
        event.Ask();
        scheduler->AddTask(MakeTask(part), own);
        Compute(3000);
    };
    RunMain(FairOptions(2), [&](TaskScheduler *scheduler) {
        scheduler->AddTask(MakeTask(submits), own, PinnedTo(1 - scheduler->CurrentWorker()));
        scheduler->WaitForCounter(own, Meanwhile::OwnTasks);
    });
    Check(event.over, "a task was lost");
    CheckSoon(event.late < kLooksEach + 20 * kUs, "a task of the awaited counter began late");
}

// A worker that waits with OwnTasks searches its queue, and holds the task of another counter for a
// moment. Just then the other worker ends its own wait, finds nothing, and goes to sleep. It must
// be woken for the task. The first wait depends on this task in a way that weft does not know, so
// otherwise the model does not end. The external work keeps weft from watching for stalls: the
// timer for that would wake the other worker, too.
void OwnDigHolds() {
    Counters counters;
    Counter *const own = counters.New(1), *const others = counters.New(),
                   *const inner = counters.New();
    bool isRestricted = false, mayEnd = false;
    auto leaf = [&](TaskScheduler *scheduler) { scheduler->DecrementCounter(own); };
    auto holds = [&](TaskScheduler *) {
        isRestricted = true;
        while (!mayEnd) weft::env::Pause();
    };
    auto restricted = [&](TaskScheduler *scheduler) {
        scheduler->AddTask(MakeTask(holds), inner);
        scheduler->WaitForCounter(inner, Meanwhile::OwnTasks);
        Counters::Kill(inner);
    };
    SchedulerOptions options = Options(2, 13);
    options.idle = IdlePolicy::Sleep;
    RunMain(options, [&](TaskScheduler *scheduler) {
        const ExternalWork outside(*scheduler);
        scheduler->AddTask(MakeTask(restricted), others);
        while (!isRestricted) weft::env::Pause();
        scheduler->AddTask(MakeTask(leaf), others);
        mayEnd = true;
        scheduler->WaitForCounter(own, Meanwhile::OwnTasks);
        Counters::Kill(own);
        WaitAndKill(scheduler, others);
    });
}

// A task waits with OwnTasks for a task that sleeps. Nobody else is awake. The sleep ends in time.
void OwnSleeps() {
    RunMain(FairOptions(1 + Random(2)), [](TaskScheduler *scheduler) {
        uint64_t late = 0;
        auto sleeps = [&](TaskScheduler *self) {
            const auto end = Now() + std::chrono::microseconds(100 + Random(3000));
            SleepUntil(*self, end);
            late = static_cast<uint64_t>(std::chrono::nanoseconds(Now() - end).count());
        };
        Counter counter;
        scheduler->AddTask(MakeTask(sleeps), &counter);
        scheduler->WaitForCounter(&counter, Meanwhile::OwnTasks);
        CheckSoon(late <= 100 * kUs, "a deadline comes late to a wait with OwnTasks");
    });
}

}  // namespace

std::vector<Model> OwnModels() {
    return {
        {"own_tree",
         "a tree of tasks that wait for their children, some with OwnTasks; pinned, deferred, "
         "timed and other tasks",
         OwnTree},
        {"own_late",
         "a task that a wait with OwnTasks needs comes late, to a worker with another such wait",
         OwnNeedsComeLate},
        {"own_buried",
         "needed tasks lie in the queue of a worker that then waits with Nothing or HighOnly",
         OwnNeedsAreBuried},
        {"own_woken", "a busy worker submits a task of a counter that another one waits for",
         OwnIsWoken},
        {"own_dig_holds", "a search for own tasks holds another task while a worker goes to sleep",
         OwnDigHolds},
        {"own_shared", "two wait for one counter, only one of them with OwnTasks",
         OwnSharesCounter},
        {"own_blocked", "a needed task lies behind a task that blocks until the wait is over",
         OwnNeedsNobodyElse},
        {"own_sleeps", "a task that a wait with OwnTasks needs sleeps", OwnSleeps},
        {"own_circle", "waits that form a circle, while two workers follow them",
         OwnClimbsInCircles},
        {"own_pumps", "a pinned task waits with OwnTasks, while its thread runs pinned tasks",
         OwnKeepsHost},
        {"own_room", "no fiber for a task that a restricted wait needs; it runs inline",
         OwnHasRoom},
    };
}

}  // namespace simulator
