// The threads that make blocking calls. They are started when calls need them, up to a limit. Idle
// threads end after a while, all others at the end.
//
// Terms:
// - call: a BlockingNode that has been submitted.
// - slot: room for one thread. It is vacant if it has no thread.
// - idle set (m_idle): the slots whose threads sleep, or are about to sleep.
// - vacant set (m_vacant): the slots that are vacant.
// - active thread: a thread whose slot is in neither set. It runs, or is being started. It will
//   check for calls before it sleeps or ends.
// - living threads (m_living): all threads, with those that are being started.
//
// Protocol:
// 1. A submitter pushes the call, then checks the idle set, then the vacant set (WakeOne). It takes
//    a thread out of the idle set and wakes it, or takes a slot out of the vacant set and starts a
//    thread there, or does nothing. It never waits: one push, two checks, and one Unpark or the
//    start of a thread.
// 2. An active thread takes calls and makes them until it finds none. Then it enters the idle set,
//    checks for calls once more, and sleeps.
// 3. A thread that goes idle ends threads that have been idle for too long (EndIdlers). It gives
//    each slot back to the vacant set and checks for calls once more. If there is a call, it
//    starts a thread in that slot, unless a submitter has taken the slot already.
// The list of taken calls is protected by a lock that only the threads take, and no submitter. So a
// thread that was preempted while it holds the lock cannot delay a fiber.
//
// No call is left behind.
// - Events: S1, a submitter pushes a call. S2, it checks the idle set. T1, a thread enters the idle
//   set. T2, the thread checks for calls. S1 is before S2 and T1 is before T2. All four are
//   seq_cst, so they have one total order.
// - Claim: T2 sees the call, or the submitter finds the thread. Suppose that T2 does not see the
//   call. Then T2 comes before S1, so T1 comes before S2. Therefore S2 finds the thread in the idle
//   set, unless another submitter has taken the thread out. In that case the thread is active, and
//   will check for calls.
// - The same holds for a vacant slot. T1 is then "gives the slot back", and T2 is the check in
//   EndIdlers.
// - Suppose that a thread sleeps or a slot is vacant, and no thread is active. The last check of
//   each thread found no call. Each call that was pushed after that check found a thread to wake or
//   to start, and each call another one. Each of these threads took at least one call while there
//   were any. So no call is left. Therefore a call waits only while as many threads are active as
//   there may be threads.
// - In step 3 it would not be enough to wake a sleeping thread instead of starting one: that thread
//   may have been about to check for calls because of another call.
//
// If the system refuses a thread, the slot is given back. If no thread lives, the caller of
// StartAt makes all calls that it finds then. Otherwise the living threads make them, one after the
// other.
//
// Before the end, a thread ends only if another thread ends it and continues itself. So the number
// of living threads never falls to zero while calls may come.
#pragma once

#include "containers/atomic_bit_set.h"
#include "containers/push_list.h"
#include "containers/spin_lock.h"
#include "platform/env.h"
#include "weft/blocking/blocking_calls.h"

namespace weft::internal {

class BlockingThreads {
public:
    /// Returns null if there is no memory. The options must be in their ranges.
    static BlockingThreads *Make(TaskScheduler &scheduler, const BlockingOptions &options,
                                 Status lastError) noexcept;
    /// Waits for all calls and threads, and frees the memory. In a forked child process it only
    /// frees the memory, because calls and threads belong to the parent.
    static void Destroy(BlockingThreads *threads) noexcept;

    /// Returns true in a child process that was forked after Make. It has no threads, so Submit
    /// must not be called.
    bool IsForked() const noexcept { return m_forkMark.IsForked(); }

    void Submit(BlockingNode &node) noexcept;

    /// Makes the call on this thread. `node` may be gone when its function has begun.
    static void Call(TaskScheduler &scheduler, BlockingNode &node) noexcept;

    // relaxed, both: the values order nothing.
    uint32_t Count() const noexcept { return IsForked() ? 0 : m_living.load(kRelaxed); }
    Status LastError() const noexcept { return m_lastError.load(kRelaxed); }

private:
    // Room for one thread. A slot belongs to one thread at a time. The idle set hands it over from
    // its own thread to the thread that takes it out. The vacant set hands it over from the thread
    // that has ended its thread, or could not start one, to the thread that starts one.
    struct alignas(kLineBytes) ThreadSlot {
        env::Parker parker;
        env::Thread thread;
        env::Atomic<uint64_t> idleSince{0};  // Ticks
        env::Atomic<bool> isStarted{false};  // `thread` may be joined
        // Written by the thread that has taken the slot out of the idle set, before its Unpark;
        // read by the slot's thread after Park.
        bool mustEnd = false;
        BlockingThreads *threads = nullptr;
        uint32_t index = 0;
    };

    bool Acquire() noexcept;
    static void Free(BlockingThreads *threads) noexcept;
    void EndThreads() noexcept;
    BlockingNode *Take() noexcept;
    bool AnyCall() noexcept;
    void WakeOne() noexcept;
    void StartAt(uint32_t index) noexcept;
    void EndIdlers() noexcept;
    void ThreadMain(ThreadSlot &slot) noexcept;
    void Serve(ThreadSlot &slot) noexcept;
    void Leave() noexcept;

    TaskScheduler *m_scheduler = nullptr;
    BlockingOptions m_options;
    uint64_t m_idleTicks = 0;
    env::ForkMark m_forkMark;

    alignas(kLineBytes) PushList<BlockingNode> m_submitted;
    env::Atomic<uint32_t> m_living{0};  // threads, with those that are being started
    env::Atomic<Status> m_lastError{Status::Ok};

    alignas(kLineBytes) SpinLock m_lock;  // only the threads take it
    // Under the lock: calls that were taken from m_submitted, oldest first. They are older than all
    // calls in m_submitted.
    BlockingNode *m_oldest = nullptr;

    AtomicBitSet m_idle;    // slots whose threads sleep, or are about to sleep
    AtomicBitSet m_vacant;  // slots without a thread
    ThreadSlot *m_slots = nullptr;

    // The end. m_stopping publishes the other two: they are written before it, and read after it.
    env::Atomic<bool> m_stopping{false};
    Counter *m_endCounter = nullptr;
    env::Parker *m_endParker = nullptr;
};

}  // namespace weft::internal
