// The workloads, written once for all systems. A system has these members, with which its users
// submit tasks and wait for them:
//
//     struct System {
//         static constexpr const char *kName;
//         using Context = ...;                              // a task's first argument
//         using Function = void (*)(Context, void *);
//         static Context Current();
//
//         // Calls body(), which may submit tasks.
//         template <class Body> static void Run(uint32_t workers, Body body);
//
//         class Batch {                                     // tasks that are submitted in one call
//             Batch(Function, Cells &);
//             template <class Item> Batch(Function, std::vector<Item> &);
//         };
//         class Group {                                     // tasks that are awaited together
//             explicit Group(Context = Current());
//             void Add(Function, void *arg);
//             void AddTwo(Function, void *first, void *second);
//             void AddAll(const Batch &);
//             void Wait();
//         };
//
//         // Submits two tasks and waits for them in one call.
//         static void Both(Context, Function, void *first, void *second);
//     };
//
// Most measurements run the workload once in the same Run before the clock starts.
#pragma once

#include "bodies.h"

#include <algorithm>
#include <memory>
#include <type_traits>
#include <utility>

namespace bench {

inline constexpr uint32_t kBulk = 65536;
inline constexpr uint32_t kFibonacci = 23;
inline constexpr uint32_t kFibonacciTasks = 92734;  // recursive calls that fib(23) makes
inline constexpr uint32_t kFibonacciResult = 28657;

/// Returns the mean cost of one of the `tasks` of `once()`. The number of repeats is large enough
/// that the clock itself does not matter.
template <class Once>
double PerTaskHere(uint32_t repeats, uint32_t tasks, Once once) {
    once();
    const Clock::time_point begin = Clock::now();
    for (uint32_t i = 0; i < repeats; ++i) once();
    return Since(begin) / repeats / tasks;
}

/// As PerTaskHere, in a Run of its own.
template <class System, class Once>
double PerTask(uint32_t workers, uint32_t repeats, uint32_t tasks, Once once) {
    double cost = 0;
    System::Run(workers, [&] { cost = PerTaskHere(repeats, tasks, once); });
    return cost;
}

/// Returns how often a batch of `count` tasks is repeated.
inline uint32_t BulkRepeats(uint32_t count) { return std::max(kBulk / 4 / count, 4u); }

/// True if a group waits only for the tasks that its own task added. Then
/// System::RunWithDescendants(body) waits for all descendants of body().
template <class System, class = void>
struct WaitsForOwnChildrenOnly : std::false_type {};
template <class System>
struct WaitsForOwnChildrenOnly<System, std::void_t<decltype(System::kWaitsForOwnChildrenOnly)>>
    : std::true_type {};

/// True if a wait may run any other task on top of its own stack frames. Then a deep tree overflows
/// the stack, and the row of the tree cannot be measured.
template <class System, class = void>
struct NestsWithoutBound : std::false_type {};
template <class System>
struct NestsWithoutBound<System, std::void_t<decltype(System::kNestsWithoutBound)>>
    : std::true_type {};

template <class System>
class Workloads {
    using Group = typename System::Group;
    using Context = typename System::Context;
    using Batch = typename System::Batch;

public:
    static double Bulk(uint32_t workers, uint32_t count) {
        Cells cells(count);
        const Batch batch(Write, cells);
        const double cost = PerTask<System>(workers, BulkRepeats(count), count, [&] {
            Group group;
            group.AddAll(batch);
            group.Wait();
        });
        cells.Verify();
        return cost;
    }

    static double OneByOne(uint32_t workers) {
        Cells cells(kBulk);
        const double cost = PerTask<System>(workers, 4, kBulk, [&] {
            Group group;
            for (uint32_t i = 0; i < kBulk; ++i) group.Add(Write, cells.At(i));
            group.Wait();
        });
        cells.Verify();
        return cost;
    }

    template <bool kFused>
    static double ForkJoin(uint32_t workers) {
        return PerTask<System>(workers, 2, kFibonacciTasks, [] {
            Call root{kFibonacci, 0};
            Fibonacci<kFused>(System::Current(), &root);
            if (root.result != kFibonacciResult) Wrong("fib");
        });
    }

    /// A task submits two children and waits for them in one call, which all systems have.
    static double Tree(uint32_t workers) {
        return PerTask<System>(workers, 1, kTreeNodes, [] {
            Node root{kTreeNodes, 1, 0};
            Count(System::Current(), &root);
            if (root.nodes != kTreeNodes) Wrong("nodes");
        });
    }

    /// All nodes belong to one group. No task waits for its children.
    static double TreeOneGroup(uint32_t workers) {
        std::vector<GroupNode> nodes(kTreeNodes);
        const double cost = PerTask<System>(workers, 1, kTreeNodes, [&] {
            const auto grow = [&] {
                Group group;
                nodes[0] = {{kTreeNodes, 1, nodes[0].node.nodes}, &group};
                group.Add(Grow, &nodes[0]);
                group.Wait();
            };
            if constexpr (WaitsForOwnChildrenOnly<System>::value) {
                System::RunWithDescendants(grow);
            } else {
                grow();
            }
        });
        for (const GroupNode &each : nodes) {
            if (each.node.nodes != 2) Wrong("a node was not visited once each time");
        }
        return cost;
    }

    static double Producers(uint32_t workers) {
        constexpr uint32_t kProducers = 100, kEach = 1000;
        struct Producer {
            std::unique_ptr<Cells> cells;
            std::unique_ptr<Batch> batch;
            Group *group = nullptr;
        };
        std::vector<Producer> producers(kProducers);
        for (Producer &producer : producers) {
            producer.cells = std::make_unique<Cells>(kEach);
            producer.batch = std::make_unique<Batch>(Write, *producer.cells);
        }
        const double cost = PerTask<System>(workers, 2, kProducers * kEach, [&] {
            Group group;
            for (Producer &producer : producers) {
                producer.group = &group;
                group.Add(
                    [](Context, void *arg) {
                        const Producer *self = static_cast<Producer *>(arg);
                        self->group->AddAll(*self->batch);
                        if constexpr (WaitsForOwnChildrenOnly<System>::value) self->group->Wait();
                    },
                    &producer);
            }
            group.Wait();
        });
        for (const Producer &producer : producers) producer.cells->Verify();
        return cost;
    }

    static double Sum(uint32_t workers) {
        std::vector<uint32_t> numbers(kBulk * kSummands);
        uint64_t expected = 0, sum = 0;
        for (uint32_t i = 0; i < numbers.size(); ++i) expected += numbers[i] = i * 7 & 1023;
        std::vector<Part> parts(kBulk);
        for (uint32_t i = 0; i < kBulk; ++i) parts[i].first = &numbers[i * kSummands];
        const Batch batch([](Context, void *part) { SumPart(part); }, parts);
        const double cost = PerTask<System>(workers, 4, kBulk, [&] {
            Group group;
            group.AddAll(batch);
            group.Wait();
            sum = 0;
            for (const Part &part : parts) sum += part.sum;
        });
        if (sum != expected) Wrong("sum");
        return cost;
    }

    /// Returns the elapsed time / the ideal time. If `longest` is not 0, one task takes that long,
    /// at a place that changes from call to call. The others take `nanoseconds` each.
    static double OverIdeal(uint32_t workers, uint32_t count, double nanoseconds,
                            double longest = 0) {
        struct Item {
            double nanoseconds;
            Cell cell;
        };
        static std::atomic<uint32_t> s_place{0};
        std::vector<Item> items(count, Item{nanoseconds, 0});
        if (longest != 0) items[s_place.fetch_add(count / 3 + 1) % count].nanoseconds = longest;
        const Batch batch(
            [](Context, void *arg) {
                Item *item = static_cast<Item *>(arg);
                Spin(item->nanoseconds);
                WriteCell(&item->cell);
            },
            items);
        double elapsed = 0;
        System::Run(workers, [&] {
            WarmUp(workers);
            const Clock::time_point begin = Clock::now();
            Group group;
            group.AddAll(batch);
            group.Wait();
            elapsed = Since(begin);
        });
        for (const Item &item : items) {
            if (item.cell != Sign(&item.cell)) Wrong("a task did not run");
        }
        const double work = (count - (longest != 0 ? 1 : 0)) * nanoseconds + longest;
        return elapsed / std::max(std::max(nanoseconds, longest), work / workers);
    }

    /// Returns the time of two tasks of 20 microseconds, right after 65,536 tasks that write a
    /// cell.
    static double PairAfterFlood(uint32_t workers) {
        Cells cells(kBulk);
        const Batch flood(Write, cells);
        double elapsed = 0;
        constexpr uint32_t kPairs = 20;
        System::Run(workers, [&] {
            for (uint32_t i = 0; i < kPairs + 1; ++i) {
                Group first;
                first.AddAll(flood);
                first.Wait();
                const Clock::time_point begin = Clock::now();
                Group pair;
                pair.Add([](Context, void *) { Spin(20e3); }, nullptr);
                pair.Add([](Context, void *) { Spin(20e3); }, nullptr);
                pair.Wait();
                if (i != 0) elapsed += Since(begin);
            }
        });
        cells.Verify();
        return elapsed / kPairs;
    }

    /// Returns the time from the submission of a task to its start on the other worker, which has
    /// been idle for `idle` nanoseconds.
    static Quantiles Wake(double idle) {
        std::vector<double> delays;
        System::Run(2, [&] {
            WarmUp(2);
            for (uint32_t i = 0; i < 100; ++i) {
                if (idle > 1e6) {
                    std::this_thread::sleep_for(
                        std::chrono::nanoseconds(static_cast<int64_t>(idle)));
                } else {
                    Spin(idle);
                }
                std::atomic<int64_t> started{0};
                Group group;
                const Clock::time_point begin = Clock::now();
                group.Add(
                    [](Context, void *arg) {
                        static_cast<std::atomic<int64_t> *>(arg)->store(
                            Clock::now().time_since_epoch().count());
                    },
                    &started);
                const Clock::time_point giveUp = begin + std::chrono::milliseconds(20);
                while (started.load() == 0 && Clock::now() < giveUp) {
                }
                group.Wait();
                delays.push_back(
                    static_cast<double>(started.load() - begin.time_since_epoch().count()));
            }
        });
        return QuantilesOf(std::move(delays));
    }

    /// Submits one task for each worker while all workers but one sleep. Returns the time until the
    /// last task starts.
    static double WakeAll(uint32_t workers) {
        double elapsed = 0;
        constexpr uint32_t kTimes = 20;
        struct Start {
            Clock::time_point time;
        };
        std::vector<Start> starts(workers);
        const Batch batch(
            [](Context, void *start) {
                static_cast<Start *>(start)->time = Clock::now();
                Spin(100e3);  // so long that each worker runs one task
            },
            starts);
        System::Run(workers, [&] {
            WarmUp(workers);
            for (uint32_t i = 0; i < kTimes; ++i) {
                std::this_thread::sleep_for(
                    std::chrono::nanoseconds(static_cast<int64_t>(kParkedNanoseconds)));
                const Clock::time_point begin = Clock::now();
                Group group;
                group.AddAll(batch);
                group.Wait();
                Clock::time_point last = begin;
                for (const Start &start : starts) last = std::max(last, start.time);
                elapsed += std::chrono::duration<double, std::nano>(last - begin).count();
            }
        });
        return elapsed / kTimes;
    }

    /// A solver step as in physics engines. Returns the elapsed time / the ideal time. Each worker
    /// has one task, which takes blocks of a stage until none is left. Then it spins, and yields to
    /// other threads, until all blocks of the stage are done. `neighbours` is the number of threads
    /// of other programs that never rest.
    static double Solver(uint32_t workers, uint32_t neighbours) {
        constexpr uint32_t kSteps = 20, kStages = 40, kBlocks = 16;
        constexpr double kBlockNanoseconds = 2000;
        struct Stage {
            alignas(64) std::atomic<uint32_t> taken{0};
            alignas(64) std::atomic<uint32_t> done{0};
        };
        struct Step {
            Stage stages[kStages];
        };
        std::vector<Step *> arguments(workers);
        const auto solve = [](Context, void *arg) {
            for (Stage &stage : (*static_cast<Step **>(arg))->stages) {
                while (stage.taken.fetch_add(1) < kBlocks) {
                    Spin(kBlockNanoseconds);
                    stage.done.fetch_add(1);
                }
                for (uint32_t looks = 0; stage.done.load() < kBlocks; ++looks) {
                    if (looks % 8 == 7) std::this_thread::yield();
                }
            }
        };
        std::atomic<bool> isOver{false};
        std::vector<std::thread> others;
        double elapsed = 0;
        System::Run(workers, [&] {
            WarmUp(workers);
            for (uint32_t i = 0; i < neighbours; ++i) {
                others.emplace_back([&] {
                    while (!isOver.load(std::memory_order_relaxed)) Spin(10e3);
                });
            }
            const Batch batch(solve, arguments);
            const Clock::time_point begin = Clock::now();
            for (uint32_t i = 0; i < kSteps; ++i) {
                const auto step = std::make_unique<Step>();
                std::fill(arguments.begin(), arguments.end(), step.get());
                Group group;
                group.AddAll(batch);
                group.Wait();
                for (const Stage &stage : step->stages) {
                    if (stage.done.load() != kBlocks) Wrong("a block was not solved");
                }
            }
            elapsed = Since(begin);
            isOver.store(true);
        });
        for (std::thread &other : others) other.join();
        return elapsed / (kSteps * kStages * kBlocks * kBlockNanoseconds / workers);
    }

    /// Runs frames of four stages of 64 tasks of 5 microseconds each. Returns how often threads
    /// gave up their processor in one frame.
    static double SwitchesPerFrame(uint32_t workers) {
        constexpr uint32_t kFrames = 50;
        Cells cells(64);
        const Batch stage(
            [](Context, void *cell) {
                Spin(5e3);
                WriteCell(cell);
            },
            cells);
        double switches = 0;
        System::Run(workers, [&] {
            WarmUp(workers);
            const double before = VoluntarySwitches();
            for (uint32_t i = 0; i < kFrames * 4; ++i) {
                Group group;
                group.AddAll(stage);
                group.Wait();
            }
            switches = (VoluntarySwitches() - before) / kFrames;
        });
        cells.Verify();
        return switches;
    }

    /// Returns the processor time of the idle process, in percent of the elapsed time.
    static double IdleCpu(uint32_t workers) {
        double percent = 0;
        System::Run(workers, [&] {
            WarmUp(workers);
            std::this_thread::sleep_for(std::chrono::milliseconds(20));
            const Clock::time_point begin = Clock::now();
            const double before = ProcessorTime();
            std::this_thread::sleep_for(std::chrono::milliseconds(500));
            percent = 100 * (ProcessorTime() - before) / Since(begin);
        });
        return percent;
    }

    /// Gives each worker a task three times, so that the workers and their stacks are warm.
    static void WarmUp(uint32_t workers) {
        for (int round = 0; round < 3; ++round) {
            Group group;
            for (uint32_t i = 0; i < workers; ++i)
                group.Add([](Context, void *) { Spin(200e3); }, nullptr);
            group.Wait();
        }
    }

    static void Write(Context, void *cell) { WriteCell(cell); }

private:
    struct Call {
        uint32_t n;
        uint64_t result;
    };

    template <bool kFused>
    static void Fibonacci(Context context, void *arg) {
        Call &call = *static_cast<Call *>(arg);
        if (call.n < 2) {
            call.result = call.n;
            return;
        }
        Call calls[2] = {{call.n - 1, 0}, {call.n - 2, 0}};
        Fork<kFused>(context, Fibonacci<kFused>, &calls[0], &calls[1]);
        call.result = calls[0].result + calls[1].result;
    }

    static void Count(Context context, void *arg) {
        Node &node = *static_cast<Node *>(arg);
        const uint64_t work = node.Work();
        node.nodes = 1;
        if (node.size == 1) return;
        Node left{}, right{};
        node.Split(work, left, right);
        if (left.size != 0 && right.size != 0) {
            Fork<true>(context, Count, &left, &right);
        } else {
            Group group(context);
            group.Add(Count, left.size != 0 ? &left : &right);
            group.Wait();
        }
        node.nodes += left.nodes + right.nodes;
    }

    // The nodes of the left subtree lie right behind their parent. The nodes of the right subtree
    // follow them.
    struct GroupNode {
        Node node;
        Group *group;
    };

    static void Grow(Context, void *arg) {
        GroupNode &self = *static_cast<GroupNode *>(arg);
        const uint64_t work = self.node.Work();
        ++self.node.nodes;
        if (self.node.size == 1) return;
        Node left{}, right{};
        self.node.Split(work, left, right);
        GroupNode *const first = &self + 1, *const second = first + left.size;
        for (const auto &[child, node] : {std::pair{first, left}, std::pair{second, right}}) {
            if (node.size != 0) *child = {{node.size, node.seed, child->node.nodes}, self.group};
        }
        if (left.size != 0 && right.size != 0) {
            self.group->AddTwo(Grow, first, second);
        } else {
            self.group->Add(Grow, left.size != 0 ? first : second);
        }
    }

    template <bool kFused>
    static void Fork(Context context, typename System::Function function, void *first,
                     void *second) {
        if constexpr (kFused) {
            System::Both(context, function, first, second);
        } else {
            Group group(context);
            group.AddTwo(function, first, second);
            group.Wait();
        }
    }
};

/// Adds the rows of a system whose groups can be used from any task.
template <class System>
void AddWorkloads(std::vector<Row> &rows, uint32_t workers, const char *name = System::kName) {
    using All = Workloads<System>;
    const auto add = [&](const std::string &workload, const char *unit, auto measure) {
        rows.push_back({workload, name, workers, unit, measure, {}});
    };
    for (uint32_t count : {1u, 8u, 64u, 1000u, kBulk}) {
        add("bulk_" + std::to_string(count), "ns", [=] { return All::Bulk(workers, count); });
    }
    add("one_by_one", "ns", [=] { return All::OneByOne(workers); });
    add("fork_join", "ns", [=] { return All::template ForkJoin<false>(workers); });
    add("fork_join_fused", "ns", [=] { return All::template ForkJoin<true>(workers); });
    if constexpr (!NestsWithoutBound<System>::value)
        add("tree", "ns", [=] { return All::Tree(workers); });
    add("tree_one_group", "ns", [=] { return All::TreeOneGroup(workers); });
    add("producers_consumers", "ns", [=] { return All::Producers(workers); });
    add("sum", "ns", [=] { return All::Sum(workers); });
    add("16_of_1ms", "ideal", [=] { return All::OverIdeal(workers, 16, 1e6); });
    add("64_of_200us", "ideal", [=] { return All::OverIdeal(workers, 64, 200e3); });
    add("1000_of_500us", "ideal", [=] { return All::OverIdeal(workers, 1000, 500e3); });
    add("1000_of_1us_one_of_5ms", "ideal", [=] { return All::OverIdeal(workers, 1000, 1e3, 5e6); });
    add("pair_after_flood", "ns", [=] { return All::PairAfterFlood(workers); });
    add("switches_per_frame", "count", [=] { return All::SwitchesPerFrame(workers); });
    add("idle_cpu", "%", [=] { return All::IdleCpu(workers); });
    if (workers == 2) {
        rows.push_back({"woken_32", name, 32, "ns", [] { return All::WakeAll(32); }, {}});
        add("solver", "ideal", [] { return All::Solver(2, 0); });
        add("solver_beside_8", "ideal", [] { return All::Solver(2, 8); });
        AddQuantiles(rows, "wake_spinning", name, 2, [] { return All::Wake(10e3); });
        AddQuantiles(rows, "wake_parked", name, 2, [] { return All::Wake(kParkedNanoseconds); });
    }
}

}  // namespace bench
