#include "weft/algorithms/parallel_pipeline.h"

#include "support/scheduler_run.h"
#include "support/spin.h"
#include "support/threads.h"

#include <algorithm>
#include <atomic>
#include <stdexcept>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

using namespace weft;

namespace {

struct Item {
    uint32_t number = 0;
    uint32_t passed = 0;  // filters, plain: ThreadSanitizer reports items that are in two filters
};

// Counts calls that run at the same time, and the most there were.
class Inside {
public:
    class Visit {
    public:
        explicit Visit(Inside &inside) : m_inside(inside) {
            const uint32_t now = ++m_inside.m_now;
            uint32_t old = m_inside.m_most;
            while (old < now && !m_inside.m_most.compare_exchange_weak(old, now)) {
            }
        }
        ~Visit() { --m_inside.m_now; }
        Visit(const Visit &) = delete;
        Visit &operator=(const Visit &) = delete;

    private:
        Inside &m_inside;
    };
    uint32_t Most() const { return m_most; }
    uint32_t Now() const { return m_now; }
    void Enter() { static_cast<void>(++m_now); }
    void Leave() { static_cast<void>(--m_now); }

private:
    std::atomic<uint32_t> m_now{0}, m_most{0};
};

// A pipeline with a filter of each kind, and what it must keep to.
struct Checked {
    explicit Checked(uint32_t items) : count(items), seen(items) {}

    bool Input(Item &item) {
        const Inside::Visit visit(input);
        if (read == count) return false;
        inFlight.Enter();
        most = (std::max)(most.load(), inFlight.Now());
        item.number = read++;
        item.passed = 0;
        return true;
    }
    void Parallel(Item &item) {
        const Inside::Visit visit(parallel);
        wrong += item.passed++ != 0;
        test::Linger(item.number % 7 == 0 ? 5 : 0);
    }
    void Serial(Item &item) {
        const Inside::Visit visit(serial);
        wrong += item.passed++ != 1;
        ++seen[item.number];
    }
    void InOrder(Item &item) {
        const Inside::Visit visit(inOrder);
        wrong += item.passed++ != 2;
        wrong += item.number != next++;
    }
    void Last(Item &item) {
        wrong += item.passed++ != 3;
        inFlight.Leave();
    }

    size_t Run(TaskScheduler &scheduler, uint32_t tokens, const PipelineOptions &options = {}) {
        std::vector<PipelineSlot<Item>> slots(tokens);
        ParallelPipeline(
            scheduler, options, slots.data(), tokens, [&](Item &item) { return Input(item); },
            ParallelFilter([&](Item &item) { Parallel(item); }),
            SerialFilter([&](Item &item) { Serial(item); }),
            InOrderFilter([&](Item &item) { InOrder(item); }),
            ParallelFilter([&](Item &item) { Last(item); }));
        size_t bad = wrong;
        for (const uint32_t times : seen) bad += times != 1;
        bad += next != count || inFlight.Now() != 0;
        bad += input.Most() > 1 || serial.Most() > 1 || inOrder.Most() > 1 || most > tokens;
        return bad;
    }

    const uint32_t count;
    std::vector<uint32_t> seen;
    uint32_t read = 0, next = 0;  // plain: each belongs to one filter
    std::atomic<uint32_t> wrong{0}, most{0};
    Inside input, parallel, serial, inOrder, inFlight;
};

}  // namespace

TEST_CASE("ParallelPipeline: each item passes each filter once, one at a time, in order",
          "[parallel_pipeline][grid]") {
    for (const test::GridPoint &point : test::Grid()) {
        INFO(test::Describe(point));
        test::Runner runner(point);
        size_t wrong = 0;
        CHECK(runner.Run([&](TaskScheduler &scheduler) {
            for (const uint32_t tokens : {1, 2, 16}) {
                for (const uint32_t count : {0, 1, 20})
                    wrong += Checked(count).Run(scheduler, tokens);
            }
        }) == Status::Ok);
        CHECK(wrong == 0);
        CHECK(runner.log.Text() == "");
    }
}

TEST_CASE("ParallelPipeline: many items", "[parallel_pipeline]") {
    for (const uint32_t workers : {1u, 2u}) {
        test::Runner runner(test::Options(workers));
        size_t wrong = 0;
        CHECK(runner.Run([&](TaskScheduler &scheduler) {
            for (const uint32_t tokens : {3, 64}) wrong += Checked(3000).Run(scheduler, tokens);
        }) == Status::Ok);
        CHECK(wrong == 0);
        CHECK(runner.log.Text() == "");
    }
}

TEST_CASE("ParallelPipeline: a task reads at most 16 items before it lets urgent tasks run",
          "[parallel_pipeline][one_worker]") {
    test::Runner runner(test::Options(1));
    uint32_t read = 0, passed = 0, before = 0;
    CHECK(runner.Run([&](TaskScheduler &scheduler) {
        PipelineSlot<Item> slots[1];
        test::Batch urgent(1, [&](TaskScheduler &, uint32_t) { before = passed; });
        Counter done;
        ParallelPipeline(
            scheduler, slots, 1,
            [&](Item &) {
                if (read == 0) scheduler.AddTask(urgent[0], &done, test::kHigh);
                return read++ < 100;
            },
            SerialFilter([&](Item &) { ++passed; }));
        scheduler.WaitForCounter(&done);
    }) == Status::Ok);
    CHECK(passed == 100);
    CHECK(before <= 16);
    CHECK(runner.log.Text() == "");
}

TEST_CASE("ParallelPipeline: a parallel filter takes several items at once",
          "[parallel_pipeline]") {
    test::Runner runner(test::Options(2));
    std::atomic<uint32_t> begun{0}, missed{0};
    CHECK(runner.Run([&](TaskScheduler &scheduler) {
        PipelineSlot<Item> slots[2];
        uint32_t read = 0;
        ParallelPipeline(
            scheduler, slots, 2, [&](Item &) { return read++ < 2; }, ParallelFilter([&](Item &) {
                ++begun;
                missed += !test::SpinUntil([&] { return begun >= 2; });
            }));
    }) == Status::Ok);
    CHECK(begun == 2);
    CHECK(missed == 0);
}

TEST_CASE("ParallelPipeline: an item that waits for its turn holds no fiber",
          "[parallel_pipeline]") {
    // Two workers, and three fibers. The first item waits in the parallel filter until all others
    // have come to the filter that takes them in order.
    test::Runner runner(test::Options(2, 4));
    constexpr uint32_t kItems = 100;
    std::vector<uint32_t> order;
    CHECK(runner.Run([&](TaskScheduler &scheduler) {
        std::vector<PipelineSlot<Item>> slots(kItems);
        Counter others(kItems - 1);
        uint32_t read = 0;
        ParallelPipeline(
            scheduler, slots.data(), kItems,
            [&](Item &item) {
                item.number = read++;
                return read <= kItems;
            },
            ParallelFilter([&](Item &item) {
                if (item.number == 0) {
                    scheduler.WaitForCounter(&others);
                } else {
                    scheduler.DecrementCounter(&others);
                }
            }),
            InOrderFilter([&](Item &item) { order.push_back(item.number); }));
    }) == Status::Ok);
    CHECK(order.size() == kItems);
    CHECK(std::is_sorted(order.begin(), order.end()));
    CHECK(runner.log.Text() == "");
}

TEST_CASE("ParallelPipeline: filters may wait, and run other pipelines", "[parallel_pipeline]") {
    test::Runner runner(test::Options(3));
    std::atomic<size_t> wrong{0};
    uint32_t sum = 0;
    CHECK(runner.Run([&](TaskScheduler &scheduler) {
        PipelineSlot<Item> slots[4];
        uint32_t read = 0;
        ParallelPipeline(
            scheduler, slots, 4,
            [&](Item &item) {
                scheduler.Yield();
                item.number = read++;
                return read <= 30;
            },
            ParallelFilter([&](Item &) { wrong += Checked(20).Run(scheduler, 3); }),
            SerialFilter([&](Item &item) {
                scheduler.Yield();
                const uint32_t old = sum;
                scheduler.Yield();
                sum = old + item.number;
            }));
    }) == Status::Ok);
    CHECK(wrong == 0);
    CHECK(sum == 435);
    CHECK(runner.log.Text() == "");
}

TEST_CASE("ParallelPipeline: slots and lvalue filters may be used again", "[parallel_pipeline]") {
    test::Runner runner(test::Options(2));
    uint32_t sum = 0;
    CHECK(runner.Run([&](TaskScheduler &scheduler) {
        PipelineSlot<Item> slots[3];
        struct Add {
            explicit Add(uint32_t *total) : sum(total) {}
            Add(const Add &) = delete;
            void operator()(Item &item) { *sum += item.number; }
            uint32_t *sum;
        } add(&sum);
        for (int i = 0; i < 3; ++i) {
            uint32_t read = 0;
            ParallelPipeline(
                scheduler, slots, 3,
                [&](Item &item) {
                    item.number = ++read;
                    return read <= 10;
                },
                SerialFilter(add));
        }
        CHECK(slots[0].item.number != 0);
    }) == Status::Ok);
    CHECK(sum == 3 * 55);
}

TEST_CASE("ParallelPipeline: called by attached and external threads", "[parallel_pipeline]") {
    for (test::Life life : {test::Life::Run, test::Life::Start}) {
        INFO(test::Describe(life));
        test::Runner runner(test::Options(2));
        size_t wrong = 0;
        CHECK(test::WhileItRuns(runner, life, [&](TaskScheduler &scheduler) {
                  wrong += Checked(300).Run(scheduler, 4);
                  if (scheduler.AttachThread() != Status::Ok) return;
                  wrong += Checked(300).Run(scheduler, 4);
                  scheduler.DetachThread();
              }) == Status::Ok);
        CHECK(wrong == 0);
        CHECK(test::Faults(runner.log) == "");
    }
}

TEST_CASE("ParallelPipeline: without workers, the order is always the same",
          "[parallel_pipeline]") {
    std::vector<uint32_t> orders[2];
    for (std::vector<uint32_t> &order : orders) {
        test::Runner runner(test::Options(0));
        REQUIRE(runner.scheduler.Start() == Status::Ok);
        REQUIRE(runner.scheduler.AttachThread() == Status::Ok);
        PipelineSlot<Item> slots[4];
        uint32_t read = 0;
        ParallelPipeline(
            runner.scheduler, slots, 4,
            [&](Item &item) {
                item.number = read++;
                return read <= 40;
            },
            ParallelFilter([&](Item &item) {
                if (item.number % 3 == 0) runner.scheduler.Yield();
            }),
            SerialFilter([&](Item &item) { order.push_back(item.number); }));
        runner.scheduler.DetachThread();
        runner.scheduler.Stop();
        CHECK(runner.log.Text() == "");
    }
    CHECK(orders[0].size() == 40);
    CHECK(orders[0] == orders[1]);
}

TEST_CASE("ParallelPipeline: a cancelled pipeline ends, and calls nothing more",
          "[parallel_pipeline]") {
    for (const test::GridPoint &point : test::Grid()) {
        INFO(test::Describe(point));
        test::Runner runner(point);
        std::atomic<uint32_t> after{0};
        uint32_t read = 0, written = 0;
        CHECK(runner.Run([&](TaskScheduler &scheduler) {
            CancelSource source(scheduler);
            PipelineOptions options;
            options.cancel = source.Token();
            PipelineSlot<Item> slots[4];
            ParallelPipeline(
                scheduler, options, slots, 4,
                [&](Item &item) {
                    item.number = read++;
                    return true;
                },
                ParallelFilter([&](Item &) { scheduler.Yield(); }), InOrderFilter([&](Item &item) {
                    after += source.IsCancelled();
                    written += item.number == written;
                    if (written == 20) source.Cancel();
                }));
            const auto never = [](Item &) { return std::abort(), true; };
            ParallelPipeline(scheduler, options, slots, 4, never, ParallelFilter(never));
        }) == Status::Ok);
        CHECK(written == 20);
        CHECK(after == 0);
        CHECK(read <= 24);
        CHECK(runner.log.Text() == "");
    }
}

TEST_CASE("ParallelPipeline: the first exception reaches the caller, and the rest is left out",
          "[parallel_pipeline]") {
    for (const test::GridPoint &point : test::Grid()) {
        INFO(test::Describe(point));
        test::Runner runner(point);
        uint32_t wrong = 0;
        CHECK(runner.Run([&](TaskScheduler &scheduler) {
            for (const char *thrower : {"input", "parallel", "serial", "inOrder", "nobody"}) {
                std::atomic<uint32_t> running{0};
                uint32_t read = 0, written = 0;
                const auto call = [&](const char *name, const Item &item) {
                    ++running;
                    scheduler.Yield();
                    --running;
                    if (std::string(name) == thrower && item.number == 20)
                        throw std::runtime_error(name);
                };
                PipelineSlot<Item> slots[5];
                std::string caught = "nobody";
                try {
                    ParallelPipeline(
                        scheduler, slots, 5,
                        [&](Item &item) {
                            item.number = read++;
                            call("input", item);
                            return read <= 60;
                        },
                        ParallelFilter([&](Item &item) { call("parallel", item); }),
                        SerialFilter([&](Item &item) { call("serial", item); }),
                        InOrderFilter([&](Item &item) {
                            call("inOrder", item);
                            ++written;
                        }));
                } catch (const std::runtime_error &error) {
                    caught = error.what();
                }
                wrong += caught != thrower;
                wrong += running != 0;
                wrong += caught == "nobody" ? written != 60 : written > 20 || read > 26;
            }
        }) == Status::Ok);
        CHECK(wrong == 0);
        CHECK(runner.log.Text() == "");
    }
}

TEST_CASE("ParallelPipeline: noexcept if all functions are", "[parallel_pipeline]") {
    TaskScheduler *none = nullptr;
    PipelineSlot<Item> *slots = nullptr;
    const auto input = [](Item &) noexcept { return false; };
    const auto quiet = [](Item &) noexcept {};
    const auto loud = [](Item &) {};
    static_assert(noexcept(ParallelPipeline(*none, slots, 1, input, SerialFilter(quiet))));
    static_assert(!noexcept(ParallelPipeline(*none, slots, 1, input, SerialFilter(loud))));
    static_cast<void>(none);
    static_cast<void>(slots);
}

TEST_CASE("ParallelPipeline: mistakes are reported, and nothing is called",
          "[parallel_pipeline][report]") {
    test::Runner runner(test::Options(2));
    const auto never = [](Item &) { return std::abort(), true; };
    PipelineSlot<Item> slots[1];
    ParallelPipeline(runner.scheduler, slots, 1, never, ParallelFilter(never));
    CHECK(runner.log.CountOf(ReportCode::NotRunning) == 1);
    CHECK(runner.Run([&](TaskScheduler &scheduler) {
        ParallelPipeline(scheduler, slots, 0, never, ParallelFilter(never));
        PipelineSlot<Item> *none = nullptr;
        ParallelPipeline(scheduler, none, 3, never, ParallelFilter(never));
        PipelineOptions options;
        options.priority = static_cast<Priority>(77);
        ParallelPipeline(scheduler, options, slots, 1, never, ParallelFilter(never));
    }) == Status::Ok);
    CHECK(runner.log.CountOf(ReportCode::BadOption) == 3);
    CHECK(runner.log.Count() == 4);
}
