#include "weft/external_work.h"

#include "scheduler/state/entry_gate.h"

namespace weft {

using namespace internal;

// relaxed: whoever waits for this work announces afterwards that its worker sleeps, and the last to
// do so, who looks, has read that (acquire).
void ExternalWork::Begin(TaskScheduler &scheduler) noexcept {
    EntryGate::StateOf(scheduler).outside.fetch_add(1, kRelaxed);
}

// release: who finds it gone finds the worker awake that was woken for whoever waited.
void ExternalWork::End(TaskScheduler &scheduler) noexcept {
    EntryGate::StateOf(scheduler).outside.fetch_sub(1, kRelease);
}

}  // namespace weft
