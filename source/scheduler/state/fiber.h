// A fiber: a stack of the pool or a thread's own stack, and what the scheduler knows about it.
#pragma once

#include "core/timers.h"
#include "platform/compiler.h"
#include "platform/fiber_context.h"
#include "platform/stack_memory.h"
#include "scheduler/state/work.h"

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace weft::internal {

struct Worker;

/// A task that runs inline, on the stack of a fiber that waits for it. Lies on that stack.
struct InlineFrame {
    Counter *counter;
    const char *outerName;  // of the task below
    InlineFrame *outer;
};

/// What a wait is about, for reports.
enum class WaitKind : uint8_t {
    Counter,
    Sleep,     ///< a time
    Several,   ///< one of several counters
    Idle,      ///< the end of all other tasks
    Call,      ///< a blocking call
    Operation  ///< an operation of AsyncIo
};

/// The wait of a fiber: for what, until when, and how it ended. Reports read the std::atomic
/// members. All accesses to those are relaxed: the fiber itself and the threads that end its wait
/// are ordered by the counter's record.
struct FiberWait {
    static constexpr uint32_t kInlined = 4;

    Timer timer;  // set only if the wait has a deadline
    std::atomic<uint64_t> deadline{Timers::kNever};
    std::atomic<Counter *> counter{nullptr};  // null: the fiber runs, or it may continue
    std::atomic<uint32_t> target{0};
    std::atomic<WaitKind> kind{WaitKind::Counter};
    bool timedOut = false;  // the deadline came first
    bool hasRoom = false;   // for a task on top of the waiting one
    // The counters of the innermost inline tasks; the first null ends them.
    std::atomic<const Counter *> inlined[kInlined]{};
};

/// The number of runs in this process that remember the holders of locks. relaxed: such a run takes
/// note only of what happens after its begin on its own threads.
inline std::atomic<uint32_t> watchedRuns{0};
/// A quick check for locks, which do not know their scheduler's state.
inline bool AnyLocksWatched() noexcept { return watchedRuns.load(std::memory_order_relaxed) != 0; }

/// The locks that the task of a fiber holds, and the one that it waits for
/// (SchedulerOptions::lockHolders). For reports and weft/inspect.h.
///
/// Others than the fiber may remove a lock, because another task may unlock it. A lock is stored by
/// its address. Other threads only compare the address, because the lock may have been destroyed.
/// All accesses are relaxed: if nothing runs, the reader sees what all have written (AllIdle).
class HeldLocks {
public:
    static constexpr uint32_t kMax = 8;  // more are not remembered

    void Add(const void *lock) noexcept { Replace(nullptr, lock); }
    /// Removes the lock once. Returns false if it is not there.
    bool Remove(const void *lock) noexcept { return Replace(lock, nullptr); }
    /// Calls tell(lock) for each.
    template <class Tell>
    void ForEach(Tell tell) const noexcept {
        for (const std::atomic<const void *> &lock : m_locks) {
            const void *held = lock.load(std::memory_order_relaxed);
            if (held != nullptr) tell(held);
        }
    }

    std::atomic<const void *> awaited{nullptr};

private:
    friend struct DebugLayout;
    bool Replace(const void *from, const void *to) noexcept {
        for (std::atomic<const void *> &lock : m_locks) {
            const void *expected = from;
            if (lock.compare_exchange_strong(expected, to, std::memory_order_relaxed)) return true;
        }
        return false;
    }

    std::atomic<const void *> m_locks[kMax]{};
};

class alignas(kLineBytes) Fiber : public Node {
public:
    /// Bytes that each stack must have in addition to those for tasks. Prepare shifts the top of
    /// the stack within these bytes, so that the tops lie in different sets of the cache.
    static constexpr size_t kColourBytes = 4096;
    /// A value that differs from the floating-point control words of each processor.
    static constexpr uint64_t kNoControl = ~uint64_t{0};

    Fiber() noexcept : Node(Kind::Fiber) {}

    /// Sets the stack of a fiber of the pool. The caller keeps this memory. A task may run on top
    /// of the running one while `room` bytes are left.
    void SetStack(char *bottom, size_t bytes, size_t room) noexcept {
        m_bottom = bottom;
        m_bytes = bytes;
        m_roomEnd = bottom + room;
    }
    /// Prepares the context: the first switch to it calls entry(this) on the empty stack.
    void Prepare(FiberContext *(*entry)(void *arg)) noexcept {
        const size_t shift = index % 16 * (kColourBytes / 64 * 3);  // leaves room for a wait
        context.Create(m_bottom, m_bytes - shift, entry, this);
        isPrepared.store(true, kRelaxed);
    }
    /// Returns true for a thread's own stack, which has no known bottom.
    bool IsThreadStack() const noexcept { return m_bottom == nullptr; }
    /// Returns true while the host's code runs on it, and no task on top of that.
    bool IsHost() const noexcept { return IsThreadStack() && inlined == nullptr; }
    /// Returns the lowest byte of the stack; null for a thread's own stack.
    char *Bottom() const noexcept { return m_bottom; }
    /// Returns true if a task has room below the calling frame. The caller must run on this fiber.
    bool HasRoom() const noexcept { return static_cast<char *>(WEFT_FRAME_ADDRESS()) >= m_roomEnd; }

    /// The counter that counts the task which the fiber runs now, or null.
    Counter *CounterOfTask() const noexcept {
        return inlined != nullptr ? inlined->counter : counter.load(kRelaxed);
    }

    uint32_t index = kAnyWorker;
    // The fiber has a context. relaxed: others read it for statistics.
    std::atomic<bool> isPrepared{false};
    bool begins = false;  // it was taken from the pool without work, and looks for some
    // The worker that runs the fiber. The code that switches to the fiber sets it. Code on the
    // fiber reads it again after everything that may switch.
    Worker *worker = nullptr;
    uint32_t pinnedTo = kAnyWorker;   // the only worker that may continue it
    Priority own = Priority::Normal;  // of its task; Node::level has the effective one
    // The counter of its outermost task, and the name of the innermost one; null if it runs none.
    // relaxed, both: others read them for reports.
    std::atomic<Counter *> counter{nullptr};
    std::atomic<const char *> name{nullptr};
    uint32_t scope = 0;              // what it submits has this one, see policy/own_tasks.h
    InlineFrame *inlined = nullptr;  // the innermost inline task
    HeldLocks locks;                 // with SchedulerOptions::lockHolders
    // The work that it runs first when it comes from the pool. For a waiting fiber: a task of its
    // counter for which no fiber was free. The fiber runs it and waits again.
    Work start;
    FiberWait wait;
    // The control words that the fiber has taken from a worker.
    uint64_t floatingPoint = kNoControl;
    FiberContext context;

private:
    friend struct DebugLayout;
    char *m_bottom = nullptr;
    char *m_roomEnd = reinterpret_cast<char *>(~uintptr_t{0});  // none on a thread's own stack
    size_t m_bytes = 0;
};

inline Entry Entry::Of(internal::Fiber &fiber) noexcept {
    const TasksOf of{nullptr, nullptr, false, static_cast<uint16_t>(fiber.scope)};
    return Entry(reinterpret_cast<uint64_t>(&fiber),
                 reinterpret_cast<uint64_t>(fiber.counter.load(kRelaxed)), of, Fiber);
}

inline Entry Entry::Of(Node &node) noexcept {
    return node.kind == Node::Kind::Fiber ? Of(static_cast<internal::Fiber &>(node))
                                          : Of(static_cast<internal::Chunk &>(node));
}

}  // namespace weft::internal
