// The gate between a TaskScheduler and threads that are none of its workers: while one is inside a
// call the scheduler's memory stays, and the end of a run is decided while nobody is inside.
//
// Coming in raises a count and then looks whether somebody is deciding; who decides says so and
// then waits until the counts are zero. All four are seq_cst, so that one of the two sees the
// other: a call is either waited for, or waits until it is decided whether there is a scheduler to
// call. Calls are short: a thread that blocks in one becomes a guest (foreign.h) and goes out.
#pragma once

#include "platform/env.h"
#include "platform/turns.h"
#include "scheduler/facade.h"
#include "weft/task_scheduler.h"

#include <new>

namespace weft::internal {

struct Gate {
    static Facade &FacadeOf(TaskScheduler &scheduler) noexcept {
        static_assert(sizeof(Facade) <= sizeof scheduler.m_storage,
                      "the public class has room for it");
        return *std::launder(reinterpret_cast<Facade *>(scheduler.m_storage));
    }
    static const Facade &FacadeOf(const TaskScheduler &scheduler) noexcept {
        return *std::launder(reinterpret_cast<const Facade *>(scheduler.m_storage));
    }
    static void Construct(TaskScheduler &scheduler, const SchedulerOptions &options) noexcept {
        new (scheduler.m_storage) Facade(options);
    }
    static const SchedulerOptions &OptionsOf(const TaskScheduler &facade) noexcept {
        return FacadeOf(facade).options;
    }

    static void Open(TaskScheduler &facade, Scheduler *scheduler) noexcept {
        FacadeOf(facade).scheduler.store(scheduler, kSeqCst);
    }

    /// One call by a thread that is no worker. Its parts go through the same stripe of the count.
    class Visit {
    public:
        explicit Visit(TaskScheduler &facade) noexcept
            : m_facade(FacadeOf(facade)),
              m_stripe(m_facade.stripes[env::ThreadHint() % kStripes]) {}
        Visit(const Visit &) = delete;
        Visit &operator=(const Visit &) = delete;

        /// The scheduler, or null if it does not run; GoOut in either case.
        Scheduler *ComeIn() noexcept {
            for (;;) {
                m_stripe.inside.fetch_add(1, kSeqCst);  // [order]
                if (m_facade.closing.load(kSeqCst) == 0) return Running();
                GoOut();
                Await([&] { return m_facade.closing.load(kAcquire) == 0; });
            }
        }
        /// For who is inside: it stays until GoOut.
        Scheduler *Running() const noexcept { return m_facade.scheduler.load(kSeqCst); }
        /// For a guest, whom the end of the run waits for anyway.
        void ComeBack() noexcept { m_stripe.inside.fetch_add(1, kSeqCst); }
        /// release: what was done inside comes before what the decider does when it reads the
        /// count.
        void GoOut() noexcept { m_stripe.inside.fetch_sub(1, kRelease); }

    private:
        Facade &m_facade;
        Facade::Stripe &m_stripe;
    };

    /// seq_cst: what a call that is not seen here did is seen afterwards.
    static bool NobodyInside(const TaskScheduler &facade) noexcept {
        for (const Facade::Stripe &stripe : FacadeOf(facade).stripes) {
            if (stripe.inside.load(kSeqCst) != 0) return false;
        }
        return true;
    }

    /// Closes the gate if `isOver()`, which is asked while nobody is inside a call, and returns
    /// what it said. A guest that leaves comes back first, ceases to be a guest, and goes out: so,
    /// when the last guest has gone, nobody is inside only if the last guest is out.
    template <class IsOver>
    static bool Close(TaskScheduler &closed, IsOver isOver) noexcept {
        Facade &facade = FacadeOf(closed);
        // seq_cst: see above. Whoever decides at the same time waits: what it has seen may be
        // newer.
        while (facade.closing.exchange(1, kSeqCst) != 0)
            Await([&] { return facade.closing.load(kRelaxed) == 0; });
        bool over;
        do {
            Await([&] { return NobodyInside(closed); });
            over = isOver();
        } while (over && !NobodyInside(closed));
        if (over) facade.scheduler.store(nullptr, kSeqCst);
        facade.closing.store(0, kSeqCst);
        return over;
    }

private:
    static constexpr uint32_t kStripes = sizeof(Facade::stripes) / sizeof(Facade::Stripe);

    template <class Condition>
    static void Await(Condition condition) noexcept {
        for (Turns turns; !condition(); turns.Next()) {
        }
    }
};

}  // namespace weft::internal
