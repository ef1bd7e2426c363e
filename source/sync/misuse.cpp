#include "sync/misuse.h"

#include "scheduler/gate.h"
#include "scheduler/reporting.h"

namespace weft::internal {

void ReportMisuse(const TaskScheduler &scheduler, ReportCode code, const char *hint,
                  const char *what) noexcept {
    ReportMistake(Gate::OptionsOf(scheduler), code, hint, "%s", what);
}

void ReportNoMemory(const TaskScheduler &scheduler, const char *what) noexcept {
    ReportFatal(Gate::OptionsOf(scheduler), ReportCode::OutOfMemory, "Give it more memory.", "%s",
                what);
}

bool MayCall(const TaskScheduler &scheduler, const char *call) noexcept {
    return !IsRefusedInMemoryHook(Gate::OptionsOf(scheduler), call);
}

Memory MemoryOf(const TaskScheduler &scheduler) noexcept {
    return Memory(Gate::OptionsOf(scheduler).memory);
}

}  // namespace weft::internal
