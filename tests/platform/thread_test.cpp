#include "platform/thread.h"

#include "platform/env.h"

#include <algorithm>
#include <thread>

#if defined(WEFT_LINUX)
#include <sched.h>
#endif

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

TEST_CASE("thread: Start fails if the stack is too large", "[thread]") {
    env::Thread thread;
    CHECK(!thread.Start([](void *) {}, nullptr, size_t{1} << 60));
}

TEST_CASE("thread: UsableCpus is at least one", "[thread]") {
    CHECK(env::UsableCpus() >= 1);
    CHECK(env::UsableCpus() <= std::max(1u, std::thread::hardware_concurrency()));
}

#if defined(WEFT_LINUX)
TEST_CASE("thread: it moves to another CPU, and keeps its CPU set", "[thread]") {
    const auto set = [] {
        cpu_set_t cpus;
        CPU_ZERO(&cpus);
        CHECK(sched_getaffinity(0, sizeof cpus, &cpus) == 0);
        return cpus;
    };
    std::thread([&] {
        const cpu_set_t before = set();
        int moves = 0;
        for (int i = 0; i < 20; ++i) {
            const int32_t cpu = env::CurrentCpu();
            REQUIRE(cpu >= 0);
            env::MoveBehindCpu(cpu, 1);
            if (env::CurrentCpu() != cpu) ++moves;
            const cpu_set_t after = set();
            CHECK(CPU_EQUAL(&before, &after));
        }
        CHECK((moves != 0 || CPU_COUNT(&before) == 1));
        env::MoveBehindCpu(-1, 1);  // an unknown CPU
        const cpu_set_t after = set();
        CHECK(CPU_EQUAL(&before, &after));
    }).join();
    std::thread([&] {
        REQUIRE(env::BindThreadToNth(0));
        const cpu_set_t before = set();
        const int32_t cpu = env::CurrentCpu();
        env::MoveBehindCpu(cpu, 3);  // the thread may use no other CPU
        CHECK(env::CurrentCpu() == cpu);
        const cpu_set_t after = set();
        CHECK(CPU_EQUAL(&before, &after));
    }).join();
}
#endif
