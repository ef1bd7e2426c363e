// Six small tests with a bug that depends on the order of tasks, and the same tests without it. All
// of them pass in the usual order.
#pragma once

#include <weft/task_scheduler.h>

#include <cstddef>

struct OrderBug {
    const char *name;
    const char *mistake;
    /// Returns true if all is right. `right`: without the bug.
    bool (*test)(weft::TaskScheduler &scheduler, bool right);
};

extern const OrderBug kOrderBugs[];
extern const size_t kOrderBugCount;
