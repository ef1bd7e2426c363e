// The calls of a script about tasks and counters.
#include "fuzz/script.h"

#include "fuzz/shared.h"

#include <cfenv>

namespace fuzz {

using namespace weft;

namespace {

void Yielding(TaskScheduler *scheduler, void *cell) {
    scheduler->Yield();
    Leaf(scheduler, cell);
}

void Throwing(TaskScheduler *, void *cell) {
    static_cast<Cell *>(cell)->ran.fetch_add(1);
    static_cast<Cell *>(cell)->world->oracle.willThrow.fetch_add(1);
    throw 1;
}

void Bending(TaskScheduler *, void *cell) {
    static_cast<Cell *>(cell)->ran.fetch_add(1);
    static_cast<Cell *>(cell)->world->oracle.willBend.fetch_add(1);
    std::fesetround(FE_UPWARD);
}

}  // namespace

void ParentTask(TaskScheduler *scheduler, void *arg) {
    Cell *const cell = static_cast<Cell *>(arg);
    Cell *const first = static_cast<Cell *>(cell->target);
    std::vector<Task> children;
    for (Cell *each = first; each != cell; ++each) children.push_back({Leaf, each});
    const uint32_t half = static_cast<uint32_t>(children.size() / 2);
    scheduler->AddChildTasks(half, children.data(), cell->options);
    if (half % 3 == 1) scheduler->Yield();
    scheduler->AddChildTasks(static_cast<uint32_t>(children.size()) - half, children.data() + half,
                             cell->options);
    Leaf(scheduler, arg);
}

Script::Script(World &world, TaskScheduler &scheduler, Caller caller, Bytes bytes, uint32_t depth,
               bool mayWait, const Cell *cell)
    : m_world(world),
      m_scheduler(scheduler),
      m_caller(caller),
      m_bytes(bytes),
      m_depth(depth),
      m_mayWait(mayWait),
      m_cell(cell),
      m_account(world.NewAccount()) {}

TaskOptions Script::Options() {
    const uint32_t byte = m_bytes.Next();
    TaskOptions options;
    options.priority = static_cast<Priority>(byte % 3);
    if ((byte & 32) != 0 && m_world.options.workers != 0)
        options.worker = (byte >> 6) % m_world.options.workers;
    if ((byte & 32) != 0 && m_caller == Caller::Attached)
        options.worker = m_scheduler.CurrentWorker();
    options.name = "fuzz";
    if (options.worker == kAnyWorker) options.group = m_world.Group(byte >> 6);
    return options;
}

// Notes that a task of this script is submitted with these options, without a mistake.
void Script::Accept(Cell &cell, const TaskOptions &options) const {
    cell.accepted = true;
    cell.group = options.group;
    if (cell.group == kAnyGroup && m_cell != nullptr) cell.group = m_cell->group;
    cell.mayRunAnywhere = options.worker != kAnyWorker;
}

Counter *Script::SomeCounter() {
    const uint32_t which = m_bytes.Below(Account::kCounters + 1);
    return which == Account::kCounters ? nullptr : &m_account.counters[which];
}

void Script::Submit() {
    const uint32_t count = m_bytes.Below(48);
    Cell *cells = m_world.NewCells(count);
    if (cells == nullptr) return;
    Counter *counter = SomeCounter();
    const TaskOptions options = Options();
    Task tasks[48];
    for (uint32_t i = 0; i < count; ++i) {
        Accept(cells[i], options);
        tasks[i] = {i % 16 == 15 ? Yielding : Leaf, &cells[i]};
    }
    if (count == 1) {
        m_scheduler.AddTask(tasks[0], counter, options);
    } else {
        m_scheduler.AddTasks(count, tasks, counter, options);
    }
}

void Script::SubmitAndWait() {
    const uint32_t count = m_bytes.Below(40);
    Cell *cells = m_mayWait ? m_world.NewCells(count) : nullptr;
    if (cells == nullptr) return;
    Task tasks[40];
    const TaskOptions options = Options();
    for (uint32_t i = 0; i < count; ++i) {
        Accept(cells[i], options);
        tasks[i] = {Leaf, &cells[i]};
    }
    m_scheduler.AddTasksAndWait(count, tasks, options);
    for (uint32_t i = 0; i < count; ++i)
        Require(cells[i].ran.load() == 1, "AddTasksAndWait returned too early");
}

void Script::SubmitScript() {
    Cell *cell = m_depth < 4 ? m_world.NewCells(1) : nullptr;
    const Bytes bytes = m_bytes.Split(m_bytes.Below(64));
    if (cell == nullptr) return;
    cell->bytes = bytes;
    cell->depth = m_depth + 1;
    Counter *counter = SomeCounter();
    const TaskOptions options = Options();
    Accept(*cell, options);
    m_scheduler.AddTask({ScriptTask, cell}, counter, options);
}

void Script::SubmitStrange() {
    Cell *cell = m_world.NewCells(1);
    if (cell == nullptr) return;
    cell->accepted = true;
    Counter *counter = SomeCounter();
    m_scheduler.AddTask({m_bytes.Below(2) == 0 ? Throwing : Bending, cell}, counter, Options());
}

// Decrements the counter by what the script has incremented it.
void Script::Settle(uint32_t counter) {
    uint32_t &byHand = m_account.byHand[counter];
    if (byHand != 0) m_scheduler.DecrementCounter(&m_account.counters[counter], byHand);
    byHand = 0;
}

// Called before a wait for the tasks of `counter`: some of them may follow tasks of earlier
// counters.
void Script::SettleBefore(uint32_t counter) {
    for (uint32_t i = 0; i < counter; ++i) {
        if (m_account.isFollowed[i]) Settle(i);
    }
}

// A task with child tasks, which may be pinned.
void Script::SubmitParent() {
    const uint32_t count = m_bytes.Below(20), which = m_bytes.Below(Account::kCounters);
    Cell *cells = m_world.NewCells(count + 1);
    if (cells == nullptr) return;
    const TaskOptions ofChildren = Options(), options = Options();
    Cell &parent = cells[count];
    Accept(parent, options);
    for (uint32_t i = 0; i < count; ++i) {
        Accept(cells[i], ofChildren);
        if (ofChildren.group == kAnyGroup) cells[i].group = parent.group;
    }
    parent.target = cells;
    parent.options = ofChildren;
    m_account.mayRise[which] = true;
    m_scheduler.AddTask({ParentTask, &parent}, &m_account.counters[which], options);
}

void Script::Wait() {
    if (!m_mayWait) return;
    const uint32_t which = m_bytes.Below(Account::kCounters), value = m_bytes.Below(4);
    Counter &counter = m_account.counters[which];
    if (m_account.byHand[which] > value) Settle(which);
    SettleBefore(which);
    const bool same = m_caller != Caller::External && m_bytes.Below(2) != 0;
    const uint32_t before = m_scheduler.CurrentWorker();
    m_scheduler.WaitForCounter(&counter, value, same ? ResumeOn::SameWorker : ResumeOn::AnyWorker);
    Require(counter.Value() <= value || m_account.mayRise[which],
            "a counter is above what was waited for");
    if (same)
        Require(m_scheduler.CurrentWorker() == before, "ResumeOn::SameWorker went on elsewhere");
}

void Script::WaitForSeveral() {
    const uint32_t how = m_bytes.Below(3);
    if (!m_mayWait || (how == 2 && m_depth != 0)) return;
    Counter *all[Account::kCounters];
    for (uint32_t i = 0; i < Account::kCounters; ++i) all[i] = &m_account.counters[i];
    if (how == 0) {
        const uint32_t settled = m_bytes.Below(Account::kCounters);
        Settle(settled);
        SettleBefore(settled);
        const uint32_t first = m_scheduler.WaitForAny(Account::kCounters, all);
        Require(first < Account::kCounters && all[first]->IsZero(),
                "WaitForAny named a counter that is not zero");
    } else if (how == 1) {
        for (uint32_t i = 0; i < Account::kCounters; ++i) Settle(i);
        m_scheduler.WaitForAll(Account::kCounters, all);
        for (const Counter *counter : all)
            Require(counter->IsZero(), "WaitForAll returned too early");
    } else {
        SettleBefore(Account::kCounters);
        m_scheduler.WaitIdle();
    }
}

void Script::ByHand() {
    const uint32_t which = m_bytes.Below(Account::kCounters), n = m_bytes.Next();
    uint32_t &byHand = m_account.byHand[which];
    if (n < 128) {
        m_scheduler.IncrementCounter(&m_account.counters[which], n);
        byHand += n;
    } else if (n - 128 <= byHand) {
        m_scheduler.DecrementCounter(&m_account.counters[which], n - 128);
        byHand -= n - 128;
    }
    Require(m_account.counters[which].Value() >= byHand,
            "a counter is below what was added by hand");
}

void Script::Poll() {
    const uint32_t which = m_bytes.Below(Account::kCounters), value = m_bytes.Below(3);
    const bool satisfied = m_scheduler.PollCounter(&m_account.counters[which], value);
    Require(!satisfied || m_account.byHand[which] <= value,
            "a poll says that more is done than can be");
}

void Script::GiveWay() {
    if (m_caller == Caller::External) return std::this_thread::yield();
    if (m_bytes.Below(2) == 0) {
        m_scheduler.Yield();
    } else {
        m_scheduler.RunPinnedTasks(m_bytes.Below(4));
    }
}

// For the other scheduler the caller is an external thread that blocks.
void Script::UseOther() {
    Cell *cells = m_world.other != nullptr ? m_world.NewCells(4) : nullptr;
    if (cells == nullptr) return;
    TaskScheduler &other = *m_world.other;
    Task tasks[4];
    for (uint32_t i = 0; i < 4; ++i) {
        cells[i].accepted = true;
        tasks[i] = {Leaf, &cells[i]};
    }
    Counter counter;
    other.AddTasks(2, tasks, &counter);
    other.AddTasksAndWait(2, tasks + 2);
    other.WaitForCounter(&counter);
    for (uint32_t i = 0; i < 4; ++i)
        Require(cells[i].ran.load() == 1, "the other one's wait returned too early");
}

void Script::Ask() {
    const uint32_t worker = m_scheduler.CurrentWorker();
    Require((worker == kAnyWorker) == (m_caller == Caller::External), "CurrentWorker");
    Require((m_scheduler.CurrentFiber() == kAnyWorker) == (m_caller == Caller::External),
            "CurrentFiber");
    Require(m_scheduler.WorkerCount() == m_world.options.workers, "WorkerCount");
    Require(TaskScheduler::Current() == (m_caller == Caller::External ? nullptr : &m_scheduler),
            "Current");
    Require(m_world.idle->CurrentWorker() == kAnyWorker, "CurrentWorker of one that does not run");
    if (m_caller == Caller::Task)
        Require(m_scheduler.AttachThread() == Status::AlreadyRunning, "AttachThread of a task");
}

void Script::StartThread() {
    const uint32_t kind = m_bytes.Below(3);
    const Bytes bytes = m_bytes.Split(m_bytes.Below(32));
    // Only the host's script does this: it waits for its threads before it ends the run. Tasks may
    // be the last users of the run, so they must not.
    if (m_depth == 0) m_world.StartThread(m_scheduler, bytes, kind != 0, kind == 2);
}

void Script::SetWorkers() {
    const uint32_t workers = m_world.options.workers;
    if (workers != 0) m_scheduler.SetActiveWorkers(1 + m_bytes.Below(workers));
}

}  // namespace fuzz
