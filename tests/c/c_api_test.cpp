// The first include, so that this shows that weft.h needs no other header.
#include "weft/weft.h"

#include "c/convert.h"
#include "scheduler/state/entry_gate.h"
#include "support/host_memory.h"
#include "support/scheduler_run.h"
#include "support/spin.h"
#include "support/threads.h"
#include "support/trace_log.h"
#include "sync/mix.h"
#include "weft/inspect.h"

#include <atomic>
#include <cstddef>
#include <cstring>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <catch2/catch.hpp>

namespace {

weft_options OptionsOfC(uint32_t workers) {
    const weft::SchedulerOptions test = test::Options(workers);
    weft_options options;
    weft_options_init(&options, sizeof options);
    options.workers = workers;
    options.smallStackBytes = test.smallStackBytes;
    options.largeStackBytes = test.largeStackBytes;
    return options;
}

weft_task_options TaskOptionsOfC() {
    weft_task_options options;
    weft_task_options_init(&options, sizeof options);
    return options;
}

// Collects the reports of a scheduler that weft_create has made.
struct Log {
    struct Entry {
        weft_report_code code;
        std::string what, hint, task;
    };
    std::vector<Entry> entries;

    void AttachTo(weft_options &options) {
        options.onReport = [](const weft_report *report, void *user) {
            const char *task = report->task != nullptr ? report->task : "-";
            static_cast<Log *>(user)->entries.push_back(
                {report->code, report->what, report->hint, task});
        };
        options.user = this;
    }
    bool IsOnly(weft_report_code code) const {
        return entries.size() == 1 && entries[0].code == code;
    }
};

// A scheduler without workers, to which this thread is attached.
struct Attached {
    Attached() {
        weft_options options = OptionsOfC(0);
        log.AttachTo(options);
        scheduler = weft_create(&options);
        REQUIRE(scheduler != nullptr);
        REQUIRE(weft_start(scheduler) == WEFT_STATUS_OK);
        REQUIRE(weft_attach_thread(scheduler) == WEFT_STATUS_OK);
    }
    ~Attached() {
        weft_detach_thread(scheduler);
        weft_destroy(scheduler);
    }
    Attached(const Attached &) = delete;
    Attached &operator=(const Attached &) = delete;

    Log log;
    weft_scheduler *scheduler = nullptr;
};

void Count(weft_scheduler *, void *arg) { ++*static_cast<std::atomic<uint32_t> *>(arg); }

void CountWithChildren(weft_scheduler *scheduler, void *arg) {
    const weft_task children[2] = {{Count, arg}, {Count, arg}};
    weft_add_child_tasks(scheduler, 2, children, nullptr);
    Count(scheduler, arg);
}

}  // namespace

TEST_CASE("C: each submission runs its tasks once, and a wait sees them", "[c][grid]") {
    for (const test::GridPoint &point : test::GridOfLargePools()) {
        INFO(test::Describe(point));
        test::Runner runner(point);
        std::atomic<uint32_t> count{0};
        uint32_t seen[6] = {};
        CHECK(runner.Run([&](weft::TaskScheduler &running) {
            weft_scheduler *const scheduler = &running;
            weft_counter counter = WEFT_COUNTER_INIT, second = WEFT_COUNTER_INIT;
            const weft_task tasks[3] = {{Count, &count}, {Count, &count}, {Count, &count}};

            weft_add_task(scheduler, Count, &count, &counter, nullptr);
            weft_wait_for_counter(scheduler, &counter, 0);
            seen[0] = count.exchange(0);

            weft_add_tasks(scheduler, 3, tasks, &counter, nullptr);
            weft_wait_for_counter_on(scheduler, &counter, 0, WEFT_RESUME_ON_SAME_WORKER);
            seen[1] = count.exchange(0);

            weft_add_tasks_and_wait(scheduler, 3, tasks, nullptr);
            seen[2] = count.exchange(0);

            weft_add_task(scheduler, CountWithChildren, &count, &counter, nullptr);
            weft_wait_for_counter_meanwhile(scheduler, &counter, 0, WEFT_MEANWHILE_OWN_TASKS);
            seen[3] = count.exchange(0);

            weft_counter_init(&counter, 1);
            const bool added =
                weft_add_task_after(scheduler, &counter, 0, Count, &count, &second, nullptr);
            seen[4] = count.load() == 0 && added;
            weft_decrement_counter(scheduler, &counter, 1);
            weft_wait_for_counter(scheduler, &second, 0);
            seen[4] += count.exchange(0);

            const uint64_t time = weft_now() + 1000;
            weft_add_task_at(scheduler, time, Count, &count, &second, nullptr);
            weft_wait_for_counter(scheduler, &second, 0);
            seen[5] = count.exchange(0) + (weft_now() >= time ? 1 : 0);
        }) == weft::Status::Ok);
        CHECK(seen[0] == 1);
        CHECK(seen[1] == 3);
        CHECK(seen[2] == 3);
        CHECK(seen[3] == 3);
        CHECK(seen[4] == 2);
        CHECK(seen[5] == 2);
        CHECK(test::Faults(runner.log).empty());
    }
}

TEST_CASE("C: a scheduler runs, starts, stops, and is destroyed while it runs", "[c]") {
    weft_options options = OptionsOfC(2);
    Log log;
    log.AttachTo(options);
    weft_scheduler *const scheduler = weft_create(&options);
    REQUIRE(scheduler != nullptr);
    std::atomic<uint32_t> count{0};
    CHECK(weft_run(scheduler, Count, &count, nullptr) == WEFT_STATUS_OK);
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
    weft_add_task(scheduler, Count, &count, nullptr, nullptr);
    weft_wait_idle(scheduler);
    CHECK(count.load() == 1);
    weft_stop(scheduler);

    CHECK(weft_start(scheduler) == WEFT_STATUS_OK);
    weft_add_task(scheduler, Count, &count, nullptr, nullptr);
    weft_destroy(scheduler);  // stops it
    CHECK(count.load() == 2);
    CHECK(log.entries.size() == 1);
    weft_destroy(nullptr);
}

TEST_CASE("C: without options, weft_run gives the main task a large stack and a name", "[c]") {
    test::TraceLog trace;
    weft::SchedulerOptions options = test::Options(1);
    trace.AttachTo(options);
    test::Runner runner(options);
    const auto main = [](weft_scheduler *scheduler, void *arg) {
        *static_cast<uint32_t *>(arg) = weft_current_fiber(scheduler);
    };
    uint32_t fiber = 0;
    CHECK(weft_run(&runner.scheduler, main, &fiber, nullptr) == WEFT_STATUS_OK);
    CHECK(fiber >= options.smallFibers);
    CHECK(trace.Events(test::Traced::TaskBegin).at(0).task == "main");

    weft_task_options small = TaskOptionsOfC();
    small.name = "small";
    trace.Clear();
    CHECK(weft_run(&runner.scheduler, main, &fiber, &small) == WEFT_STATUS_OK);
    CHECK(fiber < options.smallFibers);
    CHECK(trace.Events(test::Traced::TaskBegin).at(0).task == "small");
}

TEST_CASE("C: a counter is a Counter, and zeros are a counter of zero", "[c]") {
    Attached thread;
    weft_counter counter;
    weft_counter_init(&counter, 5);
    CHECK(weft_counter_value(&counter) == 5);
    CHECK(weft::internal::ToCounter(&counter)->Value() == 5);
    CHECK(weft_increment_counter(thread.scheduler, &counter, 2));
    CHECK(weft_counter_value(&counter) == 7);
    CHECK(!weft_poll_counter(thread.scheduler, &counter, 6));
    CHECK(weft_poll_counter(thread.scheduler, &counter, 7));
    weft_wait_for_counter(thread.scheduler, &counter, 7);
    weft_decrement_counter(thread.scheduler, &counter, 7);
    CHECK(weft_counter_value(&counter) == 0);

    std::memset(&counter, 0, sizeof counter);
    CHECK(weft_counter_value(&counter) == 0);
    weft_wait_for_counter(thread.scheduler, &counter, 0);
    const weft_counter initial = WEFT_COUNTER_INIT;
    CHECK(std::memcmp(&initial, &counter, sizeof counter) == 0);
    CHECK(thread.log.entries.empty());
    weft_decrement_counter(thread.scheduler, &counter, 1);
    CHECK(thread.log.IsOnly(WEFT_REPORT_COUNTER_UNDERFLOW));
}

TEST_CASE("C: waits for several counters, and waits with a deadline", "[c]") {
    Attached thread;
    weft_counter zero = WEFT_COUNTER_INIT, one;
    weft_counter_init(&one, 1);
    weft_counter *counters[2] = {&one, &zero};
    CHECK(weft_wait_for_any(thread.scheduler, 2, counters) == 1);
    CHECK(weft_wait_for_any_until(thread.scheduler, 2, counters, WEFT_NEVER) == 1);
    CHECK(weft_wait_for_any_until(thread.scheduler, 1, counters, 0) == 1);

    const uint64_t deadline = weft_now() + 1000000;
    CHECK(
        !weft_wait_for_counter_until(thread.scheduler, &one, 0, deadline, WEFT_MEANWHILE_ANY_TASK));
    CHECK(weft_now() >= deadline);
    CHECK(weft_wait_for_counter_until(thread.scheduler, &one, 1, 0, WEFT_MEANWHILE_NOTHING));
    CHECK(weft_wait_for_counter_until(thread.scheduler, &zero, 0, WEFT_NEVER,
                                      WEFT_MEANWHILE_HIGH_ONLY));
    const uint64_t begin = weft_now();
    weft_sleep_until(thread.scheduler, begin + 1000000);
    CHECK(weft_now() >= begin + 1000000);

    struct Lowers {
        weft_counter *counter;
        static void Run(weft_scheduler *scheduler, void *arg) {
            weft_decrement_counter(scheduler, static_cast<Lowers *>(arg)->counter, 1);
        }
    } lowers{&one};
    weft_add_task(thread.scheduler, Lowers::Run, &lowers, nullptr, nullptr);
    weft_wait_for_all(thread.scheduler, 2, counters);
    CHECK(weft_counter_value(&one) == 0);
    CHECK(thread.log.entries.empty());
}

TEST_CASE("C: a point in time that the clock cannot express never comes", "[c]") {
    using weft::internal::ToTime;
    CHECK(ToTime(WEFT_NEVER) == weft::Clock::time_point::max());
    CHECK(ToTime(uint64_t{1} << 63) == weft::Clock::time_point::max());
    CHECK(ToTime(0) == weft::Clock::time_point());
    const auto now =
        std::chrono::duration_cast<std::chrono::nanoseconds>(weft::Now().time_since_epoch());
    const uint64_t nanoseconds = static_cast<uint64_t>(now.count());
    CHECK(ToTime(nanoseconds).time_since_epoch() == now);
    CHECK(weft_now() >= nanoseconds);

    Attached thread;
    std::atomic<uint32_t> count{0};
    CHECK(!weft_add_task_at(thread.scheduler, WEFT_NEVER, Count, &count, nullptr, nullptr));
    CHECK(thread.log.IsOnly(WEFT_REPORT_BAD_OPTION));
}

TEST_CASE("C: options of a task arrive", "[c]") {
    Attached thread;
    weft_task_options options = TaskOptionsOfC();
    CHECK(options.structBytes == sizeof options);
    const weft::TaskOptions defaults;
    CHECK(options.worker == defaults.worker);
    CHECK(options.name == defaults.name);
    CHECK(options.priority == weft::internal::ToNumber(defaults.priority));
    CHECK(options.stack == weft::internal::ToNumber(defaults.stack));
    CHECK(options.groups == defaults.groups);

    std::atomic<uint32_t> count{0};
    const weft_task task{Count, &count};
    const auto isRefused = [&](const char *field) {
        thread.log.entries.clear();
        weft_add_tasks(thread.scheduler, 1, &task, nullptr, &options);
        options = TaskOptionsOfC();
        return thread.log.IsOnly(WEFT_REPORT_BAD_OPTION) &&
               thread.log.entries[0].what.find(field) != std::string::npos;
    };
    options.priority = 3;
    CHECK(isRefused("priority"));
    options.stack = 2;
    CHECK(isRefused("stack"));
    options.worker = 1000;
    CHECK(isRefused("worker"));
    options.groups = 0x80;
    CHECK(isRefused("groups"));
    CHECK(count.load() == 0);

    // Reports name the task.
    const auto fails = [](weft_scheduler *scheduler, void *) {
        weft_wait_for_counter(scheduler, nullptr, 0);
    };
    thread.log.entries.clear();
    options.name = "named";
    weft_counter counter = WEFT_COUNTER_INIT;
    weft_add_task(thread.scheduler, fails, nullptr, &counter, &options);
    weft_wait_for_counter(thread.scheduler, &counter, 0);
    REQUIRE(thread.log.IsOnly(WEFT_REPORT_NULL_COUNTER));
    CHECK(thread.log.entries[0].task == "named");
    CHECK(!thread.log.entries[0].hint.empty());
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
        CHECK(read.lowGroups == expected.lowGroups);
        CHECK(read.smallFibers == expected.smallFibers);
        CHECK(read.largeFibers == expected.largeFibers);
        CHECK(read.smallStackBytes == expected.smallStackBytes);
        CHECK(read.largeStackBytes == expected.largeStackBytes);
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
        CHECK(read.agingMilliseconds == expected.agingMilliseconds);
        CHECK(read.watchdogMilliseconds == expected.watchdogMilliseconds);
        CHECK(read.lockHolders == expected.lockHolders);
        CHECK(read.migrateAfterWait == expected.migrateAfterWait);
        CHECK(read.order == expected.order);
        CHECK(read.stackMeter == nullptr);
        weft_destroy(scheduler);
    };
    isThat(options, weft::SchedulerOptions());

    test::HostMemory memory;
    weft::SchedulerOptions other;
    memory.AttachTo(other.memory);
    const weft_worker_group groups[2] = {{"a", 1, 2, nullptr, 0, false},
                                         {"b", 3, 4, nullptr, 5, true}};
    const auto &group = reinterpret_cast<const weft::WorkerGroup *>(groups)[1];
    CHECK(group.namedOnly);
    CHECK(group.cpuWords == 5);
    const uint64_t mask = 1;
    options.workers = other.workers = 4;
    options.maxAttached = other.maxAttached = 5;
    options.groups = groups;
    other.groups = reinterpret_cast<const weft::WorkerGroup *>(groups);
    options.groupCount = other.groupCount = 2;
    options.lowGroups = other.lowGroups = 3;
    options.smallFibers = other.smallFibers = 6;
    options.largeFibers = other.largeFibers = 7;
    options.smallStackBytes = other.smallStackBytes = 80000;
    options.largeStackBytes = other.largeStackBytes = 90000;
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
    options.agingMilliseconds = other.agingMilliseconds = 15;
    options.watchdogMilliseconds = other.watchdogMilliseconds = 16;
    options.lockHolders = other.lockHolders = true;
    options.migrateAfterWait = other.migrateAfterWait = true;
    options.order = other.order = 17;
    isThat(options, other);
    CHECK(memory.Allocations() == 1);  // the scheduler itself
    CHECK(memory.OutstandingBytes() == 0);
    CHECK(memory.Wrong() == 0);
}

TEST_CASE("C: fields that an older program does not have keep their defaults", "[c]") {
    weft_options options = OptionsOfC(3);
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
    CHECK(read.smallStackBytes == weft::SchedulerOptions().smallStackBytes);
    weft_destroy(scheduler);

    Attached thread;
    weft_task_options task = TaskOptionsOfC();
    task.priority = 77;
    std::atomic<uint32_t> count{0};
    weft_counter counter = WEFT_COUNTER_INIT;
    task.structBytes = offsetof(weft_task_options, priority);
    weft_add_task(thread.scheduler, Count, &count, &counter, &task);
    weft_wait_for_counter(thread.scheduler, &counter, 0);
    CHECK(count.load() == 1);
    CHECK(thread.log.entries.empty());
    task.worker = 1000;  // a field that the older struct has
    weft_add_task(thread.scheduler, Count, &count, &counter, &task);
    CHECK(thread.log.IsOnly(WEFT_REPORT_BAD_OPTION));
}

TEST_CASE("C: init functions and statistics write only as many bytes as the program's struct has",
          "[c]") {
    weft_options options;
    std::memset(&options, 0x55, sizeof options);
    constexpr size_t kOlder = offsetof(weft_options, groupCount);
    weft_options_init(&options, kOlder);
    CHECK(options.structBytes == kOlder);
    CHECK(options.maxAttached == 8);
    CHECK(options.groupCount == 0x55555555);
    CHECK(options.order == 0x5555555555555555);

    struct {
        weft_task_options options;
        uint64_t newer;
    } newer;
    std::memset(&newer, 0x55, sizeof newer);
    weft_task_options_init(&newer.options, sizeof newer);
    CHECK(newer.options.structBytes == sizeof newer);
    CHECK(newer.options.worker == WEFT_ANY_WORKER);
    CHECK(newer.newer == 0);

    Attached thread;
    weft_statistics statistics;
    std::memset(&statistics, 0x55, sizeof statistics);
    weft_get_statistics(thread.scheduler, &statistics, offsetof(weft_statistics, inlineRuns));
    CHECK(statistics.submitted == 0);
    CHECK(statistics.inlineRuns == 0x5555555555555555);
}

TEST_CASE("report BadOption: a struct of C has no size, or one that is too large", "[c]") {
    for (const uint32_t bytes : {0u, 3u, static_cast<uint32_t>(sizeof(weft_options)) + 8}) {
        INFO(bytes);
        weft_options options = OptionsOfC(1);
        Log log;
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
    Attached thread;
    std::atomic<uint32_t> count{0};
    const weft_task task{Count, &count};
    weft_counter counter = WEFT_COUNTER_INIT, after = WEFT_COUNTER_INIT;
    for (const uint32_t bytes : {0u, 3u, static_cast<uint32_t>(sizeof(weft_task_options)) + 8}) {
        INFO(bytes);
        weft_task_options options = TaskOptionsOfC();
        options.structBytes = bytes;
        thread.log.entries.clear();
        weft_add_task(thread.scheduler, Count, &count, &counter, &options);
        weft_add_tasks(thread.scheduler, 1, &task, &counter, &options);
        weft_add_child_tasks(thread.scheduler, 1, &task, &options);
        weft_add_tasks_and_wait(thread.scheduler, 1, &task, &options);
        CHECK(!weft_add_task_after(thread.scheduler, &after, 0, Count, &count, &counter, &options));
        CHECK(!weft_add_task_at(thread.scheduler, 0, Count, &count, &counter, &options));
        CHECK(weft_run(thread.scheduler, Count, &count, &options) == WEFT_STATUS_BAD_OPTION);
        CHECK(weft_counter_value(&counter) == 0);
        CHECK(thread.log.entries.size() == 7);
        for (const Log::Entry &entry : thread.log.entries) {
            CHECK(entry.code == WEFT_REPORT_BAD_OPTION);
            CHECK(entry.what.find("structBytes") != std::string::npos);
        }
    }
    CHECK(count.load() == 0);
}

TEST_CASE("report BadOption: an argument of C is none of the named numbers", "[c]") {
    Attached thread;
    weft_counter one;
    weft_counter_init(&one, 1);
    weft_wait_for_counter_on(thread.scheduler, &one, 0, 2);
    CHECK(thread.log.IsOnly(WEFT_REPORT_BAD_OPTION));
    thread.log.entries.clear();
    weft_wait_for_counter_meanwhile(thread.scheduler, &one, 0, 5);
    CHECK(thread.log.IsOnly(WEFT_REPORT_BAD_OPTION));
    thread.log.entries.clear();
    CHECK(!weft_wait_for_counter_until(thread.scheduler, &one, 1, WEFT_NEVER, 5));
    CHECK(thread.log.IsOnly(WEFT_REPORT_BAD_OPTION));
    thread.log.entries.clear();
    weft_set_priority(thread.scheduler, 3);
    CHECK(thread.log.IsOnly(WEFT_REPORT_BAD_OPTION));
}

TEST_CASE("C: a scheduler is made in the host's memory, or not at all", "[c]") {
    test::HostMemory memory;
    weft::MemoryHooks hooks;
    memory.AttachTo(hooks);
    weft_options options = OptionsOfC(1);
    Log log;
    log.AttachTo(options);
    options.memory = {hooks.user, hooks.allocate, hooks.release, nullptr, nullptr};
    weft_scheduler *const scheduler = weft_create(&options);
    REQUIRE(scheduler != nullptr);
    CHECK(memory.Allocations() == 1);
    std::atomic<uint32_t> count{0};
    CHECK(weft_run(scheduler, Count, &count, nullptr) == WEFT_STATUS_OK);
    weft_destroy(scheduler);
    CHECK(memory.OutstandingBytes() == 0);
    CHECK(memory.Wrong() == 0);
    CHECK(log.entries.empty());

    memory.FailFrom(memory.Calls());
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

TEST_CASE("C: null options are the defaults", "[c]") {
    weft_scheduler *const scheduler = weft_create(nullptr);
    REQUIRE(scheduler != nullptr);
    const weft::SchedulerOptions &read = weft::internal::EntryGate::OptionsOf(*scheduler);
    CHECK(read.workers == WEFT_ANY_WORKER);
    CHECK(read.onReport == nullptr);
    CHECK(weft_worker_count(scheduler) == weft::TaskScheduler().WorkerCount());
    weft_destroy(scheduler);
}

TEST_CASE("C: each status and each report code has its own name", "[c]") {
    std::set<std::string> names;
    for (weft_status status = 0; status <= WEFT_STATUS_TOO_MANY_THREADS; ++status)
        names.insert(weft_status_name(status));
    CHECK(names.size() == WEFT_STATUS_TOO_MANY_THREADS + 1);
    CHECK(names.count("unknown") == 0);
    CHECK(std::string(weft_status_name(WEFT_STATUS_NOT_RUNNING)) == "NotRunning");
    CHECK(std::string(weft_status_name(200)) == "unknown");
    names.clear();
    for (weft_report_code code = 0; code <= WEFT_REPORT_WAIT_IN_SCOPE; ++code)
        names.insert(weft_report_name(code));
    CHECK(names.size() == WEFT_REPORT_WAIT_IN_SCOPE + 1);
    CHECK(names.count("unknown") == 0);
    CHECK(std::string(weft_report_name(WEFT_REPORT_STALLED)) == "Stalled");
    CHECK(std::string(weft_report_name(1000)) == "unknown");
    CHECK(weft_version() == WEFT_VERSION_NUMBER);
}

TEST_CASE("C: a task yields, changes its priority, and runs what is pinned to its thread",
          "[c][one_worker]") {
    Attached thread;
    std::string order;
    struct Step {
        std::string *order;
        char name;
        static void Run(weft_scheduler *, void *arg) {
            const Step *self = static_cast<Step *>(arg);
            *self->order += self->name;
        }
    } steps[3] = {{&order, 'a'}, {&order, 'b'}, {&order, 'c'}};
    weft_task_options here = TaskOptionsOfC();
    here.worker = weft_current_worker(thread.scheduler);
    CHECK(here.worker == 0);
    weft_add_task(thread.scheduler, Step::Run, &steps[0], nullptr, &here);
    weft_add_task(thread.scheduler, Step::Run, &steps[1], nullptr, &here);
    CHECK(weft_run_pinned_tasks(thread.scheduler, 1) == 1);
    CHECK(order == "a");
    CHECK(weft_run_pinned_tasks(thread.scheduler, UINT32_MAX) == 1);
    CHECK(order == "ab");
    weft_add_task(thread.scheduler, Step::Run, &steps[2], nullptr, nullptr);
    weft_prepare_to_block(thread.scheduler);
    CHECK(order == "ab");
    weft_yield(thread.scheduler);
    CHECK(order == "abc");

    // A wait of low priority lets a normal task run first, although it need not wait.
    weft_counter zero = WEFT_COUNTER_INIT;
    order.clear();
    weft_add_task(thread.scheduler, Step::Run, &steps[0], nullptr, nullptr);
    weft_wait_for_counter(thread.scheduler, &zero, 0);
    CHECK(order.empty());
    weft_set_priority(thread.scheduler, WEFT_PRIORITY_LOW);
    weft_wait_for_counter(thread.scheduler, &zero, 0);
    CHECK(order == "a");
    CHECK(thread.log.entries.empty());
}

TEST_CASE("C: calls for the whole scheduler reach it", "[c]") {
    test::TraceLog trace;
    weft::SchedulerOptions options = test::Options(2);
    trace.AttachTo(options, ~0u);
    test::Runner runner(options);
    weft_scheduler *const scheduler = &runner.scheduler;
    weft_counter counter;
    weft_counter_init(&counter, 1);
    std::atomic<uint32_t> count{0};
    REQUIRE(weft_start(scheduler) == WEFT_STATUS_OK);
    weft_mark_frame(scheduler, 41);
    weft_name_counter(scheduler, &counter, "named");
    CHECK(trace.Events(test::Traced::Frame).at(0).event.count == 41);
    CHECK(trace.Events(test::Traced::CounterName).at(0).event.counter ==
          weft::internal::ToCounter(&counter));

    weft_set_active_workers(scheduler, 3);
    CHECK(runner.log.CountOf(weft::ReportCode::BadOption) == 1);
    weft_set_active_workers(scheduler, 1);
    weft_set_low_groups(scheduler, 2);
    CHECK(runner.log.CountOf(weft::ReportCode::BadOption) == 2);
    weft_set_low_groups(scheduler, 1);

    const std::atomic<uint32_t> &outside = weft::internal::EntryGate::StateOf(*scheduler).outside;
    weft_begin_external_work(scheduler, "work");
    CHECK(outside.load() == 1);
    weft_end_external_work(scheduler, "work");
    CHECK(outside.load() == 0);

    for (int i = 0; i < 3; ++i) weft_add_task(scheduler, Count, &count, nullptr, nullptr);
    weft_wait_idle(scheduler);
    weft_statistics statistics;
    weft_get_statistics(scheduler, &statistics, sizeof statistics);
    const weft::Statistics expected = weft::GetStatistics(runner.scheduler);
    CHECK(statistics.finished == 3);
    CHECK(statistics.submitted == 0);
    CHECK(statistics.submittedOutside == 3);
    CHECK(statistics.pendingTasks == 0);
    CHECK(statistics.workers == 2);
    CHECK(statistics.attachedThreads == 0);
    CHECK(statistics.smallFibers == options.smallFibers);
    CHECK(statistics.largeFibers == options.largeFibers);
    CHECK(statistics.smallFibersTouched == expected.smallFibersTouched);
    CHECK(statistics.largeFibersInUse == expected.largeFibersInUse);
    CHECK(statistics.largeFibersTouched == expected.largeFibersTouched);
    weft_stop(scheduler);
    CHECK(runner.log.Count() == 2);
}

TEST_CASE("C: external threads submit and wait", "[c]") {
    weft_options options = OptionsOfC(2);
    Log log;
    log.AttachTo(options);
    weft_scheduler *const scheduler = weft_create(&options);
    REQUIRE(scheduler != nullptr);
    REQUIRE(weft_start(scheduler) == WEFT_STATUS_OK);
    std::atomic<uint32_t> wrong{0};
    {
        test::Threads threads(3, [&](uint32_t) {
            std::atomic<uint32_t> count{0};
            const weft_task tasks[2] = {{Count, &count}, {CountWithChildren, &count}};
            for (uint32_t i = 0; i < 50; ++i) {
                weft_counter counter = WEFT_COUNTER_INIT;
                weft_add_tasks(scheduler, 2, tasks, &counter, nullptr);
                weft_wait_for_counter(scheduler, &counter, 0);
                if (count.exchange(0) != 4) ++wrong;
                weft_add_tasks_and_wait(scheduler, 2, tasks, nullptr);
                if (count.exchange(0) != 4) ++wrong;
            }
        });
    }
    weft_destroy(scheduler);
    CHECK(wrong.load() == 0);
    CHECK(log.entries.empty());
}
