// Models of graphs: each node runs once in each run, after all of its predecessors, and sees what
// they wrote.
#include "simulator/model_support.h"
#include "simulator/models.h"
#include "weft/graph/graph.h"

#include <memory>

namespace simulator {

namespace {

constexpr uint32_t kMaxNodes = 9, kMaxRuns = 2;

// A node of a model. In each run it must begin after all of its predecessors have ended.
struct ModelNode {
    uint32_t index = 0;
    uint32_t before = 0;  // a bit for each predecessor
    ModelNode *all = nullptr;
    Cell ended[kMaxRuns];  // by how many runs in this place
    uint32_t begun[kMaxRuns] = {}, rounds[kMaxRuns] = {};

    void operator()(TaskScheduler *scheduler, const GraphRun &run) {
        const uint32_t round = rounds[run.index] + 1;
        Check(++begun[run.index] == round, "a node began twice in one run");
        for (uint32_t i = 0; i < kMaxNodes; ++i) {
            if ((before >> i & 1) != 0)
                Check(all[i].ended[run.index].Get() == round,
                      "a node does not see the end of a predecessor");
        }
        if (Random(8) == 0) scheduler->Yield();
        rounds[run.index] = round;
        ended[run.index].Set(round);
    }
};

struct ModelGraph {
    ModelGraph(uint32_t count, uint32_t maxRuns) : size(count), graph({}, {"model", maxRuns}) {
        GraphNode added[kMaxNodes];
        for (uint32_t i = 0; i < count; ++i) {
            nodes[i].index = i;
            nodes[i].all = nodes;
            TaskOptions options;
            if (Random(6) == 0) options.priority = AnyPriority();
            if (Random(12) == 0) options.worker = 0;
            added[i] = graph.AddNode("node", nodes[i], options);
            for (uint32_t j = 0; j < i; ++j) {
                if (Random(3) != 0) continue;
                graph.AddEdge(added[j], added[i]);
                nodes[i].before |= 1u << j;
            }
        }
        Check(graph.Check() == Status::Ok, "Check failed");
    }
    void AllRan(uint32_t runs) const {
        for (uint32_t i = 0; i < size; ++i) {
            uint32_t sum = 0;
            for (uint32_t round : nodes[i].rounds) sum += round;
            Check(sum == runs, "a node did not run");
        }
    }

    const uint32_t size;
    ModelNode nodes[kMaxNodes];
    Graph graph;
};

// Runs of a random graph, one after the other or two at once. A node that a weaker order, a lost
// arrival or a wrong reset of its count lets begin too early, twice or never is a failure.
void GraphRuns() {
    RunMain(Options(1 + Random(3), 18), [](TaskScheduler *scheduler) {
        const uint32_t maxRuns = 1 + Random(kMaxRuns);
        const auto model = std::make_unique<ModelGraph>(1 + Random(kMaxNodes), maxRuns);
        uint32_t runs = 0;
        for (uint32_t round = 1 + Random(3); round != 0; --round) {
            if (maxRuns == 2 && Random(2) != 0) {
                Counter counter;
                for (int i = 0; i < 2; ++i)
                    Check(model->graph.RunAsync(*scheduler, &counter) == Status::Ok, "RunAsync");
                scheduler->WaitForCounter(&counter);
                runs += 2;
            } else {
                Check(model->graph.Run(*scheduler) == Status::Ok, "Run");
                ++runs;
            }
            Check(model->graph.RunsInFlight() == 0, "a run has not ended");
        }
        model->AllRan(runs);
    });
}

// A loop around two nodes that run at the same time, in an inner graph of another graph. The loop
// must end after its turns, and the end must see all of them.
void GraphLoops() {
    RunMain(Options(1 + Random(3), 18), [](TaskScheduler *scheduler) {
        const uint32_t turns = 1 + Random(4);
        Graph inner({}, {"inner"}), outer({}, {"outer"});
        Cell left, right, beside, ended;
        uint32_t turn = 0;
        auto nothing = [](TaskScheduler *) {};
        auto work = [](Cell &cell) { return [&cell](TaskScheduler *) { cell.Add(1); }; };
        auto leftWork = work(left), rightWork = work(right);
        auto again = [&](TaskScheduler *) {
            ++turn;
            Check(left.Get() == turn && right.Get() == turn, "the turn is not visible");
            return turn % turns != 0 ? 0u : 1u;
        };
        auto alone = work(beside);
        uint32_t runs = 0;
        auto end = [&](TaskScheduler *) {
            Check(beside.Get() == ++runs, "the end does not see a node beside the loop");
            ended.Set(turn);
        };
        const GraphNode first = inner.AddNode("first", nothing),
                        head = inner.AddNode("head", nothing);
        const GraphNode a = inner.AddNode("a", leftWork), b = inner.AddNode("b", rightWork);
        const GraphNode choice = inner.AddCondition("again", again);
        inner.AddEdge(first, head);
        inner.AddEdges(head, {a, b});
        inner.AddEdge(a, choice);
        inner.AddEdge(b, choice);
        inner.AddEdge(choice, head);
        inner.AddEdge(choice, inner.AddNode("done", nothing));
        inner.AddEdge(first, inner.AddNode("beside", alone));
        Check(inner.Check() == Status::Ok, "Check");
        outer.AddEdge(outer.AddGraph("inner", inner), outer.AddNode("end", end));
        Check(outer.Check() == Status::Ok, "Check");
        for (uint32_t run = 1; run <= 2; ++run) {
            Check(outer.Run(*scheduler) == Status::Ok, "Run");
            Check(ended.Get() == run * turns, "the end does not see the loop");
            Check(outer.RunsInFlight() == 0, "a run has not ended");
        }
    });
}

// Two conditions lead to the same node at about the same time, which is a mistake. It must not run
// twice at once. If it runs twice one after the other, the second time must see the first one.
void GraphTwice() {
    RunMain(Options<ReportCode::BadOption>(2 + Random(2), 18), [](TaskScheduler *scheduler) {
        Graph graph({}, {"twice"});
        Traced data;
        bool isInside = false;
        uint32_t ran = 0;
        auto choose = [](TaskScheduler *) { return 0; };
        auto body = [&](TaskScheduler *) {
            Check(!isInside, "a node runs twice at once");
            isInside = true;
            data.Use(++ran);
            weft::env::SchedulePoint(nullptr);
            isInside = false;
        };
        const GraphNode node = graph.AddNode("body", body);
        graph.AddEdge(graph.AddCondition("left", choose), node);
        graph.AddEdge(graph.AddCondition("right", choose), node);
        Check(graph.Check() == Status::Ok, "Check");
        Check(graph.Run(*scheduler) == Status::Ok, "Run");
        Check(ran == 1 || ran == 2, "the node did not run");
        Check(graph.RunsInFlight() == 0, "the run has not ended");
    });
}

}  // namespace

std::vector<Model> GraphModels() {
    return {
        {"graph_runs", "runs of random graphs, several in flight", GraphRuns, 2},
        {"graph_loops", "a loop of conditions in an inner graph", GraphLoops, 2},
        {"graph_twice", "two conditions lead to one node at the same time", GraphTwice, 2},
    };
}

}  // namespace simulator
