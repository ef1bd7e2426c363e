// What the scheduler does with a TaskGroup (weft/data/task_group.h): a counter whose tasks can be
// skipped. A bit of the counter's word says that the counter is a group, and a bit of each entry of
// a queue says the same of the entry's counter. So tasks of other counters cost nothing more.
#pragma once

#include "core/counter_word.h"
#include "scheduler/state/reporting.h"
#include "weft/data/task_group.h"

namespace weft::internal {

/// Returns the group that this counter is, or null. relaxed: the bit never changes.
inline TaskGroup *GroupOf(Counter *counter) noexcept {
    if (counter == nullptr || !CounterWord{CounterAccess::Word(*counter).load(kRelaxed)}.IsGroup())
        return nullptr;
    return TaskGroupAccess::Of(counter);
}

/// Sets `counter` to that of the group. Returns false, after a report, if another counter is to
/// count the tasks, too.
WEFT_NOINLINE inline bool CountInGroup(const SchedulerOptions &options, TaskGroup &group,
                                       Counter *&counter) noexcept {
    Counter *const its = TaskGroupAccess::CounterOf(&group);
    if (counter == nullptr || counter == its) return counter = its, true;
    ReportMistake(options, ReportCode::BadOption,
                  "Name either a counter or a group; the group counts its tasks.",
                  "TaskOptions::taskGroup and a counter are both given");
    return false;
}

}  // namespace weft::internal
