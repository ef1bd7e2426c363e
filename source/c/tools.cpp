// The functions of weft.h that concern the whole scheduler: active workers, groups, traces,
// statistics, external work.
#include "c/convert.h"
#include "weft/external_work.h"
#include "weft/inspect.h"
#include "weft/trace/marks.h"

void weft_set_active_workers(weft_scheduler *scheduler, uint32_t count) noexcept {
    scheduler->SetActiveWorkers(count);
}

void weft_set_runs_low(weft_scheduler *scheduler, uint32_t group, bool runsLow) noexcept {
    scheduler->SetRunsLow(group, runsLow);
}

void weft_begin_external_work(weft_scheduler *scheduler, const char *name) noexcept {
    weft::ExternalWork::Begin(*scheduler, name);
}

void weft_end_external_work(weft_scheduler *scheduler, const char *name) noexcept {
    weft::ExternalWork::End(*scheduler, name);
}

void weft_mark_frame(weft_scheduler *scheduler, uint32_t frame) noexcept {
    weft::MarkFrame(*scheduler, frame);
}

void weft_name_counter(weft_scheduler *scheduler, const weft_counter *counter,
                       const char *name) noexcept {
    weft::NameCounter(*scheduler, weft::internal::ToCounter(counter), name);
}

void weft_get_statistics(weft_scheduler *scheduler, weft_statistics *statistics,
                         size_t bytes) noexcept {
    const weft::Statistics from = weft::GetStatistics(*scheduler);
    weft_statistics now = {};
    now.submitted = from.total.submitted;
    now.finished = from.total.finished;
    now.inlineRuns = from.total.inlineRuns;
    now.suspensions = from.total.suspensions;
    now.steals = from.total.steals;
    now.sleeps = from.total.sleeps;
    now.wakes = from.total.wakes;
    now.submittedOutside = from.submittedOutside;
    now.pendingTasks = from.pendingTasks;
    now.workers = from.workers;
    now.attachedThreads = from.attachedThreads;
    now.fibers = from.fibers;
    now.fibersInUse = from.fibersInUse;
    now.fibersTouched = from.fibersTouched;
    weft::internal::WriteStruct(now, statistics, bytes);
}
