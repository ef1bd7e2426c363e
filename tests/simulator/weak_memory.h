// Memory orders in the simulator (simulator --weak): a load may give an older value, if its order
// allows that.
//
// A view-based model: every location keeps its latest stores, and every thread has a view, which
// says how old a value it may still read of each location. A store with release carries its
// writer's view, a load with acquire takes that over; a read-modify-write reads the newest value,
// and passes on the view of the store that it replaces (release sequences, as of C++20). A load
// with seq_cst reads nothing older than the newest store with seq_cst. Starting and joining a
// thread, and waking one, carry views too. What the model leaves out: stores become visible in the
// order in which they are carried out, a load never takes a value from a later store, a CAS that
// fails reads the newest value, and plain data is always the newest: for that there are Relacy and
// ThreadSanitizer. (J. Kang et al., "A promising semantics for relaxed-memory concurrency", POPL
// 2017, without promises.)
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

namespace simulator::weak {

/// How old a value may be read, by location: the number of a store.
using View = std::vector<uint32_t>;

/// What the simulated atomics ask and tell.
class Orders {
public:
    /// A new schedule begins.
    virtual void Reset() noexcept = 0;

    /// What a load of `address` gives, whose newest value is `newest`.
    virtual uint64_t Load(const void *address, uint64_t newest,
                          std::memory_order order) noexcept = 0;
    virtual void Store(const void *address, uint64_t before, uint64_t value,
                       std::memory_order order) noexcept = 0;
    /// Of a read-modify-write that has read `before`.
    virtual void Update(const void *address, uint64_t before, uint64_t value,
                        std::memory_order order) noexcept = 0;
    /// Of a CAS that has failed: it has read the newest value.
    virtual void LoadNewest(const void *address, std::memory_order order) noexcept = 0;
    /// Another object begins to live there.
    virtual void Forget(const void *address) noexcept = 0;

    /// What the current thread knows is added to `view`; and the other way round.
    virtual void Publish(View &view) noexcept = 0;
    virtual void TakeOver(const View &view) noexcept = 0;

    /// Thread `started` begins with what the current one knows; and the other way round, when it
    /// was joined.
    virtual void Started(uint32_t started) noexcept = 0;
    virtual void Joined(uint32_t joined) noexcept = 0;

protected:
    ~Orders() = default;
};

/// Null: every load gives the newest value. A pointer, because programs without orders are linked
/// without them.
inline Orders *g_orders = nullptr;

/// From now on loads may give older values. Before the first schedule.
void TurnOn() noexcept;

}  // namespace simulator::weak
