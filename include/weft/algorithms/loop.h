// The common part of ParallelFor and ParallelReduce: the options of a loop, and how workers split
// its range.
//
//     weft::LoopOptions options;
//     options.grain = 64;                                // at least 64 indices at a time
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

/// Options of one loop.
struct LoopOptions {
    /// Fewest indices that a worker takes at once; 0 = automatic. ParallelFor2D: rows of a tile.
    /// ParallelReduce: fewest indices in a block; the result depends on it
    uint64_t grain = 0;
    /// ParallelFor2D: columns of a tile; 0 = automatic. The other loops ignore it
    uint64_t columnGrain = 0;
    Priority priority = Priority::Normal;  ///< priority of the loop's tasks
    /// Name of the loop's tasks in reports; must outlive the run (a string literal does)
    const char *name = nullptr;
    /// After it is cancelled, indices that no worker has taken yet are left out
    CancelToken cancel;
};

namespace internal {

// Long compared to the cost of taking a chunk (mostly reading the clock). So short that waiting for
// the last chunk at the end does not matter.
inline constexpr uint64_t kChunkNanoseconds = 4000;

inline uint64_t Nanoseconds() noexcept {
    const auto now = Now().time_since_epoch();
    return static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(now).count());
}

/// Returns the size of the next chunk if one of `size` has taken so many nanoseconds.
inline uint32_t NextChunk(uint32_t size, uint64_t took) noexcept {
    // Limit from one chunk to the next, because short times are not exact.
    constexpr uint64_t kMaxGrowth = 8;
    const uint64_t next = took * kMaxGrowth <= kChunkNanoseconds ? size * kMaxGrowth
                                                                 : size * kChunkNanoseconds / took;
    return static_cast<uint32_t>(std::clamp(next, uint64_t{1}, uint64_t{1} << 31));
}

/// The data that all parts of one loop share. `run` is called for the offsets [first, last), which
/// are whole units.
struct LoopWork {
    void (*run)(void *context, uint64_t first, uint64_t last);
    void *context;
    uint64_t count;  ///< number of indices
    uint64_t unit;   ///< indices that are never split; the last unit may be shorter
    uint32_t units;
    TaskOptions options;
    CancelToken cancel;
    bool isTimed;    ///< false: there are no workers, and the order must always be the same
    uint32_t chunk;  ///< units in the first chunk of a part; in all chunks if not timed
    uint32_t share;  ///< a chunk has at most 1 / share of the units that are left
    /// How many more helpers may run units; null: any number. If it is 0 when a worker wants to
    /// help with a part, the part's own worker runs the rest alone, even if other helpers end
    /// later.
    WEFT_ATOMIC<int32_t> *freeHelpers = nullptr;

    // relaxed, both: only a number
    bool TakeHelper() const noexcept {
        if (freeHelpers == nullptr || freeHelpers->fetch_sub(1, std::memory_order_relaxed) > 0)
            return true;
        GiveHelperBack();
        return false;
    }
    void GiveHelperBack() const noexcept {
        if (freeHelpers != nullptr) freeHelpers->fetch_add(1, std::memory_order_relaxed);
    }
};

/// One worker's part of a loop. The worker runs chunks from the front. Other workers take half of
/// the rest from the back.
///
/// Splitting is lazy (lazy binary splitting: Tzannes, Caragea, Barua, Vishkin 2010). For each part
/// of more than one unit, a help task lies in the queue of the part's worker. If no other worker is
/// idle, the part's worker takes the help task back at the end. Otherwise an idle worker takes it
/// and becomes a helper. The helper takes the back half of the part, and puts a new help task for
/// the old part into the helper's queue. Then it runs the half as a new part, which has a help
/// task, too. So a part is split only if a worker was idle. And a part has a help task as long as
/// units are left, also while the body waits. The exception is LoopWork::freeHelpers.
///
/// The last units may cost a thousand times as much as those before. So chunks become smaller
/// towards the end of a part (guided self-scheduling: Polychronopoulos, Kuck 1987). If few units
/// are left, a helper waits for the end of the part, but at most for as long as a chunk takes,
/// before it splits the part.
///
/// A part lies in the stack frame of its worker's Run. Run returns when all tasks that know the
/// part have ended: the tasks that AddTasksAndWait submitted, and the tasks that helpers submitted.
/// A helper submits the next help task with the counter `m_invited`, before its own task ends.
class LoopPart {
public:
    /// A part begins with a chunk of LoopWork::chunk units, whatever chunk the split part had: the
    /// back of a range may cost a thousand times as much as the front.
    LoopPart(const LoopWork &work, uint32_t begin, uint32_t end, bool isHelpers = false) noexcept
        : m_work(work), m_span(Pack(begin, end)), m_chunk(work.chunk), m_isHelpers(isHelpers) {}

    /// Runs the part, together with helpers, and returns when all of it has been run. Thread-safe.
    void Run(TaskScheduler &scheduler) noexcept {
        const Task tasks[2] = {{RunPart, this}, {Help, this}};
        // relaxed: no other thread knows the part yet.
        const uint64_t span = m_span.load(std::memory_order_relaxed);
        scheduler.AddTasksAndWait(End(span) - Begin(span) > 1 ? 2 : 1, tasks, m_work.options);
        // relaxed: the wait above orders it after the end of the first help task, which has written
        // this if there is a second help task.
        if (m_hasInvited.load(std::memory_order_relaxed)) scheduler.WaitForCounter(&m_invited);
    }

private:
    static constexpr uint64_t Pack(uint32_t begin, uint32_t end) noexcept {
        return uint64_t{end} << 32 | begin;
    }
    static constexpr uint32_t Begin(uint64_t span) noexcept { return static_cast<uint32_t>(span); }
    static constexpr uint32_t End(uint64_t span) noexcept {
        return static_cast<uint32_t>(span >> 32);
    }

    static void RunPart(TaskScheduler *scheduler, void *arg) {
        LoopPart &part = *static_cast<LoopPart *>(arg);
        RunChunks(*scheduler, part, part.m_work);
        if (part.m_isHelpers) part.m_work.GiveHelperBack();
    }

    static void RunChunks(TaskScheduler &scheduler, LoopPart &part, const LoopWork &work) {
        uint64_t time = work.isTimed ? Nanoseconds() : 0;
        uint32_t first = 0, last = 0, done = 0;  // done: units since `time`
        while (part.TakeChunk(first, last)) {
            if (work.cancel.IsCancelled()) return part.LeaveRest();
            work.run(work.context, first * work.unit,
                     last < work.units ? last * work.unit : work.count);
            done += last - first;
            if (work.isTimed && part.MayPace(done)) {
                time = part.Pace(done, time);
                done = 0;
            }
            if (PassPoint(scheduler) && work.isTimed) {
                time = Nanoseconds();
                done = 0;
            }
        }
    }

    // Takes the next chunk from the front. Returns false if nothing is left.
    bool TakeChunk(uint32_t &first, uint32_t &last) noexcept {
        // relaxed, here and below: the word only says which worker runs which indices, and
        // publishes nothing. What bodies read was written before the loop's tasks were submitted.
        // What they write is read after a wait for these tasks. The word never has the same value
        // twice (no ABA), because the begin only rises and the end only falls.
        const uint32_t chunk = m_chunk.load(std::memory_order_relaxed);
        uint64_t span = m_span.load(std::memory_order_relaxed);
        do {
            first = Begin(span);
            const uint32_t left = End(span) - first;
            if (left == 0) return false;
            last = first + (std::min)((std::max)(left / m_work.share, 1u), (std::min)(chunk, left));
        } while (!m_span.compare_exchange_strong(
            span, Pack(last, End(span)), std::memory_order_relaxed, std::memory_order_relaxed));
        return true;
    }

    // relaxed: as above. An empty part stays empty: TakeChunk and TakeHalf do not change it.
    void LeaveRest() noexcept { m_span.store(Pack(0, 0), std::memory_order_relaxed); }

    // Returns true if so many units take long compared to a look at the clock. relaxed: the caller
    // has stored it.
    bool MayPace(uint32_t done) const noexcept {
        return done >= m_chunk.load(std::memory_order_relaxed) / 2;
    }
    // Sets the size of the next chunk by the time that `done` units took. Returns the current time.
    uint64_t Pace(uint32_t done, uint64_t begin) noexcept {
        const uint64_t now = Nanoseconds();
        // relaxed: for helpers it is only a hint when they split this part.
        m_chunk.store(NextChunk(done, now - begin), std::memory_order_relaxed);
        return now;
    }

    // relaxed: see TakeChunk
    uint32_t Left() const noexcept {
        const uint64_t span = m_span.load(std::memory_order_relaxed);
        return End(span) - Begin(span);
    }

    // The help task. It runs on an idle worker, or on the part's own worker at the end.
    static void Help(TaskScheduler *scheduler, void *arg) {
        LoopPart &part = *static_cast<LoopPart *>(arg);
        part.StayToTheEnd(*scheduler);
        const LoopWork &work = part.m_work;
        if (part.Left() == 0 || !work.TakeHelper()) return;
        uint32_t begin = 0, end = 0;
        if (!part.TakeHalf(begin, end)) return work.GiveHelperBack();
        part.Invite(*scheduler);
        LoopPart(work, begin, end, true).Run(*scheduler);
    }

    // A quarter of a chunk or less does not pay for the transfer, unless its units are expensive.
    // So if no more is left, waits until nothing is left, or for as long as a chunk takes.
    void StayToTheEnd(TaskScheduler &scheduler) noexcept {
        // relaxed: a hint
        const uint32_t most = m_chunk.load(std::memory_order_relaxed) / 4;
        if (Left() > most || Left() == 0 || !m_work.isTimed) return;
        for (const uint64_t end = Nanoseconds() + kChunkNanoseconds;
             Left() != 0 && Nanoseconds() < end;)
            PassPoint(scheduler);
    }

    // Takes the back half of the rest. Returns false if nothing is left. relaxed: see TakeChunk.
    bool TakeHalf(uint32_t &begin, uint32_t &end) noexcept {
        uint64_t span = m_span.load(std::memory_order_relaxed);
        do {
            end = End(span);
            const uint32_t left = end - Begin(span);
            if (left == 0) return false;
            begin = Begin(span) + left / 2;
        } while (!m_span.compare_exchange_strong(
            span, Pack(Begin(span), begin), std::memory_order_relaxed, std::memory_order_relaxed));
        return true;
    }

    // Submits another help task for this part, in place of the calling one, if units are left.
    void Invite(TaskScheduler &scheduler) noexcept {
        if (Left() == 0) return;
        // relaxed: Run reads it after its wait for the calling task.
        m_hasInvited.store(true, std::memory_order_relaxed);
        scheduler.AddTask({Help, this}, &m_invited, m_work.options);
    }

    const LoopWork &m_work;
    // Units that are left. Only the part's worker moves the begin; only helpers move the end
    // (LeaveRest empties it).
    WEFT_ATOMIC<uint64_t> m_span;
    // Units that probably take kChunkNanoseconds. Written by the part's worker.
    WEFT_ATOMIC<uint32_t> m_chunk;
    const bool m_isHelpers;
    WEFT_ATOMIC<bool> m_hasInvited{false};
    Counter m_invited;
};

/// Returns the work of a loop over `count` indices.
inline LoopWork WorkOf(const TaskScheduler &scheduler, uint64_t count, uint64_t unit,
                       const TaskOptions &options, const CancelToken &cancel,
                       void (*run)(void *, uint64_t, uint64_t), void *context) noexcept {
    constexpr uint64_t kMaxUnits = ~uint32_t{0};
    unit = (std::max)((std::max)(unit, uint64_t{1}), (count - 1) / kMaxUnits + 1);
    const uint32_t units = static_cast<uint32_t>((count - 1) / unit + 1);
    const uint32_t workers = scheduler.WorkerCount();
    return {run,
            context,
            count,
            unit,
            units,
            options,
            cancel,
            workers != 0,
            workers != 0 ? 1 : units / 64 + 1,
            std::clamp(workers, 1u, 16u)};
}

/// Calls `run` for all offsets below `count`, and then `finish`, if it is not null. Neither may
/// throw. Thread-safe.
inline void RunLoop(TaskScheduler &scheduler, uint64_t count, uint64_t unit,
                    const LoopOptions &options, void (*run)(void *, uint64_t, uint64_t),
                    void *context, void (*finish)(void *) = nullptr) noexcept {
    const TaskOptions taskOptions{options.priority, kAnyWorker, options.name};
    const LoopWork work = WorkOf(scheduler, count, unit, taskOptions, options.cancel, run, context);
    auto whole = [&](TaskScheduler *running) {
        LoopPart(work, 0, work.units).Run(*running);
        if (finish != nullptr) finish(context);
    };
    if (scheduler.CurrentWorker() != kAnyWorker) return whole(&scheduler);
    // An external thread makes only one call, because the run may end as soon as a call of an
    // external thread has returned. So all of it is one task.
    const Task task = MakeTask(whole);
    scheduler.AddTasksAndWait(1, &task, taskOptions);
}

}  // namespace internal

}  // namespace weft
