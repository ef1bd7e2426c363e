#include "weft/data/result.h"

#include "support/scheduler_run.h"
#include "support/threads.h"

#include <atomic>
#include <chrono>
#include <limits>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <catch2/catch.hpp>

using namespace weft;
using std::chrono::hours;
using std::chrono::milliseconds;

namespace {

// Has no default constructor, and cannot be copied or moved. Counts the objects that exist.
class Fixed {
public:
    Fixed(std::atomic<int> &alive, uint32_t number) : value(number), m_alive(alive) {
        m_alive.fetch_add(1);
    }
    ~Fixed() { m_alive.fetch_sub(1); }
    Fixed(const Fixed &) = delete;
    Fixed &operator=(const Fixed &) = delete;
    const uint32_t value;

private:
    std::atomic<int> &m_alive;
};

struct Thrower {
    explicit Thrower(uint32_t number) : value(number) {
        if (number == 0) throw std::runtime_error("zero");
    }
    uint32_t value;
};

// Returns what the exception says that `call` throws.
template <class Call>
std::string ThrownBy(Call call) {
    try {
        static_cast<void>(call());
    } catch (const std::exception &error) {
        return error.what();
    }
    return "nothing";
}

}  // namespace

TEST_CASE("Result: tasks and threads wait for a value, and see what was written before",
          "[result][grid]") {
    for (const test::GridPoint &point : test::Grid()) {
        INFO(test::Describe(point));
        std::atomic<uint32_t> wrong{0}, ended{0};
        test::Runner runner(point);
        CHECK(runner.Run([&](TaskScheduler &scheduler) {
            for (uint32_t round = 0; round < 10; ++round) {
                Result<std::unique_ptr<uint32_t>> result;
                uint32_t before = 0;
                const auto check = [&] {
                    if (*result.Get(scheduler) != round || before != round + 1) wrong.fetch_add(1);
                    if (!result.IsReady()) wrong.fetch_add(1);
                    ended.fetch_add(1);
                };
                test::Batch waiter(1, [&](TaskScheduler &, uint32_t) { check(); });
                test::Batch setter(1, [&](TaskScheduler &running, uint32_t) {
                    if (round % 2 != 0) running.Yield();
                    before = round + 1;
                    result.Set(running, std::make_unique<uint32_t>(round));
                });
                Counter counter;
                // there may be only two fibers: one waits, the other one sets
                scheduler.AddTask(waiter[0], &counter);
                scheduler.AddTask(setter[0], &counter);
                std::thread thread(check);
                check();
                scheduler.WaitForCounter(&counter);
                thread.join();
            }
        }) == Status::Ok);
        CHECK(ended.load() == 30);
        CHECK(wrong.load() == 0);
        CHECK(test::Faults(runner.log) == "");
    }
}

TEST_CASE("Result: each value is destroyed once, by Reset or by the destructor", "[result]") {
    std::atomic<int> alive{0};
    std::vector<int> counts;
    uint32_t sum = 0;
    test::Runner runner(test::Options(1));
    CHECK(runner.Run([&](TaskScheduler &scheduler) {
        {
            Result<Fixed> never, once, twice;
            once.Set(scheduler, alive, 3u);
            twice.Set(scheduler, alive, 4u);
            sum += once.Get(scheduler).value + twice.Value().value;
            counts.push_back(alive.load());
            twice.Reset();
            counts.push_back(alive.load());
            counts.push_back(twice.IsReady());
            twice.Set(scheduler, alive, 5u);
            sum += twice.Value().value;
            twice.Reset();
            twice.Reset();
            twice.Set(scheduler, alive, 6u);
            counts.push_back(alive.load());
            sum += never.IsReady() ? 1000 : 0;
        }
        counts.push_back(alive.load());
    }) == Status::Ok);
    CHECK(counts == std::vector<int>{2, 1, 0, 2, 0});
    CHECK(sum == 12);
    CHECK(runner.log.Text() == "");
}

TEST_CASE("Result: an exception travels to all that wait", "[result]") {
    for (uint32_t workers : {1u, 2u}) {
        std::atomic<uint32_t> caught{0}, called{0};
        std::vector<std::string> thrown;
        test::Runner runner(test::Options(workers));
        CHECK(runner.Run([&](TaskScheduler &scheduler) {
            Result<uint32_t> broken, sum, length;
            Result<> done;
            Result<Thrower> built;
            test::Batch waiters(5, [&](TaskScheduler &running, uint32_t) {
                caught += ThrownBy([&] { return broken.Get(running); }) == "broken";
            });
            Counter counter;
            scheduler.AddTasks(5, waiters.Tasks(), &counter);
            AddTaskWhen(
                scheduler, [](uint32_t &) -> uint32_t { return 1; }, length, sum);
            AddTaskWhen(
                scheduler,
                [&called](uint32_t &value) {
                    called.fetch_add(1);
                    return value;
                },
                sum, broken);
            AddTaskWhen(
                scheduler, []() -> uint32_t { throw std::runtime_error("broken"); }, broken);
            AddTaskWhen(
                scheduler, [](uint32_t &) {}, done, length);
            scheduler.WaitForCounter(&counter);
            WaitForAll(scheduler, sum, length, done);
            thrown.push_back(ThrownBy([&] { return sum.Value(); }));
            thrown.push_back(ThrownBy([&] { return length.Get(scheduler); }));
            thrown.push_back(ThrownBy([&] {
                done.Get(scheduler);
                return 0;
            }));
            thrown.push_back(done.Error() != nullptr && !(built.Error() != nullptr) ? "error"
                                                                                    : "none");
            built.Set(scheduler, 0u);
            thrown.push_back(ThrownBy([&] { return built.Value().value; }));
            built.Reset();
            built.Set(scheduler, 7u);
            thrown.push_back(ThrownBy([&] { return built.Value().value; }));
            sum.Reset();
            sum.SetException(scheduler, std::make_exception_ptr(std::logic_error("by hand")));
            thrown.push_back(ThrownBy([&] { return sum.Get(scheduler); }));
        }) == Status::Ok);
        CHECK(caught.load() == 5);
        CHECK(called.load() == 0);
        CHECK(thrown == std::vector<std::string>{"broken", "broken", "broken", "error", "zero",
                                                 "nothing", "by hand"});
        CHECK(runner.log.Text() == "");
    }
}

TEST_CASE("AddTaskWhen: a task begins when all inputs are known, in whatever order they come",
          "[result][grid]") {
    for (const test::GridPoint &point : test::Grid()) {
        INFO(test::Describe(point));
        uint32_t wrong = 0;
        test::Runner runner(point);
        CHECK(runner.Run([&](TaskScheduler &scheduler) {
            for (uint32_t first = 0; first < 4; ++first) {
                std::atomic<uint32_t> ran{0};
                Result<uint32_t> a;
                Result<std::string> b;
                Result<std::unique_ptr<uint32_t>> c;
                Result<> d;
                Result<std::string> out;
                AddTaskWhen(
                    scheduler,
                    [&ran](TaskScheduler *, uint32_t &x, std::string &y,
                           std::unique_ptr<uint32_t> &z) {
                        ran.fetch_add(1);
                        return y + std::to_string(x + *z);
                    },
                    out, a, b, c, d);
                for (uint32_t i = 0; i < 4; ++i) {
                    if (ran.load() != 0 || out.IsReady()) ++wrong;
                    switch ((first + i) % 4) {
                        case 0:
                            a.Set(scheduler, 40u);
                            break;
                        case 1:
                            b.Set(scheduler, 3u, 'x');  // by the constructor of std::string
                            break;
                        case 2:
                            c.Set(scheduler, std::make_unique<uint32_t>(2));
                            break;
                        default:
                            d.Set(scheduler);
                            break;
                    }
                }
                if (out.Get(scheduler) != "xxx42" || ran.load() != 1) ++wrong;
            }
        }) == Status::Ok);
        CHECK(wrong == 0);
        CHECK(runner.log.Text() == "");
    }
}

TEST_CASE("AddTaskWhen: a chain holds no fibers; Then is one link of it", "[result]") {
    for (uint32_t workers : {1u, 2u, 3u}) {
        constexpr uint32_t kLength = 1000;
        test::Runner runner(test::Options(workers, 3));
        std::vector<Result<uint32_t>> links(kLength + 1);
        uint32_t last = 0;
        CHECK(runner.Run([&](TaskScheduler &scheduler) {
            for (uint32_t i = 0; i < kLength; ++i)
                Then(
                    scheduler, links[i], [i](uint32_t &value) { return value + i; }, links[i + 1]);
            links[0].Set(scheduler, 5u);
            last = links[kLength].Get(scheduler);
        }) == Status::Ok);
        CHECK(last == 5 + kLength * (kLength - 1) / 2);
        CHECK(runner.log.Text() == "");
    }
}

TEST_CASE("AddTaskWhen: an output is known when its task has ended and its function is destroyed",
          "[result]") {
    for (uint32_t workers : {1u, 2u}) {
        uint32_t wrong = 0;
        test::Runner runner(test::Options(workers));
        CHECK(runner.Run([&](TaskScheduler &scheduler) {
            for (uint32_t round = 0; round < 100; ++round) {
                auto held = std::make_shared<uint32_t>(round);
                Result<uint32_t> in, out;
                AddTaskWhen(
                    scheduler, [held](uint32_t &value) { return value + *held; }, out, in);
                in.Set(scheduler, 1u);
                if (out.Get(scheduler) != round + 1 || held.use_count() != 1) ++wrong;
            }
        }) == Status::Ok);
        CHECK(wrong == 0);
    }
}

TEST_CASE("Result: a wait with OwnTasks runs what its result needs, and nothing else", "[result]") {
    test::Runner runner(test::Options(1));
    std::atomic<uint32_t> strangers{0};
    uint32_t between = ~0u, value = 0;
    CHECK(runner.Run([&](TaskScheduler &scheduler) {
        test::Batch batch(20, [&](TaskScheduler &, uint32_t) { strangers.fetch_add(1); });
        Result<uint32_t> in, middle, other, out;
        Counter counter;
        AddTaskWhen(
            scheduler, [](uint32_t &a, uint32_t &b) { return a + b; }, out, middle, other);
        Then(
            scheduler, in, [](uint32_t &a) { return a + 1; }, middle);
        AddTaskWhen(
            scheduler, [] { return 10u; }, in);
        AddTaskWhen(
            scheduler, [] { return 100u; }, other);
        scheduler.AddTasks(20, batch.Tasks(), &counter);
        value = out.Get(scheduler, Meanwhile::OwnTasks);
        between = strangers.load();
        scheduler.WaitForCounter(&counter);
    }) == Status::Ok);
    CHECK(value == 111);
    CHECK(between == 0);
    CHECK(runner.log.Text() == "");
}

TEST_CASE("Result: Pending() may count a task that sets the result", "[result]") {
    test::Runner runner(test::Options(1));
    uint32_t value = 0;
    bool early = true;
    CHECK(runner.Run([&](TaskScheduler &scheduler) {
        Result<uint32_t> result;
        auto set = [&](TaskScheduler *running) {
            result.Set(*running, 6u);
            early = result.IsReady();  // the task has not finished
        };
        scheduler.AddTask(MakeTask(set), &result.Pending());
        value = result.Get(scheduler, Meanwhile::OwnTasks);
    }) == Status::Ok);
    CHECK(value == 6);
    CHECK(!early);
    CHECK(runner.log.Text() == "");
}

TEST_CASE("Result: waits with a deadline", "[result]") {
    test::Runner runner(test::Options(1));
    TaskScheduler &scheduler = runner.scheduler;
    REQUIRE(scheduler.Start() == Status::Ok);
    Result<uint32_t> result;
    CHECK(!result.WaitFor(scheduler, milliseconds(1)));
    CHECK(!result.WaitUntil(scheduler, Now()));
    CHECK(!result.IsReady());
    AddTaskWhen(
        scheduler, [] { return 8u; }, result);
    CHECK(result.WaitUntil(scheduler, std::chrono::system_clock::now() + hours(1)));
    CHECK(result.WaitFor(scheduler, milliseconds(0), Meanwhile::Nothing));
    scheduler.Stop();
    // A known result needs no scheduler.
    CHECK(result.WaitFor(scheduler, milliseconds(0)));
    CHECK(result.Get(scheduler) == 8);
    CHECK(test::Faults(runner.log) == "");
}

TEST_CASE("report BadOption: a wait for a Result until a time that is not a number does not wait",
          "[result][report]") {
    using Seconds = std::chrono::duration<double>;
    const Seconds nan(std::numeric_limits<double>::quiet_NaN());
    const std::chrono::time_point<std::chrono::system_clock, Seconds> never(nan);
    const std::chrono::time_point<Clock, Seconds> ownNever(nan);
    test::Runner runner(test::Options(1));
    size_t reports[4] = {};
    bool passed = false, isKnown = false;
    CHECK(runner.Run([&](TaskScheduler &scheduler) {
        const auto countOf = [&] { return runner.log.CountOf(ReportCode::BadOption); };
        Result<int> result;
        passed |= result.WaitFor(scheduler, nan);
        reports[0] = countOf();
        passed |= result.WaitUntil(scheduler, never);
        reports[1] = countOf();
        passed |= result.WaitUntil(scheduler, ownNever);
        reports[2] = countOf();
        result.Set(scheduler, 1);
        isKnown = result.WaitFor(scheduler, nan);
        reports[3] = countOf();
    }) == Status::Ok);
    CHECK(!passed);
    CHECK(isKnown);
    for (size_t i = 0; i < 4; ++i) CHECK(reports[i] == i + 1);
    CHECK(runner.log.Count() == 4);
    CHECK(test::Names(runner.log.First(ReportCode::BadOption).what, "NaN"));
}

TEST_CASE("WhenAll and WaitForAll: all results are known; the first exception counts", "[result]") {
    for (uint32_t workers : {1u, 2u}) {
        uint32_t wrong = 0;
        std::string thrown;
        test::Runner runner(test::Options(workers));
        CHECK(runner.Run([&](TaskScheduler &scheduler) {
            Result<uint32_t> a, c;
            Result<std::string> b;
            Result<> d, all, some;
            WhenAll(scheduler, all, a, b, d);
            WhenAll(scheduler, some, a, b, c, d);
            a.Set(scheduler, 1u);
            b.Set(scheduler, "b");
            wrong += all.IsReady();
            d.Set(scheduler);
            all.Get(scheduler);
            wrong += some.IsReady();
            c.SetException(scheduler, std::make_exception_ptr(std::runtime_error("c failed")));
            WaitForAll(scheduler, a, b, c, d, some);
            thrown = ThrownBy([&] {
                some.Value();
                return 0;
            });
        }) == Status::Ok);
        CHECK(wrong == 0);
        CHECK(thrown == "c failed");
        CHECK(runner.log.Text() == "");
    }
}

TEST_CASE("WhenAny and WaitForAny: the index of the first result that is known", "[result]") {
    for (uint32_t workers : {1u, 2u}) {
        std::vector<uint32_t> firsts;
        test::Runner runner(test::Options(workers));
        CHECK(runner.Run([&](TaskScheduler &scheduler) {
            for (uint32_t i = 0; i < 3; ++i) {
                Result<uint32_t> a;
                Result<std::string> b;
                Result<> c;
                Result<uint32_t> first;
                Counter tasks;
                WhenAny(scheduler, first, tasks, a, b, c);
                if (i == 0) a.Set(scheduler, 1u);
                if (i == 1) b.SetException(scheduler, std::make_exception_ptr(1));
                if (i == 2) c.Set(scheduler);
                firsts.push_back(first.Get(scheduler));
                firsts.push_back(WaitForAny(scheduler, a, b, c));
                firsts.push_back(tasks.Value());
                a.TrySet(scheduler, 1u);
                b.TrySet(scheduler, "b");
                c.TrySet(scheduler);
                scheduler.WaitForCounter(&tasks);
                firsts.push_back(first.Value());
            }
        }) == Status::Ok);
        CHECK(firsts == std::vector<uint32_t>{0, 0, 2, 0, 1, 1, 2, 1, 2, 2, 2, 2});
        CHECK(runner.log.Text() == "");
    }
}

TEST_CASE("report WrongThread: a second Set of a Result has no effect", "[result][report]") {
    test::Runner runner(test::Options(1));
    uint32_t value = 0, accepted = 0;
    CHECK(runner.Run([&](TaskScheduler &scheduler) {
        Result<uint32_t> result;
        Result<> done;
        accepted += result.Set(scheduler, 1u);
        accepted += result.Set(scheduler, 2u);
        accepted += result.SetException(scheduler, std::make_exception_ptr(3));
        accepted += result.TrySet(scheduler, 4u);
        value = result.Get(scheduler);
        accepted += done.TrySet(scheduler);
        accepted += done.Set(scheduler);
        accepted += done.TrySet(scheduler);
    }) == Status::Ok);
    CHECK(accepted == 2);
    CHECK(value == 1);
    CHECK(runner.log.CountOf(ReportCode::WrongThread) == 3);
    CHECK(runner.log.Count() == 3);
    CHECK(test::Names(runner.log.First(ReportCode::WrongThread).what, "the result is set already"));
}

TEST_CASE("report: wrong calls of AddTaskWhen submit nothing, and destroy their function once",
          "[result][report]") {
    test::Runner runner(test::Options(1));
    auto held = std::make_shared<uint32_t>(0);
    Result<uint32_t> in, out;
    CHECK(!AddTaskWhen(
        runner.scheduler, [held](uint32_t &value) { return value; }, out, in));
    CHECK(held.use_count() == 1);
    CHECK(runner.log.CountOf(ReportCode::NotRunning) == 1);
    // a wait that was refused leaves no value to return
    CHECK(ThrownBy([&] { return out.Get(runner.scheduler); }) ==
          ThrownBy([] { return std::optional<char>().value(); }));
    CHECK(runner.log.CountOf(ReportCode::NotRunning) == 2);
    uint32_t accepted = 0;
    bool isPending = false;
    CHECK(runner.Run([&](TaskScheduler &scheduler) {
        Result<> done;
        uint32_t (*none)(uint32_t &) = nullptr;
        TaskOptions wrong;
        wrong.priority = static_cast<Priority>(9);
        accepted += AddTaskWhen(scheduler, none, out, in);
        accepted += AddTaskWhen(
            scheduler, wrong, [held] {}, done);
        accepted += AddTaskWhen(
            scheduler, [held](uint32_t &value) { return value; }, out, out);
        isPending = out.Pending().Value() == 1 && done.Pending().Value() == 1;
    }) == Status::Ok);
    CHECK(accepted == 0);
    CHECK(isPending);
    CHECK(held.use_count() == 1);
    CHECK(runner.log.CountOf(ReportCode::NullTask) == 1);
    CHECK(runner.log.CountOf(ReportCode::BadOption) == 2);
    CHECK(runner.log.Count() == 5);
}

TEST_CASE("AddTaskWhen: the options hold for the task", "[result]") {
    test::Runner runner(test::Options(2));
    TaskScheduler &scheduler = runner.scheduler;
    REQUIRE(scheduler.Start() == Status::Ok);
    TaskOptions pinned;
    pinned.worker = 1;
    uint32_t wrong = 0;
    for (uint32_t i = 0; i < 20; ++i) {
        Result<> in;
        Result<uint32_t> out, after;
        AddTaskWhen(
            scheduler, pinned, [](TaskScheduler *running) { return running->CurrentWorker(); }, out,
            in);
        Then(
            scheduler, out,
            [](TaskScheduler *running, uint32_t &) { return running->CurrentWorker(); }, after,
            pinned);
        in.Set(scheduler);
        wrong += out.Get(scheduler) != 1;
        wrong += after.Get(scheduler) != 1;
    }
    scheduler.Stop();
    CHECK(wrong == 0);
    CHECK(test::Faults(runner.log) == "");
}
