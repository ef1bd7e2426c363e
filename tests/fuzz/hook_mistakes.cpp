// Calls that wait, from a hook. Each must be reported once and must not wait.
#include "fuzz/world.h"
#include "weft/algorithms/parallel_for.h"
#include "weft/sync/condition_variable.h"
#include "weft/sync/event.h"
#include "weft/sync/latch.h"
#include "weft/sync/mutex.h"
#include "weft/sync/semaphore.h"

namespace fuzz {

using namespace weft;

namespace {

constexpr std::chrono::microseconds kShort{50};

void WaitInHook(TaskScheduler &inside, uint32_t which) {
    const Task task{Leaf, nullptr};
    Counter counter(1);
    Counter *list[1] = {&counter};
    if (which == 0) inside.Yield();
    if (which == 1) inside.WaitForCounter(&counter);
    if (which == 2) inside.AddTasksAndWait(1, &task);
    if (which == 3) inside.WaitIdle();
    if (which == 4) Require(inside.RunPinnedTasks() == 0, "a hook ran pinned tasks");
    if (which == 5) Require(inside.WaitForAny(1, list) == 1, "a hook's WaitForAny has an answer");
    if (which == 6) SleepFor(inside, kShort);
    if (which == 7)
        Require(!WaitForCounterFor(inside, &counter, kShort), "a hook has waited for a counter");
    if (which == 8)
        Require(!WaitForCounterOrCancel(inside, &counter, {}), "a hook has waited for a counter");
    if (which == 9) ParallelFor(inside, 0, 4, [](int) { Finding("a hook's loop ran"); });
}

void WaitForSignalInHook(TaskScheduler &inside, uint32_t which) {
    if (which == 0) {
        Mutex mutex(inside);
        mutex.lock();
        Require(!mutex.try_lock_for(kShort), "a hook has locked what is locked");
    } else if (which == 1) {
        Require(!Event(inside).WaitFor(kShort), "a hook has passed an event");
    } else if (which == 2) {
        Require(!Semaphore(inside).try_acquire_for(kShort), "a hook has a permit");
    } else if (which == 3) {
        Mutex mutex(inside);
        std::unique_lock<Mutex> lock(mutex);
        ConditionVariable condition(inside);
        Require(condition.wait_for(lock, kShort) == std::cv_status::timeout, "a hook was notified");
    } else if (which == 4) {
        Latch(inside, 1).wait();
    } else {
        CancelSource source(inside);
        // A sleep whose time has passed is no mistake, so the time must be far away, even if the
        // thread is preempted.
        Require(!SleepUntilOrCancel(inside, Now() + std::chrono::hours(1), source.Token()),
                "a hook has slept");
    }
}

}  // namespace

void World::AbuseInHook(TaskScheduler &inside) {
    constexpr uint32_t kPlain = 10, kSignals = 6;
    const uint32_t which = m_hookCalls.load() / 4 % (kPlain + kSignals);
    oracle.Expect(ReportCode::InHook, [&] {
        which < kPlain ? WaitInHook(inside, which) : WaitForSignalInHook(inside, which - kPlain);
    });
}

}  // namespace fuzz
