// Fire and forget: a task that owns what it calls, such as a lambda with its captures.
//
//     #include <weft/closure.h>
//
//     void Main(weft::TaskScheduler *scheduler, void *) {
//         auto name = std::make_unique<std::string>("weft");
//         weft::AddTask(*scheduler, [name = std::move(name)] { std::printf("hello from %s\n",
//         name->c_str()); });
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

namespace internal {

inline constexpr size_t kClosureBytes = 48, kClosureAlignment = 16;

/// Moves the closure at `from` to the raw memory at `to`, and destroys the one at `from`.
using RelocateClosure = void (*)(void *to, void *from) noexcept;

/// Moves the closure to a place of the scheduler's and submits the task run(scheduler, place).
/// False after a report: then the closure is where it was.
WEFT_API bool SubmitClosure(TaskScheduler &scheduler, void *closure, RelocateClosure relocate,
                            TaskFunction run, Counter *counter,
                            const TaskOptions &options) noexcept;
/// Frees the place of a closure that has been destroyed. Its task calls this as its last action, on
/// the worker that it is on then.
WEFT_API void FreeClosure(TaskScheduler &scheduler, void *place) noexcept;

template <class Callable>
struct Closure {
    static void Relocate(void *to, void *from) noexcept {
        Callable &closure = *std::launder(static_cast<Callable *>(from));
        ::new (to) Callable(std::move(closure));
        closure.~Callable();
    }
    static void Run(TaskScheduler *scheduler, void *place) {
        // Also when it throws.
        struct Ending {
            TaskScheduler &scheduler;
            Callable &closure;
            void *place;
            ~Ending() {
                closure.~Callable();
                FreeClosure(scheduler, place);
            }
        } const ending{*scheduler, *std::launder(static_cast<Callable *>(place)), place};
        if constexpr (std::is_invocable_v<Callable &, TaskScheduler *>) {
            static_cast<void>(ending.closure(scheduler));
        } else {
            static_cast<void>(ending.closure());
        }
    }
};

}  // namespace internal

/// Submits a task that calls a copy of `callable`, as callable(scheduler) with a TaskScheduler * if
/// it takes that, or as callable(); what it returns is dropped. `counter`, if given, rises by one
/// now and falls by one when the task has finished.
///
/// The copy (std::decay_t; moved from an rvalue) is made on the caller's stack and then moved to a
/// block of the scheduler. Nothing in this second move may call weft. The copy is destroyed once:
/// after it has been called, by its task, on the worker that the task ends on and before `counter`
/// falls; also when an exception leaves it (TaskThrew). Or before this returns, if the task was
/// refused. A task that was not refused runs before the run ends.
///
/// The callable has at most 48 bytes; else it does not compile ("put it behind a std::unique_ptr"):
/// capture a pointer, or a std::unique_ptr to the rest. Nor does one that is aligned to more than
/// 16, or that may throw when it is moved or destroyed.
///
/// Returns false, after a report, if nothing was submitted: NullTask (a null function pointer),
/// BadOption, NotRunning, RunEnding, InHook, CounterOverflow, WrongScheduler, OutOfMemory.
/// Thread-safe while the scheduler runs; may be called from tasks, attached threads and any other
/// thread. Does not block. Blocks come from a pool, of which each worker keeps up to 15 to itself:
/// memory is allocated only while more are in use than ever before, and kept until the run has
/// ended.
template <class Callable>
bool AddTask(
    TaskScheduler &scheduler, Callable &&callable, Counter *counter = nullptr,
    const TaskOptions &options =
        {}) noexcept(std::is_nothrow_constructible_v<std::decay_t<Callable>, Callable &&>) {
    using Copy = std::decay_t<Callable>;
    using Closure = internal::Closure<Copy>;
    static_assert(std::is_invocable_v<Copy &> || std::is_invocable_v<Copy &, TaskScheduler *>,
                  "weft: AddTask wants something that can be called as () or as (TaskScheduler *)");
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
