// The gate between a TaskScheduler and threads that are none of its workers: while one is inside a
// call the scheduler's memory stays, and the end of a run is decided while nobody is inside.
//
// Coming in raises a count and then looks whether somebody is deciding; who decides says so and
// then waits until the counts are zero. All four are seq_cst, so that one of the two sees the
// other: a call is either waited for, or waits until it is decided whether there is a scheduler to
// call. Calls are short: a thread that blocks in one becomes a guest (external.h) and goes out.
#pragma once

#include "platform/backoff.h"
#include "platform/env.h"
#include "scheduler/state/scheduler_state.h"
#include "weft/task_scheduler.h"

#include <new>

namespace weft::internal {

struct EntryGate {
    static SchedulerState &StateOf(TaskScheduler &scheduler) noexcept {
        static_assert(sizeof(SchedulerState) <= sizeof scheduler.m_storage,
                      "the public class has room for it");
        return *std::launder(reinterpret_cast<SchedulerState *>(scheduler.m_storage));
    }
    static const SchedulerState &StateOf(const TaskScheduler &scheduler) noexcept {
        return *std::launder(reinterpret_cast<const SchedulerState *>(scheduler.m_storage));
    }
    static void Construct(TaskScheduler &scheduler, const SchedulerOptions &options) noexcept {
        new (scheduler.m_storage) SchedulerState(options);
    }
    static const SchedulerOptions &OptionsOf(const TaskScheduler &taskScheduler) noexcept {
        return StateOf(taskScheduler).options;
    }

    static void Open(TaskScheduler &taskScheduler, Scheduler *scheduler) noexcept {
        StateOf(taskScheduler).scheduler.store(scheduler, kSeqCst);
    }

    /// One call by a thread that is no worker. Its parts go through the same stripe of the count.
    class Visit {
    public:
        explicit Visit(TaskScheduler &taskScheduler) noexcept
            : m_state(StateOf(taskScheduler)),
              m_stripe(m_state.stripes[env::ThreadHint() % kStripes]) {}
        Visit(const Visit &) = delete;
        Visit &operator=(const Visit &) = delete;

        /// The scheduler, or null if it does not run; GoOut in either case.
        Scheduler *ComeIn() noexcept {
            for (;;) {
                m_stripe.inside.fetch_add(1, kSeqCst);  // [order]
                if (m_state.closing.load(kSeqCst) == 0) return Running();
                GoOut();
                Await([&] { return m_state.closing.load(kAcquire) == 0; });
            }
        }
        /// For who is inside: it stays until GoOut.
        Scheduler *Running() const noexcept { return m_state.scheduler.load(kSeqCst); }
        /// For a guest, whom the end of the run waits for anyway.
        void ComeBack() noexcept { m_stripe.inside.fetch_add(1, kSeqCst); }
        /// release: what was done inside comes before what the decider does when it reads the
        /// count.
        void GoOut() noexcept { m_stripe.inside.fetch_sub(1, kRelease); }

    private:
        SchedulerState &m_state;
        SchedulerState::Stripe &m_stripe;
    };

    /// seq_cst: what a call that is not seen here did is seen afterwards.
    static bool NobodyInside(const TaskScheduler &taskScheduler) noexcept {
        for (const SchedulerState::Stripe &stripe : StateOf(taskScheduler).stripes) {
            if (stripe.inside.load(kSeqCst) != 0) return false;
        }
        return true;
    }

    /// Closes the gate if `isOver()`, which is asked while nobody is inside a call, and returns
    /// what it said. A guest that leaves comes back first, ceases to be a guest, and goes out: so,
    /// when the last guest has gone, nobody is inside only if the last guest is out.
    template <class IsOver>
    static bool Close(TaskScheduler &closed, IsOver isOver) noexcept {
        SchedulerState &taskScheduler = StateOf(closed);
        // seq_cst: see above. Whoever decides at the same time waits: what it has seen may be
        // newer.
        while (taskScheduler.closing.exchange(1, kSeqCst) != 0)
            Await([&] { return taskScheduler.closing.load(kRelaxed) == 0; });
        bool over;
        do {
            Await([&] { return NobodyInside(closed); });
            over = isOver();
        } while (over && !NobodyInside(closed));
        if (over) taskScheduler.scheduler.store(nullptr, kSeqCst);
        taskScheduler.closing.store(0, kSeqCst);
        return over;
    }

private:
    static constexpr uint32_t kStripes =
        sizeof(SchedulerState::stripes) / sizeof(SchedulerState::Stripe);

    template <class Condition>
    static void Await(Condition condition) noexcept {
        for (Backoff backoff; !condition(); backoff.Next()) {
        }
    }
};

}  // namespace weft::internal
