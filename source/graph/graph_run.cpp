// Runs of a graph: one task does a node, and then perhaps the next one.
#include "graph/graph_state.h"
#include "platform/race_finder.h"

namespace weft {

using namespace internal;

namespace {

// Bounds what one task does. So a worker often comes to where it picks work: there it helps what
// has waited for too long. With empty nodes, the tasks in between add about a nanosecond to each
// node.
constexpr uint32_t kMostInTask = 16;
// Ready nodes that are submitted together.
constexpr uint32_t kBatch = 128;
// Nodes with at most so many successors take a short way, in which most often nothing is submitted.
constexpr uint32_t kFew = 4;
// In place of the edge that a condition follows. Nothing: the node has not run, and makes nothing
// ready.
constexpr uint32_t kNoEdge = ~0u, kNothing = ~0u - 1;

void RunNodes(TaskScheduler *scheduler, void *arg);

// The options of the running task, and their number in the graph of the node. Inner graphs have
// numbers of their own.
struct RunningOptions {
    RunningOptions(const GraphState &of, const PlannedNode &node) noexcept
        : graph(&of), options(&of.options[node.options]), number(node.options) {}

    void MoveTo(const GraphState &other) noexcept {
        graph = &other;
        number = other.NumberOf(*options);
    }

    const GraphState *graph;
    const TaskOptions *const options;
    uint8_t number;
};

// The nodes that one finished node makes ready, all in one run. The first one that may follow in
// the same task is kept, the others are submitted.
class ReadyNodes {
public:
    // `options`: those of the running task. `mayFollow`: false if all nodes must be submitted.
    ReadyNodes(const PiecewiseTask &task, GraphRunState &run, uint8_t options,
               bool mayFollow) noexcept
        : m_task(task), m_run(run), m_plan(run.plan), m_running(options), m_mayFollow(mayFollow) {}

    void Add(GraphSlot &slot) noexcept {
        const PlannedNode &node = m_plan[slot.node];
        if (m_mayFollow && node.mayFollow && node.options == m_running) {
            m_mayFollow = false;
            m_follower = &slot;
            return;
        }
        if (m_count == kBatch || (m_count != 0 && node.options != m_options)) Submit(m_count);
        m_options = node.options;
        m_tasks[m_count++] = {RunNodes, &slot};
    }

    /// Submits what is left, and returns the node that follows in this task, or null. `isOver`: no
    /// node of the run is left. Only for a graph with conditions.
    GraphSlot *Finish(bool &isOver) noexcept {
        if (WEFT_UNLIKELY(m_run.graph->hasConditions)) {
            // The finished node hands its unit of `alive` on to a node that it has made ready. If
            // there is none, and nothing else is alive, the run is over. acq_rel: the one who sees
            // this also sees what all nodes have done, and the next run sees it.
            race::Precedes(&m_run.alive);
            const bool hasHeir = m_follower != nullptr || m_count != 0;
            isOver = !hasHeir && m_run.alive.fetch_sub(1, kAcqRel) == 1;
            if (isOver) race::Follows(&m_run.alive);
        }
        if (m_count != 0) Submit(m_count - (m_follower == nullptr ? 1 : 0));
        return m_follower;
    }

private:
    // `alive`: by how much it rises.
    void Submit(uint32_t alive) noexcept {
        GraphState &graph = *m_run.graph;
        // relaxed: the submission orders it before what these nodes subtract
        if (WEFT_UNLIKELY(graph.hasConditions) && alive != 0)
            m_run.alive.fetch_add(alive, kRelaxed);
        TaskOptions options = graph.options[m_options];
        if (options.group == kAnyGroup) options.group = m_run.group;
        const uint32_t count = m_count;
        m_count = 0;
        if (WEFT_LIKELY(!m_task.IsTraced())) {
            options.name = count == 1 ? NameOf(0) : graph.name;
            return SubmitAs(options, 0, count);
        }
        for (uint32_t i = 0; i < count; ++i) {
            options.name = NameOf(i);
            SubmitAs(options, i, 1);
        }
    }
    const char *NameOf(uint32_t i) const noexcept {
        return m_plan[static_cast<GraphSlot *>(m_tasks[i].arg)->node].name;
    }
    void SubmitAs(TaskOptions options, uint32_t first, uint32_t count) const noexcept {
        if (WEFT_LIKELY(m_task.Submit(count, m_tasks + first, options))) return;
        // Reported: the thread to which the nodes are pinned has detached. The run must end.
        options.worker = kAnyWorker;
        m_task.Submit(count, m_tasks + first, options);
    }

    const PiecewiseTask &m_task;
    GraphRunState &m_run;
    const PlannedNode *const m_plan;
    GraphSlot *m_follower = nullptr;
    const uint8_t m_running;
    bool m_mayFollow;
    uint8_t m_options = 0;
    uint32_t m_count = 0;
    Task m_tasks[kBatch];
};

// A predecessor of the node has finished. Returns true if it was the last one.
WEFT_FORCEINLINE bool Arrive(GraphSlot &slot) noexcept {
    race::Precedes(&slot);
    // release: publishes what this predecessor wrote. acquire: the last one sees what all of them
    // wrote, because the others' read-modify-writes form a release sequence. If the load returns 1,
    // all others have arrived. Then no other thread accesses the count, and there is no need to
    // lower it: the node restores it when it begins.
    return slot.pending.load(kAcquire) == 1 || slot.pending.fetch_sub(1, kAcqRel) == 1;
}

// Prepares a run, or that of an inner graph, and returns the slot of its first node.
GraphSlot *Prepare(GraphRunState &run) noexcept {
    const GraphState &graph = *run.graph;
    if (WEFT_UNLIKELY(graph.hasConditions)) {
        // relaxed, all: nobody else knows this run, and its first task is submitted after this.
        run.alive.store(1, kRelaxed);
        for (uint32_t i = 0; i < graph.plan.Count(); ++i) {
            run.slots[i].pending.store(graph.plan[i].predecessors, kRelaxed);
            run.begun[i].store(false, kRelaxed);
        }
    }
    return &run.slots[graph.begin];
}

void ReleaseRun(GraphRunState &run) noexcept {
    GraphState &graph = *run.graph;
    // release: the next run in this place comes after all of this one. Without a counter, the graph
    // may be gone after this.
    graph.freeRuns.fetch_or(uint64_t{1} << run.run.index, kRelease);
}

// The run has ended. Returns the node of an outer graph that has finished with it, or null.
GraphSlot *EndRun(GraphRunState &run) noexcept {
    const GraphState &graph = *run.graph;
    if (!graph.hasConditions) {
        GraphSlot &end = run.slots[graph.end];
        race::Follows(&end);
        end.pending.store(run.plan[graph.end].predecessors, kRelaxed);  // see RESET
    }
    GraphSlot *const outer = run.parent;
    if (outer == nullptr) ReleaseRun(run);  // the run may be in use again after this
    return outer;
}

WEFT_FORCEINLINE const uint32_t *SuccessorsOf(const GraphRunState &run,
                                              const PlannedNode &node) noexcept {
    return node.successors == 1 ? &node.next : run.graph->successors.begin() + node.next;
}

// The node has finished. Makes others ready, and returns the one that follows in this task, or
// null. `edge`: what a condition has returned. Not inlined: the batch is a large frame, and must
// not lie on the stack below the nodes' functions.
WEFT_NOINLINE GraphSlot *FinishNode(const PiecewiseTask &task, GraphSlot *slot, uint32_t edge,
                                    RunningOptions &running, bool mayFollow) noexcept {
    for (;;) {
        GraphRunState &run = *slot->run;
        GraphState &graph = *run.graph;
        if (WEFT_UNLIKELY(running.graph != &graph)) running.MoveTo(graph);
        const PlannedNode &node = run.plan[slot->node];
        const uint32_t *const successors = SuccessorsOf(run, node);
        bool isOver = false;
        ReadyNodes ready(task, run, running.number, mayFollow);
        // release: the next beginning of the node comes after this one
        if (WEFT_UNLIKELY(graph.hasConditions) && edge != kNothing)
            run.begun[slot->node].store(false, kRelease);
        if (WEFT_UNLIKELY(node.kind == NodeKind::Condition)) {
            if (edge < node.successors) ready.Add(run.slots[successors[edge]]);
        } else if (WEFT_LIKELY(edge != kNothing)) {
            for (uint32_t i = 0; i < node.successors; ++i) {
                const uint32_t next = successors[i] & ~kOnlyPredecessor;
                GraphSlot &slotOfNext = run.slots[next];
                if (successors[i] == next && !Arrive(slotOfNext)) continue;
                if (WEFT_UNLIKELY(next == graph.end)) {
                    isOver = true;
                } else {
                    ready.Add(slotOfNext);
                }
            }
        }
        GraphSlot *const follower = ready.Finish(isOver);
        if (WEFT_LIKELY(!isOver)) return follower;
        slot = EndRun(run);
        if (slot == nullptr) return nullptr;
        edge = 0;  // the node with the inner graph has finished
    }
}

// The run has ended. Returns the node that follows in this task, or null.
WEFT_NOINLINE GraphSlot *FinishRun(const PiecewiseTask &task, GraphRunState &run,
                                   RunningOptions &running, bool mayFollow) noexcept {
    GraphSlot *const outer = EndRun(run);
    return outer != nullptr ? FinishNode(task, outer, 0, running, mayFollow) : nullptr;
}

// Submits ready nodes of a graph without conditions.
WEFT_NOINLINE void SubmitFew(const PiecewiseTask &task, GraphRunState &run, const uint32_t *nodes,
                             uint32_t count) noexcept {
    ReadyNodes ready(task, run, 0, false);
    for (uint32_t i = 0; i < count; ++i) ready.Add(run.slots[nodes[i]]);
    bool isOver = false;
    ready.Finish(isOver);
}

uint32_t CallNow(TaskScheduler *scheduler, const PlannedNode &node, const GraphRun &run) {
    switch (node.kind) {
        case NodeKind::Task:
            node.task(scheduler, node.arg);
            break;
        case NodeKind::AsksRun:
            node.function(scheduler, run, node.arg);
            break;
        case NodeKind::Condition: {
            const uint32_t edge = node.condition(scheduler, run, node.arg);
            return edge < node.successors ? edge : kNoEdge;
        }
        default:
            break;
    }
    return 0;
}

// Returns the number of the edge that a condition follows.
WEFT_FORCEINLINE uint32_t CallNode(TaskScheduler *scheduler, const PlannedNode &node,
                                   const GraphRun &run) noexcept {
#if defined(__cpp_exceptions) || defined(_CPPUNWIND)
    try {
        return CallNow(scheduler, node, run);
    } catch (...) {
        CheckThreadStays();
        ReportMisuse(*scheduler, ReportCode::TaskThrew,
                     "Catch it inside the node, and keep it (weft/data/exception_collector.h).",
                     "an exception left the node; the node counts as finished");
        return node.kind == NodeKind::Condition ? kNoEdge : 0;
    }
#else
    return CallNow(scheduler, node, run);
#endif
}

// With conditions, a node could begin while it runs. Returns false, after a report, if it does.
WEFT_NOINLINE bool MayBegin(const TaskScheduler &scheduler, GraphRunState &run,
                            uint32_t node) noexcept {
    // acquire: what the node did when it ran before comes first
    if (!run.begun[node].exchange(true, kAcquire)) return true;
    ReportMisuse(scheduler, ReportCode::BadOption,
                 "Let a condition lead to a node only when the node can neither run nor begin "
                 "otherwise.",
                 "Graph: a node was to begin while it runs; this beginning is left out");
    return false;
}

// Does a node that is not plain, and returns the one that follows in this task, or null.
WEFT_NOINLINE GraphSlot *DoOther(TaskScheduler *scheduler, const PiecewiseTask &task,
                                 GraphSlot *slot, RunningOptions &running, bool isLast) noexcept {
    GraphRunState &run = *slot->run;
    const PlannedNode &node = run.plan[slot->node];
    uint32_t edge = 0;
    if (run.graph->hasConditions && node.kind != NodeKind::Begin &&
        !MayBegin(*scheduler, run, slot->node)) {
        edge = kNothing;
    } else if (node.kind == NodeKind::Inner) {
        GraphRunState &inner = run.inner[node.inner];
        inner.run = run.run;
        inner.group = run.group;
        slot = Prepare(inner);  // the begin of the inner graph finishes in place of the node
    } else {
        edge = CallNode(scheduler, node, run.run);
        task.End();
    }
    return FinishNode(task, slot, edge, running, !isLast && task.MayGoOn());
}

// Does the node in `slot` and those that follow in this task, while they are in the same run and
// plain. Returns the next one, or null.
WEFT_FORCEINLINE GraphSlot *DoNodes(TaskScheduler *scheduler, PiecewiseTask &task, GraphSlot *slot,
                                    RunningOptions &running, uint32_t &left) noexcept {
    GraphRunState &run = *slot->run;
    const PlannedNode *const plan = run.plan;
    GraphSlot *const slots = run.slots;
    for (uint32_t i = slot->node;;) {
        const PlannedNode &node = plan[i];
        race::Follows(&slots[i]);
        task.Begin(node.name);
        // relaxed: see RESET; what comes later sees it through the edges
        if (node.predecessors > 1) slots[i].pending.store(node.predecessors, kRelaxed);
        --left;
        if (WEFT_UNLIKELY(!node.isPlain))
            return DoOther(scheduler, task, &slots[i], running, left == 0);
        CallNode(scheduler, node, run.run);
        task.End();
        const bool mayFollow = left != 0 && task.MayGoOn();
        // What FinishNode does: for one successor that may follow here, and for a few.
        if (const uint32_t next = node.next & ~kOnlyPredecessor;
            node.successors == 1 && mayFollow && plan[next].mayFollow &&
            plan[next].options == running.number) {
            if (node.next == next && !Arrive(slots[next])) return nullptr;
            i = next;
            continue;
        }
        if (node.successors > kFew) return FinishNode(task, &slots[i], 0, running, mayFollow);
        const uint32_t *const successors = SuccessorsOf(run, node);
        uint32_t few[kFew], count = 0, follower = kNoEdge;
        bool isOver = false;
        for (uint32_t each = 0; each < node.successors; ++each) {
            const uint32_t next = successors[each] & ~kOnlyPredecessor;
            if (successors[each] == next && !Arrive(slots[next])) continue;
            const PlannedNode &ready = plan[next];
            if (ready.mayFollow && mayFollow && follower == kNoEdge &&
                ready.options == running.number) {
                follower = next;
            } else if (WEFT_LIKELY(ready.kind != NodeKind::End)) {
                few[count++] = next;
            } else {
                isOver = true;
            }
        }
        if (count != 0) SubmitFew(task, run, few, count);
        if (follower != kNoEdge) {
            i = follower;
        } else {
            return isOver ? FinishRun(task, run, running, mayFollow) : nullptr;
        }
    }
}

// A task that begins with the node in `arg`.
void RunNodes(TaskScheduler *scheduler, void *arg) {
    GraphSlot *slot = static_cast<GraphSlot *>(arg);
    PiecewiseTask task(*scheduler);
    RunningOptions running(*slot->run->graph, slot->run->plan[slot->node]);
    uint32_t left = task.IsTraced() ? 1 : kMostInTask;
    while (slot != nullptr) slot = DoNodes(scheduler, task, slot, running, left);
}

// Says whether the first task of a run has begun.
struct FirstTask {
    GraphSlot *slot;
    bool hasBegun = false;

    static void Run(TaskScheduler *scheduler, void *arg) {
        FirstTask &first = *static_cast<FirstTask *>(arg);
        first.hasBegun = true;
        RunNodes(scheduler, first.slot);
    }
};

TaskOptions OptionsOfFirst(const GraphState &graph) noexcept {
    TaskOptions options = graph.options[graph.plan[graph.begin].options];
    options.name = graph.name;
    return options;
}

// Returns a free run, or null.
GraphRunState *TakeRun(GraphState &graph) noexcept {
    uint64_t free = graph.freeRuns.load(kRelaxed);  // relaxed: the exchange decides
    do {
        if (free == 0) return nullptr;
        // acquire: the last run in this place comes before this one
    } while (!graph.freeRuns.compare_exchange_strong(free, free & (free - 1), kAcquire, kRelaxed));
    uint32_t index = 0;
    while ((free >> index & 1) == 0) ++index;
    return &graph.runs[index];
}

// Returns Ok and the first slot of a new run, or an error after a report.
Status BeginRun(GraphState *graph, const SchedulerOptions &reports, const char *call,
                const Worker *caller, void *data, GraphSlot **first) noexcept {
    if (graph == nullptr || !graph->isChecked) {
        ReportTo(reports.onReport, reports.user, ReportCode::BadOption,
                 "Call Check, and run the graph only if it returned Ok.",
                 "%s: graph '%s' has not been checked", call,
                 graph != nullptr ? graph->name : "without memory");
        return Status::BadOption;
    }
    GraphRunState *const run = TakeRun(*graph);
    if (run == nullptr) {
        ReportTo(reports.onReport, reports.user, ReportCode::BadOption,
                 "Begin a run only after another one has ended, or raise GraphOptions::maxRuns.",
                 "%s: %u runs of graph '%s' are in flight already", call, graph->maxRuns,
                 graph->name);
        return Status::AlreadyRunning;
    }
    run->run.data = data;
    run->group = kInSlot | (caller != nullptr ? caller->current->level.Slot() : 0);
    *first = Prepare(*run);
    return Status::Ok;
}

// Returns true if the scheduler accepts the options of all nodes, also of inner graphs.
bool AcceptsAll(const Caller &caller, const GraphState &graph) noexcept {
    if (!graph.needsScheduler) return true;
    for (const TaskOptions &options : graph.options)
        if (!caller.Accepts(options)) return false;
    for (const GraphState *inner : graph.innerGraphs)
        if (!AcceptsAll(caller, *inner)) return false;
    return true;
}

}  // namespace

Status Graph::Run(TaskScheduler &scheduler, void *data) noexcept {
    SchedulerOptions reports;
    reports.onReport = m_onReport;
    reports.user = m_user;
    if (m_state != nullptr && m_state->isChecked && m_state->needsScheduler) {
        const Caller caller(scheduler, "Graph::Run");
        if (caller.Running() == nullptr) return Status::NotRunning;
        if (!AcceptsAll(caller, *m_state)) return Status::BadOption;
    }
    FirstTask first{nullptr};
    const Status status =
        BeginRun(m_state, reports, "Graph::Run", WorkerOf(scheduler), data, &first.slot);
    if (status != Status::Ok) return status;
    const Task task{FirstTask::Run, &first};
    scheduler.AddTasksAndWait(1, &task, OptionsOfFirst(*m_state));
    if (first.hasBegun) return Status::Ok;
    ReleaseRun(*first.slot->run);  // the call was refused, which was reported
    return Status::NotRunning;
}

Status Graph::RunAsync(TaskScheduler &scheduler, Counter *counter, void *data) noexcept {
    SchedulerOptions reports;
    reports.onReport = m_onReport;
    reports.user = m_user;
    const Caller caller(scheduler, "Graph::RunAsync");
    if (!caller.MaySubmit()) return Status::NotRunning;
    if (m_state != nullptr && m_state->isChecked && !AcceptsAll(caller, *m_state))
        return Status::BadOption;
    GraphSlot *first = nullptr;
    const Status status =
        BeginRun(m_state, reports, "Graph::RunAsync", caller.TheWorker(), data, &first);
    if (status != Status::Ok) return status;
    const Task task{RunNodes, first};
    if (caller.Submit(1, &task, OptionsOfFirst(*m_state), counter)) return Status::Ok;
    ReleaseRun(*first->run);
    return Status::BadOption;
}

uint32_t Graph::RunsInFlight() const noexcept {
    if (m_state == nullptr || !m_state->isChecked) return 0;
    // acquire: of a run that has ended, the caller sees everything
    uint64_t free = m_state->freeRuns.load(kAcquire);
    uint32_t runs = m_state->maxRuns;
    for (; free != 0; free &= free - 1) --runs;
    return runs;
}

}  // namespace weft
