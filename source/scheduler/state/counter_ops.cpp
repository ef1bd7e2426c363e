// The slow path of incrementing a counter, and the reports if that is refused.
#include "scheduler/state/counter_ops.h"

#include "scheduler/state/reporting.h"

namespace weft::internal {

bool RaiseOrReport(Scheduler &scheduler, Counter &counter, uint32_t n) noexcept {
    switch (scheduler.counters.Add(CounterAccess::Word(counter), n)) {
        case CounterResult::Ok:
            return true;
        case CounterResult::OtherScheduler:
            ReportWrongScheduler(scheduler, "Submission", counter);
            return false;
        default:
            ReportMistake(scheduler.options, ReportCode::CounterOverflow, "Use several counters.",
                          "counter %p would pass 2^32 - 1", static_cast<void *>(&counter));
            return false;
    }
}

}  // namespace weft::internal
