// A queue of waiters in the order in which they came: the base of everything in weft/sync/. Do not
// use it directly. source/sync/wait_queue.cpp says how it works.
#pragma once

#include "weft/counter.h"
#include "weft/export.h"
#include "weft/sync/deadline.h"

#include <cstdint>

namespace weft {

class TaskScheduler;

namespace internal {

/// A task or thread that waits. It lies on the stack of that task or thread, in the frame of a
/// coroutine, or in a QueuedTask.
struct Waiter {
    explicit Waiter(uint64_t what = 0) noexcept : wanted(what) {}
    Waiter(const Waiter &) = delete;
    Waiter &operator=(const Waiter &) = delete;

    // The queue's lock protects all members but `nextToWake`, `counter`, `wasRefused` and `polls`.
    // The first three are used by the notifier, also after the lock is free; `polls` only by the
    // waiting task or thread.
    Waiter *next = nullptr;
    Waiter *previous = nullptr;
    Waiter *nextToWake = nullptr;
    uint64_t wanted;  ///< how many permits, or which ticket: for the owner of the queue
    /// It has been notified: the notifier decrements the counter as soon as the lock is free
    bool notified = false;
    Counter counter{1};  ///< at zero the waiter goes on
    /// The waiter goes on, too, if this is set: the notifier could not decrement the counter,
    /// because the run has ended
    WEFT_ATOMIC<bool> wasRefused{false};
    /// A wait was refused, and that was reported: from now on it polls and reports nothing more
    bool polls = false;
};

/// A word with a lock, and a list of waiters.
///
/// The lowest bit of the word is the lock, and the next bit says that the list is not empty. The
/// other bits belong to the owner of the queue. While a thread holds the lock, no other thread
/// changes the word.
class WEFT_API WaitQueue {
public:
    static constexpr uint64_t kLocked = 1, kWaiters = 2;
    static constexpr uint32_t kOwnBits = 2;  ///< the owner's bits begin above these

    WaitQueue(TaskScheduler &scheduler, uint64_t word) noexcept
        : m_scheduler(&scheduler), m_word(word) {}
    ~WaitQueue();
    WaitQueue(const WaitQueue &) = delete;
    WaitQueue &operator=(const WaitQueue &) = delete;

    TaskScheduler &Scheduler() const noexcept { return *m_scheduler; }

    /// Returns the current word. The caller argues the order.
    uint64_t Word(std::memory_order order) const noexcept { return m_word.load(order); }
    /// Waits until the lock is free, and returns the word.
    uint64_t UnlockedWord() const noexcept;
    /// Replaces `expected`, a word without kLocked. Returns false if the word has changed, and
    /// stores the current word in `expected`. The caller argues the order.
    /// relaxed on failure: the caller only decides whether it tries again.
    bool Change(uint64_t &expected, uint64_t desired, std::memory_order order) noexcept {
        return m_word.compare_exchange_strong(expected, desired, order, std::memory_order_relaxed);
    }

    /// Takes the lock, and returns the word without kLocked. While it holds the lock, the caller
    /// must not call the scheduler and must not wait.
    uint64_t Lock() noexcept;
    /// Frees the lock and publishes `word`, with kWaiters set if the list is not empty. It is the
    /// caller's last access to the queue and to the object that it is part of.
    void Unlock(uint64_t word) noexcept;

    // Call the following only while you hold the lock.

    Waiter *First() const noexcept { return m_first; }
    Waiter *Last() const noexcept { return m_last; }
    void InsertAfter(Waiter *previous, Waiter &waiter) noexcept;  ///< null: as the first one
    void Append(Waiter &waiter) noexcept { InsertAfter(m_last, waiter); }
    void Remove(Waiter &waiter) noexcept;

    // Call the following only while you do not hold the lock.

    /// Returns true if the waiter may enter the list. Returns false if no notifier could decrement
    /// its counter; then the caller must poll the word.
    ///
    /// Reports, and sets Waiter::polls, if the caller must not wait: in a hook, where the waiter
    /// may enter the list and Suspend polls its counter, and if this returns false. Does not report
    /// again if Waiter::polls is set already.
    bool CanWait(Waiter &waiter) const noexcept;
    /// Waits until the waiter goes on. Returns false if the deadline passes first; null means no
    /// deadline. If Waiter::polls is set, a wait with a deadline returns at once. Accesses the
    /// waiter and the scheduler, but not the queue.
    static bool Suspend(TaskScheduler &scheduler, Waiter &waiter, Deadline *deadline) noexcept;
    /// Waits in a list from which the notifier removes the waiters. Returns true if the waiter was
    /// notified, false if the deadline passed first; then it has left the list.
    ///
    /// After the notification the queue may be gone. So this accesses the queue only if the
    /// deadline has passed. The caller must read Scheduler() before it enters the list.
    bool WaitInLine(TaskScheduler &scheduler, Waiter &waiter, Deadline *deadline) noexcept;
    /// Removes the waiter from such a list. Returns true if it was notified before that; then this
    /// waits until the notifier has decremented its counter, which comes soon.
    bool Leave(TaskScheduler &scheduler, Waiter &waiter) noexcept;

    /// An estimate, from the last waits, of how long it pays to spin before a wait; sync/spin.h.
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
