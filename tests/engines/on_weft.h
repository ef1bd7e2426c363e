// The scheduler on which the tests of an engine run. The environment variable WEFT_THREADS says how
// many threads run tasks: the main thread, which is attached, and workers.
#pragma once

#include "weft/task_scheduler.h"

#include <cstdlib>

namespace engines {

class AttachedScheduler {
public:
    AttachedScheduler() : m_scheduler(Options()) {
        if (m_scheduler.Start() != weft::Status::Ok) std::abort();
        if (m_scheduler.AttachThread() != weft::Status::Ok) std::abort();
    }
    ~AttachedScheduler() { m_scheduler.DetachThread(); }
    weft::TaskScheduler &Get() { return m_scheduler; }

private:
    static weft::SchedulerOptions Options() {
        const char *threads = std::getenv("WEFT_THREADS");
        weft::SchedulerOptions options;
        options.workers = threads != nullptr ? static_cast<uint32_t>(std::atoi(threads)) - 1 : 1;
        options.maxAttached = 1;
        return options;
    }
    weft::TaskScheduler m_scheduler;
};

}  // namespace engines
