// Deadlines, the earliest first. They have no thread of their own: whoever asks for those that are
// due is told of them.
#pragma once

#include "containers/pairing_heap.h"
#include "containers/spin_lock.h"
#include "platform/env.h"

#include <algorithm>
#include <cstdint>

namespace weft::internal {

/// What is told once when a deadline is due.
struct Expiry {
    void (*call)(void *context, void *owner) = nullptr;  // `context` is the context's
    void *owner = nullptr;
};

/// A deadline; lies where its owner likes, until it was cleared or taken.
struct Timer : HeapLinks {
    uint64_t deadline = 0;  // nanoseconds of env::Now()
    uint64_t order = 0;     // of those with the same deadline the first that was set goes first
    Expiry expiry;
    bool isSet = false;
};

/// Any thread. A short lock orders all calls; what they ask about the next deadline is a look at
/// one word.
class Timers {
public:
    static constexpr uint64_t kNever = ~uint64_t{0};

    /// True if it is the earliest now.
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

    /// False if it is due and was taken: then its owner is told, or has been, or is just being
    /// told.
    bool Clear(Timer &timer) noexcept {
        const SpinLock::Held held(m_lock);
        if (!timer.isSet) return false;
        const bool wasFirst = &m_heap.Top() == &timer;
        Remove(timer);
        if (wasFirst) Note();
        return true;
    }

    /// Takes the earliest if it is due. The timer is its owner's again before the owner is told.
    bool TakeDue(uint64_t now, Expiry &expiry) noexcept {
        const SpinLock::Held held(m_lock);
        const bool due = !m_heap.IsEmpty() && m_heap.Top().deadline <= now;
        if (due) {
            expiry = m_heap.Top().expiry;
            Remove(m_heap.Top());
        }
        Note();  // also if it is not due after all: the estimate in ticks is brought up to date
        return due;
    }

    /// The earliest deadline, or kNever. seq_cst: after the caller has announced that it will
    /// sleep, see Sleep.
    uint64_t Next() const noexcept { return m_next.load(kSeqCst); }

    /// Whether there is a deadline at all. relaxed: a hint, likewise.
    bool Any() const noexcept { return m_ticksLeft.load(kRelaxed) != kNever; }

    /// Whether TakeDue may find something. A hint, for those who work.
    bool MayBeDue() const noexcept { return Any() && MayBeDue(env::Ticks()); }

    /// The same at these ticks. They begin anew when the machine was suspended: what is before the
    /// note is due at once, and noted again then. relaxed, both: a hint, which is wrong once if a
    /// new note comes in between.
    bool MayBeDue(uint64_t ticks) const noexcept {
        return ticks - m_notedAt.load(kRelaxed) >= m_ticksLeft.load(kRelaxed);
    }

private:
    struct Earlier {
        bool operator()(const Timer &a, const Timer &b) const noexcept {
            return a.deadline != b.deadline ? a.deadline < b.deadline : a.order < b.order;
        }
    };

    void Remove(Timer &timer) noexcept {
        m_heap.Remove(timer);
        timer.isSet = false;
    }

    static constexpr uint64_t kFarthest = 3'600'000'000'000;  // for an estimate: an hour

    // The rate of the ticks is known to a thousandth or so; the estimate is early by more than
    // that, and made anew then.
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
        m_next.store(next, kSeqCst);  // before the caller looks for somebody to wake, see Sleep
    }

    SpinLock m_lock;
    PairingHeap<Timer, Earlier> m_heap;
    uint64_t m_orders = 0;
    // Read between all pieces of work, and seldom written.
    alignas(kLineBytes) env::Atomic<uint64_t> m_notedAt{0};  // ticks
    env::Atomic<uint64_t> m_ticksLeft{kNever};               // from then on, until MayBeDue
    env::Atomic<uint64_t> m_next{kNever};
};

}  // namespace weft::internal
