// Waits whose thread runs only what they depend on (Meanwhile::OwnTasks).
#include "simulator/model_support.h"
#include "simulator/models.h"
#include "weft/deferred.h"
#include "weft/outside.h"
#include "weft/time.h"

#include <chrono>
#include <deque>
#include <vector>

namespace simulator {

namespace {

// What the tasks of a tree may do besides.
struct Forms {
    bool allOwn = false;    // every wait is one with OwnTasks
    bool rootOwn = false;   // only the first is
    bool pinned = false;    // some tasks are pinned
    bool deferred = false;  // some children come after others
    bool timed = false;     // some waits have a deadline, far away
    bool values = false;    // some waits are for values above zero first
    bool limited = false;   // one worker runs Low tasks
    bool yields = true;
    uint32_t priorities = 1;
    uint32_t strangers = 2;  // for each task up to so many that nobody waits for
};

// The watch for stalls wakes sleepers to set its timer. Where there is outside work it does not look: nobody makes up for a wake-up that
// is missing.
template <class Main>
void RunWatched(const SchedulerOptions &options, Main main) {
    const bool isWatched = Random(4) == 0;
    RunMain(options, [&](TaskScheduler *scheduler) {
        if (isWatched) return main(scheduler);
        const OutsideWork outside(*scheduler);
        main(scheduler);
    });
}

// Others may go on meanwhile.
void Dawdle() {
    for (uint32_t turns = Random(400); turns != 0; --turns) weft::env::Pause();
}

class Tree;

struct Node {
    Tree *tree;
    Node *parent;  // that waits for it; null: nobody does
    uint32_t height;
};

class Tree {
public:
    explicit Tree(const Forms &forms, uint32_t workers) : m_forms(forms), m_waits(workers) {}

    void RunRoot(TaskScheduler *scheduler, uint32_t height) { Run(scheduler, NewNode(nullptr, height), true); }
    void AwaitStrangers(TaskScheduler *scheduler) {
        scheduler->WaitForCounter(m_strange);
        Counters::Kill(m_strange);
        Check(m_done == m_submitted, "a task was lost");
    }

private:
    Node *NewNode(Node *parent, uint32_t height) { return &m_nodes.emplace_back(Node{this, parent, height}); }

    // The innermost wait with OwnTasks on this worker depends on the node, or is its own.
    void Look(TaskScheduler *scheduler, const Node *node) const {
        const std::vector<const Node *> &waits = m_waits[scheduler->CurrentWorker()];
        if (waits.empty()) return;
        for (const Node *each = node; each != nullptr; each = each->parent) {
            if (each == waits.back()) return;
        }
        Fail("a thread runs something that its wait does not depend on");
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
        if (m_forms.pinned && Random(3) == 0) options.worker = Random(static_cast<uint32_t>(m_waits.size()));
        return options;
    }

    void Submit(TaskScheduler *scheduler, Node *child, Counter *counter) {
        ++m_submitted;
        scheduler->AddTask({Main, child}, counter, SomeOptions());
    }

    void Run(TaskScheduler *scheduler, Node *node, bool own) {
        Look(scheduler, node);
        if (m_forms.yields && Random(4) == 0) {
            scheduler->Yield();
            Look(scheduler, node);
        }
        if (node->height != 0) {
            Counter *counter = m_counters.New();
            const uint32_t children = 1 + Random(2);
            for (uint32_t i = 0; i < children; ++i) Submit(scheduler, NewNode(node, node->height - 1), counter);
            if (m_forms.deferred && Random(2) == 0) {
                Counter *after = m_counters.New();
                Submit(scheduler, NewNode(node, node->height - 1), after);
                ++m_submitted;
                Check(AddTaskAfter(*scheduler, after, 0, {Main, NewNode(node, 0)}, counter), "AddTaskAfter failed");
            }
            for (uint32_t i = Random(m_forms.strangers + 1); i != 0; --i)
                Submit(scheduler, NewNode(nullptr, 0), m_strange);
            if (m_forms.values && Random(2) == 0) Wait(scheduler, node, counter, 1, own);
            Wait(scheduler, node, counter, 0, own);
            Counters::Kill(counter);
        }
        if (node->parent != nullptr || node->height == 0) ++m_done;
    }

    const Forms m_forms;
    std::vector<std::vector<const Node *>> m_waits;  // by worker; with OwnTasks, the innermost last
    std::deque<Node> m_nodes;
    Counters m_counters;
    Counter *m_strange = m_counters.New();
    uint32_t m_submitted = 0;
    uint32_t m_done = 0;
};

void OwnTree(const Forms &forms, uint32_t height) {
    const uint32_t workers = 1 + Random(3);
    Tree tree(forms, workers);
    SchedulerOptions options = Options(workers, 40, 1);
    if (forms.limited) options.maxLowWorkers = 1;
    RunWatched(options, [&](TaskScheduler *scheduler) {
        tree.RunRoot(scheduler, height);
        tree.AwaitStrangers(scheduler);
    });
}

// What a wait with OwnTasks needs lies in the queues of a worker that waits so for something else, and came there late: a task of its
// counter, one that another task comes after, or a fiber that has been made ready.
void OwnNeedsComeLate() {
    Counters counters;
    Counter *const own = counters.New(1), *const others = counters.New(), *const gate = counters.New(1);
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
            scheduler->AddTask(TaskOf(last), own);
        } else if (form == 1) {
            scheduler->AddTask(TaskOf(first), before);
            Dawdle();
            Check(AddTaskAfter(*scheduler, before, 0, TaskOf(last), own), "AddTaskAfter failed");
        } else {
            scheduler->DecrementCounter(ready);
        }
        ++done;
    };
    auto other = [&](TaskScheduler *scheduler) {
        Counter *counter = counters.New();
        scheduler->AddTask(TaskOf(submits), counter);
        scheduler->AddTask(TaskOf(holds), counter);
        scheduler->WaitForCounter(counter, Meanwhile::OwnTasks);
        Counters::Kill(counter);
        ++done;
    };
    RunWatched(Options(2, 12, 1), [&](TaskScheduler *scheduler) {
        if (form == 2) scheduler->AddTask(TaskOf(isReady), own);
        scheduler->AddTask(TaskOf(other), others);
        scheduler->WaitForCounter(own, Meanwhile::OwnTasks);
        scheduler->WaitForCounter(others);
    });
    Check(done == (form == 1 ? 5u : 4u), "a task was lost");
}

// Two workers wait with OwnTasks. What they need lies with a third one, buried, and becomes theirs to run when that one blocks.
void OwnNeedsAreBuried() {
    Counters counters;
    Counter *const gate = counters.New(2), *const others = counters.New();
    struct Side {
        Counter *own, *inner;
    };
    Side sides[2] = {{counters.New(), counters.New(1)}, {counters.New(), counters.New(1)}};
    const uint32_t workers = 2 + Random(2), count = workers - 1;
    const Meanwhile meanwhile = Random(2) != 0 ? Meanwhile::Nothing : Meanwhile::HighOnly;
    uint32_t done = 0;
    auto leaf = [&](TaskScheduler *) { ++done; };
    auto stranger = [&](TaskScheduler *) { ++done; };
    struct Work {
        Counters *counters;
        Counter *gate;
        Side *side;
        uint32_t *done;
        static void Inner(TaskScheduler *scheduler, void *arg) {
            Work &self = *static_cast<Work *>(arg);
            scheduler->WaitForCounter(self.side->inner);
            ++*self.done;
        }
        static void Outer(TaskScheduler *scheduler, void *arg) {
            Work &self = *static_cast<Work *>(arg);
            scheduler->AddTask({Inner, arg}, self.side->own);
            scheduler->WaitForCounter(self.side->own, Meanwhile::OwnTasks);
            ++*self.done;
            scheduler->DecrementCounter(self.gate);
        }
    };
    Work work[2] = {{&counters, gate, &sides[0], &done}, {&counters, gate, &sides[1], &done}};
    RunWatched(Options(workers, 12, 1), [&](TaskScheduler *scheduler) {
        for (uint32_t i = 0; i < count; ++i) scheduler->AddTask({Work::Outer, &work[i]}, others);
        for (uint32_t i = 0; i < 6; ++i) scheduler->Yield();
        for (uint32_t i = 0; i < count; ++i) {
            scheduler->AddTask(TaskOf(leaf), sides[i].inner);
            scheduler->DecrementCounter(sides[i].inner);
            scheduler->AddTask(TaskOf(stranger), others);
        }
        if (count == 1) scheduler->DecrementCounter(gate);
        scheduler->WaitForCounter(gate, meanwhile);
        scheduler->WaitForCounter(others);
    });
    Check(done == 4 * count, "a task was lost");
}

// Two wait for the same counter: one with OwnTasks; the other one runs a task of it itself, which waits for what lies with a worker that
// runs only its own.
void OwnSharesCounter() {
    Counters counters;
    Counter *const shared = counters.New(1), *const others = counters.New(), *const gate = counters.New(1);
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
        scheduler->AddTask(TaskOf(holds), counter);
        scheduler->WaitForCounter(counter, Meanwhile::OwnTasks);
        Counters::Kill(counter);
        ++done;
    };
    auto child = [&](TaskScheduler *scheduler) {
        Counter *counter = counters.New();
        scheduler->AddTask(TaskOf(leaf), counter);
        scheduler->AddTask(TaskOf(other), others);
        scheduler->WaitForCounter(counter);
        Counters::Kill(counter);
        ++done;
    };
    auto shares = [&](TaskScheduler *scheduler) {
        scheduler->AddTask(TaskOf(child), shared);
        scheduler->DecrementCounter(shared);
        scheduler->WaitForCounter(shared);
        ++done;
    };
    RunWatched(Options(2, 12, 1), [&](TaskScheduler *scheduler) {
        scheduler->AddTask(TaskOf(shares), others);
        scheduler->WaitForCounter(shared, Meanwhile::OwnTasks);
        scheduler->WaitForCounter(others);
    });
    Check(done == 5, "a task was lost");
}

}  // namespace

std::vector<Model> OwnModels() {
    Forms all, pinned, deferred, timed, values, priorities, limited, any;
    all.allOwn = true;
    pinned.pinned = pinned.rootOwn = true;  // two that wait so may keep each other's pinned tasks from running
    deferred.deferred = true;
    timed.timed = true;
    values.values = true;
    priorities.priorities = 3;
    limited.limited = limited.rootOwn = true;
    limited.priorities = 3;
    any = {false, true, true, true, true, true, true, true, 3, 1};
    return {
        {"own_tree", "tasks that wait for their children, some of them with OwnTasks, among others",
         [] { OwnTree({}, 2); }},
        {"own_all", "the same, all with OwnTasks", [=] { OwnTree(all, 2); }},
        {"own_high_tree", "the same, and more generations", [=] { OwnTree(all, 3); }, 4},
        {"own_pinned", "the same, only the first with OwnTasks; some tasks are pinned", [=] { OwnTree(pinned, 2); }},
        {"own_deferred", "the same, and tasks that come after others", [=] { OwnTree(deferred, 2); }},
        {"own_timed", "the same, and waits with a deadline", [=] { OwnTree(timed, 2); }},
        {"own_values", "the same, and waits for values above zero", [=] { OwnTree(values, 2); }},
        {"own_priorities", "the same with tasks of all priorities", [=] { OwnTree(priorities, 2); }},
        {"own_low", "the same, only the first with OwnTasks; one worker runs Low tasks", [=] { OwnTree(limited, 2); }},
        {"own_late", "what such a wait needs comes late, to a worker that waits so for something else",
         OwnNeedsComeLate},
        {"own_buried", "what two such waits need lies with a third worker, which blocks", OwnNeedsAreBuried},
        {"own_shared", "two wait for one counter, and only one of them with OwnTasks", OwnSharesCounter},
        {"own_any", "all of this", [=] { OwnTree(any, 2); }},
    };
}

}  // namespace simulator
