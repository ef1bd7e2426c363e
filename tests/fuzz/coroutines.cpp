// Coroutines that wait for tasks, times, events, turns and each other. Compiled as C++20, unlike
// the other files.
#include "weft/coroutine.h"

#include "fuzz/script.h"

#include <memory>

namespace fuzz {

using namespace weft;
using std::chrono::microseconds;

namespace {

constexpr uint32_t kGone = 4;  // the value that a coroutine throws

// State that all coroutines of one call share. Each of their frames holds a reference, so it is
// destroyed with the last frame.
struct Group {
    Group(World &of, TaskScheduler &by, const TaskOptions &options)
        : world(of), scheduler(by), worker(options.worker) {}
    ~Group() {
        Require(turns.load() == passed, "a coroutine waited for its turn and did not have it once");
        Require(turn.TryWait(), "the turn of coroutines was lost");
    }
    World &world;
    TaskScheduler &scheduler;
    const uint32_t worker;  // the only worker that may run them, or kAnyWorker
    Event turn{scheduler, EventReset::Auto, true};
    std::atomic<uint32_t> turns{0};  // number of requested turns
    uint32_t passed = 0;             // not atomic: only the coroutine that has the turn uses it
};

using Held = std::shared_ptr<Group>;

void Setting(TaskScheduler *scheduler, void *arg) {
    Event &event = *static_cast<Event *>(static_cast<Cell *>(arg)->target);
    Leaf(scheduler, arg);
    event.Set();
}

Coroutine<> AwaitTasks(Held group, uint32_t count, uint32_t value) {
    Cell *cells = group->world.NewCells(count);
    if (cells == nullptr) co_return;
    Counter counter;
    for (uint32_t i = 0; i < count; ++i) {
        cells[i].accepted = true;
        group->scheduler.AddTask({Leaf, &cells[i]}, &counter);
    }
    co_await Until{counter, value};
    uint32_t unfinished = 0;
    for (uint32_t i = 0; i < count; ++i) unfinished += cells[i].ran.load() == 0 ? 1 : 0;
    Require(unfinished <= value, "a coroutine went on before the value that it waits for");
    for (uint32_t i = 0; i < value; ++i) {
        if (co_await UntilDeadline{counter, Now() + microseconds(i)} && !counter.IsZero())
            Require(false, "a coroutine was told too early that its counter is zero");
    }
    co_await counter;
    for (uint32_t i = 0; i < count; ++i)
        Require(cells[i].ran.load() == 1, "a coroutine went on before a task's end");
}

Coroutine<> AwaitTime(Held group, uint32_t byte) {
    const microseconds duration(byte);
    const Clock::time_point end = Now() + duration;
    if (byte % 2 == 0) {
        co_await end;
    } else {
        co_await duration;
    }
    Require(Now() >= end, "a coroutine went on before its time");
}

// The event is destroyed as soon as the wait has returned.
Coroutine<> AwaitEvent(Held group, EventReset reset) {
    Cell *cell = group->world.NewCells(1);
    if (cell == nullptr) co_return;
    Event event(group->scheduler, reset);
    cell->accepted = true;
    cell->target = &event;
    group->scheduler.AddTask({Setting, cell});
    co_await event;
    Require(cell->ran.load() == 1, "a coroutine passed an event that nobody has set");
    Require(event.IsSet() == (reset == EventReset::Manual), "an event stays set, or does not");
}

Coroutine<> AwaitTurn(Held group, uint32_t byte) {
    group->turns.fetch_add(1);
    co_await group->turn;
    const uint32_t mine = ++group->passed;
    if (byte % 2 != 0) co_await microseconds(byte % 32);
    Require(group->passed == mine, "two coroutines have the turn");
    group->turn.Set();
}

// Returns 1 + 2 + ... + depth. Some of the calls wait.
Coroutine<uint64_t> Sum(Held group, uint32_t depth) {
    if (depth == 0) co_return 0;
    if (depth % 3 == 0) co_await AwaitTasks(group, 1, 0);
    const uint64_t rest = co_await Sum(group, depth - 1);
    co_return rest + depth;
}

Coroutine<uint32_t> Throw(Held group, uint32_t byte) {
    if (byte % 2 != 0) co_await AwaitTime(group, byte % 16);
    throw kGone;
    co_return 0;
}

Coroutine<> Catch(Held group, uint32_t byte) {
    uint32_t caught = 0;
    try {
        co_await Throw(group, byte);
    } catch (uint32_t thrown) {
        caught = thrown;
    }
    Require(caught == kGone, "the exception of a coroutine did not reach who awaits it");
}

Coroutine<> Step(Held group, uint32_t kind, uint32_t byte) {
    if (kind == 0) co_await AwaitTasks(group, byte % 4, byte / 4 % 4);
    if (kind == 1) co_await AwaitTime(group, byte);
    if (kind == 2)
        co_await AwaitEvent(group, byte % 2 == 0 ? EventReset::Manual : EventReset::Auto);
    if (kind == 3) co_await AwaitTurn(group, byte);
    if (kind == 4) co_await Catch(group, byte);
    if (kind == 5) {
        const uint64_t depth = byte % 16;
        Require(co_await Sum(group, byte % 16) == depth * (depth + 1) / 2,
                "the result of a coroutine");
    }
}

Coroutine<> Walk(Held group, Cell *cell, Bytes steps, bool throws) {
    TaskScheduler &scheduler = co_await CurrentScheduler{};
    Require(&scheduler == &group->scheduler, "a coroutine has another scheduler");
    for (;;) {
        const uint32_t worker = scheduler.CurrentWorker();
        Require(worker != kAnyWorker, "a coroutine runs on no worker");
        Require(group->worker == kAnyWorker || worker == group->worker,
                "a pinned coroutine went on elsewhere");
        if (steps.IsEmpty()) break;
        const uint32_t kind = steps.Below(6);
        co_await Step(group, kind, steps.Next());
    }
    Leaf(&scheduler, cell);
    if (!throws) co_return;
    group->world.oracle.willThrow.fetch_add(1);
    throw kGone;
}

}  // namespace

// All coroutines take the same steps, some without the first ones. None holds a fiber while it
// waits, so there may be many.
void Script::UseCoroutines() {
    const uint32_t byte = m_bytes.Next(), count = 1 + byte % 64;
    const bool waits = byte >= 128 && m_mayWait, throws = (byte & 64) != 0;
    TaskOptions options = Options();
    Counter done, *const counter = waits ? &done : SomeCounter();
    const Bytes steps = m_bytes.Split(m_bytes.Below(16));
    // A thread must not detach before the coroutines that are pinned to it have ended.
    if (counter == nullptr && m_caller == Caller::Attached) options.worker = kAnyWorker;
    Cell *cells = m_world.NewCells(count);
    if (cells == nullptr) return;
    const Held group = std::make_shared<Group>(m_world, m_scheduler, options);
    const auto make = [&](uint32_t i) {
        Bytes own = steps;
        own.Split(i % 4 * 2);
        return Walk(group, &cells[i], own, throws && i == 0);
    };
    { const Coroutine<> neverStarted = make(0); }
    Require(group.use_count() == 1, "a coroutine that never began was not destroyed");
    for (uint32_t i = 0; i < count; ++i) {
        cells[i].accepted = true;
        StartCoroutine(m_scheduler, make(i), counter, options);
    }
    if (!waits) return;
    m_scheduler.WaitForCounter(&done);
    for (uint32_t i = 0; i < count; ++i)
        Require(cells[i].ran.load() == 1, "a coroutine was counted before its end");
    Require(group.use_count() == 1, "a coroutine was counted before its frame was gone");
}

}  // namespace fuzz
