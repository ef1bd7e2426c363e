// Takes a thread that reports out of the calls that it is in, and brings it back (reporting.h).
#include "scheduler/state/external_call.h"
#include "scheduler/wait/external.h"

namespace weft::internal {

void ExternalCall::Leave() noexcept {
    if (running == nullptr) return;
    BecomeGuest(*running);
    visit.GoOut();
}

void ExternalCall::Return() noexcept {
    if (running == nullptr) return;
    visit.ComeBack();
    CeaseGuest(*running);
}

void LeaveCalls(ExternalCall *innermost) noexcept {
    for (ExternalCall *call = innermost; call != nullptr; call = call->Outer()) call->Leave();
}

void ReturnToCalls(ExternalCall *innermost) noexcept {
    for (ExternalCall *call = innermost; call != nullptr; call = call->Outer()) call->Return();
}

}  // namespace weft::internal
