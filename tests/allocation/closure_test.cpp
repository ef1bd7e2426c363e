// Tests that closures allocate nothing while no more of them are pending than ever before. Their
// blocks come from a pool.
#include "weft/closure.h"
#include "allocation/interposed.h"
#include "weft/deferred.h"

#include <atomic>
#include <thread>

#include <catch2/catch.hpp>

using namespace weft;

namespace {

struct Closures {
    std::atomic<uint64_t> called{0}, refused{0};
    std::atomic<uint32_t> externalRound{0};
    std::atomic<bool> quit{false};
    uint64_t callsSeen = ~uint64_t{0};

    void Add(TaskScheduler &scheduler, Counter *counter) {
        if (!AddTask(
                scheduler, [this] { called.fetch_add(1); }, counter))
            refused.fetch_add(1);
    }

    // Adds `width` closures in each of ten closures, `width` tasks after another counter, and ten
    // closures on the external thread.
    void Round(TaskScheduler &scheduler, uint32_t width, uint32_t number) {
        Counter all, first, external(1);
        m_external = &external;
        externalRound.store(number);
        for (uint32_t i = 0; i < 10; ++i) {
            AddTask(
                scheduler,
                [this, width, &all](TaskScheduler *running) {
                    for (uint32_t k = 0; k < width; ++k) Add(*running, &all);
                    running->Yield();
                },
                &all);
        }
        const Task follows{
            [](TaskScheduler *, void *self) { static_cast<Closures *>(self)->called.fetch_add(1); },
            this};
        scheduler.IncrementCounter(&first);
        for (uint32_t k = 0; k < width; ++k) AddTaskAfter(scheduler, &first, 0, follows, &all);
        scheduler.DecrementCounter(&first);
        scheduler.WaitForCounter(&external);
        scheduler.WaitForCounter(&all);
    }

    void External(TaskScheduler &scheduler) {
        for (uint32_t seen = 0; !quit.load();) {
            if (externalRound.load() == seen) {
                std::this_thread::yield();
                continue;
            }
            ++seen;
            for (int i = 0; i < 10; ++i) Add(scheduler, m_external);
            scheduler.DecrementCounter(m_external);
        }
    }

    // Some caches keep blocks that others need. So the warm-up uses more blocks at once than the
    // rounds that count.
    static constexpr uint32_t kWarmUp = 100, kRounds = 500, kWidth = 10, kWarmWidth = 60;
    static constexpr uint64_t kCalled =
        kWarmUp * (11 * kWarmWidth + 10) + kRounds * (11 * kWidth + 10);

    static void Main(TaskScheduler *scheduler, void *arg) {
        Closures &closures = *static_cast<Closures *>(arg);
        std::thread external([&] { closures.External(*scheduler); });
        for (uint32_t i = 1; i <= kWarmUp; ++i) closures.Round(*scheduler, kWarmWidth, i);
        const uint64_t before = test::CountedCalls();
        test::CountCalls(true);
        for (uint32_t i = 1; i <= kRounds; ++i) closures.Round(*scheduler, kWidth, kWarmUp + i);
        test::CountCalls(false);
        closures.callsSeen = test::CountedCalls() - before;
        closures.quit.store(true);
        external.join();
    }

private:
    Counter *m_external = nullptr;  // the counter of the round
};

}  // namespace

TEST_CASE("invariant 9: closures and deferred tasks allocate nothing", "[allocation]") {
    for (uint32_t workers : {1u, 2u, 4u}) {
        INFO(workers << " workers");
        SchedulerOptions options;
        options.workers = workers;
        // ignores reports of waits, while the external thread is late
        options.onReport = [](const Report &, void *) {};
        Closures closures;
        CHECK(TaskScheduler(options).Run(Closures::Main, &closures) == Status::Ok);
        CHECK(closures.called.load() == Closures::kCalled);
        CHECK(closures.refused.load() == 0);
        CHECK(closures.callsSeen == 0);
    }
}
