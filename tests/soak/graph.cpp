#include "soak/graph.h"

#include <unistd.h>

namespace soak {

using namespace weft;

// A wait holds a fiber. When all of a class wait for tasks that need one, they wait for ever; that is the user's mistake,
// and is not made here.
class Graph::Permit {
public:
    Permit(Graph &graph, uint32_t fiber) : m_permits(PermitsOf(graph, fiber)) {
        m_granted = m_permits == nullptr || m_permits->fetch_sub(1) > 0;
        if (!m_granted) m_permits->fetch_add(1);
    }
    ~Permit() {
        if (m_granted && m_permits != nullptr) m_permits->fetch_add(1);
    }
    Permit(const Permit &) = delete;
    Permit &operator=(const Permit &) = delete;
    explicit operator bool() const { return m_granted; }

private:
    // Threads' own stacks are not of the pool.
    static std::atomic<int32_t> *PermitsOf(Graph &graph, uint32_t fiber) {
        return fiber >= graph.m_pool ? nullptr : &graph.m_permits[fiber < graph.m_smallFibers ? 0 : 1];
    }
    std::atomic<int32_t> *const m_permits;
    bool m_granted;
};

Nodes::Nodes(Graph &graph, Random &random, uint32_t count, uint32_t depth) : m_graph(graph), m_nodes(count) {
    for (Node &node : m_nodes) {
        node.graph = &graph;
        node.seed = random.Next();
        node.depth = depth;
        node.finished = &m_finished;
        m_tasks.push_back({Graph::RunNode, &node});
    }
    graph.CountSubmitted(count);
}

void Nodes::Pin(uint32_t worker) {
    for (Node &node : m_nodes) node.worker = worker;
}

void Nodes::Check() {
    for (const Node &node : m_nodes) {
        if (node.ran != 1) m_graph.m_figures.Fail("a task has run %u times after the wait for it", node.ran);
    }
    if (Finished() != Count())
        m_graph.m_figures.Fail("%u of %u tasks have finished after the wait", Finished(), Count());
}

Graph::Graph(Figures &figures, const SchedulerOptions &options, uint32_t workers, uint32_t mainFibers)
    : m_figures(figures),
      m_smallFibers(options.smallFibers),
      m_pool(options.smallFibers + options.largeFibers),
      m_workers(workers),
      m_large(options.largeFibers > mainFibers),
      m_forgotten(kForgotten) {
    m_permits[0].store(static_cast<int32_t>(options.smallFibers) - 1);
    m_permits[1].store(static_cast<int32_t>(options.largeFibers - mainFibers) - 1);
}

void Graph::Grow(TaskScheduler &scheduler, uint64_t seed, uint32_t tasks, uint32_t worker) {
    Random random(seed);
    m_budget.fetch_add(tasks);
    Nodes roots(*this, random, 1 + random.Below(4), 2 + random.Below(5));
    TaskOptions options = Options(random);
    if (worker != kAnyWorker) options.worker = worker;
    roots.Pin(options.worker);
    CountWait();
    if (random.OneIn(2)) {
        scheduler.AddTasksAndWait(roots.Count(), roots.Tasks(), options);
    } else {
        Counter counter;
        scheduler.AddTasks(roots.Count(), roots.Tasks(), &counter, options);
        scheduler.WaitForCounter(&counter);
        if (counter.Value() != 0) m_figures.Fail("the roots' counter is %u after the wait", counter.Value());
    }
    roots.Check();
}

void Graph::RunNode(TaskScheduler *scheduler, void *arg) {
    Node &node = *static_cast<Node *>(arg);
    Graph &graph = *node.graph;
    const auto check = [&](const char *when) {
        if (node.worker != kAnyWorker && scheduler->CurrentWorker() != node.worker)
            graph.m_figures.Fail("a task pinned to worker %u %s on %u", node.worker, when, scheduler->CurrentWorker());
    };
    check("begins");
    const uint32_t fiber = scheduler->CurrentFiber();
    ++node.ran;
    graph.m_ran.fetch_add(1, std::memory_order_relaxed);
    node.gate != nullptr ? graph.AwaitTarget(*scheduler, node) : graph.Act(*scheduler, node);
    check("ends");
    if (scheduler->CurrentFiber() != fiber) graph.m_figures.Fail("a task has changed its fiber");
    if (TaskScheduler::Current() != scheduler) graph.m_figures.Fail("a task's scheduler is another one");
    const bool throws = node.depth == 0 && node.seed % 1024 == 0;
    if (throws) graph.m_thrown.fetch_add(1);
    if (node.finished != nullptr) node.finished->fetch_add(1);  // the last that it does with the node
#if defined(__cpp_exceptions)
    if (throws) throw 1;
#endif
}

void Graph::Act(TaskScheduler &scheduler, Node &node) {
    static constexpr Kind kKinds[] = {&Graph::Fork,  &Graph::Fork,  &Graph::ForkAndWait, &Graph::ForkAndWait,
                                      &Graph::Step,  &Graph::Any,   &Graph::Poll,        &Graph::Targets,
                                      &Graph::Event, &Graph::Marks, &Graph::Forget,      &Graph::Workers};
    constexpr uint32_t kCount = sizeof kKinds / sizeof *kKinds;
    Random random(node.seed);
    const Permit permit(*this, scheduler.CurrentFiber());
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
            for (uint32_t i = 0; i < sizeof bytes; i += 256) bytes[i] = static_cast<unsigned char>(i);
            break;
        case 3:
            for (uint32_t i = 0, turns = random.Below(20000); i < turns; ++i) bytes[0] = static_cast<unsigned char>(i);
            break;
        default:
            break;
    }
}

// Of about one in eight, pinned; of about one in eight, large.
TaskOptions Graph::Options(Random &random) const {
    TaskOptions options;
    options.priority = static_cast<Priority>(random.Below(3));
    if (m_large && random.OneIn(8)) options.stack = StackClass::Large;
    if (m_workers != 0 && random.OneIn(8)) options.worker = random.Below(m_workers);
    options.name = "node";
    return options;
}

uint32_t Graph::Children(Random &random) {
    const uint32_t count = random.OneIn(8) ? 17 + random.Below(100) : 1 + random.Below(6);
    m_budget.fetch_sub(count, std::memory_order_relaxed);
    return count;
}

void Graph::Submit(TaskScheduler &scheduler, Nodes &nodes, Random &random, Counter *counter) {
    const TaskOptions options = Options(random);
    nodes.Pin(options.worker);
    if (random.OneIn(4)) {
        for (uint32_t i = 0; i < nodes.Count(); ++i) scheduler.AddTask(nodes.Tasks()[i], counter, options);
    } else {
        scheduler.AddTasks(nodes.Count(), nodes.Tasks(), counter, options);
    }
}

void Graph::Await(TaskScheduler &scheduler, Counter &counter, Random &random) {
    CountWait();
    const uint32_t before = scheduler.CurrentWorker();
    if (random.OneIn(8)) {
        scheduler.WaitForCounter(&counter, 0, Resume::SameWorker);
        if (scheduler.CurrentWorker() != before) m_figures.Fail("Resume::SameWorker goes on on another worker");
    } else {
        scheduler.WaitForCounter(&counter);
    }
    if (!counter.IsZero()) m_figures.Fail("a counter is %u after the wait for 0", counter.Value());
}

void Graph::Fork(TaskScheduler &scheduler, Node &node, Random &random) {
    Nodes nodes(*this, random, Children(random), node.depth - 1);
    Counter counter;
    Submit(scheduler, nodes, random, &counter);
    if (random.OneIn(8)) scheduler.Yield();
    Await(scheduler, counter, random);
    nodes.Check();
}

void Graph::ForkAndWait(TaskScheduler &scheduler, Node &node, Random &random) {
    Nodes nodes(*this, random, Children(random), node.depth - 1);
    const TaskOptions options = Options(random);
    nodes.Pin(options.worker);
    CountWait();
    scheduler.AddTasksAndWait(nodes.Count(), nodes.Tasks(), options);
    nodes.Check();
}

// Waits for less and less to be outstanding.
void Graph::Step(TaskScheduler &scheduler, Node &node, Random &random) {
    Nodes nodes(*this, random, Children(random), node.depth - 1);
    Counter counter;
    Submit(scheduler, nodes, random, &counter);
    for (uint32_t left = nodes.Count(); left != 0;) {
        left = random.Below(left);
        CountWait();
        scheduler.WaitForCounter(&counter, left);
        if (counter.Value() > left) m_figures.Fail("a counter is %u after the wait for %u", counter.Value(), left);
        if (nodes.Finished() < nodes.Count() - left)
            m_figures.Fail("%u of %u tasks have finished after a wait for %u", nodes.Finished(), nodes.Count(), left);
    }
    nodes.Check();
}

void Graph::Any(TaskScheduler &scheduler, Node &node, Random &random) {
    constexpr uint32_t kGroups = 3;
    Nodes groups[kGroups] = {{*this, random, Children(random), node.depth - 1},
                             {*this, random, Children(random), node.depth - 1},
                             {*this, random, Children(random), 0}};
    Counter counters[kGroups];
    Counter *all[kGroups];
    for (uint32_t i = 0; i < kGroups; ++i) {
        all[i] = &counters[i];
        Submit(scheduler, groups[i], random, all[i]);
    }
    CountWait();
    const uint32_t first = scheduler.WaitForAny(kGroups, all);
    if (first >= kGroups) return m_figures.Fail("WaitForAny returned %u of %u", first, kGroups);
    groups[first].Check();
    CountWait();
    scheduler.WaitForAll(kGroups, all);
    for (Nodes &nodes : groups) nodes.Check();
}

void Graph::Poll(TaskScheduler &scheduler, Node &node, Random &random) {
    Nodes nodes(*this, random, Children(random), node.depth - 1);
    Counter counter;
    Submit(scheduler, nodes, random, &counter);
    while (!scheduler.PollCounter(&counter)) scheduler.Yield();
    nodes.Check();
    CountWait();
    scheduler.WaitForCounter(&counter);  // before it goes: a poll is no wait
}

// Tasks wait for different counts of one gate, which falls, and rises again in between.
void Graph::Targets(TaskScheduler &scheduler, Node &, Random &random) {
    const uint32_t count = 1 + random.Below(4);
    Nodes nodes(*this, random, count, 0);
    Counter gate(count), counter;
    std::atomic<uint32_t> lowest{count};
    for (uint32_t i = 0; i < count; ++i) {
        nodes[i].gate = &gate;
        nodes[i].target = i;
        nodes[i].lowest = &lowest;
    }
    Submit(scheduler, nodes, random, &counter);
    for (uint32_t left = count; left != 0;) {
        if (random.OneIn(2)) scheduler.Yield();
        const uint32_t n = 1 + random.Below(left);
        left -= n;
        lowest.store(left);
        scheduler.DecrementCounter(&gate, n);
        if (left != 0 && random.OneIn(2)) {
            scheduler.AddToCounter(&gate, 1);
            scheduler.DecrementCounter(&gate, 1);
        }
    }
    Await(scheduler, counter, random);
    if (gate.Value() != 0) m_figures.Fail("a gate is %u in the end", gate.Value());
    nodes.Check();
}

void Graph::AwaitTarget(TaskScheduler &scheduler, Node &node) {
    const Permit permit(*this, scheduler.CurrentFiber());
    if (!permit) return;
    CountWait();
    scheduler.WaitForCounter(node.gate, node.target);
    if (node.lowest->load() > node.target) m_figures.Fail("a wait for %u returned too early", node.target);
}

// A thread that is no worker ends this wait.
void Graph::Event(TaskScheduler &scheduler, Node &, Random &random) {
    Counter gate(1);
    {
        const std::lock_guard<std::mutex> lock(m_mutex);
        if (!m_lowering.load()) return;
        m_gates.push_back(&gate);
    }
    Await(scheduler, gate, random);
}

void Graph::LowerGates(TaskScheduler &scheduler) {
    for (bool more = true; more;) {
        std::vector<Counter *> gates;
        {
            const std::lock_guard<std::mutex> lock(m_mutex);
            more = m_lowering.load();
            gates.swap(m_gates);
        }
        for (Counter *gate : gates) scheduler.DecrementCounter(gate);
        if (gates.empty()) usleep(50);
    }
}

// Many small tasks that mark a cell each.
void Graph::Marks(TaskScheduler &scheduler, Node &, Random &random) {
    const uint32_t count = 1 + random.Below(random.OneIn(4) ? 4000 : 200);
    std::vector<uint8_t> cells(count);
    std::vector<Task> tasks;
    for (uint8_t &cell : cells) {
        tasks.push_back({[](TaskScheduler *, void *arg) { ++*static_cast<uint8_t *>(arg); }, &cell});
    }
    CountSubmitted(count);
    CountWait();
    scheduler.AddTasksAndWait(count, tasks.data(), Options(random));
    for (const uint8_t cell : cells) {
        if (cell != 1) m_figures.Fail("a task of %u has run %u times after the wait", count, cell);
    }
    m_ran.fetch_add(count, std::memory_order_relaxed);
}

void Graph::Forget(TaskScheduler &scheduler, Node &, Random &random) {
    const uint32_t count = 1 + random.Below(4);
    const uint32_t first = m_forgottenCount.fetch_add(count);
    for (uint32_t i = first; i < first + count && i < kForgotten; ++i) {
        const TaskOptions options = Options(random);
        m_forgotten[i].graph = this;
        m_forgotten[i].seed = random.Next();
        m_forgotten[i].worker = options.worker;
        CountSubmitted(1);
        scheduler.AddTask({RunNode, &m_forgotten[i]}, nullptr, options);
    }
}

void Graph::CheckForgotten() {
    for (uint32_t i = 0; i < kForgotten; ++i) {
        const uint32_t expected = i < m_forgottenCount.load() ? 1 : 0;
        if (m_forgotten[i].ran != expected)
            m_figures.Fail("a task without a counter has run %u times when the run is over", m_forgotten[i].ran);
    }
}

void Graph::Workers(TaskScheduler &scheduler, Node &node, Random &random) {
    if (m_workers != 0) scheduler.SetActiveWorkers(1 + random.Below(m_workers));
    Fork(scheduler, node, random);
}

}  // namespace soak
