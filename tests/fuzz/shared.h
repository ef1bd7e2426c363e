// Objects that all scripts of an input use together, with checks of who uses them at the same time.
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

/// A section that at most `most` may enter at once.
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
    /// Called at the end of the input: no script is inside, and nothing is lost.
    void CheckEnd();

    /// Lock order: a script that needs both locks guarded[0] before guarded[1].
    struct Guarded {
        explicit Guarded(weft::TaskScheduler &scheduler) : mutex(scheduler) {}
        weft::Mutex mutex;
        Place place{1};
        void Enter();
        void Leave();

    private:
        uint64_t m_entered = 0, m_left = 0;  // not atomic: protected by the mutex
    } guarded[2];

    weft::SharedMutex sharedMutex;
    Place writers{1}, readers{~0u};

    /// Takers wait until there is an item. A taker adds an item before, or puts its item back. No
    /// script holds the mutex while it waits.
    weft::Mutex stockMutex;
    weft::ConditionVariable stocked;
    uint32_t stock = 0;
    void Put();

    weft::Semaphore semaphore;
    Place users{kUsers};

    weft::Event manualEvent, autoEvent;

    weft::TicketQueue tickets;
    std::mutex ticketOrder;  // protects Take and the numbers
    uint32_t taken = 0, done = 0;

    std::optional<weft::BlockingCalls> calls;  ///< destroyed at the end of the input

    weft::WorkerLocal<uint64_t> hits;
    std::atomic<uint64_t> allHits{0};
    weft::FiberLocal<const Script *> script;  ///< the script that the fiber plays
};

}  // namespace fuzz
