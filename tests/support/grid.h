// The grid of waiting times: every way to occupy the workers of a scheduler, times every way in
// which work comes. The simulator has it on virtual threads (simulator/grid_models.cpp) and checks
// the bounds. The soak has it on real threads (soak/grid.cpp) and only prints how late work begins,
// because real time on a shared machine proves no bound.
#pragma once

#include "weft/algorithms/parallel_for.h"
#include "weft/algorithms/parallel_sort.h"
#include "weft/deferred.h"
#include "weft/sync/event.h"
#include "weft/sync/mutex.h"
#include "weft/time.h"

#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <string>
#include <vector>

namespace test::grid {

enum Occupied : uint32_t {
    ByTasks,
    ByYields,
    ByWaits,
    ByFusedWaits,
    ByTimedWaits,
    ByBatches,
    ByLoops,
    BySorts,
    ByPolls,
    ByLocks,
    ByHandOvers,
    ByChildren,
    kOccupied
};
inline constexpr const char *kOccupiedBy[kOccupied] = {
    "tasks that submit the next one", "tasks that yield",           "loops of AddTasks and a wait",
    "loops of AddTasksAndWait",       "loops of timed waits",       "loops of large batches",
    "loops of ParallelFor",           "loops of ParallelSort",      "loops of PollCounter",
    "loops that share a Mutex",       "tasks that wake each other", "tasks with children"};

enum Comes : uint32_t {
    ToOwnLane,
    ToOtherLane,
    FromOutside,
    AtItsTime,
    FromSleep,
    ByCounter,
    ByEvent,
    ByLock,
    ToWorker,
    AfterCounter,
    FromTask,
    kComes
};
inline constexpr const char *kComesBy[kComes] = {"a submission by a busy task",
                                                 "a submission by a task that does not end",
                                                 "an external thread",
                                                 "AddTaskAt",
                                                 "a sleep that ends",
                                                 "a counter",
                                                 "an event",
                                                 "a mutex",
                                                 "a pinned task",
                                                 "AddTaskAfter",
                                                 "a task that submits it and waits for it"};

inline constexpr uint32_t kPriorities = 3;
inline constexpr const char *kPriorityNames[kPriorities] = {"High", "Normal", "Low"};
inline constexpr uint32_t kLengths[] = {20, 100, 1000};  // of an occupying task, in microseconds

inline uint64_t NowNs() {
    return static_cast<uint64_t>(std::chrono::nanoseconds(weft::Now().time_since_epoch()).count());
}

/// What a cell does.
struct Kind {
    Occupied occupied = ByTasks;
    Comes comes = ToOwnLane;
    uint32_t length = 0;              ///< of an occupying task, in microseconds
    uint32_t first = 0, workers = 1;  ///< those that occupying tasks may use
    uint32_t loops = 0;               ///< occupying tasks that repeat a turn
    weft::TaskOptions its;            ///< of the work that comes
    weft::TaskOptions others;         ///< of the loops
    weft::TaskOptions hoarders;       ///< ToOtherLane: of the task that does not end
    uint32_t phase = 0;               ///< the work comes so many microseconds later

    std::string Text() const {
        return std::to_string(loops) + " x " + kOccupiedBy[occupied] + ", tasks of " +
               std::to_string(length) + " us, " + std::to_string(workers) + " workers; " +
               kPriorityNames[static_cast<uint32_t>(its.priority)] + ", by " + kComesBy[comes];
    }
    /// Returns how late the work may begin, in nanoseconds, if each worker has a processor and no
    /// task is longer than an occupying one. Older tasks of the same priority may come first.
    uint64_t Bound() const {
        const uint64_t us = 1000, one = length * us, steps = 20 * us;
        if (its.priority == weft::Priority::High) return 2 * one + 100 * us + steps;
        if (its.priority == weft::Priority::Low) return 100'000 * us + 2 * one + steps;
        const uint32_t ofEach = occupied == ByBatches                        ? 100
                                : occupied == ByLoops || occupied == BySorts ? 16
                                                                             : 4;
        // Perhaps only fair picks reach the older tasks of a batch. They get a sixth of the time.
        const uint32_t times = occupied == ByBatches ? 6 : 2;
        return 10'000 * us + one + loops * ofEach * times * one + steps;
    }
};

/// Occupies the workers of a scheduler, and lets pieces of work come, one at a time. `Env` has
/// static functions: Compute(microseconds) takes processor time, Random(below) returns a number,
/// Check(condition, message) fails.
template <class Env>
class Cell {
public:
    Cell(weft::TaskScheduler &scheduler, const Kind &kind) : m_scheduler(scheduler), m_kind(kind) {
        for (uint32_t i = 0; i < kind.workers; i += 2) m_shared.emplace_back(scheduler);
    }

    void Occupy() {
        for (uint32_t i = 0; i < m_kind.loops; ++i)
            m_scheduler.AddTask({Occupies, this}, &m_loops, m_kind.others);
    }
    /// Returns true if a task has to wait before work comes. Then await IsWaiting().
    bool Prepare() {
        m_begun = 0;
        m_waits = m_came = false;
        if (m_kind.comes == ToWorker)
            m_kind.its.worker = m_kind.first + Env::Random(m_kind.workers);
        if (m_kind.comes == ByLock) m_lock.lock();
        if (m_kind.comes == ByEvent) m_signal.Reset();
        if (m_gate.IsZero()) m_scheduler.IncrementCounter(&m_gate);
        const bool isHoarded = m_kind.comes == ToOtherLane;
        if (!isHoarded && (m_kind.comes < FromSleep || m_kind.comes > ByLock)) return false;
        m_scheduler.AddTask({Waits, this}, &m_item, isHoarded ? m_kind.hoarders : m_kind.its);
        return true;
    }
    bool IsWaiting() const { return m_waits; }
    /// The work comes.
    void Arrive() {
        const weft::Task task{Begins, this};
        if (m_kind.comes != FromSleep) AskIn(0);
        switch (m_kind.comes) {
            case ToOwnLane:
                if (m_kind.occupied == BySorts) return Submit();  // a sort does not call Unit
                m_submits = true;
                return;
            case ToOtherLane:
                m_came = true;
                return;
            case AtItsTime: {
                const weft::Clock::time_point time = AskIn(500 + Env::Random(1000));
                weft::AddTaskAt(m_scheduler, time, task, &m_item, m_kind.its);
                return;
            }
            case FromSleep:
                return;
            case ByCounter:
                return m_scheduler.DecrementCounter(&m_gate);
            case ByEvent:
                return m_signal.Set();
            case ByLock:
                return m_lock.unlock();
            case AfterCounter:
                weft::AddTaskAfter(m_scheduler, &m_gate, 0, task, &m_item, m_kind.its);
                return m_scheduler.DecrementCounter(&m_gate);
            case FromTask: {
                static constexpr auto kSubmits = [](weft::TaskScheduler *scheduler, void *arg) {
                    const weft::Task inner{Begins, arg};
                    scheduler->AddTasksAndWait(1, &inner, Of(arg).m_kind.its);
                };
                m_scheduler.AddTask({kSubmits, this}, &m_item, m_kind.its);
                return;
            }
            default:
                return Submit();
        }
    }
    /// Lets the occupying tasks end.
    void End() { m_over = true; }

    /// Nanoseconds: when the work should begin or continue at once, and when it did, or 0.
    uint64_t Asked() const { return m_asked; }
    uint64_t Begun() const { return m_begun; }
    /// Count the piece of work and what lets it come, and the loops.
    weft::Counter &Item() { return m_item; }
    weft::Counter &Loops() { return m_loops; }
    bool HasLostTasks() const { return m_ran != m_added; }

private:
    static Cell &Of(void *arg) { return *static_cast<Cell *>(arg); }
    weft::Clock::time_point AskIn(uint32_t microseconds) {
        m_asked = NowNs() + microseconds * uint64_t{1000};
        return weft::Clock::time_point(std::chrono::nanoseconds(m_asked));
    }
    void Submit() {
        AskIn(0);
        m_scheduler.AddTask({Begins, this}, &m_item, m_kind.its);
    }
    // The work begins, or continues.
    static void Begins(weft::TaskScheduler *scheduler, void *arg) {
        Cell &self = Of(arg);
        const uint32_t worker = scheduler->CurrentWorker(), pinned = self.m_kind.its.worker;
        Env::Check(worker >= self.m_kind.first && (pinned == weft::kAnyWorker || pinned == worker),
                   "the work runs where it may not");
        self.m_begun = NowNs();
    }
    static void Waits(weft::TaskScheduler *scheduler, void *arg) {
        Cell &self = Of(arg);
        self.m_waits = true;
        switch (self.m_kind.comes) {
            case FromSleep:
                weft::SleepUntil(*scheduler, self.AskIn(5000 + self.m_kind.phase));
                break;
            case ByCounter:
                scheduler->WaitForCounter(&self.m_gate);
                break;
            case ByEvent:
                self.m_signal.Wait();
                break;
            case ByLock:
                self.m_lock.lock();
                self.m_lock.unlock();
                break;
            default:
                while (!self.m_came) Env::Compute(20);
                self.Submit();
                while (self.m_begun == 0 && !self.m_over) Env::Compute(20);
                return;
        }
        Begins(scheduler, arg);
    }

    // A piece of work of an occupying task.
    void Unit() {
        Env::Compute(m_over ? 20 : m_kind.length);  // thieves would rest after much shorter ones
        if (m_submits && m_submits.exchange(false)) Submit();
    }
    static void UnitTask(weft::TaskScheduler *, void *arg) {
        Of(arg).Unit();
        ++Of(arg).m_ran;
    }
    static void HasChildren(weft::TaskScheduler *scheduler, void *arg) {
        const weft::Task tasks[2] = {{UnitTask, arg}, {UnitTask, arg}};
        Of(arg).m_added += 2;
        scheduler->AddChildTasks(2, tasks);
        Of(arg).Unit();
    }
    static void Occupies(weft::TaskScheduler *scheduler, void *arg) {
        Cell &self = Of(arg);
        switch (self.m_kind.occupied) {
            case ByTasks:
                self.Unit();
                if (!self.m_over) scheduler->AddTask({Occupies, arg}, &self.m_loops);
                return;
            case ByHandOvers:
                return self.HandOvers();
            default:
                // of two workers, one is inside of the lock, and one is outside
                weft::Mutex &lock = self.m_shared[self.m_started++ % self.m_shared.size()];
                while (!self.m_over) self.Turn(lock);
        }
    }
    void Turn(weft::Mutex &lock) {
        weft::Counter counter;
        const uint32_t count = m_kind.occupied == ByBatches ? 100 : 4;
        switch (m_kind.occupied) {
            case ByYields:
                Unit();
                return m_scheduler.Yield();
            case ByWaits:
            case ByBatches:
                m_scheduler.AddTasks(count, Units(count).data(), &counter);
                return m_scheduler.WaitForCounter(&counter);
            case ByChildren:
                m_scheduler.AddTask({HasChildren, this}, &counter);
                return m_scheduler.WaitForCounter(&counter);
            case ByFusedWaits:
                return m_scheduler.AddTasksAndWait(count, Units(count).data());
            case ByTimedWaits:
                m_scheduler.AddTasks(count, Units(count).data(), &counter);
                while (!WaitForCounterFor(m_scheduler, &counter, std::chrono::microseconds(100))) {
                }
                return;
            case ByLoops:
                return weft::ParallelFor(m_scheduler, 0u, 16u, [&](uint32_t) { Unit(); });
            case BySorts:
                return Sort();
            case ByPolls:
                Unit();
                m_scheduler.PollCounter(&m_never);
                return;
            default:
                lock.lock();
                m_scheduler.AddTasksAndWait(1, Units(1).data());
                lock.unlock();
                return Unit();
        }
    }
    std::vector<weft::Task> Units(uint32_t count) {
        m_added += count;
        return std::vector<weft::Task>(count, weft::Task{UnitTask, this});
    }
    void Sort() {
        std::vector<uint32_t> values(64);
        for (uint32_t &value : values) value = Env::Random(1000);
        uint32_t parts = 16;  // one task sorts them all, so it takes no longer than others
        weft::ParallelSort(m_scheduler, values.begin(), values.end(), [&](uint32_t a, uint32_t b) {
            if (parts != 0 && Env::Random(16) == 0) {
                --parts;
                Env::Compute(m_kind.length / 16);
            }
            return a < b;
        });
    }
    // The task and another one wake each other.
    void HandOvers() {
        weft::Counter mine(1), others(1), ended;
        std::atomic<bool> isOver{false};
        auto answers = [&](weft::TaskScheduler *self) {
            for (;;) {
                self->WaitForCounter(&others);
                if (isOver) return;
                self->IncrementCounter(&others);
                Unit();
                self->DecrementCounter(&mine);
            }
        };
        m_scheduler.AddTask(weft::MakeTask(answers), &ended);
        while (!m_over) {
            Unit();
            m_scheduler.DecrementCounter(&others);
            m_scheduler.WaitForCounter(&mine);
            m_scheduler.IncrementCounter(&mine);
        }
        isOver = true;
        m_scheduler.DecrementCounter(&others);
        m_scheduler.WaitForCounter(&ended);
        m_scheduler.DecrementCounter(&mine);
    }

    weft::TaskScheduler &m_scheduler;
    Kind m_kind;
    std::atomic<bool> m_over{false}, m_submits{false}, m_came{false}, m_waits{false};
    std::atomic<uint64_t> m_asked{0}, m_begun{0}, m_added{0}, m_ran{0};
    weft::Counter m_loops, m_item, m_gate, m_never{1};
    weft::Event m_signal{m_scheduler};
    weft::Mutex m_lock{m_scheduler};
    std::deque<weft::Mutex> m_shared;
    std::atomic<uint32_t> m_started{0};
};

}  // namespace test::grid
