// The scheduler: the sum of its parts. Data only; the verbs are in the other files of this folder.
#pragma once

#include "containers/push_list.h"
#include "mechanisms/counter_waiting.h"
#include "mechanisms/fiber_pool.h"
#include "mechanisms/idle_set.h"
#include "mechanisms/scheduler_tags.h"
#include "platform/env.h"
#include "platform/stack_memory.h"
#include "scheduler/fiber.h"
#include "scheduler/worker.h"
#include "weft/options.h"
#include "weft/task_scheduler.h"

#include <cstdint>

namespace weft::internal {

/// Durations in ticks of env::Ticks().
struct Times {
    uint64_t claimBudget;      // expected work that one claim may cover
    uint64_t idleSearch;       // before a Balanced worker sleeps
    uint64_t profitableSteal;  // a steal that brings less than this is not worth its disturbance
    uint64_t firstPenalty;
    uint64_t maxStealPenalty;
    uint64_t maxEmptyPenalty;
};

struct Scheduler {
    TaskScheduler *facade = nullptr;
    SchedulerOptions options;
    uint32_t workerCount = 0;
    Times times{};

    Worker *workers = nullptr;
    Fiber *fibers = nullptr;
    StackMemory smallStacks;
    StackMemory largeStacks;
    FiberPool pool;
    IdleSet idle;
    SchedulerTag tag;
    CounterWaiting counters;
    PushList<Fiber> injector;  // ready fibers from threads that are not workers

    alignas(kLineBytes) env::Atomic<uint32_t> largeBacklog{0};  // entries in the workers' backlogs
    alignas(kLineBytes) env::Atomic<bool> mainReturned{false};
    env::Atomic<bool> stopping{false};  // nothing is pending: every loop goes home
    env::Atomic<uint32_t> reported{0};  // which of the reports that come once have come
    bool ending = false;                // threads are joined: fibers that are switched to end

    Task main{nullptr, nullptr};

    uint32_t FiberCount() const noexcept { return pool.Count(); }
    static const SchedulerOptions &OptionsOf(const TaskScheduler &facade) noexcept { return facade.m_options; }

    // The gate: a thread that is no worker is counted while it is inside a call, and memory is released only when nobody
    // is. Coming in raises the count and then reads the pointer; closing clears the pointer and then reads the count; all
    // four are seq_cst, so a call that got a pointer is waited for.
    static void OpenGate(TaskScheduler &facade, Scheduler *scheduler) noexcept {
        facade.m_scheduler.store(scheduler, kSeqCst);
    }
    static void CloseGate(TaskScheduler &facade) noexcept {
        facade.m_scheduler.store(nullptr, kSeqCst);
        // acquire with it: what was done inside comes before the release of the memory.
        for (uint32_t spins = 0; facade.m_inside.load(kSeqCst) != 0; ++spins) {
            spins < 100 ? env::Pause() : env::YieldThread();
        }
    }
    static Scheduler *ComeIn(TaskScheduler &facade) noexcept {
        facade.m_inside.fetch_add(1, kSeqCst);
        return facade.m_scheduler.load(kSeqCst);
    }
    static void GoOut(TaskScheduler &facade) noexcept { facade.m_inside.fetch_sub(1, kRelease); }
};

}  // namespace weft::internal
