// Collects exceptions that leave tasks, and throws them again in the code that waits for the tasks.
//
//     weft::ExceptionCollector failures;
//     auto load = failures.Wrap([&](weft::TaskScheduler *) { Load(file); });  // may throw
//     weft::Counter counter;
//     scheduler->AddTask(weft::MakeTask(load), &counter);
//     try {
//         weft::WaitAndRethrow(*scheduler, &counter, failures);
//     } catch (const std::exception &error) {
//         Show(error.what(), failures.Count());
//     }
//
// Without a collector, an exception that leaves a task is reported (TaskThrew) and lost. If the
// code is compiled without exceptions, nothing is caught, and WaitAndRethrow only waits.
#pragma once

#include "weft/task_scheduler.h"

#include <cstdint>
#include <exception>
#include <utility>

namespace weft {

namespace internal {

/// Calls `body()`. Calls `failed(std::exception_ptr)` if an exception leaves it. Without exceptions
/// only calls `body()`.
template <class Body, class Failed>
void CallAndCatch(Body &&body, [[maybe_unused]] Failed &&failed) noexcept {
#if defined(__cpp_exceptions) || defined(_CPPUNWIND)
    try {
        body();
    } catch (...) {
        CheckThreadStays();
        failed(std::current_exception());
    }
#else
    body();
#endif
}

}  // namespace internal

/// Keeps the first exception that left a group of tasks, and counts all of them. It must outlive
/// the tasks. Allocates nothing; only the C++ runtime allocates the thrown objects.
class ExceptionCollector {
public:
    ExceptionCollector() noexcept = default;
    ExceptionCollector(const ExceptionCollector &) = delete;
    ExceptionCollector &operator=(const ExceptionCollector &) = delete;

    /// Returns a callable for MakeTask that calls `callable(TaskScheduler *)` and keeps an
    /// exception that leaves it. The result holds a copy of `callable`, and must live until the
    /// task has finished.
    template <class F>
    auto Wrap(F callable) noexcept {
        return [this, callable = std::move(callable)](TaskScheduler *scheduler) mutable noexcept {
            internal::CallAndCatch([&] { callable(scheduler); },
                                   [this](std::exception_ptr error) { Keep(std::move(error)); });
        };
    }
    /// The same for a task with a function and an argument. A null function is reported (NullTask)
    /// when the task runs.
    auto Wrap(Task task) noexcept {
        return Wrap([task](TaskScheduler *scheduler) {
            if (task.function != nullptr) return task.function(scheduler, task.arg);
            internal::ReportMisuse(*scheduler, ReportCode::NullTask, "Give the task a function.",
                                   "ExceptionCollector::Wrap: a task with a null function");
        });
    }

    /// Keeps `error` as if it had left a task. For exceptions that the caller has caught itself.
    /// Thread-safe.
    void Keep(std::exception_ptr error) noexcept {
        // relaxed: only one caller gets zero and writes m_first, which m_isKept publishes.
        if (m_count.fetch_add(1, std::memory_order_relaxed) != 0) return;
        m_first = std::move(error);
        // release: publishes m_first to First.
        m_isKept.store(true, std::memory_order_release);
    }

    /// Returns how many exceptions there were, including the kept one. Complete after a wait for
    /// the tasks. Thread-safe.
    uint32_t Count() const noexcept {
        // relaxed: it is only a number; the caller's wait for the tasks orders it.
        return m_count.load(std::memory_order_relaxed);
    }

    /// Returns the first exception, or null. Once it has returned an exception, it returns the same
    /// until Clear. Thread-safe.
    std::exception_ptr First() const noexcept {
        // acquire: pairs with the release in Keep; m_first is complete and is not written again.
        return m_isKept.load(std::memory_order_acquire) ? m_first : nullptr;
    }

    /// Forgets all exceptions. Call it when no task is left that may throw, and when no other
    /// thread uses the collector.
    void Clear() noexcept {
        m_first = nullptr;
        // relaxed: no other thread uses this now. Later tasks see it through their submission.
        m_isKept.store(false, std::memory_order_relaxed);
        m_count.store(0, std::memory_order_relaxed);
    }

private:
    std::exception_ptr m_first;
    WEFT_ATOMIC<uint32_t> m_count{0};
    WEFT_ATOMIC<bool> m_isKept{false};
};

/// Waits until the counter is zero, as TaskScheduler::WaitForCounter, and then throws the first of
/// the failures, if there is one.
///
/// The failures stay until ExceptionCollector::Clear. If the exception leaves the calling task in
/// turn, it is handled like any other exception that leaves a task. Thread-safe.
inline void WaitAndRethrow(TaskScheduler &scheduler, Counter *counter,
                           const ExceptionCollector &failures) {
    scheduler.WaitForCounter(counter);
    if (const std::exception_ptr first = failures.First()) std::rethrow_exception(first);
}

}  // namespace weft
