#include "weft/graph/graph.h"
#include "weft/inspect.h"

#include "support/failing_allocation.h"
#include "support/group_layouts.h"
#include "support/scheduler_run.h"
#include "support/threads.h"
#include "support/trace_log.h"

#include "weft/data/task_group.h"

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <new>
#include <random>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

using namespace weft;

namespace {

// Nodes that check that all of their predecessors have run in the same run, and that they run once.
class CheckedNodes {
public:
    CheckedNodes(Graph &graph, uint32_t count, uint32_t runs = 1) : m_graph(graph), m_ends(runs) {
        for (auto &ends : m_ends) ends.resize(count);
        m_work.resize(count);
        for (uint32_t i = 0; i < count; ++i) {
            m_work[i] = std::make_unique<Work>(Work{this, i});
            m_names.push_back(std::make_unique<std::string>("n" + std::to_string(i)));
            m_nodes.push_back(graph.AddNode(m_names[i]->c_str(), *m_work[i]));
        }
        m_before.resize(count);
    }
    void Edge(uint32_t before, uint32_t after) {
        m_graph.AddEdge(m_nodes[before], m_nodes[after]);
        m_before[after].push_back(before);
    }
    GraphNode operator[](uint32_t i) const { return m_nodes[i]; }
    uint32_t Wrong() const { return m_wrong; }
    /// How many nodes have not run `times` times in all runs together.
    uint32_t NotRun(uint32_t times) const {
        uint32_t wrong = 0;
        for (uint32_t i = 0; i < m_nodes.size(); ++i) {
            uint32_t sum = 0;
            for (const auto &ends : m_ends) sum += ends[i];
            wrong += sum != times;
        }
        return wrong;
    }
    std::function<void(TaskScheduler &, uint32_t)> also = [](TaskScheduler &, uint32_t) {};

private:
    struct Work {
        CheckedNodes *all;
        uint32_t index;
        void operator()(TaskScheduler *scheduler, const GraphRun &run) const {
            std::vector<uint32_t> &ends = all->m_ends[run.index];
            // Plain data: edges must order them.
            for (uint32_t before : all->m_before[index])
                if (ends[before] != ends[index] + 1) ++all->m_wrong;
            all->also(*scheduler, index);
            ++ends[index];
        }
    };
    Graph &m_graph;
    std::vector<std::vector<uint32_t>> m_ends;  // for each run: how often each node has run
    std::vector<std::unique_ptr<Work>> m_work;
    std::vector<std::unique_ptr<std::string>> m_names;
    std::vector<GraphNode> m_nodes;
    std::vector<std::vector<uint32_t>> m_before;
    std::atomic<uint32_t> m_wrong{0};
};

void AddRandomEdges(CheckedNodes &nodes, uint32_t count, uint32_t seed) {
    std::mt19937 random(seed);
    for (uint32_t after = 1; after < count; ++after) {
        for (uint32_t edges = random() % 4; edges != 0; --edges)
            nodes.Edge(random() % after, after);
    }
}

void Nothing(TaskScheduler *, void *) {}

}  // namespace

TEST_CASE("Graph: each node runs once in each run, after its predecessors", "[graph][grid]") {
    for (const test::GridPoint &point : test::Grid()) {
        INFO(test::Describe(point));
        test::Runner runner(point);
        uint32_t wrong = 0;
        CHECK(runner.Run([&](TaskScheduler &scheduler) {
            for (uint32_t seed = 0; seed < 4; ++seed) {
                Graph graph({});
                const uint32_t count = 1 + seed * 70;
                CheckedNodes nodes(graph, count);
                AddRandomEdges(nodes, count, seed);
                if (seed == 2)
                    nodes.also = [](TaskScheduler &running, uint32_t) { running.Yield(); };
                wrong += graph.Check() != Status::Ok;
                for (int run = 0; run < 5; ++run) wrong += graph.Run(scheduler) != Status::Ok;
                wrong += nodes.Wrong() + nodes.NotRun(5) + graph.RunsInFlight();
            }
        }) == Status::Ok);
        CHECK(wrong == 0);
        CHECK(runner.log.Text() == "");
    }
}

TEST_CASE("Graph: a chain, a fan of many nodes, and an empty graph", "[graph]") {
    for (uint32_t workers : {1u, 2u, 3u}) {
        test::Runner runner(test::Options(workers));
        uint32_t wrong = 0;
        CHECK(runner.Run([&](TaskScheduler &scheduler) {
            Graph chain({}), fan({}), empty({});
            CheckedNodes links(chain, 500), blades(fan, 502);
            for (uint32_t i = 1; i < 500; ++i) links.Edge(i - 1, i);
            for (uint32_t i = 1; i < 501; ++i) {
                blades.Edge(0, i);
                blades.Edge(i, 501);
            }
            for (Graph *graph : {&chain, &fan, &empty}) {
                wrong += graph->Check() != Status::Ok;
                for (int i = 0; i < 20; ++i) wrong += graph->Run(scheduler) != Status::Ok;
            }
            wrong += links.Wrong() + links.NotRun(20) + blades.Wrong() + blades.NotRun(20);
        }) == Status::Ok);
        CHECK(wrong == 0);
        CHECK(runner.log.Text() == "");
    }
}

TEST_CASE("Graph: an edge that was added twice counts twice and orders once", "[graph]") {
    test::Runner runner(test::Options(1));
    uint32_t wrong = 0;
    CHECK(runner.Run([&](TaskScheduler &scheduler) {
        Graph graph({});
        CheckedNodes nodes(graph, 3);
        nodes.Edge(0, 2);
        nodes.Edge(0, 2);
        nodes.Edge(1, 2);
        wrong += graph.Check() != Status::Ok;
        for (int i = 0; i < 3; ++i) wrong += graph.Run(scheduler) != Status::Ok;
        wrong += nodes.Wrong() + nodes.NotRun(3);
    }) == Status::Ok);
    CHECK(wrong == 0);
}

TEST_CASE("Graph::RunAsync: runs in flight have states and data of their own", "[graph][grid]") {
    for (const test::GridPoint &point : test::GridOfLargePools()) {
        INFO(test::Describe(point));
        test::Runner runner(point);
        uint32_t wrong = 0;
        CHECK(runner.Run([&](TaskScheduler &scheduler) {
            Graph graph({}, {"flights", 3});
            CheckedNodes nodes(graph, 60, 3);
            AddRandomEdges(nodes, 60, 7);
            std::atomic<uint32_t> sum{0};
            auto add = [&](TaskScheduler *, const GraphRun &run) {
                sum += *static_cast<uint32_t *>(run.data);
            };
            graph.AddNode("add", add);
            wrong += graph.Check() != Status::Ok;
            uint32_t data[3] = {1, 10, 100};
            for (int round = 0; round < 10; ++round) {
                Counter counter;
                for (uint32_t &each : data)
                    wrong += graph.RunAsync(scheduler, &counter, &each) != Status::Ok;
                scheduler.WaitForCounter(&counter);
                wrong += graph.RunsInFlight();
            }
            wrong += sum != 1110;
            wrong += nodes.Wrong() + nodes.NotRun(30);
        }) == Status::Ok);
        CHECK(wrong == 0);
        CHECK(runner.log.Text() == "");
    }
}

TEST_CASE("Graph::Run: external threads run graphs", "[graph]") {
    for (const test::Life life : {test::Life::Run, test::Life::Start}) {
        INFO(test::Describe(life));
        test::Runner runner(test::Options(2));
        Graph graph({}, {"shared", 4});
        CheckedNodes nodes(graph, 40, 4);
        AddRandomEdges(nodes, 40, 3);
        CHECK(graph.Check() == Status::Ok);
        std::atomic<uint32_t> wrong{0};
        CHECK(test::WhileItRuns(runner, life, [&](TaskScheduler &scheduler) {
                  test::Threads threads(2, [&](uint32_t) {
                      for (int i = 0; i < 20; ++i) {
                          Counter counter;
                          wrong += graph.Run(scheduler) != Status::Ok;
                          wrong += graph.RunAsync(scheduler, &counter) != Status::Ok;
                          scheduler.WaitForCounter(&counter);
                      }
                  });
              }) == Status::Ok);
        CHECK(wrong == 0);
        CHECK(nodes.Wrong() == 0);
        CHECK(nodes.NotRun(80) == 0);
        CHECK(test::Faults(runner.log) == "");
    }
}

TEST_CASE("Graph: runs allocate nothing", "[graph]") {
    struct Counted {
        static void *Allocate(size_t bytes, size_t alignment, void *user) {
            ++*static_cast<std::atomic<uint32_t> *>(user);
            return ::operator new(bytes, std::align_val_t(alignment));
        }
        static void Release(void *memory, size_t, size_t alignment, void *) {
            ::operator delete(memory, std::align_val_t(alignment));
        }
    };
    std::atomic<uint32_t> allocations{0};
    SchedulerOptions options = test::Options(1);
    options.memory.allocate = Counted::Allocate;
    options.memory.release = Counted::Release;
    options.memory.user = &allocations;
    test::Runner runner(options);
    uint32_t wrong = 0, before = 0, after = 0;
    CHECK(runner.Run([&](TaskScheduler &scheduler) {
        Graph graph(options, {"graph", 2});
        CheckedNodes nodes(graph, 300, 2);
        AddRandomEdges(nodes, 300, 5);
        wrong += graph.Check() != Status::Ok;
        wrong += graph.Run(scheduler) != Status::Ok;
        before = allocations;
        for (int i = 0; i < 50; ++i) wrong += graph.Run(scheduler) != Status::Ok;
        after = allocations;
    }) == Status::Ok);
    CHECK(wrong == 0);
    CHECK(before != 0);
    CHECK(before == after);
}

TEST_CASE("Graph: nodes keep their options", "[graph]") {
    test::Runner runner(test::Options(2));
    std::atomic<uint32_t> wrong{0};
    CHECK(runner.Run([&](TaskScheduler &scheduler) {
        Graph graph({});
        auto pinned = [&](TaskScheduler *running) { wrong += running->CurrentWorker() != 1; };
        TaskOptions onOne;
        onOne.worker = 1;
        GraphNode last{};
        for (int i = 0; i < 6; ++i) {
            const GraphNode first = graph.AddNode("pinned", pinned, onOne);
            const GraphNode second = graph.AddNode("high", {Nothing, nullptr}, test::kHigh);
            const GraphNode third = graph.AddNode("plain", {Nothing, nullptr});
            if (last) graph.AddEdge(last, first);
            graph.AddEdges(first, {second, third});
            last = i % 2 == 0 ? second : third;
        }
        wrong += graph.Check() != Status::Ok;
        for (int i = 0; i < 20; ++i) wrong += graph.Run(scheduler) != Status::Ok;
    }) == Status::Ok);
    CHECK(wrong == 0);
    CHECK(runner.log.Text() == "");
}

TEST_CASE("Graph: a node that names no group does not take that of its predecessors",
          "[graph][groups]") {
    const test::GroupLayout layout({test::Group(1), test::Group(1, true)});
    test::Runner runner(layout.Options());
    test::GroupWitness witness(layout);
    CHECK(runner.Run([&](TaskScheduler &scheduler) {
        Graph graph({});
        auto named = [&](TaskScheduler *running) { witness.See(*running, 1); };
        auto plain = [&](TaskScheduler *running) {
            witness.See(*running, kAnyGroup);
            witness.ran.fetch_add(1);
        };
        const GraphNode first = graph.AddNode("named", named, test::InGroup(1));
        const GraphNode second = graph.AddNode("plain", plain);
        graph.AddEdge(first, second);
        graph.Check();
        for (int i = 0; i < 20; ++i) graph.Run(scheduler);
    }) == Status::Ok);
    CHECK(witness.ran.load() == 20);
    CHECK(witness.wrong.load() == 0);
    CHECK(runner.log.Text() == "");
}

TEST_CASE("Graph: nodes that name no group run in the group of the task that runs the graph",
          "[graph][groups]") {
    const test::GroupLayout layout({test::Group(1), test::Group(1, true)});
    test::Runner runner(layout.Options());
    test::GroupWitness witness(layout);
    CHECK(runner.Run([&](TaskScheduler &scheduler) {
        auto named = [&](TaskScheduler *running) { witness.See(*running, 0); };
        auto plain = [&](TaskScheduler *running) {
            witness.See(*running, 1);
            witness.ran.fetch_add(1);
        };
        Graph inner({}), graph({});
        inner.AddEdge(inner.AddNode("named", named, test::InGroup(0)),
                      inner.AddNode("plain", plain));
        inner.Check();
        const GraphNode nodes[] = {graph.AddNode("first", plain),
                                   graph.AddNode("named", named, test::InGroup(0)),
                                   graph.AddNode("second", plain), graph.AddGraph("inner", inner),
                                   graph.AddNode("third", plain)};
        for (int i = 0; i < 4; ++i) graph.AddEdge(nodes[i], nodes[i + 1]);
        graph.Check();
        test::Batch runs(1, [&](TaskScheduler &running, uint32_t) {
            graph.Run(running);
            Counter counter;
            graph.RunAsync(running, &counter);
            running.WaitForCounter(&counter);
        });
        for (int i = 0; i < 20; ++i) scheduler.AddTasksAndWait(1, runs.Tasks(), test::InGroup(1));
    }) == Status::Ok);
    CHECK(witness.ran.load() == 160);
    CHECK(witness.wrong.load() == 0);
    CHECK(runner.log.Text() == "");
}

TEST_CASE("Graph: a node does not have the priority that the node before has set", "[graph]") {
    test::Runner runner(test::Options(1));
    std::string order;
    CHECK(runner.Run([&](TaskScheduler &scheduler) {
        Counter gate;
        test::Batch others(3, [&](TaskScheduler &, uint32_t) { order += 'n'; });
        test::Batch opener(1, [&](TaskScheduler &inside, uint32_t) {
            order += 'o';
            inside.DecrementCounter(&gate);
        });
        auto lowers = [&](TaskScheduler *inside) { inside->SetPriority(Priority::Low); };
        auto waits = [&](TaskScheduler *inside) {
            inside->AddTasks(3, others.Tasks());
            inside->AddTask(opener[0]);
            inside->WaitForCounter(&gate);
            order += 'w';
        };
        Graph graph({});
        graph.AddEdge(graph.AddNode("lowers", lowers), graph.AddNode("waits", waits));
        REQUIRE(graph.Check() == Status::Ok);
        // If the thread loses its CPU for a millisecond, the oldest task comes first.
        for (uint32_t round = 0; round < 1000 && order.substr(0, 2) != "ow"; ++round) {
            order.clear();
            scheduler.IncrementCounter(&gate);
            REQUIRE(graph.Run(scheduler) == Status::Ok);
            scheduler.WaitIdle();
        }
    }) == Status::Ok);
    CHECK(order == "ownnn");
}

TEST_CASE("Graph: urgent work runs before the next node of a chain", "[graph]") {
    test::Runner runner(test::Options(1));
    uint32_t wrong = 0, highAt = 0, ran = 0;
    CHECK(runner.Run([&](TaskScheduler &scheduler) {
        auto high = [&](TaskScheduler *) { highAt = ran; };
        Graph graph({});
        auto step = [&](TaskScheduler *running) {
            if (++ran == 3) running->AddTask(MakeTask(high), nullptr, test::kHigh);
        };
        GraphNode last{};
        for (int i = 0; i < 8; ++i) {
            const GraphNode node = graph.AddNode("step", step);
            if (last) graph.AddEdge(last, node);
            last = node;
        }
        wrong += graph.Check() != Status::Ok;
        wrong += graph.Run(scheduler) != Status::Ok;
    }) == Status::Ok);
    CHECK(wrong == 0);
    CHECK(ran == 8);
    CHECK(highAt == 3);
}

TEST_CASE("Graph: a node changes only its own priority", "[graph]") {
    test::Runner runner(test::Options(1));
    uint32_t wrong = 0, highAt = 0, ran = 0;
    CHECK(runner.Run([&](TaskScheduler &scheduler) {
        // With the priority of the first node, the second one would not yield to the High task.
        auto high = [&](TaskScheduler *) { highAt = ran; };
        Graph graph({});
        auto first = [&](TaskScheduler *running) { running->SetPriority(Priority::High); };
        auto second = [&](TaskScheduler *running) {
            ++ran;
            Counter none;
            running->AddTask(MakeTask(high), nullptr, test::kHigh);
            running->WaitForCounter(&none);  // a scheduling point
            ++ran;
        };
        graph.AddEdge(graph.AddNode("first", first), graph.AddNode("second", second));
        wrong += graph.Check() != Status::Ok;
        wrong += graph.Run(scheduler) != Status::Ok;
    }) == Status::Ok);
    CHECK(wrong == 0);
    CHECK(highAt == 1);
}

TEST_CASE("Graph: an endless chain of nodes does not starve other tasks", "[graph]") {
    test::Runner runner(test::Options(1));
    Status status = Status::BadOption;
    bool hasRun = false, ended = false;
    Graph graph({});
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    auto turn = [&](TaskScheduler *) {
        ended = hasRun;
        return !hasRun && std::chrono::steady_clock::now() < deadline ? 0 : 1;
    };
    const GraphNode first = graph.AddNode("first", {Nothing, nullptr});
    const GraphNode loop = graph.AddCondition("loop", turn);
    graph.AddEdge(first, loop);
    graph.AddEdge(loop, loop);
    CHECK(graph.Check() == Status::Ok);
    auto other = [&](TaskScheduler *) { hasRun = true; };
    CHECK(runner.Run([&](TaskScheduler &scheduler) {
        scheduler.AddTask(MakeTask(other), nullptr, test::kLow);
        status = graph.RunAsync(scheduler, nullptr);
    }) == Status::Ok);
    CHECK(status == Status::Ok);
    CHECK(ended);
}

// Fewer tasks than a sixteenth of the nodes would do more than 16 nodes each.
TEST_CASE("Graph: a task does at most 16 nodes", "[graph]") {
    constexpr uint32_t kNodes = 1600;
    for (const uint32_t edges : {1u, 2u, 5u}) {  // from each node to the next ones
        for (const bool hasCondition : {false, true}) {
            INFO(edges << " edges, condition: " << hasCondition);
            test::Runner runner(test::Options(1));
            uint32_t wrong = 0;
            uint64_t tasks = 0;
            CHECK(runner.Run([&](TaskScheduler &scheduler) {
                auto ends = [](TaskScheduler *) { return 0; };
                Graph graph({});
                std::vector<GraphNode> nodes;
                for (uint32_t i = 0; i < kNodes; ++i)
                    nodes.push_back(graph.AddNode("node", {Nothing, nullptr}));
                for (uint32_t i = 0; i < kNodes; ++i) {
                    for (uint32_t next = i + 1; next <= i + edges && next < kNodes; ++next)
                        wrong += !graph.AddEdge(nodes[i], nodes[next]);
                }
                if (hasCondition) graph.AddEdge(nodes.back(), graph.AddCondition("ends", ends));
                wrong += graph.Check() != Status::Ok;
                const uint64_t before = GetStatistics(scheduler).total.submitted;
                wrong += graph.Run(scheduler) != Status::Ok;
                tasks = GetStatistics(scheduler).total.submitted - before;
            }) == Status::Ok);
            CHECK(wrong == 0);
            CHECK(tasks >= kNodes / 16);
            CHECK(runner.log.Text() == "");
        }
    }
}

TEST_CASE("Graph: reports name the running node", "[graph]") {
    test::Runner runner(test::Options(1));
    CHECK(runner.Run([&](TaskScheduler &scheduler) {
        Graph graph({});
        auto wrong = [](TaskScheduler *running) { running->WaitForCounter(nullptr); };
        const GraphNode a = graph.AddNode("a", {Nothing, nullptr});
        const GraphNode b = graph.AddNode("culprit", wrong);
        graph.AddEdge(a, b);
        graph.Check();
        graph.Run(scheduler);
    }) == Status::Ok);
    CHECK(runner.log.First(ReportCode::NullCounter).task == "culprit");
}

#if !defined(WEFT_NO_EXCEPTIONS)  // built without exceptions, weft catches none
TEST_CASE("Graph: an exception ends only its node", "[graph]") {
    test::Runner runner(test::Options(2));
    std::atomic<uint32_t> ran{0};
    uint32_t wrong = 0;
    CHECK(runner.Run([&](TaskScheduler &scheduler) {
        Graph graph({});
        auto fails = [](TaskScheduler *) { throw 1; };
        auto next = [&](TaskScheduler *) { ++ran; };
        graph.AddEdge(graph.AddNode("fails", fails), graph.AddNode("next", next));
        wrong += graph.Check() != Status::Ok;
        wrong += graph.Run(scheduler) != Status::Ok;
    }) == Status::Ok);
    CHECK(wrong == 0);
    CHECK(ran == 1);
    CHECK(runner.log.CountOf(ReportCode::TaskThrew) == 1);
    CHECK(runner.log.First(ReportCode::TaskThrew).task == "fails");
}
#endif

TEST_CASE("Graph: a trace has a task for each node, submitted by a predecessor", "[graph]") {
    SchedulerOptions options = test::Options(1);
    test::TraceLog trace;
    trace.AttachTo(options, ~0u);
    test::Runner runner(options);
    uint32_t wrong = 0;
    CHECK(runner.Run([&](TaskScheduler &scheduler) {
        Graph graph({}, {"frame"});
        const GraphNode a = graph.AddNode("a", {Nothing, nullptr});
        const GraphNode b = graph.AddNode("b", {Nothing, nullptr});
        const GraphNode c = graph.AddNode("c", {Nothing, nullptr});
        graph.AddEdges(a, {b, c});
        graph.AddEdge(b, c);
        wrong += graph.Check() != Status::Ok;
        wrong += graph.Run(scheduler) != Status::Ok;
    }) == Status::Ok);
    CHECK(wrong == 0);
    std::vector<std::string> order;
    std::string running;
    for (const test::LoggedEvent &event : trace.Events()) {
        if (event.kind == test::Traced::TaskBegin) {
            running = event.task;
            order.push_back("begin " + event.task);
        }
        if (event.kind == test::Traced::Submit && running != "main")
            order.push_back(running + " submits " + event.task);
    }
    CHECK(order == std::vector<std::string>{"begin main", "begin frame", "frame submits a",
                                            "begin a", "a submits b", "begin b", "b submits c",
                                            "begin c"});
}

TEST_CASE("condition: follows one edge, also back in a loop", "[graph][grid]") {
    for (const test::GridPoint &point : test::GridOfLargePools()) {
        INFO(test::Describe(point));
        test::Runner runner(point);
        std::atomic<uint32_t> wrong{0};
        uint32_t bodies = 0, ends = 0, others = 0, runs = 0;
        CHECK(runner.Run([&](TaskScheduler &scheduler) {
            Graph graph({});
            uint32_t turns = 0;
            std::atomic<uint32_t> halves{0};
            auto begin = [&](TaskScheduler *) { turns = 0; };
            auto body = [&](TaskScheduler *) { ++bodies; };
            auto half = [&](TaskScheduler *) { ++halves; };
            auto join = [&](TaskScheduler *) { wrong += halves.exchange(0) != 2; };
            auto again = [&](TaskScheduler *) { return ++turns < 10 ? 0u : turns == 10 ? 1u : 2u; };
            auto end = [&](TaskScheduler *) { ++ends; };
            auto other = [&](TaskScheduler *) { ++others; };
            const GraphNode first = graph.AddNode("begin", begin);
            const GraphNode loop = graph.AddNode("body", body);
            const GraphNode left = graph.AddNode("left", half),
                            right = graph.AddNode("right", half);
            const GraphNode both = graph.AddNode("join", join);
            const GraphNode choice = graph.AddCondition("again", again);
            graph.AddEdge(first, loop);
            graph.AddEdges(loop, {left, right});
            graph.AddEdge(left, both);
            graph.AddEdge(right, both);
            graph.AddEdge(both, choice);
            graph.AddEdges(choice,
                           {loop, graph.AddNode("end", end), graph.AddNode("other", other)});
            wrong += graph.Check() != Status::Ok;
            for (; runs < 10; ++runs) wrong += graph.Run(scheduler) != Status::Ok;
            wrong += graph.RunsInFlight();
        }) == Status::Ok);
        CHECK(wrong == 0);
        CHECK(bodies == 10 * runs);
        CHECK(ends == runs);
        CHECK(others == 0);
        CHECK(runner.log.Text() == "");
    }
}

TEST_CASE("condition: a number without an edge ends this way, and a run resets what is half done",
          "[graph]") {
    test::Runner runner(test::Options(2));
    std::atomic<uint32_t> wrong{0}, ran{0};
    CHECK(runner.Run([&](TaskScheduler &scheduler) {
        Graph graph({});
        uint32_t edge = 0;
        auto choose = [&](TaskScheduler *) { return edge; };
        auto count = [&](TaskScheduler *) { ++ran; };
        // `both` needs `side` and `taken`. If `taken` is left out, half of its count stays.
        const GraphNode choice = graph.AddCondition("choice", choose);
        const GraphNode taken = graph.AddNode("taken", count);
        const GraphNode side = graph.AddNode("side", count);
        const GraphNode both = graph.AddNode("both", count);
        graph.AddEdge(choice, taken);
        graph.AddEdge(taken, both);
        graph.AddEdge(side, both);
        wrong += graph.Check() != Status::Ok;
        const auto ranWith = [&](uint32_t chosen) {
            edge = chosen;
            ran = 0;
            wrong += graph.Run(scheduler) != Status::Ok;
            return ran.load();
        };
        for (int i = 0; i < 10; ++i) {
            wrong += ranWith(7) != 1;
            wrong += ranWith(0) != 3;
        }
    }) == Status::Ok);
    CHECK(wrong == 0);
    CHECK(runner.log.Text() == "");
}

TEST_CASE("report BadOption: a node would begin while it runs", "[graph][report]") {
    test::Runner runner(test::Options(1));
    uint32_t wrong = 0, ran = 0, inside = 0;
    CHECK(runner.Run([&](TaskScheduler &scheduler) {
        Graph graph({});
        auto body = [&](TaskScheduler *running) {
            ++ran;
            wrong += ++inside != 1;
            running->Yield();
            running->Yield();
            --inside;
        };
        auto choose = [](TaskScheduler *) { return 0; };
        const GraphNode node = graph.AddNode("body", body);
        for (int i = 0; i < 2; ++i) graph.AddEdge(graph.AddCondition("choose", choose), node);
        wrong += graph.Check() != Status::Ok;
        wrong += graph.Run(scheduler) != Status::Ok;
        wrong += graph.RunsInFlight();
    }) == Status::Ok);
    CHECK(wrong == 0);
    CHECK(ran == 1);
    CHECK(runner.log.CountOf(ReportCode::BadOption) == 1);
}

TEST_CASE("AddGraph: an inner graph runs as one node, in several places", "[graph][grid]") {
    for (const test::GridPoint &point : test::GridOfLargePools()) {
        INFO(test::Describe(point));
        test::Runner runner(point);
        std::atomic<uint32_t> wrong{0}, innerRan{0};
        uint32_t seen = 0, turns = 0;
        CHECK(runner.Run([&](TaskScheduler &scheduler) {
            Graph leaf({}, {"leaf"}), middle({}, {"middle"}), outer({}, {"outer"}), none({});
            auto count = [&](TaskScheduler *, const GraphRun &run) {
                ++innerRan;
                wrong += run.data != &seen;
            };
            GraphNode last{};
            for (int i = 0; i < 3; ++i) {
                const GraphNode node = leaf.AddNode("count", count);
                if (last) leaf.AddEdge(last, node);
                last = node;
            }
            leaf.AddNode("beside", count, test::kLow);
            wrong += leaf.Check() != Status::Ok || none.Check() != Status::Ok;
            // middle: a loop that runs leaf three times
            auto again = [&](TaskScheduler *) { return ++turns % 3 != 0 ? 0 : 1; };
            const GraphNode first = middle.AddNode("first", {Nothing, nullptr});
            const GraphNode loop = middle.AddGraph("leaf", leaf);
            const GraphNode choice = middle.AddCondition("again", again);
            middle.AddEdge(first, loop);
            middle.AddEdge(loop, choice);
            middle.AddEdge(choice, loop);
            wrong += middle.Check() != Status::Ok;
            auto check = [&](TaskScheduler *) { seen = innerRan; };
            const GraphNode a = outer.AddGraph("a", middle), b = outer.AddGraph("b", leaf);
            const GraphNode empty = outer.AddGraph("empty", none);
            const GraphNode end = outer.AddNode("check", check);
            outer.AddEdge(a, b);
            outer.AddEdge(b, empty);
            outer.AddEdge(empty, end);
            wrong += outer.Check() != Status::Ok;
            for (uint32_t run = 1; run <= 10; ++run) {
                wrong += outer.Run(scheduler, &seen) != Status::Ok;
                wrong += seen != run * 16 || innerRan != run * 16;
            }
            wrong += leaf.Run(scheduler, &seen) != Status::Ok;
            wrong += innerRan != 164;
        }) == Status::Ok);
        CHECK(wrong == 0);
        CHECK(runner.log.Text() == "");
    }
}

TEST_CASE("AddGraph: what follows the end of nested graphs has its own priority", "[graph]") {
    test::Runner runner(test::Options(1));
    uint32_t wrong = 0, ran = 0, highAt = 9;
    CHECK(runner.Run([&](TaskScheduler &scheduler) {
        // Two graphs end with a High node. With the priority of that node, the one that follows
        // would not yield to the High task.
        auto high = [&](TaskScheduler *) { highAt = ran; };
        auto last = [&](TaskScheduler *running) {
            ++ran;
            Counter none;
            running->AddTask(MakeTask(high), nullptr, test::kHigh);
            running->WaitForCounter(&none);  // a scheduling point
            ++ran;
        };
        Graph leaf({}), middle({}), outer({});
        leaf.AddNode("high", {Nothing, nullptr}, test::kHigh);
        wrong += leaf.Check() != Status::Ok;
        middle.AddGraph("leaf", leaf);
        wrong += middle.Check() != Status::Ok;
        outer.AddEdge(outer.AddGraph("middle", middle), outer.AddNode("last", last));
        wrong += outer.Check() != Status::Ok;
        wrong += outer.Run(scheduler) != Status::Ok;
    }) == Status::Ok);
    CHECK(wrong == 0);
    CHECK(highAt == 1);
}

TEST_CASE("Graph::Check: names the nodes of a cycle and those that nothing leads to", "[graph]") {
    test::ReportLog log;
    SchedulerOptions options;
    log.AttachTo(options);
    Graph cycle(options, {"frame"}), lost(options, {"lost"});
    const Task nothing{Nothing, nullptr};
    const GraphNode a = cycle.AddNode("think", nothing), b = cycle.AddNode("move", nothing),
                    c = cycle.AddNode("draw", nothing), d = cycle.AddNode("after", nothing);
    cycle.AddEdge(a, b);
    cycle.AddEdge(b, c);
    cycle.AddEdge(c, b);
    cycle.AddEdge(c, d);
    CHECK(cycle.Check() == Status::BadOption);
    CHECK(std::string(cycle.Error()) == "graph 'frame' has a cycle: move -> draw -> move");
    CHECK(log.First(ReportCode::BadOption).what == cycle.Error());
    auto choose = [](TaskScheduler *) { return 0; };
    const GraphNode e = lost.AddCondition("e", choose), f = lost.AddNode("f", nothing);
    lost.AddEdge(e, f);
    lost.AddEdge(e, e);
    lost.AddNode("g", nothing);
    CHECK(lost.Check() == Status::BadOption);
    CHECK(std::string(lost.Error()) == "graph 'lost': no path leads to e, f");
    CHECK(lost.Check() == Status::BadOption);
    CHECK(log.Count() == 2);
}

TEST_CASE("Graph: misuse is reported and has no effect", "[graph][report]") {
    test::Runner runner(test::Options(1));
    SchedulerOptions options;
    runner.log.AttachTo(options);
    const Task nothing{Nothing, nullptr};
    uint32_t codes = 0;
    const auto isReported = [&](ReportCode code, const char *part) {
        ++codes;
        return runner.log.Count() == codes && test::Names(runner.log.Text(), part) &&
               runner.log.CountOf(code) != 0;
    };
    {
        Graph graph(options);
        CHECK(!graph.AddNode("empty", Task{nullptr, nullptr}));
        CHECK(isReported(ReportCode::NullTask, "node 'empty' of graph 'graph' has no function"));
        CHECK(graph.Check() == Status::BadOption);
    }
    {
        Graph graph(options);
        TaskOptions bad;
        bad.priority = static_cast<Priority>(9);
        CHECK(!graph.AddNode("bad", nothing, bad));
        CHECK(isReported(ReportCode::BadOption, "TaskOptions::priority of node 'bad'"));
    }
    {
        Graph graph(options, {"mine"}), other(options);
        const GraphNode own = graph.AddNode("own", nothing), stranger = other.AddNode("x", nothing);
        CHECK(!graph.AddEdge(own, stranger));
        CHECK(isReported(ReportCode::BadOption, "the node after the edge is of another graph"));
        CHECK(!graph.AddEdge({}, own));
        CHECK(isReported(ReportCode::BadOption, "the node before the edge was refused"));
    }
    {
        Graph graph(options, {"many", 65});
        CHECK(graph.Check() == Status::BadOption);
        CHECK(isReported(ReportCode::BadOption, "maxRuns is 65"));
    }
    {
        Graph inner(options), outer(options);
        outer.AddGraph("early", inner);
        CHECK(outer.Check() == Status::BadOption);
        CHECK(isReported(ReportCode::BadOption, "inner graph of node 'early'"));
    }
    Graph graph(options, {"game"});
    Status unchecked = Status::Ok, inFlight = Status::Ok, badWorker = Status::Ok;
    CHECK(runner.Run([&](TaskScheduler &scheduler) { unchecked = graph.Run(scheduler); }) ==
          Status::Ok);
    CHECK(unchecked == Status::BadOption);
    CHECK(isReported(ReportCode::BadOption, "graph 'game' has not been checked"));
    Graph pinned(options, {"pinned"});
    TaskOptions far;
    far.worker = 999;
    pinned.AddNode("far", nothing, far);
    CHECK(pinned.Check() == Status::Ok);
    Status inner = Status::Ok;
    auto again = [&](TaskScheduler *scheduler) { inner = graph.Run(*scheduler); };
    graph.AddNode("again", again);
    CHECK(graph.Check() == Status::Ok);
    CHECK(graph.Check() == Status::Ok);
    CHECK(!graph.AddNode("late", nothing));
    CHECK(isReported(ReportCode::BadOption, "graph 'game' has been checked already"));
    CHECK(runner.Run([&](TaskScheduler &scheduler) {
        inFlight = graph.Run(scheduler);
        badWorker = pinned.Run(scheduler);
    }) == Status::Ok);
    CHECK(inFlight == Status::Ok);
    CHECK(inner == Status::AlreadyRunning);
    ++codes;
    CHECK(test::Names(runner.log.Text(), "1 runs of graph 'game' are in flight already"));
    CHECK(badWorker == Status::BadOption);
    CHECK(isReported(ReportCode::BadOption, "is 999; workers are"));
    CHECK(graph.Run(runner.scheduler) == Status::NotRunning);
    CHECK(isReported(ReportCode::NotRunning, "AddTasksAndWait"));
    CHECK(graph.RunAsync(runner.scheduler, nullptr) == Status::NotRunning);
    CHECK(isReported(ReportCode::NotRunning, "Graph::RunAsync"));
    CHECK(graph.RunsInFlight() == 0);
}

TEST_CASE("report BadOption: a node of a TaskGroup, whatever its neighbours are",
          "[graph][report]") {
    test::Runner runner(test::Options(1));
    SchedulerOptions options;
    runner.log.AttachTo(options);
    TaskGroup group(runner.scheduler);
    TaskOptions ofGroup;
    ofGroup.taskGroup = &group;
    for (uint32_t place = 0; place < 3; ++place) {
        INFO(place);
        Graph graph(options, {"grouped"});
        bool isRefused = false;
        for (uint32_t i = 0; i < 3; ++i) {
            if (i == place) {
                isRefused = !graph.AddNode("of a group", {Nothing, nullptr}, ofGroup);
            } else {
                graph.AddNode("other", {Nothing, nullptr});
            }
        }
        CHECK(isRefused);
        CHECK(graph.Check() == Status::BadOption);
        CHECK(test::Names(graph.Error(), "node 'of a group' of graph 'grouped' cannot belong"));
        CHECK(runner.log.CountOf(ReportCode::BadOption) == place + 1);
    }
    CHECK(runner.log.Count() == 3);
}

TEST_CASE("fault: Graph: without memory, Check says OutOfMemory, also after a refused node",
          "[graph][oom]") {
    for (const int64_t count : {int64_t{1}, INT64_MAX}) {
        Status status = Status::OutOfMemory;
        int64_t nth = 0;
        for (; nth < 100 && status == Status::OutOfMemory; ++nth) {
            const test::FailingAllocation failing(nth, count);
            test::ReportLog log;
            SchedulerOptions options;
            log.AttachTo(options);
            Graph graph(options);
            GraphNode before = graph.AddNode("first", {Nothing, nullptr});
            for (uint32_t i = 0; i < 20; ++i) {  // more than an array has room for at first
                const GraphNode after = graph.AddNode("next", {Nothing, nullptr});
                graph.AddEdge(before, after);
                before = after;
            }
            status = graph.Check();
            CHECK(graph.Check() == status);
            CHECK((log.CountOf(ReportCode::OutOfMemory) != 0) == failing.HasFailed());
            CHECK((status == Status::Ok) == !failing.HasFailed());
        }
        CHECK(status == Status::Ok);
        CHECK(nth > 8);
    }
}

TEST_CASE("Graph::WriteDot: a name that is not UTF-8 is escaped", "[graph]") {
    Graph graph({}, {"f\xfcr"});
    graph.AddNode("\xc3\xbc \xe2\x82\xac\xf0\x9f\x8e\xae \xe2\x82", {Nothing, nullptr});
    graph.AddNode("\xc0\xaf\xed\xa0\x80", {Nothing, nullptr});
    std::string text;
    graph.WriteDot([](void *user, const char *part,
                      size_t bytes) { static_cast<std::string *>(user)->append(part, bytes); },
                   &text);
    CHECK(text ==
          "digraph \"f\\\\xfcr\" {\n"
          "  compound=true;\n"
          "  n0 [label=\"\xc3\xbc \xe2\x82\xac\xf0\x9f\x8e\xae \\\\xe2\\\\x82\", shape=box];\n"
          "  n1 [label=\"\\\\xc0\\\\xaf\\\\xed\\\\xa0\\\\x80\", shape=box];\n"
          "}\n");
}

TEST_CASE("Graph::WriteDot: shows nodes, conditions and inner graphs", "[graph]") {
    Graph inner({}, {"inner"}), graph({}, {"a \"frame\""});
    const Task nothing{Nothing, nullptr};
    auto choose = [](TaskScheduler *) { return 0; };
    const GraphNode x = inner.AddNode("x", nothing), y = inner.AddNode("y", nothing);
    inner.AddEdge(x, y);
    const GraphNode a = graph.AddNode("a", nothing), b = graph.AddCondition("b?", choose);
    graph.AddEdge(a, b);
    graph.AddEdges(b, {a, graph.AddGraph("in", inner)});
    std::string text;
    graph.WriteDot([](void *user, const char *part,
                      size_t bytes) { static_cast<std::string *>(user)->append(part, bytes); },
                   &text);
    CHECK(text ==
          "digraph \"a \\\"frame\\\"\" {\n"
          "  compound=true;\n"
          "  n0 [label=\"a\", shape=box];\n"
          "  n1 [label=\"b?\", shape=diamond];\n"
          "  subgraph cluster_n2 {\n"
          "    label=\"in (inner)\";\n"
          "    n2 [label=\"in\", shape=point];\n"
          "    n2_0 [label=\"x\", shape=box];\n"
          "    n2_1 [label=\"y\", shape=box];\n"
          "    n2_0 -> n2_1;\n"
          "  }\n"
          "  n0 -> n1;\n"
          "  n1 -> n0 [label=\"0\", style=dashed];\n"
          "  n1 -> n2 [label=\"1\", style=dashed, lhead=cluster_n2];\n"
          "}\n");
}
