#include "containers/atomic_bit_set.h"

#include <atomic>
#include <set>
#include <thread>
#include <vector>

#include <catch2/catch.hpp>

using namespace weft::internal;

TEST_CASE("bit set: set, test and clear", "[bit_set]") {
    AtomicBitSet bits;
    REQUIRE(bits.Acquire(130));
    CHECK(!bits.Any());
    for (uint32_t bit : {0u, 63u, 64u, 129u}) {
        CHECK(!bits.Test(bit));
        CHECK(!bits.Clear(bit));
        bits.Set(bit);
        CHECK(bits.Test(bit));
        CHECK(bits.Any());
        CHECK(bits.Clear(bit));
        CHECK(!bits.Clear(bit));
        CHECK(!bits.Any());
    }
}

TEST_CASE("bit set: ClearAny begins near the given bit, and finds each bit once", "[bit_set]") {
    AtomicBitSet bits;
    REQUIRE(bits.Acquire(200));
    CHECK(bits.ClearAny(0) == AtomicBitSet::kNone);
    for (uint32_t bit = 0; bit < 200; ++bit) bits.Set(bit);
    CHECK(bits.ClearAny(64) == 64);
    CHECK(bits.ClearAny(199) == 192);
    CHECK(bits.ClearAny(100000) < 200);  // any number may be the home
    std::set<uint32_t> found;
    for (uint32_t home = 0;; home += 37) {
        const uint32_t bit = bits.ClearAny(home);
        if (bit == AtomicBitSet::kNone) break;
        CHECK(found.insert(bit).second);
    }
    CHECK(found.size() == 197);
    CHECK(!bits.Any());
}

TEST_CASE("bit set: each claimed bit has one owner at a time", "[bit_set]") {
    constexpr uint32_t kBits = 70;
    AtomicBitSet bits;
    REQUIRE(bits.Acquire(kBits));
    for (uint32_t bit = 0; bit < kBits; ++bit) bits.Set(bit);
    std::atomic<uint32_t> owners[kBits]{};
    std::atomic<uint32_t> wrong{0}, none{0};
    std::vector<std::thread> threads;
    for (uint32_t thread = 0; thread < 4; ++thread) {
        threads.emplace_back([&, thread] {
            for (int round = 0; round < 5000; ++round) {
                uint32_t mine[10];
                for (uint32_t &bit : mine) {
                    bit = bits.ClearAny(thread * 64);
                    // At most forty of seventy bits are taken. So one must be free.
                    if (bit == AtomicBitSet::kNone)
                        none.fetch_add(1);
                    else if (owners[bit].fetch_add(1) != 0)
                        wrong.fetch_add(1);
                }
                for (uint32_t bit : mine) {
                    if (bit == AtomicBitSet::kNone) continue;
                    owners[bit].fetch_sub(1);
                    bits.Set(bit);
                }
            }
        });
    }
    for (std::thread &thread : threads) thread.join();
    CHECK(wrong.load() == 0);
    // A search visits each word once. So it may miss bits that are set in a word behind it.
    CHECK(none.load() < 4 * 5000 * 10 / 2);
    for (uint32_t bit = 0; bit < kBits; ++bit) CHECK(bits.Test(bit));
}
