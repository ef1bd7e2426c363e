// Weak memory orders in the simulator (simulator --weak): a load may return an older value if its
// order permits that.
//
// This is a view-based model (J. Kang et al., "A promising semantics for relaxed-memory
// concurrency", POPL 2017, without promises). Each location keeps its latest stores. Each thread
// has a view: for each location, the oldest store that it may still read.
//
// - A release store carries the view of its thread. An acquire load adds that view to its own.
// - A read-modify-write reads the newest value. It passes on the view of the store that it replaces
//   (a release sequence, as of C++20).
// - A seq_cst load reads nothing older than the newest seq_cst store to the location.
// - Starting, joining and waking a thread passes on views, too.
//
// The model leaves out the following, which Relacy and ThreadSanitizer cover in part. Stores become
// visible in the order in which they are executed. A load never returns the value of a later store.
// A CAS that fails reads the newest value. Plain data always has the newest value.
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

namespace simulator::weak {

/// A view: for each location, the number of the oldest store that may still be read.
using View = std::vector<uint32_t>;

/// The interface through which the simulated atomics use the model.
class Orders {
public:
    /// A new schedule begins.
    virtual void Reset() noexcept = 0;

    /// Returns the value that a load of `address` reads. `newest` is its newest value.
    virtual uint64_t Load(const void *address, uint64_t newest,
                          std::memory_order order) noexcept = 0;
    virtual void Store(const void *address, uint64_t before, uint64_t value,
                       std::memory_order order) noexcept = 0;
    /// Records a read-modify-write that has read `before`.
    virtual void Update(const void *address, uint64_t before, uint64_t value,
                        std::memory_order order) noexcept = 0;
    /// Records a CAS that has failed. It has read the newest value.
    virtual void LoadNewest(const void *address, std::memory_order order) noexcept = 0;
    /// A new object begins to live at this address.
    virtual void Forget(const void *address) noexcept = 0;

    /// Publish adds the current thread's view to `view`. TakeOver does the reverse.
    virtual void Publish(View &view) noexcept = 0;
    virtual void TakeOver(const View &view) noexcept = 0;

    /// Thread `started` begins with the current thread's view. Joined adds the view of thread
    /// `joined` to the current thread's view.
    virtual void Started(uint32_t started) noexcept = 0;
    virtual void Joined(uint32_t joined) noexcept = 0;

protected:
    ~Orders() = default;
};

/// If it is null, each load reads the newest value. It is a pointer, so that programs without this
/// model can be linked without it.
inline Orders *g_orders = nullptr;

/// From now on loads may return older values. Call it before the first schedule.
void TurnOn() noexcept;

}  // namespace simulator::weak
