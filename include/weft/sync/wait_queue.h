// Those who wait for one thing, in the order in which they came: what everything in weft/sync/
// stands on. Not for use by itself; source/sync/wait_queue.cpp says how it works.
#pragma once

#include "weft/counter.h"
#include "weft/export.h"
#include "weft/time.h"

#include <cstdint>

namespace weft {

class TaskScheduler;

namespace internal {

/// One who waits. Lies on its stack.
struct Waiter {
    explicit Waiter(uint64_t what = 0) noexcept : wanted(what) {}
    Waiter(const Waiter &) = delete;
    Waiter &operator=(const Waiter &) = delete;

    // Under the queue's lock, but for nextToWake and the last two, which are whoever's called it.
    Waiter *next = nullptr;
    Waiter *previous = nullptr;
    Waiter *nextToWake = nullptr;
    uint64_t wanted;  ///< how much, or which number: the owner's
    /// Somebody has decided to wake it, and lowers the counter as soon as the lock is free
    bool notified = false;
    Counter counter{1};  ///< zero: it goes on
    /// Or this: who called it could not lower the counter, as the run has ended
    WEFT_ATOMIC<bool> wasRefused{false};
};

/// A word whose lowest bit is a lock and the next one says that somebody waits; the rest of the
/// word is its owner's. Who holds the lock owns the whole word, and nobody else changes it.
class WEFT_API WaitQueue {
public:
    static constexpr uint64_t kLocked = 1, kWaiters = 2;
    static constexpr uint32_t kOwnBits = 2;  ///< the owner's begin above these

    WaitQueue(TaskScheduler &scheduler, uint64_t word) noexcept
        : m_scheduler(&scheduler), m_word(word) {}
    ~WaitQueue();
    WaitQueue(const WaitQueue &) = delete;
    WaitQueue &operator=(const WaitQueue &) = delete;

    TaskScheduler &Scheduler() const noexcept { return *m_scheduler; }

    /// The word of the moment, and the same once nobody holds the lock.
    uint64_t Word(std::memory_order order) const noexcept { return m_word.load(order); }
    uint64_t UnlockedWord() const noexcept;
    /// From a word without kLocked. False: it has changed, and `expected` is what it is.
    bool Change(uint64_t &expected, uint64_t desired, std::memory_order order) noexcept {
        return m_word.compare_exchange_strong(expected, desired, order, std::memory_order_relaxed);
    }

    /// Returns the word without kLocked. While the lock is held: no call of the scheduler's,
    /// nothing that waits.
    uint64_t Lock() noexcept;
    /// Publishes `word`, with kWaiters as the line is. The caller's last access to the queue and
    /// what it is part of.
    void Unlock(uint64_t word) noexcept;

    // Under the lock.
    Waiter *First() const noexcept { return m_first; }
    Waiter *Last() const noexcept { return m_last; }
    void InsertAfter(Waiter *previous, Waiter &waiter) noexcept;  ///< null: as the first
    void Append(Waiter &waiter) noexcept { InsertAfter(m_last, waiter); }
    void Remove(Waiter &waiter) noexcept;

    // Not under the lock.

    /// False after a report: nobody could wake the caller. It has to look again and again by
    /// itself.
    bool CanWait() const noexcept;
    /// Returns when the waiter goes on; or false when the deadline (null: none) has passed first.
    /// Touches the waiter and the scheduler, and not the queue.
    static bool Suspend(TaskScheduler &scheduler, Waiter &waiter,
                        const Clock::time_point *deadline) noexcept;
    /// For a line whose waiters are taken off by who calls them: true if this one was called, false
    /// if it has left the line when the deadline had passed. Who is called may find the queue gone:
    /// it is touched for a deadline's end only, and the scheduler is to be asked for before the
    /// caller got in line.
    bool WaitInLine(TaskScheduler &scheduler, Waiter &waiter,
                    const Clock::time_point *deadline) noexcept;

    /// What the last waits have shown about how long looking again is worth it; see sync/spin.h.
    WEFT_ATOMIC<uint32_t> &Patience() noexcept { return m_patience; }

private:
    TaskScheduler *m_scheduler;
    Waiter *m_first = nullptr;
    Waiter *m_last = nullptr;
    WEFT_ATOMIC<uint64_t> m_word;
    WEFT_ATOMIC<uint32_t> m_patience{0};
};

}  // namespace internal

}  // namespace weft
