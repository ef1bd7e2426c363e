// weft_create, weft_options, and the calls that begin and end a run.
#include "c/c_support.h"
#include "scheduler/state/entry_gate.h"
#include "support/host_memory.h"
#include "support/trace_log.h"

#include <cstddef>
#include <cstring>

#include <catch2/catch.hpp>

TEST_CASE("C: a scheduler runs, starts, stops, and is destroyed while it runs", "[c]") {
    weft_options options = test::OptionsOfC(2);
    test::LogOfC log;
    log.AttachTo(options);
    weft_scheduler *const scheduler = weft_create(&options);
    REQUIRE(scheduler != nullptr);
    std::atomic<uint32_t> count{0};
    CHECK(weft_run(scheduler, test::Count, &count, nullptr) == WEFT_STATUS_OK);
    CHECK(count.exchange(0) == 1);

    CHECK(weft_attach_thread(scheduler) == WEFT_STATUS_NOT_RUNNING);
    CHECK(log.IsOnly(WEFT_REPORT_NOT_RUNNING));
    CHECK(weft_start(scheduler) == WEFT_STATUS_OK);
    CHECK(weft_start(scheduler) == WEFT_STATUS_ALREADY_RUNNING);
    CHECK(weft_attach_thread(scheduler) == WEFT_STATUS_OK);
    CHECK(weft_current() == scheduler);
    CHECK(weft_current_worker(scheduler) == 2);
    weft_detach_thread(scheduler);
    CHECK(weft_current() == nullptr);
    CHECK(weft_current_worker(scheduler) == WEFT_ANY_WORKER);
    CHECK(weft_current_fiber(scheduler) == WEFT_ANY_WORKER);
    CHECK(weft_worker_count(scheduler) == 2);
    weft_add_task(scheduler, test::Count, &count, nullptr, nullptr);
    weft_wait_idle(scheduler);
    CHECK(count.load() == 1);
    weft_stop(scheduler);

    CHECK(weft_start(scheduler) == WEFT_STATUS_OK);
    weft_add_task(scheduler, test::Count, &count, nullptr, nullptr);
    weft_destroy(scheduler);  // stops it
    CHECK(count.load() == 2);
    CHECK(log.entries.size() == 1);
    weft_destroy(nullptr);
}

TEST_CASE("C: weft_stop_for withdraws tasks that wait, and awaits the others", "[c][stop]") {
    weft_options options = test::OptionsOfC(2);
    test::LogOfC log;
    log.AttachTo(options);
    weft_scheduler *const scheduler = weft_create(&options);
    REQUIRE(scheduler != nullptr);
    std::atomic<uint32_t> count{0};
    CHECK_FALSE(weft_stop_for(scheduler, 0));
    CHECK(log.IsOnly(WEFT_REPORT_NOT_RUNNING));
    CHECK(weft_start(scheduler) == WEFT_STATUS_OK);
    weft_add_task(scheduler, test::Count, &count, nullptr, nullptr);
    CHECK(weft_stop_for(scheduler, WEFT_NEVER));
    CHECK(count.load() == 1);
    CHECK(weft_start(scheduler) == WEFT_STATUS_OK);
    CHECK(weft_add_task_at(scheduler, weft_now() + 3'600'000'000'000, test::Count, &count, nullptr,
                           nullptr));
    CHECK_FALSE(weft_stop_for(scheduler, 0));
    CHECK(count.load() == 1);
    CHECK(log.entries.size() == 2);
    weft_destroy(scheduler);
}

TEST_CASE("C: null options are the defaults", "[c]") {
    weft_scheduler *const scheduler = weft_create(nullptr);
    REQUIRE(scheduler != nullptr);
    const weft::SchedulerOptions &read = weft::internal::EntryGate::OptionsOf(*scheduler);
    CHECK(read.workers == WEFT_ANY_WORKER);
    CHECK(read.onReport == nullptr);
    CHECK(weft_worker_count(scheduler) == weft::TaskScheduler().WorkerCount());
    weft_destroy(scheduler);
}

TEST_CASE("C: each option arrives, and has the default of the C++ interface", "[c]") {
    weft_options options;
    std::memset(&options, 0x55, sizeof options);
    weft_options_init(&options, sizeof options);
    CHECK(options.structBytes == sizeof options);
    CHECK(options.onReport == nullptr);
    CHECK(options.user == nullptr);
    const auto isThat = [](const weft_options &given, const weft::SchedulerOptions &expected) {
        weft_scheduler *const scheduler = weft_create(&given);
        REQUIRE(scheduler != nullptr);
        const weft::SchedulerOptions &read = weft::internal::EntryGate::OptionsOf(*scheduler);
        CHECK(read.structBytes == expected.structBytes);
        CHECK(read.workers == expected.workers);
        CHECK(read.maxAttached == expected.maxAttached);
        CHECK(read.groups == expected.groups);
        CHECK(read.groupCount == expected.groupCount);
        CHECK(read.fibers == expected.fibers);
        CHECK(read.stackBytes == expected.stackBytes);
        CHECK(read.threadStackBytes == expected.threadStackBytes);
        CHECK(read.idle == expected.idle);
        CHECK(read.affinity.kind == expected.affinity.kind);
        CHECK(read.affinity.maskWords == expected.affinity.maskWords);
        CHECK(read.affinity.masks == expected.affinity.masks);
        CHECK(std::string(read.threadName) == expected.threadName);
        CHECK(read.threadNice == expected.threadNice);
        CHECK(read.threadSliceMicroseconds == expected.threadSliceMicroseconds);
        CHECK(read.memory.user == expected.memory.user);
        CHECK(read.memory.allocate == expected.memory.allocate);
        CHECK(read.memory.release == expected.memory.release);
        CHECK(read.memory.reserveStacks == expected.memory.reserveStacks);
        CHECK(read.memory.releaseStacks == expected.memory.releaseStacks);
        CHECK(read.threads.user == expected.threads.user);
        CHECK(read.threads.onStart == expected.threads.onStart);
        CHECK(read.threads.onStop == expected.threads.onStop);
        CHECK(read.trace.event == nullptr);
        CHECK(read.recorder == nullptr);
        CHECK(read.reportStackOverflow == expected.reportStackOverflow);
        CHECK((read.onReport != nullptr) == (given.onReport != nullptr));
        CHECK(read.stopGraceMilliseconds == expected.stopGraceMilliseconds);
        CHECK(read.stallMilliseconds == expected.stallMilliseconds);
        CHECK(read.watchdogMilliseconds == expected.watchdogMilliseconds);
        CHECK(read.lockHolders == expected.lockHolders);
        CHECK(read.migrateAfterWait == expected.migrateAfterWait);
        CHECK(read.order == expected.order);
        CHECK(read.stackMeter == nullptr);
        CHECK(read.hostThreads == expected.hostThreads);
        CHECK(read.pendingTasks == expected.pendingTasks);
        weft_destroy(scheduler);
    };
    isThat(options, weft::SchedulerOptions());

    test::HostMemory memory;
    weft::SchedulerOptions other;
    memory.AttachTo(other.memory);
    const weft_worker_group groups[2] = {{"a", 1, 2, nullptr, 0, false, false},
                                         {"b", 3, 4, nullptr, 5, true, true}};
    const auto &group = reinterpret_cast<const weft::WorkerGroup *>(groups)[1];
    CHECK(group.namedOnly);
    CHECK(group.runsLow);
    CHECK(group.cpuWords == 5);
    const uint64_t mask = 1;
    options.workers = other.workers = 4;
    options.maxAttached = other.maxAttached = 5;
    options.groups = groups;
    other.groups = reinterpret_cast<const weft::WorkerGroup *>(groups);
    options.groupCount = other.groupCount = 2;
    options.fibers = other.fibers = 6;
    options.stackBytes = other.stackBytes = 90000;
    options.threadStackBytes = other.threadStackBytes = 100000;
    options.idle = WEFT_IDLE_SLEEP;
    other.idle = weft::IdlePolicy::Sleep;
    options.affinity = WEFT_AFFINITY_EXPLICIT;
    options.maskWords = 1;
    options.masks = &mask;
    other.affinity = {weft::Affinity::Kind::Explicit, 1, &mask};
    options.threadName = other.threadName = "other";
    options.threadNice = other.threadNice = -11;
    options.threadSliceMicroseconds = other.threadSliceMicroseconds = 12;
    options.memory = {other.memory.user, other.memory.allocate, other.memory.release,
                      other.memory.reserveStacks, other.memory.releaseStacks};
    options.threads.user = other.threads.user = &memory;
    options.threads.onStart = other.threads.onStart = [](uint32_t, void *) {};
    options.threads.onStop = other.threads.onStop = [](uint32_t, void *) {};
    options.reportStackOverflow = other.reportStackOverflow = true;
    options.onReport = [](const weft_report *, void *) {};
    options.stopGraceMilliseconds = other.stopGraceMilliseconds = 13;
    options.stallMilliseconds = other.stallMilliseconds = 14;
    options.watchdogMilliseconds = other.watchdogMilliseconds = 16;
    options.lockHolders = other.lockHolders = true;
    options.migrateAfterWait = other.migrateAfterWait = true;
    options.order = other.order = 17;
    options.hostThreads = other.hostThreads = true;
    options.pendingTasks = other.pendingTasks = 18;
    isThat(options, other);
    CHECK(memory.Allocations() == 1);  // the scheduler itself
    CHECK(memory.OutstandingBytes() == 0);
    CHECK(memory.Wrong() == 0);
}

TEST_CASE("C: options that an older program does not have keep their defaults", "[c]") {
    weft_options options = test::OptionsOfC(3);
    options.maxAttached = 9;
    options.groupCount = 99;  // these two are beyond the end of the older struct
    options.order = 1;
    options.structBytes = offsetof(weft_options, groupCount);
    weft_scheduler *const scheduler = weft_create(&options);
    REQUIRE(scheduler != nullptr);
    const weft::SchedulerOptions &read = weft::internal::EntryGate::OptionsOf(*scheduler);
    CHECK(read.workers == 3);
    CHECK(read.maxAttached == 9);
    CHECK(read.groupCount == 0);
    CHECK(read.order == 0);
    CHECK(read.stackBytes == weft::SchedulerOptions().stackBytes);
    weft_destroy(scheduler);
}

TEST_CASE("C: weft_options_init writes only as many bytes as the program's struct has", "[c]") {
    weft_options options;
    std::memset(&options, 0x55, sizeof options);
    constexpr size_t kOlder = offsetof(weft_options, groupCount);
    weft_options_init(&options, kOlder);
    CHECK(options.structBytes == kOlder);
    CHECK(options.maxAttached == 8);
    CHECK(options.groupCount == 0x55555555);
    CHECK(options.order == 0x5555555555555555);
}

TEST_CASE("report BadOption: options of C have no size, or one that is too large", "[c]") {
    for (const uint32_t bytes : {0u, 3u, static_cast<uint32_t>(sizeof(weft_options)) + 8}) {
        INFO(bytes);
        weft_options options = test::OptionsOfC(1);
        test::LogOfC log;
        log.AttachTo(options);
        options.structBytes = bytes;
        CHECK(weft_create(&options) == nullptr);
        // without a size, nothing in the struct can be read
        if (bytes > sizeof options) {
            REQUIRE(log.IsOnly(WEFT_REPORT_BAD_OPTION));
            CHECK(log.entries[0].what.find("structBytes") != std::string::npos);
        } else {
            CHECK(log.entries.empty());
        }
    }
}

TEST_CASE("C: a scheduler is made in the host's memory, or not at all", "[c]") {
    test::HostMemory memory;
    weft::MemoryHooks hooks;
    memory.AttachTo(hooks);
    weft_options options = test::OptionsOfC(1);
    test::LogOfC log;
    log.AttachTo(options);
    options.memory = {hooks.user, hooks.allocate, hooks.release, nullptr, nullptr};
    weft_scheduler *const scheduler = weft_create(&options);
    REQUIRE(scheduler != nullptr);
    CHECK(memory.Allocations() == 1);
    std::atomic<uint32_t> count{0};
    CHECK(weft_run(scheduler, test::Count, &count, nullptr) == WEFT_STATUS_OK);
    weft_destroy(scheduler);
    CHECK(memory.OutstandingBytes() == 0);
    CHECK(memory.Wrong() == 0);
    CHECK(log.entries.empty());

    memory.FailFrom(0);
    CHECK(weft_create(&options) == nullptr);
    CHECK(log.IsOnly(WEFT_REPORT_OUT_OF_MEMORY));

    log.entries.clear();
    options.memory.release = nullptr;
    CHECK(weft_create(&options) == nullptr);
    CHECK(log.IsOnly(WEFT_REPORT_BAD_OPTION));
    options.memory.allocate = nullptr;
    options.memory.release = hooks.release;
    CHECK(weft_create(&options) == nullptr);
    CHECK(log.entries.size() == 2);
}
