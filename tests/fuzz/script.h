// A sequence of calls that one task or thread makes.
#pragma once

#include "fuzz/world.h"
#include "weft/time.h"

namespace fuzz {

class Script {
public:
    /// `mayWait`: if false, makes only calls that do not wait. `depth`: nesting of scripts inside
    /// scripts. `cell`: the cell of the task that plays the script, or null.
    Script(World &world, weft::TaskScheduler &scheduler, Caller caller, Bytes bytes, uint32_t depth,
           bool mayWait, const Cell *cell = nullptr);
    void Play();

private:
    void Call();
    using Kind = void (Script::*)();
    template <size_t kCount>
    void CallOneOf(const Kind (&kinds)[kCount], uint32_t number);
    void CallPlain(uint32_t kind);
    void CallLater(uint32_t kind);
    void CallNewer(uint32_t kind);
    void CallNewest(uint32_t kind);
    void MistakeInNewest();
    weft::TaskOptions Options();
    void Accept(Cell &cell, const weft::TaskOptions &options) const;
    weft::Counter *SomeCounter();
    void Submit();
    void SubmitAndWait();
    void SubmitScript();
    void SubmitStrange();
    void SubmitParent();
    void Wait();
    void WaitForSeveral();
    void ByHand();
    void Poll();
    void GiveWay();
    void UseOther();
    void Ask();
    void StartThread();
    void SetWorkers();
    void Settle(uint32_t counter);
    void SettleBefore(uint32_t counter);

    // Calls of weft/time.h and later headers, with a file for each family.
    weft::Clock::duration Short();
    weft::Clock::time_point Soon();
    /// Submits `count` tasks without a mistake. Each has a cell with this target. Returns null if
    /// there are too many cells.
    Cell *AddHelpers(uint32_t count, weft::TaskFunction function, void *target,
                     weft::Counter *counter);
    /// Makes a call that does not wait for another script. For a script that holds a lock.
    void Inside();
    void WaitInTime();
    void Sleep();
    void SubmitAfter();
    void SubmitChain();
    void SubmitAt();
    void UseMutex();
    void UnlockElsewhere();
    void UseSharedMutex();
    void UseCondition();
    void UseSemaphore();
    void UseEvent();
    void UseOwnEvent();
    void UseLatch();
    void UseWaitGroup();
    void UseTickets();
    void UseOwnTickets();
    void Block();
    void BlockApart();
    void Loop();
    void Reduce();
    void Cancel();
    void PostJobs();
    void UseLocals();
    void Rethrow();
    void UseCoroutines();
    void UseFrames();
    void UseMemory();
    /// Returns how many of the tasks have run. The others must not run later.
    static uint32_t CountRun(Cell *cells, uint32_t count);
    void UseGroup();
    void UseGroupTree();
    void WithdrawTasks();
    void RepeatTask();
    void UseResult();
    void UseWhen();
    void RunGraph();
    void RunConditions();
    void InvokeSeveral();
    void VisitEach();
    void PassThrough();
    void Sort();
    void Scan();
    void WaitForFirst();
    void WaitForFirstPermit(uint32_t how);

    // Mistakes, each of which must be reported once and change nothing. In mistakes.cpp:
    void MistakeInTasks();
    void MistakeInOptions();
    void MistakeInGroups();
    void MistakeInCounters();
    void MistakeWithCounts();
    void MistakeOfThread();
    void MistakeWhileIdle();
    void MistakeWithOther();
    void MistakeInLife();
    void MistakeAtStart();
    void MistakeInTime();        // time_mistakes.cpp
    void MistakeInDeferred();    // time_mistakes.cpp
    void MistakeInLocks();       // sync_mistakes.cpp
    void MistakeInSignals();     // sync_mistakes.cpp
    void MistakeInSyncOfIdle();  // sync_mistakes.cpp
    void MistakeInBlocking();    // blocking.cpp
    void RefuseCounters();       // blocking.cpp
    void MistakeInCancel();      // cancel.cpp
    void MistakeInJobs();        // posted.cpp
    void MistakeInJobOptions();  // posted.cpp
    void MistakeInFrames();      // frames.cpp
    void MistakeInMemory();      // memory.cpp
    void MistakeInTaskGroups();  // groups.cpp
    void MistakeInWithdrawn();   // withdrawn.cpp
    void MistakeInResults();     // results.cpp
    void MistakeInGraphs();      // graphs.cpp
    void MistakeInFlows();       // flows.cpp
    void MistakeInSorts();       // sorts.cpp
    void MistakeInFirst();       // first_of.cpp

    World &m_world;
    weft::TaskScheduler &m_scheduler;
    const Caller m_caller;
    Bytes m_bytes;
    const uint32_t m_depth;
    const bool m_mayWait;
    const Cell *const m_cell;
    Account &m_account;
};

}  // namespace fuzz
