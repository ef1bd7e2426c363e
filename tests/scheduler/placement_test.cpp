// Names, CPUs, nice values and slices of the threads that weft makes.
#include "platform/thread.h"

#include "platform/compiler.h"
#include "support/child_process.h"
#include "support/scheduler_run.h"
#include "support/threads.h"

#include <algorithm>
#include <cstdio>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#if defined(WEFT_LINUX)
#include "support/thread_cpus.h"

#include <pthread.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

#include <catch2/catch.hpp>

using namespace weft;

#if defined(WEFT_LINUX)  // for Windows: platform/thread_test_windows.cpp

namespace {

using test::Cpus;
using test::CpusOfThread;
using test::NiceOfThread;
using test::Restrict;

std::string NameOfThread() {
    char name[64] = "";
    pthread_getname_np(pthread_self(), name, sizeof name);
    return name;
}

// In nanoseconds. 0 if the system cannot tell.
uint64_t SliceOfThread() {
    struct {
        uint32_t size, policy;
        uint64_t flags;
        uint32_t niceAndPriority[2];
        uint64_t runtime, deadline, period, more[4];
    } attributes{};
    return syscall(SYS_sched_getattr, 0, &attributes, sizeof attributes, 0) == 0
               ? attributes.runtime
               : 0;
}

struct Place {
    std::string name;
    Cpus cpus;
    int nice = 0;
    uint64_t slice = 0;
    bool operator==(const Place &other) const {
        return name == other.name && cpus == other.cpus && nice == other.nice &&
               slice == other.slice;
    }
};

Place PlaceOfThread() { return {NameOfThread(), CpusOfThread(), NiceOfThread(), SliceOfThread()}; }

// Records what each thread of weft finds in onStart.
class Places {
public:
    void AttachTo(SchedulerOptions &options) {
        options.threads.user = this;
        options.threads.onStart = [](uint32_t worker, void *user) {
            Places &self = *static_cast<Places *>(user);
            const std::lock_guard<std::mutex> lock(self.m_mutex);
            self.of[worker] = PlaceOfThread();
        };
    }
    std::map<uint32_t, Place> of;  // to be read after the run

private:
    std::mutex m_mutex;
};

using Check = std::function<void(uint32_t worker, const Place &)>;

// Runs a scheduler once, and then calls `check` for each thread of weft. Its tasks must run, the
// caller must keep its own settings, and only stalls may be reported.
void RunOnce(SchedulerOptions options, test::Life life, const Check &check) {
    Places places;
    places.AttachTo(options);
    test::Runner runner(options);
    test::Marks marks(50);
    const Place before = PlaceOfThread();
    CHECK(test::WhileItRuns(runner, life, [&](TaskScheduler &scheduler) {
              scheduler.AddTasksAndWait(50, marks.Tasks());
          }) == Status::Ok);
    CHECK(marks.Wrong() == 0);
    CHECK(PlaceOfThread() == before);
    CHECK(places.of.size() == options.workers - (life == test::Life::Run));
    CHECK(test::Faults(runner.log) == "");
    for (const auto &[worker, place] : places.of) check(worker, place);
}

// The same with Run and with Start.
void RunBoth(const SchedulerOptions &options, const Check &check) {
    for (const test::Life life : {test::Life::Run, test::Life::Start}) {
        INFO(test::Describe(life));
        RunOnce(options, life, check);
    }
}

}  // namespace

TEST_CASE("placement: thread names consist of the option and the index", "[placement]") {
    struct Case {
        const char *option;
        std::string expected;
    };
    SchedulerOptions options = test::Options(3);
    CHECK(std::string(options.threadName) == "weft");  // the default
    for (const Case &name : {Case{"weft", "weft "}, Case{"jobs", "jobs "},
                             Case{"a name that is far too long", "a name tha "}, Case{"", " "}}) {
        options.threadName = name.option;
        RunBoth(options, [&](uint32_t worker, const Place &place) {
            CHECK(place.name == name.expected + std::to_string(worker));
        });
    }
    options.threadName = nullptr;  // the threads inherit the caller's name
    RunBoth(options, [](uint32_t, const Place &place) { CHECK(place.name == NameOfThread()); });
}

TEST_CASE("placement: names stay within 15 bytes with any index", "[placement]") {
    std::string found;
    std::thread([&] {
        env::NameThread("abcdefghijklmnop", 4294967295u);
        found = NameOfThread();
    }).join();
    CHECK(found.size() <= 15);
    CHECK(found.substr(0, 10) == "abcdefghij");
}

TEST_CASE("placement: None leaves CPUs to the system, Compact uses the usable CPUs in turn",
          "[placement]") {
    const Cpus usable = CpusOfThread();
    for (uint32_t workers : {1u, 2u, 5u}) {
        SchedulerOptions options = test::Options(workers);
        RunBoth(options, [&](uint32_t, const Place &place) { CHECK(place.cpus == usable); });
        options.affinity.kind = Affinity::Kind::Compact;
        RunBoth(options, [&](uint32_t worker, const Place &place) {
            CHECK(place.cpus == Cpus{usable[worker % usable.size()]});
        });
    }
}

TEST_CASE("placement: Explicit takes one mask for each worker, with any number of words",
          "[placement]") {
    const Cpus usable = CpusOfThread();
    for (uint32_t words : {1u + usable.back() / 64, 16u, 1024u}) {
        std::vector<uint64_t> masks(4 * words);
        const auto add = [&](uint32_t worker, uint32_t cpu) {
            masks[worker * words + cpu / 64] |= uint64_t{1} << cpu % 64;
        };
        for (uint32_t worker = 0; worker < 4; ++worker) add(worker, usable[worker % usable.size()]);
        for (uint32_t cpu : usable) add(3, cpu);
        if (words == 1024) add(1, 65535);  // the process may not use this CPU
        SchedulerOptions options = test::Options(4);
        options.affinity = {Affinity::Kind::Explicit, words, masks.data()};
        RunBoth(options, [&](uint32_t worker, const Place &place) {
            CHECK(place.cpus == (worker == 3 ? usable : Cpus{usable[worker % usable.size()]}));
        });
    }
}

TEST_CASE("placement: Start copies the masks", "[placement]") {
    for (int round = 0; round < 100; ++round) {
        std::vector<uint64_t> masks(8 * 16, ~uint64_t{0});
        SchedulerOptions options = test::Options(8, 9);
        options.affinity = {Affinity::Kind::Explicit, 16, masks.data()};
        test::Runner runner(options);
        REQUIRE(runner.scheduler.Start() == Status::Ok);
        masks.assign(masks.size(), 0);
        runner.scheduler.Stop();
        REQUIRE(runner.log.Text() == "");
    }
}

TEST_CASE("report BadOption: a mask without a usable CPU is reported, and the run continues",
          "[placement]") {
    const Cpus usable = CpusOfThread();
    std::vector<uint64_t> masks(3 * 16);
    // Only worker 1 has usable CPUs.
    for (uint32_t cpu : usable) masks[16 + cpu / 64] |= uint64_t{1} << cpu % 64;
    for (test::Life life : {test::Life::Run, test::Life::Start}) {
        Places places;
        SchedulerOptions options = test::Options(3);
        options.affinity = {Affinity::Kind::Explicit, 16, masks.data()};
        places.AttachTo(options);
        test::Runner runner(options);
        test::Marks marks(50);
        CHECK(test::WhileItRuns(runner, life, [&](TaskScheduler &scheduler) {
                  scheduler.AddTasksAndWait(50, marks.Tasks());
              }) == Status::Ok);
        CHECK(marks.Wrong() == 0);
        // The threads keep the CPUs that they had.
        for (const auto &[worker, place] : places.of) CHECK(place.cpus == usable);
        CHECK(runner.log.CountOf(ReportCode::BadOption) == (life == test::Life::Run ? 1 : 2));
        const test::LoggedReport report = runner.log.First(ReportCode::BadOption);
        CHECK(test::Names(report.what, "SchedulerOptions::affinity"));
        CHECK(test::Names(report.what, "worker "));
        CHECK(!report.fatal);
    }
}

namespace {

// How a host gives CPUs to the workers.
enum class Given : uint8_t { None, Compact, Masks, Groups };

// Two workers, each with its own mask, if the host gives masks.
struct TwoPlaced {
    TwoPlaced(Given given, const Cpus &cpus) : masks(2 * words) {
        for (uint32_t worker = 0; worker < 2; ++worker) {
            const uint32_t cpu = cpus[worker];
            masks[worker * words + cpu / 64] |= uint64_t{1} << cpu % 64;
            groups[worker].workers = 1;
            groups[worker].cpus = &masks[worker * words];
            groups[worker].cpuWords = words;
        }
        if (given == Given::Compact) options.affinity.kind = Affinity::Kind::Compact;
        if (given == Given::Masks)
            options.affinity = {Affinity::Kind::Explicit, words, masks.data()};
        if (given != Given::Groups) return;
        options.groups = groups;
        options.groupCount = 2;
    }
    static constexpr uint32_t words = 16;
    SchedulerOptions options = test::Options(2);

private:
    std::vector<uint64_t> masks;
    WorkerGroup groups[2];
};

}  // namespace

TEST_CASE("fault: neither a bound main thread nor a bound caller of Start binds the workers",
          "[placement]") {
    const Cpus usable = CpusOfThread();
    const uint32_t count = TaskScheduler().WorkerCount();
    if (usable.size() < 2) return;
    for (const bool isMain : {true, false}) {
        for (const Given given : {Given::None, Given::Compact, Given::Masks, Given::Groups}) {
            const auto startBound = [&] {
                if (!Restrict({usable[0]})) _exit(1);
                TwoPlaced two(given, usable);
                two.options.onReport = [](const Report &, void *) { _exit(2); };
                Places places;
                places.AttachTo(two.options);
                TaskScheduler scheduler(two.options);
                if (scheduler.Start() != Status::Ok) _exit(3);
                scheduler.Stop();
                if (places.of.size() != 2) _exit(4);
                for (const auto &[worker, place] : places.of) {
                    if (place.cpus != (given == Given::None ? usable : Cpus{usable[worker]}))
                        _exit(5);
                }
                if (CpusOfThread() != Cpus{usable[0]}) _exit(6);  // the caller keeps its CPUs
                if (TaskScheduler().WorkerCount() != count) _exit(7);
            };
            const test::ChildResult child = test::RunInChild([&] {
                if (isMain) return startBound();
                std::thread(startBound).join();
            });
            INFO((isMain ? "main, " : "another thread, ") << static_cast<int>(given));
            CHECK(child.exited);
            CHECK(child.code == 0);
        }
    }
}

// The next test runs it in a process of its own.
TEST_CASE("placement: workers keep to the CPU on which the process began", "[.][one_cpu]") {
    const Cpus own = CpusOfThread();
    if (own.size() != 1) return;
    const bool isConfined = env::GrantedCpus() > 1;
    for (const Given given : {Given::None, Given::Compact}) {
        const TwoPlaced two(given, {0, 1});
        RunOnce(two.options, test::Life::Start,
                [&](uint32_t, const Place &place) { CHECK(place.cpus == own); });
    }
    test::Runner runner(test::Options(kAnyWorker));
    CHECK(runner.scheduler.WorkerCount() == 1);
    CHECK(runner.Run([](TaskScheduler &) {}) == Status::Ok);
    CHECK(runner.log.CountOf(ReportCode::OneCpu) == isConfined);
    CHECK(runner.log.Count() == isConfined);
    test::Runner wanted(test::Options(1));
    CHECK(wanted.Run([](TaskScheduler &) {}) == Status::Ok);
    CHECK(wanted.log.Text() == "");
    if (!isConfined) return;

    std::vector<uint64_t> others(2 * 1024, ~uint64_t{0});  // for each worker all CPUs but its own
    for (const uint32_t worker : {0, 1}) {
        others[worker * 1024 + own[0] / 64] &= ~(uint64_t{1} << own[0] % 64);
    }
    SchedulerOptions options = test::Options(2);
    options.affinity = {Affinity::Kind::Explicit, 1024, others.data()};
    RunOnce(options, test::Life::Start, [&](uint32_t, const Place &place) {
        CHECK(!place.cpus.empty());
        CHECK(std::find(place.cpus.begin(), place.cpus.end(), own[0]) == place.cpus.end());
    });
}

TEST_CASE("report OneCpu: a process that began on one CPU has one worker, unless masks give more",
          "[placement]") {
    const Cpus usable = CpusOfThread();
    const test::ChildResult child = test::RunAgain(
        usable.back(), "placement: workers keep to the CPU on which the process began");
    INFO(child.output);
    CHECK(child.exited);
    CHECK(child.code == 0);
    CHECK(test::Names(child.output, "in 1 test case"));
}

TEST_CASE("placement: nice values are added to the caller's", "[placement]") {
    const int own = NiceOfThread();
    for (int32_t nice : {0, 5, 19}) {
        SchedulerOptions options = test::Options(3);
        options.threadNice = nice;
        RunBoth(options, [&](uint32_t, const Place &place) {
            CHECK(place.nice == std::min(own + nice, 19));
        });
    }
}

TEST_CASE("placement: the option sets the time slice of weft's threads, and nice values stay",
          "[placement]") {
    const uint64_t own = SliceOfThread();
    for (uint32_t microseconds : {0u, 100u, 500u, 100000u}) {
        SchedulerOptions options = test::Options(3);
        CHECK(options.threadSliceMicroseconds == 500);  // the default
        options.threadSliceMicroseconds = microseconds;
        options.threadNice = 3;
        RunBoth(options, [&](uint32_t, const Place &place) {
            // A system without slices (own == 0) accepts the call and ignores it.
            CHECK(place.slice ==
                  (own == 0 || microseconds == 0 ? own : uint64_t{microseconds} * 1000));
            CHECK(place.nice == NiceOfThread() + 3);
            CHECK(SliceOfThread() == own);
        });
    }
}

TEST_CASE("report BadOption: a nice value without permission is reported, and the run continues",
          "[placement]") {
    const test::ChildResult child = test::RunInChild([] {
        const rlimit none{0, 0};
        if (setrlimit(RLIMIT_NICE, &none) != 0 || (getuid() == 0 && setuid(65534) != 0)) _exit(0);
        SchedulerOptions options = test::Options(2);
        options.threadNice = -5;
        TaskScheduler scheduler(options);
        test::Marks marks(20);
        const Status status = scheduler.Start();
        if (status != Status::Ok) _exit(1);
        scheduler.AddTasksAndWait(20, marks.Tasks());
        scheduler.Stop();
        std::fprintf(stderr, "ran %u\n", 20 - marks.Wrong());
    });
    CHECK(!child.Died());
    if (child.output.empty()) return;  // this child could not give up its rights
    CHECK(test::Names(child.output, "WorkerGroup::nice: the system refused -5 for worker 0"));
    CHECK(test::Names(child.output, "for worker 1"));
    CHECK(test::Names(child.output, "ran 20"));
}

#endif

TEST_CASE("report BadOption: affinity, nice values and slices out of range", "[placement]") {
    const uint64_t mask = 1;
    std::vector<SchedulerOptions> bad(8, test::Options(1));
    bad[0].affinity.kind = static_cast<Affinity::Kind>(3);
    bad[1].affinity = {Affinity::Kind::Explicit, 1, nullptr};
    bad[2].affinity = {Affinity::Kind::Explicit, 0, &mask};
    bad[3].affinity = {Affinity::Kind::Explicit, 1025, &mask};
    bad[4].threadNice = -21;
    bad[5].threadNice = 20;
    bad[6].threadSliceMicroseconds = 99;
    bad[7].threadSliceMicroseconds = 100001;
    for (size_t i = 0; i < bad.size(); ++i) {
        test::Runner runner(bad[i]);
        CHECK(runner.Run([](TaskScheduler &) {}) == Status::BadOption);
        CHECK(runner.scheduler.Start() == Status::BadOption);
        CHECK(runner.log.CountOf(ReportCode::BadOption) == 2);
        CHECK(test::Names(runner.log.First(ReportCode::BadOption).what,
                          i < 4   ? "SchedulerOptions::affinity"
                          : i < 6 ? "SchedulerOptions::threadNice"
                                  : "SchedulerOptions::threadSliceMicroseconds"));
    }
}
