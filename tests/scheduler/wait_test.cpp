#include "weft/task_scheduler.h"

#include "support/quiet_run.h"
#include "support/spin.h"

#include <atomic>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

using namespace weft;

namespace {

struct Fib {
    uint32_t n;
    bool fused;
    uint64_t result = 0;

    static void Run(TaskScheduler *scheduler, void *arg) {
        Fib *self = static_cast<Fib *>(arg);
        if (self->n < 2) {
            self->result = self->n;
            return;
        }
        Fib left{self->n - 1, self->fused}, right{self->n - 2, self->fused};
        const Task tasks[2] = {{Run, &left}, {Run, &right}};
        if (self->fused) {
            scheduler->AddTasksAndWait(2, tasks);
        } else {
            Counter counter;
            scheduler->AddTasks(2, tasks, &counter);
            scheduler->WaitForCounter(&counter);
        }
        self->result = left.result + right.result;
    }
};

// A chain of tasks. Each one submits the next one and waits for it.
struct Link {
    uint32_t depth;
    bool fused;
    std::atomic<uint32_t> *reached;

    static void Run(TaskScheduler *scheduler, void *arg) {
        const Link *self = static_cast<Link *>(arg);
        self->reached->fetch_add(1);
        if (self->depth == 0) return;
        Link next{self->depth - 1, self->fused, self->reached};
        const Task tasks[2] = {{Run, &next}, {[](TaskScheduler *, void *) {}, nullptr}};
        if (self->fused) {
            scheduler->AddTasksAndWait(2, tasks);
        } else {
            Counter counter;
            scheduler->AddTask(tasks[0], &counter);
            scheduler->WaitForCounter(&counter);
        }
    }
};

}  // namespace

TEST_CASE("wait: fork-join recursion", "[wait][grid]") {
    for (const test::GridPoint &point : test::GridOfLargePools()) {
        for (bool fused : {false, true}) {
            INFO(test::Describe(point) << (fused ? ", fused" : ""));
            Fib fib{10, fused};  // 88 tasks wait, fewer than there are fibers
            test::RunQuietly(point, [&](TaskScheduler &scheduler) { Fib::Run(&scheduler, &fib); });
            CHECK(fib.result == 55);
        }
    }
}

TEST_CASE("wait: inline tasks nest while there is stack, deeper ones take another fiber",
          "[wait][helps]") {
    for (uint32_t workers : {1u, 2u}) {
        for (bool fused : {false, true}) {
            INFO(workers << " workers" << (fused ? ", fused" : ""));
            std::atomic<uint32_t> reached{0};
            // With two workers each link may be stolen. Then each link takes a fiber.
            const uint32_t depth = workers == 1 ? 3000 : 100;
            Link first{depth, fused, &reached};
            test::RunQuietly(test::Options(workers),
                             [&](TaskScheduler &scheduler) { Link::Run(&scheduler, &first); });
            CHECK(reached.load() == depth + 1);
        }
    }
}

TEST_CASE("wait: pending decrements do not pile up behind tasks of other counters", "[wait]") {
    Fib fib{18, false};
    test::RunQuietly(test::Options(1),
                     [&](TaskScheduler &scheduler) { Fib::Run(&scheduler, &fib); });
    CHECK(fib.result == 2584);
}

TEST_CASE("wait: finished tasks are counted before AddTasksAndWait runs its first task",
          "[wait][one_worker]") {
    test::Runner runner(test::Options(1));
    constexpr uint32_t kCount = 400;
    Counter counter;
    uint32_t started = 0, finished = 0, waits = 0, wrong = 0;
    test::Batch inner(1, [&](TaskScheduler &, uint32_t) {
        ++waits;
        wrong += counter.Value() != kCount - finished;
    });
    test::Batch batch(kCount, [&](TaskScheduler &scheduler, uint32_t) {
        // The other tasks are short, so later claims take several tasks.
        if (++started % 8 == 5) scheduler.AddTasksAndWait(1, inner.Tasks());
        ++finished;
    });
    CHECK(runner.Run([&](TaskScheduler &scheduler) {
        scheduler.AddTasks(kCount, batch.Tasks(), &counter);
        scheduler.WaitForCounter(&counter);
    }) == Status::Ok);
    CHECK(waits == kCount / 8);
    CHECK(wrong == 0);
}

TEST_CASE("wait: nested waits work with two fibers", "[wait][grid]") {
    for (const test::GridPoint &point : test::Grid()) {
        INFO(test::Describe(point));
        std::atomic<uint32_t> leaves{0}, parents{0};
        test::Batch leaf(10, [&](TaskScheduler &, uint32_t) { leaves.fetch_add(1); });
        test::Batch parent(1, [&](TaskScheduler &scheduler, uint32_t) {
            scheduler.AddTasksAndWait(10, leaf.Tasks());
            Counter counter;
            scheduler.AddTasks(10, leaf.Tasks(), &counter);
            scheduler.WaitForCounter(&counter);
            parents.fetch_add(leaves.load() % 20 == 0 ? 1 : 0);
        });
        test::RunQuietly(point, [&](TaskScheduler &scheduler) {
            for (int i = 0; i < 10; ++i) {
                Counter counter;
                scheduler.AddTask(parent[0], &counter);
                scheduler.WaitForCounter(&counter);
            }
        });
        CHECK(leaves.load() == 200);
        CHECK(parents.load() == 10);
    }
}

TEST_CASE("invariant 5: after a wait, all writes of the tasks are visible", "[wait][grid]") {
    for (const test::GridPoint &point : test::Grid()) {
        INFO(test::Describe(point));
        uint32_t wrong = 0;
        test::Runner runner(point);
        CHECK(runner.Run([&](TaskScheduler &scheduler) {
            for (uint32_t round = 0; round < 30; ++round) {
                // Plain memory: it is a data race if the wait does not order the accesses.
                std::vector<uint32_t> values(40, 0);
                test::Batch batch(40, [&](TaskScheduler &, uint32_t i) { values[i] = round + i; });
                Counter counter;
                scheduler.AddTasks(40, batch.Tasks(), &counter);
                scheduler.WaitForCounter(&counter);
                for (uint32_t i = 0; i < 40; ++i) wrong += values[i] != round + i;
            }
        }) == Status::Ok);
        CHECK(wrong == 0);
    }
}

TEST_CASE("fault: relaxed fast path. A wait that returns at once orders memory, too", "[wait]") {
    uint32_t wrong = 0;
    test::Runner runner(test::Options(2, 160, IdlePolicy::Spin));
    CHECK(runner.Run([&](TaskScheduler &scheduler) {
        for (uint32_t round = 1; round <= 300; ++round) {
            uint32_t value = 0;
            std::atomic<bool> finishing{false};
            test::Batch batch(1, [&](TaskScheduler &, uint32_t) {
                value = round;
                finishing.store(true, std::memory_order_relaxed);
            });
            Counter counter;
            scheduler.AddTask(batch[0], &counter);
            for (int i = 0; i < 2000 && !finishing.load(std::memory_order_relaxed); ++i)
                std::this_thread::yield();
            // Most likely the task has finished completely by now.
            for (int i = 0; i < 20; ++i) std::this_thread::yield();
            scheduler.WaitForCounter(&counter);
            wrong += value != round;
        }
    }) == Status::Ok);
    CHECK(wrong == 0);
}

TEST_CASE("wait: returns at once on the same fiber if the value is reached", "[wait]") {
    test::Runner runner(test::Options(1));
    bool isOver = false, sameFiber = true;
    std::atomic<uint32_t> runs{0};
    test::Batch batch(1, [&](TaskScheduler &, uint32_t) { runs.fetch_add(1); });
    CHECK(runner.Run([&](TaskScheduler &scheduler) {
        // A waiting task is due after a millisecond. Then each wait lets it run, also one that is
        // over. If the thread loses its CPU for so long, the next round shows the usual case.
        for (uint32_t round = 0; round < 1000 && !isOver; ++round) {
            const uint32_t before = runs.load(), fiber = scheduler.CurrentFiber();
            Counter zero, three(3), ran;
            scheduler.AddTask(batch[0], &ran);
            scheduler.WaitForCounter(&zero);
            scheduler.WaitForCounter(&zero, 7);
            scheduler.WaitForCounter(&three, 3);
            scheduler.WaitForCounter(&three, 4);
            isOver = runs.load() == before;
            if (isOver) sameFiber = scheduler.CurrentFiber() == fiber;
            scheduler.WaitForCounter(&ran);
        }
    }) == Status::Ok);
    CHECK(isOver);
    CHECK(sameFiber);
}

TEST_CASE("wait: a value that is reached only for a moment is not missed", "[wait]") {
    // There is one worker. So a task that has started and does not run is waiting.
    test::Runner runner(test::Options(1));
    Counter counter(5);
    std::atomic<uint32_t> started{0}, resumed{0};
    uint32_t atOnce = 0, value = 0, afterJump = 0;
    test::Batch waiters(3, [&](TaskScheduler &scheduler, uint32_t i) {
        started.fetch_add(1);
        scheduler.WaitForCounter(&counter, i == 2 ? 1 : 3);
        resumed.fetch_add(1);
    });
    CHECK(runner.Run([&](TaskScheduler &scheduler) {
        scheduler.AddTasks(3, waiters.Tasks());
        test::YieldUntil(scheduler, [&] { return started.load() == 3; });
        scheduler.DecrementCounter(&counter, 3);  // from 5 to 2, without being 3
        scheduler.IncrementCounter(&counter, 3);
        atOnce = resumed.load();
        value = counter.Value();
        test::YieldUntil(scheduler, [&] { return resumed.load() == 2; });
        for (int i = 0; i < 5; ++i) scheduler.Yield();
        afterJump = resumed.load();
        scheduler.DecrementCounter(&counter, 5);
    }) == Status::Ok);
    CHECK(atOnce == 0);  // a worker's loop resumes ready fibers, the caller does not
    CHECK(value == 5);
    CHECK(afterJump == 2);
    CHECK(resumed.load() == 3);
}

TEST_CASE("wait: a hundred fibers wait for one counter", "[wait][grid]") {
    for (const test::GridPoint &point : test::GridOfLargePools()) {
        INFO(test::Describe(point));
        Counter gate(1);
        std::atomic<uint32_t> started{0}, resumed{0};
        uint32_t early = 0;
        test::Batch waiters(100, [&](TaskScheduler &scheduler, uint32_t) {
            started.fetch_add(1);
            scheduler.WaitForCounter(&gate);
            resumed.fetch_add(1);
        });
        test::RunQuietly(point, [&](TaskScheduler &scheduler) {
            Counter counter;
            scheduler.AddTasks(100, waiters.Tasks(), &counter);
            test::YieldUntil(scheduler, [&] { return started.load() == 100; });
            early = resumed.load();
            scheduler.DecrementCounter(&gate);
            scheduler.WaitForCounter(&counter);
        });
        CHECK(early == 0);
        CHECK(resumed.load() == 100);
    }
}

TEST_CASE(
    "invariant 4: a counter may be freed right after the wait (fault: access to a freed counter)",
    "[wait][grid]") {
    for (const test::GridPoint &point : test::GridOfLargePools()) {
        INFO(test::Describe(point));
        std::atomic<uint32_t> ran{0};
        test::Batch leaf(6, [&](TaskScheduler &, uint32_t) { ran.fetch_add(1); });
        test::Batch parents(24, [&](TaskScheduler &scheduler, uint32_t) {
            for (int round = 0; round < 20; ++round) {
                auto counter = std::make_unique<Counter>();
                scheduler.AddTasks(6, leaf.Tasks(), counter.get());
                scheduler.WaitForCounter(counter.get());
                counter.reset();  // AddressSanitizer reports later accesses
            }
        });
        test::RunQuietly(point, [&](TaskScheduler &scheduler) {
            scheduler.AddTasksAndWait(24, parents.Tasks());
        });
        CHECK(ran.load() == 24 * 20 * 6);
    }
}

TEST_CASE("invariant 4: a counter may be freed while another thread sorts its waiters", "[wait]") {
    uint32_t rounds = 0;
    test::RunQuietly(test::Options(3), [&](TaskScheduler &scheduler) {
        for (; rounds < 600; ++rounds) {
            auto counter = std::make_unique<Counter>();
            Counter others, all;
            test::Batch work(6, [&](TaskScheduler &inner, uint32_t) {
                inner.DecrementCounter(counter.get());
                test::Linger(20);  // other workers resume the waiters meanwhile
            });
            std::atomic<uint32_t> started{0};
            test::Batch waiters(3, [&](TaskScheduler &inner, uint32_t i) {
                started.fetch_add(1);
                inner.WaitForCounter(counter.get(), i);
            });
            scheduler.IncrementCounter(counter.get(), 10);
            scheduler.AddTasks(3, waiters.Tasks(), &others);
            if (!test::YieldUntil(scheduler, [&] { return started.load() == 3; })) std::abort();
            scheduler.AddTasks(6, work.Tasks(), &all);
            for (int i = 0; i < 4; ++i) scheduler.DecrementCounter(counter.get());
            scheduler.WaitForCounter(&others);  // all waiters have returned
            scheduler.WaitForCounter(counter.get());
            counter.reset();  // tasks that lowered it may still be inside that call
            scheduler.WaitForCounter(&all);
        }
    });
    CHECK(rounds == 600);
}

TEST_CASE("fault: counter reuse. A counter is used again right after each wait", "[wait][grid]") {
    for (const test::GridPoint &point : test::Grid()) {
        INFO(test::Describe(point));
        std::atomic<uint32_t> ran{0};
        uint32_t wrong = 0;
        test::Batch batch(5, [&](TaskScheduler &, uint32_t) { ran.fetch_add(1); });
        test::RunQuietly(point, [&](TaskScheduler &scheduler) {
            Counter counter;
            for (uint32_t round = 1; round <= 100; ++round) {
                scheduler.AddTasks(1 + round % 5, batch.Tasks(), &counter);
                scheduler.WaitForCounter(&counter);
                wrong += !counter.IsZero();
                if (wrong != 0) return;
            }
        });
        CHECK(wrong == 0);
        CHECK(ran.load() == 300);
    }
}

// Eight fibers wait for the same counter in rounds. Each wait must end exactly once.
TEST_CASE("wait: a counter at zero can be raised again, and no waiter wakes twice", "[wait]") {
    std::atomic<uint32_t> finished{0};
    std::atomic<uint32_t> notZero{0};
    Counter gate;
    constexpr uint32_t kRounds = 300;
    std::atomic<uint32_t> generation{0}, arrived{0};
    test::Batch waiters(8, [&](TaskScheduler &scheduler, uint32_t) {
        for (uint32_t round = 1; round <= kRounds; ++round) {
            if (!test::YieldUntil(scheduler, [&] { return generation.load() >= round; })) return;
            scheduler.WaitForCounter(&gate);
            if (generation.load() < round) notZero.fetch_add(1);
            arrived.fetch_add(1);
        }
        finished.fetch_add(1);
    });
    test::RunQuietly(test::Options(3), [&](TaskScheduler &scheduler) {
        Counter all;
        scheduler.AddTasks(8, waiters.Tasks(), &all);
        for (uint32_t round = 1; round <= kRounds; ++round) {
            scheduler.IncrementCounter(&gate);
            generation.store(round);
            scheduler.Yield();
            scheduler.DecrementCounter(&gate);
            if (!test::YieldUntil(scheduler, [&] { return arrived.load() == 8 * round; })) return;
        }
        scheduler.WaitForCounter(&all);
    });
    CHECK(finished.load() == 8);
    CHECK(notZero.load() == 0);
}

TEST_CASE("wait: AddTasksAndWait whose first task waits while others take the rest",
          "[wait][grid]") {
    for (const test::GridPoint &point : test::GridOfLargePools()) {
        INFO(test::Describe(point));
        // The first task waits for the last one, or for the one that is stolen first. In the second
        // case many tasks have not finished when it continues, most likely on another worker.
        struct Case {
            uint32_t count, opener;
        };
        for (const Case &which :
             {Case{1, 0}, Case{2, 1}, Case{3, 2}, Case{5, 4}, Case{40, 39}, Case{40, 1}}) {
            const uint32_t count = which.count, opener = which.opener;
            std::vector<std::atomic<uint32_t>> runs(count);
            std::atomic<uint32_t> wrong{0};
            Counter event(1);
            test::Batch inner(3, [&](TaskScheduler &, uint32_t) {});
            test::Batch batch(count, [&](TaskScheduler &scheduler, uint32_t i) {
                scheduler.AddTasksAndWait(3, inner.Tasks());
                if (i == 0 && opener != 0) scheduler.WaitForCounter(&event);
                if (i == opener) scheduler.DecrementCounter(&event);
                scheduler.AddTasksAndWait(2, inner.Tasks());
                runs[i].fetch_add(1);
            });
            test::RunQuietly(point, [&](TaskScheduler &scheduler) {
                scheduler.AddTasksAndWait(count, batch.Tasks());
                for (auto &run : runs) wrong.fetch_add(run.load() != 1);
            });
            CHECK(wrong.load() == 0);
        }
    }
}

TEST_CASE("fault: lock held across a wait. The wait runs no other tasks on its stack",
          "[wait][grid]") {
    for (const test::GridPoint &point : test::GridOfLargePools()) {
        INFO(test::Describe(point));
        std::atomic<bool> locked{false};
        std::atomic<uint32_t> entered{0}, failed{0};
        Counter event;
        test::Batch opener(
            1, [&](TaskScheduler &scheduler, uint32_t) { scheduler.DecrementCounter(&event); });
        test::Batch users(16, [&](TaskScheduler &scheduler, uint32_t) {
            if (!test::YieldUntil(scheduler, [&] { return !locked.exchange(true); })) {
                failed.fetch_add(1);
                return;
            }
            scheduler.IncrementCounter(&event);
            // In the deques it comes after the other users.
            scheduler.AddTask(opener[0], nullptr, test::kLow);
            scheduler.WaitForCounter(&event);  // holds the lock
            entered.fetch_add(1);
            locked.store(false);
        });
        test::Runner runner(point);
        CHECK(runner.Run([&](TaskScheduler &scheduler) {
            scheduler.AddTasks(16, users.Tasks());
        }) == Status::Ok);
        CHECK(failed.load() == 0);
        CHECK(entered.load() == 16);
    }
}

TEST_CASE("ResumeOn::SameWorker continues the fiber on its worker", "[wait][grid]") {
    for (const test::GridPoint &point : test::GridOfLargePools()) {
        INFO(test::Describe(point));
        std::atomic<uint32_t> moved{0}, resumed{0};
        Counter gates[20];
        test::Batch waiters(20, [&](TaskScheduler &scheduler, uint32_t i) {
            for (int round = 0; round < 10; ++round) {
                scheduler.IncrementCounter(&gates[i]);
                test::Batch opener(
                    1, [&](TaskScheduler &other, uint32_t) { other.DecrementCounter(&gates[i]); });
                Counter opened;
                scheduler.AddTask(opener[0], &opened);
                const uint32_t worker = scheduler.CurrentWorker();
                scheduler.WaitForCounter(&gates[i], 0, ResumeOn::SameWorker);
                moved.fetch_add(scheduler.CurrentWorker() != worker);
                scheduler.WaitForCounter(&opened);
            }
            resumed.fetch_add(1);
        });
        test::RunQuietly(point, [&](TaskScheduler &scheduler) {
            scheduler.AddTasksAndWait(20, waiters.Tasks());
        });
        CHECK(moved.load() == 0);
        CHECK(resumed.load() == 20);
    }
}

// The waiter may run the child inline. If the child then waits with ResumeOn::AnyWorker, the whole
// stack may continue on another worker, with the outer wait on it.
TEST_CASE("ResumeOn::SameWorker holds even if an inline task waits itself", "[wait]") {
    test::Runner runner(test::Options(2, 160, IdlePolicy::Spin));
    std::atomic<uint32_t> moved{0};
    CHECK(runner.Run([&](TaskScheduler &scheduler) {
        for (int round = 0; round < 200; ++round) {
            Counter event(1), all;
            test::Batch child(
                1, [&](TaskScheduler &inner, uint32_t) { inner.WaitForCounter(&event); });
            test::Batch waiter(1, [&](TaskScheduler &inner, uint32_t) {
                const uint32_t worker = inner.CurrentWorker();
                Counter counter;
                inner.AddTask(child[0], &counter);
                inner.WaitForCounter(&counter, 0, ResumeOn::SameWorker);
                moved.fetch_add(inner.CurrentWorker() != worker);
            });
            test::Batch opener(1, [&](TaskScheduler &inner, uint32_t) {
                test::Linger(round % 8);
                inner.DecrementCounter(&event);
            });
            scheduler.AddTask(waiter[0], &all);
            scheduler.AddTask(opener[0], &all);
            scheduler.WaitForCounter(&all);
        }
    }) == Status::Ok);
    CHECK(moved.load() == 0);
}

TEST_CASE("Yield: fibers that yield take turns", "[wait][one_worker]") {
    test::Runner runner(test::Options(1));
    std::string turns;
    test::Batch batch(3, [&](TaskScheduler &scheduler, uint32_t i) {
        for (int round = 0; round < 6; ++round) {
            turns += static_cast<char>('a' + i);
            scheduler.Yield();
        }
    });
    CHECK(runner.Run([&](TaskScheduler &scheduler) {
        scheduler.AddTasksAndWait(3, batch.Tasks());
    }) == Status::Ok);
    REQUIRE(turns.size() == 18);
    // Once all three have begun, each of them runs once in any three steps in a row.
    for (size_t i = 3; i + 6 <= turns.size(); i += 3) {
        CHECK(turns.substr(i, 3) == turns.substr(i + 3, 3));
        CHECK(turns[i] != turns[i + 1]);
    }
}
