// A sequence of calls, made by one task or thread.
#pragma once

#include "fuzz/world.h"
#include "weft/time.h"

namespace fuzz {

class Script {
public:
    /// `mayWait`: or else only calls that do not. `depth`: of scripts inside scripts.
    /// `cell`: of the task that plays it, if that names groups.
    Script(World &world, weft::TaskScheduler &scheduler, Caller caller, Bytes bytes, uint32_t depth,
           bool mayWait, const Cell *cell = nullptr);
    void Play();

private:
    void Call();
    void CallPlain(uint32_t kind);
    void CallLater(uint32_t kind);
    void CallNewest(uint32_t kind);
    weft::TaskOptions Options();
    void Accept(Cell &cell, const weft::TaskOptions &options) const;
    weft::TaskOptions SmallOptions();  // for tasks that may wait: Spares are small
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

    // What came with weft/time.h and later, a file for each family.
    weft::Clock::duration Short();
    weft::Clock::time_point Soon();
    /// `count` tasks that are accepted, each with a cell whose target is `target`; null: too many
    /// cells.
    Cell *AddHelpers(uint32_t count, weft::TaskFunction function, void *target,
                     weft::Counter *counter);
    /// What does not wait for any other script: for whoever has locked something.
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

    // mistakes.cpp: each is reported once and changes nothing.
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
