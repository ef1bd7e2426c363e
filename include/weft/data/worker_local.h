// A value for each worker. Tasks can add to it without sharing a cache line.
//
//     weft::WorkerLocal<uint64_t> hits(scheduler, 0);
//     weft::ParallelFor(scheduler, 0, count, [&](uint32_t i) { *hits.Get() += IsHit(i); });
//     uint64_t all = 0;
//     hits.ForEach([&](uint64_t &each) { all += each; });   // after the loop has returned
#pragma once

#include "weft/data/padded_array.h"
#include "weft/task_scheduler.h"

#include <utility>

namespace weft {

/// One T for each worker and each thread that may be attached. Each T has cache lines of its own.
///
/// The values live as long as the WorkerLocal, across tasks, frames and runs. Only you reset them,
/// with ForEach. The next attached thread with the same index finds what the last one left. All
/// memory is allocated in the constructor.
///
/// No lock is needed, because the tasks of one worker run on one thread. weft's race finder treats
/// tasks that call Get on one worker as ordered, too.
template <class T>
class WorkerLocal {
public:
    /// Makes each value as T(args...), which must not throw.
    ///
    /// `scheduler` must outlive this, and need not run yet. The memory comes from its MemoryHooks.
    /// Without memory there are no values (Count() is 0). If SchedulerOptions::workers is the
    /// default, and more CPUs become usable before a run begins, then workers beyond Count() have
    /// no value.
    template <class... Args>
    explicit WorkerLocal(TaskScheduler &scheduler, const Args &...args) noexcept
        : m_scheduler(&scheduler),
          m_values(internal::MemoryHooksOf(scheduler), scheduler.MaxConcurrency(), args...) {}

    /// The same with `maxAttached` and `memory` of `options` instead of the scheduler's own ones.
    /// `maxAttached` must not be lower.
    template <class... Args>
    explicit WorkerLocal(TaskScheduler &scheduler, const SchedulerOptions &options,
                         const Args &...args) noexcept
        : m_scheduler(&scheduler),
          m_values(options.memory, scheduler.WorkerCount() + options.maxAttached, args...) {}

    /// Returns the value of the calling worker or attached thread; null on an external thread.
    ///
    /// Do not keep the address across a wait, and do not leave the value half changed there: the
    /// task may continue on another worker, and other tasks may use this worker's value meanwhile.
    /// This holds for every call that may wait or yield, such as ParallelFor. Thread-safe.
    T *Get() noexcept { return m_values.At(m_scheduler->CurrentWorker()); }

    /// Calls `visit(T &)` for each value, used or not, in the order of the workers. Not
    /// thread-safe: call it while no other thread or task uses the values, before the work or after
    /// a wait for it. After the wait everything that the work wrote is visible.
    template <class Visit>
    void ForEach(Visit &&visit) noexcept {
        for (uint32_t i = 0; i < Count(); ++i) visit(*m_values.At(i));
    }

    /// Returns how many values there are. Thread-safe.
    uint32_t Count() const noexcept { return m_values.Count(); }

private:
    TaskScheduler *const m_scheduler;
    internal::PaddedArray<T> m_values;
};

}  // namespace weft
