// The grid of waiting times: every way to occupy the workers, times every way in which work comes,
// times its priority. For each of them the work must begin, or go on, within a bound. Each way to
// occupy the workers is a model. A schedule draws the rest.
#include "simulator/fair_support.h"
#include "simulator/models.h"
#include "weft/algorithms/parallel_for.h"
#include "weft/algorithms/parallel_sort.h"
#include "weft/deferred.h"
#include "weft/sync/event.h"
#include "weft/sync/mutex.h"
#include "weft/time.h"

#include <chrono>
#include <cstdio>
#include <string>
#include <vector>

namespace simulator {

namespace {

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
constexpr const char *kOccupiedBy[kOccupied] = {
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
constexpr const char *kComesBy[kComes] = {"a submission by a busy task",
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
constexpr const char *kPriorityNames[] = {"High", "Normal", "Low"};

class Grid {
public:
    explicit Grid(Occupied occupied)
        : m_occupied(occupied),
          m_comes(static_cast<Comes>(Random(kComes))),
          m_priority(AnyPriority()),
          m_length(kLengths[Random(3)]),
          m_workers(1 + Random(2)),
          m_loops((1 + Random(2)) * m_workers),
          m_scheduler(FairOptions(m_workers + (m_comes == ToOtherLane ? 1 : 0))) {}

    void Run() {
        Check(m_scheduler.Start() == Status::Ok, "Start failed");
        if (m_comes == ByLock) m_lock.lock();
        Prepare();
        for (uint32_t i = 0; i < m_loops; ++i) m_scheduler.AddTask({Occupy, this}, &m_all);
        Compute(3000);
        Arrive();
        const uint64_t bound = Bound();
        while (!m_event.over && weft::env::Now() < m_event.asked + 5 * bound) Compute(20);
        Compute(20);
        const bool isInTime = m_event.over && m_event.late <= bound;
        static char s_text[200];
        std::snprintf(s_text, sizeof s_text,
                      "%s, %u us each, %u workers; %s, by %s: late by %s%lu us",
                      kOccupiedBy[m_occupied], m_length, m_workers,
                      kPriorityNames[static_cast<uint32_t>(m_priority)], kComesBy[m_comes],
                      m_event.over ? "" : "more than ",
                      static_cast<unsigned long>((m_event.over ? m_event.late : 5 * bound) / kUs));
        CheckSoon(isInTime, s_text);
        m_over = true;
        m_scheduler.WaitForCounter(&m_all);
        m_scheduler.Stop();
    }

private:
    static constexpr uint32_t kLengths[] = {20, 100, 1000};

    // The longest task is one of the occupying ones. Of equal priority, so many items may be older.
    // Nanoseconds.
    uint64_t Bound() const {
        const uint64_t length = m_length * kUs, steps = 20 * kUs;
        if (m_priority == Priority::High) return 2 * length + 100 * kUs + steps;
        if (m_priority == Priority::Low) return 100'000 * kUs + 2 * length + steps;
        const uint32_t ofEach = m_occupied == ByBatches                          ? 100
                                : m_occupied == ByLoops || m_occupied == BySorts ? 16
                                                                                 : 4;
        return 10'000 * kUs + length + m_loops * ofEach * 2 * length + steps;
    }
    TaskOptions Its() const { return Of(m_priority); }

    // A piece of work of an occupying task.
    void Unit(TaskScheduler *scheduler) {
        Compute(m_length);
        if (!m_submits) return;
        m_submits = false;
        m_event.Ask();
        scheduler->AddTask({Begins, this}, &m_all, Its());
    }
    static void UnitTask(TaskScheduler *scheduler, void *arg) {
        static_cast<Grid *>(arg)->Unit(scheduler);
    }
    static void Begins(TaskScheduler *, void *arg) { static_cast<Grid *>(arg)->m_event.Begin(); }

    static void HasChildren(TaskScheduler *scheduler, void *arg) {
        const Task tasks[2] = {{UnitTask, arg}, {UnitTask, arg}};
        scheduler->AddChildTasks(2, tasks);
        UnitTask(scheduler, arg);
    }
    static void Occupy(TaskScheduler *scheduler, void *arg) {
        static_cast<Grid *>(arg)->OccupyOne(scheduler);
    }
    void OccupyOne(TaskScheduler *scheduler) {
        switch (m_occupied) {
            case ByTasks:
                Unit(scheduler);
                if (!m_over) scheduler->AddTask({Occupy, this}, &m_all);
                return;
            case ByHandOvers:
                return HandOvers(scheduler);
            default:
                while (!m_over) Turn(scheduler);
        }
    }
    void Turn(TaskScheduler *scheduler) {
        Counter counter;
        const std::vector<Task> tasks(m_occupied == ByBatches ? 100 : 4, Task{UnitTask, this});
        const uint32_t count = static_cast<uint32_t>(tasks.size());
        switch (m_occupied) {
            case ByYields:
                Unit(scheduler);
                return scheduler->Yield();
            case ByWaits:
            case ByBatches:
                scheduler->AddTasks(count, tasks.data(), &counter);
                return scheduler->WaitForCounter(&counter);
            case ByChildren:
                scheduler->AddTask({HasChildren, this}, &counter);
                return scheduler->WaitForCounter(&counter);
            case ByFusedWaits:
                return scheduler->AddTasksAndWait(count, tasks.data());
            case ByTimedWaits:
                scheduler->AddTasks(count, tasks.data(), &counter);
                while (!WaitForCounterFor(*scheduler, &counter, std::chrono::microseconds(100))) {
                }
                return;
            case ByLoops:
                return ParallelFor(*scheduler, 0u, 16u, [&](uint32_t) { Compute(m_length); });
            case BySorts: {
                std::vector<uint32_t> values(64);
                for (uint32_t &value : values) value = Random(1000);
                ParallelSort(*scheduler, values.begin(), values.end(), [&](uint32_t a, uint32_t b) {
                    if (Random(16) == 0) Compute(m_length / 16);
                    return a < b;
                });
                return;
            }
            case ByPolls:
                Unit(scheduler);
                scheduler->PollCounter(&m_never);
                return;
            default:
                m_shared.lock();
                scheduler->AddTasksAndWait(1, tasks.data());
                return m_shared.unlock();
        }
    }
    // The task and another one wake each other.
    void HandOvers(TaskScheduler *scheduler) {
        Counter mine(1), others(1), ended;
        bool isOver = false;
        auto answers = [&](TaskScheduler *self) {
            for (;;) {
                self->WaitForCounter(&others);
                if (isOver) return;
                self->IncrementCounter(&others);
                Unit(self);
                self->DecrementCounter(&mine);
            }
        };
        scheduler->AddTask(MakeTask(answers), &ended);
        while (!m_over) {
            Unit(scheduler);
            scheduler->DecrementCounter(&others);
            scheduler->WaitForCounter(&mine);
            scheduler->IncrementCounter(&mine);
        }
        isOver = true;
        scheduler->DecrementCounter(&others);
        scheduler->WaitForCounter(&ended);
        scheduler->DecrementCounter(&mine);
    }

    // What has to wait before the workers are occupied.
    void Prepare() {
        static constexpr auto kWaits = [](TaskScheduler *scheduler, void *arg) {
            Grid &self = *static_cast<Grid *>(arg);
            self.m_waits = true;
            switch (self.m_comes) {
                case FromSleep:
                    SleepUntil(*scheduler, self.m_wakesAt);
                    break;
                case ByCounter:
                    scheduler->WaitForCounter(&self.m_gate);
                    break;
                case ByEvent:
                    self.m_signal.Wait();
                    break;
                default:
                    self.m_lock.lock();
                    self.m_lock.unlock();
            }
            self.m_event.Begin();
        };
        static constexpr auto kHoards = [](TaskScheduler *scheduler, void *arg) {
            Grid &self = *static_cast<Grid *>(arg);
            self.m_waits = true;
            while (!self.m_hoards) Compute(20);
            self.m_event.Ask();
            scheduler->AddTask({Begins, arg}, &self.m_all, self.Its());
            while (!self.m_over) Compute(20);
        };
        switch (m_comes) {
            case FromSleep:
                m_wakesAt = Now() + std::chrono::milliseconds(5);
                [[fallthrough]];
            case ByCounter:
            case ByEvent:
            case ByLock:
                m_scheduler.AddTask({kWaits, this}, &m_all, Its());
                break;
            case ToOtherLane:
                m_scheduler.AddTask({kHoards, this}, &m_all);
                break;
            default:
                return;
        }
        while (!m_waits) Compute(20);
        Compute(100);
    }

    // The work comes.
    void Arrive() {
        TaskOptions its = Its();
        const Task task{Begins, this};
        m_event.Ask();
        switch (m_comes) {
            case ToOwnLane:
                m_submits = true;
                // loops and sorts do not call Unit
                if (m_occupied == ByLoops || m_occupied == BySorts) {
                    m_submits = false;
                    m_scheduler.AddTask(task, &m_all, its);
                }
                return;
            case ToOtherLane:
                m_hoards = true;
                return;
            case FromOutside:
                m_scheduler.AddTask(task, &m_all, its);
                return;
            case AtItsTime: {
                const uint64_t later = 500 + Random(1000);
                m_event.asked += later * kUs;
                AddTaskAt(m_scheduler, Now() + std::chrono::microseconds(later), task, &m_all, its);
                return;
            }
            case FromSleep:
                m_event.asked = static_cast<uint64_t>(
                    std::chrono::nanoseconds(m_wakesAt.time_since_epoch()).count());
                return;
            case ByCounter:
                return m_scheduler.DecrementCounter(&m_gate);
            case ByEvent:
                return m_signal.Set();
            case ByLock:
                return m_lock.unlock();
            case ToWorker:
                its.worker = Random(m_workers);
                m_scheduler.AddTask(task, &m_all, its);
                return;
            case AfterCounter:
                AddTaskAfter(m_scheduler, &m_gate, 0, task, &m_all, its);
                return m_scheduler.DecrementCounter(&m_gate);
            default: {  // a task of its priority submits it, and waits for it
                static constexpr auto kSubmits = [](TaskScheduler *scheduler, void *arg) {
                    const Task inner{Begins, arg};
                    scheduler->AddTasksAndWait(1, &inner, static_cast<Grid *>(arg)->Its());
                };
                m_scheduler.AddTask({kSubmits, this}, &m_all, its);
            }
        }
    }

    const Occupied m_occupied;
    const Comes m_comes;
    const Priority m_priority;
    const uint32_t m_length, m_workers, m_loops;
    bool m_over = false, m_submits = false, m_hoards = false, m_waits = false;
    Counter m_all, m_gate{1}, m_never{1};
    Clock::time_point m_wakesAt;
    simulator::Event m_event;
    TaskScheduler m_scheduler;
    weft::Event m_signal{m_scheduler};
    Mutex m_lock{m_scheduler}, m_shared{m_scheduler};
};

template <uint32_t kBy>
void OfGrid() {
    Grid(static_cast<Occupied>(kBy)).Run();
}

}  // namespace

std::vector<Model> GridModels() {
    static const std::string s_text =
        "when work of a priority comes in one of " + std::to_string(kComes) +
        " ways: " + std::to_string(kOccupied * kComes * 3) + " cells in all";
    const char *const text = s_text.c_str();
    return {
        {"grid_tasks", text, OfGrid<ByTasks>, 2},
        {"grid_yields", text, OfGrid<ByYields>, 2},
        {"grid_waits", text, OfGrid<ByWaits>, 2},
        {"grid_fused", text, OfGrid<ByFusedWaits>, 2},
        {"grid_timed", text, OfGrid<ByTimedWaits>, 2},
        {"grid_batches", text, OfGrid<ByBatches>, 2},
        {"grid_loops", text, OfGrid<ByLoops>, 2},
        {"grid_sorts", text, OfGrid<BySorts>, 2},
        {"grid_polls", text, OfGrid<ByPolls>, 2},
        {"grid_locks", text, OfGrid<ByLocks>, 2},
        {"grid_hand_overs", text, OfGrid<ByHandOvers>, 2},
        {"grid_children", text, OfGrid<ByChildren>, 2},
    };
}

}  // namespace simulator
