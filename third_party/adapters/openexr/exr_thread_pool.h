// OpenEXR's tasks run on weft.
//
//     weft::UseForExr(scheduler);                           // after the scheduler has started
//     calls.Run([&] { file.readPixels(0, height - 1); });   // BlockingCalls: see README.md
//     weft::StopUsingForExr();                              // before the scheduler stops
#pragma once

#include "weft/task_scheduler.h"

#include <algorithm>

#include <IlmThreadPool.h>

#if defined(__clang__)
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wweak-vtables"  // an adapter is only a header
#endif

namespace weft {

namespace internal {

inline void ExecuteExrTask(IlmThread::Task *task) {
    IlmThread::TaskGroup *group = task->group();
    task->execute();  // it keeps exceptions for the thread that waits
    delete task;
    if (group != nullptr) group->finishOneTask();  // the group may be gone after this line
}

}  // namespace internal

/// A provider for OpenEXR's ThreadPool: its tasks become tasks of weft.
///
/// The caller of OpenEXR blocks its thread until its tasks have ended. If a worker blocked like
/// that, there might be no worker left for the tasks. So a task that is added on a worker or
/// attached thread runs at once, before addTask returns.
class ExrThreadPool final : public IlmThread::ThreadPoolProvider {
public:
    /// `options` apply to each task: start from DefaultOptions(). `taskGroup` is not used, because
    /// OpenEXR waits for ever if a task is left out. The scheduler must outlive the provider, and
    /// must not stop while OpenEXR is called.
    explicit ExrThreadPool(TaskScheduler &scheduler,
                           const TaskOptions &options = DefaultOptions()) noexcept
        : m_scheduler(scheduler), m_options(options) {
        m_options.taskGroup = nullptr;
    }
    ~ExrThreadPool() override { finish(); }

    /// The name "OpenEXR".
    static TaskOptions DefaultOptions() noexcept {
        TaskOptions options;
        options.name = "OpenEXR";
        return options;
    }

    /// The number of workers, at least 1.
    int numThreads() const override {
        return static_cast<int>((std::max)(1u, m_scheduler.WorkerCount()));
    }

    /// Does nothing: the scheduler's options say how many workers there are.
    void setNumThreads(int) override {}

    /// Submits the task. On a worker or attached thread it runs the task here. If the scheduler
    /// does not run, it reports NotRunning and runs the task here.
    void addTask(IlmThread::Task *task) override {
        if (TaskScheduler::Current() == &m_scheduler || !IsRunning()) {
            internal::ExecuteExrTask(task);
        } else {
            m_scheduler.AddTask({Run, task}, &m_tasks, m_options);
        }
    }

    /// Returns when all tasks have ended.
    void finish() override { m_scheduler.WaitForCounter(&m_tasks); }

private:
    static void Run(TaskScheduler *, void *task) {
        internal::ExecuteExrTask(static_cast<IlmThread::Task *>(task));
    }

    /// Returns false, after a report, if the scheduler does not run. IncrementCounter has no effect
    /// then.
    bool IsRunning() noexcept {
        Counter counter;
        m_scheduler.IncrementCounter(&counter);
        if (counter.IsZero()) return false;
        m_scheduler.DecrementCounter(&counter);
        return true;
    }

    TaskScheduler &m_scheduler;
    TaskOptions m_options;
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

/// Makes OpenEXR's global pool use the scheduler. Call it while OpenEXR has no work. As OpenEXR
/// ends its old threads here, do not call it in a task of theirs.
inline void UseForExr(TaskScheduler &scheduler) {
    IlmThread::ThreadPool::globalThreadPool().setThreadProvider(new ExrThreadPool(scheduler));
}

/// Makes OpenEXR run its tasks on the threads that add them. Call it before the scheduler stops,
/// outside of tasks. To give OpenEXR threads of its own again, set another provider.
inline void StopUsingForExr() {
    IlmThread::ThreadPool::globalThreadPool().setThreadProvider(new ExrInlinePool);
}

}  // namespace weft

#if defined(__clang__)
#pragma clang diagnostic pop
#endif
