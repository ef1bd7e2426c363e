// Deferred tasks, which follow a counter or begin at a time.
#include "weft/deferred.h"

#include "fuzz/script.h"

namespace fuzz {

using namespace weft;

namespace {

// A task that follows others. The cells of these tasks lie before its own cell.
void Following(TaskScheduler *scheduler, void *arg) {
    Cell *const cell = static_cast<Cell *>(arg);
    const Cell *const first = static_cast<Cell *>(cell->target);
    uint32_t unfinished = 0;
    for (const Cell *each = first; each != cell; ++each)
        unfinished += each->ran.load() == 0 ? 1 : 0;
    Require(unfinished <= cell->maxUnfinished,
            "a task began before those that it follows had finished");
    Leaf(scheduler, arg);
}

}  // namespace

Cell *Script::AddHelpers(uint32_t count, TaskFunction function, void *target, Counter *counter) {
    Cell *cells = m_world.NewCells(count);
    if (cells == nullptr) return nullptr;
    const TaskOptions options = Options();
    for (uint32_t i = 0; i < count; ++i) {
        Accept(cells[i], options);
        cells[i].target = target;
        m_scheduler.AddTask({function, &cells[i]}, counter, options);
    }
    return cells;
}

// A deferred task that follows a counter of the script is counted by a later counter of the script,
// so no task waits for itself.
void Script::SubmitAfter() {
    const uint32_t which = m_bytes.Below(Account::kCounters), value = m_bytes.Below(4);
    const uint32_t later = which + 1 + m_bytes.Below(Account::kCounters - which);
    Cell *cell = m_world.NewCells(1);
    if (cell == nullptr) return;
    m_account.isFollowed[which] = true;
    Counter *counter = later < Account::kCounters ? &m_account.counters[later] : nullptr;
    const TaskOptions options = Options();
    Accept(*cell, options);
    // both ways begin the task at the same time
    const CounterTarget both[] = {{&m_account.counters[which], value + 1},
                                  {&m_account.counters[which], value}};
    if (value % 2 != 0) {
        AddTaskAfter(m_scheduler, 2, both, {Leaf, cell}, counter, options);
    } else {
        AddTaskAfter(m_scheduler, both[1].counter, value, {Leaf, cell}, counter, options);
    }
}

void Script::SubmitChain() {
    const uint32_t count = m_bytes.Below(12), how = m_bytes.Below(8), value = how % 4;
    const bool stays =
        how >= 4;  // the counter stays at `value`, by which the script has incremented it
    Counter *counter = SomeCounter();
    Cell *cells = m_world.NewCells(count + 1);
    if (cells == nullptr) return;
    Cell &last = cells[count];
    const TaskOptions options = Options();
    if (stays) m_scheduler.IncrementCounter(&last.before, value);
    for (uint32_t i = 0; i < count; ++i) {
        Accept(cells[i], options);
        m_scheduler.AddTask({Leaf, &cells[i]}, &last.before, options);
    }
    const TaskOptions ofLast = Options();
    Accept(last, ofLast);
    last.target = cells;
    last.maxUnfinished = stays ? 0 : value;
    AddTaskAfter(m_scheduler, &last.before, value, {Following, &last}, counter, ofLast);
}

void Script::SubmitAt() {
    Cell *cell = m_world.NewCells(1);
    if (cell == nullptr) return;
    Counter *counter = SomeCounter();
    const Clock::time_point time = Soon();
    const TaskOptions options = Options();
    Accept(*cell, options);
    AddTaskAt(m_scheduler, time, {Leaf, cell}, counter, options);
}

}  // namespace fuzz
