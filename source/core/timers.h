// A heap of deadlines, the earliest on top. It has no thread of its own: workers ask for the
// deadlines that are due, and make the calls for them.
#pragma once

#include "containers/pairing_heap.h"
#include "containers/spin_lock.h"
#include "platform/env.h"

#include <algorithm>
#include <cstdint>

namespace weft::internal {

/// What a deadline is for, for those who look for timers of a kind. `owner` depends on it.
enum class TimerKind : uint8_t { Other, Task, Batch, Sleep, Wait };

/// The call that is made once when a deadline is due.
struct Expiry {
    // `context` comes from the caller of TakeDue
    void (*call)(void *context, void *owner) = nullptr;
    void *owner = nullptr;
    TimerKind kind = TimerKind::Other;
};

/// A deadline. Its owner provides the memory, which must last until the timer was cleared or taken.
struct Timer : HeapLinks {
    uint64_t deadline = 0;  // in nanoseconds of env::Now()
    uint64_t order = 0;     // equal deadlines are due in the order of Set
    Expiry expiry;
    bool isSet = false;
};

/// Thread-safe. A short lock orders the calls that change the heap. The next deadline is also kept
/// in a word of its own, which can be read without the lock.
class Timers {
public:
    static constexpr uint64_t kNever = ~uint64_t{0};

    /// Adds the timer. Returns true if it is the earliest now.
    bool Set(Timer &timer, uint64_t deadline, Expiry expiry) noexcept {
        const SpinLock::Held held(m_lock);
        timer.deadline = deadline;
        timer.order = m_orders++;
        timer.expiry = expiry;
        timer.isSet = true;
        m_heap.Push(timer);
        if (&m_heap.Top() != &timer) return false;
        Note();
        return true;
    }

    /// Removes the timer. Returns false if it was due and was taken: its call was made, is being
    /// made or will be made.
    bool Clear(Timer &timer) noexcept {
        const SpinLock::Held held(m_lock);
        if (!timer.isSet) return false;
        const bool wasFirst = &m_heap.Top() == &timer;
        Remove(timer);
        if (wasFirst) Note();
        return true;
    }

    /// Takes the earliest timer if it is due. From then on its owner may use the timer again, even
    /// before the call is made.
    bool TakeDue(uint64_t now, Expiry &expiry) noexcept {
        const SpinLock::Held held(m_lock);
        const bool due = !m_heap.IsEmpty() && m_heap.Top().deadline <= now;
        if (due) {
            expiry = m_heap.Top().expiry;
            Remove(m_heap.Top());
        }
        Note();  // also if none is due after all: this renews the estimate in ticks
        return due;
    }

    /// Removes a timer for which isWanted(timer) returns true, and returns it; null if there is
    /// none. isWanted is called under the lock, so it must not call this object.
    template <class IsWanted>
    Timer *TakeIf(IsWanted isWanted) noexcept {
        const SpinLock::Held held(m_lock);
        Timer *const timer = m_heap.Find(isWanted);
        if (timer == nullptr) return nullptr;
        Remove(*timer);
        Note();
        return timer;
    }
    /// Calls look(timer) for each timer, under the lock.
    template <class Look>
    void ForEach(Look look) noexcept {
        const SpinLock::Held held(m_lock);
        m_heap.Find([&](const Timer &timer) { return look(timer), false; });
    }

    /// Returns true if no other timer is set.
    bool IsOnly(const Timer &timer) noexcept {
        const SpinLock::Held held(m_lock);
        return timer.isSet && &m_heap.Top() == &timer && timer.child == nullptr;
    }

    /// Returns the earliest deadline, or kNever. seq_cst: the caller has announced before that it
    /// will sleep; see ParkInTime (scheduler/submit/timing.cpp).
    uint64_t Next() const noexcept { return m_next.load(kSeqCst); }

    /// Returns true if there is a deadline. relaxed: a hint.
    bool Any() const noexcept { return m_ticksLeft.load(kRelaxed) != kNever; }

    /// Returns true if TakeDue may find a timer. A hint for workers that are awake.
    bool MayBeDue() const noexcept { return Any() && MayBeDue(env::Ticks()); }

    /// Does the same for a given reading of the ticks. After the machine was suspended, the ticks
    /// may begin anew. Then `ticks` is below the noted value, the subtraction wraps, and the result
    /// is true, so TakeDue notes new values. relaxed, both: the result may be wrong once, if new
    /// values are noted between the two loads.
    bool MayBeDue(uint64_t ticks) const noexcept {
        return ticks - m_notedAt.load(kRelaxed) >= m_ticksLeft.load(kRelaxed);
    }

private:
    friend struct DebugLayout;
    // Orders timers by deadline, then by the order of Set.
    struct Earlier {
        bool operator()(const Timer &a, const Timer &b) const noexcept {
            return a.deadline != b.deadline ? a.deadline < b.deadline : a.order < b.order;
        }
    };

    void Remove(Timer &timer) noexcept {
        m_heap.Remove(timer);
        timer.isSet = false;
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
