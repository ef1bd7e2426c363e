// What only Windows has. The other tests are in tests/platform/thread_test.cpp.
#include "platform/thread.h"

#include "platform/windows_api.h"
#include "support/scheduler_run.h"

#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <catch2/catch.hpp>

using namespace weft;

namespace {

KAFFINITY CpusOfThread() {
    GROUP_AFFINITY cpus{};
    return GetThreadGroupAffinity(GetCurrentThread(), &cpus) != 0 ? cpus.Mask : 0;
}

KAFFINITY CpusOfProcess() {
    DWORD_PTR process = 0, system = 0;
    return GetProcessAffinityMask(GetCurrentProcess(), &process, &system) != 0 ? process : 0;
}

std::wstring NameOfThread() {
    using GetDescription = HRESULT(WINAPI *)(HANDLE, wchar_t **);
    const auto found = reinterpret_cast<void (*)()>(
        GetProcAddress(GetModuleHandleW(L"kernel32.dll"), "GetThreadDescription"));
    wchar_t *name = nullptr;
    if (found == nullptr || reinterpret_cast<GetDescription>(found)(GetCurrentThread(), &name) < 0)
        return L"?";
    const std::wstring copy = name;
    LocalFree(name);
    return copy;
}

struct Place {
    std::wstring name;
    KAFFINITY cpus;
    int priority;
};

// Returns what the threads of weft find in onStart.
std::vector<Place> PlacesOf(SchedulerOptions options) {
    struct Seen {
        std::mutex mutex;
        std::vector<Place> places;
    } seen;
    options.threads.user = &seen;
    options.threads.onStart = [](uint32_t, void *user) {
        Seen &self = *static_cast<Seen *>(user);
        const std::lock_guard<std::mutex> lock(self.mutex);
        self.places.push_back(
            {NameOfThread(), CpusOfThread(), GetThreadPriority(GetCurrentThread())});
    };
    test::Runner runner(options);
    CHECK(runner.scheduler.Start() == Status::Ok);
    runner.scheduler.Stop();
    CHECK(runner.log.Text() == "");
    return seen.places;
}

}  // namespace

TEST_CASE("thread on Windows: it moves to another CPU, and keeps its CPU set", "[thread]") {
    std::thread([&] {
        const KAFFINITY before = CpusOfThread();
        REQUIRE(before != 0);
        for (int i = 0; i < 20; ++i) {
            REQUIRE(env::CurrentCpu() >= 0);
            env::MoveBehindCpu(env::CurrentCpu(), 1);
            CHECK(CpusOfThread() == before);
        }
    }).join();
    std::thread([&] {
        REQUIRE(env::BindThreadToNth(0));
        const KAFFINITY before = CpusOfThread();
        CHECK((before & (before - 1)) == 0);
        const int32_t cpu = env::CurrentCpu();
        env::MoveBehindCpu(cpu, 3);  // the thread may use no other CPU
        CHECK(env::CurrentCpu() == cpu);
        CHECK(CpusOfThread() == before);
    }).join();
}

TEST_CASE("thread on Windows: a mask binds to its usable CPUs; without one BindThread fails",
          "[thread]") {
    std::thread([&] {
        const KAFFINITY usable = CpusOfProcess();
        const uint64_t none = ~usable;
        CHECK(!env::BindThread(&none, 1));
        const uint64_t all = ~uint64_t{0};
        CHECK(!env::BindThread(&all, 0));
        CHECK(env::BindThread(&all, 1));
        CHECK(CpusOfThread() == usable);
        const uint64_t lowest = usable & ~(usable - 1);
        CHECK(env::BindThread(&lowest, 1));
        CHECK(CpusOfThread() == lowest);
    }).join();
}

TEST_CASE("placement on Windows: names, CPUs and priorities of weft's threads", "[thread]") {
    SchedulerOptions options = test::Options(3);
    for (const Place &place : PlacesOf(options)) {
        CHECK(place.name.substr(0, 5) == L"weft ");
        CHECK(place.cpus == CpusOfProcess());
        CHECK(place.priority == THREAD_PRIORITY_NORMAL);
    }
    options.affinity.kind = Affinity::Kind::Compact;
    options.threadNice = 1;
    options.threadName = "a name that is longer than elsewhere";
    const std::vector<Place> places = PlacesOf(options);
    CHECK(places.size() == 3);
    for (const Place &place : places) {
        CHECK(place.name.substr(0, 37) == L"a name that is longer than elsewhere ");
        CHECK((place.cpus & (place.cpus - 1)) == 0);
        CHECK(place.priority == THREAD_PRIORITY_BELOW_NORMAL);
    }
    const int levels[][2] = {{19, THREAD_PRIORITY_LOWEST},
                             {10, THREAD_PRIORITY_BELOW_NORMAL},
                             {-1, THREAD_PRIORITY_ABOVE_NORMAL},
                             {-20, THREAD_PRIORITY_HIGHEST}};
    for (const auto &[nice, priority] : levels) {
        std::thread([nice = nice, priority = priority] {
            CHECK(env::AddNice(nice));
            CHECK(GetThreadPriority(GetCurrentThread()) == priority);
        }).join();
    }
}
