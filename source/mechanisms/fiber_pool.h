// Which fibers are free: a flat bit set per stack class, and a small LIFO cache of hot stacks per worker.
//
// A cached fiber counts as free. Owner and robber alike take it out of its slot by exchange, so exactly one gets it.
// Nobody goes without a fiber that is free: a worker that lacks one says so (SetStarved) and then looks everywhere; who
// frees one puts it in its place first and then looks whether somebody is starved. All four are seq_cst.
//
// In a pool with four small fibers or more for each worker, each worker owns one of them: it is free for this worker alone, which takes it
// when there is no other, or it is the one that the worker took last. So a worker that has no fiber gets one back when the task ends
// that it began last. See worker_loop.h for what that is good for.
#pragma once

#include "containers/atomic_bit_set.h"
#include "platform/env.h"
#include "platform/memory.h"
#include "weft/task.h"

#include <cstdint>

namespace weft::internal {

/// Small fibers are 0 .. small - 1, large ones follow.
class FiberPool {
public:
    static constexpr uint32_t kNone = ~0u;

    ~FiberPool() { ReleaseAll(); }

    /// All fibers free. False when there is no memory.
    /// The first `workers` of `slots` callers have caches.
    bool Acquire(uint32_t small, uint32_t large, uint32_t workers, uint32_t slots, Memory memory = {}) noexcept;
    void ReleaseAll() noexcept;

    /// A free fiber, or kNone if every place was seen empty. `worker`: the caller's index, whose cache is tried first.
    uint32_t AcquireFiber(StackClass stack, uint32_t worker) noexcept;

    /// The worker that owns the small fiber and is to have it back, if this is not `worker`; or kNone. Whoever runs on the fiber asks.
    uint32_t OwnedByOther(uint32_t fiber, uint32_t worker) noexcept {
        if (m_owners == nullptr || m_owners[fiber] == kNone || m_owners[fiber] == worker) return kNone;
        return FindOwner(fiber);
    }
    /// The worker's own fiber is with a task that waits, or with the caller.
    bool HasLent(uint32_t worker) const noexcept {
        return m_owners != nullptr && worker < m_workers && (m_caches[worker].own.load(kRelaxed) & kFree) == 0;
    }

    /// Frees a fiber that nobody runs on. `worker`: the caller's index. Its owner, if it has one, which is to be woken then; otherwise
    /// any starved worker is.
    uint32_t ReleaseFiber(uint32_t fiber, uint32_t worker) noexcept;

    StackClass ClassOf(uint32_t fiber) const noexcept {
        return fiber < m_small ? StackClass::Small : StackClass::Large;
    }
    uint32_t Count() const noexcept { return m_small + m_large; }

    /// Last look of a worker that is about to sleep: a fiber that it could take. Without a worker: one that anybody could take.
    bool AnyFree(StackClass stack, uint32_t worker = kNone) const noexcept;

    /// The calling worker has no small fiber to run tasks on, or has one again.
    void SetStarved(uint32_t worker, bool starved) noexcept {
        if (starved)
            m_starved.Set(worker);
        else
            m_starved.Clear(worker);
    }
    bool AnyStarved() const noexcept { return m_starved.Any(); }
    bool IsStarved(uint32_t worker) const noexcept { return m_starved.Test(worker); }

private:
    static constexpr uint32_t kCacheSlots = 16;
    struct alignas(kLineBytes) Cache {
        env::Atomic<uint32_t> slots[kCacheSlots]{};  // fiber plus one, 0: empty
        uint32_t used = 0;                           // owner only: slots from here on are empty
        env::Atomic<uint32_t> own{0};                // the worker's own fiber, times two, and whether it is free
    };
    static constexpr uint32_t kFree = 1;
    uint32_t TakeInTurn() noexcept;
    uint32_t TakeFromCache(uint32_t worker) noexcept;
    uint32_t RobCaches(uint32_t worker) noexcept;
    uint32_t TakeOwn(uint32_t worker) noexcept;
    void Own(uint32_t worker, uint32_t fiber) noexcept;
    uint32_t FindOwner(uint32_t fiber) noexcept;
    uint32_t GiveBack(uint32_t fiber) noexcept;

    AtomicBitSet m_freeSmall;
    AtomicBitSet m_freeLarge;
    AtomicBitSet m_starved;
    Cache *m_caches = nullptr;
    uint32_t m_small = 0;
    uint32_t m_large = 0;
    uint32_t m_workers = 0;
    uint32_t m_cacheSlots = 0;     // in use, of each cache
    uint32_t *m_owners = nullptr;  // of each small fiber, who owned it last, or kNone; belongs to who holds the fiber
    env::Atomic<uint32_t> m_turn{0};
    Memory m_memory;
};

}  // namespace weft::internal
