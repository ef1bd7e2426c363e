// Task groups: tasks that are counted and cancelled together. A task that a group has skipped must
// not run later.
#include "weft/data/task_group.h"

#include "fuzz/script.h"
#include "weft/deferred.h"

#include <optional>

namespace fuzz {

using namespace weft;

namespace {

constexpr std::chrono::hours kForEver{10};

TaskGroup &GroupOf(void *cell) {
    return *static_cast<TaskGroup *>(static_cast<Cell *>(cell)->target);
}

void CancellingGroup(TaskScheduler *scheduler, void *cell) {
    Leaf(scheduler, cell);
    GroupOf(cell).Cancel();
}

void FailingInGroup(TaskScheduler *scheduler, void *cell) {
    Leaf(scheduler, cell);
    throw static_cast<Cell *>(cell);
}

// Makes a group below one that others may cancel at the same time.
void Nesting(TaskScheduler *scheduler, void *cell) {
    TaskGroup &parent = GroupOf(cell);
    const bool wasCancelled = parent.IsCancelled();
    TaskGroup child(*scheduler, &parent);
    Require(!wasCancelled || child.IsCancelled(), "a group below a cancelled one is not cancelled");
    Leaf(scheduler, cell);
}

TaskOptions InGroup(TaskOptions options, TaskGroup &group) {
    options.taskGroup = &group;
    return options;
}

}  // namespace

// At the end of the input, a task that was not accepted must not have run.
uint32_t Script::CountRun(Cell *cells, uint32_t count) {
    uint32_t ran = 0;
    for (uint32_t i = 0; i < count; ++i) {
        cells[i].accepted = cells[i].ran.load() != 0;
        ran += cells[i].ran.load();
    }
    return ran;
}

void Script::UseGroup() {
    enum : uint32_t { kPlain, kChildren, kInTime, kEarly, kDeferred, kInside, kRace, kFails, kAll };
    const uint32_t kind = m_bytes.Below(kAll), count = 1 + m_bytes.Below(16), how = m_bytes.Next();
    const TaskOptions options = Options();
    Cell *cells = m_mayWait ? m_world.NewCells(count) : nullptr;
    if (cells == nullptr) return;
    Cell &special = cells[kind == kChildren ? count - 1 : how % count];
    Counter gate(1), cancelling;
    TaskGroup group(m_scheduler);
    Task tasks[16];
    for (uint32_t i = 0; i < count; ++i) {
        Accept(cells[i], options);
        tasks[i] = {Leaf, &cells[i]};
    }
    special.target = kind == kChildren ? static_cast<void *>(cells) : &group;
    special.options = options;
    if (kind == kEarly) group.Cancel();
    if (kind == kRace && AddHelpers(1 + how % 3, CancellingGroup, &group, &cancelling) == nullptr)
        return;
    if (kind == kInside) tasks[&special - cells].function = CancellingGroup;
    if (kind == kFails) tasks[&special - cells].function = FailingInGroup;
    if (kind == kChildren) {
        group.AddTask({ParentTask, &special}, options);
    } else if (kind == kDeferred || kind == kInTime) {
        const CounterTarget twice[] = {{&gate, 0}, {&gate, 1}};
        for (uint32_t i = 0; i < count; ++i) {
            if (kind == kDeferred && i % 3 == 1) {
                AddTaskAt(m_scheduler, Now() + kForEver, tasks[i], nullptr,
                          InGroup(options, group));
            } else {
                AddTaskAfter(m_scheduler, 1 + i % 2, twice, tasks[i], nullptr,
                             InGroup(options, group));
            }
        }
    } else {
        group.AddTasks(count, tasks, options);
    }
    if (kind == kDeferred) {
        Require(group.Value() == count, "a task did not wait for its counter or its time");
        group.Cancel();
    }
    if (kind == kInTime) {
        Require(group.WaitUntil(Clock::time_point::min()) == GroupResult::TimedOut &&
                    group.Value() == count,
                "a group with pending tasks has finished");
        m_scheduler.DecrementCounter(&gate);
    }
    m_scheduler.WaitForCounter(&cancelling);
    const Cell *thrown = nullptr;
    GroupResult result = GroupResult::Failed;
    try {
        result = how < 128 ? group.WaitAndRethrow() : group.WaitUntil(Clock::time_point::max());
    } catch (Cell *of) {
        thrown = of;
    }
    const uint32_t ran = CountRun(cells, count);
    Require(group.IsZero() && ran + group.SkippedCount() == count, "a group has lost a task");
    Require(result == (kind < kEarly    ? GroupResult::Finished
                       : kind == kFails ? GroupResult::Failed
                                        : GroupResult::Cancelled),
            "how a group has ended");
    Require(group.IsCancelled() == (kind >= kEarly), "a group is cancelled, or is not");
    Require(kind >= kEarly || ran == count, "a group has left out a task");
    Require((kind != kEarly && kind != kDeferred) || ran == 0, "a cancelled task has run");
    Require((kind != kInside && kind != kFails) || special.ran.load() == 1,
            "a task was left out before the group was cancelled");
    Require((group.FirstException() != nullptr) == (kind == kFails) &&
                thrown == (kind == kFails && how < 128 ? &special : nullptr),
            "the exception of a group");
    if (kind == kDeferred && how % 2 == 0) m_scheduler.DecrementCounter(&gate);
}

// Groups below each other, of which one is cancelled.
void Script::UseGroupTree() {
    constexpr uint32_t kGroups = 5, kMost = 4;
    const uint32_t shape = m_bytes.Next(), which = m_bytes.Below(kGroups + 1),
                   each = 1 + m_bytes.Below(kMost), helpers = m_bytes.Below(4);
    const TaskOptions options = Options();
    Cell *cells = m_mayWait ? m_world.NewCells(kGroups * each) : nullptr;
    if (cells == nullptr) return;
    Counter gate(1), helping;
    std::optional<TaskGroup> groups[kGroups];
    bool isBelow[kGroups];  // the one that will be cancelled, or it is that one
    for (uint32_t i = 0; i < kGroups; ++i) {
        const uint32_t parent = i == 0 ? 0 : (shape >> 2 * (i - 1) & 3) % i;
        groups[i].emplace(m_scheduler, i == 0 ? nullptr : &*groups[parent]);
        isBelow[i] = i == which || (i != 0 && isBelow[parent]);
        for (uint32_t task = i * each; task < (i + 1) * each; ++task) {
            Accept(cells[task], options);
            // One task of each group is added at the end.
            if (task == i * each) continue;
            AddTaskAfter(m_scheduler, &gate, 0, {Leaf, &cells[task]}, nullptr,
                         InGroup(options, *groups[i]));
        }
    }
    AddHelpers(helpers, Nesting, &*groups[shape % kGroups], &helping);
    if (which != kGroups) {
        AddHelpers(helpers, CancellingGroup, &*groups[which], &helping);
        groups[which]->Cancel();
    }
    m_scheduler.WaitForCounter(&helping);
    // What was cancelled does not wait for the gate.
    for (uint32_t i = 0; i < kGroups; ++i)
        Require(!isBelow[i] || groups[i]->Wait() == GroupResult::Cancelled, "a cancelled group");
    m_scheduler.DecrementCounter(&gate);
    for (uint32_t i = 0; i < kGroups; ++i) {
        TaskGroup &group = *groups[i];
        TaskGroup late(m_scheduler, &group);
        Require(late.IsCancelled() == isBelow[i] && group.IsCancelled() == isBelow[i],
                "a cancellation is not that of the groups below");
        group.AddTask({Leaf, &cells[i * each]}, options);
        Require(group.Wait() == (isBelow[i] ? GroupResult::Cancelled : GroupResult::Finished),
                "how a group in a tree has ended");
        const uint32_t ran = CountRun(cells + i * each, each);
        Require(ran == (isBelow[i] ? 0 : each) && ran + group.SkippedCount() == each,
                "a group in a tree has lost a task, or has run a cancelled one");
    }
}

void Script::MistakeInTaskGroups() {
    Cell *cell = m_world.NewCells(1);
    if (cell == nullptr) return;
    TaskOptions options = Options();
    const uint32_t kind = m_bytes.Below(m_world.other != nullptr ? 9 : 8);
    Oracle &oracle = m_world.oracle;
    const Task task{Leaf, cell};
    Counter counter, gate(1);
    std::optional<TaskGroup> group(std::in_place, kind == 6 ? *m_world.idle : m_scheduler);
    const TaskOptions both = InGroup(options, *group);
    if (kind < 4) {
        oracle.Expect(ReportCode::BadOption, [&] {
            if (kind == 0) m_scheduler.AddTask(task, &counter, both);
            if (kind == 1) m_scheduler.AddTasksAndWait(1, &task, both);
            if (kind == 2) Require(!AddTaskAt(m_scheduler, Soon(), task, &counter, both), "at");
            if (kind == 3)
                Require(!AddTaskAfter(m_scheduler, &gate, 0, task, &counter, both), "after");
        });
    } else if (kind == 4) {
        oracle.Expect(ReportCode::NullTask, [&] { group->AddTask({nullptr, nullptr}, options); });
    } else if (kind == 5) {
        // A pinned task begins only when this task or thread waits.
        if (m_caller == Caller::External || !m_mayWait) return;
        options = {};
        options.worker = m_scheduler.CurrentWorker();
        Accept(*cell, options);
        group->AddTask(task, options);
        oracle.Expect(ReportCode::DestroyedInUse, [&] { group.reset(); });
        return Require(cell->ran.load() == 1, "a group did not wait for its tasks");
    } else if (kind == 6) {
        oracle.Expect(ReportCode::NotRunning, [&] { group->AddTask(task, options); });
    } else if (kind == 7) {
        group.emplace(*m_world.idle);
        oracle.Expect(ReportCode::NotRunning, [&] { group->Cancel(); });
        return Require(group->IsCancelled() && group->Value() == 0, "a group that cannot run");
    } else {
        if (!m_mayWait) return;
        Accept(*cell, options);
        AddTaskAfter(m_scheduler, &gate, 0, task, nullptr, both);
        oracle.Expect(ReportCode::WrongScheduler, [&] {
            m_world.other->AddTask({Leaf, nullptr}, nullptr, InGroup({}, *group));
        });
        Require(group->Value() == 1, "another scheduler has changed a group");
        m_scheduler.DecrementCounter(&gate);
        return Require(group->Wait() == GroupResult::Finished, "a mistake has changed a group");
    }
    Require(counter.IsZero() && gate.Value() == 1 && group->IsZero() && !group->IsCancelled() &&
                group->SkippedCount() == 0,
            "a mistake has changed a group or a counter");
}

}  // namespace fuzz
