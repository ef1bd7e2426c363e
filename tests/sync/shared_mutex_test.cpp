#include "weft/sync/shared_mutex.h"

#include "sync/mix.h"

#include <memory>
#include <mutex>
#include <shared_mutex>

#include <catch2/catch.hpp>

using namespace weft;
using namespace std::chrono_literals;

TEST_CASE("SharedMutex: readers see whole writes, by tasks and threads",
          "[sync][shared_mutex][grid]") {
    for (const test::GridPoint &point : test::GridOfLargePools()) {
        INFO(test::Describe(point));
        uint64_t one = 0, two = 0;
        std::atomic<uint32_t> torn{0};
        std::unique_ptr<SharedMutex> mutex;
        std::once_flag once;
        CHECK(test::RunMixed(point, 20, 2, [&](TaskScheduler &scheduler, uint32_t index) {
            std::call_once(once, [&] { mutex = std::make_unique<SharedMutex>(scheduler); });
            for (uint32_t i = 0; i < 40; ++i) {
                if ((i + index) % 4 == 0) {
                    const std::lock_guard<SharedMutex> lock(*mutex);
                    ++one;
                    if (scheduler.CurrentWorker() != kAnyWorker) scheduler.Yield();
                    ++two;
                } else {
                    const std::shared_lock<SharedMutex> lock(*mutex);
                    if (one != two) torn.fetch_add(1);
                }
            }
        }));
        CHECK(torn.load() == 0);
        CHECK(one == 22 * 10);
        CHECK(two == one);
    }
}

TEST_CASE("SharedMutex: a reader keeps writers out, but no readers",
          "[sync][shared_mutex][one_worker]") {
    test::OneThread one;
    REQUIRE(one.IsFit());
    SharedMutex mutex(one.Scheduler());
    std::shared_lock<SharedMutex> first(mutex);
    {
        const std::shared_lock<SharedMutex> second(mutex, std::try_to_lock);
        CHECK(second.owns_lock());
        CHECK(!mutex.try_lock());
        CHECK(!mutex.try_lock_for(1us));
        CHECK(!mutex.try_lock_until(std::chrono::system_clock::now()));
    }
    first.unlock();
    {
        const std::unique_lock<SharedMutex> writer(mutex, 1h);
        CHECK(writer.owns_lock());
        CHECK(!mutex.try_lock_shared());
        CHECK(!mutex.try_lock_shared_for(1us));
        CHECK(!mutex.try_lock_shared_until(std::chrono::steady_clock::now()));
    }
    CHECK(first.try_lock_for(1ms));
}

TEST_CASE("SharedMutex: a writer is overtaken by exactly kMaxBeforeWake readers",
          "[sync][shared_mutex][fair][one_worker]") {
    test::OneThread one;
    REQUIRE(one.IsFit());
    SharedMutex mutex(one.Scheduler());
    bool wrote = false;
    auto writer = [&](TaskScheduler *) {
        const std::lock_guard<SharedMutex> lock(mutex);
        wrote = true;
    };
    mutex.lock_shared();
    one.RunUntilItWaits(writer);
    uint32_t readers = 0;
    while (readers <= SharedMutex::kMaxBeforeWake && mutex.try_lock_shared()) ++readers;
    CHECK(readers == SharedMutex::kMaxBeforeWake);
    for (uint32_t i = 0; i < readers; ++i) mutex.unlock_shared();
    one.Settle();
    CHECK(!wrote);  // the first reader still holds the lock
    mutex.unlock_shared();
    one.Settle();
    CHECK(wrote);
    CHECK(mutex.try_lock_shared());
    mutex.unlock_shared();
}

TEST_CASE("SharedMutex: all readers before the next writer continue together",
          "[sync][shared_mutex][fair][one_worker]") {
    test::OneThread one;
    REQUIRE(one.IsFit());
    SharedMutex mutex(one.Scheduler());
    uint32_t inside = 0, most = 0, read = 0, wrote = 0, beside = 0;
    auto reader = [&](TaskScheduler *scheduler) {
        const std::shared_lock<SharedMutex> lock(mutex);
        most = std::max(most, ++inside);
        for (int i = 0; i < 8; ++i) scheduler->Yield();
        --inside;
        ++read;
    };
    auto writer = [&](TaskScheduler *) {
        const std::lock_guard<SharedMutex> lock(mutex);
        beside += inside;
        ++wrote;
    };
    mutex.lock();
    for (int i = 0; i < 3; ++i) one.RunUntilItWaits(reader);
    one.RunUntilItWaits(writer);
    one.RunUntilItWaits(reader);
    mutex.unlock();
    CHECK(test::YieldUntil(one.Scheduler(), [&] { return wrote == 1; }));
    CHECK(most == 3);
    CHECK(test::YieldUntil(one.Scheduler(), [&] { return read == 4; }));
    CHECK(beside == 0);
}

TEST_CASE("SharedMutex: when a writer gives up, the readers behind it continue at once",
          "[sync][shared_mutex][one_worker]") {
    test::OneThread one;
    REQUIRE(one.IsFit());
    SharedMutex mutex(one.Scheduler());
    bool gaveUp = false, read = false;
    auto writer = [&](TaskScheduler *) { gaveUp = !mutex.try_lock_for(1ms); };
    auto reader = [&](TaskScheduler *) {
        const std::shared_lock<SharedMutex> lock(mutex);
        read = true;
    };
    mutex.lock_shared();
    one.RunUntilItWaits(writer);
    for (uint32_t i = 0; i < SharedMutex::kMaxBeforeWake && mutex.try_lock_shared(); ++i)
        mutex.unlock_shared();
    one.RunUntilItWaits(reader);
    CHECK(test::YieldUntil(one.Scheduler(), [&] { return read; }));
    CHECK(gaveUp);
    mutex.unlock_shared();
}

TEST_CASE("report WrongThread: a SharedMutex is unlocked in the wrong mode; it has no effect",
          "[sync][shared_mutex][one_worker]") {
    test::OneThread one;
    REQUIRE(one.IsFit());
    SharedMutex mutex(one.Scheduler());
    mutex.unlock();
    mutex.unlock_shared();
    CHECK(one.Log().CountOf(ReportCode::WrongThread) == 2);
    mutex.lock_shared();
    mutex.unlock();
    CHECK(one.Log().CountOf(ReportCode::WrongThread) == 3);
    CHECK(!mutex.try_lock());
    mutex.unlock_shared();
    CHECK(mutex.try_lock());
    mutex.unlock_shared();
    CHECK(one.Log().CountOf(ReportCode::WrongThread) == 4);
    CHECK(!mutex.try_lock_shared());
    mutex.unlock();
    CHECK(mutex.try_lock_shared());
    mutex.unlock_shared();
    CHECK(one.Log().Count() == 4);
}
