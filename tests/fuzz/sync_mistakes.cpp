// Mistakes with locks and signals. Each must be reported once, with its code, and have no effect.
#include "fuzz/script.h"
#include "weft/sync/condition_variable.h"
#include "weft/sync/event.h"
#include "weft/sync/latch.h"
#include "weft/sync/mutex.h"
#include "weft/sync/semaphore.h"
#include "weft/sync/shared_mutex.h"
#include "weft/sync/ticket_queue.h"
#include "weft/sync/wait_group.h"

#include <mutex>

namespace fuzz {

using namespace weft;

void Script::MistakeInLocks() {
    Mutex mutex(m_scheduler);
    SharedMutex shared(m_scheduler);
    const uint32_t kind = m_bytes.Below(6);
    if (kind == 1) {
        mutex.lock();
        mutex.unlock();
    }
    if (kind == 4) shared.lock_shared();
    if (kind == 5) shared.lock();
    m_world.oracle.Expect(ReportCode::WrongThread, [&] {
        if (kind < 2) mutex.unlock();
        if (kind == 2) shared.unlock();
        if (kind == 3) shared.unlock_shared();
        if (kind == 4) shared.unlock();  // because it is not locked this way
        if (kind == 5) shared.unlock_shared();
    });
    if (kind == 5) {
        Require(!shared.try_lock() && !shared.try_lock_shared(),
                "a mistake has changed a shared mutex");
        shared.unlock();
    }
    if (kind == 4) {
        Require(!shared.try_lock() && shared.try_lock_shared(),
                "a mistake has changed a shared mutex");
        shared.unlock_shared();
        shared.unlock_shared();
    }
    Require(mutex.try_lock() && !mutex.try_lock(), "a mistake has changed a mutex");
    Require(shared.try_lock() && !shared.try_lock_shared(), "a mistake has changed a shared mutex");
}

void Script::MistakeInSignals() {
    const uint32_t kind = m_bytes.Below(7), n = m_bytes.Next();
    if (kind < 3) {
        Semaphore most(m_scheduler, Semaphore::kMax - 1);
        m_world.oracle.Expect(ReportCode::BadOption, [&] {
            if (kind == 0)
                Require(Semaphore(m_scheduler, Semaphore::kMax + 1 + n).try_acquire(),
                        "no permits");
            if (kind == 1) most.release(2 + n);
            if (kind == 2) most.release(~0u - n);
        });
        most.release();
        Require(most.try_acquire(), "a semaphore has no permits");
    } else if (kind < 5) {
        Latch latch(m_scheduler, n);
        m_world.oracle.Expect(ReportCode::CounterUnderflow, [&] { latch.count_down(n + 1); });
        latch.count_down(n);
        Require(latch.try_wait(), "a mistake has changed a latch");
    } else if (kind == 5) {
        WaitGroup group(m_scheduler);
        m_world.oracle.Expect(ReportCode::CounterUnderflow, [&] { group.Done(); });
        Require(group.IsDone(), "a mistake has changed a group");
    } else {
        TicketQueue queue(m_scheduler);
        const Ticket first = queue.Take(), second = queue.Take();
        first.Done();
        m_world.oracle.Expect(ReportCode::WrongThread, [&] { first.Done(); });
        Require(second.IsTurn(), "a mistake has changed an order");
        second.Done();
        m_world.oracle.Expect(ReportCode::WrongThread, [&] { first.Done(); });
    }
}

// Objects of a scheduler that does not run. Calls that do not have to wait are no mistakes.
void Script::MistakeInSyncOfIdle() {
    constexpr std::chrono::microseconds kShort{20};
    TaskScheduler &idle = *m_world.idle;
    Mutex mutex(idle);
    SharedMutex shared(idle);
    Event event(idle);
    Semaphore semaphore(idle);
    ConditionVariable condition(idle);
    Latch latch(idle, 1);
    const WaitGroup group(idle, 1);
    std::unique_lock<Mutex> lock(mutex);
    const std::lock_guard<SharedMutex> writer(shared);
    const uint32_t kind = m_bytes.Below(11);
    m_world.oracle.Expect(ReportCode::NotRunning, [&] {
        if (kind == 0) Require(!mutex.try_lock_for(kShort), "a mutex was locked twice");
        if (kind == 1)
            Require(!shared.try_lock_shared_for(kShort), "a shared mutex was locked twice");
        if (kind == 2) Require(!event.WaitFor(kShort), "an event has happened");
        if (kind == 3) Require(!semaphore.try_acquire_for(kShort), "there is a permit");
        if (kind == 4) condition.wait(lock);
        if (kind == 5) condition.wait_for(lock, kShort);
        if (kind == 6) latch.count_down();
        if (kind == 7) latch.wait();
        if (kind == 8) group.Add();
        if (kind == 9) group.Done();
        if (kind == 10) group.Wait();
    });
    Require(lock.owns_lock() && !mutex.try_lock(), "a mistake has changed a mutex");
    Require(!latch.try_wait() && !group.IsDone() && !event.IsSet(),
            "a mistake has changed what nobody counted");
}

}  // namespace fuzz
