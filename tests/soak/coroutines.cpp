// Nodes of a graph that start coroutines. Compiled as C++20, unlike the other files.
#include "soak/graph.h"

#include "weft/coroutine.h"
#include "weft/sync/event.h"

namespace soak {

using namespace weft;
using std::chrono::microseconds;

namespace {

// State that the coroutines of one node share. The account does not include their tasks, so each
// coroutine reports its own end.
struct Walk {
    Walk(Graph &of, TaskScheduler &by)
        : graph(of), scheduler(by), turn(by, EventReset::Auto, true) {}
    Graph &graph;
    TaskScheduler &scheduler;
    Event turn;
    uint32_t passed = 0;  // plain: only the coroutine that has the turn uses it
    std::atomic<uint32_t> ended{0};
};

Coroutine<uint32_t> Sleep(uint32_t turns) {
    for (uint32_t i = 0; i < turns; ++i) co_await microseconds(20);
    co_return turns;
}

Coroutine<> Go(Walk &walk, uint64_t seed, uint32_t depth) {
    Random random(seed);
    if (random.OneIn(2)) {
        Nodes nodes(walk.graph, random, 1 + random.Below(6), depth - 1);
        Counter counter;
        walk.scheduler.AddTasks(nodes.Count(), nodes.Tasks(), &counter,
                                {Priority::Normal, kAnyWorker, kTaskNames[0]});
        walk.graph.CountWait();
        if (random.OneIn(2)) {  // waits that give up, until one does not
            while (!co_await UntilDeadline{counter, Now() + microseconds(random.Below(100))}) {
            }
        } else {
            co_await counter;
        }
        if (!counter.IsZero())
            walk.graph.TheFigures().Fail("a counter is %u after a coroutine's wait",
                                         counter.Value());
        nodes.Check();
    }
    const uint32_t turns = random.Below(4);
    if (co_await Sleep(turns) != turns)
        walk.graph.TheFigures().Fail("a coroutine returned something else than %u", turns);
    co_await walk.turn;
    ++walk.passed;
    walk.turn.Set();
    walk.ended.fetch_add(1);
}

}  // namespace

void Graph::Coroutines(TaskScheduler &scheduler, Node &node, Random &random) {
    Walk walk(*this, scheduler);
    const uint32_t count = 1 + random.Below(6);
    Counter counter;
    for (uint32_t i = 0; i < count; ++i) {
        TaskOptions options = Options(random);
        options.name = nullptr;
        StartCoroutine(scheduler, Go(walk, random.Next(), node.depth), &counter, options);
    }
    Await(scheduler, counter, random);
    if (walk.ended.load() != count || walk.passed != count)
        m_figures.Fail("of %u coroutines %u ended and %u had a turn", count, walk.ended.load(),
                       walk.passed);
}

}  // namespace soak
