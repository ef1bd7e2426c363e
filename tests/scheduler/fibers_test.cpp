// The free fibers, with the slots of three workers.
#include "scheduler/state/fibers.h"

#include <set>

#include <catch2/catch.hpp>

using namespace weft::internal;

namespace {

constexpr uint32_t kWorkers = 3, kNone = FreeFibers::kNone;

struct Fixture {
    explicit Fixture(uint32_t fibers) { REQUIRE(free.Acquire(fibers)); }
    uint32_t Take(uint32_t worker) {
        return free.Take(worker, kWorkers,
                         [&](uint32_t i) -> FreeFibers::Slot & { return slots[i]; });
    }
    bool Any() const {
        return free.Any(kWorkers, [&](uint32_t i) -> const FreeFibers::Slot & { return slots[i]; });
    }

    FreeFibers free;
    FreeFibers::Slot slots[kWorkers] = {{kNone}, {kNone}, {kNone}};
};

}  // namespace

TEST_CASE("free fibers: at first all are free, and each is taken once", "[free_fibers]") {
    Fixture of(70);
    std::set<uint32_t> taken;
    for (uint32_t i = 0; i < 70; ++i) {
        CHECK(of.Any());
        taken.insert(of.Take(i % kWorkers));
    }
    CHECK(taken.size() == 70);
    CHECK(*taken.rbegin() == 69);
    CHECK(of.Take(0) == kNone);
    CHECK(!of.Any());
}

TEST_CASE("free fibers: a worker takes first the fiber that it has freed last", "[free_fibers]") {
    Fixture of(8);
    for (uint32_t i = 0; i < 8; ++i) of.Take(0);
    of.free.Free(5, of.slots[1]);
    CHECK(of.Any());
    CHECK(!of.free.Has(5));
    of.free.Free(2, of.slots[1]);
    CHECK(of.free.Has(5));  // the older one is in the set now
    CHECK(of.Take(1) == 2);
    of.free.Free(2, of.slots[1]);
    CHECK(of.Take(0) == 5);  // another worker takes from the set first
    CHECK(of.Take(0) == 2);  // then from the slots of others
    CHECK(of.Take(0) == kNone);
}

TEST_CASE("free fibers: TakeAt takes a fiber of the set", "[free_fibers]") {
    Fixture of(3);
    CHECK(of.free.TakeAt(1));
    CHECK(!of.free.TakeAt(1));
    CHECK(!of.free.Has(1));
    of.free.GiveBack(1);
    CHECK(of.free.Has(1));
    CHECK(!of.free.Has(64));  // the stack of an attached thread
    CHECK(of.Take(0) == 0);
    of.free.Free(0, of.slots[0]);
    CHECK(!of.free.TakeAt(0));  // it is in a slot
    CHECK(of.Take(0) == 0);
}
