// StackMeter: how much stack the tasks of each name use.
#include "weft/trace/stack_meter.h"
#include "weft/inspect.h"

#include "platform/sanitizers.h"
#include "support/scheduler_run.h"

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

using namespace weft;

namespace {

// Uses `kBytes` of the stack, or touches only the lowest of them.
template <size_t kBytes>
#if defined(_MSC_VER) && !defined(__clang__)
__declspec(noinline)
#else
__attribute__((noinline))
#endif
    char UseStack(bool all) {
    volatile char room[kBytes];
    const volatile size_t first = 0;  // the compiler must not know it, or it leaves out the rest
    for (size_t i = first; i < (all ? kBytes : 1); ++i) room[i] = 1;
    return room[first];
}

std::map<std::string, StackUse> UsesOf(const StackMeter &meter) {
    std::map<std::string, StackUse> uses;
    const auto keep = [](const StackUse &use, void *user) {
        (*static_cast<std::map<std::string, StackUse> *>(
            user))[use.task != nullptr ? use.task : ""] = use;
    };
    const uint32_t count = meter.ForEach(keep, &uses);
    CHECK(count == uses.size());
    return uses;
}

// Returns by how much the figure is wrong.
int64_t WrongBy(size_t bytes, size_t expected) {
    const auto difference = static_cast<int64_t>(bytes) - static_cast<int64_t>(expected);
#if defined(WEFT_ASAN)
    if (difference < 0) return 0;  // it may keep variables elsewhere
#endif
    return difference >= 0 && difference <= 4096 ? 0 : difference;  // unoptimised frames are large
}

}  // namespace

TEST_CASE("StackMeter: the most that each name uses, also after deeper tasks on the same fiber",
          "[stack_meter]") {
    const uint32_t workers = GENERATE(1u, 3u);
    StackMeter meter(1);
    SchedulerOptions options = test::Options(workers);
    options.stackMeter = &meter;
    test::Runner runner(options);
    test::Batch deep(8, [](TaskScheduler &, uint32_t i) { UseStack<20000>(i % 2 == 0); });
    test::Batch shallow(8, [](TaskScheduler &, uint32_t) { UseStack<5000>(true); });
    test::Batch tiny(8, [](TaskScheduler &, uint32_t) {});
    test::Batch deepest(2, [](TaskScheduler &, uint32_t) { UseStack<100000>(false); });
    Statistics statistics;
    CHECK(runner.Run([&](TaskScheduler &scheduler) {
        Counter counter;
        for (int i = 0; i < 20; ++i) {
            scheduler.AddTasks(8, deep.Tasks(), &counter, test::Named("deep"));
            scheduler.AddTasks(8, shallow.Tasks(), &counter, test::Named("shallow"));
            scheduler.AddTasks(8, tiny.Tasks(), &counter, test::Named("tiny"));
            scheduler.AddTasks(2, deepest.Tasks(), &counter, test::Named("deepest"));
            scheduler.WaitForCounter(&counter);
        }
        statistics = GetStatistics(scheduler);
    }) == Status::Ok);
    std::map<std::string, StackUse> uses = UsesOf(meter);
    CHECK(uses["deep"].measured <= 160);
    CHECK(uses["deep"].stackBytes == options.stackBytes);
    CHECK(WrongBy(uses["deep"].bytes, 20000) == 0);
    CHECK(WrongBy(uses["shallow"].bytes, 5000) == 0);
    CHECK(WrongBy(uses["tiny"].bytes, StackMeter::kLeastBytes) == 0);
    CHECK(WrongBy(uses["deepest"].bytes, 100000) == 0);
    CHECK(statistics.stackUsed == std::max(uses["deep"].bytes, uses["deepest"].bytes));
}

TEST_CASE("StackMeter: tasks that run on top of a waiting one do not count for it",
          "[stack_meter]") {
    const bool isFirstDeeper = GENERATE(true, false);
    StackMeter meter(1);
    SchedulerOptions options = test::Options(1);
    options.stackMeter = &meter;
    test::Runner runner(options);
    test::Batch inner(4, [](TaskScheduler &, uint32_t) { UseStack<30000>(false); });
    test::Batch outer(4, [&](TaskScheduler &scheduler, uint32_t) {
        if (isFirstDeeper) UseStack<12000>(false);
        UseStack<9000>(false);
        scheduler.AddTasksAndWait(4, inner.Tasks(), test::Named("inner"));
        UseStack<9000>(false);
        if (!isFirstDeeper) UseStack<12000>(false);
    });
    CHECK(runner.Run([&](TaskScheduler &scheduler) {
        scheduler.AddTasksAndWait(4, outer.Tasks(), test::Named("outer"));
    }) == Status::Ok);
    std::map<std::string, StackUse> uses = UsesOf(meter);
    CHECK(WrongBy(uses["inner"].bytes, 30000) == 0);
    CHECK(WrongBy(uses["outer"].bytes, 12000) == 0);
    CHECK(uses["inner"].measured == 16);
    CHECK(uses["outer"].measured == 4);
}

TEST_CASE("StackMeter: the first 64 tasks of a name, then some; tasks without names; many names",
          "[stack_meter]") {
    StackMeter meter;
    SchedulerOptions options = test::Options(2);
    options.stackMeter = &meter;
    test::Runner runner(options);
    std::vector<std::string> names;
    for (uint32_t i = 0; i < 2 * StackMeter::kMaxNames; ++i) names.push_back(std::to_string(i));
    test::Batch tasks(1064, [](TaskScheduler &, uint32_t) {});
    CHECK(runner.Run([&](TaskScheduler &scheduler) {
        scheduler.AddTasksAndWait(1064, tasks.Tasks(), test::Named("often"));
        scheduler.AddTasksAndWait(3, tasks.Tasks());
        for (const std::string &name : names)
            scheduler.AddTasksAndWait(1, tasks.Tasks(), test::Named(name.c_str()));
    }) == Status::Ok);
    std::map<std::string, StackUse> uses = UsesOf(meter);
    CHECK(uses["often"].measured == 64 + 63);  // each 16th one from 64 to 1063
    CHECK(uses[""].function == tasks.Tasks()[0].function);
    CHECK(uses[""].measured == 3);
    CHECK(uses["17"].measured == 1);
    CHECK(meter.ForEach([](const StackUse &, void *) {}) == StackMeter::kMaxNames);
}
