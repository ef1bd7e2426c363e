// Jolt's jobs run on weft.
//
//     weft::JoltJobSystem jobs(scheduler);
//     ...
//     physics.Update(1 / 60.0f, 1, &allocator, &jobs);  // in a task: its worker runs jobs
//     meanwhile
#pragma once

#include "weft/task_scheduler.h"

#include <algorithm>
#include <atomic>

#include <Jolt/Jolt.h>

#include <Jolt/Core/FixedSizeFreeList.h>
#include <Jolt/Core/JobSystem.h>
#include <Jolt/Physics/PhysicsSettings.h>

#if defined(__clang__)
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wweak-vtables"  // an adapter is only a header
#endif

namespace weft {

/// A JobSystem for Jolt: its jobs become tasks of weft.
///
/// It must outlive the worlds that use it. Several worlds may use it at the same time. A wait for a
/// barrier runs only jobs of this barrier on the calling thread, and returns on the same thread,
/// because Jolt locks mutexes of the system around it. If the scheduler does not run, it is
/// reported (NotRunning), and the thread that would queue a job runs it. The scheduler must not
/// stop during an update. Thread-safe, as Jolt's own.
class JoltJobSystem : public JPH::JobSystem {
public:
    /// `concurrency`: how many jobs of a kind Jolt makes at most, 0 = one for each worker. If
    /// attached threads call Jolt, add one for each of them that does so at a time.
    /// `options` apply to the task of each job. The name is replaced by the job's name. `taskGroup`
    /// is not used, because an update waits for ever if a job is left out.
    /// `maxJobs`: memory for so many jobs is allocated at once. Further jobs are allocated one by
    /// one.
    explicit JoltJobSystem(TaskScheduler &scheduler, uint32_t concurrency = 0,
                           const TaskOptions &options = {}, uint32_t maxJobs = JPH::cMaxPhysicsJobs)
        : m_scheduler(scheduler), m_options(options), m_concurrency(concurrency) {
        m_options.taskGroup = nullptr;
        m_jobs.Init(maxJobs, maxJobs);
    }
    /// Waits for jobs that are in no barrier.
    ~JoltJobSystem() override {
        if (!m_scheduler.PollCounter(&m_tasks))
            m_scheduler.WaitForCounter(&m_tasks, Meanwhile::OwnTasks);
    }

    int GetMaxConcurrency() const override {
        const uint32_t count = m_concurrency != 0 ? m_concurrency : m_scheduler.WorkerCount();
        return static_cast<int>((std::max)(1u, count));
    }

    /// `name` must live until the run has ended. Jolt passes literals.
    JPH::JobHandle CreateJob(const char *name, JPH::ColorArg color, const JobFunction &function,
                             JPH::uint32 dependencies = 0) override {
        const JPH::uint32 index = m_jobs.ConstructObject(name, color, this, function, dependencies);
        NamedJob *job;
        if (index != JPH::FixedSizeFreeList<NamedJob>::cInvalidObjectIndex) {
            job = &m_jobs.Get(index);
        } else {
            job = new NamedJob(name, color, this, function, dependencies);
            job->isSingle = true;
        }
        JPH::JobHandle handle(job);  // before the job may run and end
        if (dependencies == 0) QueueJob(job);
        return handle;
    }

    Barrier *CreateBarrier() override { return new CountingBarrier(*this); }
    void DestroyBarrier(Barrier *barrier) override {
        delete static_cast<CountingBarrier *>(barrier);
    }
    void WaitForJobs(Barrier *barrier) override {
        Counter &pending = static_cast<CountingBarrier *>(barrier)->pending;
        if (!pending.IsZero()) m_scheduler.WaitForCounter(&pending, Meanwhile::OwnTasks);
    }

protected:
    void QueueJob(Job *job) override { QueueJobs(&job, 1); }

    void QueueJobs(Job **jobs, JPH::uint count) override {
        for (JPH::uint i = 0; i < count; ++i) {
            // acq_rel: see CountingBarrier::AddJobs
            auto &job = static_cast<NamedJob &>(*jobs[i]);
            Counter *counter = job.place.exchange(&m_tasks, std::memory_order_acq_rel);
            Submit(job, counter != nullptr ? *counter : m_tasks);
        }
    }

    void FreeJob(Job *freed) override {
        auto *job = static_cast<NamedJob *>(freed);
        if (job->isSingle) {
            delete job;
        } else {
            m_jobs.DestructObject(job);
        }
    }

private:
    struct NamedJob final : Job {
        NamedJob(const char *jobName, JPH::ColorArg color, JobSystem *system,
                 const JobFunction &function, JPH::uint32 dependencies)
            : Job(jobName, color, system, function, dependencies), name(jobName) {}

        const char *name;
        bool isSingle = false;  ///< it is not in m_jobs
        /// Null; the counter of the job's barrier; or m_tasks: the job has been queued.
        std::atomic<Counter *> place{nullptr};
    };

    /// `pending` counts the jobs that have not ended, and the tasks of jobs. A wait for it finds
    /// these tasks (Meanwhile::OwnTasks).
    struct CountingBarrier final : Barrier {
        explicit CountingBarrier(JoltJobSystem &owner) noexcept : system(owner) {}

        void AddJob(const JPH::JobHandle &job) override { AddJobs(&job, 1); }
        void AddJobs(const JPH::JobHandle *jobs, JPH::uint count) override {
            for (JPH::uint i = 0; i < count; ++i) {
                auto &job = static_cast<NamedJob &>(*jobs[i].GetPtr());
                // Before SetBarrier, after which the job may end at any time.
                if (!system.m_scheduler.IncrementCounter(&pending)) continue;
                if (!job.SetBarrier(this)) {
                    system.m_scheduler.DecrementCounter(&pending);
                    continue;
                }
                // Of this call and QueueJobs, which may run at the same time, the second one sees
                // what the first has stored. If the job was queued first, its task is not of this
                // counter, so a wait for the barrier would not find it. Then a second task runs the
                // job, if it has not begun.
                // acq_rel: publishes the barrier, and sees the job as the one who queued it
                if (job.place.exchange(&pending, std::memory_order_acq_rel) != nullptr)
                    system.Submit(job, pending);
            }
        }
        void OnJobFinished(Job *) override {
            // After this line the barrier may be gone.
            system.m_scheduler.DecrementCounter(&pending);
        }

        JoltJobSystem &system;
        Counter pending;
    };

    void Submit(NamedJob &job, Counter &counter) {
        job.AddRef();
        TaskOptions options = m_options;
        options.name = job.name;
        // The counter is held, so that the job is not lost if the scheduler does not run.
        if (!m_scheduler.IncrementCounter(&counter)) return Run(nullptr, &job);
        m_scheduler.AddTask({Run, &job}, &counter, options);
        m_scheduler.DecrementCounter(&counter);
    }

    static void Run(TaskScheduler *, void *arg) {
        auto *job = static_cast<NamedJob *>(arg);
        job->Execute();  // does nothing if the job has begun or ended already
        job->Release();
    }

    TaskScheduler &m_scheduler;
    TaskOptions m_options;
    uint32_t m_concurrency;
    JPH::FixedSizeFreeList<NamedJob> m_jobs;
    Counter m_tasks;  ///< the tasks of jobs that were queued before they had a barrier
};

}  // namespace weft

#if defined(__clang__)
#pragma clang diagnostic pop
#endif
