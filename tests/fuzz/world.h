// The schedulers, counters and tasks of one input.
#pragma once

#include "fuzz/bytes.h"
#include "fuzz/oracle.h"
#include "weft/task_scheduler.h"

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace fuzz {

class World;
struct Shared;

/// The argument of a task, and its account.
struct Cell {
    World *world = nullptr;
    Bytes bytes{nullptr, 0};  // if the task plays a script
    uint32_t depth = 0;
    bool accepted = false;            // it was submitted without a mistake
    void *target = nullptr;           // of a helper: the object that it uses
    weft::TaskOptions options;        // of its child tasks
    uint8_t group = weft::kAnyGroup;  // the group in which it runs
    bool mayRunAnywhere = true;       // false: only in this group
    weft::Counter before;             // of a task that follows others: the counter of these
    uint32_t maxUnfinished = 0;       // how many of these may be unfinished when it begins
    std::atomic<uint32_t> ran{0};
};

/// Counters of one script, and by how much the script has incremented each.
struct Account {
    static constexpr uint32_t kCounters = 3;
    weft::Counter counters[kCounters];
    uint32_t byHand[kCounters]{};
    bool isFollowed[kCounters]{};  // tasks of later counters may follow it
    bool mayRise[kCounters]{};     // its tasks submit children
};

enum class Caller : uint8_t { Task, Attached, External };
enum class Life : uint8_t { Run, Start, StartAttached, WithoutWorkers };

class World {
public:
    explicit World(Bytes bytes);
    ~World();
    World(const World &) = delete;
    World &operator=(const World &) = delete;

    /// Plays the input until all schedulers and threads have ended.
    void Play();

    // For scripts. Any thread.
    /// Cells of new tasks, or null if there were too many.
    Cell *NewCells(uint32_t count);
    Account &NewAccount();
    /// Starts a thread that plays `bytes`. There are at most three.
    void StartThread(weft::TaskScheduler &scheduler, Bytes bytes, bool attached, bool leaves);
    /// Takes a permit to wait (see Permit in ../soak/graph.h). Returns false if there is none.
    bool TakePermit();
    void GiveBack() { m_permits.fetch_add(1); }
    /// Returns group `n` - 1 for a task to name, or kAnyGroup if there is no such group.
    uint8_t Group(uint32_t n) const;
    /// Checks that the caller, a task in this group, is on a worker of it.
    void CheckPlace(const weft::TaskScheduler &running, uint8_t group) const;

    Life life;
    weft::SchedulerOptions options;
    Oracle oracle;
    std::unique_ptr<weft::TaskScheduler> scheduler;
    std::unique_ptr<weft::TaskScheduler> other;  ///< runs, or is null
    std::unique_ptr<weft::TaskScheduler> idle;   ///< never runs
    weft::Counter held{2};                       ///< belongs to `other` while that runs
    weft::Counter threads;           ///< number of threads that play and have not finished
    std::unique_ptr<Shared> shared;  ///< used by all scripts; see shared.h

private:
    void Choose();
    void ChooseGroups(uint32_t layout);
    void ChooseHooks();
    void OnEvent(weft::TraceKind kind);
    void AbuseInHook(weft::TaskScheduler &inside);  // hook_mistakes.cpp
    void Live(Bytes bytes);
    void LiveInRun(Bytes bytes);
    void Host(Bytes bytes, Caller caller);
    void CheckEnd();

    static constexpr uint32_t kCells = 2048;
    Bytes m_bytes;
    weft::WorkerGroup m_groups[3];
    weft::TaskOptions m_mainOptions;
    std::atomic<uint32_t> m_hookCalls{0};
    std::vector<Cell> m_cells;
    std::atomic<uint32_t> m_cellCount{0};
    std::atomic<int32_t> m_permits;
    std::atomic<uint32_t> m_threadCount{0};
    std::mutex m_mutex;
    std::vector<std::unique_ptr<Account>> m_accounts;
    std::vector<std::thread> m_threads;
};

/// Up to `most` permits, for tasks that may wait and help a script.
class Spares {
public:
    static constexpr uint32_t kMax = 6;

    Spares(World &world, uint32_t most) : m_world(world) {
        while (m_count < most && world.TakePermit()) ++m_count;
    }
    ~Spares() {
        for (; m_count != 0; --m_count) m_world.GiveBack();
    }
    Spares(const Spares &) = delete;
    Spares &operator=(const Spares &) = delete;
    uint32_t Count() const { return m_count; }

private:
    World &m_world;
    uint32_t m_count = 0;
};

void Leaf(weft::TaskScheduler *scheduler, void *cell);
/// Submits child tasks, whose cells are those from Cell::target to its own.
void ParentTask(weft::TaskScheduler *scheduler, void *cell);
void ScriptTask(weft::TaskScheduler *scheduler, void *cell);

}  // namespace fuzz
