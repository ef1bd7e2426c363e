// Makes calls that block in the operating system on separate threads. The task waits for the
// result, and its worker runs other tasks meanwhile.
//
//     weft::BlockingCalls calls(*scheduler);   // once, for example in the main task
//
//     void Load(weft::TaskScheduler *, void *arg) {   // a task
//         File &file = *static_cast<File *>(arg);
//         const size_t bytes = calls.Run([&] {
//             return std::fread(file.buffer, 1, sizeof file.buffer, file.stream);
//         });
//         Parse(file.buffer, bytes);                  // on a worker again
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

/// A function that may block; it gets the argument that it was submitted with. It does not run on a
/// worker. It may submit tasks and change counters. An exception that leaves it ends the process.
using BlockingFunction = void (*)(void *arg);

/// Options of BlockingCalls.
struct BlockingOptions {
    uint32_t maxThreads = 16;  ///< most calls that run at once; 1 to 1024
    /// Stack of each thread, on which the calls run; at least 64 KiB
    size_t threadStackBytes = 256 << 10;
    /// Name of the threads, followed by their index; null = unnamed; must outlive the threads
    const char *threadName = "weft call";
    /// A thread that has been idle for this long ends when another one becomes idle; 0 = never
    uint32_t idleMicroseconds = 10'000'000;
    /// Added to the nice value of the process: -20 (runs first) to 19 (runs last). The sum is the
    /// nice value of each thread
    int32_t threadNice = 0;
    MemoryHooks memory;  ///< for the data of the threads; used once, in the constructor
    /// Called first and last on each thread, with its index, 0 to maxThreads - 1. They must not
    /// use this BlockingCalls
    ThreadHooks threads;
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

/// A call for BlockingCalls::Submit. You provide its memory. Once its function has begun, weft does
/// not access it any more: then it may be submitted again or destroyed.
class BlockingCall {
public:
    BlockingCall(BlockingFunction function, void *arg) noexcept : m_node{function, arg} {}
    BlockingCall(const BlockingCall &) = delete;
    BlockingCall &operator=(const BlockingCall &) = delete;

private:
    friend class BlockingCalls;
    internal::BlockingNode m_node;
};

/// Returns a call of `callable()`. The callable is not copied and must outlive the call.
template <class F>
BlockingCall MakeBlockingCall(F &callable) noexcept {
    return BlockingCall([](void *arg) { (*static_cast<F *>(arg))(); },
                        const_cast<void *>(static_cast<const void *>(std::addressof(callable))));
}

/// Makes blocking calls for the tasks of one scheduler. A task that waits for a call holds its
/// fiber.
///
/// Threads are started when calls need them, at most BlockingOptions::maxThreads. Further calls
/// wait and begin in the order in which they came. If the system refuses a thread, the threads that
/// exist make the call. If there is no thread, the caller makes it on its own stack, and its worker
/// is blocked after all. The same holds in a forked child process: the threads, and the calls that
/// were submitted before the fork, belong to the parent, and a counter is refused.
///
/// The threads run on all CPUs that the process may use, even if SchedulerOptions::affinity limits
/// the workers. The nice value of each thread is that of the
/// process (on Linux, of its first thread) plus BlockingOptions::threadNice, whatever
/// SchedulerOptions::threadNice is. Lowering a nice value needs a privilege, and on Linux a thread
/// begins with the nice value of the thread whose call it was started for. So if that thread has a
/// higher nice value, or threadNice is negative, the system may refuse; then the thread keeps the
/// value that it began with. On Linux a thread also begins with the slice and the timer slack of
/// that other thread, so threadSliceMicroseconds holds for it, too. A call may change all of these
/// values of its thread.
///
/// BlockingOptions::threads is called on each thread, SchedulerOptions::threads on none. `onStart`
/// returns before the first call of the thread begins. `onStop` begins after its last call. It has
/// returned on all threads before the destructor returns. Another thread may wait until `onStop` of
/// an idle thread has returned, so `onStop` must not take long. A call that its caller makes itself
/// calls no hooks. The threads have no alternate signal stack, so an overflow of threadStackBytes
/// is not described.
class WEFT_API BlockingCalls {
public:
    /// Starts no thread yet. The scheduler must outlive this, and need not run yet. See LastError
    /// for errors.
    explicit BlockingCalls(TaskScheduler &scheduler, const BlockingOptions &options = {}) noexcept;

    /// Waits until all submitted calls have been made and the threads have ended.
    ///
    /// All calls of Run and Submit must have returned before. In a task the fiber waits. In a hook,
    /// which must not wait, it reports InHook and blocks the worker. In a forked child process it
    /// does not wait.
    ~BlockingCalls();
    BlockingCalls(const BlockingCalls &) = delete;
    BlockingCalls &operator=(const BlockingCalls &) = delete;

    /// Calls `callable()` on one of the threads, waits for it, and returns its result.
    ///
    /// The result must not be a reference. errno and GetLastError belong to the thread that made
    /// the call: let the callable return them. An exception that leaves it ends the process.
    ///
    /// In a task the fiber waits, and the worker runs other tasks. An attached thread runs tasks
    /// meanwhile. An external thread, or a worker of another scheduler, makes the call itself, also
    /// while the scheduler does not run. In a hook, which must not wait, it reports InHook and
    /// blocks the worker until the call has been made. It works in `onStart` and `onStop`, too,
    /// when the scheduler does not run. Thread-safe.
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

    /// Like Run, for a C-style function. Returns BadOption, without any effect, if it is null.
    Status Run(BlockingFunction function, void *arg) noexcept;

    /// Submits `call` and returns at once. Only if there is no thread, it makes the call itself.
    ///
    /// `counter`, if given, is incremented now and decremented when the function has returned. The
    /// scheduler must still be running then.
    /// Returns Ok, or without any effect: BadOption (a null function, or the counter was refused,
    /// which is reported), NotRunning (in a memory hook; reported), AlreadyRunning (`call` has been
    /// submitted already and has not begun). Thread-safe.
    Status Submit(BlockingCall &call, Counter *counter = nullptr) noexcept;

    /// Returns how many threads exist now, busy or idle. Thread-safe.
    uint32_t ThreadCount() const noexcept;

    /// Returns Ok, or the last error: BadOption (an option is out of range, and the nearest value
    /// is used; or the system refused a threadNice other than 0 for a thread), OutOfMemory (there
    /// are no threads), ThreadFailed (the system refused a thread; it is tried again for later
    /// calls). Thread-safe.
    Status LastError() const noexcept;

private:
    template <class F>
    void RunReferred(F &callable) noexcept {
        Run([](void *arg) { (*static_cast<F *>(arg))(); },
            const_cast<void *>(static_cast<const void *>(std::addressof(callable))));
    }

    TaskScheduler &m_scheduler;
    internal::BlockingThreads *m_threads;  // null: there was no memory
};

}  // namespace weft
