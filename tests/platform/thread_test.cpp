#include "platform/thread.h"

#include "platform/env.h"

#include <algorithm>
#include <thread>

#include <catch2/catch.hpp>

using namespace weft;

TEST_CASE("thread: runs its entry with its argument on another thread", "[thread]") {
    struct Seen {
        std::thread::id id;
        void *slot = nullptr;
    } seen;
    int mark = 0;
    void *const outer = env::ThreadSlot();
    env::SetThreadSlot(&mark);
    env::Thread thread;
    REQUIRE(thread.Start(
        [](void *arg) {
            static_cast<Seen *>(arg)->id = std::this_thread::get_id();
            static_cast<Seen *>(arg)->slot = env::ThreadSlot();
        },
        &seen, 256 << 10));
    thread.Join();
    CHECK(seen.id != std::this_thread::get_id());
    CHECK(seen.id != std::thread::id());
    CHECK(seen.slot == nullptr);  // each thread has its own
    CHECK(env::ThreadSlot() == &mark);
    env::SetThreadSlot(outer);
}

TEST_CASE("thread: a stack size that cannot be had makes Start fail", "[thread]") {
    env::Thread thread;
    CHECK(!thread.Start([](void *) {}, nullptr, size_t{1} << 60));
}

TEST_CASE("thread: it moves to another CPU, and keeps its set", "[thread]") {
    int moves = 0;
    std::thread([&] {
        const uint32_t usable = env::UsableCpus();
        for (int i = 0; i < 20; ++i) {
            const int32_t before = env::CurrentCpu();
            REQUIRE(before >= 0);
            env::MoveBehindCpu(before, 1);
            if (env::CurrentCpu() != before) ++moves;
        }
        CHECK((moves != 0 || usable == 1));
        env::MoveBehindCpu(-1, 1);  // unknown
        REQUIRE(env::BindThreadToNth(0));
        const int32_t only = env::CurrentCpu();
        env::MoveBehindCpu(only, 3);
        CHECK(env::CurrentCpu() == only);
    }).join();
}

TEST_CASE("thread: at least one CPU may be used", "[thread]") {
    CHECK(env::UsableCpus() >= 1);
    CHECK(env::UsableCpus() <= std::max(1u, std::thread::hardware_concurrency()));
}
