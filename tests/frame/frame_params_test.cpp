#include "weft/frame/frame_params.h"

#include "support/report_log.h"
#include "support/spin.h"

#include <atomic>
#include <thread>

#include <catch2/catch.hpp>

using namespace weft;

namespace {

using TimePoint = std::chrono::steady_clock::time_point;

struct Logged {
    SchedulerOptions WithLog() {
        SchedulerOptions options;
        log.AttachTo(options);
        return options;
    }
    test::ReportLog log;
    FrameRing ring{WithLog()};
};

}  // namespace

TEST_CASE("FrameRing: Read returns the times of that frame", "[frame]") {
    FrameRing ring;
    ring.Restart(3, 2);
    FrameParams params;
    CHECK(!ring.Read(0, &params));
    const TimePoint before = std::chrono::steady_clock::now();
    ring.BeginFrame(0);
    ring.BeginFrame(1);
    ring.BeginStage(0, 0);
    ring.EndStage(0, 0);
    ring.BeginStage(0, 1);
    const TimePoint after = std::chrono::steady_clock::now();
    REQUIRE(ring.Read(0, &params));
    CHECK(params.frame == 0);
    CHECK(params.slot == 0);
    CHECK(params.stageCount == 3);
    CHECK(before <= params.stages[0].begin);
    CHECK(params.stages[0].begin <= params.stages[0].end);
    CHECK(params.stages[0].end <= params.stages[1].begin);
    CHECK(params.stages[1].begin <= after);
    CHECK(params.stages[1].end == TimePoint{});
    CHECK(params.stages[2].begin == TimePoint{});
    REQUIRE(ring.Read(1, &params));
    CHECK(params.slot == 1);
    CHECK(params.stages[0].begin == TimePoint{});
    CHECK(!ring.Read(2, &params));
}

TEST_CASE("FrameRing: there is no frame before frame 0", "[frame]") {
    FrameRing ring;
    ring.Restart(1, 2);
    FrameParams params;
    CHECK(!ring.Read(~uint64_t{0}, &params));
    ring.BeginFrame(0);
    REQUIRE(ring.Read(0, &params));
    CHECK(!ring.Read(params.frame - 1, &params));
    CHECK(params.frame == 0);
    CHECK(!ring.HasFrameCompleted(params.frame - 1));
}

TEST_CASE("FrameRing: it has the last 16 frames", "[frame]") {
    FrameRing ring;
    ring.Restart(1, 3);
    FrameParams params;
    for (uint64_t frame = 0; frame < 50; ++frame) {
        CHECK(!ring.HasFrameCompleted(frame));
        CHECK(ring.FramesCompleted() == frame);
        ring.BeginFrame(frame);
        ring.BeginStage(frame, 0);
        ring.EndStage(frame, 0);
        ring.CompleteFrame(frame);
        CHECK(ring.HasFrameCompleted(frame));
        CHECK(ring.HasFrameCompleted(0));
        for (uint64_t other = 0; other < 60; ++other) {
            CHECK(ring.Read(other, &params) ==
                  (other <= frame && other + FrameRing::kFrames > frame));
        }
    }
    REQUIRE(ring.Read(49, &params));
    CHECK(params.slot == 1);
    ring.Restart(2, 1);
    CHECK(!ring.Read(49, &params));
    CHECK(!ring.HasFrameCompleted(0));
}

TEST_CASE("report BadOption: a FrameRing without stages or frames in flight, or with too many",
          "[frame][report]") {
    Logged logged;
    FrameRing &ring = logged.ring;
    FrameParams params;
    for (const uint32_t wrong : {0u, 9u, ~0u}) {
        ring.Restart(3, wrong);
        ring.Restart(wrong, 2);
    }
    CHECK(logged.log.CountOf(ReportCode::BadOption) == 6);
    CHECK(test::Names(logged.log.Text(), "3 stages, 0 frames in flight"));
    ring.BeginFrame(0);
    REQUIRE(ring.Read(0, &params));
    CHECK(params.stageCount == 1);  // the refused calls have changed nothing
    ring.Restart(8, 8);
    ring.BeginFrame(7);
    ring.CompleteFrame(7);
    ring.Restart(0, 0);
    REQUIRE(ring.Read(7, &params));  // the frames are still there
    CHECK(params.stageCount == 8);
    CHECK(params.slot == 7);
    CHECK(ring.HasFrameCompleted(7));
    CHECK(logged.log.Count() == 7);
}

TEST_CASE("report BadOption: a stage index that the FrameRing does not have", "[frame][report]") {
    Logged logged;
    FrameRing &ring = logged.ring;
    ring.Restart(3, 2);
    for (uint64_t frame = 0; frame < FrameRing::kFrames; ++frame) ring.BeginFrame(frame);
    for (const uint32_t stage : {3u, kMaxFrameStages, 2 * kMaxFrameStages, ~0u}) {
        ring.BeginStage(15, stage);
        ring.EndStage(15, stage);
    }
    CHECK(logged.log.CountOf(ReportCode::BadOption) == 8);
    CHECK(test::Names(logged.log.Text(), "EndStage: stage 8 of 3"));
    CHECK(ring.FramesCompleted() == 0);
    FrameParams params;
    for (uint64_t frame = 0; frame < FrameRing::kFrames; ++frame) {
        REQUIRE(ring.Read(frame, &params));
        for (const StageTimes &times : params.stages) {
            CHECK((times.begin == TimePoint{} && times.end == TimePoint{}));
        }
    }
}

TEST_CASE("report BadOption: FrameRing::Read with a null pointer", "[frame][report]") {
    Logged logged;
    logged.ring.BeginFrame(0);
    CHECK(!logged.ring.Read(0, nullptr));
    CHECK(logged.log.CountOf(ReportCode::BadOption) == 1);
}

// The times of a frame are never before those of the previous frame, and its end is never before
// its begin.
TEST_CASE("FrameRing: a reader during the run sees one whole frame or none", "[frame]") {
    FrameRing ring;
    ring.Restart(1, 1);
    constexpr uint64_t kFrames = 20000;
    std::atomic<uint32_t> wrong{0};
    std::atomic<bool> reading{false};
    uint64_t seen = 0;
    std::thread reader([&] {
        reading = true;
        FrameParams params;
        while (!ring.HasFrameCompleted(kFrames - 1)) {
            const uint64_t frame = ring.FramesCompleted();
            const TimePoint before = std::chrono::steady_clock::now();
            for (const uint64_t of : {frame, frame + 1, frame - FrameRing::kFrames + 1}) {
                if (!ring.Read(of, &params)) continue;
                ++seen;
                const StageTimes &times = params.stages[0];
                if (params.frame != of) ++wrong;
                if (times.end != TimePoint{} && times.end < times.begin) ++wrong;
                // This frame had completed before.
                if (of < frame && (times.end == TimePoint{} || times.end > before)) ++wrong;
            }
        }
    });
    while (!reading) std::this_thread::yield();
    for (uint64_t frame = 0; frame < kFrames; ++frame) {
        ring.BeginFrame(frame);
        ring.BeginStage(frame, 0);
        ring.EndStage(frame, 0);
        ring.CompleteFrame(frame);
    }
    reader.join();
    CHECK(wrong == 0);
    INFO("reads of frames: " << seen);
}

TEST_CASE("FrameRing: a reader during Restart sees one whole frame or none", "[frame]") {
    FrameRing ring;
    constexpr uint32_t kRestarts = 2000;
    std::atomic<uint32_t> wrong{0};
    std::atomic<uint32_t> reads{0};
    std::atomic<bool> reading{false}, ends{false};
    std::thread reader([&] {
        FrameParams params;
        while (!ends) {
            reading = true;
            if (!ring.Read(0, &params)) continue;
            // Orders nothing, so that ThreadSanitizer checks the order of the ring.
            reads.fetch_add(1, std::memory_order_relaxed);
            if (params.stageCount != 1 && params.stageCount != 2) ++wrong;
            if (params.frame != 0 || params.slot != 0) ++wrong;
        }
    });
    while (!reading) std::this_thread::yield();
    for (uint32_t i = 0; i < kRestarts; ++i) {
        ring.Restart(1 + i % 2, 1 + i % 3);
        ring.BeginFrame(0);
        ring.CompleteFrame(0);
        // From time to time, wait for a read between two restarts.
        const uint32_t before = reads.load(std::memory_order_relaxed);
        const auto hasRead = [&] { return reads.load(std::memory_order_relaxed) != before; };
        if (i % 100 == 0) wrong += test::SpinUntil(hasRead) ? 0 : 1;
    }
    ends = true;
    reader.join();
    CHECK(wrong == 0);
}
