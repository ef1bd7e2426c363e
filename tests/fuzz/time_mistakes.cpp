// Mistakes with deadlines and deferred tasks. Each must be reported once, with its code, and have
// no effect.
#include "fuzz/script.h"
#include "weft/deferred.h"

namespace fuzz {

using namespace weft;

namespace {

constexpr std::chrono::milliseconds kLong{20};  // compared to the duration of a refused call

}  // namespace

void Script::MistakeInTime() {
    Counter own(1);
    const uint32_t kind = m_bytes.Below(m_world.other != nullptr ? 6 : 4);
    const ReportCode code = kind < 2   ? ReportCode::NullCounter
                            : kind < 4 ? ReportCode::NotRunning
                                       : ReportCode::WrongScheduler;
    TaskScheduler &by = kind < 2 || kind > 3 ? m_scheduler : *m_world.idle;
    Counter *const counter = kind < 2 ? nullptr : kind < 4 ? &own : &m_world.held;
    const uint32_t value = kind < 4 ? 0 : m_bytes.Below(3);
    m_world.oracle.Expect(code, [&] {
        const bool inTime = kind % 2 == 0 ? WaitForCounterUntil(by, counter, Now() + kLong, value)
                                          : WaitForCounterFor(by, counter, kLong, value);
        Require(!inTime, "a refused wait says that the counter was there");
    });
    Require(own.Value() == 1 && (kind < 4 || m_world.held.Value() == 3),
            "a refused wait has changed a counter");
}

void Script::MistakeInDeferred() {
    Cell *cell = m_world.NewCells(1);
    if (cell == nullptr) return;
    TaskOptions options = Options();
    const bool isTimed = m_bytes.Below(2) != 0;
    const uint32_t kind = m_bytes.Below(m_world.other != nullptr ? 8 : 6);
    Task task{Leaf, cell};
    Counter zero, one(1), full(~0u);
    Counter *after = m_bytes.Below(2) != 0 ? &zero : &one;
    Counter *counter = SomeCounter();
    TaskScheduler *by = &m_scheduler;
    ReportCode code = ReportCode::BadOption;
    if (kind == 0) task.function = nullptr, code = ReportCode::NullTask;
    if (kind == 1) options.priority = static_cast<Priority>(3 + m_bytes.Below(253));
    // There are never so many attached threads.
    if (kind == 2) options.worker = m_world.options.workers + m_world.options.maxAttached - 1;
    if (kind == 3) by = m_world.idle.get(), code = ReportCode::NotRunning;
    if (kind == 4) counter = &full, code = ReportCode::CounterOverflow;
    if (kind == 5) after = nullptr, code = ReportCode::NullCounter;
    if (kind == 6) counter = &m_world.held, code = ReportCode::WrongScheduler;
    if (kind == 7) after = &m_world.held, code = ReportCode::WrongScheduler;
    if (isTimed && (kind == 5 || kind == 7)) return;
    if (kind == 2 && m_world.options.workers == 0) options = {Priority::Normal, options.worker};
    m_world.oracle.Expect(code, [&] {
        if (isTimed) {
            AddTaskAt(*by, Soon(), task, counter, options);
        } else {
            AddTaskAfter(*by, after, 0, task, counter, options);
        }
    });
    Require(zero.IsZero() && one.Value() == 1 && full.Value() == ~0u,
            "a refused task has changed a counter");
}

}  // namespace fuzz
