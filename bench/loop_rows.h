// Workloads of loops over a range, written once for all systems. Besides Run (workloads.h) a system
// has these members:
//
//     // Calls body(index).
//     template <class Body> static void For(uint32_t count, Body &body);
//
//     // Calls body(firstRow, endRow, firstColumn, endColumn).
//     template <class Body> static void ForTiles(uint32_t rows, uint32_t columns, Body &body);
//
//     // Returns the sum of all body(first, end).
//     template <class Body> static double Sum(uint32_t count, Body &body);
//
// A cost is in nanoseconds for each index, or for each pixel.
#pragma once

#include "workloads.h"

namespace bench {

/// Each turn takes 2 to 3 ns, if there are at least 8 turns.
BENCH_NOINLINE inline uint64_t MixTimes(uint64_t value, uint32_t turns) {
    for (; turns != 0; --turns) value = Mix(value);
    return value;
}

template <class System>
class LoopWorkloads {
public:
    static double Empty(uint32_t workers, uint32_t count) {
        return Filled(workers, count, [](uint32_t i) { return i + 1; });
    }

    static double Mixed(uint32_t workers, uint32_t count) {
        return Filled(workers, count, [](uint32_t i) { return MixTimes(i + 1, kTurns); });
    }

    /// Each index spins for a fixed time. So the row does not show the cost of the body. It shows
    /// how evenly the work is spread.
    static double Spun(uint32_t workers, uint32_t count, double nanoseconds) {
        return Filled(workers, count, [=](uint32_t i) {
            Spin(nanoseconds);
            return i + 1;
        });
    }

    /// The cost of an index rises from zero to 0.8 microseconds, or falls.
    static double Skewed(uint32_t workers, bool falls) {
        return Filled(workers, kSkewed,
                      [=](uint32_t i) { return MixTimes(i + 1, (falls ? kSkewed - i : i) / 4); });
    }

    /// The last 16 indices take 200 microseconds each, the others next to nothing.
    static double UnevenEnd(uint32_t workers) {
        constexpr uint32_t kCount = 200000, kSlow = 16;
        return Filled(workers, kCount, [](uint32_t i) {
            if (i >= kCount - kSlow) Spin(200e3);
            return i + 1;
        });
    }

    static double Nested(uint32_t workers) {
        constexpr uint32_t kOuter = 64, kInner = 256;
        std::vector<uint64_t> cells(kOuter * kInner);
        const auto value = [](uint32_t i) { return MixTimes(i + 1, kTurns); };
        auto outer = [&](uint32_t i) {
            auto inner = [&, i](uint32_t j) { cells[i * kInner + j] = value(i * kInner + j); };
            System::For(kInner, inner);
        };
        const double cost = PerIndex(workers, kOuter * kInner, [&] { System::For(kOuter, outer); });
        Verify(cells, value);
        return cost;
    }

    /// Each pixel is the mean of itself and its eight neighbours.
    static double Blur(uint32_t workers) {
        constexpr uint32_t kRows = 512, kColumns = 512;
        std::vector<float> from(kRows * kColumns), to(from.size()), expected(from.size());
        for (uint32_t i = 0; i < from.size(); ++i) from[i] = static_cast<float>(i * 7 % 97);
        auto body = [&](uint32_t firstRow, uint32_t endRow, uint32_t firstColumn,
                        uint32_t endColumn) {
            for (uint32_t row = std::max(firstRow, 1u); row < std::min(endRow, kRows - 1); ++row) {
                BlurRow(&from[row * kColumns], &to[row * kColumns], std::max(firstColumn, 1u),
                        std::min(endColumn, kColumns - 1), kColumns);
            }
        };
        const double cost =
            PerIndex(workers, kRows * kColumns, [&] { System::ForTiles(kRows, kColumns, body); });
        for (uint32_t row = 1; row < kRows - 1; ++row) {
            BlurRow(&from[row * kColumns], &expected[row * kColumns], 1, kColumns - 1, kColumns);
        }
        if (to != expected) Wrong("blur");
        return cost;
    }

    static double Sum(uint32_t workers, uint32_t count) {
        std::vector<double> numbers(count);
        for (uint32_t i = 0; i < count; ++i) numbers[i] = i % 1024;
        return Summed(workers, count, [&](uint32_t i) { return numbers[i]; });
    }

    static double SumMixed(uint32_t workers, uint32_t count) {
        return Summed(workers, count, [](uint32_t i) {
            return static_cast<double>(MixTimes(i + 1, kTurns) >> 40);
        });
    }

    static double SumSkewed(uint32_t workers) {
        return Summed(workers, kSkewed,
                      [](uint32_t i) { return static_cast<double>(MixTimes(i + 1, i / 4) >> 40); });
    }

private:
    static constexpr uint32_t kTurns = 10;  // about 20 ns
    static constexpr uint32_t kSkewed = 1000;

    /// Returns the median over batches of loops, because other programs may use the machine now and
    /// then. A batch takes about 20 microseconds, or has one loop if a loop takes longer.
    template <class Once>
    static double PerIndex(uint32_t workers, uint32_t count, Once once) {
        std::vector<double> samples;
        System::Run(workers, [&] {
            once();
            Clock::time_point begin = Clock::now();
            once();
            const uint32_t loops =
                static_cast<uint32_t>(std::clamp(20e3 / Since(begin), 1.0, 1000.0));
            while (samples.size() < 41) {
                begin = Clock::now();
                for (uint32_t i = 0; i < loops; ++i) once();
                samples.push_back(Since(begin) / loops / count);
            }
        });
        return Median(std::move(samples));
    }

    template <class Value>
    static double Filled(uint32_t workers, uint32_t count, Value value) {
        std::vector<decltype(value(0u))> cells(count);
        auto body = [&](uint32_t i) { cells[i] = value(i); };
        const double cost = PerIndex(workers, count, [&] { System::For(count, body); });
        Verify(cells, value);
        return cost;
    }

    template <class Value>
    static double Summed(uint32_t workers, uint32_t count, Value value) {
        double sum = 0;
        auto body = [&](uint32_t first, uint32_t end) {
            double part = 0;
            for (uint32_t i = first; i != end; ++i) part += value(i);
            return part;
        };
        const double cost = PerIndex(workers, count, [&] { sum = System::Sum(count, body); });
        if (sum != body(0, count)) Wrong("sum");  // exact: all numbers are whole
        return cost;
    }

    template <class Cells, class Value>
    static void Verify(const Cells &cells, Value value) {
        for (uint32_t i = 0; i < cells.size(); ++i) {
            if (cells[i] != value(i)) Wrong("an index was not run");
        }
    }

    BENCH_NOINLINE static void BlurRow(const float *from, float *to, uint32_t first, uint32_t end,
                                       uint32_t columns) {
        for (uint32_t i = first; i < end; ++i) {
            float sum = 0;
            for (const float *row : {from - columns, from, from + columns})
                sum += row[i - 1] + row[i] + row[i + 1];
            to[i] = sum / 9;
        }
    }
};

template <class System>
void AddLoopWorkloads(std::vector<Row> &rows, uint32_t workers, const char *name = System::kName) {
    using All = LoopWorkloads<System>;
    const auto add = [&](const std::string &workload, auto measure) {
        rows.push_back({"loop_" + workload, name, workers, "ns", measure, {}});
    };
    for (uint32_t count : {8u, 64u, 1000u, kBulk, 16 * kBulk}) {
        add("empty_" + std::to_string(count), [=] { return All::Empty(workers, count); });
    }
    add("20ns_1000", [=] { return All::Mixed(workers, 1000); });
    add("20ns_20000", [=] { return All::Mixed(workers, 20000); });
    add("1us_100", [=] { return All::Spun(workers, 100, 1e3); });
    add("1us_1000", [=] { return All::Spun(workers, 1000, 1e3); });
    add("20us_16", [=] { return All::Spun(workers, 16, 20e3); });
    add("rising", [=] { return All::Skewed(workers, false); });
    add("falling", [=] { return All::Skewed(workers, true); });
    add("uneven_end", [=] { return All::UnevenEnd(workers); });
    add("nested", [=] { return All::Nested(workers); });
    add("blur", [=] { return All::Blur(workers); });
    for (uint32_t count : {64u, 1000u, kBulk}) {
        add("sum_" + std::to_string(count), [=] { return All::Sum(workers, count); });
    }
    add("sum_20ns_20000", [=] { return All::SumMixed(workers, 20000); });
    add("sum_rising", [=] { return All::SumSkewed(workers); });
}

}  // namespace bench
