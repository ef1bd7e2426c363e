// A heap of deadlines, the earliest on top. It has no thread of its own: workers take the timers
// that are due.
#pragma once

#include "containers/pairing_heap.h"
#include "containers/spin_lock.h"
#include "platform/env.h"

#include <algorithm>
#include <cstdint>

namespace weft::internal {

/// A deadline. Its owner provides the memory, which must last until the timer was cleared or taken.
struct Timer : HeapLinks {
    uint64_t deadline = 0;  // in nanoseconds of env::Now()
    uint64_t order = 0;     // equal deadlines are due in the order of Set
    uint32_t owner = 0;     // see kThreadOwner in scheduler/state/scheduler.h
    bool isSet = false;
};

/// Thread-safe. A short lock orders the calls that change the heap. The next deadline is also kept
/// in a word of its own, which can be read without the lock.
class Timers {
public:
    static constexpr uint64_t kNever = ~uint64_t{0};

    /// Adds the timer, then calls begin() under the lock. If that returns false, removes the timer
    /// again and returns false. So no thread takes the timer before begin() has ended.
    template <class Begin>
    bool SetIf(Timer &timer, uint64_t deadline, Begin begin) noexcept {
        const SpinLock::Held held(m_lock);
        timer.deadline = deadline;
        timer.order = m_orders++;
        timer.isSet = true;
        m_heap.Push(timer);
        if (&m_heap.Top() == &timer) Note();
        if (begin()) return true;
        Remove(timer);
        return false;
    }

    /// Removes the timer. Returns false if it was taken.
    bool Clear(Timer &timer) noexcept {
        const SpinLock::Held held(m_lock);
        if (!timer.isSet) return false;
        Remove(timer);
        return true;
    }

    /// Takes the earliest timer that is due and for which claim(timer) returns true; drops those
    /// for which it returns false. Returns null if there is none. `claim` is called under the lock:
    /// until then Clear waits.
    template <class Claim>
    Timer *TakeDue(uint64_t now, Claim claim) noexcept {
        const SpinLock::Held held(m_lock);
        Timer *due = nullptr;
        while (due == nullptr && !m_heap.IsEmpty() && m_heap.Top().deadline <= now) {
            Timer &timer = m_heap.Top();
            m_heap.Remove(timer);
            timer.isSet = false;
            if (claim(timer)) due = &timer;
        }
        Note();  // also if none is due after all: this renews the estimate in ticks
        return due;
    }

    /// Returns the deadline of the timer, or kNever if it is not set.
    uint64_t DeadlineOf(const Timer &timer) noexcept {
        const SpinLock::Held held(m_lock);
        return timer.isSet ? timer.deadline : kNever;
    }

    /// Calls look(timer) for each timer, under the lock.
    template <class Look>
    void ForEach(Look look) noexcept {
        const SpinLock::Held held(m_lock);
        m_heap.Find([&](const Timer &timer) {
            look(timer);
            return false;
        });
    }

    /// Returns the earliest deadline, or kNever. seq_cst: the caller has announced before that it
    /// will sleep.
    uint64_t Next() const noexcept { return m_next.load(kSeqCst); }

    /// Returns true if TakeDue may find a timer. A hint for workers that are awake. After the
    /// machine was suspended, the ticks may begin anew. Then the subtraction wraps, and the result
    /// is true, so TakeDue notes new values. relaxed, both: the result may be wrong once, if new
    /// values are noted between the two loads.
    bool MayBeDue() const noexcept {
        const uint64_t left = m_ticksLeft.load(kRelaxed);
        return left != kNever && env::Ticks() - m_notedAt.load(kRelaxed) >= left;
    }

private:
    // Orders timers by deadline, then by the order of Set.
    struct Earlier {
        bool operator()(const Timer &a, const Timer &b) const noexcept {
            return a.deadline != b.deadline ? a.deadline < b.deadline : a.order < b.order;
        }
    };

    void Remove(Timer &timer) noexcept {
        const bool wasFirst = &m_heap.Top() == &timer;
        m_heap.Remove(timer);
        timer.isSet = false;
        if (wasFirst) Note();
    }

    static constexpr uint64_t kFarthest = 3'600'000'000'000;  // an hour: the limit of an estimate

    // Notes the next deadline, and estimates when it is due in ticks. The rate of the ticks is
    // known to about a thousandth. The estimate is early by more than that. If the deadline has not
    // come then, TakeDue makes a new estimate.
    void Note() noexcept {
        const uint64_t next = m_heap.IsEmpty() ? kNever : m_heap.Top().deadline;
        uint64_t ticksLeft = kNever;
        if (next != kNever) {
            const uint64_t now = env::Now();
            const uint64_t left = next > now ? std::min(next - now, kFarthest) : 0;
            const double microseconds = static_cast<double>(left) * 0.00099;
            ticksLeft = static_cast<uint64_t>(microseconds * env::TicksPerMicrosecond());
            m_notedAt.store(env::Ticks(), kRelaxed);  // relaxed, both: see MayBeDue
        }
        m_ticksLeft.store(ticksLeft, kRelaxed);
        // seq_cst: comes before the caller looks for a sleeper to wake. See Next.
        m_next.store(next, kSeqCst);
    }

    SpinLock m_lock;
    PairingHeap<Timer, Earlier> m_heap;
    uint64_t m_orders = 0;
    // Workers read these between all pieces of work. They are seldom written.
    alignas(kLineBytes) env::Atomic<uint64_t> m_notedAt{0};  // the ticks at the latest Note
    env::Atomic<uint64_t> m_ticksLeft{kNever};  // from m_notedAt until the deadline may be due
    env::Atomic<uint64_t> m_next{kNever};
};

}  // namespace weft::internal
