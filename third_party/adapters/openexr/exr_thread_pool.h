// OpenEXR's tasks run on weft.
//
//     weft::UseForExr(scheduler);         // OpenEXR's global pool; while the scheduler runs
//     calls.Run([&] { file.readPixels(0, height - 1); });   // BlockingCalls: see README.md
//     weft::StopUsingForExr();            // before the scheduler stops
#pragma once

#include "weft/task_scheduler.h"

#include <IlmThreadPool.h>

namespace weft {

namespace internal {

inline void ExecuteExrTask(IlmThread::Task *task) {
    IlmThread::TaskGroup *group = task->group();
    task->execute();  // which keeps exceptions for the thread that waits
    delete task;
    group->finishOneTask();  // the group may be gone after this line
}

}  // namespace internal

/// A provider for OpenEXR's ThreadPool: its tasks become tasks of weft.
///
/// OpenEXR waits for its tasks in the operating system. If a worker waited like that, there might
/// be no worker left for the tasks. So a task that is added on a worker or attached thread runs at
/// once, before addTask returns.
class ExrThreadPool final : public IlmThread::ThreadPoolProvider {
public:
    /// `options` holds for each task. The scheduler must run as long as the pool uses the provider.
    explicit ExrThreadPool(TaskScheduler &scheduler,
                           const TaskOptions &options = DefaultOptions()) noexcept
        : m_scheduler(scheduler), m_options(options) {}
    ~ExrThreadPool() override { Wait(); }

    /// Large stacks, which the decompressors need, and the name "OpenEXR".
    static TaskOptions DefaultOptions() noexcept {
        TaskOptions options;
        options.stack = StackClass::Large;
        options.name = "OpenEXR";
        return options;
    }

    /// The number of workers. OpenEXR makes as many pieces of work at once.
    int numThreads() const override { return static_cast<int>(m_scheduler.WorkerCount()); }

    /// Does nothing: the scheduler's options say how many workers there are.
    void setNumThreads(int) override {}

    /// Runs the task on a worker. If the scheduler does not run, reports it (NotRunning) and runs
    /// the task here.
    void addTask(IlmThread::Task *task) override {
        if (TaskScheduler::Current() == &m_scheduler || !IsRunning()) {
            internal::ExecuteExrTask(task);
        } else {
            m_scheduler.AddTask({Run, task}, &m_tasks, m_options);
        }
    }

    /// Returns when all tasks have ended.
    void finish() override { Wait(); }

private:
    static void Run(TaskScheduler *, void *task) {
        internal::ExecuteExrTask(static_cast<IlmThread::Task *>(task));
    }

    /// Returns false, after a report, if the scheduler does not run: then it changes no counter.
    bool IsRunning() noexcept {
        Counter counter;
        m_scheduler.IncrementCounter(&counter);
        if (counter.IsZero()) return false;
        m_scheduler.DecrementCounter(&counter);
        return true;
    }

    void Wait() noexcept {
        if (!m_tasks.IsZero()) m_scheduler.WaitForCounter(&m_tasks);
    }

    TaskScheduler &m_scheduler;
    const TaskOptions m_options;
    Counter m_tasks;
};

/// A provider that runs each task at once, on the thread that adds it.
class ExrInlinePool final : public IlmThread::ThreadPoolProvider {
public:
    int numThreads() const override { return 0; }
    void setNumThreads(int) override {}
    void addTask(IlmThread::Task *task) override { internal::ExecuteExrTask(task); }
    void finish() override {}
};

/// Makes OpenEXR's global pool use the scheduler. Call it on a thread that is not a worker.
inline void UseForExr(TaskScheduler &scheduler) {
    IlmThread::ThreadPool::globalThreadPool().setThreadProvider(new ExrThreadPool(scheduler));
}

/// Lets OpenEXR run its tasks on the calling threads again. Call it before the scheduler stops.
inline void StopUsingForExr() {
    IlmThread::ThreadPool::globalThreadPool().setThreadProvider(new ExrInlinePool);
}

}  // namespace weft
