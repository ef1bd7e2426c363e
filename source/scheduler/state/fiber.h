// A stack with a place in the pool, or the stack that a worker thread came with.
#pragma once

#include "platform/compiler.h"
#include "platform/env.h"
#include "platform/fiber_context.h"
#include "scheduler/state/inbox.h"
#include "weft/counter.h"
#include "weft/task.h"

#include <cstddef>
#include <cstdint>

namespace weft::internal {

class TaskEntry;
struct Worker;

/// A counter that counts the task that runs above this frame on the fiber's stack, if one does. A
/// wait adds a frame, because the waiter may run tasks of its counter itself; so does RunPinned,
/// which may run a task on its caller's stack. It lies on the fiber's stack.
struct WaitFrame {
    Counter *counter;
    const WaitFrame *outer;
};

/// Its own description lies here, outside its stack. Move-only. On lines of its own: others look at
/// their neighbours'.
class alignas(kLineBytes) Fiber : public InboxItem {
public:
    using Start = FiberContext *(*)(void *arg);

    /// What a stack must have beyond the bytes that tasks may use, for Reset to shift its top by.
    static constexpr size_t kColourBytes = 4096;
    /// No control words of any processor.
    static constexpr uint64_t kNoControl = ~uint64_t{0};

    Fiber() noexcept : InboxItem(Kind::Fiber) {}
    /// A fiber on [stackBottom, stackBottom + stackBytes), which stays the caller's.
    Fiber(uint32_t fiberIndex, char *stackBottom, size_t stackBytes) noexcept
        : InboxItem(Kind::Fiber),
          index(fiberIndex),
          m_stackBottom(stackBottom),
          m_stackBytes(stackBytes) {}
    Fiber(Fiber &&other) noexcept;
    Fiber &operator=(Fiber &&other) noexcept;

    /// Arms it, or arms it anew: the next switch to it calls start(arg) on the empty stack. Nobody
    /// may run on it.
    void Reset(Start start, void *arg) noexcept;

    /// Not a stack of weft's: a thread's own.
    bool IsThreadStack() const noexcept { return m_stackBottom == nullptr; }
    /// The host's own code runs on it; false for a pinned task that has found no other stack.
    bool IsHost() const noexcept { return IsThreadStack() && !runsTask; }
    /// Something has switched to it since it was armed.
    bool HasRun() const noexcept { return worker != nullptr; }
    /// The counter of the task that runs on this fiber, or null. If a task waits, only tasks of the
    /// counter that it waits for run on top of it.
    Counter *CounterOfTask() const noexcept {
        return waits != nullptr ? waits->counter : taskCounter;
    }
    /// Bytes below the calling frame. The caller runs on this fiber.
    size_t StackLeft() const noexcept {
#if defined(_MSC_VER) && !defined(__clang__)
        const void *frame = _AddressOfReturnAddress();
#else
        const void *frame = __builtin_frame_address(0);
#endif
        return static_cast<size_t>(static_cast<const char *>(frame) - m_stackBottom);
    }

    uint32_t index = kAnyWorker;
    // that runs it; set by whoever switches to it, re-read after every switch
    Worker *worker = nullptr;
    uint32_t pinnedTo = kAnyWorker;  // the only worker that may continue it
    uint32_t waitTarget = 0;
    Level level;  // of its task; of the innermost, where one runs on top of one that waits
    // while `handed` is set: the largest class of task that has room on top of it
    StackClass takes = StackClass::Small;
    // while it waits: where a task of its counter may be put for it, see rescue.h
    TaskEntry *handed = nullptr;
    Counter *carries = nullptr;  // of the task that it has been handed, until it goes on
    bool runsTask = false;       // of a thread stack: a task, on top of the host's code
    // of the task that its loop has begun, below those on top of it
    Counter *taskCounter = nullptr;
    const WaitFrame *waits = nullptr;     // the innermost frame
    uint64_t floatingPoint = kNoControl;  // the control words that its loop has taken from a worker
    FiberContext context;

    // What it does, for reports: read by others, so atomic, and relaxed because nothing depends on
    // it.
    env::Atomic<const char *> taskName{nullptr};
    env::Atomic<Counter *> waitsFor{nullptr};
    env::Atomic<bool> waitsForIdle{false};  // in WaitIdle

private:
    char *m_stackBottom = nullptr;
    size_t m_stackBytes = 0;
};

/// Adds a frame to the fiber while this object lives.
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
