// Implements claim.h.
#include "scheduler/find/claim.h"

#include "platform/race_finder.h"
#include "scheduler/submit/post.h"
#include "scheduler/submit/submit.h"
#include "scheduler/submit/wake.h"

#include <algorithm>

namespace weft::internal {

namespace {

// Returns how many of `count` tasks of the batch the worker may claim at once.
uint32_t Allowed(const Worker &worker, uint64_t batch, uint32_t count) noexcept {
    if (race::kFinder) return 1;
    const TaskTime &time = worker.taskTime;
    if (time.batch != batch || worker.scheduler->workerCount == 0) return 1;
    const uint64_t fit =
        worker.scheduler->tuning.claimBudget * time.tasks / std::max<uint64_t>(time.ticks, 1);
    return static_cast<uint32_t>(std::clamp<uint64_t>(fit, 1, count));
}

// Gives the slab places of the slice's started tasks back. Each task was copied to the stack when
// it started.
void GiveBackStarted(Worker *worker) noexcept {
    Claim &claim = worker->claim;
    if (claim.batch != 0 && claim.next != claim.first) {
        worker->slab.GiveBack(claim.first, static_cast<uint32_t>(claim.next - claim.first));
    }
    claim.first = claim.next;
}

// Clears the claim and returns its unstarted tasks as an entry.
TaskEntry TakeRest(Worker *worker) noexcept {
    Claim &claim = worker->claim;
    const TaskCounter counter(claim.counter, claim.ofGroup);
    const TaskEntry rest = claim.batch != 0
                               ? TaskEntry::Slice(claim.next, claim.Left(), claim.batch, counter,
                                                  claim.name, claim.stack)
                               : TaskEntry::Single(claim.single, counter, claim.name, claim.stack);
    claim.Clear();
    return rest.WithId(claim.taskId);
}

}  // namespace

void ClaimEntry(Worker *worker, const TaskEntry &entry, Level level, uint32_t owner) noexcept {
    const bool stolen = owner != worker->index;
    Claim &claim = worker->claim;
    claim.counter = entry.TheCounter();
    claim.name = entry.Name();
    claim.taskId = entry.TaskId();
    claim.ofGroup = entry.IsOfGroup();
    claim.stack = entry.Stack();
    claim.level = level;
    claim.stolen = stolen;
    claim.owner = owner;
    claim.pinned = claim.hasRest = false;
    if (!entry.IsSlice()) {
        claim.single = entry.TheTask();
        claim.first = claim.next = claim.noted = &claim.single;
        claim.end = claim.next + 1;
        claim.batch = 0;
        return;
    }
    claim.first = claim.next = claim.noted = entry.First();
    claim.batch = entry.Batch();
    claim.end = claim.next + Allowed(*worker, claim.batch, entry.Count());
    const uint32_t rest = entry.Count() - claim.Left();
    if (rest != 0) {
        claim.hasRest = true;
        // The rest of a stolen slice is pushed as two entries, so that the next thief takes only
        // half of it.
        const uint32_t upper = stolen && rest >= 4 ? rest / 2 : 0;
        const auto push = [&](uint32_t begin, uint32_t count) {
            PushEntry(worker, LaneOf(level, claim.stack), entry.Part(begin, count));
        };
        if (upper != 0) push(entry.Count() - upper, upper);
        push(claim.Left(), rest - upper);
        // While the entry was in no queue, another worker may have searched, found nothing and gone
        // to sleep.
        WakeForLevel(*worker->scheduler, worker, 1, level);  // [re-check]
    }
}

void ClaimPinned(Worker *worker, const Task &task, TaskCounter counter, Label label) noexcept {
    ClaimEntry(worker,
               TaskEntry::Single(task, counter, label.name, label.Stack()).WithId(label.taskId),
               label.TheLevel(), worker->index);
    worker->claim.pinned = true;
}

void UnclaimNow(Worker *worker) noexcept {
    GiveBackStarted(worker);
    worker->hides.store(false, kRelaxed);
    if (!worker->claim.HasMore()) return worker->claim.Clear();
    const uint32_t lane = LaneOf(worker->claim.level, worker->claim.stack);
    PushEntry(worker, lane, TakeRest(worker));                         // [order]
    WakeForLevel(*worker->scheduler, worker, 1, worker->claim.level);  // [re-check]
}

void PutClaimBack(Worker *worker) noexcept {
    if (worker->claim.pinned) return PostClaimAgain(worker);
    // A fiber of the class may have been freed after this worker found none. UnclaimNow wakes a
    // worker after the push, so the task is not missed.
    UnclaimNow(worker);
    if (worker->claim.stack == StackClass::Large) CountLarge(*worker->scheduler);
}

}  // namespace weft::internal
