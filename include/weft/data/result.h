// A value that is set once, and that tasks, threads and coroutines can wait for.
//
//     weft::Result<Mesh> mesh;
//     weft::Result<Texture> texture;
//     weft::Result<Model> model;
//     weft::AddTaskWhen(*scheduler, LoadMesh, mesh);  // sets mesh to what LoadMesh returns
//     weft::AddTaskWhen(*scheduler, LoadTexture, texture);
//     // MakeModel(Mesh &, Texture &)
//     weft::AddTaskWhen(*scheduler, MakeModel, model, mesh, texture);
//     Show(model.Get(*scheduler));  // waits
//
// A result lies where its user puts it: on a stack, in an array, in another object. It allocates
// nothing. An exception that leaves such a function travels to all that wait.
#pragma once

#include "weft/closure.h"
#include "weft/data/exception_collector.h"
#include "weft/deferred.h"
#include "weft/sync/deadline.h"
#include "weft/task_scheduler.h"
#include "weft/time.h"

#include <chrono>
#include <cstdint>
#include <exception>
#include <new>
#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>

namespace weft {

namespace internal {

/// The part of a Result that does not depend on the type of the value.
class ResultBase {
public:
    ResultBase(const ResultBase &) = delete;
    ResultBase &operator=(const ResultBase &) = delete;

    /// Makes the result known as an exception: Get, Value and `co_await` throw `error`, which must
    /// not be null. Otherwise like Result::Set.
    bool SetException(TaskScheduler &scheduler, std::exception_ptr error) noexcept {
        if (!Claim(scheduler, true)) return false;
        m_error = std::move(error);
        Publish(scheduler);
        return true;
    }

    /// Returns true if the result is known: it was set, and the tasks that Pending() counts have
    /// finished. Then the caller sees everything that was written before. Thread-safe, also while
    /// the scheduler does not run.
    bool IsReady() const noexcept { return m_pending.IsZero(); }

    /// Waits until the result is known. Returns at once if it is known already, also while the
    /// scheduler does not run.
    ///
    /// `meanwhile` is that of TaskScheduler::WaitForCounter. With OwnTasks the thread finds the
    /// tasks of AddTaskWhen and Then, and tasks that Pending() counts. It does not find other tasks
    /// that call Set. Returns at once after a report: NotRunning, RunEnding, InHook,
    /// WrongScheduler. Thread-safe. An external thread blocks in the operating system.
    void Wait(TaskScheduler &scheduler, Meanwhile meanwhile = Meanwhile::AnyTask) noexcept {
        IsReady() ? NoteWait(scheduler, "Result::Wait")
                  : scheduler.WaitForCounter(&m_pending, meanwhile);
    }
    /// Like Wait, but return false if the time passes first, or after a report (weft/time.h). A NaN
    /// is reported (BadOption), and the call does not wait. The result must live until the call has
    /// returned.
    template <class OtherClock, class Duration>
    bool WaitUntil(TaskScheduler &scheduler,
                   const std::chrono::time_point<OtherClock, Duration> &time,
                   Meanwhile meanwhile = Meanwhile::AnyTask) noexcept {
        Deadline deadline(scheduler, time);
        if (IsReady()) {
            NoteWait(scheduler, "Result::WaitUntil");
            return true;
        }
        do {
            if (WaitForCounterUntil(scheduler, &m_pending, deadline.Point(), meanwhile))
                return true;
            if (Now() < deadline.Point()) return false;  // the wait was refused
        } while (!deadline.HasPassed());
        return false;
    }
    template <class Rep, class Period>
    bool WaitFor(TaskScheduler &scheduler, const std::chrono::duration<Rep, Period> &duration,
                 Meanwhile meanwhile = Meanwhile::AnyTask) noexcept {
        const Clock::time_point deadline = DeadlineAfter(scheduler, duration);
        if (!IsReady()) return WaitForCounterUntil(scheduler, &m_pending, deadline, meanwhile);
        NoteWait(scheduler, "Result::WaitFor");
        return true;
    }

    /// Returns the exception of a result that is known, or null if it has a value. Returns null
    /// while the result is not known. Thread-safe.
    std::exception_ptr Error() const noexcept { return IsReady() ? m_error : nullptr; }

    /// Returns the counter that is zero when the result is known, for the calls that take counters:
    /// AddTasksAfter, TaskScheduler::WaitForAny and others.
    ///
    /// It may also count the task that will set the result. Then the result is known when that task
    /// has finished, and a waiting task may run it on its own stack. Only Set lowers the counter to
    /// zero: do not decrement it.
    Counter &Pending() noexcept { return m_pending; }

protected:
    ResultBase() noexcept = default;
    ~ResultBase() = default;

    /// Returns true for the first caller. Reports a later one if `reports`.
    bool Claim(TaskScheduler &scheduler, bool reports) noexcept {
        // relaxed: it only decides which caller may write the value. m_pending publishes the value.
        if (!m_isSet.exchange(true, std::memory_order_relaxed)) return true;
        if (reports) {
            ReportMisuse(scheduler, ReportCode::WrongThread,
                         "Set each result once. Call Reset before you use it again, or TrySet if "
                         "several may set it.",
                         "Result::Set: the result is set already");
        }
        return false;
    }
    /// Makes the value visible. After this the result may be gone.
    void Publish(TaskScheduler &scheduler) noexcept { scheduler.DecrementCounter(&m_pending); }

    void ThrowIfFailed() const {
        // throws std::bad_optional_access, or aborts without exceptions
        if (!IsReady()) static_cast<void>(std::optional<char>().value());
#if defined(__cpp_exceptions) || defined(_CPPUNWIND)
        if (m_error != nullptr) std::rethrow_exception(m_error);
#endif
    }
    void Fail(std::exception_ptr error) noexcept { m_error = std::move(error); }
    void ResetBase() noexcept {
        m_error = nullptr;
        // A counter that has been zero may be destroyed and made anew. So this needs no scheduler.
        m_pending.~Counter();
        ::new (static_cast<void *>(&m_pending)) Counter(1);
        // relaxed: no other thread uses the result now
        m_isSet.store(false, std::memory_order_relaxed);
    }

private:
    Counter m_pending{1};  // the value, and the tasks that will set it
    WEFT_ATOMIC<bool> m_isSet{false};
    std::exception_ptr m_error;
};

}  // namespace internal

/// A value of type T, or an exception, that is set once and that others wait for. T may be void.
/// It needs no default constructor, and need not be copyable or movable.
///
/// Once a wait has returned, the result may be destroyed or reset, if no other task or thread uses
/// it. The Set that ended the wait need not have returned yet. If a task waits for a result that
/// nothing will set, that is reported (Stalled). While a result is not known, it belongs to one
/// scheduler. Allocates nothing; only the C++ runtime allocates the objects that are thrown.
template <class T = void>
class Result : public internal::ResultBase {
    static_assert(std::is_object_v<T> && !std::is_array_v<T> && !std::is_const_v<T>,
                  "weft: the value of a Result must be an object, or void: give a pointer for a "
                  "reference");

public:
    /// Makes a result that is not known. Cannot fail.
    Result() noexcept = default;
    ~Result() { Destroy(); }

    /// Constructs the value from `args`, and makes it visible to all that wait. If the constructor
    /// throws, the result gets that exception.
    ///
    /// A second call, or one after SetException, is reported (WrongThread) and has no effect.
    /// Returns whether this call has set the result. Do not use the result after a call that
    /// returned true, unless you know that it still lives. While the scheduler does not run, the
    /// call is reported (NotRunning); then the result is never known until Reset. Thread-safe. Does
    /// not wait and does not run other tasks.
    template <class... Args>
    bool Set(TaskScheduler &scheduler, Args &&...args) noexcept {
        return Claim(scheduler, true) && Store(scheduler, std::forward<Args>(args)...);
    }
    /// Like Set, but returns false without a report if the result is set already.
    template <class... Args>
    bool TrySet(TaskScheduler &scheduler, Args &&...args) noexcept {
        return Claim(scheduler, false) && Store(scheduler, std::forward<Args>(args)...);
    }

    /// Waits until the result is known (see Wait) and returns the value, which lives until Reset or
    /// the destructor. All callers get the same object. Throws the exception instead, if there is
    /// one. If the wait was refused after a report, throws std::bad_optional_access, or aborts in
    /// code without exceptions. Thread-safe.
    T &Get(TaskScheduler &scheduler, Meanwhile meanwhile = Meanwhile::AnyTask) {
        Wait(scheduler, meanwhile);
        return Value();
    }
    /// Like Get, for a result that is known (IsReady). Does not wait. Thread-safe.
    T &Value() {
        ThrowIfFailed();
        return *std::launder(static_cast<T *>(static_cast<void *>(m_storage)));
    }

    /// Destroys the value or the exception, so that the result can be set again. Call it when no
    /// other task or thread uses the result, and before the first Set or after it is known.
    void Reset() noexcept {
        Destroy();
        ResetBase();
    }

private:
    template <class... Args>
    bool Store(TaskScheduler &scheduler, Args &&...args) noexcept {
        internal::CallAndCatch(
            [&] {
                ::new (static_cast<void *>(m_storage)) T(std::forward<Args>(args)...);
                m_hasValue = true;
            },
            [&](std::exception_ptr error) { Fail(std::move(error)); });
        Publish(scheduler);
        return true;
    }
    void Destroy() noexcept {
        if (m_hasValue) std::launder(static_cast<T *>(static_cast<void *>(m_storage)))->~T();
        m_hasValue = false;
    }

    bool m_hasValue = false;
    alignas(T) unsigned char m_storage[sizeof(T)];
};

/// A result without a value: it says that something is done, or how it failed.
template <>
class Result<void> : public internal::ResultBase {
public:
    Result() noexcept = default;

    bool Set(TaskScheduler &scheduler) noexcept {
        if (!Claim(scheduler, true)) return false;
        Publish(scheduler);
        return true;
    }
    bool TrySet(TaskScheduler &scheduler) noexcept {
        if (!Claim(scheduler, false)) return false;
        Publish(scheduler);
        return true;
    }
    void Get(TaskScheduler &scheduler, Meanwhile meanwhile = Meanwhile::AnyTask) {
        Wait(scheduler, meanwhile);
        Value();
    }
    void Value() const { ThrowIfFailed(); }
    void Reset() noexcept { ResetBase(); }
};

namespace internal {

// The argument that an input gives to a function: none for Result<void>.
template <class T>
std::tuple<T &> ArgumentOf(Result<T> &input) {
    return std::tuple<T &>(input.Value());
}
inline std::tuple<> ArgumentOf(Result<void> &) noexcept { return {}; }

template <class Function, class Arguments>
inline constexpr bool kTakes = false;
template <class Function, class... Arguments>
inline constexpr bool kTakes<Function, std::tuple<Arguments...>> =
    std::is_invocable_v<Function &, Arguments...>;

/// What the task of AddTaskWhen calls. A tuple takes no space for a function without captures.
template <class Function, class Out, class... In>
class Dataflow {
public:
    Dataflow(Function &&function, Result<Out> &out, Result<In> &...in) noexcept
        : m_parts(std::move(function), &out, &in...) {}

    void operator()(TaskScheduler *scheduler) noexcept {
        std::apply(
            [scheduler](Function &function, Result<Out> *out, Result<In> *...in) {
                std::exception_ptr error;
                ((error = error != nullptr ? std::move(error) : in->Error()), ...);
                if (error != nullptr) {
                    out->SetException(*scheduler, std::move(error));
                    return;
                }
                CallAndCatch(
                    [&] {
                        if constexpr (std::is_void_v<Out>) {
                            static_cast<void>(Call(function, scheduler, *in...));
                            out->Set(*scheduler);
                        } else {
                            out->Set(*scheduler, Call(function, scheduler, *in...));
                        }
                    },
                    [&](std::exception_ptr thrown) {
                        out->SetException(*scheduler, std::move(thrown));
                    });
            },
            m_parts);
    }

private:
    static decltype(auto) Call(Function &function, TaskScheduler *scheduler, Result<In> &...in) {
        using WithScheduler =
            decltype(std::tuple_cat(std::tuple<TaskScheduler *>(), ArgumentOf(in)...));
        if constexpr (kTakes<Function, WithScheduler>) {
            return std::apply(function, std::tuple_cat(std::tuple<TaskScheduler *>(scheduler),
                                                       ArgumentOf(in)...));
        } else {
            static_assert(kTakes<Function, decltype(std::tuple_cat(ArgumentOf(in)...))>,
                          "weft: the function must take a reference to the value of each input "
                          "that is not void, and may take a TaskScheduler * before them");
            return std::apply(function, std::tuple_cat(ArgumentOf(in)...));
        }
    }

    std::tuple<Function, Result<Out> *, Result<In> *...> m_parts;
};

/// Submits `closure` as a task once the counters are zero. `counter` counts the task. If
/// `isCallable` is false, reports NullTask.
template <class Closure>
bool SubmitWhen(TaskScheduler &scheduler, Closure closure, bool isCallable, uint32_t afterCount,
                const CounterTarget *after, Counter *counter, const TaskOptions &options) noexcept {
    static_assert(sizeof(Closure) <= kClosureBytes && alignof(Closure) <= kClosureAlignment,
                  "weft: the function, and 8 bytes for the output and for each input, have more "
                  "than 48 bytes, or the function is aligned to more than 16: capture a pointer");
    static_assert(
        std::is_nothrow_move_constructible_v<Closure> && std::is_nothrow_destructible_v<Closure>,
        "weft: moving or destroying the function may throw: capture a pointer");
    // raw memory: if the task is submitted, the closure has moved out of here and is destroyed
    alignas(Closure) unsigned char storage[sizeof(Closure)];
    Closure *moved = ::new (static_cast<void *>(storage)) Closure(std::move(closure));
    if (SubmitClosureAfter(
            scheduler, afterCount, after, moved, internal::Closure<Closure>::Relocate,
            isCallable ? internal::Closure<Closure>::Run : nullptr, counter, options))
        return true;
    moved->~Closure();
    return false;
}

}  // namespace internal

/// Submits a task that calls `function` once all inputs are known, and sets `out` to what it
/// returns. Until then the task holds no fiber.
///
/// The task calls `function(scheduler, values...)` with a `TaskScheduler *` if that compiles,
/// otherwise `function(values...)`. The values are those of the inputs, as `T &`; an input of type
/// Result<void> has none. If an input has an exception, the function is not called, and `out` gets
/// the exception of the first such input. An exception that leaves the function goes to `out`.
///
/// `out` is known when the task has finished and the copy of the function is destroyed. A task that
/// waits for `out` may run the task on its own stack. `out` must not be one of the inputs
/// (BadOption), and nothing else may set it. The inputs must live until `out` is known.
///
/// The task counts as pending at once: the run waits for it. The function is copied or moved to a
/// block of the scheduler, as by AddTask in weft/closure.h. It may have 48 bytes, less 8 for `out`
/// and 8 for each input; without captures it needs none, so there may be five inputs.
///
/// Returns false, after a report, if nothing was submitted: those of AddTaskAfter, and NullTask for
/// a null function pointer. Then `out` is not set. Thread-safe while the scheduler runs. Does not
/// block, except as AddTaskAfter.
template <class Function, class Out, class... In>
bool AddTaskWhen(TaskScheduler &scheduler, const TaskOptions &options, Function &&function,
                 Result<Out> &out, Result<In> &...in) {
    using Copy = std::decay_t<Function>;
    const CounterTarget after[sizeof...(In) + 1] = {{&in.Pending()}..., {}};
    Copy copy(std::forward<Function>(function));
    bool isCallable = true;
    if constexpr (std::is_pointer_v<Copy>) isCallable = copy != nullptr;
    return internal::SubmitWhen(scheduler,
                                internal::Dataflow<Copy, Out, In...>(std::move(copy), out, in...),
                                isCallable, sizeof...(In), after, &out.Pending(), options);
}
/// The same with default options.
template <class Function, class Out, class... In>
bool AddTaskWhen(TaskScheduler &scheduler, Function &&function, Result<Out> &out,
                 Result<In> &...in) {
    return AddTaskWhen(scheduler, TaskOptions{}, std::forward<Function>(function), out, in...);
}

/// Submits a task that calls `function` with the value of `in` once it is known, and sets `out`.
/// AddTaskWhen with one input.
template <class In, class Function, class Out>
bool Then(TaskScheduler &scheduler, Result<In> &in, Function &&function, Result<Out> &out,
          const TaskOptions &options = {}) {
    return AddTaskWhen(scheduler, options, std::forward<Function>(function), out, in);
}

/// Makes `all` known once all of up to five results are known. If some have exceptions, `all` gets
/// that of the first of them. AddTaskWhen with a function that does nothing.
template <class... In>
bool WhenAll(TaskScheduler &scheduler, Result<void> &all, Result<In> &...in) {
    return AddTaskWhen(
        scheduler, [](auto &&...) {}, all, in...);
}

/// Sets `first` to the index of the first of the results that is known, with a value or with an
/// exception.
///
/// Submits a small task for each input, which begins when this input is known. `tasks` is increased
/// now and counts them. `first` and the inputs must live, and must not be reset, until `tasks` is
/// zero: that is later than `first` is known. Returns false, after a report, if it could not submit
/// a task for each input; the reports are those of AddTaskWhen. Thread-safe while the scheduler
/// runs.
template <class... In>
bool WhenAny(TaskScheduler &scheduler, Result<uint32_t> &first, Counter &tasks, Result<In> &...in) {
    uint32_t index = 0;
    const auto submit = [&](internal::ResultBase &input) {
        const CounterTarget after{&input.Pending()};
        auto set = [&first, own = index++](TaskScheduler *running) { first.TrySet(*running, own); };
        return internal::SubmitWhen(scheduler, std::move(set), true, 1, &after, &tasks, {});
    };
    return (submit(in) && ...);
}

/// Waits until all of the results are known. Throws nothing. Otherwise like
/// internal::ResultBase::Wait for one after the other.
template <class... In>
void WaitForAll(TaskScheduler &scheduler, Result<In> &...in) noexcept {
    (in.Wait(scheduler), ...);
}

/// Waits until one of the results is known, and returns the index of the first one that was.
/// Returns the number of results after a report. All results must outlive the call. Otherwise like
/// TaskScheduler::WaitForAny.
template <class... In>
uint32_t WaitForAny(TaskScheduler &scheduler, Result<In> &...in) noexcept {
    Counter *const counters[] = {&in.Pending()...};
    return scheduler.WaitForAny(sizeof...(In), counters);
}

}  // namespace weft
