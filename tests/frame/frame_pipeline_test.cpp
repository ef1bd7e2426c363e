#include "weft/frame/frame_pipeline.h"

#include "platform/compiler.h"
#include "support/scheduler_run.h"

#include <atomic>
#include <stdexcept>
#include <thread>
#include <vector>

#include <catch2/catch.hpp>

using namespace weft;

namespace {

constexpr uint32_t kStages = 3;

// Stages that check the order in which they run, and what they find. `wrong` counts the mistakes.
struct Record {
    struct Arg {
        Record *record;
        uint32_t stage;
    };
    explicit Record(uint32_t framesInFlight, uint32_t stageCount = kStages)
        : inFlight(framesInFlight), count(stageCount) {
        for (uint32_t i = 0; i < count; ++i) args[i] = {this, i}, stages[i] = {Run, &args[i], {}};
    }

    static void Run(TaskScheduler *scheduler, const FrameParams &params, void *arg) {
        const Arg &own = *static_cast<Arg *>(arg);
        Record &it = *own.record;
        const uint64_t frame = params.frame;
        const auto ended = [&](uint32_t stage) { return it.ended[stage].load(); };
        bool good = ended(own.stage) == frame && params.slot == frame % it.inFlight &&
                    params.stageCount == it.count;
        good = good && (own.stage == 0 || ended(own.stage - 1) > frame) &&
               ended(it.count - 1) + it.inFlight > frame;
        good = good && scheduler->CurrentFiber() != kAnyWorker;
        if (own.stage == 0) {
            it.slots[params.slot] = frame;  // plain: ThreadSanitizer has to find the order
            it.most = std::max(it.most, frame + 1 - ended(it.count - 1));
        }
        good = good && it.slots[params.slot] == frame &&
               params.stages[own.stage].begin.time_since_epoch().count() != 0;
        if (it.children != 0) {
            std::atomic<uint32_t> ran{0};
            test::Batch batch(it.children, [&](TaskScheduler &, uint32_t) { ++ran; });
            scheduler->AddTasksAndWait(batch.Count(), batch.Tasks());
            good = good && ran == it.children;
        }
        if (it.onStage) good = it.onStage(*scheduler, own.stage, params) && good;
        good = good && it.slots[params.slot] == frame;
        it.wrong += good ? 0 : 1;
        ++it.ended[own.stage];
    }

    uint32_t inFlight, count, children = 0;
    std::function<bool(TaskScheduler &, uint32_t stage, const FrameParams &)> onStage;
    std::atomic<uint64_t> ended[kMaxFrameStages]{};
    uint64_t slots[kMaxFramesInFlight]{}, most = 0;
    std::atomic<uint32_t> wrong{0};
    Arg args[kMaxFrameStages];
    FrameStage stages[kMaxFrameStages];
};

}  // namespace

TEST_CASE("FramePipeline: stages run in order, and the limit of frames in flight holds",
          "[frame]") {
    for (const test::GridPoint &point : test::GridOfLargePools()) {
        for (const uint32_t inFlight : {1u, 2u, 3u, 8u}) {
            INFO(test::Describe(point) << ", " << inFlight << " in flight");
            test::Runner runner(point);
            Record record(inFlight);
            record.children = inFlight;
            FramePipeline pipeline({}, kStages, record.stages, inFlight);
            CHECK(runner.Run([&](TaskScheduler &scheduler) {
                if (pipeline.Run(&scheduler, 40) != Status::Ok) ++record.wrong;
            }) == Status::Ok);
            CHECK(record.wrong == 0);
            CHECK(record.most <= inFlight);
            for (uint32_t i = 0; i < kStages; ++i) CHECK(record.ended[i] == 40);
            CHECK(pipeline.Frames().HasFrameCompleted(39));
            CHECK(!pipeline.Frames().HasFrameCompleted(40));
            CHECK(runner.log.Text() == "");
        }
    }
}

TEST_CASE("FramePipeline: four fibers are enough for two stages", "[frame]") {
    for (const uint32_t workers : {1u, 2u, 3u, 8u}) {
        test::Runner runner(test::Options(workers, 4));
        Record record(2, 2);
        record.children = 4;
        FramePipeline pipeline({}, 2, record.stages);
        CHECK(runner.Run([&](TaskScheduler &scheduler) { pipeline.Run(&scheduler, 40); }) ==
              Status::Ok);
        CHECK(record.wrong == 0);
        CHECK(record.ended[1] == 40);
    }
}

// Each stage of a frame waits until the previous stage has begun the next frame.
TEST_CASE("FramePipeline: consecutive frames overlap", "[frame]") {
    for (const uint32_t workers : {1u, 2u, 3u}) {
        test::Runner runner(test::Options(workers));
        constexpr uint64_t kFrames = 30;
        Record record(kStages);
        std::atomic<uint64_t> begun[kStages]{};
        record.onStage = [&](TaskScheduler &scheduler, uint32_t stage, const FrameParams &params) {
            begun[stage] = params.frame + 1;
            if (stage == 0 || params.frame + 1 == kFrames) return true;
            return test::YieldUntil(scheduler, [&] { return begun[stage - 1] > params.frame + 1; });
        };
        FramePipeline pipeline({}, kStages, record.stages, kStages);
        CHECK(runner.Run([&](TaskScheduler &scheduler) { pipeline.Run(&scheduler, kFrames); }) ==
              Status::Ok);
        CHECK(record.wrong == 0);
        CHECK(record.most == kStages);
    }
}

namespace {

// In a function of its own: a function makes room for all its variables when it begins.
WEFT_NOINLINE bool UsesMuchStack() {
    volatile char large[100 << 10];
    large[0] = 1;
    large[sizeof large - 1] = 1;
    return large[0] == 1;
}

}  // namespace

TEST_CASE("FramePipeline: each stage runs with its options", "[frame]") {
    test::Runner runner(test::Options(3));
    Record record(2);
    record.stages[0].options = {Priority::High, kAnyWorker, "game"};
    record.stages[2].options = {Priority::Normal, 0, "present"};
    record.onStage = [&](TaskScheduler &scheduler, uint32_t stage, const FrameParams &) {
        if (stage != 0) return stage == 1 || scheduler.CurrentWorker() == 0;
        return UsesMuchStack();
    };
    FramePipeline pipeline({}, kStages, record.stages);
    CHECK(runner.Run([&](TaskScheduler &scheduler) { pipeline.Run(&scheduler, 50); }) ==
          Status::Ok);
    CHECK(record.wrong == 0);
    CHECK(record.ended[2] == 50);
}

TEST_CASE("FramePipeline: the times of the stages of a frame are in order", "[frame]") {
    test::Runner runner(test::Options(2));
    Record record(2);
    FramePipeline pipeline({}, kStages, record.stages);
    CHECK(runner.Run([&](TaskScheduler &scheduler) { pipeline.Run(&scheduler, 40); }) ==
          Status::Ok);
    FrameParams params, before;
    CHECK(!pipeline.Frames().Read(40 - FrameRing::kFrames - 1, &params));
    for (uint64_t frame = 40 - FrameRing::kFrames; frame < 40; ++frame) {
        REQUIRE(pipeline.Frames().Read(frame, &params));
        for (uint32_t i = 0; i < kStages; ++i) {
            CHECK(params.stages[i].begin <= params.stages[i].end);
            if (i != 0) CHECK(params.stages[i - 1].end <= params.stages[i].begin);
            if (before.frame + 1 == frame) CHECK(before.stages[i].end <= params.stages[i].begin);
        }
        before = params;
    }
}

TEST_CASE("FramePipeline: Stop completes the frames that have begun", "[frame]") {
    for (const uint32_t stopper : {0u, 1u, 2u}) {
        for (const uint32_t workers : {1u, 3u}) {
            test::Runner runner(test::Options(workers));
            Record record(2);
            FramePipeline *running = nullptr;
            record.onStage = [&](TaskScheduler &, uint32_t stage, const FrameParams &params) {
                if (stage == stopper && params.frame == 20) running->Stop();
                return true;
            };
            FramePipeline pipeline({}, kStages, record.stages);
            running = &pipeline;
            CHECK(runner.Run([&](TaskScheduler &scheduler) { pipeline.Run(&scheduler); }) ==
                  Status::Ok);
            const uint64_t frames = record.ended[0];
            CHECK(frames >= 21);
            CHECK(frames <= 23);
            CHECK(record.ended[2] == frames);
            CHECK(pipeline.Frames().FramesCompleted() == frames);
            CHECK(record.wrong == 0);
        }
    }
}

TEST_CASE("FramePipeline: Stop before Run is not lost, and a pipeline runs again", "[frame]") {
    test::Runner runner(test::Options(2));
    Record record(2);
    FramePipeline pipeline({}, kStages, record.stages);
    pipeline.Stop();
    CHECK(runner.Run([&](TaskScheduler &scheduler) {
        if (pipeline.Run(&scheduler) != Status::Ok) ++record.wrong;
        if (record.ended[0] != 0) ++record.wrong;
        for (int run = 0; run < 3; ++run) {
            for (std::atomic<uint64_t> &ended : record.ended) ended = 0;
            if (pipeline.Run(&scheduler, 10) != Status::Ok || record.ended[2] != 10) ++record.wrong;
        }
        if (pipeline.Run(&scheduler, 0) != Status::Ok) ++record.wrong;
    }) == Status::Ok);
    CHECK(record.wrong == 0);
    test::Runner other(test::Options(3));  // at zero its counters belong to no scheduler
    for (std::atomic<uint64_t> &ended : record.ended) ended = 0;
    CHECK(other.Run([&](TaskScheduler &scheduler) { pipeline.Run(&scheduler, 10); }) == Status::Ok);
    CHECK(record.ended[2] == 10);
    CHECK(other.log.Text() == "");
}

TEST_CASE("FramePipeline: a run of 0 frames consumes Stop, and has no frames", "[frame]") {
    test::Runner runner(test::Options(2));
    Record record(2);
    FramePipeline pipeline({}, kStages, record.stages);
    pipeline.Stop();
    CHECK(runner.Run([&](TaskScheduler &scheduler) {
        if (pipeline.Run(&scheduler, 0) != Status::Ok) ++record.wrong;
        if (pipeline.Run(&scheduler, 3) != Status::Ok || record.ended[2] != 3) ++record.wrong;
        if (!pipeline.WaitForFrame(&scheduler, 2)) ++record.wrong;
        if (pipeline.Run(&scheduler, 0) != Status::Ok || pipeline.WaitForFrame(&scheduler, 2))
            ++record.wrong;
    }) == Status::Ok);
    CHECK(record.wrong == 0);
    FrameParams params;
    CHECK(!pipeline.Frames().Read(2, &params));
    CHECK(runner.log.Text() == "");
}

TEST_CASE("FramePipeline: tasks and external threads wait for a frame", "[frame]") {
    test::Runner runner(test::Options(2));
    Record record(2);
    FramePipeline pipeline({}, kStages, record.stages);
    REQUIRE(runner.scheduler.Start() == Status::Ok);
    CHECK(!pipeline.WaitForFrame(&runner.scheduler, 0));
    std::atomic<bool> begun{false};
    std::atomic<uint32_t> come{0};
    record.onStage = [&](TaskScheduler &scheduler, uint32_t stage, const FrameParams &params) {
        begun = true;
        if (stage != 2 || params.frame != 10) return true;
        // The waits begin before frame 10 has completed.
        return test::YieldUntil(scheduler, [&] { return come == 3; });
    };
    const auto wait = [&](uint64_t frame, uint64_t until) {
        ++come;
        return pipeline.WaitForFrame(&runner.scheduler, frame) == (frame < until) &&
               (frame >= until || record.ended[2] > frame);
    };
    std::thread run(
        [&] { record.wrong += pipeline.Run(&runner.scheduler, 30) == Status::Ok ? 0 : 1; });
    while (!begun) std::this_thread::yield();
    std::thread thread([&] { record.wrong += wait(10, 30) ? 0 : 1; });
    test::Batch batch(2, [&](TaskScheduler &, uint32_t index) {
        record.wrong += wait(index == 0 ? 12 : 30, 30) ? 0 : 1;
    });
    runner.scheduler.AddTasksAndWait(2, batch.Tasks());
    thread.join();
    run.join();
    CHECK(pipeline.WaitForFrame(&runner.scheduler, 29));
    CHECK(!pipeline.WaitForFrame(&runner.scheduler, ~uint64_t{0}));
    runner.scheduler.Stop();
    CHECK(record.wrong == 0);
    CHECK(runner.log.Text() == "");
}

TEST_CASE("FramePipeline: outside of a run, WaitForFrame returns at once", "[frame]") {
    test::Runner runner(test::Options(2));
    Record record(2);
    FramePipeline pipeline({}, kStages, record.stages);
    CHECK(!pipeline.WaitForFrame(&runner.scheduler, 0));
    CHECK(runner.Run([&](TaskScheduler &scheduler) { pipeline.Run(&scheduler, 10); }) ==
          Status::Ok);
    CHECK(pipeline.WaitForFrame(&runner.scheduler, 9));
    for (const uint64_t none : {uint64_t{10}, uint64_t{FramePipeline::kEndless} - 1, ~uint64_t{0}})
        CHECK(!pipeline.WaitForFrame(&runner.scheduler, none));
    CHECK(runner.log.Text() == "");
}

#if !defined(WEFT_NO_EXCEPTIONS)  // built without exceptions, weft catches none
TEST_CASE("FramePipeline: an exception in a stage is reported, and later frames run", "[frame]") {
    test::Runner runner(test::Options(2));
    Record record(2);
    record.stages[1].options.name = "render";
    FramePipeline pipeline({}, kStages, record.stages);
    record.onStage = [&](TaskScheduler &, uint32_t stage, const FrameParams &params) {
        if (stage == 1 && params.frame == 5) {
            ++record.ended[1];
            throw std::runtime_error("stage");
        }
        return true;
    };
    CHECK(runner.Run([&](TaskScheduler &scheduler) { pipeline.Run(&scheduler, 10); }) ==
          Status::Ok);
    CHECK(record.ended[2] == 10);
    CHECK(runner.log.CountOf(ReportCode::TaskThrew) == 1);
    CHECK(runner.log.First(ReportCode::TaskThrew).task == "render");
    FrameParams params;
    REQUIRE(pipeline.Frames().Read(5, &params));
    CHECK(params.stages[1].end >= params.stages[1].begin);
}
#endif

TEST_CASE("FramePipeline: arguments out of range are reported, and nothing runs", "[frame]") {
    test::Runner runner(test::Options(2));
    Record record(1);
    SchedulerOptions options;
    runner.log.AttachTo(options);
    const auto refused = [&](uint32_t stageCount, const FrameStage *stages, uint32_t inFlight) {
        FramePipeline pipeline(options, stageCount, stages, inFlight);
        Status status = Status::Ok;
        runner.Run([&](TaskScheduler &scheduler) { status = pipeline.Run(&scheduler, 3); });
        const bool completed = pipeline.WaitForFrame(&runner.scheduler, 2);
        return status == Status::BadOption && !completed;
    };
    CHECK(refused(0, record.stages, 2));
    CHECK(refused(9, record.stages, 2));
    CHECK(refused(kStages, nullptr, 2));
    CHECK(refused(kStages, record.stages, 0));
    CHECK(refused(kStages, record.stages, 9));
    record.stages[2].function = nullptr;
    CHECK(refused(kStages, record.stages, 2));
    CHECK(runner.log.CountOf(ReportCode::BadOption) == 6);
    record.stages[2].function = Record::Run;
    for (uint32_t stage = 0; stage < kStages; ++stage) {
        record.stages[stage].options.worker = 4000;
        CHECK(refused(kStages, record.stages, 2));
        record.stages[stage].options.worker = kAnyWorker;
        CHECK(runner.log.CountOf(ReportCode::BadOption) == 7 + stage);
    }
    CHECK(record.ended[0] == 0);
    CHECK(!refused(kStages, record.stages, 1));
    CHECK(record.ended[2] == 3);
    CHECK(runner.log.Count() == 9);
}

TEST_CASE("FramePipeline: Run is refused during a run, and without a running scheduler",
          "[frame]") {
    test::Runner runner(test::Options(2));
    Record record(2);
    SchedulerOptions options;
    runner.log.AttachTo(options);
    FramePipeline pipeline(options, kStages, record.stages);
    CHECK(pipeline.Run(&runner.scheduler, 3) == Status::NotRunning);
    CHECK(runner.log.CountOf(ReportCode::NotRunning) == 1);
    FramePipeline *running = &pipeline;
    record.onStage = [&](TaskScheduler &scheduler, uint32_t, const FrameParams &) {
        return running->Run(&scheduler, 1) == Status::AlreadyRunning;
    };
    CHECK(runner.Run([&](TaskScheduler &scheduler) { pipeline.Run(&scheduler, 3); }) == Status::Ok);
    CHECK(record.wrong == 0);
    CHECK(record.ended[2] == 3);
    CHECK(runner.log.CountOf(ReportCode::BadOption) == 9);
}

TEST_CASE("report BadOption: a FramePipeline without a scheduler", "[frame][report]") {
    test::ReportLog log;
    SchedulerOptions options;
    log.AttachTo(options);
    Record record(1);
    FramePipeline pipeline(options, kStages, record.stages, 1);
    CHECK(pipeline.Run(nullptr, 1) == Status::BadOption);
    CHECK(!pipeline.WaitForFrame(nullptr, 0));
    CHECK(log.CountOf(ReportCode::BadOption) == 2);
    CHECK(log.Count() == 2);
}
