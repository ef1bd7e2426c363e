// Exceptions that leave tasks, thrown again where they are waited for.
//
//     weft::ExceptionCollector failures;
//     auto load = failures.Wrap([&](weft::TaskScheduler *) { Load(file); });       // may throw
//     weft::Counter counter;
//     scheduler->AddTask(weft::MakeTask(load), &counter);
//     try {
//         weft::WaitAndRethrow(*scheduler, &counter, failures);
//     } catch (const std::exception &error) {
//         Show(error.what(), failures.Count());
//     }
//
// Without it an exception that leaves a task is reported (TaskThrew) and lost. Compiled without
// exceptions nothing is caught, because nothing can be thrown, and WaitAndRethrow is a wait.
#pragma once

#include "weft/task_scheduler.h"

#include <cstdint>
#include <exception>
#include <utility>

namespace weft {

/// What left the tasks of some piece of work: the first exception, and how many there were. It must
/// outlive the tasks. No memory is allocated but what the language takes for a thrown object.
class ExceptionCollector {
public:
    ExceptionCollector() noexcept = default;
    ExceptionCollector(const ExceptionCollector &) = delete;
    ExceptionCollector &operator=(const ExceptionCollector &) = delete;

    /// A callable for MakeTask that calls `callable(TaskScheduler *)` and keeps what leaves that.
    /// It holds a copy, and must live until the task has finished.
    template <class F>
    auto Wrap(F callable) noexcept {
        return [this, callable = std::move(callable)](TaskScheduler *scheduler) mutable noexcept {
#if defined(__cpp_exceptions) || defined(_CPPUNWIND)
            try {
                callable(scheduler);
            } catch (...) {
                Keep(std::current_exception());
            }
#else
            (void)this;
            callable(scheduler);
#endif
        };
    }
    /// The same for a task of a function and an argument. A null function is reported when it is
    /// called (NullTask).
    auto Wrap(Task task) noexcept {
        return Wrap([task](TaskScheduler *scheduler) {
            if (task.function != nullptr) return task.function(scheduler, task.arg);
            internal::ReportMisuse(*scheduler, ReportCode::NullTask, "Give the task a function.",
                                   "ExceptionCollector::Wrap: a task with a null function");
        });
    }

    /// As if it had left a task: for what was caught by other means. Any thread.
    void Keep(std::exception_ptr error) noexcept {
        // relaxed: one caller gets the place, and what it writes there is published by m_isKept.
        if (m_count.fetch_add(1, std::memory_order_relaxed) != 0) return;
        m_first = std::move(error);
        m_isKept.store(true, std::memory_order_release);  // with m_first
    }

    /// How many exceptions there were, the kept one included; all of them after a wait for the
    /// tasks. Any thread.
    uint32_t Count() const noexcept {
        return m_count.load(std::memory_order_relaxed);  // a number; the wait orders it
    }

    /// The first; null if there is none. All calls give the same until Clear. Any thread.
    std::exception_ptr First() const noexcept {
        // acquire: m_first, which is not written any more.
        return m_isKept.load(std::memory_order_acquire) ? m_first : nullptr;
    }

    /// Forgets them, for more work. When no task is left that may fail, and nobody else looks.
    void Clear() noexcept {
        m_first = nullptr;
        // relaxed: nobody else is there; who is told to go on is told by a submission.
        m_isKept.store(false, std::memory_order_relaxed);
        m_count.store(0, std::memory_order_relaxed);
    }

private:
    std::exception_ptr m_first;
    WEFT_ATOMIC<uint32_t> m_count{0};
    WEFT_ATOMIC<bool> m_isKept{false};
};

/// TaskScheduler::WaitForCounter for zero; then throws the first of the failures, if any. They stay
/// until ExceptionCollector::Clear. An exception that leaves the calling task in turn is treated as
/// any. Any thread.
inline void WaitAndRethrow(TaskScheduler &scheduler, Counter *counter,
                           const ExceptionCollector &failures) {
    scheduler.WaitForCounter(counter);
    if (const std::exception_ptr first = failures.First()) std::rethrow_exception(first);
}

}  // namespace weft
