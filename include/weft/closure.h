// Tasks that own their callable, such as a lambda with its captures.
//
//     #include <weft/closure.h>
//
//     void Main(weft::TaskScheduler *scheduler, void *) {
//         auto name = std::make_unique<std::string>("weft");
//         weft::AddTask(*scheduler, [name = std::move(name)] {
//             std::printf("hello from %s\n", name->c_str());
//         });
//     }
//
//     int main() { return weft::TaskScheduler().Run(Main) == weft::Status::Ok ? 0 : 1; }
#pragma once

#include "weft/export.h"
#include "weft/task_scheduler.h"

#include <cstddef>
#include <new>
#include <type_traits>
#include <utility>

namespace weft {

struct CounterTarget;

namespace internal {

inline constexpr size_t kClosureBytes = 48, kClosureAlignment = 16;

/// Moves the closure at `from` to the raw memory at `to`, and destroys the moved-from closure.
using RelocateClosure = void (*)(void *to, void *from) noexcept;

/// Moves the closure to a block of the scheduler and submits the task run(scheduler, block).
/// Returns false after a report; then the closure is where it was.
WEFT_API bool SubmitClosure(TaskScheduler &scheduler, void *closure, RelocateClosure relocate,
                            TaskFunction run, Counter *counter,
                            const TaskOptions &options) noexcept;
/// The same for a task that begins once each of the counters has dropped to its value
/// (weft/deferred.h).
WEFT_API bool SubmitClosureAfter(TaskScheduler &scheduler, uint32_t afterCount,
                                 const CounterTarget *after, void *closure,
                                 RelocateClosure relocate, TaskFunction run, Counter *counter,
                                 const TaskOptions &options) noexcept;
/// Frees the block of a closure that has been destroyed. The task calls this as its last action.
WEFT_API void FreeClosure(TaskScheduler &scheduler, void *storage) noexcept;

template <class Callable>
struct Closure {
    static void Relocate(void *to, void *from) noexcept {
        Callable &closure = *std::launder(static_cast<Callable *>(from));
        ::new (to) Callable(std::move(closure));
        closure.~Callable();
    }
    /// `scheduler`: null if the task is skipped. Then this destroys the closure, and the scheduler
    /// frees its block.
    static void Run(TaskScheduler *scheduler, void *storage) {
        if (scheduler == nullptr) {
            std::launder(static_cast<Callable *>(storage))->~Callable();
            return;
        }
        // A destructor, because the callable may throw.
        struct Ending {
            TaskScheduler &scheduler;
            Callable &closure;
            void *storage;
            ~Ending() {
                closure.~Callable();
                FreeClosure(scheduler, storage);
            }
        } const ending{*scheduler, *std::launder(static_cast<Callable *>(storage)), storage};
        if constexpr (std::is_invocable_v<Callable &, TaskScheduler *>) {
            static_cast<void>(ending.closure(scheduler));
        } else {
            static_cast<void>(ending.closure());
        }
    }
};

}  // namespace internal

/// Submits a task that calls a copy of `callable`.
///
/// The task calls it as `callable(scheduler)` with a `TaskScheduler *` if that compiles, otherwise
/// as `callable()`. The return value is dropped. `counter`, if given, is incremented now and
/// decremented when the task has finished. A task that was submitted runs before the run ends.
///
/// The copy has the type `std::decay_t<Callable>`, and is moved from an rvalue. It is made on the
/// caller's stack and then moved to a block of the scheduler. Nothing in this second move may call
/// weft. The task destroys the copy after the call, also if an exception leaves it (TaskThrew): on
/// the worker on which the task ends, and before `counter` is decremented. If nothing was
/// submitted, the copy is destroyed before this function returns.
///
/// The callable may have at most 48 bytes and an alignment of at most 16, and must not throw when
/// it is moved or destroyed. Otherwise it does not compile. Then capture a pointer, or put the
/// callable behind a std::unique_ptr.
///
/// Returns false, after a report, if nothing was submitted: NullTask (a null function pointer),
/// BadOption, NotRunning, RunEnding, InHook, CounterOverflow, WrongScheduler, OutOfMemory.
/// Thread-safe while the scheduler runs. Does not block.
///
/// Blocks come from a pool, of which each worker keeps up to 15 for itself. Memory is allocated
/// only while more blocks are in use than ever before in the run, and kept until the run has ended.
template <class Callable>
bool AddTask(
    TaskScheduler &scheduler, Callable &&callable, Counter *counter = nullptr,
    const TaskOptions &options =
        {}) noexcept(std::is_nothrow_constructible_v<std::decay_t<Callable>, Callable &&>) {
    using Copy = std::decay_t<Callable>;
    using Closure = internal::Closure<Copy>;
    static_assert(std::is_invocable_v<Copy &> || std::is_invocable_v<Copy &, TaskScheduler *>,
                  "weft: AddTask needs a callable without parameters or with a TaskScheduler *");
    static_assert(sizeof(Copy) <= internal::kClosureBytes,
                  "weft: the callable has more than 48 bytes: put it behind a std::unique_ptr, or "
                  "let it capture a pointer");
    static_assert(alignof(Copy) <= internal::kClosureAlignment,
                  "weft: the callable is aligned to more than 16 bytes: put it behind a "
                  "std::unique_ptr or a pointer");
    static_assert(
        std::is_nothrow_move_constructible_v<Copy> && std::is_nothrow_destructible_v<Copy>,
        "weft: moving or destroying the callable may throw: put it behind a std::unique_ptr or a "
        "pointer");
    alignas(Copy) unsigned char storage[sizeof(Copy)];
    Copy *copy = ::new (static_cast<void *>(storage)) Copy(std::forward<Callable>(callable));
    TaskFunction run = Closure::Run;
    if constexpr (std::is_pointer_v<Copy>) run = *copy != nullptr ? run : nullptr;
    if (internal::SubmitClosure(scheduler, copy, Closure::Relocate, run, counter, options))
        return true;
    copy->~Copy();
    return false;
}

}  // namespace weft
