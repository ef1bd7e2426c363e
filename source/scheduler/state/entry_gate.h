// The gate that external threads pass when they call a TaskScheduler. While a thread is inside the
// gate, the scheduler's memory stays valid. Whether the run has ended is decided only while no
// thread is inside.
//
// Let the visitor be an external thread in a call, and the closer the thread that checks whether
// the run has ended. The visitor (1) increments a count and then (2) reads `closing`. The closer
// (3) sets `closing` and then (4) waits until all counts are zero. All four are seq_cst. So either
// the visitor sees `closing`, or the closer sees the count. In the first case the visitor goes out
// again and waits until the closer has decided; then it sees whether there still is a scheduler. In
// the second case the closer waits for the visitor. Calls are short: a thread that blocks in a call
// becomes a guest (scheduler/wait/external.h) and goes out.
#pragma once

#include "platform/backoff.h"
#include "platform/env.h"
#include "weft/options.h"
#include "weft/task_scheduler.h"

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <new>

namespace weft::internal {

struct Scheduler;

/// The state of a TaskScheduler. Idle: it does not run. Running: in Run. Starting, Started,
/// Stopping: from Start to the end of Stop.
enum class Life : uint8_t { Idle, Running, Starting, Started, Stopping };

/// The private members of a TaskScheduler. They also exist while it does not run.
struct SchedulerState {
    explicit SchedulerState(const SchedulerOptions &given) noexcept : options(given) {}

    struct alignas(64) Stripe {
        env::Atomic<uint32_t> inside{0};  // external threads that are inside the gate
    };
    SchedulerOptions options;
    std::atomic<Life> life{Life::Idle};
    Scheduler *started = nullptr;                 // from Start to Stop
    env::Atomic<Scheduler *> scheduler{nullptr};  // null while it does not run
    env::Atomic<uint32_t> closing{0};             // a thread checks whether the run is over
    Stripe stripes[4];
    // The number of ExternalWork objects. On another cache line than the members that each call
    // reads.
    alignas(64) env::Atomic<uint32_t> outside{0};
    std::atomic<const char *> outsideNames[7]{};  // of some of these, for DescribeWaiters
};

/// Gives access to the private state of a TaskScheduler, and implements the gate.
struct EntryGate {
    /// For debuggers: where the state lies in a TaskScheduler.
    static constexpr size_t StateOffset() noexcept { return offsetof(TaskScheduler, m_storage); }
    static SchedulerState &StateOf(TaskScheduler &scheduler) noexcept {
        static_assert(sizeof(SchedulerState) <= sizeof scheduler.m_storage,
                      "the storage in the public class is too small");
        return *std::launder(
            static_cast<SchedulerState *>(static_cast<void *>(scheduler.m_storage)));
    }
    static const SchedulerState &StateOf(const TaskScheduler &scheduler) noexcept {
        return StateOf(const_cast<TaskScheduler &>(scheduler));
    }
    static void Construct(TaskScheduler &scheduler, const SchedulerOptions &options) noexcept {
        new (scheduler.m_storage) SchedulerState(options);
    }
    static const SchedulerOptions &OptionsOf(const TaskScheduler &taskScheduler) noexcept {
        return StateOf(taskScheduler).options;
    }

    /// The run has begun: from now on calls find the scheduler.
    static void Open(TaskScheduler &taskScheduler, Scheduler *scheduler) noexcept {
        StateOf(taskScheduler).scheduler.store(scheduler, kSeqCst);
    }

    /// One call by an external thread. All functions of a Visit use the same stripe of the count.
    class Visit {
    public:
        explicit Visit(TaskScheduler &taskScheduler) noexcept
            : m_state(StateOf(taskScheduler)),
              m_stripe(m_state.stripes[env::ThreadHint() % std::size(m_state.stripes)]) {}
        Visit(const Visit &) = delete;
        Visit &operator=(const Visit &) = delete;

        /// Goes in. Returns the scheduler, or null if it does not run. The caller has to call GoOut
        /// in both cases.
        Scheduler *ComeIn() noexcept {
            for (;;) {
                m_stripe.inside.fetch_add(1, kSeqCst);  // [order]
                if (m_state.closing.load(kSeqCst) == 0) return Running();
                GoOut();
                Await([&] { return m_state.closing.load(kAcquire) == 0; });
            }
        }
        /// Returns the scheduler, or null if it does not run. The caller must be inside. The
        /// scheduler stays until GoOut.
        Scheduler *Running() const noexcept { return m_state.scheduler.load(kSeqCst); }
        /// Goes in without a look at `closing`. Only for a guest, for whom the end of the run waits
        /// anyway.
        void ComeBack() noexcept { m_stripe.inside.fetch_add(1, kSeqCst); }
        /// Goes out. release: the closer that reads the count in NobodyInside sees what was done
        /// inside.
        void GoOut() noexcept { m_stripe.inside.fetch_sub(1, kRelease); }

    private:
        SchedulerState &m_state;
        SchedulerState::Stripe &m_stripe;
    };

    /// Returns true if no thread is inside. seq_cst: this is step 4 above. The caller also sees
    /// what was done in calls that have gone out.
    static bool NobodyInside(const TaskScheduler &taskScheduler) noexcept {
        for (const SchedulerState::Stripe &stripe : StateOf(taskScheduler).stripes) {
            if (stripe.inside.load(kSeqCst) != 0) return false;
        }
        return true;
    }

    /// Closes the gate if isOver() returns true, and returns that result. isOver() is called while
    /// no thread is inside.
    ///
    /// A guest that stops being one goes in first (ComeBack), then lowers the number of guests, and
    /// then goes out. So if isOver() sees that the last guest is gone, NobodyInside() is true only
    /// after that guest has gone out. That is why NobodyInside() is called once more after
    /// isOver().
    template <class IsOver>
    static bool Close(TaskScheduler &closed, IsOver isOver) noexcept {
        SchedulerState &taskScheduler = StateOf(closed);
        // seq_cst: see the top of this file. If several threads want to close the gate, they do so
        // one after the other. Each calls isOver() itself, because it may know of newer events.
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
    template <class Condition>
    static void Await(Condition condition) noexcept {
        for (Backoff backoff; !condition(); backoff.Next()) {
        }
    }
};

}  // namespace weft::internal
