// Implements aging.h.
#include "scheduler/find/aging.h"

#include "scheduler/find/pinned.h"
#include "scheduler/find/rescue.h"
#include "scheduler/find/stall.h"
#include "scheduler/find/take.h"

#include <algorithm>

namespace weft::internal {

namespace {

constexpr uint32_t kMaxPeriod = 32;
constexpr int64_t kShare = 6;       // each late queue gets one part in so many
constexpr uint32_t kMaxShares = 3;  // the most shares that are given at once

// Calls act(deque) with the deque of this number: a lane or a queue of ready fibers.
template <class Act>
auto WithQueue(Worker &worker, uint32_t queue, Act act) noexcept {
    return queue < kLanes ? act(worker.lanes[queue]) : act(worker.ready[queue - kLanes]);
}

// Updates the age of a queue and returns true if it is late. relaxed, all: hints, see QueueAge.
// Writes only what changes, because other workers read the same cache line.
bool InspectQueue(const Worker *worker, Worker &owner, uint32_t queue, uint64_t now) noexcept {
    const Tuning &tuning = owner.scheduler->tuning;
    QueueAge &age = owner.ages[queue];
    const auto store = [](env::Atomic<uint64_t> &word, uint64_t value) {
        if (word.load(kRelaxed) != value) word.store(value, kRelaxed);
    };
    uint64_t oldest = 0, end = 0;  // 0: the queue is empty
    WithQueue(owner, queue, [&](auto &items) {
        if (items.LooksEmpty()) return;
        oldest = items.Oldest() + 1;
        end = items.End() + 1;
    });
    const uint64_t lateTo = age.lateTo.load(kRelaxed);
    if (oldest == 0 || (lateTo != 0 && static_cast<int64_t>(oldest - lateTo) >= 0))
        store(age.lateTo, 0);
    if (age.oldest.load(kRelaxed) != oldest) {
        store(age.oldest, oldest);
        store(age.since, now);
        if (age.stuckLooks.load(kRelaxed) != 0) age.stuckLooks.store(0, kRelaxed);
    } else if (oldest != 0) {
        const auto waited = static_cast<int64_t>(now - age.since.load(kRelaxed));
        if (waited >= static_cast<int64_t>(tuning.aging)) {
            if (queue < kLanes) WatchLateLane(worker, age, ClassOf(queue));
            store(age.lateTo, end);
            return true;
        }
    }
    return age.lateTo.load(kRelaxed) != 0;
}

// Returns the level of a lane, of a queue of ready fibers, or of the pinned work of a priority.
Level LevelOfQueue(uint32_t queue) noexcept {
    return queue < kLanes ? LevelOf(queue)
                          : LevelAt(queue < kQueues ? queue - kLanes : queue - kQueues);
}

// Returns true if `one` comes before `other`. Late queues take turns: the queue that follows the
// last chosen one comes first.
bool IsBefore(const Worker &worker, const LateQueue &one, const LateQueue &other) noexcept {
    const uint32_t all = worker.scheduler->Slots() * kAgedQueues;
    const LateQueue &last = worker.aging.last;
    const auto distance = [=](const LateQueue &to) {
        const uint32_t from = last.worker * kAgedQueues + last.queue;
        return (to.worker * kAgedQueues + to.queue + 2 * all - from - 1) % all;
    };
    return distance(one) < distance(other);
}

// Counts a late queue. Makes it the `next` one if this worker may run it and it comes first.
void Offer(Worker *worker, uint32_t index, uint32_t queue, LateQueue &next) noexcept {
    if (queue < kQueues && !MayRun(*worker, LevelOfQueue(queue))) return;
    ++worker->aging.lateQueues;
    const LateQueue offered{index, queue};
    if (!next || IsBefore(*worker, offered, next)) next = offered;
}

// Inspects all lanes and ready fibers of one worker.
void Inspect(Worker *worker, uint32_t index, uint64_t now, LateQueue &next) noexcept {
    Worker &owner = worker->scheduler->workers[index];
    const auto inspect = [&](uint32_t queue) {
        if (InspectQueue(worker, owner, queue, now)) Offer(worker, index, queue, next);
    };
    for (uint32_t lane = 0; lane < worker->scheduler->Lanes(); ++lane) inspect(lane);
    for (uint32_t level = 0; level < worker->scheduler->Levels(); ++level) inspect(kLanes + level);
}

// Inspects this worker's own queues and those of one other worker. The other worker stays the same
// until each of its late queues has been chosen. If it changed each time, a late queue behind
// another one of the same worker might never be chosen. While the worker must not choose another
// queue (`chooses` is false), it inspects a different worker each time.
void InspectAll(Worker *worker, uint64_t now, bool chooses, LateQueue &next) noexcept {
    Inspect(worker, worker->index, now, next);
    Aging &aging = worker->aging;
    uint32_t &other = chooses ? aging.other : aging.watched;
    LateQueue its;
    if (other != worker->index) Inspect(worker, other, now, its);
    const bool isLeft = its && (aging.last.worker != other || its.queue > aging.last.queue);
    if (its && (!next || IsBefore(*worker, its, next))) next = its;
    if (!chooses || !isLeft) other = other + 1 < worker->scheduler->Slots() ? other + 1 : 0;
}

// Inspects the pinned work. Only its own worker can.
void InspectPinned(Worker *worker, uint64_t now, LateQueue &next) noexcept {
    Aging &aging = worker->aging;
    for (uint32_t priority = 0; priority < kPriorities; ++priority) {
        const bool isEmpty = worker->pinnedFibers[priority].first == nullptr &&
                             worker->pinnedTasks[priority].first == nullptr;
        if (isEmpty || worker->pinnedTaken[priority] != aging.pinnedSeen[priority]) {
            aging.pinnedSeen[priority] = worker->pinnedTaken[priority];
            aging.pinnedSince[priority] = now;
        } else if (now - aging.pinnedSince[priority] >= worker->scheduler->tuning.aging) {
            Offer(worker, worker->index, kQueues + priority, next);
        }
    }
}

// Reads the clock, updates the credit, and inspects the queues if that is due.
void InspectIfDue(Worker *worker, WorkerMode mode) noexcept {
    Aging &aging = worker->aging;
    const Tuning &tuning = worker->scheduler->tuning;
    // Without workers the order must be the same in each run, so each look counts as the same time.
    const uint64_t now =
        worker->scheduler->workerCount != 0 ? env::Ticks() : ++aging.looks * tuning.longPiece;
    const uint64_t passed = now - aging.lookedAt;
    aging.lookedAt = now;
    if (aging.charging) {
        aging.charging = false;
        aging.credit -= static_cast<int64_t>(passed);
    }
    if (aging.late) {
        const int64_t earned =
            static_cast<int64_t>(passed) * std::min(aging.lateQueues, kMaxShares) / kShare;
        aging.credit = std::min(aging.credit + earned, static_cast<int64_t>(tuning.aging));
    } else {
        aging.credit = std::min<int64_t>(aging.credit, 0);  // a debt stays
    }
    // If pieces are long, the worker looks at each. If they are short, it looks half as often as
    // before, and at least once in kMaxPeriod picks.
    aging.period = passed * kMaxPeriod > tuning.longPiece * aging.period
                       ? 1
                       : std::min(aging.period * 2, kMaxPeriod);
    if (now - aging.inspectedAt < tuning.aging / 32) return;
    aging.inspectedAt = now;
    const bool chooses = !aging.late || aging.wasServed;
    LateQueue next;
    aging.lateQueues = 0;
    InspectPinned(worker, now, next);
    if (mode != WorkerMode::PinnedOnly) InspectAll(worker, now, chooses, next);
    if (!next || !chooses) return;
    // serve it at once, unless there is a debt
    if (!aging.late && aging.credit == 0) aging.credit = 1;
    aging.late = aging.last = next;
    aging.wasServed = false;
}

// Takes the oldest item of the late queue that was chosen.
Found OldestOf(Worker *worker, WorkerMode mode) noexcept {
    const uint32_t queue = worker->aging.late.queue;
    const Level level = LevelOfQueue(queue);
    if (queue >= kQueues) {
        const Found found = PinnedFiber(worker, level.ThePriority());
        const bool runsTasks = worker->current != &worker->threadFiber;
        return found || !runsTasks ? found
                                   : PinnedTask(worker, level.ThePriority(), RunsOnLarge(worker));
    }
    if (mode == WorkerMode::PinnedOnly) return {};
    Worker *owner = &worker->scheduler->workers[worker->aging.late.worker];
    const uint64_t lateTo = owner->ages[queue].lateTo.load(kRelaxed);  // a hint, see QueueAge
    const uint64_t oldest =
        WithQueue(*owner, queue, [](auto &items) { return items.Oldest() + 1; });
    if (lateTo == 0 || static_cast<int64_t>(oldest - lateTo) >= 0) return {};
    if (queue >= kLanes) return ReadyFiberOf(worker, owner, level);
    const FiberPool &pool = worker->scheduler->pool;
    const Found found = mode == WorkerMode::Tasks ? LateTask(worker, owner, queue) : Found{};
    if (found || pool.AnyFree(ClassOf(queue)) || !MayRun(*worker, level)) return found;
    return {HandLate(worker, *owner, queue), false};
}

}  // namespace

Found Late(Worker *worker, WorkerMode mode) noexcept {
    Aging &aging = worker->aging;
    if (--aging.picksToLook != 0) return {};
    InspectIfDue(worker, mode);
    aging.picksToLook = aging.late ? 1 : aging.period;
    if (!aging.late || aging.credit <= 0) return {};
    const Found found = OldestOf(worker, mode);
    if (found) {
        aging.charging = aging.wasServed = true;
        // A rest that went to this worker's own lane is as late as the task that was taken.
        if (!found.fiber && worker->claim.hasRest) {
            const uint32_t lane = LaneOf(worker->claim.level, worker->claim.stack);
            worker->ages[lane].lateTo.store(worker->lanes[lane].End() + 1, kRelaxed);
            aging.late = {worker->index, lane};
        }
    } else {
        aging.late = {};  // the next inspection finds another one
    }
    return found;
}

}  // namespace weft::internal
