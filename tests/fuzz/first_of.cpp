// Waits for the first of several events or semaphores.
#include "fuzz/script.h"
#include "weft/sync/event.h"
#include "weft/sync/semaphore.h"

#include <optional>

namespace fuzz {

using namespace weft;

namespace {

constexpr uint32_t kObjects = 3;

struct Setter {
    Event *event;

    static void Set(TaskScheduler *scheduler, void *cell) {
        const Setter self = *static_cast<Setter *>(static_cast<Cell *>(cell)->target);
        Leaf(scheduler, cell);
        self.event->Set();
    }
};

// Semaphores with as many permits in all as there will be waits.
struct Stock {
    std::optional<Semaphore> semaphores[kObjects];
    Semaphore *all[kObjects];
    std::atomic<uint32_t> taken[kObjects]{};

    void Take(TaskScheduler &scheduler) {
        const uint32_t first = WaitForAny(scheduler, all);
        Require(first < kObjects, "a wait for several semaphores has no result");
        taken[first].fetch_add(1);
    }
    static void Taking(TaskScheduler *scheduler, void *cell) {
        Leaf(scheduler, cell);
        static_cast<Stock *>(static_cast<Cell *>(cell)->target)->Take(*scheduler);
    }
};

}  // namespace

void Script::WaitForFirst() {
    const uint32_t kind = m_bytes.Below(4), which = m_bytes.Below(kObjects), how = m_bytes.Next();
    if (!m_mayWait) return;
    if (kind == 3) return WaitForFirstPermit(how);
    const auto resetOf = [how](uint32_t i) {
        return (how >> i & 1) != 0 ? EventReset::Auto : EventReset::Manual;
    };
    Event events[kObjects] = {Event(m_scheduler, resetOf(0)), Event(m_scheduler, resetOf(1)),
                              Event(m_scheduler, resetOf(2))};
    Event *const all[kObjects] = {&events[0], &events[1], &events[2]};
    Setter setters[kObjects] = {{all[0]}, {all[1]}, {all[2]}};
    Counter setting;
    uint32_t set = 0;  // a bit for each event that is set, or will be
    for (uint32_t i = 0; i < kObjects; ++i) {
        // kind 0: the script sets these. 1: one helper sets one. 2: helpers set some.
        if (kind == 1 ? i != which : i != which && (how >> (4 + i) & 1) == 0) continue;
        if (kind == 0) events[i].Set();
        if (kind != 0 && AddHelpers(1, Setter::Set, &setters[i], &setting) == nullptr) continue;
        set |= 1u << i;
    }
    if (set == 0) return;
    uint32_t first = kObjects;
    if ((how & 128) == 0) {
        first = WaitForAny(m_scheduler, all);
    } else {
        while (first == kObjects) {
            first = (how & 8) == 0
                        ? WaitForAnyFor(m_scheduler, all, std::chrono::microseconds(20))
                        : WaitForAnyUntil(m_scheduler, all, Now() + std::chrono::microseconds(9));
        }
    }
    Require(first < kObjects && (set >> first & 1) != 0, "a wait names an event that was not set");
    uint32_t lowest = 0;
    while ((set >> lowest & 1) == 0) ++lowest;
    Require(kind != 0 || first == lowest, "a wait does not name the lowest event");
    m_scheduler.WaitForCounter(&setting);
    for (uint32_t i = 0; i < kObjects; ++i) {
        const bool stays = (set >> i & 1) != 0 && (i != first || resetOf(i) == EventReset::Manual);
        Require(events[i].IsSet() == stays, "a wait for several has changed another event");
    }
}

// Helpers and the script wait for the same semaphores.
void Script::WaitForFirstPermit(uint32_t how) {
    const Spares spares(m_world, 3);
    const uint32_t waits = spares.Count() + 1;
    const TaskOptions options = Options();
    Cell *cells = m_world.NewCells(spares.Count());
    if (cells == nullptr) return;
    Stock stock;
    uint32_t released[kObjects]{};
    for (uint32_t i = 0; i < waits; ++i) ++released[(how >> 2 * i & 3) % kObjects];
    for (uint32_t i = 0; i < kObjects; ++i) {
        stock.semaphores[i].emplace(m_scheduler, how < 128 ? 0 : released[i]);
        stock.all[i] = &*stock.semaphores[i];
    }
    Counter taking;
    for (uint32_t i = 0; i < spares.Count(); ++i) {
        Accept(cells[i], options);
        cells[i].target = &stock;
        m_scheduler.AddTask({Stock::Taking, &cells[i]}, &taking, options);
    }
    for (uint32_t i = 0; i < kObjects && how < 128; ++i) {
        if (how % 2 == 0) Inside();
        if (released[i] != 0) stock.all[i]->release(released[i]);
    }
    stock.Take(m_scheduler);
    m_scheduler.WaitForCounter(&taking);
    for (uint32_t i = 0; i < kObjects; ++i)
        Require(stock.taken[i].load() == released[i] && !stock.all[i]->try_acquire(),
                "a wait for several semaphores has taken another permit");
}

void Script::MistakeInFirst() {
    const uint32_t kind = m_bytes.Below(4), which = m_bytes.Below(kObjects);
    Event set(m_scheduler, EventReset::Auto, true), foreign(*m_world.idle);
    Semaphore free(m_scheduler, 1), foreignPermits(*m_world.idle, 1);
    Event *events[kObjects] = {&set, &set, &set};
    Semaphore *semaphores[kObjects] = {&free, &free, &free};
    const bool isNull = kind % 2 == 0;
    events[which] = isNull ? nullptr : &foreign;
    semaphores[which] = isNull ? nullptr : &foreignPermits;
    m_world.oracle.Expect(isNull ? ReportCode::BadOption : ReportCode::WrongScheduler, [&] {
        const uint32_t first = kind < 2
                                   ? WaitForAny(m_scheduler, events)
                                   : WaitForAnyFor(m_scheduler, semaphores, std::chrono::hours(10));
        Require(first == kObjects, "a refused wait for several names one");
    });
    Require(set.IsSet() && !foreign.IsSet() && free.try_acquire() && foreignPermits.try_acquire(),
            "a refused wait for several has an effect");
}

}  // namespace fuzz
