#include "weft/algorithms/parallel_for.h"

#include "support/scheduler_run.h"
#include "support/spin.h"
#include "support/threads.h"

#include <atomic>
#include <limits>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

using namespace weft;

namespace {

// Counts how often each index was run. The counts are plain, so ThreadSanitizer reports a race if
// two workers run the same index.
class Marks {
public:
    explicit Marks(size_t count) : m_marks(count) {}
    void operator()(size_t index) { ++m_marks[index]; }
    size_t Wrong() const {
        return static_cast<size_t>(std::count_if(m_marks.begin(), m_marks.end(), IsWrong));
    }

private:
    static bool IsWrong(uint32_t marks) { return marks != 1; }
    std::vector<uint32_t> m_marks;
};

constexpr uint32_t kCounts[] = {0, 1, 2, 3, 7, 64, 1000, 20000};

LoopOptions WithGrain(uint64_t grain, uint64_t columnGrain = 0) {
    LoopOptions options;
    options.grain = grain;
    options.columnGrain = columnGrain;
    return options;
}

}  // namespace

TEST_CASE("ParallelFor: every index is run once", "[parallel_for][grid]") {
    for (const test::GridPoint &point : test::Grid()) {
        INFO(test::Describe(point));
        test::Runner runner(point);
        size_t wrong = 0;
        CHECK(runner.Run([&](TaskScheduler &scheduler) {
            for (uint32_t count : kCounts) {
                Marks single(count), ranges(count);
                ParallelFor(scheduler, 0, count, single);
                ParallelFor(scheduler, 0, count, [&](uint32_t first, uint32_t last) {
                    for (uint32_t i = first; i < last; ++i) ranges(i);
                });
                wrong += single.Wrong() + ranges.Wrong();
            }
        }) == Status::Ok);
        CHECK(wrong == 0);
        CHECK(runner.log.Text() == "");
    }
}

TEST_CASE("ParallelFor: any integer type as index, and any range", "[parallel_for]") {
    test::Runner runner(test::Options(2));
    std::atomic<int64_t> sum{0};
    std::atomic<uint32_t> calls{0}, outside{0};
    CHECK(runner.Run([&](TaskScheduler &scheduler) {
        ParallelFor(scheduler, -128, int8_t{127}, [&](int8_t i) { sum += i; });
        ParallelFor(scheduler, 250, uint8_t{255}, [&](uint8_t i) { calls += i >= 250 && i < 255; });
        constexpr uint64_t kEnd = std::numeric_limits<uint64_t>::max();
        ParallelFor(scheduler, kEnd - 100, kEnd, [&](uint64_t i) { outside += i < kEnd - 100; });
        constexpr int64_t kLeast = std::numeric_limits<int64_t>::min();
        ParallelFor(scheduler, kLeast, kLeast + 100,
                    [&](int64_t i) { outside += i >= kLeast + 100; });
        const auto never = [&](int) { ++outside; };
        ParallelFor(scheduler, 5, 5, never);
        ParallelFor(scheduler, 5, -5, never);
    }) == Status::Ok);
    CHECK(sum == -255);
    CHECK(calls == 5);
    CHECK(outside == 0);
}

TEST_CASE("ParallelFor: a range of 2^40 indices is split", "[parallel_for]") {
    test::Runner runner(test::Options(2));
    constexpr uint64_t kCount = uint64_t{1} << 40;
    std::atomic<uint64_t> sum{0}, most{0};
    CHECK(runner.Run([&](TaskScheduler &scheduler) {
        ParallelFor(scheduler, 0, kCount, [&](uint64_t first, uint64_t last) {
            sum += last - first;
            if (first >= last || last > kCount) ++most;
        });
    }) == Status::Ok);
    CHECK(sum == kCount);
    CHECK(most == 0);
}

TEST_CASE("ParallelFor: grains whose multiples overflow 64 bits", "[parallel_for]") {
    test::Runner runner(test::Options(2));
    std::atomic<uint64_t> sum{0}, wrong{0}, tiles{0};
    CHECK(runner.Run([&](TaskScheduler &scheduler) {
        LoopOptions options;
        options.grain = uint64_t{1} << 63;
        const auto whole = [&](auto first, auto last) {
            wrong += first >= last;
            sum += static_cast<uint64_t>(last) - static_cast<uint64_t>(first);
        };
        ParallelFor(scheduler, INT64_MIN, INT64_MAX, whole, options);
        options.grain = uint64_t{3} << 61;
        ParallelFor(scheduler, 0, UINT64_MAX - 1, whole, options);
        options = LoopOptions();
        options.columnGrain = 1;
        CancelSource source(scheduler);
        options.cancel = source.Token();
        const auto first = [&](const Tile<uint64_t> &) {
            ++tiles;
            source.Cancel();
        };
        ParallelFor2D(scheduler, 0xFFFFFFFFFFu, uint64_t{1} << 40, first, options);
    }) == Status::Ok);
    CHECK(wrong == 0);
    CHECK(sum == UINT64_MAX + (UINT64_MAX - 1));  // of both loops, modulo 2^64
    CHECK(tiles != 0);
}

TEST_CASE("ParallelFor2D: sides and tiles beyond 63 bits", "[parallel_for]") {
    test::Runner runner(test::Options(2));
    constexpr uint64_t kHalf = uint64_t{1} << 63;
    std::atomic<uint32_t> tiles{0}, wrong{0};
    CHECK(runner.Run([&](TaskScheduler &scheduler) {
        LoopOptions options;
        options.grain = options.columnGrain = kHalf;
        const auto check = [&](uint64_t begin, uint64_t end, uint64_t length) {
            wrong +=
                !(begin == 0 ? end == (std::min)(kHalf, length) : begin == kHalf && end == length);
        };
        for (const bool tall : {true, false}) {
            const uint64_t rows = tall ? kHalf + 1 : 1, columns = tall ? 1 : ~uint64_t{0};
            const auto look = [&](const Tile<uint64_t> &tile) {
                ++tiles;
                check(tile.rowBegin, tile.rowEnd, rows);
                check(tile.columnBegin, tile.columnEnd, columns);
            };
            ParallelFor2D(scheduler, rows, columns, look, options);
        }
    }) == Status::Ok);
    CHECK(tiles == 4);
    CHECK(wrong == 0);
}

TEST_CASE("ParallelFor: the body is not copied, and may be const", "[parallel_for]") {
    struct Body {
        explicit Body(std::atomic<uint32_t> *total) : sum(total) {}
        Body(const Body &) = delete;
        void operator()(uint32_t i) const { *sum += i; }
        std::atomic<uint32_t> *sum;
    };
    test::Runner runner(test::Options(2));
    std::atomic<uint32_t> sum{0};
    CHECK(runner.Run([&](TaskScheduler &scheduler) {
        const Body body(&sum);
        ParallelFor(scheduler, 0, 100u, body);
        ParallelFor(scheduler, 0, 100u, Body(&sum));
    }) == Status::Ok);
    CHECK(sum == 2 * 4950);
}

TEST_CASE("ParallelFor: only the last range is shorter than the grain", "[parallel_for]") {
    for (uint64_t grain : {1, 3, 64, 999, 1000, 5000}) {
        INFO("grain " << grain);
        test::Runner runner(test::Options(3));
        std::atomic<uint32_t> wrong{0}, sum{0};
        CHECK(runner.Run([&](TaskScheduler &scheduler) {
            const auto body = [&](uint32_t first, uint32_t last) {
                wrong += first % grain != 0 || (last - first < grain && last != 1000);
                sum += last - first;
            };
            ParallelFor(scheduler, 0, 1000u, body, WithGrain(grain));
        }) == Status::Ok);
        CHECK(wrong == 0);
        CHECK(sum == 1000);
    }
}

TEST_CASE("ParallelFor: all workers take part if each index takes long", "[parallel_for]") {
    for (uint32_t workers : {1u, 2u, 3u, 8u}) {
        for (uint32_t indices : {workers, workers + 5}) {
            INFO(workers << " workers, " << indices << " indices");
            test::Runner runner(test::Options(workers));
            std::atomic<uint32_t> begun{0}, wrong{0};
            CHECK(runner.Run([&](TaskScheduler &scheduler) {
                ParallelFor(scheduler, 0, indices, [&](uint32_t) {
                    ++begun;
                    if (wrong == 0) wrong += !test::SpinUntil([&] { return begun >= workers; });
                });
            }) == Status::Ok);
            REQUIRE(wrong == 0);
        }
    }
}

TEST_CASE("ParallelFor: nested loops, and several loops at once", "[parallel_for][grid]") {
    for (const test::GridPoint &point : test::GridOfLargePools()) {
        INFO(test::Describe(point));
        test::Runner runner(point);
        size_t wrong = 0;
        CHECK(runner.Run([&](TaskScheduler &scheduler) {
            constexpr uint32_t kOuter = 20, kInner = 300;
            Marks marks(kOuter * kInner);
            ParallelFor(scheduler, 0, kOuter, [&](uint32_t i) {
                ParallelFor(scheduler, 0, kInner, [&, i](uint32_t j) { marks(i * kInner + j); });
            });
            wrong += marks.Wrong();

            std::vector<Marks> separate(5, Marks(kInner));
            test::Batch loops(5, [&](TaskScheduler &self, uint32_t i) {
                ParallelFor(self, 0, kInner, separate[i]);
            });
            scheduler.AddTasksAndWait(loops.Count(), loops.Tasks());
            for (const Marks &each : separate) wrong += each.Wrong();
        }) == Status::Ok);
        CHECK(wrong == 0);
        CHECK(runner.log.Text() == "");
    }
}

TEST_CASE("ParallelFor: the body may wait, and yield", "[parallel_for][grid]") {
    for (const test::GridPoint &point : test::GridOfLargePools()) {
        INFO(test::Describe(point));
        test::Runner runner(point);
        Marks marks(200);
        std::atomic<uint32_t> wrong{0};
        CHECK(runner.Run([&](TaskScheduler &scheduler) {
            ParallelFor(scheduler, 0, 200u, [&](uint32_t i) {
                bool ran = false;
                auto child = [&](TaskScheduler *self) {
                    self->Yield();
                    ran = true;
                };
                Counter counter;
                TaskScheduler::Current()->AddTask(MakeTask(child), &counter);
                if (i % 3 == 0) TaskScheduler::Current()->Yield();
                TaskScheduler::Current()->WaitForCounter(&counter);
                wrong += !ran;
                marks(i);
            });
        }) == Status::Ok);
        CHECK(marks.Wrong() == 0);
        CHECK(wrong == 0);
        CHECK(runner.log.Text() == "");
    }
}

TEST_CASE("ParallelFor: while a body waits, its worker runs other indices", "[parallel_for]") {
    test::Runner runner(test::Options(1));
    std::atomic<uint32_t> begun{0};
    bool othersRan = false;
    CHECK(runner.Run([&](TaskScheduler &scheduler) {
        ParallelFor(scheduler, 0, 16u, [&](uint32_t i) {
            ++begun;
            if (i != 0) return;
            othersRan = test::YieldUntil(scheduler, [&] { return begun > 1; });
        });
    }) == Status::Ok);
    CHECK(othersRan);
    CHECK(begun == 16);
}

TEST_CASE("ParallelFor: called by attached and external threads at once", "[parallel_for][grid]") {
    for (const test::GridPoint &point : test::GridOfLargePools()) {
        for (test::Life life : {test::Life::Run, test::Life::Start}) {
            INFO(test::Describe(point) << ", " << test::Describe(life));
            test::Runner runner(point);
            std::vector<Marks> marks(4, Marks(500));
            std::atomic<uint32_t> wrong{0};
            CHECK(test::WhileItRuns(runner, life, [&](TaskScheduler &scheduler) {
                      test::Threads threads(4, [&](uint32_t i) {
                          const bool attach = i % 2 != 0;
                          if (attach && scheduler.AttachThread() != Status::Ok) ++wrong;
                          ParallelFor(scheduler, 0, 500u, marks[i]);
                          wrong += static_cast<uint32_t>(marks[i].Wrong());
                          if (attach) scheduler.DetachThread();
                      });
                  }) == Status::Ok);
            CHECK(wrong == 0);
            CHECK(test::Faults(runner.log) == "");
        }
    }
}

TEST_CASE("ParallelFor: without workers the indices always run in the same order",
          "[parallel_for][one_worker]") {
    std::vector<std::vector<uint32_t>> orders;
    for (int round = 0; round < 3; ++round) {
        test::Runner runner(test::Options(0));
        REQUIRE(runner.scheduler.Start() == Status::Ok);
        REQUIRE(runner.scheduler.AttachThread() == Status::Ok);
        std::vector<uint32_t> order;
        ParallelFor(runner.scheduler, 0, 1000u, [&](uint32_t i) {
            order.push_back(i);
            if (i % 100 == 17) runner.scheduler.Yield();
            order.push_back(i);
        });
        runner.scheduler.DetachThread();
        runner.scheduler.Stop();
        CHECK(order.size() == 2000);
        orders.push_back(order);
        CHECK(runner.log.Text() == "");
    }
    CHECK(orders[1] == orders[0]);
    CHECK(orders[2] == orders[0]);
}

TEST_CASE("ParallelFor: a stopped scheduler is reported", "[parallel_for][report]") {
    test::Runner runner(test::Options(2));
    const auto never = [](uint32_t) { std::abort(); };
    ParallelFor(runner.scheduler, 0, 100u, never);
    CHECK(runner.log.CountOf(ReportCode::NotRunning) == 1);
    CHECK(runner.log.Count() == 1);
}

TEST_CASE("ParallelFor: the first exception of the body is thrown to the caller",
          "[parallel_for]") {
    for (const test::GridPoint &point : test::Grid()) {
        INFO(test::Describe(point));
        test::Runner runner(point);
        std::atomic<uint32_t> ran{0}, running{0};
        uint32_t wrong = 0;
        CHECK(runner.Run([&](TaskScheduler &scheduler) {
            const auto body = [&](uint32_t i) {
                ++running;
                ++ran;
                if (i % 100 == 5) scheduler.Yield();
                --running;
                if (i == 5) throw i;
            };
            const auto caught = [&](auto loop) {
                try {
                    loop();
                } catch (uint32_t what) {
                    wrong += running != 0;  // a body still runs
                    return what;
                }
                return ~0u;
            };
            wrong += caught([&] { ParallelFor(scheduler, 0, 100000u, body); }) != 5;
            wrong += ran < 1;
            ran = 0;
            wrong += caught([&] {
                         ParallelFor(scheduler, 0, 3u, [&](uint32_t outer) {
                             if (outer == 1) ParallelFor(scheduler, 0, 6u, body);
                         });
                     }) != 5;
            wrong += caught([&] {
                         ParallelFor2D(scheduler, 8u, 8u, [&](uint32_t row, uint32_t column) {
                             if (row == 7 && column == 7) throw 77u;
                         });
                     }) != 77;
            ran = 0;
            ParallelFor(scheduler, 6u, 9u, body);  // later loops run as before
            wrong += ran != 3;
        }) == Status::Ok);
        CHECK(wrong == 0);
        CHECK(runner.log.CountOf(ReportCode::TaskThrew) == 0);
    }
}

TEST_CASE("ParallelFor: after an exception, the rest is left out", "[parallel_for]") {
    test::Runner runner(test::Options(1));
    uint32_t ran = 0;
    CHECK(runner.Run([&](TaskScheduler &scheduler) {
        CHECK_THROWS_AS(ParallelFor(scheduler, 0, 1u << 30,
                                    [&](uint32_t) {
                                        if (++ran == 10) throw ran;
                                    }),
                        uint32_t);
    }) == Status::Ok);
    CHECK(ran == 10);
}

#if !defined(WEFT_NO_EXCEPTIONS)  // built without exceptions, weft catches none
TEST_CASE("ParallelFor: an exception reaches an external thread, and a task's report",
          "[parallel_for][report]") {
    test::Runner runner(test::Options(2));
    uint32_t caught = 0;
    const auto body = [](uint32_t i) {
        if (i == 5) throw i;
    };
    CHECK(test::WhileItRuns(runner, test::Life::Start, [&](TaskScheduler &scheduler) {
              try {
                  ParallelFor(scheduler, 0, 100u, body);
              } catch (uint32_t what) {
                  caught = what;
              }
          }) == Status::Ok);
    CHECK(caught == 5);
    CHECK(runner.log.Text() == "");

    CHECK(runner.Run([&](TaskScheduler &scheduler) {
        auto loop = [&](TaskScheduler *) { ParallelFor(scheduler, 0, 100u, body); };
        const Task task = MakeTask(loop);
        scheduler.AddTasksAndWait(1, &task, test::Named("particles"));
    }) == Status::Ok);
    CHECK(runner.log.CountOf(ReportCode::TaskThrew) == 1);
    CHECK(runner.log.First(ReportCode::TaskThrew).task == "particles");
}
#endif

TEST_CASE("ParallelFor: a loop is noexcept if its body is", "[parallel_for]") {
    TaskScheduler *none = nullptr;
    const auto quiet = [](uint32_t) noexcept {};
    const auto quietPart = [](uint32_t, uint32_t) noexcept {};
    const auto quietTile = [](const Tile<uint32_t> &) noexcept {};
    const auto loud = [](uint32_t) {};
    static_assert(noexcept(ParallelFor(*none, 0, 1u, quiet)));
    static_assert(noexcept(ParallelFor(*none, 0, 1u, quietPart)));
    static_assert(noexcept(ParallelFor2D(*none, 1, 1u, quietTile)));
    static_assert(noexcept(ParallelFor2D(*none, 1, 1u, quietPart)));
    static_assert(!noexcept(ParallelFor(*none, 0, 1u, loud)));
    static_cast<void>(none);
}

TEST_CASE("ParallelFor2D: each cell is run once", "[parallel_for][grid]") {
    constexpr uint32_t kSizes[][2] = {{0, 5},    {5, 0},  {1, 1},   {1, 1000},
                                      {1000, 1}, {7, 13}, {120, 90}};
    for (const test::GridPoint &point : test::Grid()) {
        INFO(test::Describe(point));
        test::Runner runner(point);
        size_t wrong = 0;
        CHECK(runner.Run([&](TaskScheduler &scheduler) {
            for (const auto [rows, columns] : kSizes) {
                Marks places(rows * columns), tiles(rows * columns), wide(rows * columns);
                ParallelFor2D(scheduler, rows, columns,
                              [&, width = columns](uint32_t row, uint32_t column) {
                                  places(row * width + column);
                              });
                const auto all = [width = columns](Marks &marks) {
                    return [&marks, width](const Tile<uint32_t> &tile) {
                        for (uint32_t row = tile.rowBegin; row < tile.rowEnd; ++row) {
                            for (uint32_t i = tile.columnBegin; i < tile.columnEnd; ++i)
                                marks(row * width + i);
                        }
                    };
                };
                ParallelFor2D(scheduler, rows, columns, all(tiles), WithGrain(5, 4));
                ParallelFor2D(scheduler, rows, columns, all(wide), WithGrain(3));
                wrong += places.Wrong() + tiles.Wrong() + wide.Wrong();
            }
        }) == Status::Ok);
        CHECK(wrong == 0);
        CHECK(runner.log.Text() == "");
    }
}

TEST_CASE("ParallelFor2D: tiles have the size of the grains", "[parallel_for]") {
    test::Runner runner(test::Options(2));
    std::atomic<uint32_t> tiles{0}, wrong{0};
    CHECK(runner.Run([&](TaskScheduler &scheduler) {
        const auto body = [&](const Tile<int> &tile) {
            ++tiles;
            wrong += tile.rowBegin % 8 != 0 || tile.rowEnd != std::min(tile.rowBegin + 8, 50);
            wrong +=
                tile.columnBegin % 16 != 0 || tile.columnEnd != std::min(tile.columnBegin + 16, 40);
        };
        ParallelFor2D(scheduler, 50, 40, body, WithGrain(8, 16));
        const auto strips = [&](const Tile<int> &tile) {
            wrong += tile.columnBegin != 0 || tile.columnEnd != 4 || tile.rowBegin % 8 != 0;
            wrong += tile.rowEnd != 4000 && tile.rowEnd % 8 != 0;
        };
        ParallelFor2D(scheduler, 4000, 4, strips, WithGrain(8));
    }) == Status::Ok);
    CHECK(tiles == 7 * 3);
    CHECK(wrong == 0);
}
