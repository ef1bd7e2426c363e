// The tree of task groups.
//
// The lock of the topmost group protects the links and the number of visitors of all groups below
// it. It is held for a few instructions, and not while Cancel calls the scheduler. A group that
// Cancel visits stays in the tree, because its destructor waits for the visitors.
#include "weft/data/task_group.h"

#include "core/counter_word.h"
#include "platform/backoff.h"
#include "scheduler/api/internal_api.h"
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
    if (parent->IsCancelled()) TaskGroupAccess::CancelNew(*this);
}

TaskGroup::~TaskGroup() {
    const SchedulerOptions &options = EntryGate::OptionsOf(*m_scheduler);
    if (!IsZero()) {
        ReportMistake(options, ReportCode::DestroyedInUse, "Wait for the group first.",
                      "a TaskGroup was destroyed while %u of its tasks were pending", Value());
        m_scheduler->WaitForCounter(this);
        // The wait may be refused, for example because the run is ending. acquire: see Life.
        const auto &life = EntryGate::StateOf(*m_scheduler).life;
        const bool isWorker = WorkerOf(*m_scheduler) != nullptr;
        for (Backoff backoff; !isWorker && !IsZero() && life.load(kAcquire) != Life::Idle;)
            backoff.Next();
    }
    if (m_firstChild != nullptr)
        ReportFatal(options, ReportCode::DestroyedInUse,
                    "Destroy child groups before their parent.",
                    "a TaskGroup was destroyed before its child group");
    if (m_parent == nullptr) return;
    for (Backoff backoff;; backoff.Next()) {
        const Held held(m_top->m_isLocked);
        if (m_visitors != 0) continue;
        *m_link = m_nextSibling;
        if (m_nextSibling != nullptr) m_nextSibling->m_link = m_link;
        return;
    }
}

void TaskGroupAccess::CancelNew(TaskGroup &group) noexcept {
    // relaxed, both: the group is not shared yet
    group.m_source.m_isCancelled.store(true, kRelaxed);
    CounterAccess::Word(group.m_source.m_running).store(0, kRelaxed);
}

// Goes through the groups below in depth-first order, without recursion. A group that is made
// meanwhile sees that its parent is cancelled.
void TaskGroup::Cancel() noexcept {
    if (!MayCall(*m_scheduler, "TaskGroup::Cancel")) return;
    TaskGroup *visited = this;
    while (visited != nullptr) {
        visited->m_source.Cancel();
        WithdrawDeferred(*visited->m_scheduler, visited);
        const Held held(m_top->m_isLocked);
        TaskGroup *next = visited->m_firstChild;
        for (TaskGroup *group = visited; next == nullptr && group != this; group = group->m_parent)
            next = group->m_nextSibling;
        if (next != nullptr) ++next->m_visitors;
        if (visited != this) --visited->m_visitors;
        visited = next;
    }
}

}  // namespace weft
