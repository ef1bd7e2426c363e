// The steps of box2d's worlds run on weft.
//
//     weft::Box2dTasks tasks(scheduler);
//     b2WorldDef def = b2DefaultWorldDef();
//     tasks.Use(def);
//     ...
//     b2World_Step(world, 1 / 60.0f, 4);  // in a task: its worker runs tasks of the step meanwhile
#pragma once

#include "weft/task_scheduler.h"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <deque>
#include <mutex>

#include <box2d/types.h>

namespace weft {

/// A task system for box2d 3: its tasks become tasks of weft.
///
/// It must outlive the worlds that use it. Several worlds may use it at the same time. On a thread
/// that is neither a worker nor attached, a step runs on the calling thread alone. Objects of tasks
/// are reused: a step allocates only if it needs more of them than there are.
class Box2dTasks {
public:
    /// `workers`: how many tasks of a kind box2d makes at most, up to 64; 0 = one for each worker.
    /// If attached threads step worlds, add one for each of them that does so at a time.
    /// `options` apply to each task: start from DefaultOptions(). `taskGroup` is not used, because
    /// a step waits for ever if a task is left out.
    explicit Box2dTasks(TaskScheduler &scheduler, uint32_t workers = 0,
                        const TaskOptions &options = DefaultOptions()) noexcept
        : m_scheduler(scheduler), m_options(options), m_workers(workers) {
        m_options.taskGroup = nullptr;
    }
    Box2dTasks(const Box2dTasks &) = delete;
    Box2dTasks &operator=(const Box2dTasks &) = delete;

    /// The name "box2d".
    static TaskOptions DefaultOptions() noexcept {
        TaskOptions options;
        options.name = "box2d";
        return options;
    }

    /// Makes the world that is created with `def` use this object.
    void Use(b2WorldDef &def) noexcept {
        def.workerCount = static_cast<int>(Workers());
        def.enqueueTask = Enqueue;  // the one whose signature this version of box2d has
        def.finishTask = Finish;
        def.userTaskContext = this;
    }

private:
    static constexpr uint32_t kMostWorkers = 64;  // box2d's own limit
    using Loop = void(int begin, int end, uint32_t worker, void *context);
    using Call = void(void *context);

    /// A loop of box2d, or one call. Each task of it is a lane, which takes blocks of items until
    /// none is left.
    struct Job {
        Loop *loop = nullptr;
        Call *call = nullptr;
        void *context = nullptr;
        int items = 0, block = 0;
        std::atomic<uint32_t> lanes{0};
        std::atomic<int> blocks{0};
        std::atomic<bool> isTaken{false};  ///< a thread runs the call, or has run it
        uint32_t owner = kAnyWorker;       ///< the thread of its step
        Counter pending;
        Job *next = nullptr;  ///< in the list of open jobs, or of free ones
    };

    uint32_t Workers() const noexcept {
        const uint32_t count = m_workers != 0 ? m_workers : m_scheduler.WorkerCount();
        return (std::min)((std::max)(1u, count), kMostWorkers);
    }

    /// For box2d 3.0 and 3.1.
    static void *Enqueue(Loop *loop, int items, int minRange, void *context, void *user) {
        auto &self = *static_cast<Box2dTasks *>(user);
        if (!self.IsCalledInside()) {
            loop(0, items, 0, context);
            return nullptr;
        }
        // At most one block for each `minRange` items, and at most four for each worker.
        const int most = static_cast<int>(self.Workers()) * 4;
        const int block = (std::max)((std::max)(1, minRange), (items + most - 1) / most);
        const int blocks = (items + block - 1) / block;
        Job &job = self.Take(loop, nullptr, context);
        job.items = items;
        job.block = block;
        return self.Submit(job, (std::min)(static_cast<uint32_t>(blocks), self.Workers()));
    }

    /// For later versions.
    static void *Enqueue(Call *call, void *context, void *user) {
        auto &self = *static_cast<Box2dTasks *>(user);
        if (!self.IsCalledInside()) {
            call(context);
            return nullptr;
        }
        return self.Submit(self.Take(nullptr, call, context), 1);
    }

    /// Runs only calls and tasks of the same step on this thread. The tasks of the solver spin
    /// until its first task has ended. A step first waits for that one, so this thread can run it,
    /// even if all other workers spin in tasks of several worlds.
    static void Finish(void *task, void *user) {
        auto &self = *static_cast<Box2dTasks *>(user);
        auto &job = *static_cast<Job *>(task);
        if (job.call != nullptr) self.Help(job);
        self.m_scheduler.WaitForCounter(&job.pending, Meanwhile::OwnTasks);
        self.Give(job);
    }

    /// Runs calls of the step that no thread has begun, the oldest first, until `job` has ended. So
    /// the first call of the solver runs on some thread before this thread runs another one, which
    /// spins. The tasks of these calls find nothing to do.
    void Help(Job &job) {
        while (!m_scheduler.PollCounter(&job.pending)) {
            Job *next = OldestOf(job.owner);
            if (next == nullptr) return;
            if (TakeCall(*next)) next->call(next->context);
            if (next == &job) return;
        }
    }

    /// Returns true to the thread that is to run the call. relaxed: the task's submission publishes
    /// the call, and the counter what it has written. This thread, which has submitted it, needs
    /// neither.
    static bool TakeCall(Job &job) noexcept {
        return !job.isTaken.exchange(true, std::memory_order_relaxed);
    }

    /// Returns the oldest call of a step that no thread has begun.
    Job *OldestOf(uint32_t owner) {
        const std::lock_guard<std::mutex> lock(m_mutex);
        for (Job *job = m_oldest; job != nullptr; job = job->next) {
            // relaxed: TakeCall decides
            if (job->owner == owner && job->call != nullptr &&
                !job->isTaken.load(std::memory_order_relaxed))
                return job;
        }
        return nullptr;
    }

    /// An external thread cannot run tasks while it waits, so a step of it must not depend on them.
    bool IsCalledInside() const noexcept { return TaskScheduler::Current() == &m_scheduler; }

    Job *Submit(Job &job, uint32_t lanes) {
        // relaxed: AddTasks publishes both
        job.lanes.store(0, std::memory_order_relaxed);
        job.blocks.store(0, std::memory_order_relaxed);
        Task tasks[kMostWorkers];
        std::fill_n(tasks, lanes, Task{Run, &job});
        m_scheduler.AddTasks(lanes, tasks, &job.pending, m_options);
        return &job;
    }

    static void Run(TaskScheduler *, void *arg) {
        auto &job = *static_cast<Job *>(arg);
        if (job.call != nullptr) {
            if (TakeCall(job)) job.call(job.context);
            return;
        }
        // box2d has memory for each worker, so two calls must not run at the same time with the
        // same number. The number of the lane will do: a step has one loop at a time. Beside it
        // only calls for one item run, which do not use the number. relaxed: these only divide the
        // items; the counter publishes what the calls have written
        const uint32_t lane = job.lanes.fetch_add(1, std::memory_order_relaxed);
        for (;;) {
            const int begin = job.blocks.fetch_add(1, std::memory_order_relaxed) * job.block;
            if (begin >= job.items) return;
            job.loop(begin, (std::min)(begin + job.block, job.items), lane, job.context);
        }
    }

    /// Returns a job that is the newest of the open ones.
    Job &Take(Loop *loop, Call *call, void *context) {
        const std::lock_guard<std::mutex> lock(m_mutex);
        Job *job = m_free;
        if (job == nullptr) {
            job = &m_jobs.emplace_back();
        } else {
            m_free = job->next;
        }
        job->loop = loop;
        job->call = call;
        job->context = context;
        job->isTaken.store(false, std::memory_order_relaxed);  // AddTasks publishes it
        job->owner = m_scheduler.CurrentWorker();              // a step does not leave its thread
        job->next = nullptr;
        *m_end = job;
        m_end = &job->next;
        return *job;
    }

    void Give(Job &job) {
        const std::lock_guard<std::mutex> lock(m_mutex);
        Job **at = &m_oldest;
        while (*at != &job) at = &(*at)->next;
        *at = job.next;
        if (m_end == &job.next) m_end = at;
        job.next = m_free;
        m_free = &job;
    }

    TaskScheduler &m_scheduler;
    TaskOptions m_options;
    uint32_t m_workers;
    std::mutex m_mutex;      ///< of what is below; never held across a call or a wait
    std::deque<Job> m_jobs;  ///< all that were ever made
    Job *m_oldest = nullptr, **m_end = &m_oldest;  ///< the open ones, and where the next one goes
    Job *m_free = nullptr;
};

}  // namespace weft
