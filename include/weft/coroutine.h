// Coroutines as tasks. Needs C++20. A coroutine that waits holds no fiber, and continues as a task
// on any worker.
//
//     weft::Coroutine<int> Load(File &file) {
//         weft::TaskScheduler &scheduler = co_await weft::CurrentScheduler{};
//         weft::Counter read;
//         scheduler.AddTask(file.ReadTask(), &read);
//         co_await read;  // until the task has finished
//         co_return Parse(file);
//     }
//
//     weft::Coroutine<> LoadAll(Game &game) {
//         co_await game.started;  // a weft::Event of this scheduler
//         game.map = co_await game.mapResult;  // a weft::Result (weft/data/result.h)
//         game.level = co_await Load(game.levelFile);  // another coroutine
//         co_await 500ms;  // or a point in time
//         const bool isInTime = co_await weft::UntilDeadline{game.ready, weft::Now() + 1s};
//         game.music = co_await Load(game.musicFile);
//     }
//
//     weft::Counter loaded;
//     weft::StartCoroutine(*scheduler, LoadAll(game), &loaded);  // like AddTask
//     scheduler->WaitForCounter(&loaded);
#pragma once

#include "weft/deferred.h"
#include "weft/sync/event.h"
#include "weft/task_scheduler.h"
#include "weft/time.h"

#include <chrono>
#include <concepts>
#include <coroutine>
#include <exception>
#include <optional>
#include <type_traits>
#include <utility>

namespace weft {

/// `co_await Until{counter, value}` waits until `counter <= value`. The counter must live until it
/// has dropped to `value`.
struct Until {
    Counter &counter;
    uint32_t value = 0;
};

/// `co_await UntilDeadline{counter, deadline, value}` waits until `counter <= value` or until
/// `deadline`, and returns true if the counter was at `value` or below.
///
/// The counter is checked once more at the deadline. It must live until the coroutine goes on, even
/// after it has dropped to `value`. If there is no memory for the wait, that is reported
/// (OutOfMemory), and the coroutine goes on at once.
struct UntilDeadline {
    Counter &counter;
    Clock::time_point deadline;
    uint32_t value = 0;
};

/// `co_await CurrentScheduler{}` returns the scheduler that runs the coroutine, as a
/// `TaskScheduler &`. It does not wait.
struct CurrentScheduler {};

/// A coroutine that has not begun, and later its result.
///
/// It begins once: when another coroutine awaits it, or by StartCoroutine. If it never begins, the
/// destructor of this object destroys it. If it has begun already or was moved from, a second begin
/// is reported (NullTask) and has no effect: the awaiting coroutine continues at once with the
/// value `Result()`, or with std::bad_optional_access if there is no such value.
///
/// The frame of the coroutine comes from operator new, as usual in C++; nothing else is allocated.
/// Each part between two waits is a task of its own. So a FiberLocal::Scope, or an address from
/// FiberLocal, must not be kept across a wait.
template <class Result = void>
class [[nodiscard]] Coroutine;

namespace internal {

/// The state that all coroutines of one chain of calls share. It lies in the frame of the coroutine
/// that was started.
struct CoroutineRoot {
    /// Lies in the task that runs the coroutines now. A coroutine writes it at its end; after that
    /// its frame may be gone.
    struct Hop {
        std::exception_ptr error;
        // continues in the same task, in a loop, because not every build has tail calls
        std::coroutine_handle<> next;
    };
    TaskScheduler *scheduler = nullptr;
    Counter *counter = nullptr;
    TaskOptions options;
    Hop *hop = nullptr;
};

/// A task that runs the coroutines of one chain until one of them waits.
struct CoroutineTask {
    CoroutineRoot *root = nullptr;
    std::coroutine_handle<> next;

    Task Get() noexcept { return {Run, this}; }

private:
    // A coroutine that waits has submitted the next such task. That one may have run already, and
    // then this object and the coroutines are gone.
    static void Run(TaskScheduler *, void *arg) {
        CoroutineTask &task = *static_cast<CoroutineTask *>(arg);
        CoroutineRoot::Hop hop;
        task.root->hop = &hop;
        for (auto next = task.next; next; next = std::exchange(hop.next, {})) next.resume();
#if defined(__cpp_exceptions) || defined(_CPPUNWIND)
        // reported, like an exception of any task
        if (hop.error != nullptr) std::rethrow_exception(std::move(hop.error));
#endif
    }
};

/// Suspends the coroutine. `submit(scheduler, task, counter, options)` submits the task that
/// continues it. Copies what `submit` needs first, because the coroutine may be gone before
/// `submit` returns. Returns false if `submit` reported an error; then the coroutine does not wait.
template <class Submit>
bool Suspend(CoroutineTask &task, std::coroutine_handle<> self, Submit submit) noexcept {
    task.next = self;
    const CoroutineRoot root = *task.root;
    return submit(*root.scheduler, task.Get(), root.counter, root.options);
}

struct CounterAwaiter : CoroutineTask {
    Counter *awaited = nullptr;
    uint32_t value = 0;
    bool await_ready() noexcept { return root->scheduler->PollCounter(awaited, value); }
    bool await_suspend(std::coroutine_handle<> self) noexcept {
        Counter *after = awaited;
        const uint32_t target = value;
        return Suspend(
            *this, self,
            [=](TaskScheduler &scheduler, Task task, Counter *counter, const TaskOptions &options) {
                return ContinueAfter(scheduler, after, target, task, counter, options);
            });
    }
    void await_resume() noexcept {}
};

/// TimedWait lies in the frame of the coroutine, which does not end before EndTimedWait.
struct DeadlineAwaiter : CoroutineTask {
    TimedWait wait;
    Clock::time_point deadline;
    bool await_ready() noexcept {
        return root->scheduler->PollCounter(wait.awaited, wait.value) || Now() >= deadline;
    }
    bool await_suspend(std::coroutine_handle<> self) noexcept {
        return Suspend(*this, self,
                       [this](TaskScheduler &scheduler, Task task, Counter *counter,
                              const TaskOptions &options) {
                           return ContinueAfterOrAt(scheduler, wait, deadline, task, counter,
                                                    options);
                       });
    }
    bool await_resume() noexcept { return EndTimedWait(*root->scheduler, wait); }
};

struct TimeAwaiter : CoroutineTask {
    Clock::time_point time;
    bool await_ready() noexcept { return Now() >= time; }
    bool await_suspend(std::coroutine_handle<> self) noexcept {
        const Clock::time_point until = time;
        return Suspend(
            *this, self,
            [=](TaskScheduler &scheduler, Task task, Counter *counter, const TaskOptions &options) {
                return ContinueAt(scheduler, until, task, counter, options);
            });
    }
    void await_resume() noexcept {}
};

/// The event must belong to the scheduler that runs the coroutine.
struct EventAwaiter : CoroutineTask {
    Event &event;
    Waiter inLine;
    EventAwaiter(CoroutineRoot *ownRoot, Event &awaited) noexcept
        : CoroutineTask{ownRoot, {}}, event(awaited) {}
    bool await_ready() noexcept { return event.TryWait(); }
    bool await_suspend(std::coroutine_handle<> self) noexcept {
        if (event.PassOrLineUp(inLine)) return false;
        Counter *called = &inLine.counter;
        // This cannot fail: no counter is increased, Start has checked the options, and no
        // scheduler uses `called` yet.
        return Suspend(
            *this, self,
            [=](TaskScheduler &scheduler, Task task, Counter *counter, const TaskOptions &options) {
                return ContinueAfter(scheduler, called, 0, task, counter, options);
            });
    }
    void await_resume() noexcept {}
};

/// For an object with a value that is known once its counter is zero: Result in
/// weft/data/result.h. Returns what `Value()` returns, or throws what it throws.
template <class Known>
struct KnownAwaiter : CounterAwaiter {
    Known &known;
    KnownAwaiter(CoroutineRoot *ownRoot, Known &object) noexcept
        : CounterAwaiter{{ownRoot, {}}, &object.Pending(), 0}, known(object) {}
    decltype(auto) await_resume() { return known.Value(); }
};

/// A value that is known without a wait.
template <class Value>
struct ReadyAwaiter {
    Value value;
    bool await_ready() noexcept { return true; }
    void await_suspend(std::coroutine_handle<>) noexcept {}
    Value await_resume() noexcept { return value; }
};

template <class Result>
struct CallAwaiter;

/// Returns whether the coroutine can begin. Returns false after a report.
template <class Promise>
bool MayBegin(TaskScheduler &scheduler, std::coroutine_handle<Promise> handle) noexcept {
    if (handle && handle.promise().root == nullptr) return true;
    ReportMisuse(scheduler, ReportCode::NullTask,
                 "Start or await each coroutine once, by the object that has it.",
                 handle ? "a coroutine was to begin that has begun already"
                        : "a coroutine was to begin that was moved from");
    return false;
}

struct PromiseBase {
    CoroutineRoot *root = nullptr;
    std::coroutine_handle<> caller;  // null: it was begun by StartCoroutine
    std::exception_ptr error;

    struct AtEnd {
        bool await_ready() noexcept { return false; }
        template <class Promise>
        void await_suspend(std::coroutine_handle<Promise> self) noexcept {
            PromiseBase &promise = self.promise();
            promise.root->hop->next = promise.caller;
            if (promise.caller) return;
            promise.root->hop->error = std::move(promise.error);
            self.destroy();
        }
        void await_resume() noexcept {}
    };

    std::suspend_always initial_suspend() noexcept { return {}; }
    AtEnd final_suspend() noexcept { return {}; }
    void unhandled_exception() noexcept {
        CheckThreadStays();
        error = std::current_exception();
    }

    CounterAwaiter await_transform(Counter &counter) noexcept { return {{root, {}}, &counter, 0}; }
    CounterAwaiter await_transform(Until until) noexcept {
        return {{root, {}}, &until.counter, until.value};
    }
    DeadlineAwaiter await_transform(UntilDeadline until) noexcept {
        return {{root, {}}, {&until.counter, until.value}, until.deadline};
    }
    TimeAwaiter await_transform(Clock::time_point time) noexcept { return {{root, {}}, time}; }
    template <class Rep, class Period>
    TimeAwaiter await_transform(std::chrono::duration<Rep, Period> duration) noexcept {
        return {{root, {}}, DeadlineAfter(*root->scheduler, duration)};
    }
    EventAwaiter await_transform(Event &event) noexcept { return {root, event}; }
    template <class Known>
    requires requires(Known &known) {
        { known.Pending() } -> std::same_as<Counter &>;
        known.Value();
    }
    KnownAwaiter<Known> await_transform(Known &known) noexcept { return {root, known}; }
    ReadyAwaiter<TaskScheduler &> await_transform(CurrentScheduler) noexcept {
        return {*root->scheduler};
    }
    template <class Result>
    CallAwaiter<Result> await_transform(Coroutine<Result> &&callee) noexcept;
    template <class Result>
    CallAwaiter<Result> await_transform(Coroutine<Result> &callee) noexcept;
};

template <class Result>
struct Promise : PromiseBase {
    std::optional<Result> result;
    Coroutine<Result> get_return_object() noexcept;
    template <class Value = Result>
    void return_value(Value &&value) noexcept(std::is_nothrow_constructible_v<Result, Value &&>) {
        result.emplace(std::forward<Value>(value));
    }
    Result Take() { return *std::move(result); }
};

template <>
struct Promise<void> : PromiseBase {
    CoroutineRoot ownRoot;  // used if it was begun by StartCoroutine
    CoroutineTask first;
    Coroutine<void> get_return_object() noexcept;
    void return_void() noexcept {}
    void Take() noexcept {}
};

}  // namespace internal

template <class Result>
class [[nodiscard]] Coroutine {
public:
    using promise_type = internal::Promise<Result>;

    Coroutine(Coroutine &&other) noexcept : m_handle(std::exchange(other.m_handle, {})) {}
    Coroutine &operator=(Coroutine &&other) noexcept {
        std::swap(m_handle, other.m_handle);
        return *this;
    }
    ~Coroutine() {
        if (m_handle) m_handle.destroy();
    }

private:
    friend promise_type;
    friend struct internal::CallAwaiter<Result>;
    friend void StartCoroutine(TaskScheduler &, Coroutine<void> &&, Counter *,
                               const TaskOptions &) noexcept;
    explicit Coroutine(std::coroutine_handle<promise_type> handle) noexcept : m_handle(handle) {}
    std::coroutine_handle<promise_type> m_handle;
};

namespace internal {

/// The callee runs at once, in the same task. While it waits, all coroutines that await it wait.
template <class Result>
struct CallAwaiter {
    Coroutine<Result> &callee;
    CoroutineRoot *root;
    bool isRefused = false;
    bool await_ready() noexcept { return isRefused = !MayBegin(*root->scheduler, callee.m_handle); }
    void await_suspend(std::coroutine_handle<> self) noexcept {
        callee.m_handle.promise().caller = self;
        callee.m_handle.promise().root = root;
        root->hop->next = callee.m_handle;
    }
    Result await_resume() {
        if (isRefused) return NoResult();
#if defined(__cpp_exceptions) || defined(_CPPUNWIND)
        if (callee.m_handle.promise().error != nullptr)
            std::rethrow_exception(std::move(callee.m_handle.promise().error));
#endif
        return callee.m_handle.promise().Take();
    }

private:
    static Result NoResult() {
        if constexpr (std::is_void_v<Result> || std::is_default_constructible_v<Result>) {
            return Result();
        } else {
            return std::optional<Result>().value();
        }
    }
};

template <class Result>
CallAwaiter<Result> PromiseBase::await_transform(Coroutine<Result> &&callee) noexcept {
    return {callee, root};
}
template <class Result>
CallAwaiter<Result> PromiseBase::await_transform(Coroutine<Result> &callee) noexcept {
    return {callee, root};
}

template <class Result>
Coroutine<Result> Promise<Result>::get_return_object() noexcept {
    return Coroutine<Result>(std::coroutine_handle<Promise>::from_promise(*this));
}
inline Coroutine<void> Promise<void>::get_return_object() noexcept {
    return Coroutine<void>(std::coroutine_handle<Promise>::from_promise(*this));
}

}  // namespace internal

/// Submits a coroutine as a task.
///
/// `counter`, if given, is incremented now and decremented when the coroutine has ended. After each
/// wait the coroutine continues as a task with these `options`, which must name no TaskGroup. If a
/// wait fails, that is reported,
/// and the coroutine continues at once. An exception that leaves the coroutine is reported
/// (TaskThrew). If the submission fails, that is reported as by TaskScheduler::AddTask, and the
/// coroutine is never destroyed. Thread-safe while the scheduler runs.
inline void StartCoroutine(TaskScheduler &scheduler, Coroutine<> &&coroutine,
                           Counter *counter = nullptr, const TaskOptions &options = {}) noexcept {
    if (!internal::MayBegin(scheduler, coroutine.m_handle)) return;
    if (options.taskGroup != nullptr) {
        internal::ReportMisuse(scheduler, ReportCode::BadOption,
                               "Give no taskGroup; let the coroutine ask a CancelToken.",
                               "StartCoroutine: a coroutine cannot belong to a TaskGroup");
        return;
    }
    const auto handle = std::exchange(coroutine.m_handle, {});
    auto &promise = handle.promise();
    promise.ownRoot = {&scheduler, counter, options, nullptr};
    promise.root = promise.first.root = &promise.ownRoot;
    promise.first.next = handle;
    // the coroutine may have ended before AddTask returns
    scheduler.AddTask(promise.first.Get(), counter, options);
}

}  // namespace weft
