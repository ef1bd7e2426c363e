// A fiber: a stack of the pool or a thread's own stack, and what the scheduler knows about it.
#pragma once

#include "platform/compiler.h"
#include "platform/env.h"
#include "platform/fiber_context.h"
#include "scheduler/state/held_locks.h"
#include "scheduler/state/inbox.h"
#include "weft/counter.h"
#include "weft/task.h"

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace weft::internal {

class StackSample;
class TaskEntry;
struct Worker;

/// Names the counter that counts the task which runs on top of this frame, if there is such a task.
/// A wait adds a frame because the waiter may run tasks of its counter on its own stack. RunPinned
/// adds one because it may run a task on its caller's stack. The frame lies on the fiber's stack.
struct WaitFrame {
    Counter *counter;
    const WaitFrame *outer;
};

/// What a waiting fiber waits for.
enum class WaitKind : uint8_t {
    Counter,   ///< the counter in Fiber::waitsFor
    Several,   ///< one of several counters
    Time,      ///< a deadline, or a counter until then
    Call,      ///< a call of BlockingCalls, which lowers the counter
    Operation  ///< an operation of AsyncIo, which lowers the counter
};

/// Describes a fiber. The object lies outside of the fiber's stack. Move-only. Each one has cache
/// lines of its own, because other threads access its neighbours.
class alignas(kLineBytes) Fiber : public InboxItem {
public:
    using Start = FiberContext *(*)(void *arg);

    /// Bytes that each stack must have in addition to those for tasks. Reset shifts the top of the
    /// stack within these bytes.
    static constexpr size_t kColourBytes = 4096;
    /// A value that differs from the floating-point control words of each processor.
    static constexpr uint64_t kNoControl = ~uint64_t{0};

    Fiber() noexcept : InboxItem(Kind::Fiber) {}
    /// A fiber on [stackBottom, stackBottom + stackBytes). The caller keeps this memory.
    Fiber(uint32_t fiberIndex, char *stackBottom, size_t stackBytes) noexcept
        : InboxItem(Kind::Fiber),
          index(fiberIndex),
          m_stackBottom(stackBottom),
          m_stackBytes(stackBytes) {}
    Fiber(Fiber &&other) noexcept;
    Fiber &operator=(Fiber &&other) noexcept;

    /// Prepares the fiber, for the first time or again: the next switch to it calls start(arg) on
    /// the empty stack. The fiber must not be running.
    void Reset(Start start, void *arg) noexcept;

    /// Returns true for a thread's own stack, false for a stack of weft.
    bool IsThreadStack() const noexcept { return m_stackBottom == nullptr; }
    /// Returns true if code of the host runs on the fiber. False for a pinned task that runs on a
    /// thread's own stack because no other stack is free.
    bool IsHost() const noexcept { return IsThreadStack() && !runsTask; }
    /// Returns true if a thread has switched to the fiber since Reset.
    bool HasRun() const noexcept { return worker != nullptr; }
    /// Returns true if it waits, and the wait is not over. relaxed: for reports.
    bool Waits() const noexcept {
        return waitsFor.load(kRelaxed) != nullptr && !isReady.load(kRelaxed);
    }
    /// Returns the counter of the task that runs on this fiber, or null. If a task waits, only
    /// tasks of the counter that it waits for run on top of it; the innermost frame names this
    /// counter.
    Counter *CounterOfTask() const noexcept {
        // relaxed: written by this thread, or published with the fiber
        return waits != nullptr ? waits->counter : taskCounter.load(kRelaxed);
    }
    /// Returns the lowest byte of the stack. Null for a thread's own stack.
    char *StackBottom() const noexcept { return m_stackBottom; }
    /// Returns how many bytes of the stack are left below the calling frame. The caller must run on
    /// this fiber.
    size_t StackLeft() const noexcept {
        return static_cast<size_t>(static_cast<char *>(WEFT_FRAME_ADDRESS()) - m_stackBottom);
    }

    uint32_t index = kAnyWorker;
    // The worker that runs the fiber. The code that switches to the fiber sets it. Code on the
    // fiber reads it again after every switch.
    Worker *worker = nullptr;
    uint32_t pinnedTo = kAnyWorker;  // the only worker that may continue the fiber
    // The fiber waits until the counter is at or below this value. Published with the
    // fiber's record. Atomic for reports, as taskCounter.
    std::atomic<uint32_t> waitTarget{0};
    // The level of the fiber's task. If a task runs on top of a waiting one: of the innermost task.
    Level level;
    // While `handed` is set: the largest stack class of a task that has room on top of the waiting
    // one.
    StackClass takes = StackClass::Small;
    // While the fiber waits for zero and has room for a task: another worker may store a task of
    // the awaited counter there, for this fiber to run. See find/rescue.h.
    TaskEntry *handed = nullptr;
    // The counter of the task that was handed to the fiber, until the fiber continues.
    Counter *carries = nullptr;
    // Only for a thread's own stack: a task runs on top of the host's code.
    bool runsTask = false;
    // The counter of the task that the fiber's loop has begun, even if other tasks run on top of
    // it. Kept after the task has ended, until the loop finds no other task at once. Atomic,
    // because other threads read it for reports. Not env::Atomic: code that depends on it holds
    // the fiber or its wait record (find/rescue.h), so there is nothing to simulate.
    std::atomic<Counter *> taskCounter{nullptr};
    const WaitFrame *waits = nullptr;  // the innermost frame
    // The control words that the fiber's loop has taken from a worker.
    uint64_t floatingPoint = kNoControl;
    FiberContext context;

    // What the fiber is doing, for reports by other threads. So these are atomic; relaxed, because
    // nothing depends on them.
    env::Atomic<const char *> taskName{nullptr};
    env::Atomic<Counter *> waitsFor{nullptr};
    env::Atomic<bool> waitsForIdle{false};  // the task has called WaitIdle
    // Not env::Atomic, all below: only weft/inspect.h and reports read them.
    std::atomic<WaitKind> waitKind{WaitKind::Counter};
    std::atomic<bool> isReady{false};     // the wait is over, and the fiber will continue
    std::atomic<bool> hasRunTask{false};  // the fiber has been in use in this run
    // Of a waiting fiber: the counters that the tasks on top of its outermost task lower when they
    // end, the innermost first. Null behind the last one. Of more tasks nothing is known.
    static constexpr uint32_t kInlineCounters = 4;
    std::atomic<const Counter *> inlineCounters[kInlineCounters]{};
    HeldLocks locks;                // of its tasks, if the scheduler remembers them
    StackSample *sample = nullptr;  // of the innermost task, if the scheduler measures stacks
    uint64_t taskId = 0;            // the number of the innermost task, if tasks are traced

private:
    friend struct DebugLayout;
    char *m_stackBottom = nullptr;
    size_t m_stackBytes = 0;
};

/// Adds a WaitFrame to the fiber while this object exists: tasks of `counter` may run on top of the
/// waiting task.
class Awaits {
public:
    Awaits(Fiber *fiber, Counter *counter) noexcept
        : m_fiber(fiber), m_frame{counter, fiber->waits} {
        m_fiber->waits = &m_frame;
    }
    ~Awaits() { m_fiber->waits = m_frame.outer; }
    Awaits(const Awaits &) = delete;
    Awaits &operator=(const Awaits &) = delete;

private:
    Fiber *m_fiber;
    const WaitFrame m_frame;
};

}  // namespace weft::internal
