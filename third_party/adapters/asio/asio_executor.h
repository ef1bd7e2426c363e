// Asio's handlers run as tasks of weft, in which they may wait.
//
//     weft::AsioContext context(*scheduler);        // after the scheduler has started
//     asio::ip::tcp::socket socket(context);        // also acceptors and timers
//     asio::post(context, [&] { mutex.lock(); });   // a weft::Mutex: the worker runs other tasks
//     ...
//     socket.close();                               // the destructor of `context` waits
#pragma once

#include "weft/closure.h"
#include "weft/external_work.h"
#include "weft/task_scheduler.h"

#include <atomic>
#include <cstdint>
#include <memory>
#include <type_traits>
#include <utility>

#include <asio/execution.hpp>
#include <asio/execution_context.hpp>

namespace weft {

class AsioContext;

/// An executor for Asio: each function object that it is given becomes a task of weft. Names in
/// lower case are those that Asio asks for.
///
/// It never runs a function object on the thread that submits it (blocking.never), so dispatch does
/// the same as post. Executors of the same context are equal. The context must outlive it.
class AsioExecutor {
public:
    explicit AsioExecutor(AsioContext &context) noexcept : AsioExecutor(context, false) {}
    AsioExecutor(const AsioExecutor &other) noexcept
        : AsioExecutor(*other.m_context, other.m_isTracked) {}
    AsioExecutor(AsioExecutor &&other) noexcept
        : m_context(other.m_context), m_isTracked(std::exchange(other.m_isTracked, false)) {}
    AsioExecutor &operator=(AsioExecutor other) noexcept {
        std::swap(m_context, other.m_context);
        std::swap(m_isTracked, other.m_isTracked);
        return *this;
    }
    inline ~AsioExecutor();

    /// Submits a task that calls a copy of `function`, which is moved from an rvalue.
    ///
    /// The task destroys the copy after the call. If the task is refused (NotRunning, RunEnding and
    /// the other reports of AddTask), the copy is destroyed without a call, and
    /// AsioContext::DroppedHandlers counts it. Throws what copying or allocating throws.
    /// Thread-safe.
    template <class F>
    void execute(F &&function) const;

    AsioContext &query(asio::execution::context_t) const noexcept { return *m_context; }
    static constexpr asio::execution::blocking_t query(asio::execution::blocking_t) noexcept {
        return asio::execution::blocking.never;
    }
    asio::execution::outstanding_work_t query(asio::execution::outstanding_work_t) const noexcept {
        if (m_isTracked) return asio::execution::outstanding_work.tracked;
        return asio::execution::outstanding_work.untracked;
    }

    /// Returns an executor for which AsioContext::Wait waits, as long as it or a copy of it exists.
    /// Asio keeps one for each operation that has not ended. If the scheduler does not run, reports
    /// NotRunning and returns an executor that is not tracked.
    AsioExecutor require(asio::execution::outstanding_work_t::tracked_t) const noexcept {
        return AsioExecutor(*m_context, true);
    }
    AsioExecutor require(asio::execution::outstanding_work_t::untracked_t) const noexcept {
        return AsioExecutor(*m_context, false);
    }

    friend bool operator==(const AsioExecutor &a, const AsioExecutor &b) noexcept {
        return a.m_context == b.m_context;
    }
    friend bool operator!=(const AsioExecutor &a, const AsioExecutor &b) noexcept {
        return !(a == b);
    }

private:
    inline AsioExecutor(AsioContext &context, bool isTracked) noexcept;

    AsioContext *m_context;
    bool m_isTracked;  ///< it is counted by AsioContext::m_work
};

/// An execution context for Asio. Sockets, acceptors and timers may be made with it, as with an
/// io_context. Nobody calls run(): Asio starts a thread that waits for the system, and gives the
/// handlers to the executor. Do not derive from this class; it is not final, because traits of Asio
/// derive from it.
class AsioContext : public asio::execution_context {
public:
    using executor_type = AsioExecutor;

    /// `options` apply to the task of each handler: start from DefaultOptions(). `taskGroup` is not
    /// used. The scheduler must outlive the context.
    explicit AsioContext(TaskScheduler &scheduler, const TaskOptions &options = DefaultOptions())
        : m_scheduler(scheduler), m_options(options) {
        m_options.taskGroup = nullptr;
    }

    /// Calls Wait. Then ends Asio's thread, and destroys without a call the handlers of operations
    /// that have not ended; there are such operations only if the scheduler does not run. Destroy
    /// the context before the scheduler stops, and not in one of its handlers.
    ~AsioContext() {
        Wait();
        m_scheduler.PrepareToBlock();  // shutdown joins Asio's thread
        shutdown();
        destroy();
    }

    /// The name "Asio".
    static TaskOptions DefaultOptions() noexcept {
        TaskOptions options;
        options.name = "Asio";
        return options;
    }

    AsioExecutor get_executor() noexcept { return AsioExecutor(*this); }

    /// Waits until, at some moment, all handlers have returned, no operation is in progress and no
    /// tracked executor exists. Close or cancel what would never end. While it waits, no stall is
    /// reported. If the scheduler does not run, reports NotRunning and returns at once, unless
    /// there is nothing to wait for. Not for the context's handlers. Thread-safe.
    void Wait() noexcept {
        if (m_scheduler.PollCounter(&m_work)) return;
        const ExternalWork operations(m_scheduler, "Asio");
        m_scheduler.WaitForCounter(&m_work);
    }

    /// Returns how many handlers were destroyed without a call, because the scheduler refused their
    /// tasks. Each refusal was reported, but RunEnding only once a run. Thread-safe.
    uint64_t DroppedHandlers() const noexcept {
        return m_dropped.load(std::memory_order_relaxed);  // relaxed: a number for logs and tests
    }

private:
    friend class AsioExecutor;

    template <class F>
    void Submit(F &&function) {
        using Copy = std::decay_t<F>;
        bool isSubmitted;
        // the conditions of AddTask
        if constexpr (sizeof(Copy) <= 48 && alignof(Copy) <= 16 &&
                      std::is_nothrow_move_constructible_v<Copy> &&
                      std::is_nothrow_destructible_v<Copy>) {
            isSubmitted = AddTask(
                m_scheduler, [copy = Copy(std::forward<F>(function))]() mutable { copy(); },
                &m_work, m_options);
        } else {
            isSubmitted = AddTask(
                m_scheduler,
                [copy = std::make_unique<Copy>(std::forward<F>(function))] { (*copy)(); }, &m_work,
                m_options);
        }
        // relaxed: see DroppedHandlers
        if (!isSubmitted) m_dropped.fetch_add(1, std::memory_order_relaxed);
    }

    TaskScheduler &m_scheduler;
    TaskOptions m_options;
    Counter m_work;  ///< the tasks of handlers, and the tracked executors
    std::atomic<uint64_t> m_dropped{0};
};

inline AsioExecutor::AsioExecutor(AsioContext &context, bool isTracked) noexcept
    : m_context(&context),
      m_isTracked(isTracked && context.m_scheduler.IncrementCounter(&context.m_work)) {}

inline AsioExecutor::~AsioExecutor() {
    if (m_isTracked) m_context->m_scheduler.DecrementCounter(&m_context->m_work);
}

template <class F>
void AsioExecutor::execute(F &&function) const {
    m_context->Submit(std::forward<F>(function));
}

}  // namespace weft
