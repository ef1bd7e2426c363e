// FirstOf::Wait puts one Link into the list of each object. Its one Waiter is in no list.
// FirstOf::chosen decides: the first CAS on it names the object that ends the wait, or the
// deadline. An object makes this CAS under its lock, before it gives anything to the waiter. So an
// object that is not chosen has given nothing, and nothing has to be given back. Such an object
// skips the Link and goes on with the next waiter in its list. Wait removes these Links before it
// returns. The chosen object removes its Link itself, and may be gone then.
//
// relaxed, at `chosen`: it publishes nothing. What was written before the object was set or
// released comes with the counter of the waiter (wait_queue.cpp), or with the lock of the object.
#include "weft/sync/first_of.h"

#include "platform/env.h"
#include "platform/race_finder.h"
#include "scheduler/api/internal_api.h"
#include "sync/spin.h"
#include "weft/sync/event.h"
#include "weft/sync/semaphore.h"

namespace weft::internal {

bool FirstOf::Choose(uint32_t index) noexcept {
    uint32_t none = kNone;
    return chosen.compare_exchange_strong(none, index, kRelaxed, kRelaxed);
}

Waiter *FirstOf::Choose(Waiter &inLine) noexcept {
    if ((inLine.wanted & kLink) == 0) return &inLine;
    Link &link = static_cast<Link &>(inLine);
    return link.first->Choose(link.index) ? &link.first->self : nullptr;
}

template <class Object>
bool FirstOf::Check(TaskScheduler &scheduler, uint32_t count, Object *const *objects) noexcept {
    for (uint32_t i = 0; i < count; ++i) {
        const bool isNull = objects[i] == nullptr;
        if (!isNull && &QueueOf(*objects[i]).Scheduler() == &scheduler) continue;
        ReportMisuse(scheduler, isNull ? ReportCode::BadOption : ReportCode::WrongScheduler,
                     isNull ? "Give pointers to events or semaphores."
                            : "Wait with the scheduler that the objects were made with.",
                     isNull ? "WaitForAny: an object is null"
                            : "WaitForAny: an object belongs to another scheduler");
        return false;
    }
    return true;
}

template <class Object>
uint32_t FirstOf::Wait(TaskScheduler &scheduler, uint32_t count, Object *const *objects,
                       Link *links, Deadline *deadline) noexcept {
    if (!Check(scheduler, count, objects)) return count;
    SchedulingPoint(scheduler);
    const auto tryAll = [&] {
        uint32_t i = 0;
        while (i < count && !TryTake(*objects[i])) ++i;
        return i;
    };
    uint32_t first = tryAll();
    if (first != count) return first;
    FirstOf wait;
    if (!QueueOf(*objects[0]).CanWait(wait.self)) {
        Poll(deadline, [&] { return (first = tryAll()) != count; });
        return first;
    }
    uint32_t joined = 0;
    for (; joined < count; ++joined) {
        links[joined].first = &wait;
        links[joined].index = joined;
        if (!wait.Join(*objects[joined], links[joined])) break;
    }
    // If Join has failed for the object `joined`, no other thread can choose it: its link is in no
    // list. So if it is chosen, Join has chosen it, and the wait is over.
    const bool isOver = joined != count && wait.chosen.load(kRelaxed) == joined;
    if (!isOver && !WaitQueue::Suspend(scheduler, wait.self, deadline) && !wait.Choose(count))
        WaitQueue::Suspend(scheduler, wait.self, nullptr);  // the notifier will decrement soon
    first = wait.chosen.load(kRelaxed);
    for (uint32_t i = 0; i < joined; ++i) {
        if (i != first) Leave(*objects[i], links[i]);
    }
    if (first != count) race::SawAll(&QueueOf(*objects[first]));
    return first;
}

template uint32_t FirstOf::Wait(TaskScheduler &, uint32_t, Event *const *, Link *,
                                Deadline *) noexcept;
template uint32_t FirstOf::Wait(TaskScheduler &, uint32_t, Semaphore *const *, Link *,
                                Deadline *) noexcept;

}  // namespace weft::internal
