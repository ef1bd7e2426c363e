// What ParallelFor and ParallelReduce share: the options of a loop, and how its range is split
// among workers.
//
//     weft::LoopOptions options;
//     options.grain = 64;                                // no less than 64 indices at a time
//     options.name = "particles";
//     weft::ParallelFor(scheduler, 0, count, [&](uint32_t i) { particles[i].Move(); }, options);
#pragma once

#include "weft/data/cancellation.h"
#include "weft/task_scheduler.h"
#include "weft/time.h"

#include <algorithm>
#include <chrono>
#include <cstdint>

namespace weft {

/// How one loop is to be run.
struct LoopOptions {
    /// Fewest indices that a worker takes at once; 0 = automatic. ParallelFor2D: rows of a tile;
    /// ParallelReduce: it is part of what the result depends on
    uint64_t grain = 0;
    /// ParallelFor2D: columns of a tile; 0 = automatic; others ignore it
    uint64_t columnGrain = 0;
    Priority priority = Priority::Normal;  ///< lane of the tasks that ask others to help
    StackClass stack = StackClass::Small;  ///< that the body needs
    /// Of these tasks, in reports; must outlive the run (a string literal does)
    const char *name = nullptr;
    /// Once it is cancelled, indices that no worker has taken yet are left out
    CancelToken cancel;
};

namespace internal {

/// What all parts of one loop know. `run` is called for offsets `first` to before `last`, which
/// begin and end with a unit.
struct LoopWork {
    void (*run)(void *context, uint64_t first, uint64_t last);
    void *context;
    uint64_t count;  ///< of indices
    uint64_t unit;   ///< so many indices are never split; the last unit may be shorter
    uint32_t units;
    TaskOptions options;
    CancelToken cancel;
    bool isTimed;    ///< false: there are no workers, and the order is to be the same each time
    uint32_t chunk;  ///< units that each part begins with, and keeps to if nothing is timed
};

/// One worker's part of a loop: it runs chunks from the front, and others take half of what is left
/// from the back.
///
/// Splitting is lazy (lazy binary splitting: Tzannes, Caragea, Barua, Vishkin 2010). Beside each
/// part lies one task in its worker's queue that says "help here". If nobody has time, the worker
/// takes it back itself at the end. Whoever takes it splits the part then, puts another such task
/// for the old part into its own queue, and has a part of its own, with its own such task. So there
/// are splits only where somebody was idle, and as long as a part has anything worth it, somebody
/// can take it, also while the body waits.
///
/// A part lies in the frame of its worker's Run, which returns when all tasks that know the part
/// have ended: those that AddTasksAndWait submitted, and those that helpers submitted, which are
/// counted in `m_invited` before the helper ends.
class LoopPart {
public:
    /// It begins with one unit, whatever it was split from: the back of a range may cost a thousand
    /// times what the front did.
    LoopPart(const LoopWork &work, uint32_t begin, uint32_t end) noexcept
        : m_work(work), m_span(Pack(begin, end)), m_chunk(work.chunk) {}

    /// Any thread. Returns when all of the part has been run, by whomever.
    void Run(TaskScheduler &scheduler) noexcept {
        const Task tasks[2] = {{RunChunks, this}, {Help, this}};
        // relaxed: nobody else knows the part yet.
        const uint64_t span = m_span.load(std::memory_order_relaxed);
        scheduler.AddTasksAndWait(End(span) - Begin(span) > 1 ? 2 : 1, tasks, m_work.options);
        // relaxed: the first helper's task has ended, and it wrote this if there is a second.
        if (m_hasInvited.load(std::memory_order_relaxed)) scheduler.WaitForCounter(&m_invited);
    }

private:
    // Long beside what taking a chunk costs (a look at the clock, mostly), short beside what
    // anybody would miss at the end.
    static constexpr uint64_t kChunkNanoseconds = 4000;
    // from one chunk to the next: short times are not exact
    static constexpr uint64_t kMaxGrowth = 8;

    static constexpr uint64_t Pack(uint32_t begin, uint32_t end) noexcept {
        return uint64_t{end} << 32 | begin;
    }
    static constexpr uint32_t Begin(uint64_t span) noexcept { return static_cast<uint32_t>(span); }
    static constexpr uint32_t End(uint64_t span) noexcept {
        return static_cast<uint32_t>(span >> 32);
    }

    static uint64_t Nanoseconds() noexcept {
        const auto now = Now().time_since_epoch();
        return static_cast<uint64_t>(
            std::chrono::duration_cast<std::chrono::nanoseconds>(now).count());
    }

    static void RunChunks(TaskScheduler *, void *arg) {
        LoopPart &part = *static_cast<LoopPart *>(arg);
        const LoopWork &work = part.m_work;
        uint64_t time = work.isTimed ? Nanoseconds() : 0;
        uint32_t first = 0, last = 0;
        while (part.TakeChunk(first, last)) {
            if (work.cancel.IsCancelled()) return part.LeaveRest();
            work.run(work.context, first * work.unit,
                     last < work.units ? last * work.unit : work.count);
            if (work.isTimed) time = part.Pace(last - first, time);
        }
    }

    // From the front: the next chunk, but no more than half of what is left, unless that is not
    // worth sharing.
    bool TakeChunk(uint32_t &first, uint32_t &last) noexcept {
        // relaxed, here and below: the word says who runs which indices and publishes nothing. What
        // bodies read was written before the loop's tasks were submitted, and what they write is
        // read after they were waited for. It never has the same value twice, because the begin
        // only rises and the end only falls.
        const uint32_t chunk = m_chunk.load(std::memory_order_relaxed);
        uint64_t span = m_span.load(std::memory_order_relaxed);
        do {
            first = Begin(span);
            const uint32_t left = End(span) - first;
            if (left == 0) return false;
            last = first + (std::min)(left, (std::max)((std::min)(chunk, left - left / 2),
                                                       WorthSharing(chunk)));
        } while (!m_span.compare_exchange_strong(
            span, Pack(last, End(span)), std::memory_order_relaxed, std::memory_order_relaxed));
        return true;
    }

    // relaxed: as above. A part that is empty stays so.
    void LeaveRest() noexcept { m_span.store(Pack(0, 0), std::memory_order_relaxed); }

    // Makes the next chunk as long as the time allows, by what this one took; returns the time.
    uint64_t Pace(uint32_t size, uint64_t begin) noexcept {
        const uint64_t now = Nanoseconds(), took = now - begin;
        const uint64_t next = took * kMaxGrowth <= kChunkNanoseconds
                                  ? size * kMaxGrowth
                                  : size * kChunkNanoseconds / took;
        // relaxed: a hint for whoever splits this part.
        m_chunk.store(static_cast<uint32_t>(std::clamp(next, uint64_t{1}, uint64_t{1} << 31)),
                      std::memory_order_relaxed);
        return now;
    }

    // A quarter of a chunk's time pays for being taken by somebody else.
    static constexpr uint32_t WorthSharing(uint32_t chunk) noexcept {
        return (std::max)(chunk / 4, 1u);
    }

    // On some worker that has nothing else to do, or on the part's own at its end.
    static void Help(TaskScheduler *scheduler, void *arg) {
        LoopPart &part = *static_cast<LoopPart *>(arg);
        const uint32_t chunk = part.m_chunk.load(std::memory_order_relaxed);
        uint32_t begin = 0, end = 0;
        if (!part.TakeHalf(chunk, begin, end)) return;
        part.Invite(*scheduler, chunk);
        LoopPart(part.m_work, begin, end).Run(*scheduler);
    }

    bool TakeHalf(uint32_t chunk, uint32_t &begin, uint32_t &end) noexcept {
        uint64_t span = m_span.load(std::memory_order_relaxed);
        do {
            end = End(span);
            const uint32_t left = end - Begin(span);
            if (left < WorthSharing(chunk)) return false;
            begin = Begin(span) + left / 2;
        } while (!m_span.compare_exchange_strong(
            span, Pack(Begin(span), begin), std::memory_order_relaxed, std::memory_order_relaxed));
        return true;
    }

    // Another task for this part, if that is worth it, in place of the one that calls this.
    void Invite(TaskScheduler &scheduler, uint32_t chunk) noexcept {
        const uint64_t span = m_span.load(std::memory_order_relaxed);
        if (End(span) - Begin(span) < WorthSharing(chunk)) return;
        // read after the caller's task has been waited for
        m_hasInvited.store(true, std::memory_order_relaxed);
        scheduler.AddTask({Help, this}, &m_invited, m_work.options);
    }

    const LoopWork &m_work;
    // units: begin, which only its worker moves, and end, which only others move
    WEFT_ATOMIC<uint64_t> m_span;
    // units that are likely to take kChunkNanoseconds; written by its worker
    WEFT_ATOMIC<uint32_t> m_chunk;
    WEFT_ATOMIC<bool> m_hasInvited{false};
    Counter m_invited;
};

/// Runs `run` for all offsets below `count`, and then `finish`, if there is one. Any thread.
inline void RunLoop(TaskScheduler &scheduler, uint64_t count, uint64_t unit,
                    const LoopOptions &options, void (*run)(void *, uint64_t, uint64_t),
                    void *context, void (*finish)(void *) = nullptr,
                    bool finishMayThrow = false) noexcept {
    constexpr uint64_t kMaxUnits = ~uint32_t{0};
    unit = (std::max)((std::max)(unit, uint64_t{1}), (count - 1) / kMaxUnits + 1);
    const uint32_t units = static_cast<uint32_t>((count - 1) / unit + 1);
    const bool hasWorkers = scheduler.WorkerCount() != 0;
    const TaskOptions taskOptions{options.priority, options.stack, kAnyWorker, options.name};
    const LoopWork work{run,
                        context,
                        count,
                        unit,
                        units,
                        taskOptions,
                        options.cancel,
                        hasWorkers,
                        hasWorkers ? 1 : units / 64 + 1};
    auto whole = [&](TaskScheduler *running) {
        LoopPart(work, 0, units).Run(*running);
        if (finish != nullptr) finish(context);
    };
    if (!finishMayThrow && scheduler.CurrentWorker() != kAnyWorker) return whole(&scheduler);
    // One task, which keeps what is thrown; and one call, for the run may end as soon as a call of
    // another thread has returned.
    const Task task = MakeTask(whole);
    scheduler.AddTasksAndWait(1, &task, taskOptions);
}

}  // namespace internal

}  // namespace weft
