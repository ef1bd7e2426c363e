// libjxl on weft and on its own threads give the same bytes.
#include "adapters/libjxl/jxl_runner.h"

#include "adapters/figures.h"
#include "adapters/frames.h"
#include "support/scheduler_run.h"
#include "support/threads.h"

#include <atomic>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include <jxl/decode_cxx.h>
#include <jxl/encode_cxx.h>
#include <jxl/thread_parallel_runner_cxx.h>
#include <catch2/catch.hpp>

using namespace weft;

namespace {

constexpr uint32_t kWidth = 1100, kHeight = 700;  // several groups of 256 x 256 pixels
constexpr JxlPixelFormat kFormat{3, JXL_TYPE_UINT8, JXL_NATIVE_ENDIAN, 0};

using Bytes = std::vector<uint8_t>;

Bytes Picture(uint64_t frame = 0) {
    Bytes pixels(size_t{3} * kWidth * kHeight);
    for (size_t i = 0; i < pixels.size(); ++i) {
        const double x = static_cast<double>(i / 3 % kWidth + 8 * frame);
        const double y = static_cast<double>(i / 3 / kWidth);
        pixels[i] = static_cast<uint8_t>(128 + 90 * std::sin(x * y / 9000) +
                                         30 * std::cos((x - y) / (5 + static_cast<double>(i % 3))));
    }
    return pixels;
}

/// Returns no bytes if libjxl fails. Without a runner, libjxl uses the calling thread.
Bytes Encode(const Bytes &pixels, JxlParallelRunner run, void *runner) {
    const JxlEncoderPtr encoder = JxlEncoderMake(nullptr);
    if (run != nullptr) JxlEncoderSetParallelRunner(encoder.get(), run, runner);
    JxlBasicInfo info;
    JxlEncoderInitBasicInfo(&info);
    info.xsize = kWidth;
    info.ysize = kHeight;
    info.bits_per_sample = 8;
    JxlColorEncoding colors;
    JxlColorEncodingSetToSRGB(&colors, JXL_FALSE);
    JxlEncoderFrameSettings *settings = JxlEncoderFrameSettingsCreate(encoder.get(), nullptr);
    JxlEncoderFrameSettingsSetOption(settings, JXL_ENC_FRAME_SETTING_EFFORT, 3);
    if (JxlEncoderSetBasicInfo(encoder.get(), &info) != JXL_ENC_SUCCESS ||
        JxlEncoderSetColorEncoding(encoder.get(), &colors) != JXL_ENC_SUCCESS ||
        JxlEncoderAddImageFrame(settings, &kFormat, pixels.data(), pixels.size()) !=
            JXL_ENC_SUCCESS)
        return {};
    JxlEncoderCloseInput(encoder.get());
    Bytes file(pixels.size());
    uint8_t *next = file.data();
    size_t room = file.size();
    if (JxlEncoderProcessOutput(encoder.get(), &next, &room) != JXL_ENC_SUCCESS) return {};
    file.resize(file.size() - room);
    return file;
}

Bytes Decode(const Bytes &file, JxlParallelRunner run, void *runner) {
    const JxlDecoderPtr decoder = JxlDecoderMake(nullptr);
    if (run != nullptr) JxlDecoderSetParallelRunner(decoder.get(), run, runner);
    JxlDecoderSubscribeEvents(decoder.get(), JXL_DEC_FULL_IMAGE);
    JxlDecoderSetInput(decoder.get(), file.data(), file.size());
    JxlDecoderCloseInput(decoder.get());
    Bytes pixels(size_t{3} * kWidth * kHeight);
    for (;;) {
        switch (JxlDecoderProcessInput(decoder.get())) {
            case JXL_DEC_NEED_IMAGE_OUT_BUFFER:
                JxlDecoderSetImageOutBuffer(decoder.get(), &kFormat, pixels.data(), pixels.size());
                break;
            case JXL_DEC_FULL_IMAGE:
                break;
            case JXL_DEC_SUCCESS:
                return pixels;
            default:
                return {};
        }
    }
}

/// What libjxl's own threads make of the picture.
struct Expected {
    Bytes picture = Picture(), file, pixels;
    Expected() {
        const JxlThreadParallelRunnerPtr threads = JxlThreadParallelRunnerMake(nullptr, 3);
        file = Encode(picture, JxlThreadParallelRunner, threads.get());
        pixels = Decode(file, JxlThreadParallelRunner, threads.get());
    }
};

}  // namespace

TEST_CASE("JxlRunner: tasks and threads get the bytes that libjxl's own threads make", "[jxl]") {
    const Expected expected;
    REQUIRE(!expected.file.empty());
    REQUIRE(!expected.pixels.empty());
    CHECK(Decode(expected.file, nullptr, nullptr) == expected.pixels);
    for (uint32_t workers : {1u, 2u, 4u}) {
        INFO(workers << " workers");
        test::Runner run(test::Options(workers));
        std::atomic<uint32_t> wrong{0}, others{0};
        CHECK(run.Run([&](TaskScheduler &scheduler) {
            JxlRunner runner(scheduler);
            const auto check = [&] {
                const Bytes file = Encode(expected.picture, JxlRunner::Run, &runner);
                wrong += file != expected.file;
                wrong += Decode(file, JxlRunner::Run, &runner) != expected.pixels;
            };
            // A stage of a frame, beside other tasks and a thread that also uses libjxl.
            test::Batch frame(60, [&](TaskScheduler &, uint32_t i) {
                if (i == 30) {
                    check();
                } else {
                    ++others;
                }
            });
            Counter thread;
            scheduler.IncrementCounter(&thread);
            const test::Threads threads(1, [&](uint32_t) {
                check();
                scheduler.DecrementCounter(&thread);
            });
            scheduler.AddTasksAndWait(60, frame.Tasks());
            scheduler.WaitForCounter(&thread);
        }) == Status::Ok);
        CHECK(wrong == 0);
        CHECK(others == 59);
        CHECK(test::Faults(run.log) == "");
    }
}

TEST_CASE("JxlRunner: a stage of overlapping frames encodes their pictures", "[jxl]") {
    constexpr uint32_t kFrames = 3;
    std::vector<Bytes> expected;
    {
        const JxlThreadParallelRunnerPtr threads = JxlThreadParallelRunnerMake(nullptr, 3);
        for (uint32_t frame = 0; frame < kFrames; ++frame)
            expected.push_back(Encode(Picture(frame), JxlThreadParallelRunner, threads.get()));
    }
    REQUIRE(!expected[0].empty());
    REQUIRE(expected[0] != expected[1]);
    for (uint32_t workers : {1u, 2u, 4u}) {
        INFO(workers << " workers");
        test::Runner run(test::Options(workers));
        uint32_t right = 0;
        bool overlap = false;
        CHECK(run.Run([&](TaskScheduler &scheduler) {
            JxlRunner runner(scheduler);
            struct Frame {
                Bytes picture, file;
            } frames[test::kFramesInFlight];
            overlap = test::RunFrames(
                scheduler, kFrames,
                [&](const FrameParams &params) {
                    frames[params.slot].picture = Picture(params.frame);
                },
                [&](const FrameParams &params) {
                    Frame &frame = frames[params.slot];
                    frame.file = Encode(frame.picture, JxlRunner::Run, &runner);
                },
                [&](const FrameParams &params) {
                    right += frames[params.slot].file == expected[params.frame];
                });
        }) == Status::Ok);
        CHECK(overlap);
        CHECK(right == kFrames);
        CHECK(test::Faults(run.log) == "");
    }
}

TEST_CASE("JxlRunner: each value once, and no two calls with the same thread number at once",
          "[jxl]") {
    struct Loop {
        std::atomic<uint32_t> lanes{0}, wrong{0}, values[100] = {};
        std::atomic<bool> busy[64] = {};
    } loop;
    const auto init = [](void *jxl, size_t lanes) {
        static_cast<Loop *>(jxl)->lanes = static_cast<uint32_t>(lanes);
        return JxlParallelRetCode{0};
    };
    const auto call = [](void *jxl, uint32_t value, size_t lane) {
        Loop &its = *static_cast<Loop *>(jxl);
        its.wrong += lane >= its.lanes || its.busy[lane].exchange(true);
        if (value < 1000 || value >= 1100) {
            ++its.wrong;
        } else {
            ++its.values[value - 1000];
        }
        its.busy[lane] = false;
    };
    test::Runner run(test::Options(4));
    CHECK(run.Run([&](TaskScheduler &scheduler) {
        JxlRunner runner(scheduler);
        loop.wrong += JxlRunner::Run(&runner, &loop, init, call, 1000, 1100) != 0;
        loop.wrong += loop.lanes < 4 || loop.lanes > scheduler.MaxConcurrency();
        loop.wrong += JxlRunner::Run(&runner, &loop, init, call, 7, 7) != 0;
        const auto fails = [](void *, size_t) { return JxlParallelRetCode{5}; };
        loop.wrong += JxlRunner::Run(&runner, &loop, fails, call, 1000, 1100) != 5;
    }) == Status::Ok);
    CHECK(loop.wrong == 0);
    for (const std::atomic<uint32_t> &each : loop.values) CHECK(each == 1);
}

TEST_CASE("JxlRunner: a cancelled call and a stopped scheduler make libjxl fail", "[jxl]") {
    const Expected expected;
    test::Runner run(test::Options(2));
    {
        JxlRunner runner(run.scheduler);
        CHECK(Decode(expected.file, JxlRunner::Run, &runner).empty());
        CHECK(run.log.CountOf(ReportCode::NotRunning) > 0);
    }
    CHECK(run.Run([&](TaskScheduler &scheduler) {
        CancelSource source(scheduler);
        LoopOptions options = JxlRunner::DefaultOptions();
        options.cancel = source.Token();
        JxlRunner runner(scheduler, options);
        source.Cancel();
        CHECK(Decode(expected.file, JxlRunner::Run, &runner).empty());
    }) == Status::Ok);
}

TEST_CASE("libjxl figures: weft against libjxl's own threads", "[.figures]") {
    const Expected expected;
    test::Runner run(test::Options(test::kFigureWorkers));
    REQUIRE(run.scheduler.Start() == Status::Ok);
    JxlRunner runner(run.scheduler);
    const JxlThreadParallelRunnerPtr threads =
        JxlThreadParallelRunnerMake(nullptr, test::kFigureWorkers);
    const auto encode = [&](JxlParallelRunner function, void *on) {
        return test::PerSecond(kWidth * kHeight, [&] {
            CHECK(Encode(expected.picture, function, on) == expected.file);
        });
    };
    const auto decode = [&](JxlParallelRunner function, void *on) {
        return test::PerSecond(kWidth * kHeight, [&] {
            CHECK(Decode(expected.file, function, on) == expected.pixels);
        });
    };
    const auto inTask = [&](const auto &measure) {
        double perSecond = 0;
        test::InTask(run.scheduler, [&] { perSecond = measure(JxlRunner::Run, &runner); });
        return perSecond;
    };
    test::Figures figures("megapixels a second", "libjxl's threads", 1e-6);
    figures.Add(
        "encode", [&] { return inTask(encode); },
        [&] { return encode(JxlThreadParallelRunner, threads.get()); });
    figures.Add(
        "decode", [&] { return inTask(decode); },
        [&] { return decode(JxlThreadParallelRunner, threads.get()); });
    CHECK(figures.Measure());
    run.scheduler.Stop();
}
