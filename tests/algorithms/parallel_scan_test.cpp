#include "weft/algorithms/parallel_scan.h"

#include "support/scheduler_run.h"
#include "support/threads.h"

#include <atomic>
#include <cmath>
#include <cstring>
#include <deque>
#include <functional>
#include <limits>
#include <numeric>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

using namespace weft;

namespace {

constexpr uint32_t kCounts[] = {0, 1, 2, 3, 4, 5, 255, 256, 257, 258, 1000, 1025, 20011, 262145};
constexpr uint64_t kGrains[] = {0, 1, 2, 5, 300, uint64_t{1} << 63};

LoopOptions WithGrain(uint64_t grain) {
    LoopOptions options;
    options.grain = grain;
    return options;
}

std::vector<uint64_t> Numbers(uint32_t count) {
    std::vector<uint64_t> numbers(count);
    uint64_t state = count;
    for (uint64_t &number : numbers)
        number = state = state * 6364136223846793005u + 1442695040888963407u;
    return numbers;
}

// Adding these in another order gives another sum.
std::vector<float> Uneven(uint32_t count) {
    std::vector<float> numbers(count);
    uint32_t state = 1;
    for (float &number : numbers) {
        state = state * 1664525u + 1013904223u;
        number = std::ldexp(static_cast<float>(state >> 8), static_cast<int>(state >> 29) - 24) *
                 (state & 64 ? 1 : -1);
    }
    return numbers;
}

bool SameBits(const std::vector<float> &a, const std::vector<float> &b) {
    return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

// Concatenation of neighbouring stretches: associative, but not commutative.
struct Stretch {
    uint32_t first, last;
};
constexpr Stretch kNothing{~0u, ~0u};

struct Concatenate {
    std::atomic<uint32_t> *wrong;
    Stretch operator()(Stretch left, Stretch right) const {
        if (left.first == ~0u) return right;
        if (right.first == ~0u) return left;
        *wrong += left.last != right.first;
        return {left.first, right.last};
    }
};

// Larger than 16 bytes.
struct Wide {
    uint64_t low, high, count;
};
Wide AddWide(const Wide &left, const Wide &right) {
    return {left.low + right.low, left.high ^ right.high, left.count + right.count};
}

}  // namespace

TEST_CASE("ParallelScan: the same totals as std::inclusive_scan and std::exclusive_scan",
          "[parallel_scan][grid][long]") {
    for (const test::GridPoint &point : test::Grid()) {
        INFO(test::Describe(point));
        test::Runner runner(point);
        uint32_t wrong = 0;
        CHECK(runner.Run([&](TaskScheduler &scheduler) {
            for (uint32_t count : kCounts) {
                if (count > 30000 && point.fibers < 100) continue;
                const std::vector<uint64_t> in = Numbers(count);
                std::vector<uint64_t> expected(count), out(count);
                for (uint64_t grain : kGrains) {
                    const LoopOptions options = WithGrain(grain);
                    std::inclusive_scan(in.begin(), in.end(), expected.begin());
                    const uint64_t total =
                        ParallelInclusiveScan(scheduler, in.begin(), in.end(), out.begin(),
                                              uint64_t{0}, std::plus<>(), options);
                    wrong += out != expected;
                    wrong += total != std::accumulate(in.begin(), in.end(), uint64_t{0});
                    std::exclusive_scan(in.begin(), in.end(), expected.begin(), uint64_t{0});
                    wrong += ParallelExclusiveScan(scheduler, in.begin(), in.end(), out.begin(),
                                                   uint64_t{0}, std::plus<>(), options) != total;
                    wrong += out != expected;
                }
            }
        }) == Status::Ok);
        CHECK(wrong == 0);
        CHECK(runner.log.Text() == "");
    }
}

TEST_CASE("ParallelScan: the result may replace the elements", "[parallel_scan]") {
    test::Runner runner(test::Options(3));
    uint32_t wrong = 0;
    CHECK(runner.Run([&](TaskScheduler &scheduler) {
        for (uint32_t count : kCounts) {
            const std::vector<uint64_t> in = Numbers(count);
            std::vector<uint64_t> expected(count), inPlace = in;
            std::inclusive_scan(in.begin(), in.end(), expected.begin());
            ParallelInclusiveScan(scheduler, inPlace.begin(), inPlace.end(), inPlace.begin(),
                                  uint64_t{0}, std::plus<>(), WithGrain(64));
            wrong += inPlace != expected;
            inPlace = in;
            std::exclusive_scan(in.begin(), in.end(), expected.begin(), uint64_t{0});
            ParallelExclusiveScan(scheduler, inPlace.begin(), inPlace.end(), inPlace.begin(),
                                  uint64_t{0}, std::plus<>(), WithGrain(64));
            wrong += inPlace != expected;
        }
    }) == Status::Ok);
    CHECK(wrong == 0);
}

TEST_CASE("ParallelScan: floating-point results have the same bits with any number of workers",
          "[parallel_scan][grid]") {
    const std::vector<float> in = Uneven(30011);
    std::vector<float> first;
    uint32_t different = 0;
    const auto scan = [&](TaskScheduler &scheduler) {
        std::vector<float> out(in.size()), before(in.size());
        const float total = ParallelInclusiveScan(scheduler, in.begin(), in.end(), out.begin(),
                                                  0.0f, std::plus<>());
        ParallelExclusiveScan(scheduler, in.begin(), in.end(), before.begin(), 0.0f, std::plus<>());
        out.insert(out.end(), before.begin(), before.end());
        out.push_back(total);
        if (first.empty()) first = out;
        different += !SameBits(out, first);
    };
    for (const test::GridPoint &point : test::Grid()) {
        test::Runner runner(point);
        CHECK(runner.Run([&](TaskScheduler &scheduler) {
            for (int round = 0; round < 3; ++round) scan(scheduler);
        }) == Status::Ok);
    }
    test::Runner single(test::Options(0));
    REQUIRE(single.scheduler.Start() == Status::Ok);
    REQUIRE(single.scheduler.AttachThread() == Status::Ok);
    scan(single.scheduler);
    single.scheduler.DetachThread();
    single.scheduler.Stop();
    CHECK(different == 0);

    std::vector<float> plain(in.size());
    std::inclusive_scan(in.begin(), in.end(), plain.begin());
    first.resize(in.size());
    CHECK_FALSE(SameBits(plain, first));  // so these sums depend on the order
}

TEST_CASE("ParallelScan: only neighbours are joined, in order", "[parallel_scan]") {
    test::Runner runner(test::Options(3));
    std::atomic<uint32_t> wrong{0};
    CHECK(runner.Run([&](TaskScheduler &scheduler) {
        for (uint32_t count : kCounts) {
            std::vector<Stretch> in(count), out(count);
            for (uint32_t i = 0; i < count; ++i) in[i] = {i, i + 1};
            ParallelInclusiveScan(scheduler, in.begin(), in.end(), out.begin(), kNothing,
                                  Concatenate{&wrong});
            for (uint32_t i = 0; i < count; ++i) wrong += out[i].first != 0 || out[i].last != i + 1;
            ParallelExclusiveScan(scheduler, in.begin(), in.end(), out.begin(), kNothing,
                                  Concatenate{&wrong});
            for (uint32_t i = 1; i < count; ++i) wrong += out[i].first != 0 || out[i].last != i;
            wrong += count != 0 && out[0].first != kNothing.first;
        }
    }) == Status::Ok);
    CHECK(wrong == 0);
}

TEST_CASE("ParallelScan: strings, large totals, other iterators", "[parallel_scan]") {
    test::Runner runner(test::Options(2));
    uint32_t wrong = 0;
    CHECK(runner.Run([&](TaskScheduler &scheduler) {
        std::deque<std::string> texts(600, "a");
        std::vector<std::string> joined(texts.size());
        ParallelExclusiveScan(scheduler, texts.begin(), texts.end(), joined.begin(), std::string(),
                              std::plus<>(), WithGrain(10));
        for (size_t i = 0; i < joined.size(); ++i) wrong += joined[i] != std::string(i, 'a');

        std::vector<Wide> wides(5000);
        for (uint64_t i = 0; i < wides.size(); ++i) wides[i] = {i, i * i, 1};
        std::vector<Wide> expected(wides.size()), out(wides.size());
        std::inclusive_scan(wides.begin(), wides.end(), expected.begin(), AddWide);
        ParallelInclusiveScan(scheduler, wides.begin(), wides.end(), out.begin(), Wide{0, 0, 0},
                              AddWide, WithGrain(7));
        for (size_t i = 0; i < out.size(); ++i) {
            wrong += out[i].low != expected[i].low || out[i].high != expected[i].high ||
                     out[i].count != expected[i].count;
        }

        // The total may have another type than the elements.
        const std::vector<uint8_t> bytes(70000, 255);
        std::vector<uint32_t> sums(bytes.size());
        const uint32_t total = ParallelInclusiveScan(
            scheduler, bytes.data(), bytes.data() + bytes.size(), sums.data(), 0u, std::plus<>());
        wrong += total != 70000 * 255 || sums[69998] != 69999 * 255;
    }) == Status::Ok);
    CHECK(wrong == 0);
}

TEST_CASE("ParallelScan: called by attached and external threads at once", "[parallel_scan]") {
    for (test::Life life : {test::Life::Run, test::Life::Start}) {
        test::Runner runner(test::Options(2));
        std::atomic<uint32_t> wrong{0};
        CHECK(test::WhileItRuns(runner, life, [&](TaskScheduler &scheduler) {
                  test::Threads threads(4, [&](uint32_t i) {
                      const bool attach = i % 2 != 0;
                      if (attach && scheduler.AttachThread() != Status::Ok) ++wrong;
                      const std::vector<uint64_t> in = Numbers(20000 + i);
                      std::vector<uint64_t> expected(in.size()), out(in.size());
                      std::inclusive_scan(in.begin(), in.end(), expected.begin());
                      ParallelInclusiveScan(scheduler, in.begin(), in.end(), out.begin(),
                                            uint64_t{0}, std::plus<>());
                      wrong += out != expected;
                      if (attach) scheduler.DetachThread();
                  });
              }) == Status::Ok);
        CHECK(wrong == 0);
        CHECK(test::Faults(runner.log) == "");
    }
}

TEST_CASE("ParallelScan: urgent tasks do not wait for the end of a pass", "[parallel_scan]") {
    constexpr uint32_t kCount = 1000000;
    SchedulerOptions settings = test::Options(1);
    test::Runner runner(settings);
    uint64_t joins = 0, longest = 0, submitted = 0;
    bool isPending = false;
    CHECK(runner.Run([&](TaskScheduler &scheduler) {
        auto urgent = [&](TaskScheduler *) {
            longest = (std::max)(longest, joins - submitted);
            isPending = false;
        };
        Counter counter;
        const auto join = [&](uint64_t a, uint64_t b) {
            if (++joins % 1000 == 0 && !isPending) {
                isPending = true;
                submitted = joins;
                TaskScheduler::Current()->AddTask(MakeTask(urgent), &counter, test::kHigh);
            }
            return a + b;
        };
        const std::vector<uint64_t> in(kCount, 1);
        std::vector<uint64_t> out(kCount);
        ParallelInclusiveScan(scheduler, in.begin(), in.end(), out.begin(), uint64_t{0}, join);
        scheduler.WaitForCounter(&counter);
    }) == Status::Ok);
    CHECK(joins > 2 * kCount - 2000);
    CHECK(longest < kCount * 6 / 10);  // no chunk of a loop is longer than half of the loop
}

TEST_CASE("ParallelScan: after a cancellation the result is the identity", "[parallel_scan]") {
    test::Runner runner(test::Options(2));
    std::vector<uint64_t> in(20000, 1), out(in.size(), 7);
    uint64_t before = 0, during = 0, late = 0;
    CHECK(runner.Run([&](TaskScheduler &scheduler) {
        CancelSource early(scheduler), middle(scheduler), second(scheduler);
        LoopOptions options;
        options.cancel = early.Token();
        early.Cancel();
        before = ParallelInclusiveScan(scheduler, in.begin(), in.end(), out.begin(), uint64_t{42},
                                       std::plus<>(), options);
        std::atomic<uint32_t> joins{0};
        const auto cancelAt = [&](CancelSource &source, uint32_t at) {
            return [&joins, &source, at](uint64_t a, uint64_t b) {
                if (++joins == at) source.Cancel();
                return a + b;
            };
        };
        options.cancel = middle.Token();
        during = ParallelInclusiveScan(scheduler, in.begin(), in.end(), out.begin(), uint64_t{42},
                                       cancelAt(middle, 300), options);
        CHECK(out == std::vector<uint64_t>(out.size(), 7));
        joins = 0;
        options.cancel = second.Token();
        late = ParallelInclusiveScan(scheduler, in.begin(), in.end(), out.begin(), uint64_t{42},
                                     cancelAt(second, 22000), options);
    }) == Status::Ok);
    CHECK(before == 42);
    CHECK(during == 42);
    CHECK(late == 42);
    CHECK(out[0] == 43);
}

TEST_CASE("ParallelScan: errors are reported, and exceptions reach the caller",
          "[parallel_scan][report]") {
    test::Runner runner(test::Options(2));
    const std::vector<uint64_t> in(20000, 1);
    std::vector<uint64_t> out(in.size());
    const auto scan = [&](TaskScheduler &scheduler, auto join) {
        return ParallelExclusiveScan(scheduler, in.begin(), in.end(), out.begin(), uint64_t{5},
                                     join);
    };
    CHECK(scan(runner.scheduler, std::plus<>()) == 5);
    CHECK(runner.log.CountOf(ReportCode::NotRunning) == 1);
    CHECK(runner.log.Count() == 1);

    // In the first pass, between the passes, and in the second pass
    const uint64_t totals[] = {20, 17000, 19990};
    uint64_t results[3] = {};
    CHECK(runner.Run([&](TaskScheduler &scheduler) {
        for (int i = 0; i < 3; ++i) {
            std::atomic<uint32_t> joins{0};
            const uint32_t at = i == 0 ? 100 : i == 1 ? 19800 : 30000;
            try {
                scan(scheduler, [&](uint64_t a, uint64_t b) {
                    if (++joins == at) throw totals[i];
                    return a + b;
                });
            } catch (uint64_t thrown) {
                results[i] = thrown;
            }
        }
    }) == Status::Ok);
    for (int i = 0; i < 3; ++i) CHECK(results[i] == totals[i]);
    CHECK(runner.log.Count() == 1);
}
