// Nodes of a graph that submit tasks and wait for them.
#include "soak/graph.h"

#include <unistd.h>

namespace soak {

using namespace weft;

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
    nodes.Place(options);
    CountWait();
    scheduler.AddTasksAndWait(nodes.Count(), nodes.Tasks(), options);
    nodes.Check();
}

// Waits for smaller and smaller values of a counter.
void Graph::Step(TaskScheduler &scheduler, Node &node, Random &random) {
    Nodes nodes(*this, random, Children(random), node.depth - 1);
    Counter counter;
    Submit(scheduler, nodes, random, &counter);
    for (uint32_t left = nodes.Count(); left != 0;) {
        left = random.Below(left);
        CountWait();
        scheduler.WaitForCounter(&counter, left);
        if (counter.Value() > left)
            m_figures.Fail("a counter is %u after the wait for %u", counter.Value(), left);
        if (nodes.Finished() < nodes.Count() - left)
            m_figures.Fail("%u of %u tasks have finished after a wait for %u", nodes.Finished(),
                           nodes.Count(), left);
    }
    nodes.Check();
}

// Waits for the first of three groups of children, and then for all of them.
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

// Polls the counter of the children and yields, instead of waiting.
void Graph::Poll(TaskScheduler &scheduler, Node &node, Random &random) {
    Nodes nodes(*this, random, Children(random), node.depth - 1);
    Counter counter;
    Submit(scheduler, nodes, random, &counter);
    while (!scheduler.PollCounter(&counter)) scheduler.Yield();
    nodes.Check();
    CountWait();
    scheduler.WaitForCounter(&counter);  // before the counter is destroyed: a poll is no wait
}

// Tasks wait for different values of one gate. The gate falls, and rises again in between.
void Graph::Targets(TaskScheduler &scheduler, Node &, Random &random) {
    struct Falling {
        Counter gate;
        std::atomic<uint32_t> lowest;
        static void Await(Graph &graph, TaskScheduler &scheduler, Node &node) {
            Falling &falling = *static_cast<Falling *>(node.with);
            const Permit permit(graph, scheduler);
            if (!permit) return;
            graph.CountWait();
            scheduler.WaitForCounter(&falling.gate, node.number);
            if (falling.lowest.load() > node.number)
                graph.TheFigures().Fail("a wait for %u returned too early", node.number);
        }
    };
    const uint32_t count = 1 + random.Below(4);
    Falling falling{Counter(count), {count}};
    Meet(scheduler, random, count, Falling::Await, &falling, [&] {
        for (uint32_t left = count; left != 0;) {
            if (random.OneIn(2)) scheduler.Yield();
            const uint32_t n = 1 + random.Below(left);
            left -= n;
            falling.lowest.store(left);
            scheduler.DecrementCounter(&falling.gate, n);
            if (left != 0 && random.OneIn(2)) {
                scheduler.IncrementCounter(&falling.gate, 1);
                scheduler.DecrementCounter(&falling.gate, 1);
            }
        }
    });
    if (falling.gate.Value() != 0) m_figures.Fail("a gate is %u in the end", falling.gate.Value());
}

// An external thread ends this wait.
void Graph::Gate(TaskScheduler &scheduler, Node &, Random &random) {
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

// Many small tasks, each of which marks a cell.
void Graph::Marks(TaskScheduler &scheduler, Node &, Random &random) {
    const uint32_t count = 1 + random.Below(random.OneIn(4) ? 4000 : 200);
    std::vector<uint8_t> cells(count);
    std::vector<Task> tasks;
    for (uint8_t &cell : cells) {
        tasks.push_back(
            {[](TaskScheduler *, void *arg) { ++*static_cast<uint8_t *>(arg); }, &cell});
    }
    CountSubmitted(count);
    CountWait();
    scheduler.AddTasksAndWait(count, tasks.data(), Options(random));
    for (const uint8_t cell : cells) {
        if (cell != 1) m_figures.Fail("a task of %u has run %u times after the wait", count, cell);
    }
    m_ran.fetch_add(count, std::memory_order_relaxed);
}

// Submits tasks for which nothing waits. They must have run at the end of the run.
void Graph::Forget(TaskScheduler &scheduler, Node &, Random &random) {
    const uint32_t count = 1 + random.Below(4);
    const uint32_t first = m_forgottenCount.fetch_add(count);
    for (uint32_t i = first; i < first + count && i < kForgotten; ++i) {
        const TaskOptions options = Options(random);
        m_forgotten[i].graph = this;
        m_forgotten[i].seed = random.Next();
        m_forgotten[i].worker = options.worker;
        m_forgotten[i].group = options.group;
        CountSubmitted(1);
        scheduler.AddTask({RunNode, &m_forgotten[i]}, nullptr, options);
    }
}

void Graph::CheckForgotten() {
    for (uint32_t i = 0; i < kForgotten; ++i) {
        const uint32_t expected = i < m_forgottenCount.load() ? 1 : 0;
        if (m_forgotten[i].ran != expected)
            m_figures.Fail("a task without a counter has run %u times when the run is over",
                           m_forgotten[i].ran);
    }
}

void Graph::Workers(TaskScheduler &scheduler, Node &node, Random &random) {
    if (m_workers != 0) scheduler.SetActiveWorkers(1 + random.Below(m_workers));
    Fork(scheduler, node, random);
}

}  // namespace soak
