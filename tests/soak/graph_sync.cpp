// Nodes of a graph whose children use the same locks and signals.
#include "soak/graph.h"

#include "weft/sync/condition_variable.h"
#include "weft/sync/event.h"
#include "weft/sync/mutex.h"
#include "weft/sync/semaphore.h"
#include "weft/sync/shared_mutex.h"
#include "weft/sync/ticket_queue.h"
#include "weft/sync/wait_group.h"

#include <mutex>
#include <shared_mutex>

namespace soak {

using namespace weft;
using std::chrono::microseconds;

namespace {

// For a task without a permit: tries again and again. Meanwhile the fiber of the lock's holder
// continues.
template <class Try>
void Spin(TaskScheduler &scheduler, Try tryOnce) {
    while (!tryOnce()) scheduler.Yield();
}

// One child at a time has the turn, by one of four means.
struct Turns {
    explicit Turns(TaskScheduler &scheduler, uint32_t means)
        : sort(means),
          mutex(scheduler),
          semaphore(scheduler, 1),
          event(scheduler, EventReset::Auto, true),
          tickets(scheduler) {}

    const uint32_t sort;
    Mutex mutex;
    Semaphore semaphore;
    Event event;
    TicketQueue tickets;
    uint32_t had = 0;  // plain: only the task that has the turn uses it

    static void Act(Graph &graph, TaskScheduler &scheduler, Node &node) {
        Turns &turns = *static_cast<Turns *>(node.with);
        const Permit permit(graph, scheduler);
        Random random(node.seed);
        const microseconds soon(random.Below(100));
        if (permit) graph.CountWait();
        const auto get = [&](auto once, auto inPieces, auto whole) {
            if (!permit) return Spin(scheduler, once);
            random.OneIn(3) ? Spin(scheduler, inPieces) : whole();
        };
        Ticket ticket;
        switch (turns.sort) {
            case 0:
                get([&] { return turns.mutex.try_lock(); },
                    [&] { return turns.mutex.try_lock_for(soon); }, [&] { turns.mutex.lock(); });
                break;
            case 1:
                get([&] { return turns.semaphore.try_acquire(); },
                    [&] { return turns.semaphore.try_acquire_for(soon); },
                    [&] { turns.semaphore.acquire(); });
                break;
            case 2:
                get([&] { return turns.event.TryWait(); },
                    [&] { return turns.event.WaitFor(soon); }, [&] { turns.event.Wait(); });
                break;
            default:
                ticket = turns.tickets.Take();
                permit ? ticket.Wait() : Spin(scheduler, [&] { return ticket.IsTurn(); });
        }
        const uint32_t before = turns.had;
        if (random.OneIn(4)) scheduler.Yield();
        turns.had = before + 1;
        switch (turns.sort) {
            case 0:
                turns.mutex.unlock();
                break;
            case 1:
                turns.semaphore.release();
                break;
            case 2:
                turns.event.Set();
                break;
            default:
                ticket.Done();
        }
    }
};

// Two numbers that writers change together. A reader must see them equal.
struct Pair {
    explicit Pair(TaskScheduler &scheduler) : mutex(scheduler) {}
    SharedMutex mutex;
    uint32_t first = 0, second = 0;

    static void Act(Graph &graph, TaskScheduler &scheduler, Node &node) {
        Pair &pair = *static_cast<Pair *>(node.with);
        const Permit permit(graph, scheduler);
        Random random(node.seed);
        const bool yields = random.OneIn(4);
        if (permit) graph.CountWait();
        if (node.number % 4 == 0) {
            permit ? pair.mutex.lock() : Spin(scheduler, [&] { return pair.mutex.try_lock(); });
            ++pair.first;
            if (yields) scheduler.Yield();
            ++pair.second;
            pair.mutex.unlock();
        } else {
            permit ? pair.mutex.lock_shared()
                   : Spin(scheduler, [&] { return pair.mutex.try_lock_shared(); });
            const uint32_t first = pair.first;
            if (yields) scheduler.Yield();
            if (pair.second != first)
                graph.TheFigures().Fail("a reader saw %u and %u of a pair", first, pair.second);
            pair.mutex.unlock_shared();
        }
    }
};

struct Store {
    explicit Store(TaskScheduler &scheduler) : mutex(scheduler), filled(scheduler) {}
    Mutex mutex;
    ConditionVariable filled;
    uint32_t items = 0, taken = 0;

    // Children with even numbers add an item. Those with odd numbers take one. There are at most as
    // many takers as items.
    static void Act(Graph &graph, TaskScheduler &scheduler, Node &node) {
        Store &store = *static_cast<Store *>(node.with);
        const Permit permit(graph, scheduler);
        if (node.number % 2 == 0) {
            Spin(scheduler, [&] { return store.mutex.try_lock(); });
            ++store.items;
            store.mutex.unlock();
            store.filled.notify_one();
        } else if (permit) {
            graph.CountWait();
            std::unique_lock<Mutex> lock(store.mutex);
            store.filled.wait(lock, [&] { return store.items != 0; });
            --store.items;
            ++store.taken;
        }
    }
};

}  // namespace

// Each child must get its turn once (Turns).
void Graph::OneByOne(TaskScheduler &scheduler, Node &, Random &random) {
    Turns turns(scheduler, random.Below(4));
    const uint32_t count = 1 + random.Below(12);
    Meet(scheduler, random, count, Turns::Act, &turns);
    if (turns.had != count)
        m_figures.Fail("%u of %u had their turn, by %u", turns.had, count, turns.sort);
}

// Children read and write a pair of numbers under a SharedMutex (Pair).
void Graph::Readers(TaskScheduler &scheduler, Node &, Random &random) {
    Pair pair(scheduler);
    const uint32_t count = 1 + random.Below(16), writers = (count + 3) / 4;
    Meet(scheduler, random, count, Pair::Act, &pair);
    if (pair.first != writers || pair.second != writers)
        m_figures.Fail("%u writers have written %u and %u times", writers, pair.first, pair.second);
}

// Children add and take items with a ConditionVariable (Store).
void Graph::Consumers(TaskScheduler &scheduler, Node &, Random &random) {
    Store store(scheduler);
    const uint32_t count = 1 + random.Below(12), brought = (count + 1) / 2;
    Meet(scheduler, random, count, Store::Act, &store);
    if (store.items + store.taken != brought)
        m_figures.Fail("of %u items %u are there and %u taken", brought, store.items, store.taken);
}

// Each child has its own handle of a WaitGroup.
void Graph::Group(TaskScheduler &scheduler, Node &, Random &random) {
    const uint32_t count = 1 + random.Below(12);
    struct Members {
        WaitGroup group;
        std::atomic<uint32_t> done{0};
        static void Act(Graph &, TaskScheduler &, Node &node) {
            Members &members = *static_cast<Members *>(node.with);
            const WaitGroup own = members.group;
            members.done.fetch_add(1);
            own.Done();
        }
    };
    Members members{WaitGroup(scheduler, count)};
    Meet(scheduler, random, count, Members::Act, &members, [&] {
        CountWait();
        members.group.Wait();
        if (members.done.load() != count)
            m_figures.Fail("%u of %u of a group are done", members.done.load(), count);
    });
}

}  // namespace soak
