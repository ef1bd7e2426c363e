// Calls a few functions in parallel.
//
//     #include <weft/algorithms/parallel_invoke.h>
//
//     void Main(weft::TaskScheduler *scheduler, void *) {
//         std::vector<int> left(1000, 1), right(1000, 2);
//         int leftSum = 0, rightSum = 0;
//         weft::ParallelInvoke(
//             *scheduler,
//             [&] { leftSum = std::accumulate(left.begin(), left.end(), 0); },
//             [&] { rightSum = std::accumulate(right.begin(), right.end(), 0); });
//         std::printf("%d\n", leftSum + rightSum);
//     }
//
//     int main() { return weft::TaskScheduler().Run(Main) == weft::Status::Ok ? 0 : 1; }
#pragma once

#include "weft/algorithms/body_calls.h"
#include "weft/task_scheduler.h"

#include <tuple>
#include <type_traits>

namespace weft {

namespace internal {

/// Calls the function as `function(scheduler)` if that compiles, otherwise as `function()`.
template <class F>
void InvokeInTask(F &function, TaskScheduler *scheduler) {
    if constexpr (std::is_invocable_v<F &, TaskScheduler *>) {
        static_cast<void>(function(scheduler));
    } else {
        static_assert(std::is_invocable_v<F &>,
                      "weft: ParallelInvoke needs functions without parameters or with a "
                      "TaskScheduler *");
        static_cast<void>(function());
    }
}

/// True if a function of ParallelInvoke may throw.
template <class F>
inline constexpr bool kInvokeMayThrow =
    kCatches &&
    !(std::is_invocable_v<F &, TaskScheduler *> ? std::is_nothrow_invocable_v<F &, TaskScheduler *>
                                                : std::is_nothrow_invocable_v<F &>);

/// One function of a ParallelInvoke, as the argument of its task.
template <class F, class Calls>
struct InvokedCall {
    F &function;
    Calls &calls;
    static void Run(TaskScheduler *scheduler, void *arg) {
        InvokedCall &self = *static_cast<InvokedCall *>(arg);
        if (self.calls.HasThrown()) return;
        self.calls.Call(
            [&]() noexcept(!kInvokeMayThrow<F>) { InvokeInTask(self.function, scheduler); });
    }
};

}  // namespace internal

/// Calls all functions, in parallel if workers are free, and returns when all have returned. Each
/// one is a task with these options.
///
/// A function is called as `function(scheduler)` with a `TaskScheduler *` if that compiles,
/// otherwise as `function()`. It is not copied. It may wait, but not for another one of the same
/// call. The calling worker begins with the first one, other workers with the last one.
///
/// If an exception leaves a function, those that have not begun are left out. When the others have
/// returned, this call throws the first exception. If all are noexcept or the code is compiled
/// without exceptions, nothing is caught.
///
/// After a report it calls nothing: NotRunning, BadOption, and the others of
/// TaskScheduler::AddTasksAndWait. Allocates nothing. Thread-safe while the scheduler runs. A
/// worker or attached thread runs functions itself, on its own stack if that has room (see
/// TaskScheduler::AddTasksAndWait). An external thread blocks.
template <class... F>
void ParallelInvoke(TaskScheduler &scheduler, const TaskOptions &options,
                    F &&...functions) noexcept(!(internal::kInvokeMayThrow<F> || ...)) {
    static_assert(sizeof...(F) > 0, "weft: ParallelInvoke needs at least one function");
    using Calls = internal::BodyCalls<(internal::kInvokeMayThrow<F> || ...)>;
    Calls calls;
    std::tuple<internal::InvokedCall<std::remove_reference_t<F>, Calls>...> all{
        {functions, calls}...};
    std::apply(
        [&](auto &...each) {
            const Task tasks[] = {{std::decay_t<decltype(each)>::Run, &each}...};
            scheduler.AddTasksAndWait(sizeof...(F), tasks, options);
        },
        all);
    calls.Rethrow();
}

/// The same with the default options: Normal priority.
template <class First, class... F,
          class = std::enable_if_t<!std::is_same_v<std::decay_t<First>, TaskOptions>>>
void ParallelInvoke(TaskScheduler &scheduler, First &&first,
                    F &&...functions) noexcept(!(internal::kInvokeMayThrow<First> || ... ||
                                                 internal::kInvokeMayThrow<F>)) {
    ParallelInvoke(scheduler, TaskOptions{}, first, functions...);
}

}  // namespace weft
