// A sequence of calls, made by one task or thread.
#pragma once

#include "fuzz/world.h"

namespace fuzz {

class Script {
public:
    /// `mayWait`: or else only calls that do not. `depth`: of scripts inside scripts.
    Script(World &world, weft::TaskScheduler &scheduler, Caller caller, Bytes bytes, uint32_t depth, bool mayWait);
    void Play();

private:
    void Call();
    weft::TaskOptions Options();
    weft::Counter *SomeCounter();
    void Submit();
    void SubmitAndWait();
    void SubmitScript();
    void SubmitStrange();
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

    // mistakes.cpp: each is reported once and changes nothing.
    void MistakeInTasks();
    void MistakeInOptions();
    void MistakeInCounters();
    void MistakeWithCounts();
    void MistakeOfThread();
    void MistakeWhileIdle();
    void MistakeWithOther();
    void MistakeInLife();
    void MistakeAtStart();

    World &m_world;
    weft::TaskScheduler &m_scheduler;
    const Caller m_caller;
    Bytes m_bytes;
    const uint32_t m_depth;
    const bool m_mayWait;
    Account &m_account;
};

}  // namespace fuzz
