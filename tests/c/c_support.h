// What the tests of weft.h share.
#pragma once

#include "support/scheduler_run.h"
#include "weft/weft.h"

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

namespace test {

/// The options of test::Options.
inline weft_options OptionsOfC(uint32_t workers) {
    const weft::SchedulerOptions tested = Options(workers);
    weft_options options;
    weft_options_init(&options, sizeof options);
    options.workers = workers;
    options.stackBytes = tested.stackBytes;
    return options;
}

/// The default options.
inline weft_task_options TaskOptionsOfC() {
    weft_task_options options;
    weft_task_options_init(&options, sizeof options);
    return options;
}

/// Collects the reports of a scheduler that weft_create has made. Not thread-safe.
struct LogOfC {
    struct Entry {
        weft_report_code code;
        std::string what, hint, task;
    };
    std::vector<Entry> entries;

    void AttachTo(weft_options &options) {
        options.onReport = [](const weft_report *report, void *user) {
            const char *task = report->task != nullptr ? report->task : "-";
            static_cast<LogOfC *>(user)->entries.push_back(
                {report->code, report->what, report->hint, task});
        };
        options.user = this;
    }
    bool IsOnly(weft_report_code code) const {
        return entries.size() == 1 && entries[0].code == code;
    }
};

/// A scheduler without workers, to which this thread is attached.
struct AttachedOfC {
    AttachedOfC() {
        weft_options options = OptionsOfC(0);
        log.AttachTo(options);
        scheduler = weft_create(&options);
        REQUIRE(scheduler != nullptr);
        REQUIRE(weft_start(scheduler) == WEFT_STATUS_OK);
        REQUIRE(weft_attach_thread(scheduler) == WEFT_STATUS_OK);
    }
    ~AttachedOfC() {
        weft_detach_thread(scheduler);
        weft_destroy(scheduler);
    }
    AttachedOfC(const AttachedOfC &) = delete;
    AttachedOfC &operator=(const AttachedOfC &) = delete;

    LogOfC log;
    weft_scheduler *scheduler = nullptr;
};

/// A task that counts.
inline void Count(weft_scheduler *, void *arg) { ++*static_cast<std::atomic<uint32_t> *>(arg); }

/// Counts three times.
inline void CountWithChildren(weft_scheduler *scheduler, void *arg) {
    const weft_task children[2] = {{Count, arg}, {Count, arg}};
    weft_add_child_tasks(scheduler, 2, children, nullptr);
    Count(scheduler, arg);
}

}  // namespace test
