// The workers that search for work or sleep, and how published work finds a sleeper.
//
// Terms.
//
//  searcher   a worker that has no work and looks for some. It counts in the state.
//  sleeper    a worker that has announced that it will park. Its bit is set in one of five sets.
//  waker      a thread that takes a sleeper's bit, and then unparks this worker.
//  publisher  a thread that has put work into a queue. It may become a waker.
//
// Protocol. A worker without work first searches for a while. Then it announces that it sleeps
// (Announce), checks once more everything that could hold work for it, and parks. A publisher reads
// the state after it has published (Wanted). If there are sleepers and no searcher, it wakes one.
//
// No wake-up is lost. P publishes work (p1), then reads the state (p2). W announces (w1, a
// read-modify-write of the state), then checks the place of the work (w2). All four are seq_cst, so
// there is one total order. If w2 misses the work, w2 is before p1. Then w1 is before p2, and P
// sees a sleeper. P wakes a sleeper, unless it also sees a searcher S. There are two cases. If S
// finds work, the last searcher to do so wakes the next sleeper (StopSearching). If S finds none,
// it announces after p2, so its own last check finds P's work.
//
// A waker takes a sleeper's bit and unparks the worker. Before that it counts a sleeper of set 1 as
// a searcher, so that a second publisher sees that a worker will search soon. A worker that cancels
// its announcement, but finds its bit cleared, knows that it was woken.
//
// The five sets. Only a sleeper of set 1 becomes a searcher when it is woken. The others are never
// counted as searchers, because a publisher of tasks could not rely on them.
//
//  1 Tasks            The worker can run any task. One is woken for each new task or ready fiber.
//  2 ReadyFibersOnly  The worker is starved: it has no fiber to run tasks on, and can only continue
//                     ready fibers. One is woken for a ready fiber if set 1 is empty, and when a
//                     fiber is freed.
//  3 HigherTasks      A wait restricts the worker to higher tasks. It may be unable to take the
//                     work. So all of this set are woken if set 1 (for a ready fiber: and set 2) is
//                     empty.
//  4 OwnTasks         A wait restricts the worker to its own tasks. They are woken as set 3 is;
//                     scheduler/find/own_tasks.h says when not.
//  5 PinnedOnly, Nothing  The worker is inactive, or blocked in a wait. It is woken only by a waker
//                     that names it (TakeSleeperAt).
#pragma once

#include "containers/atomic_bit_set.h"
#include "platform/env.h"

#include <algorithm>
#include <cstdint>

namespace weft::internal {

/// What a worker can do at the moment.
enum class WorkerMode : uint8_t {
    Tasks,            ///< any task, and ready fibers
    ReadyFibersOnly,  ///< it is starved
    /// It is restricted: only higher tasks and ready fibers; if it is starved too, only ready
    /// fibers
    HigherTasks,
    OwnTasks,    ///< only work that a wait depends on
    PinnedOnly,  ///< it is inactive: only pinned work
    Nothing      ///< it blocks in a wait: only the fiber that waits
};

/// The state and the five sets. All calls except Acquire are thread-safe.
class IdleSet {
public:
    static constexpr uint32_t kNone = AtomicBitSet::kNone;

    /// Makes empty sets. Returns false if there is no memory.
    bool Acquire(uint32_t workers, Memory memory = {}) noexcept {
        return m_asleep.Acquire(workers, memory) && m_starvedAsleep.Acquire(workers, memory) &&
               m_restrictedAsleep.Acquire(workers, memory) &&
               m_ownAsleep.Acquire(workers, memory) && m_namedAsleep.Acquire(workers, memory);
    }

    /// The caller begins to search. relaxed: no thread relies on having seen a new searcher.
    void StartSearching() noexcept { m_state.fetch_add(kSearcher, kRelaxed); }

    /// The caller has found work. Returns true if it was the last searcher and others sleep: the
    /// caller should then wake one of them.
    bool StopSearching() noexcept {
        // seq_cst: comes before the caller looks for more work to wake a sleeper for.
        const State before{m_state.fetch_sub(kSearcher, kSeqCst)};
        return before.Searchers() == 1 && before.AllSleepers() > 0;
    }

    /// Makes the calling worker a sleeper. In mode Tasks it was a searcher before. The worker must
    /// check once more everything that could hold work for it before it parks.
    void Announce(uint32_t worker, WorkerMode mode) noexcept {
        // The bit comes first: a waker that counts a sleeper must find its bit.
        SetOf(mode).Set(worker);
        m_state.fetch_add(
            (mode == WorkerMode::Tasks ? kSleeper - kSearcher : kOtherSleeper) + kEpoch, kSeqCst);
    }

    /// A sleeper has found work after all. In mode Tasks it is a searcher again. Returns false if a
    /// waker was faster: in mode Tasks the caller then is a searcher too, but an Unpark is on its
    /// way, and the caller must consume it.
    bool Cancel(uint32_t worker, WorkerMode mode) noexcept {
        return Take(SetOf(mode), worker,
                    mode == WorkerMode::Tasks ? kSearcher - kSleeper : 0 - kOtherSleeper);
    }

    /// Returns false once a waker has taken the worker.
    bool IsAsleep(uint32_t worker, WorkerMode mode) noexcept { return SetOf(mode).Test(worker); }

    /// Returns true if a worker sleeps and fewer than `tasks` workers search. seq_cst: call it
    /// after publishing work.
    ///
    /// Announce first sets the worker's bit and then counts the worker as a sleeper. A waker may
    /// take the bit in between: for a moment there is one sleeper too few and one searcher too
    /// many. So do not test the number of sleepers alone. A caller that must ignore searchers
    /// (WakeForGroups) takes a sleeper by its bit. A worker sets its bit before its last check for
    /// work.
    bool Wanted(uint32_t tasks = 1) const noexcept {
        return State{m_state.load(kSeqCst)}.Wants(tasks);
    }

    /// Returns how many sleepers to wake for `tasks` new tasks: `tasks` less the number of
    /// searchers, and at most the number of sleepers. The result is at least one if Wanted(tasks)
    /// is true. seq_cst for the same reason as there.
    uint32_t Missing(uint32_t tasks) const noexcept {
        const State state{m_state.load(kSeqCst)};
        return state.Wants(tasks) ? std::min(tasks - state.Searchers(), state.AllSleepers()) : 0;
    }

    /// A hint: relaxed.
    bool AnySleeper() const noexcept { return State{m_state.load(kRelaxed)}.AllSleepers() > 0; }

    /// Takes a position in the order of announcements, but neither sleeps nor wakes a worker.
    /// seq_cst: workers that announce later see what the caller did before. The caller sees what
    /// workers did that announced earlier.
    void JoinOrder() noexcept { m_state.fetch_add(0, kSeqCst); }

    /// If two snapshots are equal, no worker fell asleep or woke up between them.
    uint64_t Snapshot() const noexcept { return m_state.load(kSeqCst); }
    /// Returns true if all of `workers` workers slept at the snapshot.
    static bool AllAsleep(uint64_t snapshot, uint32_t workers) noexcept {
        return State{snapshot}.AllSleepers() == workers;
    }

    /// Takes a sleeper that can run tasks, makes it a searcher and returns it. The caller must
    /// unpark it. Returns kNone if there is none. `among` limits the choice: see
    /// AtomicBitSet::ClearAny.
    template <class Among = AtomicBitSet::All>
    uint32_t TakeSleeper(uint32_t home, Among among = {}) noexcept {
        return TakeAny(m_asleep, home, among, kSearcher - kSleeper);
    }

    /// Does the same for a starved sleeper, which does not become a searcher.
    template <class Among = AtomicBitSet::All>
    uint32_t TakeStarvedSleeper(uint32_t home, Among among = {}) noexcept {
        return TakeAny(m_starvedAsleep, home, among, 0 - kOtherSleeper);
    }

    /// Takes each sleeper of this mode once if wants(worker) is true, and calls wake(worker) for
    /// it. Not for WorkerMode::Tasks.
    template <class Wants, class Wake>
    void TakeEach(uint32_t workers, WorkerMode mode, Wants wants, Wake wake) noexcept {
        AtomicBitSet &set = SetOf(mode);
        if (!set.Any()) return;
        for (uint32_t worker = 0; worker < workers; ++worker) {
            if (set.Test(worker) && wants(worker) && Cancel(worker, mode)) wake(worker);
        }
    }

    /// seq_cst: call it after publishing something.
    bool AnyOwnSleeper() const noexcept { return m_ownAsleep.Any(); }

    /// Takes this worker if it sleeps. If it can run tasks, it becomes a searcher. Returns false if
    /// it does not sleep.
    bool TakeSleeperAt(uint32_t worker) noexcept {
        return (m_asleep.Test(worker) && Cancel(worker, WorkerMode::Tasks)) ||
               (m_starvedAsleep.Test(worker) && Cancel(worker, WorkerMode::ReadyFibersOnly)) ||
               (m_restrictedAsleep.Test(worker) && Cancel(worker, WorkerMode::HigherTasks)) ||
               (m_ownAsleep.Test(worker) && Cancel(worker, WorkerMode::OwnTasks)) ||
               (m_namedAsleep.Test(worker) && Cancel(worker, WorkerMode::PinnedOnly));
    }

private:
    friend struct DebugLayout;
    static constexpr uint64_t kSearcher = 1;
    static constexpr uint64_t kSleeper = uint64_t{1} << 16;
    static constexpr uint64_t kOtherSleeper = uint64_t{1} << 32;  // sleepers of the other four sets
    // the number of announcements, modulo 65,536
    static constexpr uint64_t kEpoch = uint64_t{1} << 48;
    // The state in one word: searchers, sleepers of set 1, sleepers of the other sets,
    // announcements; 16 bits each.
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

    // The set in which a worker with this mode sleeps.
    AtomicBitSet &SetOf(WorkerMode mode) noexcept {
        return mode == WorkerMode::Tasks             ? m_asleep
               : mode == WorkerMode::ReadyFibersOnly ? m_starvedAsleep
               : mode == WorkerMode::HigherTasks     ? m_restrictedAsleep
               : mode == WorkerMode::OwnTasks        ? m_ownAsleep
                                                     : m_namedAsleep;
    }
    // All changes of the state are seq_cst: see the proof above.
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
