#include "containers/spin_lock.h"

#include "support/spin.h"
#include "support/threads.h"

#include <atomic>

#include <catch2/catch.hpp>

using namespace weft::internal;

TEST_CASE("spin lock: one owner at a time, and it sees what the previous one wrote",
          "[spin_lock]") {
    constexpr uint32_t kThreads = 4, kTimes = 5000;
    SpinLock lock;
    uint32_t plain = 0;
    test::Threads(kThreads, [&](uint32_t) {
        for (uint32_t i = 0; i < kTimes; ++i) {
            const SpinLock::Held held(lock);
            ++plain;
        }
    }).Join();
    CHECK(plain == kThreads * kTimes);
}

TEST_CASE("spin lock: WasTaken is true if the thread had to wait", "[spin_lock]") {
    SpinLock lock;
    CHECK_FALSE(SpinLock::Held(lock).WasTaken());
    std::atomic<bool> hadToWait{false};
    test::Threads other(1, [&](uint32_t) {
        hadToWait = test::SpinUntil([&] { return SpinLock::Held(lock).WasTaken(); });
    });
    CHECK(test::SpinUntil([&] {
        const SpinLock::Held held(lock);
        test::Linger();
        return hadToWait.load();
    }));
    other.Join();
}
