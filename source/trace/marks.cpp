#include "weft/trace/marks.h"

#include "core/trace_records.h"
#include "scheduler/api/internal_api.h"

namespace weft {

using namespace internal;

namespace {

void LookAtBudget(Recorder &recorder, uint32_t frame, uint64_t now) noexcept {
    const RecorderOptions &options = RecorderAccess::OptionsOf(recorder);
    const uint64_t ticks = RecorderAccess::EndFrame(recorder, now);
    if (options.frameBudget == 0 || options.onLateFrame == nullptr || ticks == 0) return;
    const uint64_t nanoseconds =
        static_cast<uint64_t>(static_cast<double>(ticks) * 1000 / env::TicksPerMicrosecond());
    if (nanoseconds > options.frameBudget) options.onLateFrame(frame, nanoseconds, options.user);
}

}  // namespace

void MarkFrame(TaskScheduler &scheduler, uint32_t frame) noexcept {
    TraceEvent event{};
    event.count = frame;
    event.ticks = env::Ticks();
    EmitFrom(scheduler, TraceKind::Frame, event);
    if (Recorder *const recorder = EntryGate::OptionsOf(scheduler).recorder)
        LookAtBudget(*recorder, frame, event.ticks);
}

double TraceTicksPerMicrosecond() noexcept { return env::TicksPerMicrosecond(); }

void NameCounter(TaskScheduler &scheduler, const Counter *counter, const char *name) noexcept {
    TraceEvent event{};
    event.counter = counter;
    event.task = name;
    EmitFrom(scheduler, TraceKind::CounterName, event);
}

}  // namespace weft
