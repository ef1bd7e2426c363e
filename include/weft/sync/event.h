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
#include "weft/sync/first_of.h"

#include <cstddef>
#include <cstdint>

namespace weft {

namespace internal {
struct EventAwaiter;  // weft/coroutine.h
}  // namespace internal

/// How an event is reset.
///
/// Manual: the event stays set until Reset. Until then every wait returns at once.
/// Auto: Set ends the oldest wait and leaves the event reset. If nobody waits, the event stays set
/// until one wait takes that. Further calls of Set before that have no effect.
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

    /// Sets the event. Ends all waits (Manual), or the oldest one (Auto). Does not run other tasks.
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
    /// Like Wait, but returns false if the time passes first. Thread-safe.
    template <class Rep, class Period>
    bool WaitFor(const std::chrono::duration<Rep, Period> &duration) noexcept {
        internal::Deadline deadline(m_queue.Scheduler(), duration);
        return Pass(&deadline);
    }
    template <class OtherClock, class Duration>
    bool WaitUntil(const std::chrono::time_point<OtherClock, Duration> &time) noexcept {
        internal::Deadline deadline(m_queue.Scheduler(), time);
        return Pass(&deadline);
    }

private:
    friend struct internal::EventAwaiter;
    friend struct internal::FirstOf;
    /// Returns true if the event is set; an Auto event is reset then. Otherwise `self` is in the
    /// list. It must live until its counter is zero, or until it has left the list.
    bool PassOrLineUp(internal::Waiter &self) noexcept;
    bool Pass(internal::Deadline *deadline) noexcept;
    bool PassInLine(internal::Waiter &self, internal::Deadline *deadline) noexcept;

    static constexpr uint64_t kSet = uint64_t{1} << internal::WaitQueue::kOwnBits;
    internal::WaitQueue m_queue;
    const bool m_isAuto;
};

/// Waits until one of the events is set, and returns the index of that event. If several are set,
/// returns the lowest index. If it is an Auto event, it is reset then. The other events do not
/// change.
///
/// The events must belong to `scheduler`, and must live until the call has returned. Returns
/// `kCount`, without a wait, after a report: BadOption (a null pointer), WrongScheduler. Takes
/// about 80 bytes of the stack for each event, and does not allocate. Thread-safe.
template <size_t kCount>
uint32_t WaitForAny(TaskScheduler &scheduler, Event *const (&events)[kCount]) noexcept {
    internal::FirstOf::Link links[kCount];
    return internal::FirstOf::Wait(scheduler, kCount, events, links, nullptr);
}
/// Like WaitForAny, but returns `kCount` if the time passes first. Thread-safe.
template <size_t kCount, class Rep, class Period>
uint32_t WaitForAnyFor(TaskScheduler &scheduler, Event *const (&events)[kCount],
                       const std::chrono::duration<Rep, Period> &duration) noexcept {
    internal::FirstOf::Link links[kCount];
    internal::Deadline deadline(scheduler, duration);
    return internal::FirstOf::Wait(scheduler, kCount, events, links, &deadline);
}
template <size_t kCount, class OtherClock, class Duration>
uint32_t WaitForAnyUntil(TaskScheduler &scheduler, Event *const (&events)[kCount],
                         const std::chrono::time_point<OtherClock, Duration> &time) noexcept {
    internal::FirstOf::Link links[kCount];
    internal::Deadline deadline(scheduler, time);
    return internal::FirstOf::Wait(scheduler, kCount, events, links, &deadline);
}

}  // namespace weft
