// Workloads of calls, items and pipelines, written once for all systems. Besides Run (workloads.h)
// a system has these members:
//
//     // Calls left() and right() in parallel.
//     template <class Left, class Right> static void Invoke(Left &left, Right &right);
//
//     // Calls body(item) for all items of the list.
//     template <class Body> static void ForEach(std::list<uint64_t> &items, Body &body);
//
//     // Calls body(root, add). What body gives to add(node, node) is visited, too.
//     template <class Body> static void Feed(uint32_t root, Body &body);
//
//     // At most kTokens items in flight: input(item) -> bool, one at a time; work(item), several
//     at
//     // a time; output(item), one at a time and in the order of the input.
//     template <class Input, class Work, class Output>
//     static void Pipe(Input &input, Work &work, Output &output);
//
// A cost is in nanoseconds for each call, node or item.
#pragma once

#include "loop_rows.h"

#include <atomic>
#include <list>

namespace bench {

inline constexpr uint32_t kTokens = 16;

struct PipeItem {
    uint32_t number;
    uint64_t value;
};

template <class System>
class FlowWorkloads {
public:
    /// Two functions that do next to nothing.
    static double InvokeTwo(uint32_t workers) {
        uint64_t sums[2] = {};
        uint64_t rounds = 0;
        auto left = [&] { sums[0] += 1; };
        auto right = [&] { sums[1] += 2; };
        const double cost = CostOf(workers, 2, [&] {
            ++rounds;
            System::Invoke(left, right);
        });
        if (sums[0] != rounds || sums[1] != 2 * rounds) Wrong("invoke");
        return cost;
    }

    /// Recursive calls, two at a time.
    static double InvokeTree(uint32_t workers) {
        uint32_t leaves = 0;
        const double cost = CostOf(workers, (2 << kLevels) - 2, [&] { leaves = Leaves(kLevels); });
        if (leaves != 1u << kLevels) Wrong("invoke tree");
        return cost;
    }

    /// A list, whose items can only be found one after the other.
    static double List(uint32_t workers, uint32_t count, uint32_t turns) {
        std::list<uint64_t> items(count);
        uint64_t rounds = 0;
        auto body = [=](uint64_t &item) { item += MixTimes(1, turns); };
        const double cost = CostOf(workers, count, [&] {
            ++rounds;
            System::ForEach(items, body);
        });
        for (uint64_t item : items) {
            if (item != rounds * MixTimes(1, turns)) Wrong("an item was not visited");
        }
        return cost;
    }

    /// A binary tree. Visiting a node adds its children.
    static double Feed(uint32_t workers, uint32_t levels, uint32_t turns) {
        const uint32_t count = (1u << levels) - 1;
        std::vector<uint64_t> nodes(count);
        uint64_t rounds = 0;
        auto body = [&](uint32_t node, auto &&add) {
            nodes[node] += MixTimes(node + 1, turns);
            if (2 * node + 2 >= count) return;
            add(2 * node + 1, 2 * node + 2);
        };
        const double cost = CostOf(workers, count, [&] {
            ++rounds;
            System::Feed(0, body);
        });
        for (uint32_t node = 0; node < count; ++node) {
            if (nodes[node] != rounds * MixTimes(node + 1, turns)) Wrong("a node was not visited");
        }
        return cost;
    }

    static double Pipe(uint32_t workers, uint32_t count, uint32_t turns) {
        uint32_t read = 0, written = 0;
        uint64_t sum = 0, expected = 0;
        auto input = [&](PipeItem &item) {
            if (read == count) return false;
            item.number = read++;
            return true;
        };
        auto work = [=](PipeItem &item) { item.value = MixTimes(item.number + 1, turns); };
        auto output = [&](PipeItem &item) {
            if (item.number != written++) Wrong("the order of a pipeline");
            sum += item.value;
        };
        const double cost = CostOf(workers, count, [&] {
            read = written = 0;
            sum = 0;
            System::Pipe(input, work, output);
        });
        for (uint32_t i = 0; i < count; ++i) expected += MixTimes(i + 1, turns);
        if (sum != expected) Wrong("a pipeline");
        return cost;
    }

private:
    static constexpr uint32_t kLevels = 12;

    static uint32_t Leaves(uint32_t levels) {
        if (levels == 0) return 1;
        uint32_t counts[2];
        auto left = [&] { counts[0] = Leaves(levels - 1); };
        auto right = [&] { counts[1] = Leaves(levels - 1); };
        System::Invoke(left, right);
        return counts[0] + counts[1];
    }

    /// As LoopWorkloads::PerIndex: the median over batches of about 20 microseconds.
    template <class Once>
    static double CostOf(uint32_t workers, uint32_t count, Once once) {
        std::vector<double> samples;
        System::Run(workers, [&] {
            once();
            Clock::time_point begin = Clock::now();
            once();
            const uint32_t times =
                static_cast<uint32_t>(std::clamp(20e3 / Since(begin), 1.0, 1000.0));
            while (samples.size() < 41) {
                begin = Clock::now();
                for (uint32_t i = 0; i < times; ++i) once();
                samples.push_back(Since(begin) / times / count);
            }
        });
        return Median(std::move(samples));
    }
};

template <class System>
void AddFlowWorkloads(std::vector<Row> &rows, uint32_t workers, const char *name = System::kName) {
    using All = FlowWorkloads<System>;
    const auto add = [&](const std::string &workload, auto measure) {
        rows.push_back({"flow_" + workload, name, workers, "ns", measure, {}});
    };
    add("invoke_two", [=] { return All::InvokeTwo(workers); });
    add("invoke_tree", [=] { return All::InvokeTree(workers); });
    add("list_empty", [=] { return All::List(workers, 1000, 0); });
    add("list_20ns", [=] { return All::List(workers, 1000, 10); });
    add("list_1us", [=] { return All::List(workers, 300, 400); });
    add("feed_empty", [=] { return All::Feed(workers, 15, 0); });
    add("feed_200ns", [=] { return All::Feed(workers, 11, 80); });
    add("pipe_empty", [=] { return All::Pipe(workers, 1000, 0); });
    add("pipe_1us", [=] { return All::Pipe(workers, 1000, 400); });
    add("pipe_10us", [=] { return All::Pipe(workers, 100, 4000); });
}

}  // namespace bench
