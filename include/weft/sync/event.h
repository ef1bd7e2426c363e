// An event for tasks and threads: they wait until it is set.
//
//     weft::Event loaded(scheduler);
//
//     void UseFile(weft::TaskScheduler *, void *) {
//         loaded.Wait();
//         ...
//     }
//     void LoaderThread() {
//         ReadFile();
//         loaded.Set();
//     }
#pragma once

#include "weft/export.h"
#include "weft/sync/deadline.h"
#include "weft/sync/wait_queue.h"

#include <cstddef>
#include <cstdint>

namespace weft {

namespace internal {
struct EventAwaiter;  // weft/coroutine.h
struct AnyEvent;
}  // namespace internal

/// How an event is reset.
///
/// Manual: the event stays set until Reset. Until then every wait returns at once.
/// Auto: each Set ends one wait, the one that began first, or else the next one to come. Several
/// calls of Set before the next wait count as one.
enum class EventReset : uint8_t { Manual, Auto };

/// A flag that tasks and threads can wait for.
///
/// After a wait has returned true, everything that was written before the Set is visible. Waits for
/// an Auto event end in the order in which they began; a newcomer does not go before them. Once a
/// wait has returned, the event may be destroyed, if no other task or thread is to use it. The Set
/// that ended the wait need not have returned yet. No call allocates. While the scheduler does not
/// run, a call that has to wait reports NotRunning and polls.
class WEFT_API Event {
public:
    /// Makes an event. Cannot fail. Waiters wait with `scheduler`, which must outlive the event and
    /// need not run yet.
    explicit Event(TaskScheduler &scheduler, EventReset reset = EventReset::Manual,
                   bool isSet = false) noexcept;

    /// Sets the event, and ends the waits that EventReset says. Does not run other tasks.
    /// Thread-safe.
    void Set() noexcept;
    /// Resets the event. Later waits wait for the next Set. Thread-safe.
    void Reset() noexcept;

    /// Returns true if the event is set. Does not change it. Thread-safe.
    bool IsSet() const noexcept;
    /// Returns true if the event is set; an Auto event is reset then. Does not wait. Thread-safe.
    bool TryWait() noexcept;
    /// Waits until the event is set; an Auto event is reset then. Thread-safe.
    void Wait() noexcept;
    /// Like Wait, but return false if the time passes first. Thread-safe.
    template <class Rep, class Period>
    bool WaitFor(const std::chrono::duration<Rep, Period> &duration) noexcept {
        const Clock::time_point deadline = internal::DeadlineAfter(m_queue.Scheduler(), duration);
        return Pass(&deadline);
    }
    template <class OtherClock, class Duration>
    bool WaitUntil(const std::chrono::time_point<OtherClock, Duration> &time) noexcept {
        const Clock::time_point deadline = internal::DeadlineAt(m_queue.Scheduler(), time);
        return Pass(&deadline);
    }

private:
    friend struct internal::EventAwaiter;
    friend struct internal::AnyEvent;
    /// Returns true if the wait is over at once. Otherwise `self` stays in line until its counter
    /// is zero.
    bool PassOrLineUp(internal::Waiter &self) noexcept;
    bool Pass(const Clock::time_point *deadline) noexcept;
    bool PassInLine(internal::Waiter &self, const Clock::time_point *deadline) noexcept;

    static constexpr uint64_t kSet = uint64_t{1} << internal::WaitQueue::kOwnBits;
    internal::WaitQueue m_queue;
    const bool m_isAuto;
};

namespace internal {

/// A wait for the first of several events. source/sync/event.cpp says how it works.
struct AnyEvent {
    /// What stands in the list of one of the events. Waiter::wanted is 1: in line for an AnyEvent.
    struct Link : Waiter {
        Link() noexcept : Waiter(1) {}
        AnyEvent *any = nullptr;
        uint32_t index = 0;
    };

    /// Returns the index of the event, or `count` if the deadline passes first or after a report.
    /// `links`: one for each event.
    WEFT_API static uint32_t Wait(TaskScheduler &scheduler, uint32_t count, Event *const *events,
                                  Link *links, const Clock::time_point *deadline) noexcept;

private:
    friend class weft::Event;
    static constexpr uint32_t kNone = ~0u;
    bool Choose(uint32_t index) noexcept;
    bool Join(Event &event, Link &link) noexcept;
    static bool Check(TaskScheduler &scheduler, uint32_t count, Event *const *events) noexcept;
    static uint32_t TryAll(uint32_t count, Event *const *events) noexcept;
    static Waiter *Choose(Waiter &inLine) noexcept;
    static void Leave(Event &event, Link &link) noexcept;

    Waiter self;  // in no list; notified by the chosen event
    WEFT_ATOMIC<uint32_t> chosen{kNone};
};

}  // namespace internal

/// Waits until one of the events is set, and returns its index. If it is an Auto event, it is reset
/// then. The other events do not change.
///
/// If several events are set already, that is the first of them. The events must belong to
/// `scheduler`, and must live until the call has returned. Returns `kCount`, without a wait, after
/// a report: BadOption (a null pointer), WrongScheduler. Takes about 80 bytes of the stack for each
/// event, and does not allocate. Thread-safe.
template <size_t kCount>
uint32_t WaitForAny(TaskScheduler &scheduler, Event *const (&events)[kCount]) noexcept {
    internal::AnyEvent::Link links[kCount];
    return internal::AnyEvent::Wait(scheduler, kCount, events, links, nullptr);
}
/// Like WaitForAny, but return `kCount` if the time passes first. Thread-safe.
template <size_t kCount, class Rep, class Period>
uint32_t WaitForAnyFor(TaskScheduler &scheduler, Event *const (&events)[kCount],
                       const std::chrono::duration<Rep, Period> &duration) noexcept {
    internal::AnyEvent::Link links[kCount];
    const Clock::time_point deadline = internal::DeadlineAfter(scheduler, duration);
    return internal::AnyEvent::Wait(scheduler, kCount, events, links, &deadline);
}
template <size_t kCount, class OtherClock, class Duration>
uint32_t WaitForAnyUntil(TaskScheduler &scheduler, Event *const (&events)[kCount],
                         const std::chrono::time_point<OtherClock, Duration> &time) noexcept {
    internal::AnyEvent::Link links[kCount];
    const Clock::time_point deadline = internal::DeadlineAt(scheduler, time);
    return internal::AnyEvent::Wait(scheduler, kCount, events, links, &deadline);
}

}  // namespace weft
