// The workers that search for work or sleep, and how published work finds a sleeper.
//
// Searcher, sleeper, choosy and plain: see source/README.md. A choosy worker is never counted as a
// searcher. A publisher is a thread that has put work into a queue.
//
// Each sleeper stores a mask of levels (scheduler/state/work.h). Work of these levels may wake it.
// The mask of a plain sleeper has all levels of no group.
//
// Protocol. A worker without work searches for a while. Then it announces that it sleeps
// (Announce), checks once more everything that could hold work for it, and parks. A publisher reads
// the state after it has published. If some plain worker sleeps and none searches, it takes the
// bits of up to three plain sleepers and unparks them. They are searchers from then on, and wake
// others once they have found work. The publisher also wakes at most two sleepers whose masks have
// the level: choosy ones for work of no group, any for work of a group.
//
// No wake-up is lost. P publishes work (p1), then reads the state (p2). W announces (w1: its mask,
// then the state, then its bit), then checks the place of the work (w2). All are seq_cst. If w2
// misses the work, w2 is before p1. Then all of w1 is before p2. So P sees a sleeper, and
// finds W's bit unless another waker has taken it. P wakes one for the work, unless W is plain and
// P sees a searcher. After p2 each searcher announces, and then its own last check finds P's work;
// or it stops, because it has found work, has become choosy or leaves its thread (StopSearching).
// All of w1 comes before p2, and so before this stop. So the last searcher to stop sees W counted
// and then finds W's bit, unless a waker has made W a searcher. It wakes a plain sleeper. If it
// finds no bit, wakers have taken all of them, and each checks again before it sleeps.
//
// A waker clears a sleeper's bit first. If several try, one succeeds, and only this one unparks. A
// worker that cancels its announcement clears its own bit, or else consumes the Unpark.
#pragma once

#include "containers/atomic_bit_set.h"
#include "platform/env.h"

#include <cstdint>

namespace weft::internal {

/// The state of all workers. All calls except Acquire are thread-safe.
class Idle {
public:
    static constexpr uint32_t kNone = AtomicBitSet::kNone;

    /// Makes empty sets. Returns false if there is no memory.
    bool Acquire(uint32_t workers, Memory memory = {}) noexcept {
        m_workers = workers;
        m_memory = memory;
        m_masks = memory.NewArray<Mask>(workers);
        return m_masks != nullptr && m_plain.Acquire(workers, memory) &&
               m_choosy.Acquire(workers, memory);
    }
    ~Idle() { m_memory.DeleteArray(m_masks, m_workers); }

    /// The caller begins to search. relaxed: no thread relies on having seen a new searcher.
    void StartSearching(bool choosy) noexcept {
        if (!choosy) m_state.fetch_add(kSearcher, kRelaxed);
    }
    /// The caller searches no more. Returns true if it was the last searcher and plain workers
    /// sleep: it should then wake at least one of them. seq_cst: comes before its look for a bit.
    bool StopSearching(bool choosy) noexcept {
        if (choosy) return false;
        const uint64_t before = m_state.fetch_sub(kSearcher, kSeqCst);
        return Searchers(before) == 1 && Sleepers(before) != 0;
    }

    /// Makes the calling worker a sleeper for these levels. If it is not choosy, it was a searcher
    /// before. Check for work afterwards.
    void Announce(uint32_t worker, uint32_t levels, bool choosy) noexcept {
        m_masks[worker].levels.store(levels, kSeqCst);
        // The count comes before the bit: a waker that takes the bit lowers the count.
        m_state.fetch_add(choosy ? kChoosy : kSleeper - kSearcher, kSeqCst);
        (choosy ? m_choosy : m_plain).Set(worker);
    }
    /// Takes a sleeper. Of several callers one gets true, and must unpark the worker, if it is not
    /// the worker itself. A worker that is not choosy is a searcher from then on.
    bool TakeAt(uint32_t worker) noexcept {
        if (m_plain.Test(worker) && m_plain.Clear(worker)) {
            m_state.fetch_add(kSearcher - kSleeper, kSeqCst);
            return true;
        }
        if (m_choosy.Test(worker) && m_choosy.Clear(worker)) {
            m_state.fetch_sub(kChoosy, kSeqCst);
            return true;
        }
        return false;
    }
    /// The same for some worker that is not choosy. Returns its index, or kNone.
    uint32_t TakeAny(uint32_t home) noexcept {
        const uint32_t worker = m_plain.ClearAny(home);
        if (worker != kNone) m_state.fetch_add(kSearcher - kSleeper, kSeqCst);
        return worker;
    }
    /// The same for some worker below index `workers` that sleeps for one of the levels. `choosy`:
    /// only for a choosy one.
    uint32_t TakeFor(uint32_t levels, uint32_t workers, bool choosy = false) noexcept {
        for (uint32_t i = 0; i < workers; ++i) {
            if (IsFor(i, levels) && (!choosy || m_choosy.Test(i)) && TakeAt(i)) return i;
        }
        return kNone;
    }

    /// Returns true if the worker sleeps, and nobody has taken it.
    bool IsAsleep(uint32_t worker) const noexcept {
        return m_plain.Test(worker) || m_choosy.Test(worker);
    }

    /// Returns true if the worker has announced its latest sleep for one of the levels.
    bool IsFor(uint32_t worker, uint32_t levels) const noexcept {
        return (m_masks[worker].levels.load(kSeqCst) & levels) != 0;
    }

    /// Call them after publishing. PlainWanted: a plain worker sleeps, and none searches. Wanted:
    /// the same, or a choosy worker sleeps, which may be able to take the work.
    bool PlainWanted() const noexcept { return PlainWanted(m_state.load(kSeqCst)); }
    bool Wanted() const noexcept {
        const uint64_t state = m_state.load(kSeqCst);
        return state >= kChoosy || PlainWanted(state);
    }
    bool AnySleeper() const noexcept { return m_state.load(kSeqCst) >= kSleeper; }
    uint32_t PlainSleepers() const noexcept { return Sleepers(m_state.load(kSeqCst)); }
    bool AnyChoosy() const noexcept { return m_state.load(kSeqCst) >= kChoosy; }
    /// Returns true if some worker searches or sleeps. A hint: relaxed.
    bool AnyIdle() const noexcept { return m_state.load(kRelaxed) != 0; }

    /// Puts the caller before or after each Announce, in one order of all.
    void JoinOrder() noexcept { m_state.fetch_add(0, kSeqCst); }

private:
    // From the highest bit: choosy sleepers (bit 32 and up), plain sleepers (16), searchers (0).
    static constexpr uint64_t kSearcher = 1, kSleeper = uint64_t{1} << 16,
                              kChoosy = uint64_t{1} << 32;
    static constexpr uint32_t Searchers(uint64_t state) noexcept { return state & 0xffff; }
    static constexpr uint32_t Sleepers(uint64_t state) noexcept { return state >> 16 & 0xffff; }
    static constexpr bool PlainWanted(uint64_t state) noexcept {
        return Sleepers(state) != 0 && Searchers(state) == 0;
    }

    struct alignas(kLineBytes) Mask {
        env::Atomic<uint32_t> levels{0};
    };

    alignas(kLineBytes) env::Atomic<uint64_t> m_state{0};
    AtomicBitSet m_plain, m_choosy;
    Mask *m_masks = nullptr;
    uint32_t m_workers = 0;
    Memory m_memory;
};

}  // namespace weft::internal
