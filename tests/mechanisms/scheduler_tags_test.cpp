#include "mechanisms/scheduler_tags.h"

#include <atomic>
#include <memory>
#include <set>
#include <thread>
#include <vector>

#include <catch2/catch.hpp>

using namespace weft::internal;

TEST_CASE("scheduler tags: 127 that differ, then none, and again after a release", "[scheduler_tags]") {
    std::vector<std::unique_ptr<SchedulerTag>> tags;
    std::set<uint32_t> values;
    for (int i = 0; i < 127; ++i) {
        tags.push_back(std::make_unique<SchedulerTag>());
        const uint32_t value = tags.back()->Acquire();
        CHECK((value >= 1 && value <= 127));
        CHECK(values.insert(value).second);
    }
    SchedulerTag none;
    CHECK(none.Acquire() == 0);
    tags[50].reset();
    CHECK(none.Acquire() != 0);
    none.Release();
    none.Release();  // harmless
    SchedulerTag again;
    CHECK(again.Acquire() != 0);
}

TEST_CASE("scheduler tags: no tag has two holders", "[scheduler_tags]") {
    std::atomic<uint32_t> holders[128]{};
    std::atomic<uint32_t> wrong{0};
    std::vector<std::thread> threads;
    for (int thread = 0; thread < 4; ++thread) {
        threads.emplace_back([&] {
            for (int round = 0; round < 3000; ++round) {
                SchedulerTag tag;
                const uint32_t value = tag.Acquire();
                if (value == 0 || holders[value].fetch_add(1) != 0) wrong.fetch_add(1);
                holders[value].fetch_sub(1);
            }
        });
    }
    for (std::thread &thread : threads) thread.join();
    CHECK(wrong.load() == 0);
}
