// The functions of weft.h that wait, change counters, or concern the running task.
#include "c/convert.h"

#include <new>

namespace weft::internal {

namespace {

// Returns false, after a report, if an argument is none of the named numbers. The C++ interface has
// types for them and does not check them.
bool IsNamed(const TaskScheduler &scheduler, uint8_t given, uint8_t last,
             const char *what) noexcept {
    if (given <= last) return true;
    ReportMisuse(scheduler, ReportCode::BadOption, "Give one of the numbers that weft.h names.",
                 what);
    return false;
}

}  // namespace

}  // namespace weft::internal

void weft_counter_init(weft_counter *counter, uint32_t value) noexcept {
    new (counter) weft::Counter(value);
}

uint32_t weft_counter_value(const weft_counter *counter) noexcept {
    return weft::internal::ToCounter(counter)->Value();
}

void weft_wait_for_counter(weft_scheduler *scheduler, weft_counter *counter,
                           uint32_t value) noexcept {
    scheduler->WaitForCounter(weft::internal::ToCounter(counter), value);
}

void weft_wait_for_counter_on(weft_scheduler *scheduler, weft_counter *counter, uint32_t value,
                              weft_resume_on resume) noexcept {
    if (!weft::internal::IsNamed(*scheduler, resume, WEFT_RESUME_ON_SAME_WORKER,
                                 "weft_wait_for_counter_on: `resume` is out of range"))
        return;
    scheduler->WaitForCounter(weft::internal::ToCounter(counter), value,
                              static_cast<weft::ResumeOn>(resume));
}

void weft_wait_for_counter_meanwhile(weft_scheduler *scheduler, weft_counter *counter,
                                     uint32_t value, weft_meanwhile meanwhile) noexcept {
    if (!weft::internal::IsNamed(*scheduler, meanwhile, WEFT_MEANWHILE_NOTHING,
                                 "weft_wait_for_counter_meanwhile: `meanwhile` is out of range"))
        return;
    scheduler->WaitForCounter(weft::internal::ToCounter(counter),
                              static_cast<weft::Meanwhile>(meanwhile), value);
}

bool weft_wait_for_counter_until(weft_scheduler *scheduler, weft_counter *counter, uint32_t value,
                                 uint64_t deadline, weft_meanwhile meanwhile) noexcept {
    return weft::internal::IsNamed(*scheduler, meanwhile, WEFT_MEANWHILE_NOTHING,
                                   "weft_wait_for_counter_until: `meanwhile` is out of range") &&
           weft::WaitForCounterUntil(*scheduler, weft::internal::ToCounter(counter),
                                     weft::internal::ToTime(deadline),
                                     static_cast<weft::Meanwhile>(meanwhile), value);
}

void weft_wait_for_all(weft_scheduler *scheduler, uint32_t count,
                       weft_counter *const *counters) noexcept {
    scheduler->WaitForAll(count, weft::internal::ToCounters(counters));
}

uint32_t weft_wait_for_any(weft_scheduler *scheduler, uint32_t count,
                           weft_counter *const *counters) noexcept {
    return scheduler->WaitForAny(count, weft::internal::ToCounters(counters));
}

uint32_t weft_wait_for_any_until(weft_scheduler *scheduler, uint32_t count,
                                 weft_counter *const *counters, uint64_t deadline) noexcept {
    return weft::WaitForAnyUntil(*scheduler, count, weft::internal::ToCounters(counters),
                                 weft::internal::ToTime(deadline));
}

void weft_wait_idle(weft_scheduler *scheduler) noexcept { scheduler->WaitIdle(); }

bool weft_poll_counter(weft_scheduler *scheduler, weft_counter *counter, uint32_t value) noexcept {
    return scheduler->PollCounter(weft::internal::ToCounter(counter), value);
}

bool weft_increment_counter(weft_scheduler *scheduler, weft_counter *counter, uint32_t n) noexcept {
    return scheduler->IncrementCounter(weft::internal::ToCounter(counter), n);
}

void weft_decrement_counter(weft_scheduler *scheduler, weft_counter *counter, uint32_t n) noexcept {
    scheduler->DecrementCounter(weft::internal::ToCounter(counter), n);
}

uint64_t weft_now(void) noexcept {
    using std::chrono::nanoseconds;
    return static_cast<uint64_t>(
        std::chrono::duration_cast<nanoseconds>(weft::Now().time_since_epoch()).count());
}

void weft_sleep_until(weft_scheduler *scheduler, uint64_t deadline) noexcept {
    weft::SleepUntil(*scheduler, weft::internal::ToTime(deadline));
}

void weft_yield(weft_scheduler *scheduler) noexcept { scheduler->Yield(); }

void weft_set_priority(weft_scheduler *scheduler, weft_priority priority) noexcept {
    scheduler->SetPriority(static_cast<weft::Priority>(priority));
}

uint32_t weft_run_pinned_tasks(weft_scheduler *scheduler, uint32_t max) noexcept {
    return scheduler->RunPinnedTasks(max);
}

void weft_prepare_to_block(weft_scheduler *scheduler) noexcept { scheduler->PrepareToBlock(); }

weft_scheduler *weft_current(void) noexcept { return weft::TaskScheduler::Current(); }

uint32_t weft_current_worker(const weft_scheduler *scheduler) noexcept {
    return scheduler->CurrentWorker();
}

uint32_t weft_current_fiber(const weft_scheduler *scheduler) noexcept {
    return scheduler->CurrentFiber();
}

uint32_t weft_worker_count(const weft_scheduler *scheduler) noexcept {
    return scheduler->WorkerCount();
}
