#include "weft/closure.h"

#include "support/failing_allocation.h"
#include "support/host_memory.h"
#include "support/quiet_run.h"
#include "support/trace_log.h"
#include "sync/mix.h"
#include "weft/time.h"

#include <array>
#include <atomic>
#include <functional>
#include <memory>
#include <stdexcept>
#include <thread>
#include <vector>

#include <catch2/catch.hpp>

using namespace weft;

namespace {

// Counts what happens to callables. Each one that was made, copied or moved must be destroyed. Each
// one that was submitted must be called.
struct Ledger {
    std::atomic<uint32_t> made{0}, copied{0}, moved{0}, destroyed{0}, called{0}, wrong{0};
    uint32_t Alive() const { return made.load() + copied.load() + moved.load() - destroyed.load(); }
};

class Counted {
public:
    explicit Counted(Ledger &ledger, uint32_t value = 0) noexcept
        : m_ledger(&ledger), m_value(value), m_self(this) {
        ledger.made.fetch_add(1);
    }
    Counted(const Counted &other) noexcept
        : m_ledger(other.m_ledger), m_value(other.m_value), m_self(this) {
        m_ledger->copied.fetch_add(1);
    }
    Counted(Counted &&other) noexcept
        : m_ledger(other.m_ledger), m_value(other.m_value), m_self(this) {
        other.m_value = ~0u;
        m_ledger->moved.fetch_add(1);
    }
    ~Counted() {
        // It was destroyed before, or copied byte by byte.
        if (m_self != this) m_ledger->wrong.fetch_add(1);
        m_self = nullptr;
        m_ledger->destroyed.fetch_add(1);
    }
    void operator()() {
        if (m_self != this || m_value == ~0u) m_ledger->wrong.fetch_add(1);
        m_ledger->called.fetch_add(1);
    }
    uint32_t Value() const { return m_value; }
    Ledger &TheLedger() const { return *m_ledger; }

private:
    Ledger *m_ledger;
    uint32_t m_value;
    Counted *m_self;
};

class MoveOnly : public Counted {
public:
    using Counted::Counted;
    MoveOnly(MoveOnly &&) noexcept = default;
    MoveOnly(const MoveOnly &) = delete;
};

// Submits `count` callables of each kind. Returns false if one was refused.
bool Submit(TaskScheduler &scheduler, Ledger &ledger, uint32_t count, Counter *counter = nullptr,
            const TaskOptions &options = {}) {
    const Counted kept(ledger);
    bool all = true;
    for (uint32_t i = 0; i < count; ++i) {
        all = AddTask(scheduler, kept, counter, options) && all;
        all = AddTask(scheduler, MoveOnly(ledger), counter, options) && all;
        all = AddTask(
                  scheduler, [counted = Counted(ledger)]() mutable { counted(); }, counter,
                  options) &&
              all;
    }
    return all;
}

void CheckAll(const Ledger &ledger, uint32_t called) {
    CHECK(ledger.called.load() == called);
    CHECK(ledger.Alive() == 0);
    CHECK(ledger.wrong.load() == 0);
}

}  // namespace

TEST_CASE("closures: each is called once and destroyed once", "[closure][grid]") {
    for (const test::GridPoint &point : test::Grid()) {
        INFO(test::Describe(point));
        Ledger ledger;
        std::atomic<uint32_t> wrong{0};
        test::RunQuietly(point, [&](TaskScheduler &scheduler) {
            Counter counter;
            test::Batch batch(10, [&](TaskScheduler &running, uint32_t i) {
                if (!Submit(running, ledger, 30, i % 2 == 0 ? &counter : nullptr))
                    wrong.fetch_add(1);
            });
            scheduler.AddTasks(10, batch.Tasks(), &counter);
            scheduler.WaitForCounter(&counter);
            if (ledger.called.load() < 450) wrong.fetch_add(1);
        });
        CHECK(wrong.load() == 0);
        CheckAll(ledger, 900);
    }
}

TEST_CASE("closures: an lvalue is copied, and an rvalue is moved", "[closure]") {
    for (uint32_t workers : {1u, 2u}) {
        Ledger copied, moved;
        test::RunQuietly(test::Options(workers), [&](TaskScheduler &scheduler) {
            const Counted kept(copied);
            CHECK(AddTask(scheduler, kept));
            CHECK(AddTask(scheduler, kept));
            CHECK(kept.Value() == 0);
            CHECK(AddTask(scheduler, Counted(moved)));
        });
        CHECK(copied.copied.load() == 2);
        CHECK(moved.copied.load() == 0);
        CHECK(moved.moved.load() <= 2);
        CheckAll(copied, 2);
        CheckAll(moved, 1);
    }
}

TEST_CASE("closures: all kinds of callables", "[closure]") {
    static std::atomic<uint32_t> sum{0};
    static std::atomic<TaskScheduler *> seen{nullptr};
    struct Function {
        static void Plain() { sum.fetch_add(1); }
        static void WithScheduler(TaskScheduler *scheduler) {
            seen.store(scheduler);
            sum.fetch_add(10);
        }
    };
    sum.store(0);
    test::Runner runner(test::Options(2));
    test::RunQuietly(runner, [](TaskScheduler &scheduler) {
        CHECK(AddTask(scheduler, Function::Plain));
        CHECK(AddTask(scheduler, &Function::WithScheduler));
        CHECK(AddTask(scheduler, [](auto... given) { sum.fetch_add(100 * sizeof...(given)); }));
        const std::function<void()> function = [] { sum.fetch_add(1000); };
        CHECK(AddTask(scheduler, function));
        CHECK(AddTask(scheduler,
                      [ten = std::make_unique<uint32_t>(10000)] { return sum.fetch_add(*ten); }));
        std::array<uint64_t, 6> whole{1, 2, 3, 4, 5, 6};  // 48 bytes
        static_assert(sizeof whole == 48);
        const auto large = [whole] {
            for (uint64_t each : whole) sum.fetch_add(static_cast<uint32_t>(each) * 100000);
        };
        CHECK(AddTask(scheduler, large));
        struct alignas(16) Aligned {
            uint32_t value = 10000000;
            void operator()() const {
                if (reinterpret_cast<uintptr_t>(this) % 16 == 0) sum.fetch_add(value);
            }
        };
        CHECK(AddTask(scheduler, Aligned()));
    });
    CHECK(sum.load() == 12111111);
    CHECK(seen.load() == &runner.scheduler);
}

TEST_CASE("closures: the destructor of a closure may wait", "[closure]") {
    struct Waits {
        Waits(Ledger &toLedger, Counter &toGate) : counted(toLedger), gate(&toGate) {}
        Waits(Waits &&other) noexcept
            : counted(std::move(other.counted)), gate(std::exchange(other.gate, nullptr)) {}
        ~Waits() {
            if (gate != nullptr) TaskScheduler::Current()->WaitForCounter(gate);
        }
        void operator()() { counted(); }
        Counted counted;
        Counter *gate;
    };
    for (uint32_t workers : {1u, 2u}) {
        Ledger ledger;
        Counter gate(1);
        test::RunQuietly(test::Options(workers), [&](TaskScheduler &scheduler) {
            Counter all;
            for (int i = 0; i < 40; ++i) AddTask(scheduler, Waits(ledger, gate), &all);
            while (ledger.called.load() != 40) scheduler.Yield();
            CHECK(all.Value() == 40);
            scheduler.DecrementCounter(&gate);
            scheduler.WaitForCounter(&all);
        });
        CheckAll(ledger, 40);
    }
}

TEST_CASE("closures: submitted by attached and external threads", "[closure]") {
    for (const test::Life life : {test::Life::Run, test::Life::Start}) {
        INFO(test::Describe(life));
        Ledger ledger;
        std::atomic<uint32_t> wrong{0};
        test::HostMayStall(test::Options(2), life, [&](TaskScheduler &scheduler) {
            test::Threads threads(4, [&](uint32_t thread) {
                Counter counter;
                const bool attaches = thread % 2 == 0;
                if (attaches && scheduler.AttachThread() != Status::Ok) wrong.fetch_add(1);
                for (int round = 0; round < 10; ++round) {
                    if (!Submit(scheduler, ledger, 30, round % 2 == 0 ? &counter : nullptr))
                        wrong.fetch_add(1);
                    if (round % 3 == 0) scheduler.WaitForCounter(&counter);
                }
                scheduler.WaitForCounter(&counter);
                if (attaches) scheduler.DetachThread();
            });
        });
        CHECK(wrong.load() == 0);
        CheckAll(ledger, 4 * 900);
    }
}

TEST_CASE("closures: without workers, the attached thread or Stop runs them", "[closure]") {
    Ledger ledger;
    Counter counter;
    test::HostQuietly(test::Options(0), [&](TaskScheduler &scheduler) {
        CHECK(Submit(scheduler, ledger, 10));
        REQUIRE(scheduler.AttachThread() == Status::Ok);
        CHECK(Submit(scheduler, ledger, 50, &counter));
        scheduler.WaitForCounter(&counter);
        CHECK(ledger.called.load() >= 150);
        scheduler.DetachThread();
        CHECK(Submit(scheduler, ledger, 10));
    });
    CheckAll(ledger, 210);
}

TEST_CASE("closures: options and counters are honoured", "[closure]") {
    test::TraceLog trace;
    std::atomic<uint32_t> elsewhere{0};
    bool hasRun = false;
    test::RunQuietly(trace.In(test::Options(2)), [&](TaskScheduler &scheduler) {
        Counter counter;
        for (int i = 0; i < 100; ++i) {
            AddTask(
                scheduler,
                [&](TaskScheduler *running) {
                    running->Yield();
                    elsewhere.fetch_add(running->CurrentWorker() != 1);
                },
                &counter, test::PinnedTo(1, "pinned closure"));
        }
        CHECK(counter.Value() <= 100);
        scheduler.WaitForCounter(&counter);
        AddTask(
            scheduler,
            [&] {
                volatile char room[100 << 10];  // more than the waiting task has touched
                room[0] = room[sizeof room - 1] = 1;
                hasRun = room[0] != 0;
            },
            &counter);
        scheduler.WaitForCounter(&counter);
    });
    CHECK(elsewhere.load() == 0);
    CHECK(hasRun);
    uint32_t named = 0;
    for (const test::LoggedEvent &event : trace.Events(test::Traced::TaskBegin))
        named += event.task == "pinned closure";
    CHECK(named == 100);
}

TEST_CASE("closures: High closures run first", "[closure][one_worker]") {
    std::vector<int> order;
    test::OneThread thread;  // its picks are the same each time
    REQUIRE(thread.IsFit());
    TaskScheduler &scheduler = thread.Scheduler();
    Counter counter;
    AddTask(
        scheduler, [&] { order.push_back(2); }, &counter, test::kLow);
    AddTask(
        scheduler, [&] { order.push_back(1); }, &counter);
    AddTask(
        scheduler, [&] { order.push_back(0); }, &counter, test::kHigh);
    scheduler.WaitForCounter(&counter);
    CHECK(order == std::vector<int>{0, 1, 2});
}

TEST_CASE("closures: a refused one is destroyed at once, and reported", "[closure]") {
    Ledger ledger;
    uint32_t refused = 0;
    const auto isRefused = [&](TaskScheduler &scheduler, Counter *counter,
                               const TaskOptions &options) {
        const uint32_t before = ledger.Alive();
        const bool submitted = AddTask(scheduler, MoveOnly(ledger), counter, options);
        ++refused;
        return !submitted && ledger.Alive() == before;
    };
    Counter full(~0u), others(0), mine;
    TaskOptions unattached, priority, nobody;
    unattached.worker = 2;
    priority.priority = static_cast<Priority>(7);
    nobody.worker = 1000;
    test::Runner other(test::Options(1)), runner(test::Options(2));
    CHECK(isRefused(runner.scheduler, nullptr, {}));  // it does not run yet
    REQUIRE(other.scheduler.Start() == Status::Ok);
    REQUIRE(other.scheduler.IncrementCounter(&others));
    const auto refuseAll = [&](TaskScheduler &scheduler) {
        for (int round = 0; round < 100; ++round) {
            CHECK(isRefused(scheduler, &full, {}));
            CHECK(isRefused(scheduler, &others, {}));
            CHECK(isRefused(scheduler, &mine, unattached));
            CHECK(isRefused(scheduler, &mine, priority));
            CHECK(isRefused(scheduler, &mine, nobody));
        }
    };
    CHECK(runner.Run([&](TaskScheduler &scheduler) {
        refuseAll(scheduler);
        std::thread([&] { refuseAll(scheduler); }).join();
        CHECK(Submit(scheduler, ledger, 100, &mine));
        scheduler.WaitForCounter(&mine);
    }) == Status::Ok);
    CHECK(isRefused(runner.scheduler, nullptr, {}));  // it has stopped
    other.scheduler.DecrementCounter(&others);
    other.scheduler.Stop();
    CheckAll(ledger, 300);
    CHECK(mine.IsZero());
    CHECK(runner.log.CountOf(ReportCode::NotRunning) == 2);
    CHECK(runner.log.CountOf(ReportCode::CounterOverflow) == 200);
    CHECK(runner.log.CountOf(ReportCode::WrongScheduler) == 200);
    CHECK(runner.log.CountOf(ReportCode::BadOption) == 600);
    CHECK(runner.log.Count() == refused);
}

TEST_CASE("closures: the block of a refused one is used again", "[closure]") {
    for (const bool external : {false, true}) {
        INFO((external ? "by another thread" : "by a task"));
        Ledger ledger;
        Counter full(~0u);
        uint32_t submitted = 0;
        test::Runner runner(test::Options(1));
        CHECK(runner.Run([&](TaskScheduler &scheduler) {
            const auto refuse = [&] {
                const test::FailingAllocation failing(0);  // there are 64 blocks
                for (int i = 0; i < 200; ++i)
                    submitted += AddTask(scheduler, MoveOnly(ledger), &full);
            };
            external ? std::thread(refuse).join() : refuse();
        }) == Status::Ok);
        CHECK(submitted == 0);
        CheckAll(ledger, 0);
        test::CheckOnly(runner.log, ReportCode::CounterOverflow, 200);
    }
}

TEST_CASE("report NullTask: a closure that is a null function pointer", "[closure]") {
    test::Runner runner(test::Options(1));
    CHECK(runner.Run([&](TaskScheduler &scheduler) {
        void (*function)() = nullptr;
        CHECK(!AddTask(scheduler, function));
    }) == Status::Ok);
    test::CheckOnly(runner.log, ReportCode::NullTask, 1);
}

TEST_CASE("report InHook: a closure by a hook that must not submit", "[closure]") {
    static TaskScheduler *running;
    static Ledger ledger;
    static std::atomic<uint32_t> refused{0}, submitted{0};
    SchedulerOptions options = test::Options(2);
    options.trace.event = [](const TraceEvent &event, void *) {
        if (event.kind == TraceKind::FiberSwitch && refused.load() < 10)
            refused.fetch_add(!AddTask(*running, MoveOnly(ledger)));
        if (event.kind == TraceKind::Wait && submitted.load() < 10)
            submitted.fetch_add(AddTask(*running, MoveOnly(ledger)));
    };
    test::Runner runner(options);
    running = &runner.scheduler;
    CHECK(runner.Run([&](TaskScheduler &scheduler) {
        for (int i = 0; i < 20; ++i) {
            scheduler.Yield();
            Counter counter;
            AddTask(
                scheduler, [](TaskScheduler *self) { self->Yield(); }, &counter);
            scheduler.WaitForCounter(&counter);
        }
    }) == Status::Ok);
    CHECK(refused.load() >= 10);
    CheckAll(ledger, submitted.load());
    test::CheckOnly(runner.log, ReportCode::InHook, refused.load());
}

TEST_CASE("report OutOfMemory: without memory for a block, a closure is refused and destroyed",
          "[closure]") {
    for (const bool external : {false, true}) {
        INFO((external ? "by another thread" : "by a task"));
        Ledger ledger;
        uint32_t submitted = 0, refused = 0;
        test::Runner runner(test::Options(1));
        CHECK(runner.Run([&](TaskScheduler &scheduler) {
            const auto submit = [&] {
                const test::FailingAllocation failing(0);
                for (int i = 0; i < 66; ++i)
                    ++(AddTask(scheduler, MoveOnly(ledger)) ? submitted : refused);
            };
            external ? std::thread(submit).join() : submit();
        }) == Status::Ok);
        CHECK(submitted == 64);
        CHECK(refused == 2);
        CheckAll(ledger, 64);
        test::CheckOnly(runner.log, ReportCode::OutOfMemory, 2);
    }
}

#if !defined(WEFT_NO_EXCEPTIONS)  // built without exceptions, weft catches none
TEST_CASE("report TaskThrew: a closure that throws is destroyed", "[closure]") {
    Ledger ledger;
    test::Runner runner(test::Options(2));
    CHECK(runner.Run([&](TaskScheduler &scheduler) {
        Counter counter;
        for (int i = 0; i < 100; ++i) {
            AddTask(
                scheduler,
                [counted = MoveOnly(ledger)]() mutable {
                    counted();
                    throw std::runtime_error("thrown");
                },
                &counter);
        }
        scheduler.WaitForCounter(&counter);
        CHECK(ledger.Alive() == 0);
    }) == Status::Ok);
    CheckAll(ledger, 100);
    CHECK(runner.log.CountOf(ReportCode::TaskThrew) == 100);
}
#endif

TEST_CASE("closures: a copy that throws reaches the caller, and nothing is submitted",
          "[closure]") {
    struct Throws {
        Throws() = default;
        Throws(const Throws &) { throw std::runtime_error("thrown"); }
        Throws(Throws &&) noexcept {}
        void operator()() {}
    };
    test::RunQuietly(test::Options(1), [](TaskScheduler &scheduler) {
        Counter counter;
        const Throws throws;
        CHECK_THROWS(AddTask(scheduler, throws, &counter));
        CHECK(counter.IsZero());
        CHECK(AddTask(scheduler, Throws(), &counter));
        scheduler.WaitForCounter(&counter);
    });
}

TEST_CASE("closures: the run ends after them, and their blocks are memory of the host",
          "[closure]") {
    test::HostMemory memory;
    SchedulerOptions options = test::Options(2);
    memory.AttachTo(options.memory);
    Ledger ledger;
    int64_t grown = 0;
    test::Runner runner(options);
    for (int run = 0; run < 2; ++run) {
        CHECK(runner.Run([&](TaskScheduler &scheduler) {
            const int64_t before = memory.Allocations();
            AddTask(scheduler, [&](TaskScheduler *running) {
                SleepFor(*running, std::chrono::milliseconds(2));
                AddTask(*running, MoveOnly(ledger));
            });
            for (int i = 0; i < 1000; ++i) AddTask(scheduler, MoveOnly(ledger));
            grown += memory.Allocations() - before;
        }) == Status::Ok);
        CHECK(memory.OutstandingBytes() == 0);
    }
    CHECK(grown >= 2);  // the first segment has no room for 1,000 blocks
    CHECK(memory.Wrong() == 0);
    CheckAll(ledger, 2002);
}
