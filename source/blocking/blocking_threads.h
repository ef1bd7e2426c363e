// The threads that make blocking calls: as many as calls want, up to a bound, kept for a while,
// ended at last.
//
// Who submits pushes a node and then looks for a thread to make the call (WakeOne): one that
// sleeps, else a vacant place to start one in. It never waits: a push, two looks and an Unpark (or
// the start of a thread). What the threads share among themselves is under a lock of theirs that no
// submitter takes; so a fiber cannot be held up by a thread that the system has put aside in the
// middle of it.
//
// No call is left behind. Let S push a call and then look at the idle set, and T enter the idle set
// and then look at the calls; all four are seq_cst. If T's look misses the call, it came before S's
// push in their single total order, hence so did T's entry, and S finds T in the set; or another
// submitter took T out of it, and then T is on its way and looks. The same holds of vacant places,
// with "gives the place back" in the place of "enters the idle set": who gives it back (EndIdlers)
// looks at the calls then, and starts a thread in that very place if there is one, unless another
// submitter already does.
//
// So suppose that a thread sleeps, or a place is vacant, and nobody is under way. At its last look
// there was no call. Each one that was pushed since then found somebody to wake or to start, each a
// different one, who then takes one call at least, as long as there are any. So there are none
// left: a call waits only while as many are under way as there may be threads. (To wake whoever
// sleeps instead of starting a thread in the place that was given back would not do: he may have
// been about to look himself, for another call.)
//
// If a thread cannot be started, who tried gives the place back and, if no thread lives, makes all
// the calls that it then finds itself (StartAt); otherwise those that live make them, one after the
// other.
//
// A thread ends before the last day only at the hand of another one that goes on itself: the number
// of threads that live never falls to zero while calls may come.
#pragma once

#include "containers/atomic_bit_set.h"
#include "containers/push_list.h"
#include "containers/spin_lock.h"
#include "platform/env.h"
#include "weft/blocking/blocking_calls.h"

namespace weft::internal {

class BlockingThreads {
public:
    /// Null if there is no memory. The options are in their ranges.
    static BlockingThreads *Make(TaskScheduler &scheduler, const BlockingOptions &options,
                                 Status health) noexcept;
    /// Waits for all calls and threads, unless they are the parent process's, and frees the memory.
    static void Destroy(BlockingThreads *threads) noexcept;

    /// True in a child process that was forked since Make: there are no threads, and Submit must
    /// not be called.
    bool IsForked() const noexcept { return m_forkMark.IsForked(); }

    void Submit(BlockingNode &node) noexcept;

    /// Makes the call, here. `node` may be gone when its function has begun.
    static void Call(TaskScheduler &scheduler, BlockingNode &node) noexcept;

    // relaxed, these two: figures that order nothing.
    uint32_t Count() const noexcept { return IsForked() ? 0 : m_living.load(kRelaxed); }
    Status LastError() const noexcept { return m_health.load(kRelaxed); }

private:
    // A thread, or room for one. The idle set hands it from its thread to whoever takes that out;
    // the vacant set, from who ended or failed to start a thread to who starts one.
    struct alignas(kLineBytes) Place {
        env::Parker parker;
        env::Thread thread;
        env::Atomic<uint64_t> idleSince{0};  // Ticks
        env::Atomic<bool> isStarted{false};  // `thread` may be joined
        // written by who took it out of the idle set; read behind its Unpark
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
    void ThreadMain(Place &place) noexcept;
    void Serve(Place &place) noexcept;
    void Leave() noexcept;

    TaskScheduler *m_scheduler = nullptr;
    BlockingOptions m_options;
    uint64_t m_idleTicks = 0;
    env::ForkMark m_forkMark;

    alignas(kLineBytes) PushList<BlockingNode> m_submitted;
    env::Atomic<uint32_t> m_living{0};  // threads, those that are being started included
    env::Atomic<Status> m_health{Status::Ok};

    alignas(kLineBytes) SpinLock m_lock;  // of the threads among themselves
    // under the lock: taken from m_submitted together, older than what is there now
    BlockingNode *m_oldest = nullptr;

    AtomicBitSet m_idle;    // places whose threads sleep, or will if nothing comes
    AtomicBitSet m_vacant;  // places without a thread
    Place *m_places = nullptr;

    // The end. The two are written before m_stopping is, and read behind it.
    env::Atomic<bool> m_stopping{false};
    Counter *m_endCounter = nullptr;
    env::Parker *m_endParker = nullptr;
};

}  // namespace weft::internal
