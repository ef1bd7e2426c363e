// Calls that block in the operating system, made by threads beside the workers. The task that wants
// the answer waits; its worker does not.
//
//     weft::BlockingCalls calls(*scheduler);                                   // once, in the main
//     task, or beside it
//
//     void Load(weft::TaskScheduler *, void *arg) {                            // a task
//         File &file = *static_cast<File *>(arg);
//         const size_t bytes = calls.Run([&] { return std::fread(file.buffer, 1, sizeof
//         file.buffer, file.stream); }); Parse(file.buffer, bytes); // on a worker again
//     }
#pragma once

#include "weft/external_work.h"
#include "weft/task_scheduler.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>

namespace weft {

/// What is called, with the argument it was submitted with. On a thread that is no worker: it may
/// block, submit, and move counters. An exception that leaves it ends the process.
using BlockingFunction = void (*)(void *arg);

struct BlockingOptions {
    uint32_t maxThreads = 16;  ///< calls that are under way at once; 1 to 1024
    /// Stack of such a thread, on which the calls run; at least 64 KiB
    size_t threadStackBytes = 256 << 10;
    /// They are named this and their place; null = unnamed; must outlive the threads
    const char *threadName = "weft call";
    /// A thread that has had nothing to do for so long ends when another one comes to rest; 0 =
    /// never
    uint32_t idleMicroseconds = 10'000'000;
    MemoryHooks memory;  ///< where the places of the threads come from, once, in the constructor
};

namespace internal {

class BlockingThreads;

struct BlockingNode {
    BlockingFunction function;
    void *arg;
    BlockingNode *next = nullptr;
    Counter *counter = nullptr;
    WEFT_ATOMIC<bool> submitted{false};
};

}  // namespace internal

/// A call to be submitted without waiting for it. It lies wherever you like, and weft does not
/// touch it any more once its function has begun: from then on it may be submitted again, or be
/// gone.
class BlockingCall {
public:
    BlockingCall(BlockingFunction function, void *arg) noexcept : m_node{function, arg} {}
    BlockingCall(const BlockingCall &) = delete;
    BlockingCall &operator=(const BlockingCall &) = delete;

private:
    friend class BlockingCalls;
    internal::BlockingNode m_node;
};

/// The call of `callable()`. It refers and never copies: the callable must outlive the call.
template <class F>
BlockingCall MakeBlockingCall(F &callable) noexcept {
    return BlockingCall([](void *arg) { (*static_cast<F *>(arg))(); },
                        const_cast<void *>(static_cast<const void *>(std::addressof(callable))));
}

/// Makes blocking calls for the tasks of one scheduler. Threads are made when calls want them, at
/// most so many as the options say; calls beyond that begin in the order in which they came. If the
/// system refuses a thread, those that there are make the call; if there is none, the caller does
/// on its own stack, and its worker is blocked after all. So it is in a child process that was
/// forked: the threads, and the calls that were submitted before, are the parent's, and a counter
/// is refused.
///
/// These threads run on all CPUs that the process may use (of the first 1,024), whatever
/// SchedulerOptions::affinity says of the workers. On Linux each begins with the nice value, slice
/// and timer slack of the thread whose call it was made for, so threadNice and
/// threadSliceMicroseconds hold for it too, since to lower a nice value takes a privilege; a call
/// may change those of its thread. They call no ThreadHooks, and have no alternate signal stack: an
/// overflow of threadStackBytes is not described.
///
/// A task that waits for a call holds its fiber.
class WEFT_API BlockingCalls {
public:
    /// Makes no thread yet. The scheduler must outlive this, and need not run yet.
    explicit BlockingCalls(TaskScheduler &scheduler, const BlockingOptions &options = {}) noexcept;

    /// Returns when all that was submitted has been called and the threads have ended. In a task
    /// the fiber waits; in a hook, which must not wait, that is reported, and the worker is
    /// blocked; in a forked child it waits for nothing. By then every Run and Submit has to have
    /// returned, as with any object.
    ~BlockingCalls();
    BlockingCalls(const BlockingCalls &) = delete;
    BlockingCalls &operator=(const BlockingCalls &) = delete;

    /// Returns what `callable()` returned, once it has; no reference. The fiber waits, the worker
    /// goes on with other tasks. An attached thread runs tasks meanwhile. A thread that is no
    /// worker of this scheduler makes the call itself, so it may do so while the scheduler does not
    /// run, too. Any thread; from a hook, which must not wait, it is reported, and the worker is
    /// blocked until the call has been made; from `onStart` and `onStop`, too, when the scheduler
    /// does not run.
    ///
    /// errno and GetLastError belong to the thread that made the call: let the callable return
    /// them. An exception that leaves it ends the process.
    template <class F>
    auto Run(F &&callable) noexcept {
        using Result = decltype(callable());
        if constexpr (std::is_void_v<Result>) {
            RunReferred(callable);
        } else {
            static_assert(!std::is_reference_v<Result>, "return a pointer or a value");
            std::optional<std::remove_cv_t<Result>> result;
            auto call = [&] { result.emplace(callable()); };
            RunReferred(call);
            return std::remove_cv_t<Result>(*std::move(result));
        }
    }

    /// The same for a C-style function. BadOption: it is null.
    Status RunBlocking(BlockingFunction function, void *arg) noexcept;

    /// Has `call` made, and returns at once (but see above for when there is no thread). `counter`,
    /// if given, rises by one now and falls by one when the function has returned; then the
    /// scheduler has to run still. Any thread. BadOption: a null function, or the counter was
    /// refused (reported); NotRunning: in a memory hook (reported); AlreadyRunning: this very call
    /// is submitted and has not begun; it has no effect then.
    Status Submit(BlockingCall &call, Counter *counter = nullptr) noexcept;

    /// Threads that there are now, busy or idle. Any thread.
    uint32_t ThreadCount() const noexcept;

    /// Ok, or what went wrong last: BadOption, an option is out of its range and the nearest value
    /// is used; OutOfMemory, there will be no threads; ThreadFailed, the system refused one (it is
    /// asked again for later calls). Any thread.
    Status LastError() const noexcept;

private:
    template <class F>
    void RunReferred(F &callable) noexcept {
        RunBlocking([](void *arg) { (*static_cast<F *>(arg))(); },
                    const_cast<void *>(static_cast<const void *>(std::addressof(callable))));
    }

    TaskScheduler &m_scheduler;
    internal::BlockingThreads *m_threads;  // null: no memory
};

}  // namespace weft
