// Sets up the schedulers for an input, and plays it.
#include "fuzz/world.h"

#include "fuzz/script.h"
#include "fuzz/shared.h"
#include "support/low_groups.h"

namespace fuzz {

using namespace weft;

World::World(Bytes bytes) : m_bytes(bytes), m_cells(kCells) { Choose(); }

World::~World() = default;

// The first bytes of an input choose the options of the schedulers.
void World::Choose() {
    static constexpr uint32_t kFibers[] = {3, 5, 12};
    const uint32_t first = m_bytes.Next();  // below 128: no groups
    life = static_cast<Life>(first % 4);
    options.workers = life == Life::WithoutWorkers ? 0 : 1 + m_bytes.Below(3);
    options.fibers = kFibers[m_bytes.Below(3)];
    options.stackBytes = 128 << 10;  // AddressSanitizer needs large frames
    options.maxAttached = 5;
    const uint32_t more = m_bytes.Next();
    options.idle = static_cast<IdlePolicy>(more % 3);
    const uint32_t layout = life == Life::WithoutWorkers || first < 128 ? 0 : 1 + first / 4 % 3;
    layout == 0 ? test::LimitLow(options, more / 3 % 3) : ChooseGroups(layout);
    if ((more & 64) != 0) ChooseHooks();
    oracle.AttachTo(options);
    oracle.mayLackWorkers.store(options.workers == 0);
    m_mainOptions = {Priority::Normal, (more & 16) != 0 ? 0 : kAnyWorker, "main"};
    m_permits.store(static_cast<int32_t>(options.fibers) - (life == Life::Run ? 2 : 1));

    scheduler = std::make_unique<TaskScheduler>(options);
    idle = std::make_unique<TaskScheduler>(options);
    shared = std::make_unique<Shared>(*scheduler, options);
    if ((more & 128) != 0) {
        SchedulerOptions otherOptions;
        otherOptions.workers = 1;
        otherOptions.fibers = 4;
        otherOptions.stackBytes = 128 << 10;
        oracle.AttachTo(otherOptions);
        other = std::make_unique<TaskScheduler>(otherOptions);
    }
}

// Two groups of 1 and 1 or of 2 and 1 workers, or three groups of 1. The last group is namedOnly,
// unless there are only two workers.
void World::ChooseGroups(uint32_t layout) {
    options.groups = m_groups;
    options.groupCount = layout == 3 ? 3 : 2;
    for (WorkerGroup &group : m_groups) group.workers = 1;
    m_groups[0].workers = layout == 2 ? 2 : 1;
    m_groups[options.groupCount - 1].namedOnly = layout != 1;
    options.workers = layout == 1 ? 2 : 3;
}

uint8_t World::Group(uint32_t n) const {
    const bool exists = options.groups == m_groups && n != 0 && n <= options.groupCount;
    return exists ? static_cast<uint8_t>(n - 1) : kAnyGroup;
}

void World::CheckPlace(const TaskScheduler &running, uint8_t group) const {
    if (options.groups != m_groups || &running != scheduler.get()) return;
    const uint32_t worker = running.CurrentWorker();
    if (worker >= options.workers)
        return Require(group == kAnyGroup, "a task that names a group is on an attached thread");
    uint32_t its = 0;
    for (uint32_t end = m_groups[0].workers; worker >= end; end += m_groups[its].workers) ++its;
    Require(group == kAnyGroup ? !m_groups[its].namedOnly : group == its,
            "a task is in another group");
}

void World::ChooseHooks() {
    options.trace.user = this;
    options.trace.event = [](const TraceEvent &event, void *user) {
        static_cast<World *>(user)->OnEvent(event.kind);
    };
}

void World::OnEvent(TraceKind kind) {
    if (kind == TraceKind::TaskBegin) {
        if (m_hookCalls.fetch_add(1) % 4 == 1) AbuseInHook(*TaskScheduler::Current());
    } else if (kind == TraceKind::TaskEnd) {
        Cell *cell = m_hookCalls.fetch_add(1) % 8 == 2 ? NewCells(1) : nullptr;
        if (cell == nullptr) return;
        cell->accepted = true;
        TaskScheduler::Current()->AddTask({Leaf, cell});
    } else if (kind == TraceKind::Park) {
        if (m_hookCalls.fetch_add(1) % 16 != 3) return;
        TaskScheduler &inside = *TaskScheduler::Current();
        oracle.Expect(ReportCode::InHook, [&] { inside.AddTask({Leaf, NewCells(1)}); });
    }
}

void World::Play() {
    if (other != nullptr) {
        Require(other->Start() == Status::Ok, "Start of the other one");
        other->IncrementCounter(&held, 1);  // from now on the counter belongs to this scheduler
    }
    const uint32_t lives = 1 + m_bytes.Below(2);
    for (uint32_t i = 1; i < lives; ++i) Live(m_bytes.Split(m_bytes.Next()));
    Live(m_bytes);
    if (other != nullptr) {
        other->DecrementCounter(&held, 3);
        other->Stop();
    }
    CheckEnd();
}

void World::Live(Bytes bytes) {
    m_threadCount.store(0);
    if (life == Life::Run) {
        LiveInRun(bytes);
    } else {
        Require(scheduler->Start() == Status::Ok, "Start");
        const bool attaches = life != Life::Start;
        if (attaches) Require(scheduler->AttachThread() == Status::Ok, "AttachThread");
        Host(bytes, attaches ? Caller::Attached : Caller::External);
        if (attaches) scheduler->DetachThread();
        if (bytes.Below(2) == 0) {
            scheduler->Stop();
        } else {
            Require(StopFor(*scheduler, std::chrono::hours(1)), "StopFor has withdrawn a task");
        }
    }
    for (std::thread &thread : m_threads) thread.join();
    m_threads.clear();
}

void World::LiveInRun(Bytes bytes) {
    struct Arg {
        World *world;
        Bytes bytes;
    } arg{this, bytes};
    const auto main = [](TaskScheduler *, void *given) {
        static_cast<Arg *>(given)->world->Host(static_cast<Arg *>(given)->bytes, Caller::Task);
    };
    Require(scheduler->Run(main, &arg, m_mainOptions) == Status::Ok, "Run");
}

void World::Host(Bytes bytes, Caller caller) {
    Script(*this, *scheduler, caller, bytes, 0, true).Play();
    scheduler->WaitForCounter(&threads);
}

void World::CheckEnd() {
    shared->calls.reset();  // waits until all calls are made
    shared->CheckEnd();
    for (uint32_t i = 0; i < kCells; ++i) {
        const uint32_t expected = m_cells[i].accepted ? 1 : 0;
        Require(m_cells[i].ran.load() == expected,
                "a task did not run exactly once, or one ran that was refused");
    }
    for (const auto &account : m_accounts) {
        for (const Counter &counter : account->counters)
            Require(counter.Value() == 0, "a counter is not zero");
    }
    oracle.CheckCounts();
}

Cell *World::NewCells(uint32_t count) {
    const uint32_t first = m_cellCount.fetch_add(count);
    if (first + count > kCells) return nullptr;
    for (uint32_t i = first; i < first + count; ++i) m_cells[i].world = this;
    return m_cells.data() + first;
}

Account &World::NewAccount() {
    const std::lock_guard<std::mutex> lock(m_mutex);
    m_accounts.push_back(std::make_unique<Account>());
    return *m_accounts.back();
}

void World::StartThread(TaskScheduler &inside, Bytes bytes, bool attached, bool leaves) {
    if (m_threadCount.fetch_add(1) >= 3) return;
    inside.IncrementCounter(&threads);
    const std::lock_guard<std::mutex> lock(m_mutex);
    m_threads.emplace_back([this, &inside, bytes, attached, leaves] {
        if (attached && life == Life::WithoutWorkers) {  // the host is the only attached thread
            oracle.Expect(ReportCode::BadOption, [&] {
                Require(inside.AttachThread() == Status::BadOption, "a second thread attached");
            });
        } else if (attached) {
            Require(inside.AttachThread() == Status::Ok, "AttachThread of a thread");
            Script(*this, inside, Caller::Attached, bytes, 1, true).Play();
            if (leaves) oracle.willLeave.fetch_add(1);
            if (!leaves) inside.DetachThread();
        } else {
            Script(*this, inside, Caller::External, bytes, 1, true).Play();
        }
        inside.DecrementCounter(&threads);
    });
}

bool World::TakePermit() {
    if (m_permits.fetch_sub(1) > 0) return true;
    m_permits.fetch_add(1);
    return false;
}

void Leaf(TaskScheduler *scheduler, void *arg) {
    Cell &cell = *static_cast<Cell *>(arg);
    if (!cell.mayRunAnywhere) cell.world->CheckPlace(*scheduler, cell.group);
    cell.ran.fetch_add(1);
}

void ScriptTask(TaskScheduler *scheduler, void *arg) {
    Cell &cell = *static_cast<Cell *>(arg);
    World &world = *cell.world;
    cell.ran.fetch_add(1);
    const bool mayWait = world.TakePermit();
    Script(world, *scheduler, Caller::Task, cell.bytes, cell.depth, mayWait, &cell).Play();
    if (mayWait) world.GiveBack();
}

}  // namespace fuzz
