// Plays a script: its bytes choose the calls.
#include "fuzz/script.h"
#include "fuzz/shared.h"

#include <iterator>

namespace fuzz {

using namespace weft;

void Script::Play() {
    const FiberLocal<const Script *>::Scope scope(m_world.shared->script, this);
    while (!m_bytes.IsEmpty()) Call();
    for (uint32_t i = 0; i < Account::kCounters; ++i) {
        Settle(i);
        if (!m_mayWait) continue;
        m_scheduler.WaitForCounter(&m_account.counters[i]);
        Require(m_account.counters[i].IsZero(), "a counter is not zero after the wait for it");
    }
}

// Each byte chooses a kind of call. Bytes below kFirstLater choose the first kinds. Kinds that were
// added later have the bytes after those. The newest kinds have bytes that chose other kinds
// before; inputs of the corpus with these bytes were rewritten.
void Script::Call() {
    constexpr uint32_t kFirstLater = 132, kFirstNewer = 225, kFirstNewest = 241;
    const uint32_t byte = m_bytes.Next();
    if (byte < kFirstLater) {
        CallPlain(byte);
    } else if (byte < kFirstNewer) {
        CallLater(byte - kFirstLater);
    } else if (byte < kFirstNewest) {
        CallNewer(byte - kFirstNewer);
    } else {
        CallNewest(byte - kFirstNewest);
    }
    if (m_cell != nullptr && !m_cell->mayRunAnywhere)
        m_world.CheckPlace(m_scheduler, m_cell->group);
    const Script *const *const mine = m_world.shared->script.Get();
    Require((mine == nullptr) == (m_caller == Caller::External), "FiberLocal of this thread");
    Require(mine == nullptr || *mine == this, "FiberLocal is somebody else's");
}

template <size_t kCount>
void Script::CallOneOf(const Kind (&kinds)[kCount], uint32_t number) {
    (this->*kinds[number % kCount])();
}

void Script::CallPlain(uint32_t kind) {
    static constexpr Kind kKinds[] = {
        &Script::Submit,
        &Script::SubmitAndWait,
        &Script::SubmitScript,
        &Script::SubmitStrange,
        &Script::Wait,
        &Script::WaitForSeveral,
        &Script::ByHand,
        &Script::Poll,
        &Script::GiveWay,
        &Script::UseOther,
        &Script::Ask,
        &Script::StartThread,
        &Script::SetWorkers,
        &Script::MistakeInTasks,
        &Script::MistakeInOptions,
        &Script::MistakeInCounters,
        &Script::MistakeWithCounts,
        &Script::MistakeOfThread,
        &Script::MistakeWhileIdle,
        &Script::MistakeWithOther,
        &Script::MistakeInLife,
        &Script::MistakeAtStart,
    };
    CallOneOf(kKinds, kind);
}

void Script::CallLater(uint32_t kind) {
    static constexpr Kind kKinds[] = {
        &Script::WaitInTime,
        &Script::Sleep,
        &Script::SubmitAfter,
        &Script::SubmitChain,
        &Script::SubmitAt,
        &Script::UseMutex,
        &Script::UnlockElsewhere,
        &Script::UseSharedMutex,
        &Script::UseCondition,
        &Script::UseSemaphore,
        &Script::UseEvent,
        &Script::UseOwnEvent,
        &Script::UseLatch,
        &Script::UseWaitGroup,
        &Script::UseTickets,
        &Script::Block,
        &Script::BlockApart,
        &Script::Loop,
        &Script::Reduce,
        &Script::Cancel,
        &Script::PostJobs,
        &Script::UseLocals,
        &Script::Rethrow,
        &Script::MistakeInTime,
        &Script::MistakeInDeferred,
        &Script::MistakeInLocks,
        &Script::MistakeInSignals,
        &Script::MistakeInSyncOfIdle,
        &Script::MistakeInBlocking,
        &Script::MistakeInCancel,
        &Script::MistakeInJobs,
    };
    CallOneOf(kKinds, kind);
}

void Script::CallNewer(uint32_t kind) {
    static constexpr Kind kKinds[] = {
        &Script::UseCoroutines,   &Script::UseFrames,       &Script::UseMemory,
        &Script::MistakeInFrames, &Script::MistakeInMemory, &Script::MistakeInJobOptions,
        &Script::SubmitParent,    &Script::MistakeInGroups,
    };
    CallOneOf(kKinds, kind);
}

void Script::CallNewest(uint32_t kind) {
    static constexpr Kind kKinds[] = {
        &Script::UseGroup,   &Script::UseGroupTree,  &Script::WithdrawTasks,
        &Script::RepeatTask, &Script::UseResult,     &Script::UseWhen,
        &Script::RunGraph,   &Script::RunConditions, &Script::InvokeSeveral,
        &Script::VisitEach,  &Script::PassThrough,   &Script::Sort,
        &Script::Scan,       &Script::WaitForFirst,  &Script::MistakeInNewest,
    };
    CallOneOf(kKinds, kind);
}

void Script::MistakeInNewest() {
    static constexpr Kind kKinds[] = {
        &Script::MistakeInTaskGroups, &Script::MistakeInWithdrawn, &Script::MistakeInResults,
        &Script::MistakeInGraphs,     &Script::MistakeInFlows,     &Script::MistakeInSorts,
        &Script::MistakeInFirst,
    };
    CallOneOf(kKinds, m_bytes.Below(static_cast<uint32_t>(std::size(kKinds))));
}

}  // namespace fuzz
