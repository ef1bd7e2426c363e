// Which parts of the scheduler share cache lines, and how its parts grow with the number of
// workers.
#include "scheduler/state/check_options.h"
#include "scheduler/state/scheduler.h"
#include "scheduler/state/worker.h"

#include <memory>
#include <set>

#include <catch2/catch.hpp>

using namespace weft;
using namespace weft::internal;

namespace {

// Returns the cache lines that hold `object`.
template <class Object>
std::set<uintptr_t> LinesOf(const Object &object) {
    std::set<uintptr_t> lines;
    const auto begin = reinterpret_cast<uintptr_t>(&object);
    for (uintptr_t byte = begin; byte < begin + sizeof object; ++byte)
        lines.insert(byte / kLineBytes);
    return lines;
}

template <class... Objects>
std::set<uintptr_t> LinesOfAll(const Objects &...objects) {
    std::set<uintptr_t> lines;
    (lines.merge(LinesOf(objects)), ...);
    return lines;
}

bool AnyShared(const std::set<uintptr_t> &some, const std::set<uintptr_t> &others) {
    for (const uintptr_t line : some) {
        if (others.count(line) != 0) return true;
    }
    return false;
}

}  // namespace

TEST_CASE("layout: no pick reads a cache line that others write for each task, wait or fiber",
          "[layout]") {
    const auto scheduler = std::make_unique<Scheduler>();
    const Scheduler &its = *scheduler;
    const auto read =
        LinesOfAll(its.notices, its.slotsInUse, its.activeWorkers, its.setsInUse, its.groupsOf,
                   its.groupCount, its.groupEnd, its.setOf, its.workers, its.fibers, its.tuning,
                   its.workerCount, its.endWanted, its.stopping);
    const auto written =
        LinesOfAll(its.injector, its.deferred, its.armedFor, its.rescues, its.pinnedLarge,
                   its.idleRequests, its.idleTasks, its.externalSubmitted, its.guests, its.timers,
                   its.singles, its.blocks, its.anyWaits, its.timedTasks, its.closures);
    CHECK(!AnyShared(read, written));
}

TEST_CASE("layout: a worker's own data shares no cache line with data that others write",
          "[layout]") {
    const auto worker = std::make_unique<Worker>();
    const Worker &its = *worker;
    const auto own = LinesOfAll(its.scheduler, its.claim, its.pending, its.mayHold, its.mayBegin,
                                its.pinnedTasks, its.exitCall, its.outerSlot);
    const auto written = LinesOfAll(its.inbox, its.asked, its.parker, its.lanes, its.ready);
    CHECK(!AnyShared(own, written));
    CHECK(!AnyShared(own, LinesOfAll(its.submitted, its.finished)));  // other workers read them
}

TEST_CASE("layout: each worker has a cache of free fibers, even with 200 workers", "[layout]") {
    constexpr uint32_t kWorkers = 200;
    SchedulerOptions options;
    options.workers = kWorkers;
    SetDefaults(options);
    const uint32_t fibers = options.smallFibers;
    REQUIRE(fibers >= kWorkers);
    FiberPool pool;
    REQUIRE(pool.Acquire(fibers, 1, kWorkers, kWorkers));
    for (uint32_t i = 0; i < fibers; ++i) pool.AcquireFiber(StackClass::Small, 0);
    for (uint32_t worker = 0; worker < kWorkers; ++worker)
        pool.ReleaseFiber(fibers - 1 - worker, worker);
    for (uint32_t worker = 0; worker < kWorkers; ++worker)
        CHECK(pool.AcquireFiber(StackClass::Small, worker) == fibers - 1 - worker);
}
