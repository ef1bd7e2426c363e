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

/// What a task is given, and its account.
struct Cell {
    World *world = nullptr;
    Bytes bytes{nullptr, 0};  // of a task that is a script
    uint32_t depth = 0;
    bool accepted = false;       // its submission had no mistake
    void *target = nullptr;      // of a helper: what it does something with
    weft::TaskOptions options;   // of its children
    uint8_t groups = 0;          // that it runs in; 0: it names none
    bool mayRunAnywhere = true;  // or only in these
    weft::Counter before;        // of a task that follows others: theirs
    uint32_t maxUnfinished = 0;  // of these, when it begins
    std::atomic<uint32_t> ran{0};
};

/// Counters of one script, and by how much it has raised each by hand.
struct Account {
    static constexpr uint32_t kCounters = 3;
    weft::Counter counters[kCounters];
    uint32_t byHand[kCounters]{};
    bool isFollowed[kCounters]{};  // tasks that later counters count come after it
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

    /// Plays the input, to the end of every scheduler and thread.
    void Play();

    // For scripts. Any thread.
    /// Cells of new tasks, or null if there were too many.
    Cell *NewCells(uint32_t count);
    Account &NewAccount();
    /// A thread of its own that plays `bytes`; at most three in all.
    void StartThread(weft::TaskScheduler &scheduler, Bytes bytes, bool attached, bool leaves);
    /// Leave to wait, see Permit in ../soak/graph.cpp; null: no.
    std::atomic<int32_t> *Permit(uint32_t fiber);
    void GiveBack(std::atomic<int32_t> *permit);
    /// Sets of groups that tasks may name, 1 to 3; 0: there are no groups, so that all name none.
    uint8_t Groups(uint32_t set) const;
    /// A task in these groups is on a worker of them.
    void CheckPlace(const weft::TaskScheduler &running, uint8_t groups) const;

    Life life;
    bool mayBeLarge;  ///< tasks
    weft::SchedulerOptions options;
    Oracle oracle;
    std::unique_ptr<weft::TaskScheduler> scheduler;
    std::unique_ptr<weft::TaskScheduler> other;  ///< runs, unless it is null
    std::unique_ptr<weft::TaskScheduler> idle;   ///< never runs
    weft::Counter held{2};                       ///< while `other` runs, its
    weft::Counter threads;                       ///< that play, and have not finished
    std::unique_ptr<Shared> shared;              ///< by all scripts; see shared.h

private:
    void Choose();
    void ChooseGroups(uint32_t layout);
    void ChooseHooks();
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
    std::atomic<int32_t> m_permits[2];
    std::atomic<uint32_t> m_threadCount{0};
    std::mutex m_mutex;
    std::vector<std::unique_ptr<Account>> m_accounts;
    std::vector<std::thread> m_threads;
};

/// Small fibers, up to `most`, for tasks that may wait and help a script.
class Spares {
public:
    static constexpr uint32_t kMax = 6;

    Spares(World &world, uint32_t most) : m_world(world) {
        while (m_count < most && (m_permits[m_count] = world.Permit(0)) != nullptr) ++m_count;
    }
    ~Spares() {
        while (m_count != 0) m_world.GiveBack(m_permits[--m_count]);
    }
    Spares(const Spares &) = delete;
    Spares &operator=(const Spares &) = delete;
    uint32_t Count() const { return m_count; }

private:
    World &m_world;
    std::atomic<int32_t> *m_permits[kMax];
    uint32_t m_count = 0;
};

void Leaf(weft::TaskScheduler *scheduler, void *cell);
void ScriptTask(weft::TaskScheduler *scheduler, void *cell);

}  // namespace fuzz
