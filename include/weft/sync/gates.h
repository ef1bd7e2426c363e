// What the tasks of a pipeline, or of a loop over a sequence, pass to each other: turns, places and
// memory. Nothing here makes a task wait: what waits is only an entry in a list, and holds no task
// and no fiber. Do not use it directly. source/sync/gates.cpp says how it works.
#pragma once

#include "weft/export.h"
#include "weft/sync/wait_queue.h"

#include <cstdint>

namespace weft::internal {

/// Lets visitors pass one at a time, in the order of their numbers, which begin at 0.
///
/// Every number must come once. Fewer than 2^31 visitors may have come and not left.
class WEFT_API OrderedGate {
public:
    OrderedGate(TaskScheduler &scheduler) noexcept : m_queue(scheduler, 0) {}

    /// Returns the next number, for visitors that pass in the order in which they come.
    uint32_t TakeNumber() noexcept;

    /// Returns true if it is the turn of `number`. Then the visitor is inside until Leave, and sees
    /// everything that was written before all earlier calls of Leave. Returns false if the visitor
    /// waits in the list. Then the caller must not access it any more: another task may have got it
    /// from Leave.
    bool Enter(Waiter &visitor, uint32_t number) noexcept;

    /// The visitor `number` leaves. Returns the next visitor if it waited in the list: it is inside
    /// now. Otherwise returns null, and the gate may be gone.
    Waiter *Leave(uint32_t number) noexcept;

private:
    alignas(64) WaitQueue m_queue;  // the upper half of its word is the number whose turn it is
    WEFT_ATOMIC<uint32_t> m_numbers{0};
};

/// The free places of a pipeline, and its reader while no task is the reader.
class WEFT_API FreePlaces {
public:
    FreePlaces(TaskScheduler &scheduler) noexcept : m_lock(scheduler, 0) {}

    /// The calling task is no longer the reader. The next call of GiveBack or BeginHelper hands the
    /// reader to its caller. Returns true if the caller has to submit a helper: there is a free
    /// place, and no helper that has not begun.
    bool OfferReader() noexcept;
    /// A helper begins. Returns a place if it is the reader now, otherwise null.
    Waiter *BeginHelper() noexcept;
    /// Returns true if the caller is the reader now. Then it keeps the place. Otherwise the place
    /// is free.
    bool GiveBack(Waiter &place) noexcept;

private:
    alignas(64) WaitQueue m_lock;  // without waiters. Own bits: see the source file
    Waiter *m_first = nullptr;
};

/// Like places, if only their number matters. A reader that has no seat waits for one.
class WEFT_API Seats {
public:
    explicit Seats(uint32_t count) noexcept : m_word(count) {}
    /// Takes a seat. If there is none, returns false, and the reader waits.
    bool Take() noexcept;
    /// Returns true if the reader waited: the caller is the reader now, and keeps the seat.
    bool GiveBack() noexcept;

private:
    static constexpr uint32_t kReaderWaits = ~0u;
    alignas(64) WEFT_ATOMIC<uint32_t> m_word;  // the number of free seats, or kReaderWaits
};

/// Memory for one item, while it is free.
struct FreeSlot {
    FreeSlot *next = nullptr;
};

/// Slots that were used and are free. Each worker gives slots to one of a few lists, and takes them
/// from there first.
class WEFT_API SlotLists {
public:
    explicit SlotLists(TaskScheduler &scheduler) noexcept;
    /// Takes a slot from the list of the calling worker. Returns null if that is empty.
    FreeSlot *TakeOwn() noexcept;
    /// Takes a slot from any list. Returns null if it found none.
    FreeSlot *TakeAny() noexcept;
    void GiveBack(FreeSlot &slot) noexcept;

private:
    static constexpr uint32_t kLists = 8;
    struct List {
        List(TaskScheduler &scheduler) noexcept : lock(scheduler, 0) {}
        alignas(64) WaitQueue lock;  // without waiters
        WEFT_ATOMIC<FreeSlot *> first{nullptr};
    };
    List &OwnList() noexcept;
    static FreeSlot *TakeFrom(List &list) noexcept;

    List m_lists[kLists];
};

}  // namespace weft::internal
