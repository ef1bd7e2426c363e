// The calls of weft.h that submit tasks.
#include "c/c_support.h"
#include "c/convert.h"
#include "support/threads.h"

#include <cstddef>
#include <cstring>

#include <catch2/catch.hpp>

TEST_CASE("C: each submission runs its tasks once, and a wait sees them", "[c][grid]") {
    for (const test::GridPoint &point : test::GridOfLargePools()) {
        INFO(test::Describe(point));
        test::Runner runner(point);
        std::atomic<uint32_t> count{0};
        uint32_t seen[6] = {};
        CHECK(runner.Run([&](weft::TaskScheduler &running) {
            weft_scheduler *const scheduler = &running;
            weft_counter counter = WEFT_COUNTER_INIT, second = WEFT_COUNTER_INIT;
            const weft_task tasks[3] = {
                {test::Count, &count}, {test::Count, &count}, {test::Count, &count}};

            weft_add_task(scheduler, test::Count, &count, &counter, nullptr);
            weft_wait_for_counter(scheduler, &counter, 0);
            seen[0] = count.exchange(0);

            weft_add_tasks(scheduler, 3, tasks, &counter, nullptr);
            weft_wait_for_counter_on(scheduler, &counter, 0, WEFT_RESUME_ON_SAME_WORKER);
            seen[1] = count.exchange(0);

            weft_add_tasks_and_wait(scheduler, 3, tasks, nullptr);
            seen[2] = count.exchange(0);

            weft_add_task(scheduler, test::CountWithChildren, &count, &counter, nullptr);
            weft_wait_for_counter_meanwhile(scheduler, &counter, 0, WEFT_MEANWHILE_OWN_TASKS);
            seen[3] = count.exchange(0);

            weft_counter_init(&counter, 1);
            const bool added =
                weft_add_task_after(scheduler, &counter, 0, test::Count, &count, &second, nullptr);
            seen[4] = count.load() == 0 && added;
            weft_decrement_counter(scheduler, &counter, 1);
            weft_wait_for_counter(scheduler, &second, 0);
            seen[4] += count.exchange(0);

            const uint64_t time = weft_now() + 1000;
            weft_add_task_at(scheduler, time, test::Count, &count, &second, nullptr);
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

TEST_CASE("C: external threads submit and wait", "[c]") {
    weft_options options = test::OptionsOfC(2);
    test::LogOfC log;
    log.AttachTo(options);
    weft_scheduler *const scheduler = weft_create(&options);
    REQUIRE(scheduler != nullptr);
    REQUIRE(weft_start(scheduler) == WEFT_STATUS_OK);
    std::atomic<uint32_t> wrong{0};
    {
        test::Threads threads(3, [&](uint32_t) {
            std::atomic<uint32_t> count{0};
            const weft_task tasks[2] = {{test::Count, &count}, {test::CountWithChildren, &count}};
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

TEST_CASE("C: options of a task arrive", "[c]") {
    test::AttachedOfC thread;
    weft_task_options options = test::TaskOptionsOfC();
    CHECK(options.structBytes == sizeof options);
    const weft::TaskOptions defaults;
    CHECK(options.worker == defaults.worker);
    CHECK(options.name == defaults.name);
    CHECK(options.priority == weft::internal::ToNumber(defaults.priority));
    CHECK(options.group == defaults.group);

    std::atomic<uint32_t> count{0};
    const weft_task task{test::Count, &count};
    const auto isRefused = [&](const char *field) {
        thread.log.entries.clear();
        weft_add_tasks(thread.scheduler, 1, &task, nullptr, &options);
        options = test::TaskOptionsOfC();
        return thread.log.IsOnly(WEFT_REPORT_BAD_OPTION) &&
               thread.log.entries[0].what.find(field) != std::string::npos;
    };
    options.priority = 3;
    CHECK(isRefused("priority"));
    options.worker = 1000;
    CHECK(isRefused("worker"));
    options.group = 1;
    CHECK(isRefused("group is 1"));
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

TEST_CASE("C: options of a task that an older program does not have keep their defaults", "[c]") {
    test::AttachedOfC thread;
    weft_task_options task = test::TaskOptionsOfC();
    task.priority = 77;
    std::atomic<uint32_t> count{0};
    weft_counter counter = WEFT_COUNTER_INIT;
    task.structBytes = offsetof(weft_task_options, priority);
    weft_add_task(thread.scheduler, test::Count, &count, &counter, &task);
    weft_wait_for_counter(thread.scheduler, &counter, 0);
    CHECK(count.load() == 1);
    CHECK(thread.log.entries.empty());
    task.worker = 1000;  // a field that the older struct has
    weft_add_task(thread.scheduler, test::Count, &count, &counter, &task);
    CHECK(thread.log.IsOnly(WEFT_REPORT_BAD_OPTION));
}

TEST_CASE("C: weft_task_options_init clears what a newer program has", "[c]") {
    struct {
        weft_task_options options;
        uint64_t newer;
    } newer;
    std::memset(&newer, 0x55, sizeof newer);
    weft_task_options_init(&newer.options, sizeof newer);
    CHECK(newer.options.structBytes == sizeof newer);
    CHECK(newer.options.worker == WEFT_ANY_WORKER);
    CHECK(newer.newer == 0);
}

TEST_CASE("report BadOption: options of a task in C have no size, or one that is too large",
          "[c]") {
    test::AttachedOfC thread;
    std::atomic<uint32_t> count{0};
    const weft_task task{test::Count, &count};
    weft_counter counter = WEFT_COUNTER_INIT, after = WEFT_COUNTER_INIT;
    for (const uint32_t bytes : {0u, 3u, static_cast<uint32_t>(sizeof(weft_task_options)) + 8}) {
        INFO(bytes);
        weft_task_options options = test::TaskOptionsOfC();
        options.structBytes = bytes;
        thread.log.entries.clear();
        weft_add_task(thread.scheduler, test::Count, &count, &counter, &options);
        weft_add_tasks(thread.scheduler, 1, &task, &counter, &options);
        weft_add_child_tasks(thread.scheduler, 1, &task, &options);
        weft_add_tasks_and_wait(thread.scheduler, 1, &task, &options);
        CHECK(!weft_add_task_after(thread.scheduler, &after, 0, test::Count, &count, &counter,
                                   &options));
        CHECK(!weft_add_task_at(thread.scheduler, 0, test::Count, &count, &counter, &options));
        CHECK(weft_run(thread.scheduler, test::Count, &count, &options) == WEFT_STATUS_BAD_OPTION);
        CHECK(weft_counter_value(&counter) == 0);
        CHECK(thread.log.entries.size() == 7);
        for (const test::LogOfC::Entry &entry : thread.log.entries) {
            CHECK(entry.code == WEFT_REPORT_BAD_OPTION);
            CHECK(entry.what.find("structBytes") != std::string::npos);
        }
    }
    CHECK(count.load() == 0);
}
