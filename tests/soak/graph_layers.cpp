// Nodes of a graph that use posted jobs, blocking calls and loops. The account does not include the
// tasks of these layers.
#include "soak/graph.h"

#include "weft/algorithms/parallel_for.h"
#include "weft/algorithms/parallel_reduce.h"
#include "weft/blocking/blocking_calls.h"
#include "weft/post/post_queue.h"
#include "weft/post/posted_job.h"

#include <deque>

#include <unistd.h>

namespace soak {

using namespace weft;
using std::chrono::microseconds;

namespace {

struct Posts {
    explicit Posts(TaskScheduler &scheduler) : queue(scheduler) {}
    PostQueue queue;
    Counter running;
    std::atomic<uint32_t> steps{0};
};

// Posts itself repeatedly, in a different way each time.
class Job : public PostedJob {
public:
    Job(Graph &graph, Posts &posts, uint64_t seed, uint32_t steps)
        : PostedJob(posts.queue, Step),
          m_graph(graph),
          m_posts(posts),
          m_random(seed),
          m_left(steps) {}

private:
    static void Step(TaskScheduler *scheduler, PostedJob *job) {
        Job &self = *static_cast<Job *>(job);
        if (self.m_signalled && !self.ReceiveSignal())
            self.m_graph.TheFigures().Fail("a signal was lost");
        self.m_signalled = false;
        self.m_posts.steps.fetch_add(1);
        // After this the job may be gone.
        if (--self.m_left == 0) return scheduler->DecrementCounter(&self.m_posts.running);
        const microseconds soon(self.m_random.Below(200));
        switch (self.m_random.Below(5)) {
            case 0:
                return self.Post();
            case 1:
                return self.PostAfter(soon);
            case 2:
                return self.PostOnWakeFor(soon);
            case 3:
                self.Wake();
                return self.PostOnWake();
            default:
                self.m_signalled = true;
                self.Signal();
                return self.PostOnWakeFor(soon);
        }
    }
    Graph &m_graph;
    Posts &m_posts;
    Random m_random;
    uint32_t m_left;
    bool m_signalled = false;
};

}  // namespace

// Children wake jobs while these run or wait.
void Graph::Posted(TaskScheduler &scheduler, Node &, Random &random) {
    const Permit dispatcher(*this, 1u);
    if (!dispatcher) return;
    struct Calls {
        std::deque<Job> jobs;
        static void Wake(Graph &, TaskScheduler &, Node &node) {
            Random own(node.seed);
            std::deque<Job> &jobs = static_cast<Calls *>(node.with)->jobs;
            jobs[own.Below(static_cast<uint32_t>(jobs.size()))].Wake();
        }
    };
    Posts posts(scheduler);
    Calls calls;
    uint32_t steps = 0;
    for (uint32_t count = 1 + random.Below(4); count != 0; --count) {
        const uint32_t own = 1 + random.Below(6);
        calls.jobs.emplace_back(*this, posts, random.Next(), own);
        steps += own;
    }
    scheduler.IncrementCounter(&posts.running, static_cast<uint32_t>(calls.jobs.size()));
    for (Job &job : calls.jobs)
        random.OneIn(2) ? job.Post() : job.PostAfter(microseconds(random.Below(200)));
    Meet(scheduler, random, 1 + random.Below(6), Calls::Wake, &calls);
    Await(scheduler, posts.running, random);
    if (posts.steps.load() != steps)
        m_figures.Fail("jobs took %u steps and not %u", posts.steps.load(), steps);
}

// Children make blocking calls on threads that start and end. This is rare, because starting a
// thread takes as long as a thousand tasks.
void Graph::Blocking(TaskScheduler &scheduler, Node &node, Random &random) {
    if (!random.OneIn(8)) return Fork(scheduler, node, random);
    struct Calls {
        BlockingCalls calls;
        std::atomic<uint32_t> made{0};
        static void Make(Graph &graph, TaskScheduler &scheduler, Node &node) {
            Calls &self = *static_cast<Calls *>(node.with);
            const Permit permit(graph, scheduler);
            if (!permit) return;
            Random own(node.seed);
            graph.CountWait();
            const uint32_t answer = self.calls.Run([&] {
                usleep(own.Below(100));
                self.made.fetch_add(1);
                return node.number;
            });
            if (answer != node.number)
                graph.TheFigures().Fail("a blocking call answered %u and not %u", answer,
                                        node.number);
        }
    };
    BlockingOptions options;
    options.maxThreads = 1 + random.Below(3);
    options.idleMicroseconds = random.OneIn(2) ? 1 : 0;
    Counter submitted;
    {
        Calls calls{BlockingCalls(scheduler, options)};
        auto count = [&] { calls.made.fetch_add(1); };
        BlockingCall call = MakeBlockingCall(count);
        Meet(scheduler, random, 1 + random.Below(8), Calls::Make, &calls, [&] {
            if (calls.calls.Submit(call, &submitted) != Status::Ok)
                m_figures.Fail("a blocking call was refused");
        });
        if (random.OneIn(2))
            Await(scheduler, submitted, random);  // otherwise the destructor waits for the call
    }
    Await(scheduler, submitted, random);
}

// A ParallelFor must visit each index once. Then a ParallelReduce must give the right sum.
void Graph::Loops(TaskScheduler &scheduler, Node &, Random &random) {
    const Permit helpers(*this, 2 * m_workers);
    if (!helpers) return;
    const uint32_t count = 1 + random.Below(random.OneIn(4) ? 20000 : 500);
    LoopOptions options;
    options.grain = random.Below(4);
    options.priority = static_cast<Priority>(random.Below(3));
    std::vector<uint8_t> cells(count);
    CountWait();
    ParallelFor(
        scheduler, 0u, count, [&](uint32_t i) { ++cells[i]; }, options);
    for (const uint8_t cell : cells) {
        if (cell != 1) m_figures.Fail("an index of %u was visited %u times", count, cell);
    }
    CountWait();
    const uint64_t sum = ParallelReduce(
        scheduler, 0u, count, uint64_t{0}, [&](uint32_t i) { return uint64_t{i} * cells[i]; },
        [](uint64_t a, uint64_t b) { return a + b; }, options);
    if (sum != uint64_t{count} * (count - 1) / 2)
        m_figures.Fail("the sum of a loop of %u is wrong", count);
}

}  // namespace soak
