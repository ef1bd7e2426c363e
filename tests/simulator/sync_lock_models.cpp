// Models of the mutexes and the semaphore of weft/sync/, which tasks and a thread of the host use
// together. The protected data has relaxed order, so that --weak shows values that are too old.
#include "simulator/sync_support.h"
#include "weft/sync/event.h"
#include "weft/sync/mutex.h"
#include "weft/sync/semaphore.h"
#include "weft/sync/shared_mutex.h"

#include <mutex>
#include <shared_mutex>

namespace simulator {

namespace {

// Tasks and a thread lock a mutex, some with a timeout. One at a time may hold it, and must see
// what the previous holder wrote.
void SyncMutex() {
    WithScheduler([](TaskScheduler &scheduler) {
        Mutex mutex(scheduler);
        Cell sum, inside;
        uint32_t entered = 0;
        AllAtOnce(scheduler, 2 + Random(2), [&](TaskScheduler &self, uint32_t) {
            for (uint32_t i = 1 + Random(2); i != 0; --i) {
                std::unique_lock<Mutex> lock(mutex, std::defer_lock);
                if (Random(3) != 0) {
                    lock.lock();
                } else if (!lock.try_lock_for(Soon())) {
                    continue;
                }
                Check(inside.Get() == 0, "a mutex has two owners");
                inside.Set(1);
                sum.Add(1);
                ++entered;
                if (Random(3) == 0 && self.CurrentWorker() != kAnyWorker) self.Yield();
                inside.Set(0);
            }
        });
        Check(mutex.try_lock(), "the mutex is still locked");
        Check(sum.Get() == entered, "what was written under the mutex was lost");
        mutex.unlock();
    });
}

// The last user of a mutex destroys it after it has unlocked it. It is the last waiter, or it finds
// the mutex free. Shows an access of an earlier unlock to a mutex that is gone.
void SyncMutexLifetime() {
    WithScheduler([](TaskScheduler &scheduler) {
        Mortal<Mutex> mutex(scheduler);
        mutex->lock();
        const uint32_t others = Random(2);
        uint32_t left = others;  // protected by the mutex
        bool isLast = false;
        auto other = [&](TaskScheduler *) {
            const std::lock_guard<Mutex> lock(*mutex);
            --left;
        };
        auto last = [&](TaskScheduler *self) {
            for (;;) {
                mutex->lock();
                isLast = left == 0;
                mutex->unlock();
                if (isLast) break;
                self->Yield();
            }
            mutex.Die();
        };
        Counter counter;
        for (uint32_t i = 0; i < others; ++i) scheduler.AddTask(MakeTask(other), &counter);
        scheduler.AddTask(MakeTask(last), &counter);
        Linger(64);
        mutex->unlock();
        scheduler.WaitForCounter(&counter);
    });
}

// The run ends while a thread of the host begins to wait for a mutex or an event, so a notifier may
// be unable to use the scheduler. The wait must still end.
void SyncStops() {
    StartedScheduler scheduler(Options<ReportCode::Stalled, ReportCode::NotRunning>(1, 7));
    Mutex mutex(scheduler);
    mutex.lock();
    Event event(scheduler);
    Cell data;
    const bool isEvent = Random(2) != 0;
    RunningThread waiter([&] {
        isEvent ? event.Wait() : mutex.lock();
        Check(data.Get() == 1, "an earlier write is not visible after the wait");
    });
    RunningThread holder([&] {
        Linger(64);
        data.Set(1);
        isEvent ? event.Set() : mutex.unlock();
    });
    Linger(32);
    scheduler.Stop();
    waiter.Join();
    holder.Join();
}

// A task locks the mutex without end until a waiter has got it. The waiter must get it: newcomers
// may overtake it only a bounded number of times.
void SyncFair() {
    WithScheduler([](TaskScheduler &scheduler) {
        Mutex mutex(scheduler);
        bool got = false;
        AllAtOnce(scheduler, 1, [&](TaskScheduler &, uint32_t index) {
            if (index == 0) {
                const std::lock_guard<Mutex> lock(mutex);
                got = true;
                return;
            }
            while (!got) {
                const std::lock_guard<Mutex> lock(mutex);
                weft::env::SchedulePoint(nullptr);
            }
        });
    });
}

// Readers and writers of a SharedMutex, some with a timeout. A writer must be alone, and no write
// may be lost.
void SyncShared() {
    WithScheduler([](TaskScheduler &scheduler) {
        SharedMutex mutex(scheduler);
        Cell one, two;
        uint32_t writes = 0, readers = 0;
        AllAtOnce(scheduler, 2 + Random(2), [&](TaskScheduler &self, uint32_t) {
            const auto mayWait = [&] {
                if (Random(3) == 0 && self.CurrentWorker() != kAnyWorker) self.Yield();
            };
            const auto take = [](auto &lock) {
                return Random(2) != 0 ? (lock.lock(), true) : lock.try_lock_for(Soon());
            };
            for (uint32_t i = 1 + Random(2); i != 0; --i) {
                if (Random(2) != 0) {
                    std::unique_lock<SharedMutex> lock(mutex, std::defer_lock);
                    if (!take(lock)) continue;
                    one.Add(1);
                    mayWait();
                    Check(readers == 0, "a reader and a writer hold the lock at the same time");
                    two.Add(1);
                    ++writes;
                } else {
                    std::shared_lock<SharedMutex> lock(mutex, std::defer_lock);
                    if (!take(lock)) continue;
                    ++readers;
                    mayWait();
                    Check(one.Get() == two.Get(), "a reader saw half of a write");
                    --readers;
                }
            }
        });
        Check(mutex.try_lock(), "the mutex is still locked");
        Check(one.Get() == writes, "a write was lost");
        mutex.unlock();
    });
}

// Two threads unlock a mutex that was locked once, while a task waits for it and no worker is free
// to run this task. WrongThread must be reported to one of them, and the mutex must stay intact.
void SyncUnlockedTwice() {
    uint32_t refused = 0;
    SchedulerOptions options = Options(1, 7);
    options.user = &refused;
    options.onReport = [](const Report &report, void *user) {
        if (report.code != ReportCode::WrongThread)
            return OnlyThese<ReportCode::Stalled>(report, user);
        ++*static_cast<uint32_t *>(user);
    };
    StartedScheduler scheduler(options);
    Mutex mutex(scheduler);
    weft::env::Atomic<bool> isBusy{false}, isOver{false};
    auto wait = [&](TaskScheduler *) { const std::lock_guard<Mutex> lock(mutex); };
    auto keepBusy = [&](TaskScheduler *) {
        isBusy.store(true, std::memory_order_release);
        while (!isOver.load(std::memory_order_acquire)) weft::env::Pause();
    };
    mutex.lock();
    Counter ended;
    scheduler.AddTask(MakeTask(wait), &ended);
    SleepFor(scheduler, Soon());  // in most schedules the task waits by then
    scheduler.AddTask(MakeTask(keepBusy), &ended);
    while (!isBusy.load(std::memory_order_acquire)) weft::env::Pause();
    RunningThread host([&] { mutex.unlock(); });
    mutex.unlock();
    host.Join();
    Check(refused == 1, "a second unlock was not reported exactly once");
    isOver.store(true, std::memory_order_release);
    scheduler.WaitForCounter(&ended);
    Check(mutex.try_lock() && !mutex.try_lock(), "the mutex has two owners, or cannot be locked");
    scheduler.Stop();
}

// Permits are released, acquired and waited for with a timeout. No permit may be lost or appear
// from nowhere, and acquire must see what was written before release.
void SyncSemaphore() {
    WithScheduler([](TaskScheduler &scheduler) {
        Semaphore semaphore(scheduler, 1);
        Cell written[3];
        uint32_t acquired = 0;
        AllAtOnce(scheduler, 2, [&](TaskScheduler &, uint32_t index) {
            if (index == Random(3) && semaphore.try_acquire_for(Soon())) ++acquired;
            written[index].Set(1);
            semaphore.release(1 + (index == 0));
            if (index == 1) {
                semaphore.acquire();
                ++acquired;
            }
        });
        uint32_t left = 0;
        while (semaphore.try_acquire()) ++left;
        Check(acquired + left == 1 + 4, "a permit was lost, or there is one too many");
        for (const Cell &each : written)
            Check(each.Get() == 1, "a write before release is not visible after acquire");
    });
}

// Permits of two semaphores are waited for by a task without a fiber, and by waits for the first of
// both, one of them with a timeout. Each permit must go to one of them, or be left.
void SyncSemaphoreAny() {
    WithScheduler([](TaskScheduler &scheduler) {
        Semaphore a(scheduler), b(scheduler);
        Semaphore *const both[] = {&a, &b};
        Cell data[2];
        uint32_t taken = 0;
        const auto take = [&](uint32_t which) {
            Check(data[which].Get() == 1, "an earlier write is not visible after the wait");
            ++taken;
        };
        QueuedTask place;
        Counter ran;
        auto task = [&](TaskScheduler *) { take(1); };
        const uint32_t releaser = Random(3), timed = (releaser + 1) % 3;
        AllAtOnce(scheduler, 2, [&](TaskScheduler &, uint32_t index) {
            if (index == releaser) {
                for (const uint32_t i : {0u, 1u}) {
                    data[i].Set(1);
                    for (uint32_t left = 1 + 2 * i; left != 0; --left) both[i]->release();
                }
            } else if (index == timed) {
                Check(b.AddTask(place, MakeTask(task), &ran), "a task was refused");
                const uint32_t got = WaitForAnyFor(scheduler, both, Soon());
                if (got != 2) take(got);
            } else {
                take(WaitForAny(scheduler, both));
            }
        });
        scheduler.WaitForCounter(&ran);
        uint32_t left = 0;
        for (Semaphore *each : both) {
            while (each->try_acquire()) ++left;
        }
        Check(taken + left == 4, "a permit was lost, or there is one too many");
    });
}

}  // namespace

std::vector<Model> SyncLockModels() {
    return {
        {"sync_mutex", "a mutex, some of whose waiters give up", SyncMutex},
        {"sync_mutex_dies", "the last owner of a mutex destroys it", SyncMutexLifetime},
        {"sync_stops", "the run ends while a thread begins to wait", SyncStops},
        {"sync_fair", "newcomers keep locking until a waiter has its turn", SyncFair, 4},
        {"sync_shared", "readers and writers; some give up", SyncShared},
        {"sync_unlocked_twice", "two tasks unlock a mutex that one has locked, while others wait",
         SyncUnlockedTwice},
        {"sync_semaphore", "permits that are released, acquired and given up", SyncSemaphore},
        {"sync_semaphore_any", "waits for the first of two semaphores, and a task for a permit",
         SyncSemaphoreAny},
    };
}

}  // namespace simulator
