// The module. The build compiles it twice, with VERSION 1 and 2.
#include "hot_reload/module.h"

#if defined(_WIN32)
#define MODULE_API extern "C" __declspec(dllexport)
#else
#define MODULE_API extern "C" __attribute__((visibility("default")))
#endif

MODULE_API void Begin(const ModuleHost &host);
MODULE_API void Frame(const ModuleHost &host);

namespace {

const ModuleHost &HostOf(const void *arg) { return *static_cast<const ModuleHost *>(arg); }

void DrawStrip(weft::TaskScheduler *, void *arg) { *static_cast<uint32_t *>(arg) = VERSION; }

// A background task that goes on for ever: when it ends, the next one has been submitted.
void Stream(weft::TaskScheduler *, void *arg) {
    const ModuleHost &host = HostOf(arg);
    ++host.state->inModule;
    ++host.state->streamed;
    const weft::Task next{Stream, arg};
    host.addTasks(host, 1, &next);
    --host.state->inModule;
}

}  // namespace

void Begin(const ModuleHost &host) {
    void *const arg = const_cast<ModuleHost *>(&host);
    const weft::Task streams[2] = {{Stream, arg}, {Stream, arg}};
    host.addTasks(host, 2, streams);
    host.addTaskLater(host, 3'600'000, {Stream, arg});  // in an hour
}

void Frame(const ModuleHost &host) {
    weft::Task strips[kStrips];
    for (uint32_t i = 0; i < kStrips; ++i) strips[i] = {DrawStrip, &host.state->versions[i]};
    host.runTasks(host, kStrips, strips);
}
