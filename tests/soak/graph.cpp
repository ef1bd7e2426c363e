// The common part of the graphs: permits, nodes, options, and the choice of what a node does.
#include "soak/graph.h"

namespace soak {

using namespace weft;

Permit::Permit(Graph &graph, const TaskScheduler &scheduler)
    // The stack of a thread belongs to no pool.
    : m_permits(scheduler.CurrentFiber() >= graph.m_pool ? nullptr : &graph.m_permits), m_count(1) {
    Take();
}

Permit::Permit(Graph &graph, uint32_t fibers)
    : m_permits(&graph.m_permits), m_count(static_cast<int32_t>(fibers)) {
    Take();
}

void Permit::Take() {
    if (m_permits == nullptr) return;
    m_granted = m_permits->fetch_sub(m_count) >= m_count;
    if (!m_granted) m_permits->fetch_add(m_count);
}

Permit::~Permit() {
    if (m_granted && m_permits != nullptr) m_permits->fetch_add(m_count);
}

Nodes::Nodes(Graph &graph, Random &random, uint32_t count, uint32_t depth)
    : m_graph(graph), m_nodes(count) {
    for (Node &node : m_nodes) {
        node.graph = &graph;
        node.seed = random.Next();
        node.depth = depth;
        node.finished = &m_finished;
        m_tasks.push_back({Graph::RunNode, &node});
    }
    graph.CountSubmitted(count);
}

void Nodes::Place(const TaskOptions &options) {
    for (Node &node : m_nodes) {
        node.worker = options.worker;
        node.group = options.group;
    }
}

void Nodes::GiveParts(NodeAct act, void *with) {
    for (uint32_t i = 0; i < Count(); ++i) {
        m_nodes[i].act = act;
        m_nodes[i].with = with;
        m_nodes[i].number = i;
    }
}

void Nodes::Check() {
    for (const Node &node : m_nodes) {
        if (node.ran != 1)
            m_graph.m_figures.Fail("a task has run %u times after the wait for it", node.ran);
    }
    if (Finished() != Count())
        m_graph.m_figures.Fail("%u of %u tasks have finished after the wait", Finished(), Count());
}

Graph::Graph(Figures &figures, const SchedulerOptions &options, TaskScheduler &scheduler)
    : m_figures(figures),
      m_options(options),
      m_pool(GetStatistics(scheduler).fibers),
      m_workers(scheduler.WorkerCount()),
      m_permits(static_cast<int32_t>(options.fibers) - 2),  // one is for the main task
      m_forgotten(kForgotten) {
    for (uint32_t i = 0, end = 0; i < options.groupCount; ++i)
        m_groupEnds.push_back(end += options.groups[i].workers);
}

void Graph::Grow(TaskScheduler &scheduler, uint64_t seed, uint32_t tasks, uint32_t worker) {
    Random random(seed);
    m_budget.fetch_add(tasks);
    Nodes roots(*this, random, 1 + random.Below(4), 2 + random.Below(5));
    TaskOptions options = Options(random);
    if (worker != kAnyWorker) options.worker = worker;
    if (worker != kAnyWorker) options.group = kAnyGroup;
    roots.Place(options);
    CountWait();
    if (random.OneIn(2)) {
        scheduler.AddTasksAndWait(roots.Count(), roots.Tasks(), options);
    } else {
        Counter counter;
        scheduler.AddTasks(roots.Count(), roots.Tasks(), &counter, options);
        scheduler.WaitForCounter(&counter);
        if (counter.Value() != 0)
            m_figures.Fail("the roots' counter is %u after the wait", counter.Value());
    }
    roots.Check();
}

void Graph::RunNode(TaskScheduler *scheduler, void *arg) {
    Node &node = *static_cast<Node *>(arg);
    Graph &graph = *node.graph;
    const auto check = [&](const char *when) {
        if (node.worker != kAnyWorker && scheduler->CurrentWorker() != node.worker)
            graph.m_figures.Fail("a task pinned to worker %u %s on %u", node.worker, when,
                                 scheduler->CurrentWorker());
        uint32_t group = 0;
        for (const uint32_t end : graph.m_groupEnds)
            group += scheduler->CurrentWorker() >= end ? 1 : 0;
        if (node.group != kAnyGroup && node.group != group)
            graph.m_figures.Fail("a task of group %u %s in group %u", node.group, when, group);
    };
    check("begins");
    const uint32_t fiber = scheduler->CurrentFiber();
    ++node.ran;
    graph.m_ran.fetch_add(1, std::memory_order_relaxed);
    node.act != nullptr ? node.act(graph, *scheduler, node) : graph.Act(*scheduler, node);
    check("ends");
    if (scheduler->CurrentFiber() != fiber) graph.m_figures.Fail("a task has changed its fiber");
    if (TaskScheduler::Current() != scheduler)
        graph.m_figures.Fail("a task's scheduler is another one");
    const bool throws = node.depth == 0 && node.seed % 1024 == 0;
    if (throws) graph.m_thrown.fetch_add(1);
    // After this the node must not be accessed.
    if (node.finished != nullptr) node.finished->fetch_add(1);
#if defined(__cpp_exceptions)
    if (throws) throw 1;
#endif
}

void Graph::Act(TaskScheduler &scheduler, Node &node) {
    static constexpr Kind kKinds[] = {
        &Graph::Fork,        &Graph::Fork,        &Graph::Fork,     &Graph::ForkAndWait,
        &Graph::ForkAndWait, &Graph::ForkAndWait, &Graph::Step,     &Graph::Any,
        &Graph::Poll,        &Graph::Targets,     &Graph::Gate,     &Graph::Marks,
        &Graph::Forget,      &Graph::Workers,     &Graph::InPieces, &Graph::Sleepers,
        &Graph::Deferred,    &Graph::Cancelled,   &Graph::OneByOne, &Graph::Readers,
        &Graph::Consumers,   &Graph::Group,       &Graph::Posted,   &Graph::Blocking,
        &Graph::Loops,       &Graph::Coroutines,  &Graph::Groups,   &Graph::Runs,
        &Graph::Pipes,       &Graph::Files};
    constexpr uint32_t kCount = sizeof kKinds / sizeof *kKinds;
    Random random(node.seed);
    const Permit permit(*this, scheduler);
    const bool leaf = node.depth == 0 || !permit || m_budget.load(std::memory_order_relaxed) <= 0;
    (this->*(leaf ? &Graph::Leaf : kKinds[random.Below(kCount)]))(scheduler, node, random);
}

void Graph::Leaf(TaskScheduler &scheduler, Node &, Random &random) {
    volatile unsigned char bytes[4096];
    switch (random.Below(32)) {
        case 0:
            scheduler.Yield();
            break;
        case 1:
            scheduler.RunPinnedTasks(random.Below(3));
            break;
        case 2:
            for (uint32_t i = 0; i < sizeof bytes; i += 256)
                bytes[i] = static_cast<unsigned char>(i);
            break;
        case 3:
            for (uint32_t i = 0, turns = random.Below(20000); i < turns; ++i)
                bytes[0] = static_cast<unsigned char>(i);
            break;
        default:
            break;
    }
}

// About one task in eight is pinned.
TaskOptions Graph::Options(Random &random) const {
    TaskOptions options;
    options.priority = static_cast<Priority>(random.Below(3));
    if (m_workers != 0 && random.OneIn(8)) options.worker = random.Below(m_workers);
    options.name = kTaskNames[0];
    // About one task in four names a group.
    if (!m_groupEnds.empty() && options.worker == kAnyWorker && random.OneIn(4))
        options.group =
            static_cast<uint8_t>(random.Below(static_cast<uint32_t>(m_groupEnds.size())));
    return options;
}

uint32_t Graph::Children(Random &random) {
    const uint32_t count = random.OneIn(8) ? 17 + random.Below(100) : 1 + random.Below(6);
    m_budget.fetch_sub(count, std::memory_order_relaxed);
    return count;
}

void Graph::Submit(TaskScheduler &scheduler, Nodes &nodes, Random &random, Counter *counter) {
    const TaskOptions options = Options(random);
    nodes.Place(options);
    if (random.OneIn(4)) {
        for (uint32_t i = 0; i < nodes.Count(); ++i)
            scheduler.AddTask(nodes.Tasks()[i], counter, options);
    } else {
        scheduler.AddTasks(nodes.Count(), nodes.Tasks(), counter, options);
    }
}

void Graph::Await(TaskScheduler &scheduler, Counter &counter, Random &random) {
    CountWait();
    const uint32_t before = scheduler.CurrentWorker();
    if (random.OneIn(8)) {
        scheduler.WaitForCounter(&counter, 0, ResumeOn::SameWorker);
        if (scheduler.CurrentWorker() != before)
            m_figures.Fail("ResumeOn::SameWorker goes on on another worker");
    } else {
        scheduler.WaitForCounter(&counter);
    }
    if (!counter.IsZero()) m_figures.Fail("a counter is %u after the wait for 0", counter.Value());
}

}  // namespace soak
