// Models of cancellation (a wait with a token ends by its counter or by its source), of task groups
// and of ExceptionCollector.
#include "simulator/sync_support.h"
#include "weft/algorithms/parallel_for.h"
#include "weft/data/cancellation.h"
#include "weft/data/exception_collector.h"
#include "weft/data/task_group.h"
#include "weft/deferred.h"

#include <chrono>

namespace simulator {

namespace {

// Two tasks and a thread wait for a counter with a token. A task lowers the counter, or a task and
// the thread cancel, or both happen. Then the counter and the source are destroyed. Each wait must
// end, and for a reason that is visible to it. Shows lost wake-ups and accesses after the
// destruction.
void CancelWait() {
    Counters counters;
    Counter *counter = counters.New(1);
    // all may wait for the thread
    StartedScheduler scheduler(Options<ReportCode::Stalled>(1 + Random(3), 5 + Random(3)));
    auto *source = new CancelSource(scheduler);
    Cell reason[2];
    uint32_t result = 0, ended = 0;
    bool hasCancelled[2] = {};
    auto wait = [&](TaskScheduler *running) {
        const bool done = WaitForCounterOrCancel(*running, counter, source->Token());
        Check(!done || (counter->IsZero() && result == 7),
              "a wait ended before its counter was reached");
        const auto isReason = [&] { return reason[0].Get() + reason[1].Get() != 0; };
        Check(done || (source->IsCancelled() && isReason()),
              "a wait ended before it was cancelled");
        ++ended;
    };
    auto lower = [&](TaskScheduler *running) {
        result = 7;
        running->DecrementCounter(counter);
    };
    const auto cancelBy = [&](uint32_t index) {
        reason[index].Set(1);
        const bool isSecond = hasCancelled[1 - index];
        source->Cancel();
        hasCancelled[index] = true;
        Check(!isSecond || reason[1 - index].Get() == 1,
              "the second Cancel does not see a write before the first one");
    };
    auto cancel = [&](TaskScheduler *) { cancelBy(0); };
    const bool attach = Random(2) != 0;
    RunningThread thread([&] {
        if (attach) Check(scheduler.AttachThread() == Status::Ok, "AttachThread failed");
        wait(&scheduler);
        cancelBy(1);
        if (attach) scheduler.DetachThread();
    });
    Counter done;
    const uint32_t which = Random(3);  // one of the two, or both
    AddBatch(&scheduler, 2, wait, &done);
    if (which != 0) scheduler.AddTask(MakeTask(cancel), &done);
    if (which != 1) scheduler.AddTask(MakeTask(lower), &done);
    scheduler.WaitForCounter(&done);
    thread.Join();
    Check(ended == 3 && source->IsCancelled(), "a wait did not end");
    if (which == 1) scheduler.DecrementCounter(counter);
    Counters::Kill(counter);
    scheduler.Stop();
    delete source;
}

// A sleep with a token must end when it is cancelled or when its deadline has passed, and not
// earlier.
void CancelSleep() {
    RunMain(Options(1 + Random(2), 6), [](TaskScheduler *scheduler) {
        using std::chrono::microseconds;
        CancelSource source(*scheduler);
        const Clock::time_point deadline = Now() + microseconds(Random(300));
        auto cancel = [&](TaskScheduler *running) {
            SleepFor(*running, microseconds(Random(300)));
            source.Cancel();
        };
        Counter counter;
        scheduler->AddTask(MakeTask(cancel), &counter);
        const bool slept = SleepUntilOrCancel(*scheduler, deadline, source.Token());
        Check(!slept || Now() >= deadline, "a sleep ended too early");
        Check(slept || source.IsCancelled(), "a sleep ended without a reason");
        scheduler->WaitForCounter(&counter);
    });
}

// A ParallelFor is cancelled by one of its own iterations and by another task. No index may run
// twice, and none may still run after the loop has returned. Without a cancellation each index must
// run.
void CancelLoop() {
    RunMain(Options(1 + Random(3), 13), [](TaskScheduler *scheduler) {
        CancelSource source(*scheduler);
        auto cancel = [&](TaskScheduler *) { source.Cancel(); };
        Counter counter;
        if (Random(2) != 0) scheduler->AddTask(MakeTask(cancel), &counter);
        LoopOptions options;
        options.cancel = source.Token();
        options.grain = Random(3);
        uint32_t marks[12] = {}, inside = 0;
        const uint32_t last = Random(14);
        ParallelFor(
            *scheduler, 0, 12u,
            [&](uint32_t i) {
                ++inside;
                Linger(4);
                Check(marks[i]++ == 0, "an index was run twice");
                if (i == last) source.Cancel();
                --inside;
            },
            options);
        Check(inside == 0, "an index runs after the loop");
        if (!source.IsCancelled())
            for (uint32_t mark : marks) Check(mark == 1, "an index was not run");
        scheduler->WaitForCounter(&counter);
    });
}

// Two threads keep an exception each, while a third one polls First. The third one must see what
// was written before the exception was kept. Both exceptions must be counted.
void FirstFailure() {
    WithScheduler([](TaskScheduler &scheduler) {
        ExceptionCollector failures;
        Cell thrown[3];
        AllAtOnce(scheduler, 2, [&](TaskScheduler &, uint32_t index) {
            if (index == 2) {
                while (failures.First() == nullptr) weft::env::Pause();
                const auto which = [&] {
                    try {
                        std::rethrow_exception(failures.First());
                    } catch (uint32_t task) {
                        return task;
                    }
                };
                Check(thrown[which()].Get() == 1, "a write before an exception is not visible");
                return;
            }
            thrown[index].Set(1);
            failures.Keep(std::make_exception_ptr(index));
        });
        Check(failures.Count() == 2, "an exception was not counted");
    });
}

// A thread cancels a group, or the group above it, while a task adds tasks to it: plain ones, child
// tasks, tasks after a counter and tasks at a time that is far away. Each task must run or be
// skipped, none may begin after a Cancel that came before it, and the wait must end although the
// times do not come. Then the group is gone. Shows tasks that are missed by the cancellation, and
// accesses after the end of the group.
void CancelGroup() {
    Counters counters;
    Counter *gate = counters.New(1);
    // all may wait for the thread
    StartedScheduler scheduler(Options<ReportCode::Stalled>(1 + Random(3), 5 + Random(3)));
    TaskGroup above(scheduler);
    Mortal<TaskGroup> group(scheduler, &above);
    Cell reason;
    uint32_t ran = 0, added = 0;
    auto run = [&](TaskScheduler *) {
        ++ran;
        Check(!group->IsCancelled() || reason.Get() == 1, "the reason of Cancel is not visible");
    };
    const Task task = MakeTask(run);
    auto add = [&](TaskScheduler *running) {
        TaskOptions ofGroup;
        ofGroup.taskGroup = &*group;
        for (uint32_t i = 0; i < 5; ++i) {
            const uint32_t kind = Random(4);
            if (kind == 0) group->AddTask(task);
            if (kind == 1) running->AddChildTasks(1, &task);
            if (kind == 2) AddTaskAfter(*running, gate, 0, task, nullptr, ofGroup);
            if (kind == 3)
                AddTaskAt(*running, Now() + std::chrono::hours(1), task, nullptr, ofGroup);
            ++added;
        }
    };
    const bool fromAbove = Random(2) != 0, opens = Random(2) != 0;
    HostThread thread([&] {
        if (opens) scheduler.DecrementCounter(gate);
        reason.Set(1);
        fromAbove ? above.Cancel() : group->Cancel();
    });
    group->AddTask(MakeTask(add));
    thread.Start();
    const GroupResult result = group->Wait();
    const uint32_t skipped = group->SkippedCount();
    // the task that adds the others may have been skipped
    Check(added == 0 ? skipped == 1 && ran == 0 : ran + skipped == 5,
          "a task neither ran nor was skipped");
    Check(result == GroupResult::Cancelled || (result == GroupResult::Finished && skipped == 0),
          "a wait for a group that was cancelled");
    thread.Join();
    group->~TaskGroup();
    group.Die();
    if (!opens) scheduler.DecrementCounter(gate);
    scheduler.Stop();
}

// A thread cancels a group while a child group of it is destroyed. The destructor must wait while
// Cancel uses the child.
void CancelChild() {
    StartedScheduler scheduler(Options(1 + Random(2), 5));
    TaskGroup above(scheduler);
    Mortal<TaskGroup> child(scheduler, &above);
    RunningThread cancels([&] { above.Cancel(); });
    Dawdle(30);
    child->~TaskGroup();
    MarkDead(&*child, sizeof(TaskGroup));
    cancels.Join();
    Check(above.IsCancelled(), "a group was not cancelled");
    scheduler.Stop();
}

}  // namespace

std::vector<Model> DataModels() {
    return {
        {"cancel_group", "a group is cancelled while tasks of all kinds are added to it",
         CancelGroup, 2},
        {"cancel_child", "a child group is destroyed while its parent is cancelled", CancelChild},
        {"cancel_wait", "a counter reaches its target while its waiters are cancelled twice",
         CancelWait, 2},
        {"cancel_sleep", "a sleep is cancelled at about the time of its deadline", CancelSleep},
        {"cancel_loop", "a loop is cancelled by its body and by another thread", CancelLoop},
        {"failures", "a task that sees an exception sees earlier writes", FirstFailure},
    };
}

}  // namespace simulator
