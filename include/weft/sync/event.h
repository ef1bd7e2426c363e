// Something that happens: tasks and threads wait for it.
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

namespace weft {

namespace internal {
struct EventAwaiter;  // weft/coroutine.h
}

/// Manual: once set, it lets everybody pass until Reset. Auto: each Set lets one pass, who waits or
/// who comes next; several before anybody comes are one.
enum class EventReset : uint8_t { Manual, Auto };

/// Whoever passes sees what was done before the Set. Who waits for an Auto event passes in the
/// order of coming, and newcomers not before. Once a wait has returned the event may be destroyed,
/// if nobody else is to use it. No call allocates. While the scheduler does not run, whoever would
/// have to wait is reported (NotRunning) and looks again and again.
class WEFT_API Event {
public:
    /// Cannot fail. The scheduler, by which waiters wait, must outlive it, and need not run yet.
    explicit Event(TaskScheduler &scheduler, EventReset reset = EventReset::Manual,
                   bool isSet = false) noexcept;

    /// Never runs others. Any thread.
    void Set() noexcept;
    void Reset() noexcept;

    /// Whether a wait would return at once. Any thread.
    bool IsSet() const noexcept;
    /// Passes if that needs no waiting. Any thread.
    bool TryWait() noexcept;
    void Wait() noexcept;
    /// False when the time has passed first. Any thread.
    template <class Rep, class Period>
    bool WaitFor(const std::chrono::duration<Rep, Period> &duration) noexcept {
        const Clock::time_point deadline = internal::DeadlineAfter(duration);
        return Pass(&deadline);
    }
    template <class OtherClock, class Duration>
    bool WaitUntil(const std::chrono::time_point<OtherClock, Duration> &time) noexcept {
        const Clock::time_point deadline = internal::DeadlineAt(time);
        return Pass(&deadline);
    }

private:
    friend struct internal::EventAwaiter;
    /// True: it has passed. Otherwise it is in line until its counter is zero.
    bool PassOrLineUp(internal::Waiter &self) noexcept;
    bool Pass(const Clock::time_point *deadline) noexcept;
    bool PassInLine(const Clock::time_point *deadline) noexcept;

    static constexpr uint64_t kSet = uint64_t{1} << internal::WaitQueue::kOwnBits;
    internal::WaitQueue m_queue;
    const bool m_isAuto;
};

}  // namespace weft
