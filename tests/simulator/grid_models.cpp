// The grid of waiting times. Its cells are all combinations of a way to occupy the workers, a way
// in which work comes, its priority, the length of the occupying tasks, the number of workers and a
// place. In each cell the work must begin, or go on, within a bound. Each way to occupy the workers
// is a model. A schedule draws the rest.
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
#include <utility>
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

// What is special about the workers. The first ones have the values of Meanwhile.
enum Place : uint32_t {
    Plain,
    BesideNormalOrHigher,
    BesideHighOnly,
    BesideOwnTasks,
    BesideNothing,
    WithGroup,
    BesideAttached,
    OnAttached,
    FewFibers,
    kPlaces
};
constexpr const char *kPlaceNames[kPlaces] = {"nothing special",
                                              "beside a wait with NormalOrHigher",
                                              "beside a wait with HighOnly",
                                              "beside a wait with OwnTasks",
                                              "beside a wait with Nothing",
                                              "all of one group of workers",
                                              "beside an attached thread",
                                              "pinned to an attached thread",
                                              "few fibers"};

// A cell, without the way to occupy the workers. `workers`: those that any of the tasks may use.
struct GridCell {
    static constexpr uint32_t kLengths[] = {20, 100, 1000}, kWorkers[] = {1, 2, 3, 8};
    static constexpr uint32_t kCount = kComes * 3 * 3 * 4 * kPlaces;

    static GridCell At(uint32_t index) {
        const auto next = [&](uint32_t count) {
            return std::exchange(index, index / count) % count;
        };
        return {static_cast<Comes>(next(kComes)), static_cast<Priority>(next(3)), kLengths[next(3)],
                kWorkers[next(4)], static_cast<Place>(next(kPlaces))};
    }
    bool MakesSense(Occupied occupied) const {
        // FromOutside is the same.
        if (place == OnAttached && comes == ToWorker) return false;
        // How many tasks of a ParallelFor wait for others depends on the schedule.
        if (place == FewFibers && occupied == ByLoops) return false;
        // Work that lies in the deque of a worker that does not run it is found by one fair pick in
        // four, which is one task in 24: "every fourth time", "usual picks follow ... for at least
        // five times as long" (policy/next_work.h). The bound of some ways is longer than that, and
        // each task that yields or locks leaves its worker.
        const bool isOnlyStolen =
            comes == ToOtherLane
                ? place != OnAttached
                : comes != ToWorker && place >= BesideHighOnly && place <= WithGroup;
        const bool isFound = occupied == ByYields || occupied == ByLocks || occupied == ByBatches ||
                             occupied == ByLoops || occupied == BySorts;
        return isFound || !isOnlyStolen || priority != Priority::Normal || length != 1000;
    }
    bool HasAttached() const { return place == BesideAttached || place == OnAttached; }
    bool HasRestricted() const { return place != Plain && place <= BesideNothing; }

    Comes comes;
    Priority priority;
    uint32_t length, workers;
    Place place;
};

Cells s_cells[kOccupied];

GridCell Draw(Occupied occupied) {
    for (;;) {
        const uint32_t index = Random(GridCell::kCount);
        const GridCell cell = GridCell::At(index);
        // schedules with eight workers are slow
        if (!cell.MakesSense(occupied) || (cell.workers == 8 && Random(8) != 0)) continue;
        s_cells[occupied].explored.insert(index);
        return cell;
    }
}

class Grid {
public:
    explicit Grid(Occupied occupied)
        : m_occupied(occupied),
          m_cell(Draw(occupied)),
          m_workers(m_cell.workers + (m_cell.comes == ToOtherLane ? 1 : 0) +
                    (m_cell.HasRestricted() || m_cell.place == WithGroup ? 1 : 0)),
          m_loops((1 + Random(2)) * m_cell.workers),
          m_phase(Random(24) * m_cell.length),
          m_its(ItsOptions()),
          m_scheduler(SchedulersOptions()) {}

    void Run() {
        HostThread attached([this] {
            Check(m_scheduler.AttachThread() == Status::Ok, "AttachThread failed");
            m_waits = true;
            m_scheduler.WaitForCounter(&m_end);
            m_scheduler.DetachThread();
        });
        Check(m_scheduler.Start() == Status::Ok, "Start failed");
        if (m_cell.HasAttached()) {
            attached.Start();
            AwaitWaiter();
        }
        if (m_cell.comes == ByLock) m_lock.lock();
        Prepare();
        for (uint32_t i = 0; i < m_loops; ++i)
            m_scheduler.AddTask({Occupy, this}, &m_all, OfPlace(Priority::Normal));
        Compute(3000 + m_phase);
        Arrive();
        const uint64_t bound = Bound();
        while (!m_event.over && weft::env::Now() < m_event.asked + 2 * bound) Compute(20);
        Compute(20);
        const bool isInTime = m_event.over && m_event.late <= bound;
        static char s_text[300];
        std::snprintf(
            s_text, sizeof s_text, "%s, %u us each, %u workers, %s; %s, by %s: late by %s%lu us",
            kOccupiedBy[m_occupied], m_cell.length, m_cell.workers, kPlaceNames[m_cell.place],
            kPriorityNames[static_cast<uint32_t>(m_cell.priority)], kComesBy[m_cell.comes],
            m_event.over ? "" : "more than ",
            static_cast<unsigned long>((m_event.over ? m_event.late : 2 * bound) / kUs));
        CheckSoon(isInTime, s_text);
        m_over = true;
        m_scheduler.WaitForCounter(&m_all);
        m_scheduler.DecrementCounter(&m_end);
        if (m_cell.HasAttached()) attached.Join();
        m_scheduler.Stop();
    }

private:
    // The first worker of the occupying tasks.
    uint32_t First() const { return m_cell.place == WithGroup ? 1 : 0; }
    TaskOptions OfPlace(Priority priority) const {
        return m_cell.place == WithGroup ? InGroup(1, priority) : Of(priority);
    }
    TaskOptions ItsOptions() const {
        if (m_cell.comes == ToWorker)
            return PinnedTo(First() + Random(m_cell.workers), m_cell.priority);
        if (m_cell.place == OnAttached) return PinnedTo(m_workers, m_cell.priority);
        return OfPlace(m_cell.priority);
    }
    SchedulerOptions SchedulersOptions() {
        SchedulerOptions options = FairOptions(m_workers);
        options.maxAttached = 1;
        // All loops and the work that comes wait, and each worker runs a task.
        const uint32_t needed = m_loops * (m_occupied == ByHandOvers ? 2 : 1) + 1 + m_workers;
        options.fibers = needed + (m_cell.place == FewFibers ? 0 : 36);
        if (m_cell.place != WithGroup) return options;
        m_groups[0].workers = 1;
        m_groups[1].workers = m_workers - 1;
        m_groups[1].namedOnly = Random(2) != 0;
        options.groups = m_groups;
        options.groupCount = 2;
        return options;
    }

    // The longest task is one of the occupying ones. Of equal priority, so many items may be older.
    // Nanoseconds.
    uint64_t Bound() const {
        const uint64_t length = m_cell.length * kUs, steps = 20 * kUs;
        if (m_cell.priority == Priority::High) return 2 * length + 100 * kUs + steps;
        if (m_cell.priority == Priority::Low) return 100'000 * kUs + 2 * length + steps;
        const uint32_t ofEach = m_occupied == ByBatches                          ? 100
                                : m_occupied == ByLoops || m_occupied == BySorts ? 16
                                                                                 : 4;
        return 10'000 * kUs + length + m_loops * ofEach * 2 * length + steps;
    }

    // A piece of work of an occupying task.
    void Unit(TaskScheduler *scheduler) {
        Compute(m_over ? 20 : m_cell.length);  // thieves would rest after much shorter ones
        if (!m_submits) return;
        m_submits = false;
        m_event.Ask();
        scheduler->AddTask({Begins, this}, &m_all, m_its);
    }
    static void UnitTask(TaskScheduler *scheduler, void *arg) {
        static_cast<Grid *>(arg)->Unit(scheduler);
    }
    // The work begins, or continues.
    static void Begins(TaskScheduler *scheduler, void *arg) {
        Grid &self = *static_cast<Grid *>(arg);
        const uint32_t worker = scheduler->CurrentWorker();
        Check(worker >= self.First() &&
                  (self.m_its.worker == kAnyWorker || self.m_its.worker == worker),
              "the work runs where it may not");
        self.m_event.Begin();
    }

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
                return ParallelFor(*scheduler, 0u, 16u, [&](uint32_t) { Unit(scheduler); });
            case BySorts: {
                std::vector<uint32_t> values(64);
                for (uint32_t &value : values) value = Random(1000);
                uint32_t parts = 16;  // one task sorts them all, so it takes no longer than others
                ParallelSort(*scheduler, values.begin(), values.end(), [&](uint32_t a, uint32_t b) {
                    if (parts != 0 && Random(16) == 0) {
                        --parts;
                        Compute(m_cell.length / 16);
                    }
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
            switch (self.m_cell.comes) {
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
            Begins(scheduler, arg);
        };
        static constexpr auto kRestricts = [](TaskScheduler *scheduler, void *arg) {
            Grid &self = *static_cast<Grid *>(arg);
            self.m_waits = true;
            scheduler->WaitForCounter(&self.m_end, static_cast<Meanwhile>(self.m_cell.place));
        };
        static constexpr auto kHoards = [](TaskScheduler *scheduler, void *arg) {
            Grid &self = *static_cast<Grid *>(arg);
            self.m_waits = true;
            while (!self.m_hoards) Compute(20);
            self.m_event.Ask();
            scheduler->AddTask({Begins, arg}, &self.m_all, self.m_its);
            while (!self.m_over) Compute(20);
        };
        if (m_cell.HasRestricted()) {
            m_scheduler.AddTask({kRestricts, this}, nullptr, PinnedTo(m_workers - 1));
            AwaitWaiter();
        }
        switch (m_cell.comes) {
            case FromSleep:
                m_wakesAt = Now() + std::chrono::microseconds(5000 + m_phase);
                [[fallthrough]];
            case ByCounter:
            case ByEvent:
            case ByLock:
                m_scheduler.AddTask({kWaits, this}, &m_all, m_its);
                break;
            case ToOtherLane:
                m_scheduler.AddTask({kHoards, this}, &m_all, PinnedTo(First() + m_cell.workers));
                break;
            default:
                return;
        }
        AwaitWaiter();
    }
    void AwaitWaiter() {
        while (!m_waits) Compute(20);
        m_waits = false;
        Compute(100);
    }

    // The work comes.
    void Arrive() {
        const Task task{Begins, this};
        m_event.Ask();
        switch (m_cell.comes) {
            case ToOwnLane:
                m_submits = m_occupied != BySorts;  // a sort does not call Unit
                if (!m_submits) m_scheduler.AddTask(task, &m_all, m_its);
                return;
            case ToOtherLane:
                m_hoards = true;
                return;
            case FromOutside:
            case ToWorker:
                m_scheduler.AddTask(task, &m_all, m_its);
                return;
            case AtItsTime: {
                const uint64_t later = 500 + Random(1000);
                m_event.asked += later * kUs;
                AddTaskAt(m_scheduler, Now() + std::chrono::microseconds(later), task, &m_all,
                          m_its);
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
            case AfterCounter:
                AddTaskAfter(m_scheduler, &m_gate, 0, task, &m_all, m_its);
                return m_scheduler.DecrementCounter(&m_gate);
            default: {  // a task of its priority submits it, and waits for it
                static constexpr auto kSubmits = [](TaskScheduler *scheduler, void *arg) {
                    const Task inner{Begins, arg};
                    scheduler->AddTasksAndWait(1, &inner, static_cast<Grid *>(arg)->m_its);
                };
                m_scheduler.AddTask({kSubmits, this}, &m_all, m_its);
            }
        }
    }

    const Occupied m_occupied;
    const GridCell m_cell;
    const uint32_t m_workers, m_loops;  // m_workers: all workers of the scheduler
    const uint32_t m_phase;             // so many microseconds later, other fair picks come next
    const TaskOptions m_its;            // of the work that comes
    WorkerGroup m_groups[2];
    bool m_over = false, m_submits = false, m_hoards = false, m_waits = false;
    Counter m_all, m_gate{1}, m_never{1}, m_end{1};
    Clock::time_point m_wakesAt;
    simulator::Event m_event;
    TaskScheduler m_scheduler;
    weft::Event m_signal{m_scheduler};
    Mutex m_lock{m_scheduler}, m_shared{m_scheduler};
};

}  // namespace

std::vector<Model> GridModels() {
    static constexpr const char *kNames[kOccupied] = {
        "grid_tasks", "grid_yields",  "grid_waits",      "grid_fused",
        "grid_timed", "grid_batches", "grid_loops",      "grid_sorts",
        "grid_polls", "grid_locks",   "grid_hand_overs", "grid_children"};
    std::vector<Model> models;
    for (uint32_t i = 0; i < kOccupied; ++i) {
        const Occupied occupied = static_cast<Occupied>(i);
        s_cells[i].count = 0;
        for (uint32_t index = 0; index < GridCell::kCount; ++index)
            s_cells[i].count += GridCell::At(index).MakesSense(occupied) ? 1 : 0;
        models.push_back(
            {kNames[i], kOccupiedBy[i], [=] { Grid(occupied).Run(); }, 2, &s_cells[i]});
    }
    return models;
}

}  // namespace simulator
