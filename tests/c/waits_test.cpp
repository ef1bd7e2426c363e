// The calls of weft.h that wait, change counters, or concern the running task.
#include "c/c_support.h"
#include "c/convert.h"

#include <cstring>

#include <catch2/catch.hpp>

TEST_CASE("C: a counter is a Counter, and zeros are a counter of zero", "[c]") {
    test::AttachedOfC thread;
    weft_counter counter;
    weft_counter_init(&counter, 5);
    CHECK(weft_counter_value(&counter) == 5);
    CHECK(weft::internal::ToCounter(&counter)->Value() == 5);
    CHECK(weft_increment_counter(thread.scheduler, &counter, 2));
    CHECK(weft_counter_value(&counter) == 7);
    CHECK(!weft_poll_counter(thread.scheduler, &counter, 6));
    CHECK(weft_poll_counter(thread.scheduler, &counter, 7));
    weft_wait_for_counter(thread.scheduler, &counter, 7);
    weft_decrement_counter(thread.scheduler, &counter, 7);
    CHECK(weft_counter_value(&counter) == 0);

    std::memset(&counter, 0, sizeof counter);
    CHECK(weft_counter_value(&counter) == 0);
    weft_wait_for_counter(thread.scheduler, &counter, 0);
    const weft_counter initial = WEFT_COUNTER_INIT;
    CHECK(std::memcmp(&initial, &counter, sizeof counter) == 0);
    CHECK(thread.log.entries.empty());
    weft_decrement_counter(thread.scheduler, &counter, 1);
    CHECK(thread.log.IsOnly(WEFT_REPORT_COUNTER_UNDERFLOW));
}

TEST_CASE("C: waits for several counters, and waits with a deadline", "[c]") {
    test::AttachedOfC thread;
    weft_counter zero = WEFT_COUNTER_INIT, one;
    weft_counter_init(&one, 1);
    weft_counter *counters[2] = {&one, &zero};
    CHECK(weft_wait_for_any(thread.scheduler, 2, counters) == 1);
    CHECK(weft_wait_for_any_until(thread.scheduler, 2, counters, WEFT_NEVER) == 1);
    CHECK(weft_wait_for_any_until(thread.scheduler, 1, counters, 0) == 1);

    const uint64_t deadline = weft_now() + 1000000;
    CHECK(
        !weft_wait_for_counter_until(thread.scheduler, &one, 0, deadline, WEFT_MEANWHILE_ANY_TASK));
    CHECK(weft_now() >= deadline);
    CHECK(weft_wait_for_counter_until(thread.scheduler, &one, 1, 0, WEFT_MEANWHILE_NOTHING));
    CHECK(weft_wait_for_counter_until(thread.scheduler, &zero, 0, WEFT_NEVER,
                                      WEFT_MEANWHILE_HIGH_ONLY));
    const uint64_t begin = weft_now();
    weft_sleep_until(thread.scheduler, begin + 1000000);
    CHECK(weft_now() >= begin + 1000000);

    struct Lowers {
        weft_counter *counter;
        static void Run(weft_scheduler *scheduler, void *arg) {
            weft_decrement_counter(scheduler, static_cast<Lowers *>(arg)->counter, 1);
        }
    } lowers{&one};
    weft_add_task(thread.scheduler, Lowers::Run, &lowers, nullptr, nullptr);
    weft_wait_for_all(thread.scheduler, 2, counters);
    CHECK(weft_counter_value(&one) == 0);
    CHECK(thread.log.entries.empty());
}

TEST_CASE("C: a point in time that the clock cannot express never comes", "[c]") {
    using weft::internal::ToTime;
    CHECK(ToTime(WEFT_NEVER) == weft::Clock::time_point::max());
    CHECK(ToTime(uint64_t{1} << 63) == weft::Clock::time_point::max());
    CHECK(ToTime(0) == weft::Clock::time_point());
    const auto now =
        std::chrono::duration_cast<std::chrono::nanoseconds>(weft::Now().time_since_epoch());
    const uint64_t nanoseconds = static_cast<uint64_t>(now.count());
    CHECK(ToTime(nanoseconds).time_since_epoch() == now);
    CHECK(weft_now() >= nanoseconds);

    test::AttachedOfC thread;
    std::atomic<uint32_t> count{0};
    CHECK(!weft_add_task_at(thread.scheduler, WEFT_NEVER, test::Count, &count, nullptr, nullptr));
    CHECK(thread.log.IsOnly(WEFT_REPORT_BAD_OPTION));
}

TEST_CASE("report BadOption: an argument of C is none of the named numbers", "[c]") {
    test::AttachedOfC thread;
    weft_counter one;
    weft_counter_init(&one, 1);
    weft_wait_for_counter_on(thread.scheduler, &one, 0, 2);
    CHECK(thread.log.IsOnly(WEFT_REPORT_BAD_OPTION));
    thread.log.entries.clear();
    weft_wait_for_counter_meanwhile(thread.scheduler, &one, 0, 5);
    CHECK(thread.log.IsOnly(WEFT_REPORT_BAD_OPTION));
    thread.log.entries.clear();
    CHECK(!weft_wait_for_counter_until(thread.scheduler, &one, 1, WEFT_NEVER, 5));
    CHECK(thread.log.IsOnly(WEFT_REPORT_BAD_OPTION));
    thread.log.entries.clear();
    weft_set_priority(thread.scheduler, 3);
    CHECK(thread.log.IsOnly(WEFT_REPORT_BAD_OPTION));
}

TEST_CASE("C: a task yields, changes its priority, and runs what is pinned to its thread",
          "[c][one_worker]") {
    test::AttachedOfC thread;
    std::string order;
    struct Step {
        std::string *order;
        char name;
        static void Run(weft_scheduler *, void *arg) {
            const Step *self = static_cast<Step *>(arg);
            *self->order += self->name;
        }
    } steps[3] = {{&order, 'a'}, {&order, 'b'}, {&order, 'c'}};
    weft_task_options here = test::TaskOptionsOfC();
    here.worker = weft_current_worker(thread.scheduler);
    CHECK(here.worker == 0);
    weft_add_task(thread.scheduler, Step::Run, &steps[0], nullptr, &here);
    weft_add_task(thread.scheduler, Step::Run, &steps[1], nullptr, &here);
    CHECK(weft_run_pinned_tasks(thread.scheduler, 1) == 1);
    CHECK(order == "a");
    CHECK(weft_run_pinned_tasks(thread.scheduler, UINT32_MAX) == 1);
    CHECK(order == "ab");
    weft_add_task(thread.scheduler, Step::Run, &steps[2], nullptr, nullptr);
    weft_prepare_to_block(thread.scheduler);
    CHECK(order == "ab");
    weft_yield(thread.scheduler);
    CHECK(order == "abc");

    // Two tasks wait. The one that began last has raised its priority, and continues first.
    struct Waiter {
        Step step;
        weft_priority priority;
        weft_counter *gate;
        static void Run(weft_scheduler *scheduler, void *arg) {
            Waiter *self = static_cast<Waiter *>(arg);
            weft_set_priority(scheduler, self->priority);
            weft_wait_for_counter(scheduler, self->gate, 0);
            Step::Run(scheduler, &self->step);
        }
    };
    order.clear();
    weft_counter gate, both = WEFT_COUNTER_INIT;
    weft_counter_init(&gate, 1);
    Waiter low{steps[0], WEFT_PRIORITY_LOW, &gate}, high{steps[1], WEFT_PRIORITY_HIGH, &gate};
    weft_add_task(thread.scheduler, Waiter::Run, &low, &both, nullptr);
    weft_add_task(thread.scheduler, Waiter::Run, &high, &both, nullptr);
    for (int i = 0; i < 4; ++i) weft_yield(thread.scheduler);
    CHECK(order.empty());
    weft_decrement_counter(thread.scheduler, &gate, 1);
    weft_wait_for_counter(thread.scheduler, &both, 0);
    CHECK(order == "ba");
    CHECK(thread.log.entries.empty());
}
