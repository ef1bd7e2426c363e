// Waits, sleeps and tasks that are cancelled. Cancelled loops are in loops.cpp.
#include "weft/data/cancellation.h"

#include "fuzz/script.h"

namespace fuzz {

using namespace weft;

namespace {

constexpr std::chrono::hours kForEver{10};

void Cancelling(TaskScheduler *scheduler, void *cell) {
    Leaf(scheduler, cell);
    static_cast<CancelSource *>(static_cast<Cell *>(cell)->target)->Cancel();
}

}  // namespace

void Script::Cancel() {
    const uint32_t how = m_bytes.Below(5), count = how / 2;
    if (!m_mayWait) return;
    CancelSource source(m_scheduler);
    const CancelToken token = source.Token();
    Counter cancelling, never(1);
    if (AddHelpers(count, Cancelling, &source, &cancelling) == nullptr) return;
    if (count == 0) source.Cancel();
    if (how % 2 == 0) {
        Require(!WaitForCounterOrCancel(m_scheduler, &never, token),
                "a counter was there that never is");
    } else {
        Require(!SleepUntilOrCancel(m_scheduler, Now() + kForEver, token),
                "a sleep was not cancelled");
    }
    Require(token.IsCancelled() && source.IsCancelled(), "what was cancelled is not");
    m_scheduler.WaitForCounter(&cancelling);
    Require(WaitForCounterOrCancel(m_scheduler, &cancelling, token),
            "a counter at zero is cancelled");
    Require(WaitForCounterOrCancel(m_scheduler, &cancelling, {}),
            "a wait without a source was cancelled");
    Require(SleepUntilOrCancel(m_scheduler, Soon(), {}), "a sleep without a source was cancelled");
    CancelSource other(m_scheduler);
    Require(SleepUntilOrCancel(m_scheduler, Soon(), other.Token()), "nobody has cancelled a sleep");
    Require(!other.IsCancelled(), "nobody has cancelled it");
}

void Script::MistakeInCancel() {
    const uint32_t kind = m_bytes.Below(m_world.other != nullptr ? 5 : 4);
    CancelSource source(kind == 0 ? *m_world.idle : m_scheduler);
    if (kind == 0) {
        m_world.oracle.Expect(ReportCode::NotRunning, [&] { source.Cancel(); });
        Require(source.IsCancelled(), "a source of one that does not run is not cancelled");
        return source.Cancel();
    }
    if (kind == 2) source.Cancel();
    Counter own(1);
    const ReportCode code = kind < 3    ? ReportCode::NullCounter
                            : kind == 3 ? ReportCode::NotRunning
                                        : ReportCode::WrongScheduler;
    m_world.oracle.Expect(code, [&] {
        TaskScheduler &by = kind == 3 ? *m_world.idle : m_scheduler;
        Counter *const counter = kind < 3 ? nullptr : kind == 3 ? &own : &m_world.held;
        Require(!WaitForCounterOrCancel(by, counter, kind < 3 ? source.Token() : CancelToken()),
                "a refused wait says that the counter was there");
    });
}

}  // namespace fuzz
