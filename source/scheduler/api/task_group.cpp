// The tree of task groups.
//
// The lock of the topmost group protects the links of all groups below it. It is held for a few
// instructions, but by Cancel for as long as it takes to cancel the groups below. So a child group
// is not destroyed while Cancel uses it. A decrement under the lock wakes waiters, and runs none of
// them. Only constructors, destructors and Cancel take the lock.
#include "weft/data/task_group.h"

#include "core/counter_word.h"
#include "platform/backoff.h"
#include "platform/compiler.h"
#include "scheduler/api/internal_api.h"
#include "scheduler/state/entry_gate.h"
#include "scheduler/state/reporting.h"
#include "scheduler/wait/deferred.h"

namespace weft {

using namespace internal;

namespace {

class Held {
public:
    explicit Held(WEFT_ATOMIC<bool> &isLocked) noexcept : m_isLocked(isLocked) {
        // acquire: comes after what the last holder did.
        for (Backoff backoff; m_isLocked.exchange(true, kAcquire); backoff.Next()) {
        }
    }
    // release: comes before what the next holder does.
    ~Held() { m_isLocked.store(false, kRelease); }
    Held(const Held &) = delete;
    Held &operator=(const Held &) = delete;

private:
    WEFT_ATOMIC<bool> &m_isLocked;
};

// A task of the group is pending, so the scheduler runs.
void WithdrawDeferred(TaskScheduler &scheduler, const Counter *group) noexcept {
    if (group->IsZero()) return;
    const Caller caller(scheduler, "TaskGroup::Cancel");
    if (caller.Running() != nullptr)
        WithdrawBatchesOf(*caller.Running(), caller.TheWorker(), group);
}

}  // namespace

TaskGroup::TaskGroup(TaskScheduler &scheduler, TaskGroup *parent) noexcept
    : m_scheduler(&scheduler),
      m_source(scheduler),
      m_parent(parent),
      m_top(parent != nullptr ? parent->m_top : this) {
    // relaxed: the group is not shared yet
    CounterAccess::Word(*this).store(CounterWord::kGroup, kRelaxed);
    if (parent == nullptr) return;
    const Held held(m_top->m_isLocked);
    m_link = &parent->m_firstChild;
    m_nextSibling = parent->m_firstChild;
    if (m_nextSibling != nullptr) m_nextSibling->m_link = &m_nextSibling;
    parent->m_firstChild = this;
    if (parent->IsCancelled()) m_source.Cancel();
}

TaskGroup::~TaskGroup() {
    if (!IsZero()) {
        ReportMistake(EntryGate::OptionsOf(*m_scheduler), ReportCode::DestroyedInUse,
                      "Wait for the group first.",
                      "a TaskGroup was destroyed while %u of its tasks were pending", Value());
        m_scheduler->WaitForCounter(this);
    }
    if (m_parent == nullptr) return;
    const Held held(m_top->m_isLocked);
    *m_link = m_nextSibling;
    if (m_nextSibling != nullptr) m_nextSibling->m_link = m_link;
}

// Goes through the groups below in depth-first order, without recursion.
void TaskGroup::Cancel() noexcept {
    m_source.Cancel();
    WithdrawDeferred(*m_scheduler, this);
    const Held held(m_top->m_isLocked);
    for (TaskGroup *group = m_firstChild; group != nullptr;) {
        group->m_source.Cancel();
        WithdrawDeferred(*m_scheduler, group);
        if (group->m_firstChild != nullptr) {
            group = group->m_firstChild;
            continue;
        }
        while (group != this && group->m_nextSibling == nullptr) group = group->m_parent;
        group = group != this ? group->m_nextSibling : nullptr;
    }
}

}  // namespace weft
