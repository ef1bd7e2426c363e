// The grid of waiting times on real threads: every way to occupy the workers, times every way in
// which work comes, times its priority. tests/simulator/grid_models.cpp has the same grid on
// virtual threads, and checks the bounds. Here they are only printed, because real time on a shared
// machine proves no bound.
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
#include <vector>

namespace soak {

/// Runs the grid in each setting of the machine for a share of the time, and prints the times.
/// Returns false if work was lost or did not begin.
bool RunGrid(uint32_t seconds, uint64_t seed);

/// What occupies the workers, and which work comes meanwhile.
struct CellKind {
    uint32_t occupation = 0, arrival = 0;  ///< rows of Cell::Occupations and Cell::Arrivals
    weft::Priority priority = weft::Priority::High;
    uint32_t length = 0;  ///< of an occupying task, in microseconds
    uint32_t workers = 1, loops = 0;
};

/// Occupies the workers of a scheduler. An external thread lets pieces of work come, one at a time.
/// `Env` has static functions: Now returns nanoseconds. Compute takes so many microseconds of
/// processor time. Pause is for a thread that polls.
template <class Env>
class Cell {
public:
    struct Occupation {
        const char *name;
        uint32_t older;        ///< tasks of each loop that may be older than the work
        void (*turn)(Cell &);  ///< what a loop repeats
    };
    struct Arrival {
        const char *name;
        void (*wait)(Cell &);            ///< what a task does before the work comes; or null
        void (*come)(Cell &, uint32_t);  ///< called with a random number; or null
        bool isOwn = true;               ///< the task that waits has the priority of the work
    };
    /// Nanoseconds.
    struct Times {
        uint64_t asked;     ///< when the work should have begun or continued at once
        uint64_t returned;  ///< when the external thread had let it come
        uint64_t begun;     ///< when it began or continued
    };
    static constexpr uint32_t kOccupations = 12, kArrivals = 11;

    static const Occupation *Occupations() {
        static constexpr Occupation s_all[kOccupations] = {
            {"tasks that submit the next one", 4, [](Cell &cell) { cell.Unit(); }},
            {"tasks that yield", 4,
             [](Cell &cell) {
                 cell.Unit();
                 cell.m_scheduler.Yield();
             }},
            {"loops of AddTasks and a wait", 4, [](Cell &cell) { cell.AddAndWait(4); }},
            {"loops of AddTasksAndWait", 4, [](Cell &cell) { cell.AddFused(4); }},
            {"loops of timed waits", 4, [](Cell &cell) { cell.AddAndWait(4, true); }},
            {"loops of large batches", 100, [](Cell &cell) { cell.AddAndWait(100); }},
            {"loops of ParallelFor", 16,
             [](Cell &cell) {
                 weft::ParallelFor(cell.m_scheduler, 0u, 16u, [&](uint32_t) { cell.Unit(); });
             }},
            {"loops of ParallelSort", 16, [](Cell &cell) { cell.Sort(); }},
            {"loops of PollCounter", 4,
             [](Cell &cell) {
                 cell.Unit();
                 cell.m_scheduler.PollCounter(&cell.m_never);
             }},
            {"loops that share a Mutex", 4,
             [](Cell &cell) {
                 cell.m_shared.lock();
                 cell.AddFused(1);
                 cell.m_shared.unlock();
             }},
            {"tasks that wake each other", 4, [](Cell &cell) { cell.HandOvers(); }},
            {"tasks with children", 4, [](Cell &cell) { cell.AddAndWait(1, false, HasChildren); }},
        };
        return s_all;
    }

    static const Arrival *Arrivals() {
        static constexpr Arrival s_all[kArrivals] = {
            {"a submission by a busy task", nullptr,
             [](Cell &cell, uint32_t) { cell.m_submits = true; }},
            {"a submission by a task that does not end",
             [](Cell &cell) {
                 while (!cell.m_came) Env::Compute(20);
                 cell.Submit(cell.Its());
                 while (cell.m_begun == 0) Env::Compute(20);
             },
             [](Cell &cell, uint32_t) { cell.m_came = true; }, false},
            {"an external thread", nullptr, [](Cell &cell, uint32_t) { cell.Submit(cell.Its()); }},
            {"AddTaskAt", nullptr,
             [](Cell &cell, uint32_t random) {
                 const weft::Clock::time_point time = cell.AskIn(500 + random % 1000);
                 weft::AddTaskAt(cell.m_scheduler, time, {Begins, &cell}, &cell.m_item, cell.Its());
             }},
            {"a sleep that ends",
             [](Cell &cell) { weft::SleepUntil(cell.m_scheduler, cell.AskIn(5000)); }, nullptr},
            {"a counter", [](Cell &cell) { cell.m_scheduler.WaitForCounter(&cell.m_gate); },
             [](Cell &cell, uint32_t) { cell.m_scheduler.DecrementCounter(&cell.m_gate); }},
            {"an event", [](Cell &cell) { cell.m_signal.Wait(); },
             [](Cell &cell, uint32_t) { cell.m_signal.Set(); }},
            {"a mutex",
             [](Cell &cell) {
                 cell.m_lock.lock();
                 cell.m_lock.unlock();
             },
             [](Cell &cell, uint32_t) { cell.m_lock.unlock(); }},
            {"a pinned task", nullptr,
             [](Cell &cell, uint32_t random) {
                 weft::TaskOptions its = cell.Its();
                 its.worker = random % cell.m_kind.workers;
                 cell.Submit(its);
             }},
            {"AddTaskAfter", nullptr,
             [](Cell &cell, uint32_t) {
                 weft::AddTaskAfter(cell.m_scheduler, &cell.m_gate, 0, {Begins, &cell},
                                    &cell.m_item, cell.Its());
                 cell.m_scheduler.DecrementCounter(&cell.m_gate);
             }},
            {"a task that submits it and waits for it", nullptr,
             [](Cell &cell, uint32_t) {
                 static constexpr auto kSubmits = [](weft::TaskScheduler *scheduler, void *arg) {
                     const weft::Task inner{Begins, arg};
                     scheduler->AddTasksAndWait(1, &inner, Of(arg).Its());
                 };
                 cell.m_scheduler.AddTask({kSubmits, &cell}, &cell.m_item, cell.Its());
             }},
        };
        return s_all;
    }

    Cell(weft::TaskScheduler &scheduler, const CellKind &kind)
        : m_kind(kind), m_scheduler(scheduler) {
        for (uint32_t i = 0; i < kind.loops; ++i) m_scheduler.AddTask({Occupies, this}, &m_all);
    }

    /// Returns how late the work may begin if each worker has a processor, in nanoseconds. The
    /// longest task is an occupying one.
    static uint64_t Bound(const CellKind &kind) {
        const uint64_t us = 1000, one = kind.length * us;
        if (kind.priority == weft::Priority::High) return 2 * one + 100 * us;
        if (kind.priority == weft::Priority::Low) return 100'000 * us + 2 * one;
        const uint64_t older = kind.loops * Occupations()[kind.occupation].older / kind.workers;
        return 10'000 * us + one + older * 2 * one;
    }

    /// Lets one piece of work come. Returns false if it does not begin and end within 30 seconds.
    bool Ask(uint32_t random, Times &times) {
        const Arrival &arrival = Arrivals()[m_kind.arrival];
        m_begun = 0;
        m_waits = m_came = false;
        m_signal.Reset();
        m_lock.try_lock();  // fails if the thread holds it already
        if (m_gate.IsZero()) m_scheduler.IncrementCounter(&m_gate);
        if (arrival.wait != nullptr) {
            m_scheduler.AddTask({Waits, this}, &m_item,
                                arrival.isOwn ? Its() : weft::TaskOptions());
            if (!Until([&] { return m_waits.load(); })) return false;
            Env::Pause();
        }
        if (arrival.come != nullptr) {
            AskIn(0);
            arrival.come(*this, random);
        }
        times.returned = Env::Now();
        if (!Until([&] { return m_begun != 0; }) || !Ends(m_item)) return false;
        times.asked = m_asked;
        times.begun = m_begun;
        return true;
    }

    /// Lets the occupying tasks end. Returns false if one is lost.
    bool End() {
        m_over = true;
        return Ends(m_all) && m_ran == m_added;
    }

private:
    static constexpr uint64_t kNever = 30'000'000'000;  // nanoseconds

    static Cell &Of(void *arg) { return *static_cast<Cell *>(arg); }
    template <class Done>
    static bool Until(Done done) {
        for (const uint64_t end = Env::Now() + kNever; !done(); Env::Pause()) {
            if (Env::Now() > end) return false;
        }
        return true;
    }
    bool Ends(weft::Counter &counter) {
        if (!Until([&] { return m_scheduler.PollCounter(&counter); })) return false;
        m_scheduler.WaitForCounter(&counter);
        return true;
    }

    weft::TaskOptions Its() const {
        weft::TaskOptions options;
        options.priority = m_kind.priority;
        return options;
    }
    weft::Clock::time_point AskIn(uint32_t microseconds) {
        m_asked = Env::Now() + microseconds * uint64_t{1000};
        return weft::Clock::time_point(std::chrono::nanoseconds(m_asked));
    }
    void Submit(const weft::TaskOptions &options) {
        AskIn(0);
        m_scheduler.AddTask({Begins, this}, &m_item, options);
    }
    static void Begins(weft::TaskScheduler *, void *arg) { Of(arg).m_begun = Env::Now(); }
    static void Waits(weft::TaskScheduler *scheduler, void *arg) {
        Cell &cell = Of(arg);
        cell.m_waits = true;
        Arrivals()[cell.m_kind.arrival].wait(cell);
        if (cell.m_begun == 0) Begins(scheduler, arg);
    }

    static void Occupies(weft::TaskScheduler *scheduler, void *arg) {
        Cell &cell = Of(arg);
        do {  // but the first occupation is a chain of tasks
            Occupations()[cell.m_kind.occupation].turn(cell);
        } while (cell.m_kind.occupation != 0 && !cell.m_over);
        if (!cell.m_over) scheduler->AddTask({Occupies, arg}, &cell.m_all);
    }
    // A piece of work of an occupying task.
    void Unit() {
        if (m_over) return;
        Env::Compute(m_kind.length);
        if (m_submits && m_submits.exchange(false)) Submit(Its());
    }
    static void UnitTask(weft::TaskScheduler *, void *arg) {
        Of(arg).Unit();
        ++Of(arg).m_ran;
    }
    static void HasChildren(weft::TaskScheduler *scheduler, void *arg) {
        const weft::Task tasks[2] = {{UnitTask, arg}, {UnitTask, arg}};
        Of(arg).m_added += 2;
        scheduler->AddChildTasks(2, tasks);
        UnitTask(scheduler, arg);
    }
    void AddAndWait(uint32_t count, bool isTimed = false, weft::TaskFunction function = UnitTask) {
        const std::vector<weft::Task> tasks(count, weft::Task{function, this});
        weft::Counter counter;
        m_added += count;
        m_scheduler.AddTasks(count, tasks.data(), &counter);
        const auto pieces = std::chrono::microseconds(100);
        while (isTimed && !weft::WaitForCounterFor(m_scheduler, &counter, pieces)) {
        }
        m_scheduler.WaitForCounter(&counter);
    }
    void AddFused(uint32_t count) {
        const std::vector<weft::Task> tasks(count, weft::Task{UnitTask, this});
        m_added += count;
        m_scheduler.AddTasksAndWait(count, tasks.data());
    }
    void Sort() {
        std::vector<uint32_t> values(64);
        for (uint32_t i = 0; i < 64; ++i) values[i] = i * 40503 % 1009;
        weft::ParallelSort(m_scheduler, values.begin(), values.end(), [&](uint32_t a, uint32_t b) {
            if ((a + b) % 16 == 0 && !m_over) Env::Compute(m_kind.length / 16);
            return a < b;
        });
        Unit();
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

    const CellKind m_kind;
    weft::TaskScheduler &m_scheduler;
    std::atomic<bool> m_over{false}, m_submits{false}, m_came{false}, m_waits{false};
    std::atomic<uint64_t> m_asked{0}, m_begun{0}, m_added{0}, m_ran{0};
    weft::Counter m_all, m_item, m_gate, m_never{1};
    weft::Event m_signal{m_scheduler};
    weft::Mutex m_lock{m_scheduler}, m_shared{m_scheduler};
};

}  // namespace soak
