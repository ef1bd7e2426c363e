// A value for each worker: what tasks add up without a line that all of them write.
//
//     weft::WorkerLocal<uint64_t> hits(scheduler, options, 0);       // options: those that the
//     scheduler was made with weft::ParallelFor(scheduler, 0, count, [&](uint32_t i) { *hits.Get()
//     += IsHit(i); }); uint64_t all = 0; hits.ForEach([&](uint64_t &each) { all += each; }); //
//     after the loop has returned
#pragma once

#include "weft/data/places.h"
#include "weft/task_scheduler.h"

#include <utility>

namespace weft {

/// One T for each worker and each thread that may be attached, on cache lines of its own.
///
/// The values live as long as the WorkerLocal, across tasks, frames and runs: nobody sets them back
/// but you, by ForEach. What an attached thread leaves behind the next one with its index finds.
/// All memory is taken in the constructor. Tasks on one worker are ordered by being on one thread
/// alone. weft's race finder orders those who call Get likewise.
template <class T>
class WorkerLocal {
public:
    /// Each value is T(args...), which must not throw. `scheduler` must outlive this, and need not
    /// run yet; `options` are those that it was made with: `maxAttached` and `memory` are used.
    /// Without memory there are no values (Count() is 0). When CPUs become usable between this and
    /// the start and SchedulerOptions::workers is the default, workers beyond the count have none.
    template <class... Args>
    explicit WorkerLocal(TaskScheduler &scheduler, const SchedulerOptions &options,
                         const Args &...args) noexcept
        : m_scheduler(&scheduler),
          m_places(options.memory, scheduler.WorkerCount() + options.maxAttached, args...) {}

    /// The calling worker's; null for a thread that is neither a worker nor attached. Not to be
    /// kept or half changed across a wait: the task may go on on another worker, and others may use
    /// this one's value meanwhile. That holds for every call that may wait or yield, ParallelFor
    /// included. Any thread.
    T *Get() noexcept { return m_places.At(m_scheduler->CurrentWorker()); }

    /// `visit(T &)` for each value, used or not, in the order of the workers. By one thread or
    /// task, when nobody else uses them: before the work, or after a wait for it, by which all that
    /// it wrote is visible.
    template <class Visit>
    void ForEach(Visit &&visit) noexcept {
        for (uint32_t i = 0; i < Count(); ++i) visit(*m_places.At(i));
    }

    /// How many values there are. Any thread.
    uint32_t Count() const noexcept { return m_places.Count(); }

private:
    TaskScheduler *const m_scheduler;
    internal::Places<T> m_places;
};

}  // namespace weft
