#include "platform/thread.h"

#include "platform/env.h"

#include <algorithm>
#include <fstream>
#include <string>
#include <thread>

#if defined(WEFT_LINUX)
#include "support/thread_cpus.h"

#include <sched.h>
#include <sys/stat.h>
#include <unistd.h>
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
TEST_CASE("thread: a thread of a bound one can have each CPU of the process, and no other",
          "[thread]") {
    const test::Cpus usable = test::CpusOfThread();  // this is the main thread
    REQUIRE(test::Restrict({usable.back()}));        // from here on it is bound, too
    CHECK(env::UsableCpus() == usable.size());
    CHECK(env::GrantedCpus() >= usable.size());
    test::Cpus inherited, unbound, bound;
    const auto onThread = [](auto body) { std::thread(body).join(); };
    onThread([&] {
        inherited = test::CpusOfThread();
        env::UnbindThread();
        unbound = test::CpusOfThread();
    });
    CHECK(inherited == test::Cpus{usable.back()});
    CHECK(unbound == usable);
    for (uint32_t i = 0; i < usable.size() + 1; ++i) {
        onThread([&] {
            bound.clear();
            if (env::BindThreadToNth(i)) bound = test::CpusOfThread();
        });
        CHECK(bound == test::Cpus{usable[i % usable.size()]});
    }
    const uint64_t none[2] = {}, all[2] = {~uint64_t{0}, ~uint64_t{0}};
    onThread([&] {
        CHECK(!env::BindThread(none, 2));
        CHECK(test::CpusOfThread() == test::Cpus{usable.back()});
        CHECK(env::BindThread(all, 2));
        CHECK(test::CpusOfThread().size() >= std::min(usable.size(), size_t{128}));
    });
    CHECK(test::CpusOfThread() == test::Cpus{usable.back()});
    REQUIRE(test::Restrict(usable));
}

// Needs the right to make a control group of version 1.
TEST_CASE("thread: CPUs that the cpuset of the process has lost are neither usable nor granted",
          "[thread]") {
    const test::Cpus usable = test::CpusOfThread();
    const std::string folder = "/sys/fs/cgroup/cpuset/weft_test_" + std::to_string(getpid());
    if (usable.size() < 2 || mkdir(folder.c_str(), 0755) != 0) return;
    const auto write = [&](const char *file, const std::string &text) {
        std::ofstream out(folder + file);
        out << text;
        out.close();
        return !out.fail();
    };
    if (write("/cpuset.cpus", std::to_string(usable[1])) && write("/cpuset.mems", "0")) {
        const test::ChildResult child = test::RunInChild([&] {
            if (!write("/cgroup.procs", std::to_string(getpid()))) _exit(0);
            if (env::UsableCpus() != 1) _exit(1);
            if (env::GrantedCpus() != 1) _exit(2);
            const uint64_t first[16] = {1}, all[16] = {~uint64_t{0}};
            if (usable[0] == 0 && env::BindThread(first, 16)) _exit(3);
            if (!env::BindThread(all, 16)) _exit(4);
            env::UnbindThread();
            if (test::CpusOfThread() != test::Cpus{usable[1]}) _exit(5);
            if (!env::BindThreadToNth(1)) _exit(6);
            if (test::CpusOfThread() != test::Cpus{usable[1]}) _exit(7);
        });
        CHECK(child.exited);
        CHECK(child.code == 0);
    }
    rmdir(folder.c_str());
}

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
