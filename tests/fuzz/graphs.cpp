// Graphs: random ones with several runs in flight, and one with conditions and inner graphs.
#include "weft/graph/graph.h"

#include "fuzz/script.h"
#include "weft/data/task_group.h"

#include <memory>

namespace fuzz {

using namespace weft;

namespace {

constexpr uint32_t kMostNodes = 12, kMostRuns = 3;

// The data of one run.
struct Flight {
    uint32_t index = ~0u;                 // that of its GraphRun; written by the first node
    uint32_t finished[kMostNodes + 1]{};  // plain: the edges order the accesses
};

// A node of a random graph.
struct CheckedNode {
    World *world;
    uint32_t index;
    uint32_t before = 0;  // a bit for each node that comes before
    bool yields = false, throws = false;

    static void Run(TaskScheduler *scheduler, const GraphRun &run, void *arg) {
        const CheckedNode &self = *static_cast<CheckedNode *>(arg);
        Flight &flight = *static_cast<Flight *>(run.data);
        if (self.index == 0) flight.index = run.index;
        Require(run.index < kMostRuns && flight.index == run.index, "the index of a run");
        for (uint32_t i = 0; i < self.index; ++i)
            Require((self.before >> i & 1) == 0 || flight.finished[i] == 1,
                    "a node began before another one that comes before it");
        if (self.yields) scheduler->Yield();
        Require(flight.finished[self.index]++ == 0, "a node ran twice");
        if (!self.throws) return;
        self.world->oracle.willThrow.fetch_add(1);
        throw self.index;
    }
};

// The data of a run of the graph with conditions.
struct Turns {
    uint32_t turns, chosen;  // how often the loop turns; which edge is followed after it
    std::atomic<uint32_t> begun{0}, inner{0}, side{0}, targets[3]{}, joined{0}, ended{0};
    uint32_t turn = 0;  // plain: the edges order the accesses

    static Turns &Of(const GraphRun &run) { return *static_cast<Turns *>(run.data); }
    void Check(uint32_t innerNodes) const {
        Require(begun.load() == 1 && side.load() == 1 && turn == turns, "a loop in a graph");
        Require(inner.load() == innerNodes * turns, "how often the nodes of an inner graph ran");
        for (uint32_t i = 0; i < 3; ++i)
            Require(targets[i].load() == (i == chosen ? 1 : 0), "the edge of a condition");
        Require(joined.load() == targets[0].load(), "a node began that a condition has left out");
        Require(ended.load() == (chosen < 3 ? 1 : 0), "the inner graph behind a condition");
    }
};

void Nothing(TaskScheduler *, void *) {}

}  // namespace

void Script::RunGraph() {
    const uint32_t count = m_bytes.Below(kMostNodes + 1), runs = 1 + m_bytes.Below(kMostRuns),
                   how = m_bytes.Next();
    if (!m_mayWait) return;
    CheckedNode nodes[kMostNodes + 1];
    GraphNode added[kMostNodes + 1];
    Graph graph(m_world.options, {"fuzz", runs});
    const auto add = [&](uint32_t i, const TaskOptions &options) {
        nodes[i].world = &m_world;
        nodes[i].index = i;
        added[i] = graph.AddNode("node", CheckedNode::Run, &nodes[i], options);
        Require(static_cast<bool>(added[i]), "a node was refused");
    };
    add(0, {});
    for (uint32_t i = 1; i <= count; ++i) {
        const uint32_t byte = m_bytes.Next();
        add(i, byte < 64 ? TaskOptions() : Options());
        // Some of the five nodes before it. The first node writes the index of the run.
        nodes[i].before = (((byte % 32) << (i < 5 ? 0 : i - 5)) & ((1u << i) - 1)) | 1;
        nodes[i].yields = (byte & 32) != 0;
        nodes[i].throws = byte == 255;
        for (uint32_t before = 0; before < i; ++before)
            if ((nodes[i].before >> before & 1) != 0)
                Require(graph.AddEdge(added[before], added[i]), "an edge was refused");
    }
    if ((how & 64) != 0 && count != 0) Require(graph.AddEdge(added[0], added[1]), "an edge twice");
    Require(graph.Check() == Status::Ok && graph.Error()[0] == 0, "a graph was refused");
    for (uint32_t round = 0; round <= how % 3; ++round) {
        Flight flights[kMostRuns];
        Counter running;
        // The last one may be a run that the script waits for.
        const bool waits = (how & 4) != 0;
        for (uint32_t i = 0; i < runs - (waits ? 1 : 0); ++i)
            Require(graph.RunAsync(m_scheduler, &running, &flights[i]) == Status::Ok, "RunAsync");
        if (waits)
            Require(graph.Run(m_scheduler, &flights[runs - 1]) == Status::Ok, "Run of a graph");
        for (uint32_t i = 0; i <= count && waits; ++i)
            Require(flights[runs - 1].finished[i] == 1, "Run returned before a node has run");
        m_scheduler.WaitForCounter(&running);
        Require(graph.RunsInFlight() == 0, "a run is in flight that has ended");
        for (uint32_t run = 0; run < runs; ++run)
            for (uint32_t i = 0; i <= count; ++i)
                Require(flights[run].finished[i] == 1, "a node has not run in a run that ended");
    }
}

//   start -> loop (inner graph) -> again? -> loop | choose? -> target 0 | target 1 | target 2
//   target 0 and side -> join;  each target -?-> end (inner graph)
void Script::RunConditions() {
    const uint32_t innerNodes = m_bytes.Below(6), shape = m_bytes.Next(), runs = 1 + shape % 2,
                   how = m_bytes.Next();
    const TaskOptions options = Options();
    if (!m_mayWait) return;
    auto ofInner = [](TaskScheduler *, const GraphRun &run) { Turns::Of(run).inner.fetch_add(1); };
    auto start = [](TaskScheduler *, const GraphRun &run) { Turns::Of(run).begun.fetch_add(1); };
    auto side = [](TaskScheduler *, const GraphRun &run) { Turns::Of(run).side.fetch_add(1); };
    auto join = [](TaskScheduler *, const GraphRun &run) { Turns::Of(run).joined.fetch_add(1); };
    auto end = [](TaskScheduler *, const GraphRun &run) { Turns::Of(run).ended.fetch_add(1); };
    auto again = [innerNodes](TaskScheduler *, const GraphRun &run) {
        Turns &turns = Turns::Of(run);
        ++turns.turn;
        Require(turns.inner.load() == innerNodes * turns.turn, "an inner graph has not ended");
        return turns.turn < turns.turns ? 0 : 1;
    };
    auto choose = [](TaskScheduler *, const GraphRun &run) { return Turns::Of(run).chosen; };
    auto always = [](TaskScheduler *) { return 0; };
    struct Target {
        uint32_t number;
        void operator()(TaskScheduler *, const GraphRun &run) {
            Turns::Of(run).targets[number].fetch_add(1);
        }
    } targets[3] = {{0}, {1}, {2}};

    Graph leaf(m_world.options, {"leaf"}), middle(m_world.options, {"middle"}),
        graph(m_world.options, {"outer", runs});
    GraphNode last;
    for (uint32_t i = 0; i < innerNodes; ++i) {
        const GraphNode node =
            leaf.AddNode("inner", ofInner, (how >> i & 1) != 0 ? options : TaskOptions());
        if (i != 0 && (shape >> (i + 1) & 1) != 0) leaf.AddEdge(last, node);
        last = node;
    }
    // The loop runs `leaf`, or `middle`, which runs `leaf`.
    const GraphNode only = middle.AddGraph("leaf", leaf);
    middle.AddEdge(middle.AddNode("before", {Nothing, nullptr}), only);
    Graph tail(m_world.options, {"tail"});
    tail.AddNode("end", end);
    Require(
        leaf.Check() == Status::Ok && middle.Check() == Status::Ok && tail.Check() == Status::Ok,
        "an inner graph was refused");
    const GraphNode first = graph.AddNode("start", start, options),
                    loop = graph.AddGraph("loop", (shape & 2) != 0 ? middle : leaf),
                    turn = graph.AddCondition("again?", again, options),
                    choice = graph.AddCondition("choose?", choose),
                    beside = graph.AddNode("side", side, options),
                    both = graph.AddNode("join", join), behind = graph.AddGraph("end", tail);
    graph.AddEdge(first, loop);
    graph.AddEdge(loop, turn);
    graph.AddEdges(turn, {loop, choice});
    for (Target &each : targets) {
        const GraphNode node = graph.AddNode("target", each, options),
                        go = graph.AddCondition("go", always);
        graph.AddEdge(choice, node);
        graph.AddEdge(node, go);
        graph.AddEdge(go, behind);
        if (each.number == 0) graph.AddEdges(node, {both});
    }
    graph.AddEdge(beside, both);
    Require(graph.Check() == Status::Ok, "a graph with conditions was refused");
    for (uint32_t round = 0; round <= how % 3; ++round) {
        Turns data[2];
        Counter running;
        for (uint32_t i = 0; i < runs; ++i) {
            data[i].turns = 1 + (how + i) % 4;
            data[i].chosen = (shape + i + round) % 4;
            Require(graph.RunAsync(m_scheduler, &running, &data[i]) == Status::Ok, "RunAsync");
        }
        m_scheduler.WaitForCounter(&running);
        for (uint32_t i = 0; i < runs; ++i) data[i].Check(innerNodes);
        Require(graph.RunsInFlight() == 0, "a run with conditions is in flight");
    }
}

void Script::MistakeInGraphs() {
    const uint32_t kind = m_bytes.Below(16), n = m_bytes.Next();
    Oracle &oracle = m_world.oracle;
    const SchedulerOptions &options = m_world.options;
    const auto never = [](TaskScheduler *, void *) {
        Finding("a node of a refused graph has run");
    };
    const Task task{never, nullptr};
    auto zero = [](TaskScheduler *) { return 0; };
    const auto refuse = [&](auto call) { oracle.Expect(ReportCode::BadOption, call); };
    const uint32_t maxRuns = kind == 5 ? (n % 2 == 0 ? 0 : 65 + n) : 1;
    Graph graph(options, {"mistake", maxRuns}), other(options);
    TaskOptions special;
    if (kind == 1) special.priority = static_cast<Priority>(3 + n % 253);
    if (kind == 11) special.worker = m_world.options.workers + m_world.options.maxAttached + n;
    TaskGroup group(m_scheduler);
    if (kind == 12) special.taskGroup = &group;
    const GraphNode stranger = other.AddNode("stranger", task);
    if (kind == 0) {
        oracle.Expect(ReportCode::NullTask, [&] {
            Require(!graph.AddNode("none", Task{nullptr, nullptr}), "a node without a function");
        });
    } else if (kind == 1 || kind == 12) {
        refuse(
            [&] { Require(!graph.AddNode("wrong", task, special), "a wrong option of a node"); });
    } else {
        const GraphNode a = graph.AddNode("a", task, special), b = graph.AddNode("b", task);
        if (kind == 2) refuse([&] { Require(!graph.AddEdge(a, stranger), "a stranger"); });
        if (kind == 3) refuse([&] { Require(!graph.AddEdges({}, {b}), "an edge from nothing"); });
        if (kind == 4) graph.AddGraph("early", other);
        if (kind == 6 || kind == 7) {
            graph.AddEdge(a, b);
            graph.AddEdge(b, kind == 6 ? a : b);
        }
        if (kind == 8) {
            const GraphNode condition = graph.AddCondition("loop", zero);
            graph.AddEdge(condition, condition);
        }
    }
    if (kind >= 4 && kind <= 8) {
        refuse([&] { Require(graph.Check() == Status::BadOption, "a graph that cannot be"); });
    }
    if (kind <= 8 || kind == 12) {
        Require(graph.Error()[0] != 0, "a refused graph has no error");
        Require(graph.Check() == Status::BadOption, "a refused graph was accepted");
    } else if (kind != 9) {
        Require(graph.Check() == Status::Ok && graph.Check() == Status::Ok, "a graph was refused");
    }
    Counter counter;
    if (kind == 10)
        refuse([&] { Require(!graph.AddNode("late", task), "a node after the check"); });
    if (kind <= 9 || kind == 11 || kind == 12) {
        refuse([&] {
            Require((n % 2 != 0 && m_mayWait
                         ? graph.Run(m_scheduler)
                         : graph.RunAsync(m_scheduler, &counter)) == Status::BadOption,
                    "a graph ran that cannot");
        });
    }
    if (kind == 13)
        oracle.Expect(ReportCode::NotRunning, [&] {
            Require((n % 2 == 0 ? graph.Run(*m_world.idle)
                                : graph.RunAsync(*m_world.idle, &counter)) == Status::NotRunning,
                    "a graph ran without a scheduler");
        });
    if (kind == 14 && m_world.other != nullptr)
        oracle.Expect(ReportCode::WrongScheduler, [&] {
            Require(graph.RunAsync(m_scheduler, &m_world.held) != Status::Ok,
                    "a run is counted by another scheduler");
        });
    Require(counter.IsZero() && graph.RunsInFlight() == 0 && group.IsZero() &&
                m_world.held.Value() >= 2,
            "a mistake has changed a graph or a counter");
    if (kind != 15 || !m_mayWait) return;
    // A node that wants to run its own graph, of which a run is in flight.
    Graph own(options);
    uint32_t ran = 0;
    auto again = [&](TaskScheduler *running) {
        ++ran;
        refuse([&] {
            Require(own.RunAsync(*running, &counter) == Status::AlreadyRunning, "a second run");
        });
    };
    own.AddNode("again", again);
    Require(own.Check() == Status::Ok, "a graph was refused");
    for (uint32_t run = 1; run <= 2; ++run) {
        Require(own.Run(m_scheduler) == Status::Ok && own.RunsInFlight() == 0 && ran == run,
                "a mistake in a node has changed its run");
    }
    Require(counter.IsZero(), "a second run is counted");
}

}  // namespace fuzz
