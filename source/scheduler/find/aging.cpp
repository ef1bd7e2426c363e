#include "scheduler/find/aging.h"

#include "scheduler/find/pinned.h"
#include "scheduler/find/rescue.h"
#include "scheduler/find/stall.h"
#include "scheduler/find/take.h"

#include <algorithm>

namespace weft::internal {

namespace {

constexpr uint32_t kMaxPeriod = 32;
constexpr int64_t kShare = 6;       // one part in so many is for each late queue
constexpr uint32_t kMaxShares = 3;  // at most, of all late queues

// Calls look(queue) with the deque that has this number.
template <class Act>
auto WithQueue(Worker &worker, uint32_t queue, Act act) noexcept {
    return queue < kLanes ? act(worker.lanes[queue]) : act(worker.ready[queue - kLanes]);
}

// Whether the queue is late. relaxed, all: hints, see QueueAge. Only what changes is written.
bool InspectQueue(const Worker *worker, Worker &owner, uint32_t queue, uint64_t now) noexcept {
    const Tuning &tuning = owner.scheduler->tuning;
    QueueAge &age = owner.ages[queue];
    const auto store = [](env::Atomic<uint64_t> &word, uint64_t value) {
        if (word.load(kRelaxed) != value) word.store(value, kRelaxed);
    };
    uint64_t oldest = 0, end = 0;  // 0: it is empty
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

Level LevelOfQueue(uint32_t queue) noexcept {
    return queue < kLanes ? LevelOf(queue)
                          : LevelAt(queue < kQueues ? queue - kLanes : queue - kQueues);
}

// Late queues take turns: the next one is that which comes first behind the one that was chosen
// last.
bool IsBefore(const Worker &worker, const LateQueue &one, const LateQueue &other) noexcept {
    const uint32_t all = worker.scheduler->Slots() * kAgedQueues;
    const LateQueue &last = worker.aging.last;
    const auto distance = [=](const LateQueue &to) {
        const uint32_t from = last.worker * kAgedQueues + last.queue;
        return (to.worker * kAgedQueues + to.queue + 2 * all - from - 1) % all;
    };
    return distance(one) < distance(other);
}

void Offer(Worker *worker, uint32_t index, uint32_t queue, LateQueue &next) noexcept {
    if (queue < kQueues && !MayRun(*worker, LevelOfQueue(queue))) return;
    ++worker->aging.lateQueues;
    const LateQueue offered{index, queue};
    if (!next || IsBefore(*worker, offered, next)) next = offered;
}

void Inspect(Worker *worker, uint32_t index, uint64_t now, LateQueue &next) noexcept {
    Worker &owner = worker->scheduler->workers[index];
    const auto inspect = [&](uint32_t queue) {
        if (InspectQueue(worker, owner, queue, now)) Offer(worker, index, queue, next);
    };
    for (uint32_t lane = 0; lane < worker->scheduler->Lanes(); ++lane) inspect(lane);
    for (uint32_t level = 0; level < worker->scheduler->Levels(); ++level) inspect(kLanes + level);
}

// Inspects this worker's own queues and those of one other worker. The other worker stays the same
// until each of its late queues was chosen. If it changed each time, a late queue behind another
// one of the same worker might never be chosen.
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

// The same for what is pinned here; only its worker knows it.
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

void Look(Worker *worker, WorkerMode mode) noexcept {
    Aging &aging = worker->aging;
    const Tuning &tuning = worker->scheduler->tuning;
    // Without workers the order is always the same: a look counts as a time of its own.
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
        aging.credit = std::min<int64_t>(aging.credit, 0);  // what is owed is not forgotten
    }
    // Long pieces: a look at each. Short ones: twice as many as before, up to the most.
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
    if (!aging.late && aging.credit == 0) aging.credit = 1;  // at once, if nothing is owed
    aging.late = aging.last = next;
    aging.wasServed = false;
}

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
    Look(worker, mode);
    aging.picksToLook = aging.late ? 1 : aging.period;
    if (!aging.late || aging.credit <= 0) return {};
    const Found found = OldestOf(worker, mode);
    if (found) {
        aging.charging = aging.wasServed = true;
        // A rest that went to this worker's own lane is as late as what was taken.
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
