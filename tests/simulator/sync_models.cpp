// Models of events, condition variables, tickets, latches and wait groups of weft/sync/, which
// tasks and a thread of the host use together. The data has relaxed order, so that --weak shows
// values that are too old.
#include "simulator/sync_support.h"
#include "weft/sync/condition_variable.h"
#include "weft/sync/event.h"
#include "weft/sync/latch.h"
#include "weft/sync/mutex.h"
#include "weft/sync/ticket_queue.h"
#include "weft/sync/wait_group.h"

#include <mutex>

namespace simulator {

namespace {

// One caller waits for an event and destroys it, another one sets it. Set must not access the event
// after that, and the waiter must see what was written before Set.
void SyncEventLifetime() {
    WithScheduler([](TaskScheduler &scheduler) {
        Mortal<Event> event(scheduler, Random(2) != 0 ? EventReset::Manual : EventReset::Auto);
        Cell data;
        const uint32_t waiter = Random(2);
        AllAtOnce(scheduler, 1, [&](TaskScheduler &, uint32_t index) {
            if (index == waiter) {
                if (Random(2) == 0) {
                    event->Wait();
                } else {
                    while (!event->WaitFor(Soon())) {
                    }
                }
                Check(data.Get() == 1, "an earlier write is not visible after Wait");
                event.Die();
            } else {
                data.Set(1);
                event->Set();
            }
        });
    });
}

// Two callers post work and set an event. A third one resets the event, looks for work, and waits
// if there is too little. It must not miss work.
void SyncEventReset() {
    WithScheduler([](TaskScheduler &scheduler) {
        Event event(scheduler);
        Cell posted[2];
        AllAtOnce(scheduler, 2, [&](TaskScheduler &, uint32_t index) {
            if (index < 2) {
                posted[index].Set(1);
                event.Set();
                return;
            }
            for (;;) {
                event.Reset();
                if (posted[0].Get() + posted[1].Get() == 2) break;
                event.Wait();
            }
        });
    });
}

// An event with EventReset::Auto is set once. One wait must end at a time. A waiter that does not
// need it sets the event again.
void SyncEventAuto() {
    WithScheduler([](TaskScheduler &scheduler) {
        Event event(scheduler, EventReset::Auto);
        Cell data;
        const uint32_t setter = Random(3), waiter = (setter + 1) % 3;
        AllAtOnce(scheduler, 2, [&](TaskScheduler &, uint32_t index) {
            if (index == setter) {
                data.Set(1);
                event.Set();
            } else if (index == waiter) {
                event.Wait();
                Check(data.Get() == 1, "an earlier write is not visible after Wait");
            } else if (event.WaitFor(Soon())) {
                Check(data.Get() == 1, "an earlier write is not visible after WaitFor");
                event.Set();
            }
        });
        Check(!event.IsSet(), "one Set released two waiters");
    });
}

// Two Auto events are set once each. One task waits for the first of both until a deadline, another
// one without a deadline. Each Set must end exactly one wait. Otherwise the model ends in a
// deadlock.
void SyncEventAny() {
    WithScheduler([](TaskScheduler &scheduler) {
        Event a(scheduler, EventReset::Auto), b(scheduler, EventReset::Auto);
        Event *const both[] = {&a, &b};
        Cell data[2];
        uint32_t taken = 0;
        const auto take = [&](uint32_t index) {
            Check(data[index].Get() == 1, "an earlier write is not visible after the wait");
            ++taken;
        };
        const uint32_t setter = Random(3), timed = (setter + 1) % 3;
        AllAtOnce(scheduler, 2, [&](TaskScheduler &, uint32_t index) {
            if (index == setter) {
                for (const uint32_t i : {0u, 1u}) {
                    data[i].Set(1);
                    both[i]->Set();
                }
            } else if (index == timed) {
                const uint32_t got = WaitForAnyFor(scheduler, both, Soon());
                if (got != 2) take(got);
            } else {
                take(WaitForAny(scheduler, both));
            }
        });
        if (taken == 1) take(WaitForAny(scheduler, both));
        Check(!a.IsSet() && !b.IsSet(), "one Set released two waiters, or none");
    });
}

// A Manual event is set while a wait for the first of two events begins. It must stay set.
void SyncEventAnyManual() {
    WithScheduler([](TaskScheduler &scheduler) {
        Event never(scheduler, EventReset::Auto), event(scheduler);
        Event *const both[] = {&never, &event};
        const uint32_t setter = Random(2);
        AllAtOnce(scheduler, 1, [&](TaskScheduler &, uint32_t index) {
            if (index == setter) return event.Set();
            Check(WaitForAny(scheduler, both) == 1, "a wait ended for the wrong event");
        });
        Check(event.IsSet(), "a wait for several events has reset a Manual one");
    });
}

// Producers and consumers use items under a condition variable, with and without timeouts. Each
// notify_one must reach a waiter that needs an item. Otherwise the model ends in a deadlock.
void SyncCondition() {
    WithScheduler([](TaskScheduler &scheduler) {
        Mutex mutex(scheduler);
        const auto changed = std::make_unique<ConditionVariable>(scheduler);
        Cell items;
        uint32_t taken = 0, put = 0;
        const bool timed = Random(2) != 0;
        AllAtOnce(scheduler, 3, [&](TaskScheduler &, uint32_t index) {
            std::unique_lock<Mutex> lock(mutex);
            if (index % 2 == 0) {
                items.Add(1);
                ++put;
                if (Random(2) != 0) lock.unlock();
                changed->notify_one();
                return;
            }
            if (timed && index == 1 &&
                !changed->wait_for(lock, Soon(), [&] { return items.Get() != 0; }))
                return;
            changed->wait(lock, [&] { return items.Get() != 0; });
            items.Set(items.Get() - 1);
            ++taken;
        });
        Check(items.Get() == put - taken && (timed || taken == 2), "an item was lost");
    });
}

// A caller notifies all waiters and destroys the condition variable at once. Shows an access of a
// waiter to a condition variable that is gone.
void SyncConditionLifetime() {
    WithScheduler([](TaskScheduler &scheduler) {
        Mutex mutex(scheduler);
        Mortal<ConditionVariable> changed(scheduler);
        uint32_t waiting = 0;
        AllAtOnce(scheduler, 3, [&](TaskScheduler &self, uint32_t index) {
            std::unique_lock<Mutex> lock(mutex);
            if (index < 2) {
                ++waiting;
                changed->wait(lock);
                return;
            }
            if (self.CurrentWorker() != kAnyWorker) return;
            while (waiting < 2) {
                lock.unlock();
                weft::env::Pause();
                lock.lock();
            }
            lock.unlock();
            changed->notify_all();
            changed.Die();
        });
    });
}

// Tasks and a thread take their turns in the order of their tickets: by a wait, by polling, or by a
// task that the queue submits. The last one destroys the queue. Turns must come in order, each
// exactly once.
void SyncTickets() {
    WithScheduler([](TaskScheduler &scheduler) {
        Mortal<TicketQueue> queue(scheduler);
        constexpr uint32_t kAll = 4;
        Ticket tickets[kAll];
        QueuedTask turns[kAll];
        for (Ticket &ticket : tickets) ticket = queue->Take();
        Cell turn;
        Counter written;
        const auto end = [&](uint32_t mine) {
            tickets[mine].Done();
            if (mine + 1 == kAll) queue.Die();
        };
        const auto takeTurn = [&](uint32_t mine) {
            Check(turn.Get() == mine,
                  "a turn came out of order, or an earlier write is not visible");
            turn.Set(mine + 1);
            end(mine);
        };
        std::function<void(TaskScheduler *)> writes[kAll];
        const uint32_t shift = Random(kAll);
        AllAtOnce(scheduler, kAll - 1, [&](TaskScheduler &self, uint32_t index) {
            const uint32_t mine = (index + shift) % kAll;
            switch (Random(3)) {
                case 0:
                    writes[mine] = [&takeTurn, mine](TaskScheduler *) { takeTurn(mine); };
                    Check(queue->AddTask(tickets[mine], turns[mine], MakeTask(writes[mine]),
                                         &written),
                          "AddTask refused a task");
                    break;
                case 1:
                    tickets[mine].Wait();
                    takeTurn(mine);
                    break;
                default:
                    while (!tickets[mine].IsTurn()) {
                        self.CurrentWorker() != kAnyWorker ? self.Yield() : weft::env::Pause();
                    }
                    turn.Set(mine + 1);
                    end(mine);
            }
        });
        scheduler.WaitForCounter(&written);
        Check(turn.Get() == kAll, "a task was lost");
    });
}

// The waiter for a latch destroys it, and the waiter for a WaitGroup destroys its own handle. Shows
// accesses to a latch that is gone. The waiters must see what was written before the count down.
void SyncLatch() {
    WithScheduler([](TaskScheduler &scheduler) {
        Mortal<Latch> latch(scheduler, 2);
        auto group = std::make_unique<WaitGroup>(scheduler, 2);
        Cell written[2];
        const WaitGroup handles[2] = {*group, *group};
        AllAtOnce(scheduler, 2, [&](TaskScheduler &, uint32_t index) {
            if (index < 2) {
                const WaitGroup own = handles[index];
                written[index].Set(1);
                latch->count_down();
                own.Done();
                return;
            }
            latch->wait();
            Check(written[0].Get() + written[1].Get() == 2,
                  "an earlier write is not visible after wait");
            latch.Die();
            group->Wait();
            group.reset();
        });
    });
}

}  // namespace

std::vector<Model> SyncModels() {
    return {
        {"sync_event_dies", "a waiter destroys an event", SyncEventLifetime},
        {"sync_event_reset", "an event that is reset before its data is read", SyncEventReset},
        {"sync_event_auto", "an event that releases one waiter", SyncEventAuto},
        {"sync_event_any", "waits for the first of two events", SyncEventAny},
        {"sync_event_any_manual", "a Manual event is set while a wait for several begins",
         SyncEventAnyManual},
        {"sync_condition", "items in a queue with a condition variable", SyncCondition},
        {"sync_condition_dies", "a task destroys a condition variable after notify_all",
         SyncConditionLifetime},
        {"sync_tickets", "turns come in the order of tickets", SyncTickets},
        {"sync_latch", "a latch and a group that are destroyed right after their waits", SyncLatch},
    };
}

}  // namespace simulator
