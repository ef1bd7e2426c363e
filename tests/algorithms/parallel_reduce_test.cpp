#include "weft/algorithms/parallel_reduce.h"

#include "support/scheduler_run.h"
#include "support/threads.h"

#include <atomic>
#include <cmath>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

using namespace weft;

namespace {

// Numbers of very different sizes and both signs. Adding them in another order gives another sum.
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

uint32_t Bits(float value) {
    uint32_t bits = 0;
    std::memcpy(&bits, &value, sizeof bits);
    return bits;
}

float SumOf(TaskScheduler &scheduler, const std::vector<float> &numbers, uint64_t grain = 0) {
    LoopOptions options;
    options.grain = grain;
    return ParallelReduce(
        scheduler, 0, numbers.size(), 0.0f, [&](size_t i) { return numbers[i]; }, std::plus<>(),
        options);
}

}  // namespace

TEST_CASE("ParallelReduce: a result that can be moved, but not assigned", "[parallel_reduce]") {
    struct Sum {
        explicit Sum(uint64_t of) : value(of) {}
        Sum(Sum &&) = default;
        const uint64_t value;
    };
    test::Runner runner(test::Options(2));
    uint64_t sum = 0;
    CHECK(runner.Run([&](TaskScheduler &scheduler) {
        const auto lengths = [](uint32_t first, uint32_t last) { return Sum(last - first); };
        const auto join = [](Sum left, Sum right) { return Sum(left.value + right.value); };
        sum = ParallelReduce(scheduler, 0, 1000u, Sum(0), lengths, join).value;
    }) == Status::Ok);
    CHECK(sum == 1000);
}

TEST_CASE("ParallelReduce: a sum of numbers, by index and by range", "[parallel_reduce][grid]") {
    for (const test::GridPoint &point : test::Grid()) {
        INFO(test::Describe(point));
        test::Runner runner(point);
        uint32_t wrong = 0;
        CHECK(runner.Run([&](TaskScheduler &scheduler) {
            for (uint64_t count : {0, 1, 2, 255, 256, 257, 1000, 20000}) {
                const uint64_t expected = count * (count + 1) / 2;
                const auto byIndex = [](uint64_t i) { return i; };
                const auto byRange = [](uint64_t first, uint64_t last) {
                    uint64_t sum = 0;
                    for (uint64_t i = first; i < last; ++i) sum += i;
                    return sum;
                };
                wrong += ParallelReduce(scheduler, 1, count + 1, uint64_t{0}, byIndex,
                                        std::plus<>()) != expected;
                wrong += ParallelReduce(scheduler, 1, count + 1, uint64_t{0}, byRange,
                                        std::plus<>()) != expected;
            }
        }) == Status::Ok);
        CHECK(wrong == 0);
        CHECK(runner.log.Text() == "");
    }
}

TEST_CASE("ParallelReduce: floating-point results are identical for any number of workers",
          "[parallel_reduce][grid]") {
    const std::vector<float> numbers = Uneven(30011);
    std::vector<uint32_t> bits, withGrain;
    for (const test::GridPoint &point : test::Grid()) {
        test::Runner runner(point);
        CHECK(runner.Run([&](TaskScheduler &scheduler) {
            for (int round = 0; round < 5; ++round) {
                bits.push_back(Bits(SumOf(scheduler, numbers)));
                withGrain.push_back(Bits(SumOf(scheduler, numbers, 1000)));
            }
        }) == Status::Ok);
    }
    test::Runner single(test::Options(0));
    REQUIRE(single.scheduler.Start() == Status::Ok);
    REQUIRE(single.scheduler.AttachThread() == Status::Ok);
    bits.push_back(Bits(SumOf(single.scheduler, numbers)));
    single.scheduler.DetachThread();
    single.scheduler.Stop();
    CHECK(std::count(bits.begin(), bits.end(), bits[0]) ==
          static_cast<std::ptrdiff_t>(bits.size()));
    CHECK(std::count(withGrain.begin(), withGrain.end(), withGrain[0]) ==
          static_cast<std::ptrdiff_t>(withGrain.size()));

    float inOrder = 0;
    for (float number : numbers) inOrder += number;
    CHECK(bits[0] != Bits(inOrder));  // so the sum of these numbers depends on the order
    CHECK(bits[0] != withGrain[0]);
}

TEST_CASE("ParallelReduce: only neighbouring results are joined, in order",
          "[parallel_reduce][grid]") {
    struct Stretch {
        uint32_t first, last;
    };
    for (const test::GridPoint &point : test::GridOfLargePools()) {
        INFO(test::Describe(point));
        test::Runner runner(point);
        std::atomic<uint32_t> wrong{0};
        CHECK(runner.Run([&](TaskScheduler &scheduler) {
            for (uint32_t count : {1u, 2u, 3u, 300u, 5000u}) {
                const auto join = [&](Stretch left, Stretch right) {
                    wrong += left.last != right.first;
                    return Stretch{left.first, right.last};
                };
                const Stretch whole = ParallelReduce(
                    scheduler, 0, count, Stretch{7, 7},
                    [](uint32_t i) {
                        return Stretch{i, i + 1};
                    },
                    join);
                wrong += whole.first != 0 || whole.last != count;
            }
        }) == Status::Ok);
        CHECK(wrong == 0);
    }
}

TEST_CASE("ParallelReduce: strings, move-only results and large results", "[parallel_reduce]") {
    struct Large {
        uint64_t bins[100];
    };
    test::Runner runner(test::Options(3));
    std::string text, expected;
    std::unique_ptr<uint32_t> most;
    Large histogram{};
    CHECK(runner.Run([&](TaskScheduler &scheduler) {
        for (uint32_t i = 0; i < 3000; ++i) expected += std::to_string(i);
        text = ParallelReduce(
            scheduler, 0, 3000u, std::string("none"), [](uint32_t i) { return std::to_string(i); },
            std::plus<>());
        using Pointer = std::unique_ptr<uint32_t>;
        most = ParallelReduce(
            scheduler, 0, 3000u, Pointer(),
            [](uint32_t i) { return std::make_unique<uint32_t>(i * 7 % 3000); },
            [](Pointer left, Pointer right) {
                return *left < *right ? std::move(right) : std::move(left);
            });
        histogram = ParallelReduce(
            scheduler, 0, 3000u, Large{},
            [](uint32_t first, uint32_t last) {
                Large part{};
                for (uint32_t i = first; i < last; ++i) ++part.bins[i % 100];
                return part;
            },
            [](Large left, const Large &right) {
                for (uint32_t i = 0; i < 100; ++i) left.bins[i] += right.bins[i];
                return left;
            });
    }) == Status::Ok);
    CHECK(text == expected);
    REQUIRE(most != nullptr);
    CHECK(*most == 2999);
    CHECK(std::count(histogram.bins, histogram.bins + 100, 30u) == 100);
}

TEST_CASE("ParallelReduce: an empty range gives the value `empty`", "[parallel_reduce]") {
    test::Runner runner(test::Options(2));
    std::string result;
    CHECK(runner.Run([&](TaskScheduler &scheduler) {
        result = ParallelReduce(
            scheduler, 3, 3, std::string("empty"), [](int) { return std::string("one"); },
            std::plus<>());
    }) == Status::Ok);
    CHECK(result == "empty");
}

TEST_CASE("ParallelReduce: blocks have the size of the grain", "[parallel_reduce]") {
    test::Runner runner(test::Options(2));
    std::atomic<uint32_t> wrong{0}, blocks{0};
    CHECK(runner.Run([&](TaskScheduler &scheduler) {
        LoopOptions options;
        options.grain = 100;
        ParallelReduce(
            scheduler, 0, 950u, 0,
            [&](uint32_t first, uint32_t last) {
                ++blocks;
                wrong += first % 100 != 0 || last != std::min(first + 100, 950u);
                return 0;
            },
            std::plus<>(), options);
    }) == Status::Ok);
    CHECK(blocks == 10);
    CHECK(wrong == 0);
}

TEST_CASE("ParallelReduce: inside loops, and by attached and external threads",
          "[parallel_reduce]") {
    for (test::Life life : {test::Life::Run, test::Life::Start}) {
        INFO(test::Describe(life));
        test::Runner runner(test::Options(2));
        const std::vector<float> numbers = Uneven(1000);
        std::atomic<uint32_t> others{0};
        CHECK(test::WhileItRuns(runner, life, [&](TaskScheduler &scheduler) {
                  const uint32_t bits = Bits(SumOf(scheduler, numbers));
                  ParallelFor(scheduler, 0, 20,
                              [&](int) { others += Bits(SumOf(scheduler, numbers)) != bits; });
                  others += scheduler.AttachThread() != Status::Ok;
                  others += Bits(SumOf(scheduler, numbers)) != bits;
                  scheduler.DetachThread();
              }) == Status::Ok);
        CHECK(others == 0);
        CHECK(test::Faults(runner.log) == "");
    }
}

TEST_CASE("ParallelReduce: errors are reported, and each result is destroyed",
          "[parallel_reduce][report]") {
    struct Counted {
        explicit Counted(std::atomic<int> *count) : alive(count) { ++*alive; }
        Counted(Counted &&other) noexcept : alive(other.alive) { ++*alive; }
        Counted &operator=(Counted &&) noexcept { return *this; }
        ~Counted() { --*alive; }
        std::atomic<int> *alive;
    };
    test::Runner runner(test::Options(2));
    const auto one = [](uint32_t) { return 1; };
    CHECK(ParallelReduce(runner.scheduler, 0, 100u, -1, one, std::plus<>()) == -1);
    CHECK(runner.log.CountOf(ReportCode::NotRunning) == 1);
    CHECK(runner.log.Count() == 1);

    std::atomic<int> alive{0};
    uint32_t wrong = 0;
    CHECK(runner.Run([&](TaskScheduler &scheduler) {
        ParallelReduce(
            scheduler, 0, 1000u, Counted(&alive), [&](uint32_t) { return Counted(&alive); },
            [](Counted left, Counted &&) { return left; });
        const auto caught = [&](auto body, auto join) {
            try {
                ParallelReduce(scheduler, 0, 1000u, 0, body, join);
            } catch (int what) {
                return what;
            }
            return 0;
        };
        const auto throws = [](uint32_t i) {
            if (i == 40) throw 40;
            return 1;
        };
        wrong += caught(throws, std::plus<>()) != 40;
        const auto throwsAtTheEnd = [](int left, int right) {
            if (left + right > 900) throw left + right;
            return left + right;
        };
        wrong += caught([](uint32_t) { return 1; }, throwsAtTheEnd) <= 900;
        wrong += caught([](uint32_t) { return 1; }, std::plus<>()) != 0;
    }) == Status::Ok);
    CHECK(alive == 0);
    CHECK(wrong == 0);
    CHECK(runner.log.Count() == 1);
}

TEST_CASE("ParallelReduce: a cancelled one joins what ran, and destroys each result",
          "[parallel_reduce][grid]") {
    struct Part {
        Part(std::atomic<int> *count, uint32_t indices) : alive(count), size(indices) { ++*alive; }
        Part(Part &&other) noexcept : alive(other.alive), size(other.size) { ++*alive; }
        ~Part() { --*alive; }
        std::atomic<int> *alive;
        uint32_t size;
    };
    for (const test::GridPoint &point : test::GridOfLargePools()) {
        INFO(test::Describe(point));
        test::Runner runner(point);
        std::atomic<int> alive{0};
        uint32_t wrong = 0;
        CHECK(runner.Run([&](TaskScheduler &scheduler) {
            for (const uint32_t last : {1u, 3u, 20u, 100u}) {
                CancelSource source(scheduler);
                LoopOptions options;
                options.cancel = source.Token();
                std::atomic<uint32_t> calls{0}, ran{0};
                const Part sum = ParallelReduce(
                    scheduler, 0, 256u, Part(&alive, 0),
                    [&](uint32_t begin, uint32_t end) {
                        ran += end - begin;
                        if (++calls == last) source.Cancel();
                        return Part(&alive, end - begin);
                    },
                    [&](Part left, Part right) { return Part(&alive, left.size + right.size); },
                    options);
                wrong += ran == 0 || sum.size != ran;
            }
        }) == Status::Ok);
        CHECK(wrong == 0);
        CHECK(alive == 0);
        CHECK(runner.log.Text() == "");
    }
}

#if !defined(WEFT_NO_EXCEPTIONS)  // built without exceptions, weft catches none
namespace {

// Moves do not throw; a copy throws if its value is kBad, or if it is not constructed but assigned.
struct ThrowsInCopy {
    static constexpr int kBad = 40;
    explicit ThrowsInCopy(int of) noexcept : value(of) {}
    ThrowsInCopy(ThrowsInCopy &&) noexcept = default;
    ThrowsInCopy &operator=(ThrowsInCopy &&) noexcept = default;
    ThrowsInCopy(const ThrowsInCopy &other) : value(other.value) {
        if (value == kBad) throw value;
    }
    ThrowsInCopy &operator=(const ThrowsInCopy &other) {
        value = other.value;
        throw value;
    }
    int value;
};

}  // namespace

TEST_CASE("ParallelReduce: throws what a copy of a result throws", "[parallel_reduce]") {
    // None of these functions throws. ParallelReduce copies what they return a reference to, and
    // what a parameter takes by value.
    std::vector<ThrowsInCopy> items;
    for (int i = 0; i < 100; ++i) items.emplace_back(i);
    const auto refers = [&](uint32_t i) noexcept -> const ThrowsInCopy & { return items[i]; };
    const auto refersToFirst = [&](uint32_t first, uint32_t) noexcept -> const ThrowsInCopy & {
        return items[first];
    };
    const auto makes = [](uint32_t i) noexcept { return ThrowsInCopy(static_cast<int>(i) + 100); };
    const auto takesValues = [](ThrowsInCopy, ThrowsInCopy right) noexcept { return right; };
    const auto givesLeft = [](ThrowsInCopy &&left, const ThrowsInCopy &) noexcept {
        return std::move(left);
    };
    const auto givesReference = [&](const ThrowsInCopy &,
                                    const ThrowsInCopy &) noexcept -> const ThrowsInCopy & {
        return items[ThrowsInCopy::kBad];
    };
    test::Runner runner(test::Options(2));
    int caught[5] = {}, last = 0;
    CHECK(runner.Run([&](TaskScheduler &scheduler) {
        const auto thrown = [&](const auto &body, const auto &join, uint64_t grain = 1) {
            LoopOptions options;
            options.grain = grain;
            try {
                ParallelReduce(scheduler, 0, 100u, ThrowsInCopy(0), body, join, options);
            } catch (int what) {
                return what;
            }
            return -1;
        };
        caught[0] = thrown(refers, givesLeft);           // the first result of a block
        caught[1] = thrown(refersToFirst, givesLeft);    // the result of a block
        caught[2] = thrown(refers, takesValues, 100);    // a parameter of the join
        caught[3] = thrown(makes, givesReference, 100);  // assigned within a block
        caught[4] = thrown(makes, givesReference);       // joins of blocks
        last = thrown(makes, givesLeft);
    }) == Status::Ok);
    for (const int each : caught) CHECK(each == ThrowsInCopy::kBad);
    CHECK(last == -1);
    CHECK(runner.log.Text() == "");
}
#endif
