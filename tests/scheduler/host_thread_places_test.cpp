// weft leaves the threads of a host where they are (SchedulerOptions::hostThreads).
#include "weft/task_scheduler.h"

#include "platform/compiler.h"

#if defined(WEFT_LINUX)
#include "support/quiet_run.h"
#include "support/thread_cpus.h"
#include "support/threads.h"

#include <string>
#include <vector>

#include <pthread.h>
#include <sys/resource.h>
#include <unistd.h>

#include <catch2/catch.hpp>

using namespace weft;

namespace {

using test::NiceOfThread;
using test::Place;
using test::PlaceOfThread;

// What the host chooses for its threads. None of it is what the options below say.
Place Wanted(uint32_t thread, const test::Cpus &usable) {
    const size_t cpu = usable.size() - 1 - thread % usable.size();
    return {"host " + std::to_string(thread), {usable[cpu]}, NiceOfThread() + 1 + int(thread)};
}

void MoveTo(const Place &place) {
    pthread_setname_np(pthread_self(), place.name.c_str());
    test::Restrict(place.cpus);
    setpriority(PRIO_PROCESS, static_cast<id_t>(gettid()), place.nice);
}

}  // namespace

TEST_CASE("host threads: a thread keeps its name, its CPUs and its nice value", "[host_threads]") {
    constexpr uint32_t kCount = 2;
    const test::Cpus usable = test::CpusOfThread();
    REQUIRE(!usable.empty());
    std::vector<uint64_t> first(usable[0] / 64 + 1);
    first[usable[0] / 64] = uint64_t{1} << usable[0] % 64;
    WorkerGroup group;
    group.workers = kCount;
    group.name = "group";
    group.nice = 4;
    group.cpus = first.data();
    group.cpuWords = static_cast<uint32_t>(first.size());
    for (const bool grouped : {false, true}) {
        SchedulerOptions options = test::Options(kCount);
        options.hostThreads = true;
        options.threadNice = 5;
        options.affinity.kind = Affinity::Kind::Compact;  // worker i on CPU i
        if (grouped) {
            options.groups = &group;
            options.groupCount = 1;
        }
        test::Started runner(options);
        std::vector<Place> wanted, before(kCount), inTask(kCount), after(kCount);
        for (uint32_t i = 0; i < kCount; ++i) wanted.push_back(Wanted(i, usable));
        std::vector<Status> results(kCount, Status::NotRunning);
        test::Threads threads(kCount, [&](uint32_t i) {
            MoveTo(wanted[i]);
            before[i] = PlaceOfThread();
            results[i] = runner.scheduler.RunWorker(i);
            after[i] = PlaceOfThread();
        });
        test::Batch pinned(kCount,
                           [&](TaskScheduler &, uint32_t i) { inTask[i] = PlaceOfThread(); });
        Counter counter;
        for (uint32_t i = 0; i < kCount; ++i)
            runner.scheduler.AddTask(pinned[i], &counter, test::PinnedTo(i));
        runner.scheduler.WaitForCounter(&counter);
        runner.scheduler.Stop();
        threads.Join();
        for (uint32_t i = 0; i < kCount; ++i) {
            INFO((grouped ? "with a group, worker " : "worker ") << i);
            CHECK(results[i] == Status::Ok);
            CHECK(before[i] == wanted[i]);
            CHECK(inTask[i] == wanted[i]);
            CHECK(after[i] == wanted[i]);
        }
        CHECK(test::Faults(runner.log) == "");
    }
}
#endif
