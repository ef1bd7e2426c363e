#include "weft/graph/systems.h"

#include "support/failing_allocation.h"
#include "support/scheduler_run.h"

#include "weft/data/task_group.h"

#include <atomic>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

using namespace weft;

namespace {

void Nothing(TaskScheduler *, void *) {}
constexpr Task kNothing{Nothing, nullptr};

// A Systems with a log of its reports.
struct Logged {
    explicit Logged(const SystemsOptions &systemsOptions = {"update"})
        : systems(WithLog(), systemsOptions) {}
    SchedulerOptions WithLog() {
        SchedulerOptions options;
        log.AttachTo(options);
        return options;
    }
    test::ReportLog log;
    Systems systems;
};

}  // namespace

TEST_CASE("Systems::Check: reports each conflict without an order, with both names", "[systems]") {
    Logged all;
    Systems &systems = all.systems;
    const Resource places = systems.AddResource("places"), speeds = systems.AddResource("speeds");
    const System think = systems.AddSystem("think", kNothing, Reads{places}, Writes{speeds});
    const System move = systems.AddSystem("move", kNothing, Reads{speeds}, Writes{places});
    const System draw = systems.AddSystem("draw", kNothing, Reads{places});
    const System count = systems.AddSystem("count", kNothing, Reads{places, speeds});
    systems.Before(count, think);
    systems.Before(think, move);
    CHECK(systems.Check() == Status::BadOption);
    // think before move, count before think and so before move; draw and count only read.
    REQUIRE(systems.ConflictCount() == 1);
    const SystemConflict conflict = systems.ConflictAt(0);
    CHECK(systems.NameOf(conflict.first) == std::string("move"));
    CHECK(systems.NameOf(conflict.second) == std::string("draw"));
    CHECK(systems.NameOf(conflict.resource) == std::string("places"));
    CHECK((conflict.firstWrites && !conflict.secondWrites));
    CHECK(all.log.Count() == 1);
    CHECK(all.log.First(ReportCode::BadOption).what ==
          "'update': systems 'move' and 'draw' conflict in 'places' and have no order: 'move' "
          "writes it, 'draw' reads it");
    systems.After(draw, move);
    CHECK(systems.Check() == Status::Ok);
    CHECK(systems.ConflictCount() == 0);
    CHECK(systems.Check() == Status::Ok);
    CHECK(all.log.Count() == 1);
}

TEST_CASE("Systems::Check: two writers conflict, two readers do not", "[systems]") {
    Logged all;
    const Resource a = all.systems.AddResource("a");
    const System one = all.systems.AddSystem("one", kNothing, Writes{a});
    const System two = all.systems.AddSystem("two", kNothing, Writes{a});
    all.systems.AddRead(one, a);  // more about the same: still one conflict
    all.systems.AddRead(two, a);
    CHECK(all.systems.Check() == Status::BadOption);
    REQUIRE(all.systems.ConflictCount() == 1);
    CHECK((all.systems.ConflictAt(0).firstWrites && all.systems.ConflictAt(0).secondWrites));

    Logged readers;
    const Resource b = readers.systems.AddResource("b");
    readers.systems.AddSystem("one", kNothing, Reads{b});
    readers.systems.AddSystem("two", kNothing, Reads{b});
    CHECK(readers.systems.Check() == Status::Ok);
    CHECK(readers.log.Text() == "");
}

TEST_CASE("Systems: run in the order that was asked for", "[systems][grid]") {
    for (const test::GridPoint &point : test::GridOfLargePools()) {
        INFO(test::Describe(point));
        test::Runner runner(point);
        uint32_t wrong = 0;
        CHECK(runner.Run([&](TaskScheduler &scheduler) {
            Systems systems({}, {"update"});
            uint32_t value = 0;
            const Resource number = systems.AddResource("number", &value, sizeof value);
            auto first = [&](TaskScheduler *) { value = 1; };
            auto twice = [&](TaskScheduler *) { value *= 2; };
            auto more = [&](TaskScheduler *) { value += 3; };
            const System c = systems.AddSystem("more", more, Writes{number});
            const System b = systems.AddSystem("twice", twice, Writes{number});
            const System a = systems.AddSystem("first", first, Writes{number});
            systems.Before(a, b);
            systems.Before(b, c);
            wrong += systems.Check() != Status::Ok;
            for (int i = 0; i < 20; ++i) {
                value = 100;
                wrong += systems.Run(scheduler) != Status::Ok;
                wrong += value != 5;
                Counter counter;
                value = 100;
                wrong += systems.RunAsync(scheduler, &counter) != Status::Ok;
                scheduler.WaitForCounter(&counter);
                wrong += value != 5;
            }
        }) == Status::Ok);
        CHECK(wrong == 0);
        CHECK(runner.log.Text() == "");
    }
}

TEST_CASE("SystemsOptions::orderByDeclaration: orders conflicts, but never against other orders",
          "[systems]") {
    test::Runner runner(test::Options(2));
    uint32_t wrong = 0;
    CHECK(runner.Run([&](TaskScheduler &scheduler) {
        // d must come first. So a cannot come before d, and b, which comes after a, neither.
        Systems systems({}, {"update", true});
        std::string order;
        const Resource text = systems.AddResource("text");
        const auto letter = [&](char each) {
            return [&order, each](TaskScheduler *) { order += each; };
        };
        auto writeA = letter('a'), writeB = letter('b'), writeC = letter('c'), writeD = letter('d');
        const System a = systems.AddSystem("a", writeA, Writes{text});
        systems.AddSystem("b", writeB, Writes{text});
        systems.AddSystem("c", writeC, Writes{text});
        const System d = systems.AddSystem("d", writeD, Writes{text});
        systems.Before(d, a);
        wrong += systems.Check() != Status::Ok;
        for (int i = 0; i < 20; ++i) {
            order.clear();
            wrong += systems.Run(scheduler) != Status::Ok;
            wrong += order != "dabc";
        }
    }) == Status::Ok);
    CHECK(wrong == 0);
    CHECK(runner.log.Text() == "");
}

TEST_CASE("Systems: misuse is reported", "[systems][report]") {
    const auto isReported = [](const Logged &all, const char *part) {
        return all.log.Count() == 1 && test::Names(all.log.Text(), part);
    };
    {
        Logged all;
        CHECK(!all.systems.AddSystem("empty", Task{nullptr, nullptr}, Reads{}));
        CHECK(isReported(all, "system 'empty' of 'update' has no function"));
        CHECK(all.systems.Check() == Status::BadOption);
    }
    {
        Logged all, other;
        const Resource stranger = other.systems.AddResource("x");
        CHECK(!all.systems.AddSystem("s", kNothing, Reads{stranger}));
        CHECK(isReported(all, "a resource is not of 'update'"));
    }
    {
        Logged all;
        const System own = all.systems.AddSystem("own", kNothing, Reads{});
        CHECK(!all.systems.Before(own, System{}));
        CHECK(isReported(all, "a system is not of 'update'"));
    }
    {
        Logged all;
        int array[10];
        all.systems.AddResource("whole", array, sizeof array);
        all.systems.AddResource("part", array + 9, sizeof(int));
        CHECK(all.systems.Check() == Status::BadOption);
        CHECK(isReported(all, "the resources 'whole' and 'part' overlap"));
    }
    {
        Logged all;
        int array[10];
        all.systems.AddResource("low", array, 9 * sizeof(int));
        all.systems.AddResource("high", array + 9, sizeof(int));
        CHECK(all.systems.Check() == Status::Ok);
        CHECK(!all.systems.AddResource("late"));
        CHECK(isReported(all, "'update' has been checked already"));
    }
    {
        Logged all;
        const System a = all.systems.AddSystem("a", kNothing, Reads{});
        const System b = all.systems.AddSystem("b", kNothing, Reads{});
        all.systems.Before(a, b);
        all.systems.Before(b, a);
        CHECK(all.systems.Check() == Status::BadOption);
        CHECK(isReported(all, "has a cycle: a -> b -> a"));
    }
    {
        Logged all;
        test::Runner runner(test::Options(1));
        TaskGroup group(runner.scheduler);
        TaskOptions ofGroup;
        ofGroup.taskGroup = &group;
        CHECK(!all.systems.AddSystem("s", kNothing, Reads{}, Writes{}, ofGroup));
        CHECK(isReported(all, "system 's' of 'update' cannot belong to a TaskGroup"));
        CHECK(all.systems.Check() == Status::BadOption);
    }
}

TEST_CASE("fault: Systems: without memory, Check says OutOfMemory", "[systems][oom]") {
    for (const int64_t count : {int64_t{1}, INT64_MAX}) {
        Status status = Status::OutOfMemory;
        int64_t nth = 0;
        for (; nth < 100 && status == Status::OutOfMemory; ++nth) {
            const test::FailingAllocation failing(nth, count);
            Logged all({"update", true});
            const Resource resource = all.systems.AddResource("places");
            const System first = all.systems.AddSystem("first", kNothing, Writes{resource});
            const System second = all.systems.AddSystem("second", kNothing, Reads{resource});
            all.systems.AddSystem("third", kNothing, Writes{resource});
            all.systems.Before(first, second);
            status = all.systems.Check();
            CHECK(all.systems.Check() == status);
            CHECK((all.log.CountOf(ReportCode::OutOfMemory) != 0) == failing.HasFailed());
            CHECK((status == Status::Ok) == !failing.HasFailed());
        }
        CHECK(status == Status::Ok);
        CHECK(nth > 8);
    }
}
