// Nodes of a graph that wait with deadlines, and deferred tasks.
#include "soak/graph.h"

#include "weft/data/cancellation.h"
#include "weft/deferred.h"
#include "weft/time.h"

namespace soak {

using namespace weft;

namespace {

Clock::time_point Soon(Random &random) {
    return Now() + std::chrono::microseconds(random.Below(300));
}

}  // namespace

// Waits for children with short timeouts, until all have finished.
void Graph::InPieces(TaskScheduler &scheduler, Node &node, Random &random) {
    Nodes nodes(*this, random, Children(random), node.depth - 1);
    Counter counter;
    Submit(scheduler, nodes, random, &counter);
    do {
        CountWait();
    } while (!WaitForCounterUntil(scheduler, &counter, Soon(random)));
    if (!counter.IsZero())
        m_figures.Fail("a counter is %u after a wait with a deadline", counter.Value());
    nodes.Check();
}

// Children sleep until a deadline. None may wake up earlier.
void Graph::Sleepers(TaskScheduler &scheduler, Node &, Random &random) {
    const auto sleep = [](Graph &graph, TaskScheduler &running, Node &node) {
        const Permit permit(graph, running);
        if (!permit) return;
        Random own(node.seed);
        const Clock::time_point deadline = Soon(own);
        graph.CountWait();
        SleepUntil(running, deadline);
        if (Now() < deadline) graph.TheFigures().Fail("a task slept too short");
    };
    Meet(scheduler, random, 1 + random.Below(8), sleep, nullptr);
}

// Tasks that begin when a gate has fallen to a value, or at a time.
void Graph::Deferred(TaskScheduler &scheduler, Node &, Random &random) {
    constexpr uint32_t kMax = 6;
    struct Later {
        Counter gate;
        std::atomic<uint32_t> lowest;
        Clock::time_point due[kMax];
        static void Begin(Graph &graph, TaskScheduler &, Node &node) {
            const Later &later = *static_cast<Later *>(node.with);
            const Clock::time_point due = later.due[node.number];
            const bool atTime = due != Clock::time_point();
            if (atTime && Now() < due) graph.TheFigures().Fail("a task began before its time");
            if (!atTime && later.lowest.load() > node.number)
                graph.TheFigures().Fail("a task began before what it follows");
        }
    };
    const uint32_t count = 1 + random.Below(kMax);
    Later later{Counter(count), {count}, {}};
    Nodes nodes(*this, random, count, 0);
    nodes.GiveParts(Later::Begin, &later);
    Counter counter;
    for (uint32_t i = 0; i < count; ++i) {
        const TaskOptions options = Options(random);
        nodes[i].worker = options.worker;
        nodes[i].group = options.group;
        if (random.OneIn(3)) {
            later.due[i] = Soon(random);
            if (!AddTaskAt(scheduler, later.due[i], nodes.Tasks()[i], &counter, options))
                m_figures.Fail("AddTaskAt: refused");
        } else if (random.OneIn(2)) {
            const CounterTarget after[] = {{&later.gate, count}, {&later.gate, i}};
            if (!AddTasksAfter(scheduler, 2, after, 1, &nodes.Tasks()[i], &counter, options))
                m_figures.Fail("AddTasksAfter: refused");
        } else {
            if (!AddTaskAfter(scheduler, &later.gate, i, nodes.Tasks()[i], &counter, options))
                m_figures.Fail("AddTaskAfter: refused");
        }
    }
    for (uint32_t left = count; left-- != 0;) {
        later.lowest.store(left);
        scheduler.DecrementCounter(&later.gate);
        if (random.OneIn(4)) scheduler.Yield();
    }
    Await(scheduler, counter, random);
    nodes.Check();
}

// Waits and sleeps that only a cancellation ends.
void Graph::Cancelled(TaskScheduler &scheduler, Node &, Random &random) {
    struct Endless {
        CancelSource source;
        Counter never{1};
        static void Wait(Graph &graph, TaskScheduler &scheduler, Node &node) {
            Endless &endless = *static_cast<Endless *>(node.with);
            const Permit permit(graph, scheduler);
            if (!permit) return;
            graph.CountWait();
            const CancelToken token = endless.source.Token();
            const bool came =
                node.number % 2 == 0
                    ? WaitForCounterOrCancel(scheduler, &endless.never, token)
                    : SleepUntilOrCancel(scheduler, Now() + std::chrono::hours(1), token);
            if (came || !token.IsCancelled())
                graph.TheFigures().Fail("a wait that was cancelled says that it was not");
        }
    };
    Endless endless{CancelSource(scheduler)};
    Meet(scheduler, random, 1 + random.Below(6), Endless::Wait, &endless, [&] {
        if (random.OneIn(2)) SleepUntil(scheduler, Soon(random));
        endless.source.Cancel();
    });
}

}  // namespace soak
