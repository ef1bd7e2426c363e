// Counts the ExternalWork of a scheduler. While the count is not zero, no stall is reported.
#include "weft/external_work.h"

#include "scheduler/api/caller.h"

namespace weft {

using namespace internal;

namespace {

// Replaces one of the names. relaxed: a name is only printed.
void ReplaceName(TaskScheduler &scheduler, const char *from, const char *to) noexcept {
    for (std::atomic<const char *> &name : EntryGate::StateOf(scheduler).outsideNames) {
        const char *expected = from;
        if (name.compare_exchange_strong(expected, to, kRelaxed)) return;
    }
}

}  // namespace

// relaxed: a worker whose task waits for this work becomes idle later. The check for a stall sees
// that, and so this increment (diagnose/stall.cpp).
void ExternalWork::Begin(TaskScheduler &scheduler, const char *name) noexcept {
    if (name != nullptr) ReplaceName(scheduler, nullptr, name);
    EntryGate::StateOf(scheduler).outside.fetch_add(1, kRelaxed);
}

// release: a worker that sees this decrement also sees that the waiter's worker was woken.
void ExternalWork::End(TaskScheduler &scheduler, const char *name) noexcept {
    if (name != nullptr) ReplaceName(scheduler, name, nullptr);
    EntryGate::StateOf(scheduler).outside.fetch_sub(1, kRelease);
}

void internal::WaitForCall(TaskScheduler &scheduler, Counter &counter, bool isOperation) noexcept {
    Worker *const worker = WorkerOf(scheduler);
    if (worker == nullptr) return scheduler.WaitForCounter(&counter);
    const WaitKind kind = isOperation ? WaitKind::Operation : WaitKind::Call;
    if (MayWait(worker, "WaitForCounter")) Wait(*worker, {counter, 0, Timers::kNever, kind});
}

}  // namespace weft
