// A value that belongs to the running task, wherever its functions are called and whatever worker
// it is on.
//
//     weft::FiberLocal<const char *> asset(scheduler, options, "none");      // options: those of
//     the scheduler
//
//     void LoadOne(weft::TaskScheduler *scheduler, void *arg) {
//         weft::FiberLocal<const char *>::Scope scope(asset, static_cast<File *>(arg)->name);
//         scheduler->AddTasksAndWait(count, parts);      // these bind it to other names, perhaps
//         on this fiber Log("loaded %s", *asset.Get());                // this task's name
//     }
#pragma once

#include "weft/data/places.h"
#include "weft/task_scheduler.h"

#include <utility>

namespace weft {

/// One T for each fiber and each thread that may be attached, on cache lines of its own.
///
/// The values live as long as the FiberLocal, across tasks and runs. A fiber runs many tasks: one
/// after the other, and while one of them waits, tasks that it waits for on top of it. So what a
/// task finds without a Scope of its own is what others left, the task that waits below it or one
/// of long ago, and is of use for caches only. Who binds a value with a Scope always finds its own.
/// All memory is taken in the constructor.
template <class T>
class FiberLocal {
public:
    /// Each value is T(args...), which must not throw. `scheduler` must outlive this, and need not
    /// run yet; `options` are those that it was made with: the numbers of fibers, `maxAttached` and
    /// `memory` are used. Without memory there are no values.
    template <class... Args>
    explicit FiberLocal(TaskScheduler &scheduler, const SchedulerOptions &options,
                        const Args &...args) noexcept
        : m_scheduler(&scheduler),
          m_places(options.memory, options.smallFibers + options.largeFibers + options.maxAttached,
                   args...) {}

    /// The calling task's, or the attached thread's; null for other threads. The address stays the
    /// same for the life of a task, waits included, and it may be kept for so long; a coroutine is
    /// another task after each co_await. Any thread.
    T *Get() noexcept { return m_places.At(m_scheduler->CurrentFiber()); }

    /// How many values there are. Any thread.
    uint32_t Count() const noexcept { return m_places.Count(); }

    /// Binds the calling task's value for the life of this object; then the outer one is back
    /// (dynamic scoping). On the stack of the task, ended in the reverse order; not across a
    /// co_await. On a thread that is neither a worker nor attached it does nothing. T is moved,
    /// which must not throw.
    class Scope {
    public:
        Scope(FiberLocal &local, T value) noexcept
            : m_place(local.Get()), m_other(std::move(value)) {
            Exchange();
        }
        ~Scope() { Exchange(); }
        Scope(const Scope &) = delete;
        Scope &operator=(const Scope &) = delete;

    private:
        void Exchange() noexcept {
            using std::swap;
            if (m_place != nullptr) swap(*m_place, m_other);
        }
        T *const m_place;
        T m_other;  // the outer value
    };

private:
    TaskScheduler *const m_scheduler;
    internal::Places<T> m_places;
};

}  // namespace weft
