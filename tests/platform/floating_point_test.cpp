#include "platform/floating_point.h"

#include "support/control_words.h"
#include "support/scheduler_run.h"
#include "support/threads.h"

#include <atomic>

#include <catch2/catch.hpp>

using namespace weft;
using namespace weft::internal;

#if defined(WEFT_TEST_CONTROL_WORDS)

TEST_CASE("floating point: control words are set and read without the status flags",
          "[floating_point]") {
    const uint64_t before = FloatingPointControl();
    CHECK((before & 0x3f) == 0);
    SetFloatingPointControl(before | test::kFlush);
    volatile double zero = 0;
    volatile double inexact = 1.0 / (3.0 + zero);  // raises a flag
    const uint64_t set = FloatingPointControl();
    SetFloatingPointControl(before);
    CHECK(inexact > 0);
    CHECK(set == (before | test::kFlush));
    CHECK(FloatingPointControl() == before);
}

TEST_CASE("control words: on every worker, tasks start with those of the caller of Run",
          "[floating_point]") {
    const uint64_t before = FloatingPointControl();
    const uint64_t flush = before | test::kFlush;
    test::Runner runner(test::Options(3));
    std::atomic<uint32_t> wrong{0}, ran{0};
    test::Batch batch(200, [&](TaskScheduler &scheduler, uint32_t i) {
        if (FloatingPointControl() != flush) wrong.fetch_add(1);
        if (i % 10 == 0) scheduler.Yield();
        if (FloatingPointControl() != flush) wrong.fetch_add(1);
        ran.fetch_add(1);
    });
    SetFloatingPointControl(flush);
    const Status status = runner.Run(
        [&](TaskScheduler &scheduler) { scheduler.AddTasksAndWait(200, batch.Tasks()); });
    const uint64_t after = FloatingPointControl();
    SetFloatingPointControl(before);
    CHECK(status == Status::Ok);
    CHECK(after == flush);
    CHECK(ran.load() == 200);
    CHECK(wrong.load() == 0);
}

namespace {

// The words that onStart sets on the thread of a worker. They differ between workers.
uint64_t WordsOf(uint32_t worker, uint64_t normal) {
    return normal | (worker % 2 == 0 ? test::kFlush : test::kToZero);
}

struct Begun {
    std::atomic<uint32_t> ran{0}, wrong{0};
};

// A task must begin with the words of its worker, and keep them over waits, on any worker.
void CheckWords(TaskScheduler &scheduler, uint64_t normal, Begun &begun) {
    const uint64_t expected = WordsOf(scheduler.CurrentWorker(), normal);
    begun.wrong.fetch_add(FloatingPointControl() != expected);
    for (int i = 0; i < 3; ++i) {
        scheduler.Yield();
        begun.wrong.fetch_add(FloatingPointControl() != expected);
    }
    begun.ran.fetch_add(1);
}

}  // namespace

TEST_CASE("control words: tasks start with, and keep, those that onStart set on their worker",
          "[floating_point]") {
    for (test::Life life : {test::Life::Run, test::Life::Start}) {
        INFO(test::Describe(life));
        static uint64_t s_normal;
        s_normal = FloatingPointControl();
        SchedulerOptions options = test::Options(3, 20);
        options.threads.onStart = [](uint32_t worker, void *) {
            SetFloatingPointControl(WordsOf(worker, s_normal));
        };
        test::Runner runner(options);
        Begun begun;
        test::Batch batch(200, [&](TaskScheduler &scheduler, uint32_t) {
            CheckWords(scheduler, s_normal, begun);
        });
        // The caller is worker 0.
        if (life == test::Life::Run) SetFloatingPointControl(WordsOf(0, s_normal));
        CHECK(test::WhileItRuns(runner, life, [&](TaskScheduler &scheduler) {
                  for (uint32_t round = 0; round < 5; ++round) {
                      Counter counter;
                      scheduler.AddTasks(200, batch.Tasks(), &counter,
                                         round % 2 == 0 ? test::kHigh : TaskOptions{});
                      for (uint32_t worker = 0; worker < 3; ++worker) {
                          scheduler.AddTasks(20, batch.Tasks(), &counter,
                                             {Priority::Normal, worker, "pinned"});
                      }
                      // An external thread waits, so it runs no task inline.
                      scheduler.WaitForCounter(&counter);
                  }
              }) == Status::Ok);
        const uint64_t after = FloatingPointControl();
        SetFloatingPointControl(s_normal);
        CHECK(after == (life == test::Life::Run ? WordsOf(0, s_normal) : s_normal));
        CHECK(begun.ran.load() == 5 * 260);
        CHECK(begun.wrong.load() == 0);
        CHECK(test::Faults(runner.log) == "");
    }
}

TEST_CASE("control words: tasks start with those that an attached thread had when it attached",
          "[floating_point]") {
    const uint64_t normal = FloatingPointControl(), flush = normal | test::kFlush,
                   toZero = normal | test::kToZero;
    for (uint32_t workers : {0u, 1u}) {
        test::Runner runner(test::Options(workers));
        REQUIRE(runner.scheduler.Start() == Status::Ok);
        for (uint64_t words : {flush, toZero, normal}) {
            uint32_t wrong = 0, ran = 0;  // plain: only this thread uses them
            test::Batch batch(20, [&](TaskScheduler &scheduler, uint32_t) {
                wrong += FloatingPointControl() != words;
                scheduler.Yield();
                wrong += FloatingPointControl() != words;
                ++ran;
            });
            SetFloatingPointControl(words);
            if (runner.scheduler.AttachThread() != Status::Ok) wrong += 1000;
            runner.scheduler.AddTasksAndWait(20, batch.Tasks(),
                                             {Priority::Normal, workers, "pinned"});
            wrong += FloatingPointControl() != words;
            SetFloatingPointControl(normal);  // from now on the thread has its own words
            runner.scheduler.AddTasksAndWait(20, batch.Tasks(),
                                             {Priority::Normal, workers, "pinned"});
            wrong += FloatingPointControl() != normal;
            runner.scheduler.DetachThread();
            CHECK(ran == 40);
            CHECK(wrong == 0);
        }
        runner.scheduler.Stop();
        CHECK(runner.log.Text() == "");
    }
}

TEST_CASE("control words: threads of weft start with those of the caller of Start",
          "[floating_point]") {
    const uint64_t normal = FloatingPointControl(), flush = normal | test::kFlush;
    static std::atomic<uint64_t> s_seen[2];
    SchedulerOptions options = test::Options(2);
    options.threads.onStart = [](uint32_t worker, void *) {
        s_seen[worker].store(FloatingPointControl());
    };
    test::Runner runner(options);
    SetFloatingPointControl(flush);
    const Status status = runner.scheduler.Start();
    SetFloatingPointControl(normal);
    REQUIRE(status == Status::Ok);
    runner.scheduler.Stop();
    CHECK(s_seen[0].load() == flush);
    CHECK(s_seen[1].load() == flush);
}

#if defined(__x86_64__) && defined(__GNUC__)
TEST_CASE("control words: the x87 control word follows the same rules", "[floating_point]") {
    static uint16_t s_toZero;
    uint16_t normal;
    __asm__ __volatile__("fnstcw %0" : "=m"(normal));
    s_toZero = static_cast<uint16_t>(normal | 0x0c00);  // sets the rounding mode
    SchedulerOptions options = test::Options(2);
    options.threads.onStart = [](uint32_t, void *) {
        __asm__ __volatile__("fldcw %0" : : "m"(s_toZero));
    };
    test::Runner runner(options);
    std::atomic<uint32_t> wrong{0}, ran{0};
    test::Batch batch(50, [&](TaskScheduler &scheduler, uint32_t) {
        for (int i = 0; i < 2; ++i) {
            uint16_t now;
            __asm__ __volatile__("fnstcw %0" : "=m"(now));
            wrong.fetch_add(now != s_toZero);
            scheduler.Yield();
        }
        ran.fetch_add(1);
    });
    REQUIRE(runner.scheduler.Start() == Status::Ok);
    runner.scheduler.AddTasksAndWait(50, batch.Tasks());
    runner.scheduler.Stop();
    uint16_t after;
    __asm__ __volatile__("fnstcw %0" : "=m"(after));
    CHECK(after == normal);
    CHECK(ran.load() == 50);
    CHECK(wrong.load() == 0);
}
#endif

#if defined(WEFT_DEBUG)
TEST_CASE(
    "report FloatingPointState: names the task that changed the control words, and restores them",
    "[floating_point]") {
    test::Runner runner(test::Options(1));
    const uint64_t before = FloatingPointControl();
    std::atomic<uint32_t> wrong{0};
    test::Batch batch(2, [&](TaskScheduler &, uint32_t i) {
        if (FloatingPointControl() != before) wrong.fetch_add(1);
        if (i == 1) SetFloatingPointControl(before | test::kToZero);
    });
    CHECK(runner.Run([&](TaskScheduler &scheduler) {
        scheduler.AddTasksAndWait(1, batch.Tasks() + 1, test::Named("rounder"));
        scheduler.AddTasksAndWait(1, batch.Tasks());
    }) == Status::Ok);
    CHECK(wrong.load() == 0);
    CHECK(runner.log.Count() == 1);
    CHECK(runner.log.First(ReportCode::FloatingPointState).task == "rounder");
    CHECK(test::Names(runner.log.First(ReportCode::FloatingPointState).hint, "Restore rounding"));
}
#endif

#endif
