#include "scheduler/pinned.h"

#include "scheduler/aging.h"
#include "scheduler/claim.h"
#include "scheduler/fiber_switch.h"
#include "scheduler/foreign.h"
#include "scheduler/own_tasks.h"
#include "scheduler/post.h"
#include "scheduler/ready.h"
#include "scheduler/submit.h"

#include <utility>

namespace weft::internal {

void SortMail(Worker *worker) noexcept {
    for (Letter *letter = worker->mailbox.TakeAll(); letter != nullptr;) {
        Letter *next = letter->next;
        if (letter->kind == Letter::Kind::Fiber) {
            const Priority priority = static_cast<Fiber *>(letter)->level.ThePriority();
            worker->pinnedFibers[static_cast<uint32_t>(priority)].Append(letter);
        } else {
            const Priority priority =
                static_cast<TaskBlock *>(letter)->label.TheLevel().ThePriority();
            worker->pinnedTasks[static_cast<uint32_t>(priority)].Append(letter);
        }
        ++worker->pinnedCount;
        letter = next;
    }
}

Found PinnedFiber(Worker *worker, Priority priority, Serving *only) noexcept {
    LetterQueue &fibers = worker->pinnedFibers[static_cast<uint32_t>(priority)];
    Letter **link = &fibers.first;
    while (only != nullptr && *link != nullptr && !only->Needs(*static_cast<Fiber *>(*link)))
        link = &(*link)->next;
    if (*link == nullptr) return {};
    --worker->pinnedCount;
    ++worker->pinnedTaken[static_cast<uint32_t>(priority)];
    return {static_cast<Fiber *>(fibers.Remove(link)), false};
}

bool TakePinnedFiber(Worker *worker, const Fiber *fiber) noexcept {
    SortMail(worker);
    LetterQueue &fibers = worker->pinnedFibers[static_cast<uint32_t>(fiber->level.ThePriority())];
    for (Letter **link = &fibers.first; *link != nullptr; link = &(*link)->next) {
        if (*link != fiber) continue;
        fibers.Remove(link);
        --worker->pinnedCount;
        return true;
    }
    return false;
}

namespace {

// Pinned tasks are nobody else's. Those that find no Large fiber stay where they are, and
// the worker says so before it looks for a free one (whoever frees one looks at this afterwards;
// seq_cst).
void SetWantsLarge(Worker *worker, bool wants) noexcept {
    if (worker->wantsLarge == wants) return;
    worker->wantsLarge = wants;
    if (wants) {
        worker->scheduler->pinnedLarge.fetch_add(1, kSeqCst);
    } else {
        worker->scheduler->pinnedLarge.fetch_sub(1, kSeqCst);
    }
}

}  // namespace

// The oldest pinned task that can run now. `anyStack`: the caller's stack takes Large tasks too.
Found PinnedTask(Worker *worker, Priority priority, bool anyStack, Serving *only) noexcept {
    Scheduler &scheduler = *worker->scheduler;
    if (only == nullptr && static_cast<uint32_t>(priority) >= worker->mayBegin) return {};
    LetterQueue &tasks = worker->pinnedTasks[static_cast<uint32_t>(priority)];
    for (Letter **link = &tasks.first; *link != nullptr; link = &(*link)->next) {
        TaskBlock *block = static_cast<TaskBlock *>(*link);
        if (only != nullptr && !only->Needs(block->counter)) continue;
        const bool large = block->label.Stack() == StackClass::Large;
        if (large && !anyStack) {
            SetWantsLarge(worker, true);
            if (!scheduler.pool.AnyFree(StackClass::Large)) continue;
        }
        if (large) SetWantsLarge(worker, false);
        ++worker->pinnedTaken[static_cast<uint32_t>(priority)];
        ClaimPinned(worker, block->Tasks()[block->taken++], block->counter, block->label);
        if (block->taken == block->count) {
            tasks.Remove(link);
            --worker->pinnedCount;
            ReadBlocks(worker).Add(block);
        }
        return {nullptr, true};
    }
    return {};
}

Found Pinned(Worker *worker, Priority priority) noexcept {
    const Found found = PinnedFiber(worker, priority);
    return found ? found : PinnedTask(worker, priority, RunsOnLarge(worker));
}

bool AnyPinnedTask(const Worker *worker) noexcept {
    for (uint32_t priority = 0; priority < worker->mayBegin; ++priority) {
        for (const Letter *letter = worker->pinnedTasks[priority].first; letter != nullptr;
             letter = letter->next) {
            // A Large one too that nobody has looked at yet: mail is also sorted by a worker that
            // lacks a fiber.
            if (static_cast<const TaskBlock *>(letter)->label.Stack() == StackClass::Small ||
                !worker->wantsLarge)
                return true;
        }
    }
    return worker->wantsLarge && worker->scheduler->pool.AnyFree(StackClass::Large);
}

namespace {

Found AnyTask(Worker *worker, bool anyStack) noexcept {
    Found found;
    for (uint32_t i = 0; i < kPriorities && !found; ++i)
        found = PinnedTask(worker, static_cast<Priority>(i), anyStack);
    return found;
}

// Somebody yielded: pinned fibers of a higher priority than that one's, and pinned tasks.
Found PinnedAfterYield(Worker *worker, bool runsTasks) noexcept {
    worker->taskBeforeReady = false;
    Found found;
    for (uint32_t i = 0; i < kPriorities && !found; ++i) {
        const Priority priority = static_cast<Priority>(i);
        if (runsTasks) found = PinnedTask(worker, priority, RunsOnLarge(worker));
        if (!found && priority < worker->yielded) found = PinnedFiber(worker, priority);
    }
    return found;
}

}  // namespace

Found FindPinned(Worker *worker) noexcept {
    const bool runsTasks = worker->current != &worker->threadFiber;
    Found found = Late(worker, Ability::PinnedOnly);
    if (!found && worker->taskBeforeReady) {
        found = PinnedAfterYield(worker, runsTasks);
        if (!found && worker->pump != nullptr) return found;  // it is the turn of the one who pumps
    }
    for (uint32_t i = 0; i < kPriorities && !found; ++i) {
        const Priority priority = static_cast<Priority>(i);
        found = PinnedFiber(worker, priority);
        if (!found && runsTasks) found = PinnedTask(worker, priority, RunsOnLarge(worker));
    }
    return found;
}

Found FindPumped(Worker *worker) noexcept {
    // What a pinned task made ready is not looked for here, nor perhaps for long after.
    if (std::exchange(worker->owesWake, false))
        WakeForAny(*worker->scheduler, worker);  // [re-check]
    SortMail(worker);
    Pump &pump = *worker->pump;
    if (pump.ran < pump.max) {
        const Found found = worker->own != nullptr ? FindPinnedServing(worker) : FindPinned(worker);
        if (found) {
            ++pump.ran;
            return found;
        }
    }
    worker->taskBeforeReady = false;
    worker->pump = pump.outer;
    return {pump.fiber, false};
}

namespace {

// On top of the caller's frames.
void RunHere(Fiber *self) noexcept {
    const bool outer = self->runsTask;
    const Awaits awaits(self, self->worker->claim.counter);
    self->runsTask = true;
    RunClaim(self);
    FlushPending(self->worker);
    self->runsTask = outer;
}

}  // namespace

// Not on the caller's own stack, unless there is no other: what waits there keeps the caller from
// going on.
uint32_t RunPinned(Worker *worker, uint32_t max) noexcept {
    Fiber *self = worker->current;
    FlushPending(worker);
    UnclaimRest(worker);
    SortMail(worker);
    if (!HasPinned(worker)) return 0;
    const uint32_t outerPin = self->pinnedTo;
    // Among what is pinned there may be the attached thread itself, which goes on then. It does not
    // detach before this is over. It has not detached yet, so there is nothing to refuse.
    const bool bind = outerPin == kAnyWorker && worker->scheduler->IsAttachedSlot(worker->index);
    if (bind) RaiseCounter(*worker->scheduler, worker->bound, 1);
    self->pinnedTo = worker->index;
    worker->taskBeforeReady = false;  // who yielded before has had its turn
    uint32_t ran = 0;
    for (bool again = true; again;) {
        Pump pump{self, max - ran, 0, worker->pump};
        worker->pump = &pump;
        SuspendTo(self, Destination::None);
        ran += pump.ran;
        again = false;
        if (ran == max || worker->scheduler->pool.AnyFree(StackClass::Small)) continue;
        SortMail(worker);
        again = static_cast<bool>(AnyTask(worker, self->IsThreadStack() || RunsOnLarge(worker)));
        if (!again) continue;
        RunHere(self);
        ++ran;
    }
    self->pinnedTo = outerPin;
    if (bind) Unbind(*worker->scheduler, worker, *worker);
    if (self->IsHost()) AnswerBeforeHost(worker);
    return ran;
}

}  // namespace weft::internal
