#include "core/wait_records.h"

#include "support/failing_allocation.h"

#include <atomic>
#include <set>
#include <thread>
#include <vector>

#include <catch2/catch.hpp>

using namespace weft::internal;

TEST_CASE("wait records: spares are distinct, never move, and are reused", "[wait_records]") {
    WaitRecords records;
    REQUIRE(records.Acquire(10));
    std::set<uint32_t> spares;
    std::vector<WaitRecord *> addresses;
    for (uint32_t i = 0; i < 300; ++i) {
        const uint32_t spare = records.TakeSpare();
        REQUIRE(spare >= 10);
        CHECK(spares.insert(spare).second);
        records.At(spare).target = i;
        addresses.push_back(&records.At(spare));
    }
    for (uint32_t i = 0; i < 300; ++i) CHECK(addresses[i]->target == i);
    for (uint32_t i = 0; i < 10; ++i) CHECK(&records.At(i) == &records.At(0) + i);
    for (uint32_t spare : spares) records.GiveBackSpare(spare);
    const test::FailingAllocation failing(0);
    std::set<uint32_t> again;
    for (uint32_t i = 0; i < 320; ++i) again.insert(records.TakeSpare());  // five segments
    CHECK(again.size() == 320);
    CHECK(again.count(WaitRecords::kNone) == 0);
    CHECK(!failing.HasFailed());
}

TEST_CASE("wait records: TakeSpare fails only while there is no memory", "[wait_records]") {
    WaitRecords records;
    REQUIRE(records.Acquire(1));
    {
        const test::FailingAllocation failing(0);
        // The first segment has 64 records.
        for (int i = 0; i < 64; ++i) REQUIRE(records.TakeSpare() != WaitRecords::kNone);
        CHECK(records.TakeSpare() == WaitRecords::kNone);
    }
    for (int i = 64; i < 10000; ++i) REQUIRE(records.TakeSpare() != WaitRecords::kNone);
    records.GiveBackSpare(700);
    CHECK(records.TakeSpare() == 700);
}

TEST_CASE("wait records: no spare has two owners", "[wait_records]") {
    WaitRecords records;
    REQUIRE(records.Acquire(0));
    std::vector<std::atomic<uint32_t>> owners(4096);
    std::atomic<uint32_t> wrong{0};
    std::vector<std::thread> threads;
    for (int thread = 0; thread < 4; ++thread) {
        threads.emplace_back([&] {
            for (int round = 0; round < 300; ++round) {
                uint32_t mine[40];
                for (uint32_t &spare : mine) {
                    spare = records.TakeSpare();
                    if (spare == WaitRecords::kNone || owners[spare].fetch_add(1) != 0) {
                        wrong.fetch_add(1);
                        return;
                    }
                    records.At(spare).target = spare;  // plain: a race if two threads had it
                }
                for (uint32_t spare : mine) {
                    if (records.At(spare).target != spare) wrong.fetch_add(1);
                    owners[spare].fetch_sub(1);
                    records.GiveBackSpare(spare);
                }
            }
        });
    }
    for (std::thread &thread : threads) thread.join();
    CHECK(wrong.load() == 0);
}
