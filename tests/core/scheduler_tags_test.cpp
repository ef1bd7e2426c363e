#include "core/scheduler_tags.h"

#include "support/child_process.h"
#include "support/scheduler_run.h"

#include <atomic>
#include <cstdio>
#include <memory>
#include <new>
#include <set>
#include <thread>
#include <vector>

#include <unistd.h>

#include <catch2/catch.hpp>

using namespace weft;
using namespace weft::internal;

TEST_CASE("scheduler tags: 63 different tags, then none until one is released",
          "[scheduler_tags]") {
    std::vector<std::unique_ptr<SchedulerTag>> tags;
    std::set<uint32_t> values;
    for (int i = 0; i < 63; ++i) {
        tags.push_back(std::make_unique<SchedulerTag>());
        const uint32_t value = tags.back()->Acquire();
        CHECK((value >= 1 && value <= 63));
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

TEST_CASE("scheduler tags: Find visits all published schedulers, or the one with the given tag",
          "[scheduler_tags]") {
    int things[3] = {0, 1, 2};
    SchedulerTag tags[3];
    uint32_t numbers[3];
    for (int i = 0; i < 3; ++i) {
        numbers[i] = tags[i].Acquire();
        if (i != 1) tags[i].Publish(&things[i]);  // the second one must not be found
    }
    const auto seen = [](uint32_t only) {
        std::vector<void *> all;
        CHECK(!SchedulerTag::Find(
            [&](void *thing) {
                all.push_back(thing);
                return false;
            },
            only));
        return all;
    };
    CHECK(seen(0) == std::vector<void *>{&things[0], &things[2]});
    CHECK(seen(numbers[0]) == std::vector<void *>{&things[0]});
    CHECK(seen(numbers[1]).empty());
    CHECK(seen(numbers[2]) == std::vector<void *>{&things[2]});
    int visits = 0;
    // It stops when the function returns true.
    CHECK(SchedulerTag::Find([&](void *) { return ++visits == 1; }));
    CHECK(visits == 1);
    tags[0].Release();
    CHECK(seen(0) == std::vector<void *>{&things[2]});
    tags[2].Release();
    CHECK(seen(0).empty());
    SchedulerTag untagged;
    untagged.Publish(&things[0]);  // without a tag it must not be found
    CHECK(seen(0).empty());
}

TEST_CASE("scheduler tags: Release waits for threads inside Find", "[scheduler_tags]") {
    std::atomic<bool> stop{false};
    std::atomic<uint32_t> found{0};
    std::atomic<uint32_t> wrong{0};
    std::vector<std::thread> readers;
    for (int i = 0; i < 2; ++i) {
        readers.emplace_back([&] {
            while (!stop.load()) {
                SchedulerTag::Find([&](void *thing) {
                    found.fetch_add(1);
                    // Plain: Release waits until this read is over.
                    wrong.fetch_add(*static_cast<uint32_t *>(thing) != 42);
                    return true;
                });
            }
        });
    }
    for (int round = 0; round < 2000 || found.load() < 10; ++round) {
        const auto thing = std::make_unique<uint32_t>(42);
        SchedulerTag tag;
        tag.Acquire();
        tag.Publish(thing.get());
        if (round % 16 == 0) std::this_thread::yield();
        tag.Release();
        *thing = 0;  // no thread may still read it
        if (round > 1000000) break;
    }
    stop.store(true);
    for (std::thread &reader : readers) reader.join();
    CHECK(found.load() >= 10);
    CHECK(wrong.load() == 0);
}

#if defined(WEFT_DEBUG)
// A task destroys a counter while another one waits for it. `hasTag`: fewer than 64 schedulers
// live.
test::ChildResult DestroyAwaited(bool hasTag) {
    return test::RunInChild([=] {
        static std::atomic<bool> waits{false};
        alignas(Counter) static unsigned char place[sizeof(Counter)];
        static Counter *counter;
        counter = new (place) Counter(3);
        SchedulerOptions options = test::Options(1);
        TaskScheduler other(options), scheduler(options);
        other.Start();
        SchedulerTag others[64];
        for (SchedulerTag &tag : others) {
            if (!hasTag) tag.Acquire();
        }
        test::Batch waiter(1, [](TaskScheduler &running, uint32_t) {
            waits.store(true);
            running.WaitForCounter(counter);
        });
        test::Batch killer(1, [](TaskScheduler &, uint32_t) {
            std::fputs(waits.load() ? "waits\n" : "does not wait\n", stderr);
            { const Counter unused(1); }  // no task waits for this counter
            counter->~Counter();
            _exit(0);
        });
        scheduler.Start();
        scheduler.AddTask(waiter[0], nullptr, test::Named("waiter"));
        scheduler.AddTask(killer[0], nullptr, {Priority::Low, kAnyWorker, "killer"});
        scheduler.Stop();
    });
}
#endif

TEST_CASE(
    "report DestroyedInUse: debug builds report a counter that is destroyed while a task waits",
    "[scheduler_tags]") {
#if defined(WEFT_DEBUG)
    const test::ChildResult child = DestroyAwaited(true);
    INFO(child.output);
    CHECK(!child.Died());
    CHECK(test::Names(child.output, "waits\nweft: in task 'killer': counter "));
    CHECK(test::Names(child.output, "is destroyed while somebody waits for it; it stands at 3"));
    CHECK(child.output.find("destroyed") == child.output.rfind("destroyed"));
#endif
}

TEST_CASE("report DestroyedInUse: a scheduler without a tag is not confused with another one",
          "[scheduler_tags]") {
#if defined(WEFT_DEBUG)
    const test::ChildResult child = DestroyAwaited(false);
    CHECK(!child.Died());
    CHECK(child.output == "waits\n");
#endif
}
