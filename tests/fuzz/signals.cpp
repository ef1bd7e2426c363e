// Condition variables, semaphores, events, latches and wait groups. Objects that only one script
// uses are destroyed as soon as the script's wait has returned, even if helpers have not returned
// yet.
#include "fuzz/script.h"
#include "fuzz/shared.h"
#include "weft/sync/latch.h"
#include "weft/sync/wait_group.h"

#include <mutex>

namespace fuzz {

using namespace weft;

namespace {

template <class T>
T &TargetOf(void *cell) {
    return *static_cast<T *>(static_cast<Cell *>(cell)->target);
}

void Putting(TaskScheduler *scheduler, void *cell) {
    Leaf(scheduler, cell);
    TargetOf<Shared>(cell).Put();
}

void Releasing(TaskScheduler *scheduler, void *cell) {
    Leaf(scheduler, cell);
    TargetOf<Semaphore>(cell).release();
}

void Setting(TaskScheduler *scheduler, void *cell) {
    Leaf(scheduler, cell);
    TargetOf<Event>(cell).Set();
}

void CountingDown(TaskScheduler *scheduler, void *cell) {
    Leaf(scheduler, cell);
    TargetOf<Latch>(cell).count_down();
}

void Finishing(TaskScheduler *scheduler, void *cell) {
    Leaf(scheduler, cell);
    const std::unique_ptr<WaitGroup> group(&TargetOf<WaitGroup>(cell));
    group->Done();
}

}  // namespace

void Script::UseCondition() {
    Shared &shared = *m_world.shared;
    const uint32_t how = m_bytes.Below(4);
    if (how == 0)
        return m_bytes.Below(2) == 0 ? shared.stocked.notify_one() : shared.stocked.notify_all();
    if (!m_mayWait) return;
    if (how == 1) {
        const Clock::duration duration = Short();
        std::unique_lock<Mutex> lock(shared.stockMutex);
        const bool took =
            shared.stocked.wait_for(lock, duration, [&] { return shared.stock != 0; });
        Require(lock.owns_lock() && took == (shared.stock != 0), "a condition does not hold");
        if (took) --shared.stock;
        lock.unlock();
        if (took) shared.Put();
        return;
    }
    const Spares spare(m_world, 1);
    Counter put;
    Cell *cell = spare.Count() != 0 ? m_world.NewCells(1) : nullptr;
    if (cell == nullptr) return;
    cell->accepted = true;
    cell->target = &shared;
    m_scheduler.AddTask({Putting, cell}, &put, Options());
    {
        std::unique_lock<Mutex> lock(shared.stockMutex);
        if (how == 2) {
            shared.stocked.wait(lock, [&] { return shared.stock != 0; });
        } else {
            while (shared.stock == 0)
                shared.stocked.wait_until(lock, Now() + std::chrono::microseconds(20));
        }
        Require(lock.owns_lock() && shared.stock != 0, "a condition does not hold");
        --shared.stock;
    }
    m_scheduler.WaitForCounter(&put);
}

void Script::UseSemaphore() {
    Shared &shared = *m_world.shared;
    const uint32_t how = m_bytes.Below(5);
    if (how == 4 && m_mayWait) {
        Semaphore own(m_scheduler);
        const uint32_t count = m_bytes.Below(6);
        if (AddHelpers(count, Releasing, &own, SomeCounter()) == nullptr) return;
        for (uint32_t i = 0; i < count; ++i) own.acquire();
        return;
    }
    bool acquired = true;
    if (!m_mayWait || how == 0) {
        acquired = shared.semaphore.try_acquire();
    } else if (how == 1) {
        acquired = shared.semaphore.try_acquire_for(Short());
    } else if (how == 2) {
        acquired = shared.semaphore.try_acquire_until(Soon());
    } else {
        shared.semaphore.acquire();
    }
    if (!acquired) return;
    shared.users.Enter();
    Inside();
    shared.users.Leave();
    shared.semaphore.release();
}

// The events that all scripts share. It is unknown who sets them next, so waits need a timeout.
void Script::UseEvent() {
    const uint32_t how = m_bytes.Below(12);
    Event &event = how % 2 == 0 ? m_world.shared->manualEvent : m_world.shared->autoEvent;
    if (how < 4) event.Set();
    if (how / 2 == 2) event.Reset();
    if (how / 2 == 3) event.TryWait();
    if (how / 2 == 4 && m_mayWait) event.WaitFor(Short());
    if (how / 2 == 5 && m_mayWait) event.WaitUntil(Soon());
}

void Script::UseOwnEvent() {
    if (!m_mayWait) return;
    const uint32_t how = m_bytes.Below(8);
    const EventReset reset = how % 2 == 0 ? EventReset::Manual : EventReset::Auto;
    Event own(m_scheduler, reset, how >= 4);
    if (how >= 4) {
        Require(own.IsSet() && own.TryWait(), "an event that was made set is not");
        Require(own.IsSet() == (reset == EventReset::Manual), "an event stays set, or does not");
        own.Reset();
    }
    Require(!own.TryWait(), "an event is set");
    if (AddHelpers(1, Setting, &own, SomeCounter()) == nullptr) return;
    if ((how & 2) == 0) return own.Wait();
    while (!own.WaitFor(std::chrono::microseconds(20))) {
    }
}

void Script::UseLatch() {
    const uint32_t count = m_bytes.Below(8);
    const bool early = m_bytes.Below(2) != 0;
    if (!m_mayWait) return;
    Latch latch(m_scheduler, count + 1);
    Cell *cells = AddHelpers(count, CountingDown, &latch, SomeCounter());
    if (cells == nullptr) return;
    Require(!latch.try_wait(), "a latch is at zero too early");
    if (early) {
        latch.count_down();
        latch.wait();
    } else {
        latch.arrive_and_wait();
    }
    for (uint32_t i = 0; i < count; ++i)
        Require(cells[i].ran.load() == 1, "a latch is at zero too early");
}

// The group may also be given up without a wait. Its last handle destroys it.
void Script::UseWaitGroup() {
    const uint32_t count = m_bytes.Below(8), how = m_bytes.Below(3);
    Cell *cells = m_world.NewCells(count);
    if (cells == nullptr) return;
    WaitGroup group(m_scheduler), other(m_scheduler, count);
    group = other;
    const TaskOptions options = Options();
    Counter *counter = SomeCounter();
    for (uint32_t i = 0; i < count; ++i) {
        cells[i].accepted = true;
        cells[i].target = new WaitGroup(group);
        m_scheduler.AddTask({Finishing, &cells[i]}, counter, options);
    }
    if (how != 0) {
        other.Add(2);
        Require(!group.IsDone(), "a group is done too early");
        for (uint32_t i = 0; i < 2; ++i) group.Done();
    }
    if (how != 2 || !m_mayWait) return;
    group.Wait();
    for (uint32_t i = 0; i < count; ++i)
        Require(cells[i].ran.load() == 1, "a group is done too early");
}

}  // namespace fuzz
