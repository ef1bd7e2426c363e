// The steps of ODE's worlds run on weft.
//
//     weft::OdeThreading threading(scheduler);
//     dWorldSetStepThreadingImplementation(world, threading.Functions(), threading.Id());
//     ...
//     dWorldStep(world, 1 / 60.0);  // in a task: its fiber waits, and its worker runs ODE's calls
#pragma once

#include "weft/sync/mutex.h"
#include "weft/task_scheduler.h"
#include "weft/time.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <deque>
#include <mutex>

#include <ode/odeconfig.h>
#include <ode/threading.h>

namespace weft {

/// A threading implementation for ODE: its calls become tasks of weft, and its mutexes those of
/// weft.
///
/// It must outlive the worlds that use it. Several worlds may use it at the same time. If the
/// scheduler does not run when a step begins, NotRunning is reported and the step fails: dWorldStep
/// returns 0. The scheduler must not stop during a step. Call objects are reused: a step allocates
/// only if it needs more of them than there are.
class OdeThreading {
public:
    /// `options` apply to the task of each call. The name is replaced by the call's name.
    /// `taskGroup` is not used, because a step waits for ever if a call is left out.
    explicit OdeThreading(TaskScheduler &scheduler, const TaskOptions &options = {}) noexcept
        : m_scheduler(scheduler), m_options(options) {
        m_options.taskGroup = nullptr;
    }
    OdeThreading(const OdeThreading &) = delete;
    OdeThreading &operator=(const OdeThreading &) = delete;

    /// The two arguments of dWorldSetStepThreadingImplementation.
    dThreadingImplementationID Id() noexcept {
        return reinterpret_cast<dThreadingImplementationID>(this);
    }
    static const dThreadingFunctionsInfo *Functions() noexcept {
        static const dThreadingFunctionsInfo functions = {
            sizeof(dThreadingFunctionsInfo),
            AllocateMutexes,
            FreeMutexes,
            [](dThreadingImplementationID, dMutexGroupID group, dmutexindex_t index) {
                AsMutexes(group)[index].lock();
            },
            [](dThreadingImplementationID, dMutexGroupID group, dmutexindex_t index) {
                AsMutexes(group)[index].unlock();
            },
            [](dThreadingImplementationID) { return reinterpret_cast<dCallWaitID>(new Counter()); },
            [](dThreadingImplementationID, dCallWaitID) {},  // after a wait the counter is zero
            [](dThreadingImplementationID, dCallWaitID wait) { delete AsCounter(wait); },
            Post,
            Alter,
            Wait,
            [](dThreadingImplementationID id) {  // 0 would mean "unlimited"
                return (std::max)(1u, From(id).m_scheduler.WorkerCount());
            },
            Preallocate,
        };
        return &functions;
    }

private:
    using Mutexes = std::deque<Mutex>;

    /// A call of ODE, or an element of the list of free calls.
    ///
    /// `pending` counts the calls on which it depends. When it is zero, the call begins. Then
    /// `pending` is 1 for the function, and the function may add calls on which its end depends.
    /// When it is zero again, the call has ended.
    struct Call {
        OdeThreading *owner = nullptr;
        dThreadedCallFunction *function = nullptr;
        void *context = nullptr;
        dcallindex_t index = 0;
        const char *name = nullptr;
        std::atomic<size_t> pending{0};
        bool hasBegun = false;           ///< set when `pending` is zero, so by one thread only
        std::atomic<bool> fails{false};  ///< the function or a call on which it depends has failed
        Call *dependent = nullptr;
        Counter *wait = nullptr;
        int *fault = nullptr;
        Call *next = nullptr;  ///< in the list of free calls
    };

    static OdeThreading &From(dThreadingImplementationID id) noexcept {
        return *reinterpret_cast<OdeThreading *>(id);
    }
    static Mutexes &AsMutexes(dMutexGroupID group) noexcept {
        return *reinterpret_cast<Mutexes *>(group);
    }
    static Counter *AsCounter(dCallWaitID wait) noexcept {
        return reinterpret_cast<Counter *>(wait);
    }
    static Call *AsCall(dCallReleaseeID call) noexcept { return reinterpret_cast<Call *>(call); }

    static dMutexGroupID AllocateMutexes(dThreadingImplementationID id, dmutexindex_t count,
                                         const char *const *) {
        auto *mutexes = new Mutexes();
        while (mutexes->size() < count) mutexes->emplace_back(From(id).m_scheduler);
        return reinterpret_cast<dMutexGroupID>(mutexes);
    }
    static void FreeMutexes(dThreadingImplementationID, dMutexGroupID group) {
        delete &AsMutexes(group);
    }

    static void Post(dThreadingImplementationID id, int *fault, dCallReleaseeID *releasee,
                     ddependencycount_t dependencies, dCallReleaseeID dependent, dCallWaitID wait,
                     dThreadedCallFunction *function, void *context, dcallindex_t index,
                     const char *name) {
        OdeThreading &self = From(id);
        Call &call = self.Take();
        call.function = function;
        call.context = context;
        call.index = index;
        call.name = name;
        call.dependent = AsCall(dependent);
        call.wait = AsCounter(wait);
        call.fault = fault;
        if (call.wait != nullptr) self.m_scheduler.IncrementCounter(call.wait);
        // relaxed: nobody else knows the call yet
        call.pending.store(dependencies, std::memory_order_relaxed);
        // Without dependencies the call may be gone when ODE sees the value, so there is none.
        if (releasee != nullptr)
            *releasee = dependencies != 0 ? reinterpret_cast<dCallReleaseeID>(&call) : nullptr;
        if (dependencies == 0) Begin(call);
    }

    static void Alter(dThreadingImplementationID, dCallReleaseeID releasee,
                      ddependencychange_t change) {
        Call &call = *AsCall(releasee);
        // relaxed: the caller already owns a dependency of this call, or is its function. So the
        // count is not zero
        if (change > 0)
            call.pending.fetch_add(static_cast<size_t>(change), std::memory_order_relaxed);
        if (change < 0) Release(call, static_cast<size_t>(-change));
    }

    static void Wait(dThreadingImplementationID id, int *isOver, dCallWaitID wait,
                     const dThreadedWaitTime *time, const char *) {
        TaskScheduler &scheduler = From(id).m_scheduler;
        bool over = true;
        if (time == nullptr) {
            scheduler.WaitForCounter(AsCounter(wait));
        } else {
            over = WaitForCounterFor(
                scheduler, AsCounter(wait),
                std::chrono::seconds(time->wait_sec) + std::chrono::nanoseconds(time->wait_nsec));
        }
        if (isOver != nullptr) *isOver = over ? 1 : 0;
    }

    /// ODE calls it at the beginning of each step. Returns 0, which lets the step fail, if the
    /// scheduler does not run: then it reports that and changes no counter.
    static int Preallocate(dThreadingImplementationID id, ddependencycount_t count) {
        OdeThreading &self = From(id);
        Counter counter;
        self.m_scheduler.IncrementCounter(&counter);
        if (counter.IsZero()) return 0;
        self.m_scheduler.DecrementCounter(&counter);
        const std::lock_guard<std::mutex> lock(self.m_mutex);
        while (self.m_calls.size() < count) self.Add();
        return 1;
    }

    static void Begin(Call &call) {
        call.hasBegun = true;
        // relaxed: the submission publishes it
        call.pending.store(1, std::memory_order_relaxed);
        TaskOptions options = call.owner->m_options;
        options.name = call.name;
        call.owner->m_scheduler.AddTask({Run, &call}, nullptr, options);
    }

    static void Run(TaskScheduler *, void *arg) {
        Call &call = *static_cast<Call *>(arg);
        const auto self = reinterpret_cast<dCallReleaseeID>(&call);
        // relaxed: the release of `pending` publishes it
        if (call.function(call.context, call.index, self) == 0)
            call.fails.store(true, std::memory_order_relaxed);
        Release(call, 1);
    }

    /// Do not use the call afterwards.
    static void Release(Call &call, size_t count) {
        // acq_rel: publishes what the caller has done, and the last one sees what all have done
        if (call.pending.fetch_sub(count, std::memory_order_acq_rel) != count) return;
        if (!call.hasBegun) {
            Begin(call);
        } else {
            End(call);
        }
    }

    static void End(Call &call) {
        TaskScheduler &scheduler = call.owner->m_scheduler;
        // relaxed: see Release
        const bool fails = call.fails.load(std::memory_order_relaxed);
        Call *const dependent = call.dependent;
        Counter *const wait = call.wait;
        if (call.fault != nullptr) *call.fault = fails ? 1 : 0;
        // relaxed: the release of the dependent call publishes it
        if (dependent != nullptr && fails) dependent->fails.store(true, std::memory_order_relaxed);
        call.owner->Give(call);
        // After the next lines the caller of ODE may go on, and this object may be gone.
        if (dependent != nullptr) Release(*dependent, 1);
        if (wait != nullptr) scheduler.DecrementCounter(wait);
    }

    Call &Take() {
        const std::lock_guard<std::mutex> lock(m_mutex);
        if (m_free == nullptr) Add();
        Call &call = *m_free;
        m_free = call.next;
        return call;
    }

    void Give(Call &call) {
        const std::lock_guard<std::mutex> lock(m_mutex);
        call.hasBegun = false;
        call.fails.store(false, std::memory_order_relaxed);  // the mutex publishes it
        call.next = m_free;
        m_free = &call;
    }

    void Add() {
        Call &call = m_calls.emplace_back();
        call.owner = this;
        call.next = m_free;
        m_free = &call;
    }

    TaskScheduler &m_scheduler;
    TaskOptions m_options;
    std::mutex m_mutex;        ///< of the two below; never held across a wait
    std::deque<Call> m_calls;  ///< all that were ever made
    Call *m_free = nullptr;
};

}  // namespace weft
