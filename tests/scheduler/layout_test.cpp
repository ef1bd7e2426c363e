// Which parts of the scheduler share cache lines.
#include "scheduler/state/scheduler.h"
#include "scheduler/state/worker.h"

#include "support/private_members.h"

#include <memory>
#include <set>

#include <catch2/catch.hpp>

using namespace weft;
using namespace weft::internal;

namespace test {

struct TimerLock {
    friend constexpr auto Member(TimerLock);
};
struct NextDeadline {
    friend constexpr auto Member(NextDeadline);
};
struct TicksLeft {
    friend constexpr auto Member(TicksLeft);
};
struct CounterTag {
    friend constexpr auto Member(CounterTag);
};
struct ForValues {
    friend constexpr auto Member(ForValues);
};
template struct Reveal<TimerLock, &Timers::m_lock>;
template struct Reveal<NextDeadline, &Timers::m_next>;
template struct Reveal<TicksLeft, &Timers::m_ticksLeft>;
template struct Reveal<CounterTag, &Counters::m_tag>;
template struct Reveal<ForValues, &Counters::m_forValues>;

}  // namespace test

namespace {

// Returns the cache lines that hold `objects`.
template <class... Objects>
std::set<uintptr_t> LinesOf(const Objects &...objects) {
    std::set<uintptr_t> lines;
    const auto add = [&](const auto &object) {
        const auto begin = reinterpret_cast<uintptr_t>(&object);
        for (uintptr_t byte = begin; byte < begin + sizeof object; ++byte)
            lines.insert(byte / kLineBytes);
    };
    (add(objects), ...);
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
    const auto read = LinesOf(
        its.notices, its.tracing, its.order, its.slotsInUse, its.lowGroups, its.activeWorkers,
        its.changes, its.stopping, its.endWanted, its.closesAt, its.options, its.tuning,
        its.workers, its.fibers, its.timers.*Member(test::NextDeadline()),
        its.timers.*Member(test::TicksLeft()), its.counters.*Member(test::CounterTag()));
    const auto written =
        LinesOf(its.keeperUntil, its.injector, its.behind, its.submittedOutside, its.guests.count,
                its.idle, its.idleRequests, its.answering, its.scopes, its.stall, its.pools.singles,
                its.pools.chunks, its.pools.largeChunks, its.pools.closures,
                its.pools.threadWaiters, its.pools.deferred, its.pools.anyRecords,
                its.timers.*Member(test::TimerLock()), its.counters.*Member(test::ForValues()));
    CHECK(!AnyShared(read, written));
    CHECK(!AnyShared(LinesOf(its.idle), LinesOf(its.injector)));
    CHECK(!AnyShared(LinesOf(its.behind), LinesOf(its.submittedOutside)));
}

TEST_CASE("layout: a worker's own data shares no cache line with data that others write",
          "[layout]") {
    const auto workers = std::make_unique<Worker[]>(2);
    const Worker &its = workers[0];
    const auto own = LinesOf(its.scheduler, its.current, its.left, its.claim, its.finished,
                             its.handOver, its.filter, its.fair, its.thief, its.ownWaits, its.holds,
                             its.pinned, its.submitBits, its.noSuspend, its.thread, its.exitCall);
    const auto written = LinesOf(its.inbox, its.isSignalled, its.signal, its.woken, its.spareFiber,
                                 its.parker, its.queue, its.accepts, its.bound);
    const auto readByOthers = LinesOf(its.submitted, its.ended, its.figures, its.rest);
    CHECK(!AnyShared(own, written));
    CHECK(!AnyShared(own, readByOthers));
    CHECK(!AnyShared(readByOthers, written));
    // Thieves write to a deque, and senders to the inbox.
    CHECK(!AnyShared(LinesOf(its.inbox), LinesOf(its.queue)));
    CHECK(!AnyShared(LinesOf(its.queue[0]), LinesOf(its.queue[1])));
    CHECK(!AnyShared(LinesOf(its), LinesOf(workers[1])));
}
