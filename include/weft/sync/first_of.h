// A wait for the first of several events, or of several semaphores: the base of WaitForAny in
// event.h and semaphore.h. Do not use it directly. source/sync/first_of.cpp says how it works.
#pragma once

#include "weft/export.h"
#include "weft/sync/deadline.h"
#include "weft/sync/wait_queue.h"

#include <cstdint>

namespace weft {

class Event;
class Semaphore;

namespace internal {

/// A wait for the first of several objects.
struct FirstOf {
    /// Waiter::wanted of a Link.
    static constexpr uint64_t kLink = uint64_t{1} << 63;
    /// What stands in the list of one of the objects.
    struct Link : Waiter {
        Link() noexcept : Waiter(kLink) {}
        FirstOf *first = nullptr;
        uint32_t index = 0;
    };

    /// Returns the index of the object, or `count` if the deadline passes first or after a report.
    /// `links`: one for each object.
    template <class Object>
    static uint32_t Wait(TaskScheduler &scheduler, uint32_t count, Object *const *objects,
                         Link *links, Deadline *deadline) noexcept;
    /// Call it under the lock of the object. Returns the waiter to notify in place of the one in
    /// the list, or null if that one is not to be notified any more.
    static Waiter *Choose(Waiter &inLine) noexcept;

private:
    static constexpr uint32_t kNone = ~0u;
    bool Choose(uint32_t index) noexcept;
    template <class Object>
    static bool Check(TaskScheduler &scheduler, uint32_t count, Object *const *objects) noexcept;

    // For each kind of object, in its source file. TryTake takes it if that needs no waiting. Join
    // puts the link into its list, and returns false if there is nothing to wait for: then it has
    // been chosen, or another object before it. Leave takes the link out of the list.
    static WaitQueue &QueueOf(Event &event) noexcept;
    static WaitQueue &QueueOf(Semaphore &semaphore) noexcept;
    static bool TryTake(Event &event) noexcept;
    static bool TryTake(Semaphore &semaphore) noexcept;
    bool Join(Event &event, Link &link) noexcept;
    bool Join(Semaphore &semaphore, Link &link) noexcept;
    static void Leave(Event &event, Link &link) noexcept;
    static void Leave(Semaphore &semaphore, Link &link) noexcept;

    Waiter self;  // in no list; notified by the chosen object
    WEFT_ATOMIC<uint32_t> chosen{kNone};
};

extern template WEFT_API uint32_t FirstOf::Wait(TaskScheduler &, uint32_t, Event *const *, Link *,
                                                Deadline *) noexcept;
extern template WEFT_API uint32_t FirstOf::Wait(TaskScheduler &, uint32_t, Semaphore *const *,
                                                Link *, Deadline *) noexcept;

}  // namespace internal

}  // namespace weft
