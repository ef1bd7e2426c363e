#include "scheduler/state/task_entry.h"

#include <string>

#include <catch2/catch.hpp>

using namespace weft;
using namespace weft::internal;

TEST_CASE("task entry: a single task keeps all its parts", "[task_entry]") {
    int arg = 0;
    Counter counter;
    const Task task{[](TaskScheduler *, void *) {}, &arg};
    for (StackClass stack : {StackClass::Small, StackClass::Large}) {
        for (Counter *with : {static_cast<Counter *>(nullptr), &counter}) {
            const TaskEntry entry = TaskEntry::Single(task, with, "name", stack);
            CHECK(!entry.IsSlice());
            CHECK(entry.Count() == 1);
            CHECK(entry.TheTask().function == task.function);
            CHECK(entry.TheTask().arg == &arg);
            CHECK(entry.TheCounter() == with);
            CHECK(entry.Stack() == stack);
            CHECK(entry.Name() == std::string("name"));
        }
    }
}

TEST_CASE("task entry: a slice keeps its batch's number and its size", "[task_entry]") {
    Task tasks[64];
    Counter counter;
    for (uint64_t batch : {uint64_t{1}, uint64_t{77}, TaskEntry::kMaxBatch}) {
        for (uint32_t count : {1u, 2u, 64u, 255u}) {
            for (StackClass stack : {StackClass::Small, StackClass::Large}) {
                const TaskEntry entry =
                    TaskEntry::Slice(tasks + 3, count, batch, &counter, nullptr, stack);
                CHECK(entry.IsSlice());
                CHECK(entry.First() == tasks + 3);
                CHECK(entry.Count() == count);
                CHECK(entry.Batch() == batch);
                CHECK(entry.TheCounter() == &counter);
                CHECK(entry.Stack() == stack);
                CHECK(entry.Name() == nullptr);
            }
        }
    }
}

TEST_CASE("task entry: a number changes none of the other members, and follows the parts",
          "[task_entry]") {
    Counter counter;
    const Task task{[](TaskScheduler *, void *) {}, &counter};
    const char *const name = "named";
    constexpr uint32_t kId = 0xabcdef;
    const TaskEntry single = TaskEntry::Single(task, &counter, name, StackClass::Large).WithId(kId);
    CHECK(single.TaskId() == kId);
    CHECK((single.TheTask().function == task.function && single.TheTask().arg == task.arg));
    CHECK((single.TheCounter() == &counter && single.Name() == name));
    CHECK((single.Stack() == StackClass::Large && !single.IsSlice()));
    const Task tasks[5] = {};
    const TaskEntry slice =
        TaskEntry::Slice(tasks, 5, TaskEntry::kMaxBatch, &counter, name, StackClass::Small);
    CHECK(slice.TaskId() == 0);
    CHECK(slice.Part(2, 3).TaskId() == 0);
    const TaskEntry part = slice.WithId(kId).Part(2, 3);
    CHECK(part.TaskId() == kId + 2);
    CHECK((part.First() == tasks + 2 && part.Count() == 3));
    CHECK((part.Batch() == TaskEntry::kMaxBatch && part.TheCounter() == &counter));
    CHECK((part.Name() == name && part.Stack() == StackClass::Small));
}
