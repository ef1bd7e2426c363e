#include "blocking/blocking_threads.h"

#include "platform/memory.h"
#include "platform/race_finder.h"
#include "scheduler/api/internal_api.h"

#include <new>

namespace weft::internal {

namespace {

// Names and places the calling thread. It begins with the CPUs and the nice value of its creator,
// which may be a worker that is bound to one CPU. There, a call that computes would delay the tasks
// of that worker. Returns false if the system refuses a nice value that the options ask for.
bool SetUpThread(const BlockingOptions &options, uint32_t index) noexcept {
    if (options.threadName != nullptr) env::NameThread(options.threadName, index);
    env::UnbindThread();
    return env::SetNice(options.threadNice) || options.threadNice == 0;
}

}  // namespace

BlockingThreads *BlockingThreads::Make(TaskScheduler &scheduler, const BlockingOptions &options,
                                       Status lastError) noexcept {
    auto *threads =
        Memory(options.memory)
            .NewWithin<BlockingThreads>(sizeof(BlockingThreads), alignof(BlockingThreads));
    if (threads == nullptr) return nullptr;
    threads->m_scheduler = &scheduler;
    threads->m_options = options;
    threads->m_lastError.store(lastError, kRelaxed);  // no other thread knows the object yet
    threads->m_idleTicks =
        static_cast<uint64_t>(options.idleMicroseconds * env::TicksPerMicrosecond());
    if (threads->Acquire()) return threads;
    Free(threads);
    return nullptr;
}

bool BlockingThreads::Acquire() noexcept {
    const Memory memory(m_options.memory);
    m_slots = memory.NewArray<ThreadSlot>(m_options.maxThreads);
    if (m_slots == nullptr || !m_idle.Acquire(m_options.maxThreads, memory) ||
        !m_vacant.Acquire(m_options.maxThreads, memory)) {
        return false;
    }
    for (uint32_t i = 0; i < m_options.maxThreads; ++i) {
        m_slots[i].threads = this;
        m_slots[i].index = i;
        m_vacant.Set(i);
    }
    m_forkMark.Acquire(this);
    return true;
}

void BlockingThreads::Destroy(BlockingThreads *threads) noexcept {
    if (!threads->IsForked()) threads->EndThreads();  // a child has no threads
    Free(threads);
}

void BlockingThreads::Free(BlockingThreads *threads) noexcept {
    const MemoryHooks hooks = threads->m_options.memory;
    Memory(hooks).DeleteArray(threads->m_slots, threads->m_options.maxThreads);
    threads->~BlockingThreads();
    Memory(hooks).Free(threads, sizeof(BlockingThreads), alignof(BlockingThreads));
}

// No thread submits any more. So there are two cases. Either m_living is zero already. Or it will
// reach zero once, by a thread that has seen m_stopping, and that thread then decrements the
// counter or unparks the parker. Even if m_living is zero already, such a thread may be about to do
// that. So counter and parker live until all threads have been joined.
void BlockingThreads::EndThreads() noexcept {
    env::Parker parker;
    Counter counter(1);
    const bool inTask = CallerMayWait(*m_scheduler, "~BlockingCalls");
    m_endCounter = inTask ? &counter : nullptr;
    m_endParker = inTask ? nullptr : &parker;
    // seq_cst: pairs with the check after m_idle.Set in Serve. A thread that enters the idle set
    // after m_idle.Clear below has not found it sees m_stopping. As a release it publishes the two
    // pointers above.
    m_stopping.store(true, kSeqCst);
    for (uint32_t i = 0; i < m_options.maxThreads; ++i) {
        if (m_idle.Clear(i)) m_slots[i].parker.Unpark();
    }
    if (m_living.load(kSeqCst) != 0) {
        if (inTask) {
            const ExternalWork outside(*m_scheduler);
            m_scheduler->WaitForCounter(&counter);
            race::SawCount(counter);
        } else {
            parker.Park();
        }
    }
    // No thread starts or ends others any more. What they did is visible here, because they
    // decremented m_living after it. All threads are about to return.
    for (uint32_t i = 0; i < m_options.maxThreads; ++i) {
        if (m_slots[i].isStarted.load(kRelaxed)) m_slots[i].thread.Join();
    }
}

void BlockingThreads::Call(TaskScheduler &scheduler, BlockingNode &node) noexcept {
    race::ComesToThread(&node);
    const BlockingFunction function = node.function;
    void *const arg = node.arg;
    Counter *const counter = node.counter;
    // release: pairs with the acquire in BlockingCalls::Submit. A thread that submits the node
    // again writes to it after the reads above. From here on the node may be gone.
    node.submitted.store(false, kRelease);
    TraceEvent event{};
    event.call = function;
    event.arg = arg;
    EmitFrom(scheduler, TraceKind::CallBegin, event);
    function(arg);
    EmitFrom(scheduler, TraceKind::CallEnd, event);
    if (counter == nullptr) return;
    scheduler.DecrementCounter(counter);
    // The destructor of BlockingCalls waits for this call, so the scheduler is still alive here.
    ExternalWork::End(scheduler);
}

void BlockingThreads::Submit(BlockingNode &node) noexcept {
    race::LeavesThread(&node);  // the call sees what the caller has written
    m_submitted.Push(&node);    // from here on the node may be gone
    WakeOne();
}

void BlockingThreads::WakeOne() noexcept {
    const uint32_t sleeper = m_idle.ClearAny(0);
    if (sleeper != AtomicBitSet::kNone) {
        m_slots[sleeper].parker.Unpark();
        return;
    }
    const uint32_t vacant = m_vacant.ClearAny(0);
    if (vacant != AtomicBitSet::kNone) StartAt(vacant);
}

void BlockingThreads::StartAt(uint32_t index) noexcept {
    ThreadSlot &slot = m_slots[index];
    // seq_cst, both uses in this function: if several threads fail here at once, the last one sees
    // all their calls. It also sees the calls of submitters that relied on them, because they found
    // no vacant slot.
    m_living.fetch_add(1, kSeqCst);
    const auto serve = [](void *arg) {
        ThreadSlot &own = *static_cast<ThreadSlot *>(arg);
        own.threads->ThreadMain(own);
    };
    if (slot.thread.Start(serve, &slot, m_options.threadStackBytes)) {
        slot.isStarted.store(true, kRelease);  // publishes the handle to the thread that joins it
        return;
    }
    m_lastError.store(Status::ThreadFailed, kRelaxed);
    m_vacant.Set(index);
    if (m_living.fetch_sub(1, kSeqCst) != 1) return;  // a living thread makes the call
    while (AnyCall()) {
        if (BlockingNode *node = Take()) Call(*m_scheduler, *node);
    }
}

// Returns the oldest call, or null. Null is only a hint that there is none: see AnyCall.
BlockingNode *BlockingThreads::Take() noexcept {
    const SpinLock::Held held(m_lock);
    if (m_oldest == nullptr) m_oldest = m_submitted.TakeAll();
    BlockingNode *node = m_oldest;
    if (node != nullptr) m_oldest = node->next;
    return node;
}

// The check that follows an announcement (a thread has entered the idle set, a slot is vacant). It
// also sees calls that another thread has moved from m_submitted to m_oldest: that thread had the
// lock before. A thread that gets the lock later checks for calls after this thread.
bool BlockingThreads::AnyCall() noexcept {
    const SpinLock::Held held(m_lock);
    return m_oldest != nullptr || !m_submitted.IsEmpty();
}

// Called by a thread that goes to sleep. Ends the threads that have slept for too long. Submitters
// wake the lowest slot, so the threads at high slots sleep longest.
void BlockingThreads::EndIdlers() noexcept {
    if (m_idleTicks == 0) return;
    const uint64_t now = env::Ticks();
    for (uint32_t i = m_options.maxThreads; i-- != 0;) {
        ThreadSlot &slot = m_slots[i];
        if (!m_idle.Test(i) || !slot.isStarted.load(kAcquire)) continue;  // acquire: the handle
        // relaxed: an estimate. The clock of another processor may be a little ahead, so the
        // difference may be negative.
        if (static_cast<int64_t>(now - slot.idleSince.load(kRelaxed)) <
            static_cast<int64_t>(m_idleTicks))
            continue;
        if (!m_idle.Clear(i)) continue;
        slot.mustEnd = true;
        slot.parker.Unpark();
        slot.thread.Join();  // it only calls its hook onStop
        slot.mustEnd = false;
        slot.isStarted.store(false, kRelaxed);  // m_vacant publishes it
        m_living.fetch_sub(1, kSeqCst);         // not the last one: this thread lives
        m_vacant.Set(i);
        if (AnyCall() && m_vacant.Clear(i)) StartAt(i);  // [re-check]
    }
}

void BlockingThreads::ThreadMain(ThreadSlot &slot) noexcept {
    // relaxed: a status that orders nothing.
    if (!SetUpThread(m_options, slot.index)) m_lastError.store(Status::BadOption, kRelaxed);
    const ThreadHooks &hooks = m_options.threads;
    if (hooks.onStart != nullptr) hooks.onStart(slot.index, hooks.user);
    Serve(slot);
    if (hooks.onStop != nullptr) hooks.onStop(slot.index, hooks.user);
    if (!slot.mustEnd) Leave();
}

// Returns when the thread must end.
void BlockingThreads::Serve(ThreadSlot &slot) noexcept {
    for (;;) {
        while (BlockingNode *node = Take()) Call(*m_scheduler, *node);
        // acquire: pairs with the store in EndThreads. All calls were submitted before that store,
        // so the check below sees all of them.
        if (m_stopping.load(kAcquire)) {
            if (AnyCall()) continue;
            return;
        }
        EndIdlers();
        slot.idleSince.store(env::Ticks(), kRelaxed);
        const auto isWanted = [this] { return AnyCall() || m_stopping.load(kSeqCst); };
        m_idle.Set(slot.index);                                // [order]
        if (isWanted() && m_idle.Clear(slot.index)) continue;  // [re-check]
        // Only the thread that takes this slot out of the idle set unparks it.
        slot.parker.Park();
        if (slot.mustEnd) return;
    }
}

// seq_cst: as an acquire and a release it passes on what all threads have done, first to the last
// thread, and then to EndThreads.
void BlockingThreads::Leave() noexcept {
    Counter *const counter = m_endCounter;
    env::Parker *const parker = m_endParker;
    if (m_living.fetch_sub(1, kSeqCst) != 1) return;
    if (counter != nullptr) m_scheduler->DecrementCounter(counter);
    if (parker != nullptr) parker->Unpark();
}

}  // namespace weft::internal
