// The gate between a TaskScheduler and threads that are none of its workers: while one is inside a call the scheduler's
// memory stays, and the end of a run is decided while nobody is inside.
//
// Coming in raises a count and then looks whether somebody is deciding; who decides says so and then waits until the
// counts are zero. All four are seq_cst, so that one of the two sees the other: a call is either waited for, or waits
// until it is decided whether there is a scheduler to call. Calls are short: a thread that blocks in one becomes a guest
// (foreign.h) and goes out.
#pragma once

#include "platform/env.h"
#include "weft/task_scheduler.h"

namespace weft::internal {

struct Gate {
    using Life = TaskScheduler::Life;

    static const SchedulerOptions &OptionsOf(const TaskScheduler &facade) noexcept { return facade.m_options; }
    static std::atomic<Life> &LifeOf(TaskScheduler &facade) noexcept { return facade.m_life; }
    static Scheduler *&StartedOf(TaskScheduler &facade) noexcept { return facade.m_started; }

    static void Open(TaskScheduler &facade, Scheduler *scheduler) noexcept {
        facade.m_scheduler.store(scheduler, kSeqCst);
    }

    /// One call by a thread that is no worker. Its parts go through the same stripe of the count.
    class Visit {
    public:
        explicit Visit(TaskScheduler &facade) noexcept
            : m_facade(facade), m_stripe(facade.m_stripes[env::ThreadHint() % kStripes]) {}
        Visit(const Visit &) = delete;
        Visit &operator=(const Visit &) = delete;

        /// The scheduler, or null if it does not run; GoOut in either case.
        Scheduler *ComeIn() noexcept {
            for (;;) {
                m_stripe.inside.fetch_add(1, kSeqCst);
                if (m_facade.m_closing.load(kSeqCst) == 0) return m_facade.m_scheduler.load(kSeqCst);
                GoOut();
                Await([&] { return m_facade.m_closing.load(kAcquire) == 0; });
            }
        }
        /// For a guest, whom the end of the run waits for anyway.
        void ComeBack() noexcept { m_stripe.inside.fetch_add(1, kSeqCst); }
        /// release: what was done inside comes before what the decider does when it reads the count.
        void GoOut() noexcept { m_stripe.inside.fetch_sub(1, kRelease); }

    private:
        TaskScheduler &m_facade;
        TaskScheduler::Stripe &m_stripe;
    };

    /// seq_cst: what a call that is not seen here did is seen afterwards.
    static bool NobodyInside(const TaskScheduler &facade) noexcept {
        for (const TaskScheduler::Stripe &stripe : facade.m_stripes) {
            if (stripe.inside.load(kSeqCst) != 0) return false;
        }
        return true;
    }

    /// Closes the gate if `isOver()`, which is asked while nobody is inside a call, and returns what it said. A guest that
    /// leaves comes back first, ceases to be a guest, and goes out: so, when the last guest has gone, nobody is inside only
    /// if the last guest is out.
    template <class IsOver>
    static bool Close(TaskScheduler &facade, IsOver isOver) noexcept {
        // seq_cst: see above. Whoever decides at the same time waits: what it has seen may be newer.
        while (facade.m_closing.exchange(1, kSeqCst) != 0) Await([&] { return facade.m_closing.load(kRelaxed) == 0; });
        bool over;
        do {
            Await([&] { return NobodyInside(facade); });
            over = isOver();
        } while (over && !NobodyInside(facade));
        if (over) facade.m_scheduler.store(nullptr, kSeqCst);
        facade.m_closing.store(0, kSeqCst);
        return over;
    }

private:
    static constexpr uint32_t kStripes = sizeof(TaskScheduler::m_stripes) / sizeof(TaskScheduler::Stripe);

    template <class Condition>
    static void Await(Condition condition) noexcept {
        for (uint32_t spins = 0; !condition(); ++spins) spins < 100 ? env::Pause() : env::YieldThread();
    }
};

}  // namespace weft::internal
