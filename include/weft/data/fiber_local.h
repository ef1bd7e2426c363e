// A value for each fiber. A task finds its value in all functions that it calls, and on any worker.
//
//     weft::FiberLocal<const char *> asset(scheduler, "none");
//
//     void LoadOne(weft::TaskScheduler *scheduler, void *arg) {
//         weft::FiberLocal<const char *>::Scope scope(asset, static_cast<File *>(arg)->name);
//         scheduler->AddTasksAndWait(count, parts);   // they bind other names, also on this fiber
//         Log("loaded %s", *asset.Get());             // the name that this task has bound
//     }
#pragma once

#include "weft/data/padded_array.h"
#include "weft/task_scheduler.h"

#include <utility>

namespace weft {

namespace internal {
/// Returns how many fibers and attached threads a scheduler with these options has.
WEFT_API uint32_t FiberCountOf(const SchedulerOptions &options) noexcept;
/// The same for a scheduler that runs, or one that would begin to run now.
WEFT_API uint32_t FiberCountOf(const TaskScheduler &scheduler) noexcept;
}  // namespace internal

/// One T for each fiber and each thread that may be attached. Each T has cache lines of its own.
///
/// The values live as long as the FiberLocal, across tasks and runs. A fiber runs many tasks, one
/// after the other. While a task waits, its fiber may also run tasks that it waits for, on top of
/// it. So a task that has bound no value finds the value of another task: one that waits below it,
/// or an earlier one. That is useful for caches only. A task that binds a value with a Scope always
/// finds its own value. All memory is allocated in the constructor.
template <class T>
class FiberLocal {
public:
    /// Makes each value as T(args...), which must not throw.
    ///
    /// `scheduler` must outlive this, and need not run yet. The memory comes from its MemoryHooks.
    /// Without memory there are no values (Count() is 0). If numbers of fibers are automatic and
    /// the process may use more CPUs when a run begins than now, Get returns null on the additional
    /// fibers.
    template <class... Args>
    explicit FiberLocal(TaskScheduler &scheduler, const Args &...args) noexcept
        : m_scheduler(&scheduler),
          m_values(internal::MemoryHooksOf(scheduler), internal::FiberCountOf(scheduler), args...) {
    }

    /// The same with `options` instead of the scheduler's own ones. They must have as many
    /// `workers`, `fibers` and `maxAttached`; `memory` may differ.
    template <class... Args>
    explicit FiberLocal(TaskScheduler &scheduler, const SchedulerOptions &options,
                        const Args &...args) noexcept
        : m_scheduler(&scheduler),
          m_values(options.memory, internal::FiberCountOf(options), args...) {}

    /// Returns the value of the calling task or attached thread; null on an external thread. The
    /// address stays the same until the task ends, across its waits. A coroutine is another task
    /// after each co_await. Thread-safe.
    T *Get() noexcept { return m_values.At(m_scheduler->CurrentFiber()); }

    /// Returns how many values there are. Thread-safe.
    uint32_t Count() const noexcept { return m_values.Count(); }

    /// Binds a value for the calling task while this object lives (dynamic scoping). Then the outer
    /// value is back.
    ///
    /// Make it on the stack of the task. Scopes must end in the reverse order, and must not live
    /// across a co_await. It has no effect on an external thread. Moving T must not throw.
    class Scope {
    public:
        Scope(FiberLocal &local, T value) noexcept
            : m_value(local.Get()), m_other(std::move(value)) {
            Exchange();
        }
        ~Scope() { Exchange(); }
        Scope(const Scope &) = delete;
        Scope &operator=(const Scope &) = delete;

    private:
        void Exchange() noexcept {
            using std::swap;
            if (m_value != nullptr) swap(*m_value, m_other);
        }
        T *const m_value;
        T m_other;  // the outer value
    };

private:
    TaskScheduler *const m_scheduler;
    internal::PaddedArray<T> m_values;
};

}  // namespace weft
