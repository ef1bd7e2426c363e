// Implements pinned.h.
#include "scheduler/find/pinned.h"

#include "scheduler/find/claim.h"
#include "scheduler/find/serving.h"
#include "scheduler/submit/post.h"

namespace weft::internal {

void SortInbox(Worker *worker) noexcept {
    for (InboxItem *item = worker->inbox.TakeAll(); item != nullptr;) {
        InboxItem *next = item->next;
        if (item->kind == InboxItem::Kind::Fiber) {
            const Priority priority = static_cast<Fiber *>(item)->level.ThePriority();
            worker->pinnedFibers[static_cast<uint32_t>(priority)].Append(item);
        } else {
            const Priority priority =
                static_cast<TaskBlock *>(item)->label.TheLevel().ThePriority();
            worker->pinnedTasks[static_cast<uint32_t>(priority)].Append(item);
        }
        ++worker->pinnedCount;
        item = next;
    }
}

Found PinnedFiber(Worker *worker, Priority priority, Serving *only) noexcept {
    InboxQueue &fibers = worker->pinnedFibers[static_cast<uint32_t>(priority)];
    InboxItem **link = &fibers.first;
    while (only != nullptr && *link != nullptr && !only->Needs(*static_cast<Fiber *>(*link)))
        link = &(*link)->next;
    if (*link == nullptr) return {};
    --worker->pinnedCount;
    ++worker->pinnedTaken[static_cast<uint32_t>(priority)];
    return {static_cast<Fiber *>(fibers.Remove(link)), false};
}

bool TakePinnedFiber(Worker *worker, const Fiber *fiber) noexcept {
    SortInbox(worker);
    InboxQueue &fibers = worker->pinnedFibers[static_cast<uint32_t>(fiber->level.ThePriority())];
    for (InboxItem **link = &fibers.first; *link != nullptr; link = &(*link)->next) {
        if (*link != fiber) continue;
        fibers.Remove(link);
        --worker->pinnedCount;
        return true;
    }
    return false;
}

namespace {

// Records whether this worker has a pinned Large task without a fiber. No other worker can run that
// task, so it stays in the queue. The worker counts itself in pinnedLarge, then checks for a free
// Large fiber. A worker that frees a Large fiber reads pinnedLarge after that (FreeFiber). All four
// operations are seq_cst, so at least one of the two sees the other.
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

Found PinnedTask(Worker *worker, Priority priority, bool anyStack, Serving *only) noexcept {
    Scheduler &scheduler = *worker->scheduler;
    if (only == nullptr && static_cast<uint32_t>(priority) >= worker->mayBegin) return {};
    InboxQueue &tasks = worker->pinnedTasks[static_cast<uint32_t>(priority)];
    for (InboxItem **link = &tasks.first; *link != nullptr; link = &(*link)->next) {
        TaskBlock *block = static_cast<TaskBlock *>(*link);
        if (only != nullptr && !only->Needs(block->counter.Get())) continue;
        const bool large = block->label.Stack() == StackClass::Large;
        if (large && !anyStack) {
            SetWantsLarge(worker, true);
            if (!scheduler.pool.AnyFree(StackClass::Large)) continue;
        }
        if (large) SetWantsLarge(worker, false);
        ++worker->pinnedTaken[static_cast<uint32_t>(priority)];
        Label label = block->label;
        if (label.taskId != 0) label.taskId += block->taken;
        ClaimPinned(worker, block->Tasks()[block->taken++], block->counter, label);
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
        for (const InboxItem *item = worker->pinnedTasks[priority].first; item != nullptr;
             item = item->next) {
            // A Large task counts, too, if no search has reached it yet (wantsLarge is false). A
            // worker without a fiber also sorts its inbox.
            if (static_cast<const TaskBlock *>(item)->label.Stack() == StackClass::Small ||
                !worker->wantsLarge)
                return true;
        }
    }
    return worker->wantsLarge && worker->scheduler->pool.AnyFree(StackClass::Large);
}

}  // namespace weft::internal
