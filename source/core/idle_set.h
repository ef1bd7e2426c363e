// Who searches for work, who sleeps, and how work finds a sleeper.
//
// A worker without work is a searcher for a while; then it announces that it will sleep (Announce),
// looks once more at everything that could hold work for it, and parks. Who publishes work looks
// here afterwards (Wanted) and wakes a sleeper if nobody searches.
//
// No wake-up is lost. Let P publish work and then read the state, and W announce (a
// read-modify-write of the state) and then look at the place of the work; all four are seq_cst. If
// W's look misses the work, it came before P's publication in their single total order, hence W's
// announcement came before P's read: P sees a sleeper. P wakes it unless it also sees a searcher.
// That searcher S either finds work, and then the last one to do so wakes the next sleeper
// (StopSearching), or it announces in its turn, after P's read, and then its own last look finds
// P's work.
//
// A waker takes a sleeper's bit, makes it a searcher on its behalf, and unparks it. So a second
// publisher sees that somebody is on the way; and a worker that takes its announcement back but
// finds its bit gone knows that it was woken.
//
// A starved worker (one that has no fiber to run tasks on, and can only resume ready fibers) sleeps
// in a set of its own and is never counted as a searcher: a publisher of tasks that relied on it
// would rely on nobody. It is woken for ready fibers when no other sleeper is left, and when a
// fiber is freed. A worker that is inactive, or blocks in a wait, sleeps in a third set, from which
// it is woken by name only. A worker that a wait restricts to higher tasks sleeps in a fourth set.
// It may be unable to take the work. So all of this set are woken when no sleeper of the first set
// is left. The same holds for a fifth set, of workers that a wait restricts to its own tasks
// (scheduler/own_tasks.h says which of them are woken). None of them counts as a searcher.
#pragma once

#include "containers/atomic_bit_set.h"
#include "platform/env.h"

#include <algorithm>
#include <cstdint>

namespace weft::internal {

/// What a worker can do at the moment.
enum class WorkerMode : uint8_t {
    Tasks,            ///< and ready fibers
    ReadyFibersOnly,  ///< it is starved
    /// It is restricted: only higher tasks and ready fibers; only ready fibers if it is starved
    HigherTasks,
    OwnTasks,    ///< only what a wait depends on
    PinnedOnly,  ///< it is inactive
    Nothing      ///< it blocks in a wait: its fiber is all that it goes on with
};

class IdleSet {
public:
    static constexpr uint32_t kNone = AtomicBitSet::kNone;

    bool Acquire(uint32_t workers, Memory memory = {}) noexcept {
        return m_asleep.Acquire(workers, memory) && m_starvedAsleep.Acquire(workers, memory) &&
               m_restrictedAsleep.Acquire(workers, memory) &&
               m_ownAsleep.Acquire(workers, memory) && m_namedAsleep.Acquire(workers, memory);
    }

    /// The caller begins to search. relaxed: only its absence is ever waited for.
    void StartSearching() noexcept { m_state.fetch_add(kSearcher, kRelaxed); }

    /// The caller has found work. True if it was the last searcher while others sleep: it should
    /// wake one.
    bool StopSearching() noexcept {
        // seq_cst: comes before the caller's look for more work to wake somebody for.
        const State before{m_state.fetch_sub(kSearcher, kSeqCst)};
        return before.Searchers() == 1 && before.AllSleepers() > 0;
    }

    /// A searcher (a starved worker: not even that) becomes a sleeper. Look at everything once more
    /// before parking.
    void Announce(uint32_t worker, WorkerMode mode) noexcept {
        // The bit comes first: who counts a sleeper must find it.
        SetOf(mode).Set(worker);
        m_state.fetch_add(
            (mode == WorkerMode::Tasks ? kSleeper - kSearcher : kOtherSleeper) + kEpoch, kSeqCst);
    }

    /// A sleeper has found work after all and is a searcher again. False if it was woken meanwhile:
    /// it is a searcher too, but an Unpark is on its way and must be consumed.
    bool Cancel(uint32_t worker, WorkerMode mode) noexcept {
        return Take(SetOf(mode), worker,
                    mode == WorkerMode::Tasks ? kSearcher - kSleeper : 0 - kOtherSleeper);
    }

    /// False once a waker has taken it.
    bool IsAsleep(uint32_t worker, WorkerMode mode) noexcept { return SetOf(mode).Test(worker); }

    /// True if a worker sleeps and fewer than `tasks` workers search. seq_cst: call it after
    /// publishing work.
    ///
    /// Announce first sets the worker's bit and then counts the worker as a sleeper. A waker may
    /// take the bit in between: for a moment there is one sleeper too few and one searcher too
    /// many. So do not test the number of sleepers alone. A caller that must ignore searchers
    /// (WakeForGroups) takes a sleeper by its bit. A worker sets its bit before its last look for
    /// work.
    bool Wanted(uint32_t tasks = 1) const noexcept {
        return State{m_state.load(kSeqCst)}.Wants(tasks);
    }

    /// Returns how many sleepers to wake for `tasks` new tasks: `tasks` less the number of
    /// searchers, and at most the number of sleepers. At least one if Wanted(tasks) is true.
    /// seq_cst for the same reason as there.
    uint32_t Missing(uint32_t tasks) const noexcept {
        const State state{m_state.load(kSeqCst)};
        return state.Wants(tasks) ? std::min(tasks - state.Searchers(), state.AllSleepers()) : 0;
    }

    /// A hint: relaxed.
    bool AnySleeper() const noexcept { return State{m_state.load(kRelaxed)}.AllSleepers() > 0; }

    /// Takes a place in the order of announcements without sleeping or waking anybody. seq_cst:
    /// workers that announce later see what the caller did; the caller sees what workers did that
    /// announced earlier.
    void JoinOrder() noexcept { m_state.fetch_add(0, kSeqCst); }

    /// Equal values mean that, from the first look to the second, nobody fell asleep and nobody
    /// woke up.
    uint64_t Snapshot() const noexcept { return m_state.load(kSeqCst); }
    static bool AllAsleep(uint64_t snapshot, uint32_t workers) noexcept {
        return State{snapshot}.AllSleepers() == workers;
    }

    /// Makes a sleeper that can run tasks a searcher and returns it, to be unparked; kNone if there
    /// is none. `among` limits it to some workers: see AtomicBitSet::ClearAny.
    template <class Among = AtomicBitSet::All>
    uint32_t TakeSleeper(uint32_t home, Among among = {}) noexcept {
        return TakeAny(m_asleep, home, among, kSearcher - kSleeper);
    }

    /// The same for a starved one.
    template <class Among = AtomicBitSet::All>
    uint32_t TakeStarvedSleeper(uint32_t home, Among among = {}) noexcept {
        return TakeAny(m_starvedAsleep, home, among, 0 - kOtherSleeper);
    }

    /// Takes once each of the sleepers with that mode that `wants(worker)`, and calls
    /// wake(worker) for it. Not WorkerMode::Tasks.
    template <class Wants, class Wake>
    void TakeEach(uint32_t workers, WorkerMode mode, Wants wants, Wake wake) noexcept {
        AtomicBitSet &set = SetOf(mode);
        if (!set.Any()) return;
        for (uint32_t worker = 0; worker < workers; ++worker) {
            if (set.Test(worker) && wants(worker) && Cancel(worker, mode)) wake(worker);
        }
    }

    /// seq_cst: after the caller has published something.
    bool AnyOwnSleeper() const noexcept { return m_ownAsleep.Any(); }

    /// Takes that worker, if it sleeps, and makes it a searcher if it can run tasks; false if it
    /// does not sleep.
    bool TakeSleeperAt(uint32_t worker) noexcept {
        return (m_asleep.Test(worker) && Cancel(worker, WorkerMode::Tasks)) ||
               (m_starvedAsleep.Test(worker) && Cancel(worker, WorkerMode::ReadyFibersOnly)) ||
               (m_restrictedAsleep.Test(worker) && Cancel(worker, WorkerMode::HigherTasks)) ||
               (m_ownAsleep.Test(worker) && Cancel(worker, WorkerMode::OwnTasks)) ||
               (m_namedAsleep.Test(worker) && Cancel(worker, WorkerMode::PinnedOnly));
    }

private:
    static constexpr uint64_t kSearcher = 1;
    static constexpr uint64_t kSleeper = uint64_t{1} << 16;
    static constexpr uint64_t kOtherSleeper = uint64_t{1} << 32;  // of the other sets
    // counts announcements, modulo 65,536
    static constexpr uint64_t kEpoch = uint64_t{1} << 48;
    struct State {
        uint64_t bits;
        uint32_t Searchers() const noexcept { return static_cast<uint16_t>(bits); }
        uint32_t Sleepers() const noexcept { return static_cast<uint16_t>(bits >> 16); }
        uint32_t OtherSleepers() const noexcept { return static_cast<uint16_t>(bits >> 32); }
        uint32_t AllSleepers() const noexcept { return Sleepers() + OtherSleepers(); }
        bool Wants(uint32_t tasks) const noexcept {
            return AllSleepers() > 0 && Searchers() < tasks;
        }
    };

    AtomicBitSet &SetOf(WorkerMode mode) noexcept {
        return mode == WorkerMode::Tasks             ? m_asleep
               : mode == WorkerMode::ReadyFibersOnly ? m_starvedAsleep
               : mode == WorkerMode::HigherTasks     ? m_restrictedAsleep
               : mode == WorkerMode::OwnTasks        ? m_ownAsleep
                                                     : m_namedAsleep;
    }
    // seq_cst, all changes of the state: see the proof above.
    bool Take(AtomicBitSet &set, uint32_t worker, uint64_t change) noexcept {
        if (!set.Clear(worker)) return false;
        m_state.fetch_add(change, kSeqCst);
        return true;
    }
    template <class Among>
    uint32_t TakeAny(AtomicBitSet &set, uint32_t home, Among among, uint64_t change) noexcept {
        const uint32_t worker = set.ClearAny(home, among);
        if (worker != kNone) m_state.fetch_add(change, kSeqCst);
        return worker;
    }

    alignas(kLineBytes) env::Atomic<uint64_t> m_state{0};
    AtomicBitSet m_asleep;
    AtomicBitSet m_starvedAsleep;
    AtomicBitSet m_restrictedAsleep;
    AtomicBitSet m_ownAsleep;
    AtomicBitSet m_namedAsleep;
};

}  // namespace weft::internal
