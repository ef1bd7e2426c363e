// The definition of worlds for box2d's tests on weft. The environment variable WEFT_THREADS says
// how many threads run tasks: the main thread, which is attached, and workers.
#undef b2DefaultWorldDef
#include "box2d/box2d_tasks.h"

#include <cstdlib>

#include <box2d/types.h>

namespace {

struct Shared {
    Shared() : scheduler(Options()), tasks(scheduler, Options().workers + 1) {
        if (scheduler.Start() != weft::Status::Ok) std::abort();
        if (scheduler.AttachThread() != weft::Status::Ok) std::abort();
    }
    ~Shared() { scheduler.DetachThread(); }
    static weft::SchedulerOptions Options() {
        const char *threads = std::getenv("WEFT_THREADS");
        weft::SchedulerOptions options;
        options.workers = threads != nullptr ? static_cast<uint32_t>(std::atoi(threads)) - 1 : 1;
        options.maxAttached = 1;
        return options;
    }
    weft::TaskScheduler scheduler;
    weft::Box2dTasks tasks;
};

}  // namespace

extern "C" b2WorldDef b2DefaultWorldDefOnWeft(void);
extern "C" b2WorldDef b2DefaultWorldDefOnWeft(void) {
    static Shared shared;
    b2WorldDef definition = b2DefaultWorldDef();
    shared.tasks.Use(definition);
    return definition;
}
