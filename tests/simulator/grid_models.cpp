// The grid of waiting times. Its cells are all combinations of a way to occupy the workers, a way
// in which work comes, its priority, the length of the occupying tasks, the number of workers and a
// place. In each cell the work must begin, or go on, within a bound. Each way to occupy the workers
// is a model. A schedule draws the rest.
#include "simulator/fair_support.h"
#include "simulator/models.h"
#include "support/grid.h"

#include <cstdio>
#include <utility>
#include <vector>

namespace simulator {

namespace {

using namespace test::grid;

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
    static constexpr uint32_t kWorkers[] = {1, 2, 3, 8};
    static constexpr uint32_t kCount = kComes * kPriorities * 3 * 4 * kPlaces;

    static GridCell At(uint32_t index) {
        const auto next = [&](uint32_t count) {
            return std::exchange(index, index / count) % count;
        };
        return {static_cast<Comes>(next(kComes)), static_cast<Priority>(next(kPriorities)),
                kLengths[next(3)], kWorkers[next(4)], static_cast<Place>(next(kPlaces))};
    }
    bool MakesSense(Occupied occupied) const {
        // These are the cells of FromOutside.
        if (comes == ToWorker && place == OnAttached) return false;
        if (comes == ToOwnLane && occupied == BySorts) return false;
        // How many tasks of a ParallelFor wait for others depends on the schedule.
        if (place == FewFibers && occupied == ByLoops) return false;
        return true;
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

struct VirtualTime {
    static void Compute(uint32_t microseconds) { simulator::Compute(microseconds); }
    static uint32_t Random(uint32_t below) { return simulator::Random(below); }
    static void Check(bool condition, const char *message) { simulator::Check(condition, message); }
};

class Grid {
public:
    explicit Grid(Occupied occupied)
        : m_cell(Draw(occupied)),
          m_workers(m_cell.workers + (m_cell.comes == ToOtherLane ? 1 : 0) +
                    (m_cell.HasRestricted() || m_cell.place == WithGroup ? 1 : 0)),
          m_kind(KindOf(occupied)),
          m_scheduler(SchedulersOptions()) {}

    void Run() {
        HostThread attached([this] {
            Check(m_scheduler.AttachThread() == Status::Ok, "AttachThread failed");
            m_waits = true;
            m_scheduler.WaitForCounter(&m_end);
            m_scheduler.DetachThread();
        });
        Check(m_scheduler.Start() == Status::Ok, "Start failed");
        if (m_cell.HasAttached()) attached.Start();
        if (m_cell.HasRestricted())
            m_scheduler.AddTask({Restricts, this}, nullptr, PinnedTo(m_workers - 1));
        if (m_cell.HasAttached() || m_cell.HasRestricted()) Await([&] { return m_waits; });
        if (m_tasks.Prepare()) Await([&] { return m_tasks.IsWaiting(); });
        m_tasks.Occupy();
        Compute(3000 + m_kind.phase);
        m_tasks.Arrive();
        CheckInTime();
        m_tasks.End();
        m_scheduler.WaitForCounter(&m_tasks.Loops());
        m_scheduler.WaitForCounter(&m_tasks.Item());
        Check(!m_tasks.HasLostTasks(), "occupying tasks are lost");
        m_scheduler.DecrementCounter(&m_end);
        if (m_cell.HasAttached()) attached.Join();
        m_scheduler.Stop();
    }

private:
    Kind KindOf(Occupied occupied) const {
        Kind kind;
        kind.occupied = occupied;
        kind.comes = m_cell.comes;
        kind.length = m_cell.length;
        kind.first = m_cell.place == WithGroup ? 1 : 0;
        kind.workers = m_cell.workers;
        kind.loops = (1 + Random(2)) * m_cell.workers;
        kind.phase = Random(24) * m_cell.length;  // then other fair picks come next
        if (m_cell.place == WithGroup) kind.its = kind.others = InGroup(1);
        if (m_cell.place == OnAttached) kind.its = PinnedTo(m_workers);
        if (m_cell.comes == ToWorker) kind.its = {};  // Cell chooses a worker
        kind.its.priority = m_cell.priority;
        kind.hoarders = PinnedTo(kind.first + kind.workers);
        return kind;
    }
    SchedulerOptions SchedulersOptions() {
        SchedulerOptions options = FairOptions(m_workers);
        options.maxAttached = 1;
        // All loops and the work that comes wait, and each worker runs a task.
        const uint32_t ofEach = m_kind.occupied == ByHandOvers ? 2 : 1;
        options.fibers =
            m_kind.loops * ofEach + 1 + m_workers + (m_cell.place == FewFibers ? 0 : 36);
        if (m_cell.place != WithGroup) return options;
        m_groups[0].workers = 1;
        m_groups[1].workers = m_workers - 1;
        m_groups[1].namedOnly = Random(2) != 0;
        options.groups = m_groups;
        options.groupCount = 2;
        return options;
    }

    static void Restricts(TaskScheduler *scheduler, void *arg) {
        Grid &self = *static_cast<Grid *>(arg);
        self.m_waits = true;
        scheduler->WaitForCounter(&self.m_end, static_cast<Meanwhile>(self.m_cell.place));
    }
    template <class Waits>
    static void Await(Waits waits) {
        while (!waits()) Compute(20);
        Compute(100);
    }
    void CheckInTime() {
        const uint64_t bound = m_kind.Bound();
        while (m_tasks.Begun() == 0 && weft::env::Now() < m_tasks.Asked() + 2 * bound) Compute(20);
        Compute(20);
        const bool isOver = m_tasks.Begun() != 0;
        const uint64_t late = isOver ? m_tasks.Begun() - m_tasks.Asked() : 2 * bound;
        static char s_text[300];
        std::snprintf(s_text, sizeof s_text, "%s; %s: late by %s%lu us", m_kind.Text().c_str(),
                      kPlaceNames[m_cell.place], isOver ? "" : "more than ",
                      static_cast<unsigned long>(late / kUs));
        CheckSoon(isOver && late <= bound, s_text);
    }

    const GridCell m_cell;
    const uint32_t m_workers;  // all workers of the scheduler
    const Kind m_kind;
    WorkerGroup m_groups[2];
    bool m_waits = false;  // the attached thread, or the restricted wait
    Counter m_end{1};
    TaskScheduler m_scheduler;
    test::grid::Cell<VirtualTime> m_tasks{m_scheduler, m_kind};
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
