// Handlers of Asio run as tasks of weft: all of them, in order where a strand asks for it, and they
// may wait.
#include "adapters/asio/asio_executor.h"

#include "support/scheduler_run.h"
#include "support/spin.h"
#include "support/threads.h"
#include "weft/blocking/blocking_calls.h"
#include "weft/sync/mutex.h"

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <system_error>
#include <type_traits>
#include <utility>
#include <vector>

#include <asio.hpp>
#include <catch2/catch.hpp>

using namespace weft;

namespace {

namespace execution = asio::execution;

static_assert(execution::is_executor<AsioExecutor>::value);
static_assert(execution::is_executor<asio::strand<AsioExecutor>>::value);
static_assert(std::is_convertible_v<AsioExecutor, asio::any_io_executor>);
static_assert(std::is_convertible_v<AsioContext &, asio::execution_context &>);
static_assert(asio::can_require<AsioExecutor, execution::blocking_t::never_t>::value);
static_assert(!asio::can_require<AsioExecutor, execution::blocking_t::possibly_t>::value);
static_assert(asio::can_require<AsioExecutor, execution::outstanding_work_t::tracked_t>::value);
static_assert(std::is_nothrow_move_assignable_v<AsioExecutor>);

/// A function object that counts its calls. `Bytes`: more than 48 do not fit into a task.
template <size_t Bytes, bool MovesSafely = true>
class Call {
public:
    Call(std::shared_ptr<int> life, std::atomic<uint32_t> &calls)
        : m_life(std::move(life)), m_calls(&calls) {}
    Call(Call &&other) noexcept(MovesSafely)
        : m_life(std::move(other.m_life)), m_calls(other.m_calls) {}
    void operator()() { *m_calls += m_life != nullptr && TaskScheduler::Current() != nullptr; }

private:
    std::shared_ptr<int> m_life;
    std::atomic<uint32_t> *m_calls;
    unsigned char m_bytes[Bytes] = {};
};

/// A hundred times: posts, dispatches and defers calls of each kind. Returns how many.
uint32_t SubmitCalls(AsioContext &context, const std::shared_ptr<int> &life,
                     std::atomic<uint32_t> &calls) {
    for (int i = 0; i < 100; ++i) {
        asio::post(context, Call<1>(life, calls));
        asio::dispatch(context, Call<1>(life, calls));
        asio::defer(context, Call<1>(life, calls));
        asio::post(context, Call<200>(life, calls));
        asio::dispatch(context, Call<1, false>(life, calls));
        asio::post(context, [held = life, &calls] { ++calls; });
    }
    return 600;
}

/// A runner that is started. Its tests assert on an external thread.
struct Started : test::Runner {
    explicit Started(const SchedulerOptions &options) : Runner(options) {
        REQUIRE(scheduler.Start() == Status::Ok);
    }
};

}  // namespace

TEST_CASE("AsioExecutor: executors of one context are equal, and tracked ones are balanced",
          "[asio]") {
    const auto tracked = execution::outstanding_work.tracked;
    const auto untracked = execution::outstanding_work.untracked;
    Started run(test::Options(2));
    {
        AsioContext context(run.scheduler), other(run.scheduler);
        const AsioExecutor plain = context.get_executor();
        CHECK(plain == AsioExecutor(context));
        CHECK(plain != other.get_executor());
        CHECK(asio::any_io_executor(plain) == asio::any_io_executor(context.get_executor()));
        CHECK(&asio::query(plain, execution::context) == &context);
        CHECK(asio::query(plain, execution::blocking) == execution::blocking.never);
        CHECK(asio::query(plain, execution::outstanding_work) == untracked);
        AsioExecutor one = asio::require(plain, tracked);
        AsioExecutor two = one;
        AsioExecutor three = std::move(two);
        CHECK(one == plain);
        CHECK(asio::query(three, execution::outstanding_work) == tracked);
        two = three;
        one = asio::require(two, untracked);
        three = std::move(one);
        two = plain;
        CHECK(asio::query(two, execution::outstanding_work) == untracked);
        context.Wait();  // nothing is tracked any more
    }
    run.scheduler.Stop();
    CHECK(test::Faults(run.log) == "");
}

TEST_CASE("AsioExecutor: all handlers run once as tasks, and are destroyed", "[asio]") {
    for (const test::GridPoint &point : test::GridOfLargePools()) {
        INFO(test::Describe(point));
        Started run(test::Options(point));
        const auto life = std::make_shared<int>();
        std::atomic<uint32_t> calls{0}, expected{0};
        {
            AsioContext context(run.scheduler);
            const auto submit = [&] { expected += SubmitCalls(context, life, calls); };
            test::Threads threads(2, [&](uint32_t) { submit(); });
            asio::post(context, submit);
            threads.Join();
            context.Wait();
            CHECK(calls == 1800);
            CHECK(calls == expected);
            CHECK(life.use_count() == 1);
            CHECK(context.DroppedHandlers() == 0);
        }
        run.scheduler.Stop();
        CHECK(test::Faults(run.log) == "");
    }
}

TEST_CASE("AsioExecutor: dispatch in a handler does not run the handler inside the other one",
          "[asio]") {
    Started run(test::Options(1));
    std::vector<int> order;
    {
        AsioContext context(run.scheduler);
        asio::post(context, [&] {
            asio::dispatch(context, [&] { order.push_back(2); });
            order.push_back(1);
        });
    }
    run.scheduler.Stop();
    CHECK(order == std::vector<int>{1, 2});
}

TEST_CASE("AsioExecutor: a strand keeps the order, also of handlers that wait and migrate",
          "[asio]") {
    SchedulerOptions options = test::Options(2);
    options.migrateAfterWait = GENERATE(false, true);
    Started run(options);
    constexpr uint32_t kThreads = 2, kHandlers = 500;
    uint32_t next[kThreads] = {}, wrong = 0, inside = 0;  // of the strand
    std::atomic<uint32_t> tasks{0};
    {
        AsioContext context(run.scheduler);
        asio::strand<AsioExecutor> strand(context.get_executor());
        test::Threads threads(kThreads, [&](uint32_t thread) {
            for (uint32_t i = 0; i < kHandlers; ++i) {
                asio::post(strand, [&, thread, i] {
                    wrong += inside++ != 0 || next[thread]++ != i;
                    if (i % 5 == 0) {
                        Counter counter;
                        AddTask(
                            run.scheduler, [&] { ++tasks; }, &counter);
                        run.scheduler.WaitForCounter(&counter);
                    }
                    --inside;
                });
            }
        });
    }
    run.scheduler.Stop();
    CHECK(next[0] == kHandlers);
    CHECK(next[1] == kHandlers);
    CHECK(wrong == 0);
    CHECK(tasks == kThreads * kHandlers / 5);
    CHECK(test::Faults(run.log) == "");
}

TEST_CASE("AsioExecutor: handlers of timers wait for a weft::Mutex", "[asio]") {
    test::Runner run(test::Options(2));
    uint32_t fired = 0;  // under the mutex
    CHECK(run.Run([&](TaskScheduler &scheduler) {
        Mutex mutex(scheduler);
        AsioContext context(scheduler);
        std::vector<asio::steady_timer> timers;
        timers.reserve(100);
        {
            const std::lock_guard<Mutex> lock(mutex);
            for (int i = 0; i < 100; ++i) {
                timers.emplace_back(context, std::chrono::microseconds(10 * i));
                timers.back().async_wait([&](const std::error_code &error) {
                    const std::lock_guard<Mutex> mine(mutex);
                    fired += !error;
                });
            }
        }
        context.Wait();
    }) == Status::Ok);
    CHECK(fired == 100);
    CHECK(test::Faults(run.log) == "");
}

TEST_CASE("AsioContext: Wait and the destructor wait for tracked work", "[asio]") {
    Started run(test::Options(2));
    std::atomic<bool> isEnding{false}, isCancelled{false};
    {
        AsioContext context(run.scheduler);
        AddTask(run.scheduler,
                [&isEnding, guard = asio::make_work_guard(context)] { isEnding = true; });
        context.Wait();
        CHECK(isEnding);
    }
    asio::io_context elsewhere;  // of a timer whose handler runs on weft
    asio::steady_timer timer(elsewhere, std::chrono::hours(1));
    {
        AsioContext context(run.scheduler);
        timer.async_wait(
            asio::bind_executor(context.get_executor(), [&](const std::error_code &error) {
                isCancelled = error == asio::error::operation_aborted;
            }));
        AddTask(run.scheduler, [&] {
            timer.cancel();
            elsewhere.run();
        });
    }
    CHECK(isCancelled);
    run.scheduler.Stop();
    CHECK(test::Faults(run.log) == "");
}

TEST_CASE("AsioExecutor: BlockingCalls runs an io_context, and its handlers are tasks", "[asio]") {
    test::Runner run(test::Options(1));
    bool isTask = false, isOther = false;
    CHECK(run.Run([&](TaskScheduler &scheduler) {
        AsioContext context(scheduler);
        BlockingCalls calls(scheduler);
        asio::io_context io;
        asio::steady_timer timer(io, std::chrono::milliseconds(1));
        timer.async_wait(asio::bind_executor(context.get_executor(), [&](const std::error_code &) {
            isTask = TaskScheduler::Current() == &scheduler;
        }));
        asio::post(io, [&] { isOther = TaskScheduler::Current() == nullptr; });
        calls.Run([&] { io.run(); });
    }) == Status::Ok);
    CHECK(isTask);
    CHECK(isOther);
    CHECK(test::Faults(run.log) == "");
}

TEST_CASE("AsioExecutor: handlers that the scheduler refuses are reported, counted and destroyed",
          "[asio]") {
    test::Runner run(test::Options(2));
    const auto life = std::make_shared<int>();
    std::atomic<uint32_t> calls{0};
    {
        AsioContext context(run.scheduler);
        asio::post(context, Call<1>(life, calls));  // before the first run
        CHECK(context.DroppedHandlers() == 1);
        REQUIRE(run.scheduler.Start() == Status::Ok);
        asio::post(context, Call<1>(life, calls));
        context.Wait();
        CHECK(calls == 1);
        run.scheduler.Stop();
        asio::post(context, Call<1>(life, calls));
        asio::post(context, Call<200>(life, calls));
        CHECK(context.DroppedHandlers() == 3);
        CHECK(life.use_count() == 1);
        CHECK(run.log.CountOf(ReportCode::NotRunning) == 3);
    }
    CHECK(calls == 1);
    CHECK(run.log.Count() == 3);
}

TEST_CASE("AsioContext: operations that outlive the run are reported, and their handlers destroyed",
          "[asio]") {
    Started run(test::Options(2));
    const auto life = std::make_shared<int>();
    std::atomic<uint32_t> calls{0};
    const auto handler = [&calls, life](const std::error_code &) { ++calls; };
    {
        AsioContext context(run.scheduler);
        asio::steady_timer first(context, std::chrono::hours(1));
        auto second = std::make_shared<asio::steady_timer>(context, std::chrono::hours(1));
        first.async_wait(handler);
        second->async_wait([handler, second](const std::error_code &error) { handler(error); });
        second.reset();  // its handler owns it
        run.scheduler.Stop();
        CHECK(run.log.Text() == "");
        CHECK(life.use_count() == 4);
        first.cancel();  // Asio's thread submits the handler
        CHECK(test::SpinUntil([&] { return context.DroppedHandlers() == 1; }));
        CHECK(life.use_count() == 3);
    }
    CHECK(life.use_count() == 2);
    CHECK(calls == 0);
    CHECK(run.log.Count() != 0);
    CHECK(run.log.Count() == run.log.CountOf(ReportCode::NotRunning));
}

TEST_CASE("AsioExecutor: an exception that leaves a handler is reported", "[asio]") {
    Started run(test::Options(1));
    {
        AsioContext context(run.scheduler);
        asio::post(context, [] { throw std::runtime_error("a handler's own"); });
    }
    run.scheduler.Stop();
    CHECK(run.log.Count() == 1);
    CHECK(test::Names(run.log.First(ReportCode::TaskThrew).what, "a handler's own"));
    CHECK(run.log.First(ReportCode::TaskThrew).task == "Asio");
}
