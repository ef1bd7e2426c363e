// What all scripts of an input use together, with a note of who is where.
#pragma once

#include "fuzz/oracle.h"
#include "weft/blocking/blocking_calls.h"
#include "weft/data/fiber_local.h"
#include "weft/data/worker_local.h"
#include "weft/sync/condition_variable.h"
#include "weft/sync/event.h"
#include "weft/sync/mutex.h"
#include "weft/sync/semaphore.h"
#include "weft/sync/shared_mutex.h"
#include "weft/sync/ticket_queue.h"

#include <atomic>
#include <cstdint>
#include <mutex>
#include <optional>

namespace fuzz {

class Script;

/// A place for `most` at once.
class Place {
public:
    explicit Place(uint32_t most) : m_most(most) {}
    void Enter() { Require(m_inside.fetch_add(1) < m_most, "too many inside"); }
    void Leave() { Require(m_inside.fetch_sub(1) != 0, "somebody leaves who was not inside"); }
    bool IsEmpty() const { return m_inside.load() == 0; }

private:
    const uint32_t m_most;
    std::atomic<uint32_t> m_inside{0};
};

struct Shared {
    static constexpr uint32_t kUsers = 2, kCallThreads = 2;

    Shared(weft::TaskScheduler &scheduler, const weft::SchedulerOptions &options);
    /// When all is over: nobody is inside, and nothing is lost.
    void CheckEnd();

    /// Of two the first is locked first.
    struct Guarded {
        explicit Guarded(weft::TaskScheduler &scheduler) : mutex(scheduler) {}
        weft::Mutex mutex;
        Place place{1};
        void Enter();
        void Leave();

    private:
        uint64_t m_entered = 0, m_left = 0;  // as the mutex says: these are not atomic
    } guarded[2];

    weft::SharedMutex sharedMutex;
    Place writers{1}, readers{~0u};

    /// Takers wait until there is something. Whoever takes has put something before, or puts it
    /// back. The mutex is held by nobody who waits.
    weft::Mutex stockMutex;
    weft::ConditionVariable stocked;
    uint32_t stock = 0;
    void Put();

    weft::Semaphore semaphore;
    Place users{kUsers};

    weft::Event manualEvent, autoEvent;

    weft::TicketQueue tickets;
    std::mutex ticketOrder;  // of Take, and of the numbers
    uint32_t taken = 0, done = 0;

    std::optional<weft::BlockingCalls> calls;  ///< until all is over

    weft::WorkerLocal<uint64_t> hits;
    std::atomic<uint64_t> allHits{0};
    weft::FiberLocal<const Script *> script;  ///< that plays
};

}  // namespace fuzz
