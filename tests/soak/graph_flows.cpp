// Nodes (graph.h) that use task groups, weft::Graph, pipelines and AsyncIo. Figures::tasks does not
// count the tasks of these layers.
#include "soak/graph.h"

#include "weft/algorithms/parallel_pipeline.h"
#include "weft/data/task_group.h"
#include "weft/deferred.h"
#include "weft/graph/graph.h"
#if defined(SOAK_HAS_IO)
#include "weft/io/async_io.h"

#include <sys/mman.h>
#include <unistd.h>
#endif

#include <memory>

namespace soak {

using namespace weft;
using std::chrono::microseconds;

// Two groups, one below the other. A task or the caller may cancel one while tasks of both run, are
// ready, or wait for a gate or a time.
void Graph::Groups(TaskScheduler &scheduler, Node &, Random &random) {
    struct Part {
        TaskGroup *group, *cancelled;
        std::atomic<uint32_t> ran{0};
        static void Run(TaskScheduler *, void *arg) {
            Part &part = *static_cast<Part *>(arg);
            part.ran.fetch_add(1);
            if (part.cancelled != nullptr) part.cancelled->Cancel();
        }
    };
    Counter gate(1);
    TaskGroup top(scheduler), below(scheduler, &top);
    const uint32_t count = 1 + random.Below(40);
    const std::unique_ptr<Part[]> parts(new Part[count]);
    const uint32_t cancels = random.OneIn(2) ? count : random.Below(count);
    for (uint32_t i = 0; i < count; ++i) {
        parts[i].group = random.OneIn(2) ? &top : &below;
        parts[i].cancelled = i != cancels ? nullptr : random.OneIn(2) ? &top : &below;
        TaskOptions options = Options(random);
        options.name = "grouped";
        options.taskGroup = parts[i].group;
        const Task task{Part::Run, &parts[i]};
        if (random.OneIn(3)) {
            AddTaskAfter(scheduler, &gate, 0, task, nullptr, options);
        } else if (random.OneIn(4)) {
            AddTaskAt(scheduler, Now() + microseconds(random.Below(200)), task, nullptr, options);
        } else {
            scheduler.AddTask(task, nullptr, options);
        }
    }
    if (random.OneIn(4)) below.Cancel();
    scheduler.DecrementCounter(&gate);
    for (TaskGroup *group : {&below, &top}) {
        CountWait();
        const GroupResult result = group->Wait();
        uint32_t ran = 0, all = 0;
        for (uint32_t i = 0; i < count; ++i) {
            if (parts[i].group != group) continue;
            ++all;
            ran += parts[i].ran.load();
        }
        if (ran + group->SkippedCount() != all)
            m_figures.Fail("of %u tasks of a group %u ran and %u were skipped", all, ran,
                           group->SkippedCount());
        if (group->SkippedCount() != 0 && result != GroupResult::Cancelled)
            m_figures.Fail("a group that was not cancelled has skipped tasks");
    }
    if (top.IsCancelled() && !below.IsCancelled())
        m_figures.Fail("a group below a cancelled one is not cancelled");
}

// A random graph with several runs in flight. Each node must begin after its predecessors.
void Graph::Runs(TaskScheduler &scheduler, Node &, Random &random) {
    constexpr uint32_t kMost = 24, kMaxRuns = 3, kEdges = 3;
    struct Part {
        Figures *figures;
        uint32_t number, edges, before[kEdges];
        static void Run(TaskScheduler *, const GraphRun &run, void *arg) {
            const Part &part = *static_cast<Part *>(arg);
            uint32_t *const finished = static_cast<uint32_t *>(run.data);  // plain
            for (uint32_t i = 0; i < part.edges; ++i)
                if (finished[part.before[i]] != 1)
                    part.figures->Fail("a node of a graph began before another one had finished");
            ++finished[part.number];
        }
    };
    const uint32_t count = 1 + random.Below(kMost), runs = 1 + random.Below(kMaxRuns);
    weft::Graph graph(m_options, {"runs", runs});
    Part parts[kMost];
    GraphNode nodes[kMost];
    for (uint32_t i = 0; i < count; ++i) {
        parts[i] = {&m_figures, i, i == 0 ? 0 : random.Below(kEdges + 1), {}};
        nodes[i] = graph.AddNode("part", Part::Run, &parts[i],
                                 random.OneIn(3) ? Options(random) : TaskOptions());
        for (uint32_t edge = 0; edge < parts[i].edges; ++edge) {
            parts[i].before[edge] = random.Below(i);
            graph.AddEdge(nodes[parts[i].before[edge]], nodes[i]);
        }
    }
    if (graph.Check() != Status::Ok) return m_figures.Fail("Graph::Check: %s", graph.Error());
    for (uint32_t round = 1 + random.Below(4); round != 0; --round) {
        uint32_t finished[kMaxRuns][kMost]{};
        Counter running;
        for (uint32_t run = 0; run < runs; ++run)
            if (graph.RunAsync(scheduler, &running, finished[run]) != Status::Ok)
                m_figures.Fail("Graph::RunAsync: refused");
        Await(scheduler, running, random);
        for (uint32_t run = 0; run < runs; ++run)
            for (uint32_t i = 0; i < count; ++i)
                if (finished[run][i] != 1)
                    m_figures.Fail("node %u of a graph ran %u times", i, finished[run][i]);
    }
}

// Each item must pass all filters, the last one in the order of the input.
void Graph::Pipes(TaskScheduler &scheduler, Node &, Random &random) {
    struct Item {
        uint32_t number, passed;
    };
    constexpr uint32_t kMost = 8;
    PipelineSlot<Item> slots[kMost];
    const uint32_t tokens = 1 + random.Below(kMost), count = random.Below(200);
    PipelineOptions options;
    options.priority = static_cast<Priority>(random.Below(3));
    uint32_t read = 0, counted = 0, written = 0;  // plain
    CountWait();
    ParallelPipeline(
        scheduler, options, slots, tokens,
        [&](Item &item) {
            item = {read, 0};
            return read != count && ++read != 0;
        },
        ParallelFilter([](Item &item) { ++item.passed; }), SerialFilter([&](Item &) { ++counted; }),
        InOrderFilter([&](Item &item) {
            if (item.number != written || item.passed != 1)
                m_figures.Fail("item %u of a pipeline came in place of %u", item.number, written);
            ++written;
        }));
    if (counted != count || written != count)
        m_figures.Fail("%u and %u of %u items have passed a pipeline", counted, written, count);
}

// Children write to a file and read it again. This is rare, because it starts a thread.
void Graph::Files(TaskScheduler &scheduler, Node &node, Random &random) {
#if defined(SOAK_HAS_IO)
    if (!random.OneIn(8)) return Fork(scheduler, node, random);
    struct Store {
        AsyncIo &io;
        const int file;
        static void Use(Graph &graph, TaskScheduler &scheduler, Node &node) {
            Store &self = *static_cast<Store *>(node.with);
            const Permit permit(graph, scheduler);
            if (!permit) return;
            uint64_t value = 0;
            const int64_t place = node.number * int64_t{sizeof value};
            graph.CountWait();
            const int64_t wrote = self.io.Write(self.file, &node.seed, sizeof value, place);
            graph.CountWait();
            const int64_t read = self.io.Read(self.file, &value, sizeof value, place);
            if (wrote != 8 || read != 8 || value != node.seed)
                graph.TheFigures().Fail("AsyncIo: write %lld, read %lld (8), value %llx (%llx)",
                                        static_cast<long long>(wrote), static_cast<long long>(read),
                                        static_cast<unsigned long long>(value),
                                        static_cast<unsigned long long>(node.seed));
        }
    };
    AsyncIoOptions options;
    options.useRing = random.OneIn(2);
    options.depth = 1 + random.Below(8);
    AsyncIo io(scheduler, options);
    Store store{io, memfd_create("soak", MFD_CLOEXEC)};
    if (store.file < 0) return;
    Meet(scheduler, random, 1 + random.Below(8), Store::Use, &store);
    IoOperation both[] = {IoOperation::Write(store.file, "soak", 4, 0),
                          IoOperation::Write(store.file, "weft", 4, 4)};
    Counter counter;
    if (io.Submit(2, both, &counter) != Status::Ok) m_figures.Fail("AsyncIo::Submit: refused");
    Await(scheduler, counter, random);
    if (both[0].Result() != 4 || both[1].Result() != 4)
        m_figures.Fail("two operations of AsyncIo: results %lld and %lld, not 4",
                       static_cast<long long>(both[0].Result()),
                       static_cast<long long>(both[1].Result()));
    close(store.file);
#else
    Fork(scheduler, node, random);
#endif
}

}  // namespace soak
