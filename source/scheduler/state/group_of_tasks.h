// What the scheduler does with a TaskGroup (weft/data/task_group.h): a counter whose tasks can be
// skipped. A bit of the counter's word says that it is a group, and so does a bit of each entry. So
// tasks of other counters cost nothing more.
#pragma once

#include "core/counter_word.h"
#include "platform/compiler.h"
#include "scheduler/state/reporting.h"
#include "scheduler/state/worker.h"
#include "weft/data/task_group.h"

namespace weft::internal {

/// Returns the group that this counter is, or null. relaxed: the bit never changes.
inline TaskGroup *GroupOf(Counter *counter) noexcept {
    if (counter == nullptr || !CounterWord{CounterAccess::Word(*counter).load(kRelaxed)}.IsGroup())
        return nullptr;
    return TaskGroupAccess::Of(counter);
}

/// Returns the group of these tasks, or null.
inline TaskGroup *GroupOf(const TasksOf &of) noexcept {
    return WEFT_UNLIKELY(of.IsOfGroup()) ? TaskGroupAccess::Of(of.TheCounter()) : nullptr;
}

/// Sets `counter` to that of TaskOptions::taskGroup, if there is a group. Returns false, after a
/// report, if another counter is to count the tasks, too.
inline bool CountInGroup(const SchedulerOptions &schedulerOptions, const TaskOptions &options,
                         Counter *&counter) noexcept {
    if (WEFT_LIKELY(options.taskGroup == nullptr)) return true;
    Counter *const its = TaskGroupAccess::CounterOf(options.taskGroup);
    if (counter == nullptr || counter == its) {
        counter = its;
        return true;
    }
    ReportMistake(schedulerOptions, ReportCode::BadOption,
                  "Name either a counter or a group; the group counts its tasks.",
                  "TaskOptions::taskGroup and a counter are both given");
    return false;
}

/// What counts the tasks, after CountInGroup has set `counter`. `worker`: the caller's, or null.
inline TasksOf TasksWith(const Worker *worker, Counter *counter,
                         const TaskOptions &options) noexcept {
    const uint32_t scope = worker != nullptr ? worker->current->scope : 0;
    return {counter, options.name, options.taskGroup != nullptr, static_cast<uint16_t>(scope)};
}

}  // namespace weft::internal
