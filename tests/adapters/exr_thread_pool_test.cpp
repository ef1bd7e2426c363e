// OpenEXR on weft and on its own threads write the same files and read the same pixels.
#include "adapters/openexr/exr_thread_pool.h"

#include "weft/blocking/blocking_calls.h"

#include "adapters/figures.h"
#include "adapters/frames.h"
#include "support/scheduler_run.h"
#include "support/threads.h"

#include <atomic>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string>
#include <vector>

#include <ImfChannelList.h>
#include <ImfFrameBuffer.h>
#include <ImfHeader.h>
#include <ImfIO.h>
#include <ImfInputFile.h>
#include <ImfOutputFile.h>
#include <catch2/catch.hpp>

using namespace weft;

namespace {

constexpr int kWidth = 640, kHeight = 512;

/// A file in memory.
class Written : public Imf::OStream {
public:
    Written() : OStream("memory") {}
    void write(const char bytes[], int count) override {
        const size_t end = m_at + static_cast<size_t>(count);
        if (end > data.size()) data.resize(end);
        std::memcpy(&data[m_at], bytes, static_cast<size_t>(count));
        m_at = end;
    }
    uint64_t tellp() override { return m_at; }
    void seekp(uint64_t at) override { m_at = at; }

    std::string data;

private:
    size_t m_at = 0;
};

class Read : public Imf::IStream {
public:
    explicit Read(const std::string &data) : IStream("memory"), m_data(data) {}
    bool read(char bytes[], int count) override {
        if (m_at + static_cast<size_t>(count) > m_data.size())
            throw std::runtime_error("the file has ended");
        std::memcpy(bytes, &m_data[m_at], static_cast<size_t>(count));
        m_at += static_cast<size_t>(count);
        return m_at < m_data.size();
    }
    uint64_t tellg() override { return m_at; }
    void seekg(uint64_t at) override { m_at = at; }

private:
    const std::string &m_data;
    size_t m_at = 0;
};

using Pixels = std::vector<float>;

Pixels Picture(uint64_t frame) {
    Pixels pixels(size_t{kWidth} * kHeight);
    for (size_t i = 0; i < pixels.size(); ++i) {
        const double x = static_cast<double>(i % kWidth + 8 * frame);
        const double y = static_cast<double>(i / kWidth);
        pixels[i] = static_cast<float>(std::sin(x * y / 5000) + x / 100);
    }
    return pixels;
}

Imf::FrameBuffer Frame(Pixels &pixels) {
    Imf::FrameBuffer frame;
    frame.insert("Y", Imf::Slice(Imf::FLOAT, reinterpret_cast<char *>(pixels.data()), sizeof(float),
                                 sizeof(float) * kWidth));
    return frame;
}

std::string Write(Pixels pixels) {
    Written file;
    {
        Imf::Header header(kWidth, kHeight);
        header.compression() = Imf::ZIP_COMPRESSION;
        header.channels().insert("Y", Imf::Channel(Imf::FLOAT));
        Imf::OutputFile output(file, header);
        output.setFrameBuffer(Frame(pixels));
        output.writePixels(kHeight);
    }
    return file.data;
}

Pixels ReadPixels(const std::string &data) {
    Read stream(data);
    Imf::InputFile input(stream);
    Pixels pixels(size_t{kWidth} * kHeight);
    input.setFrameBuffer(Frame(pixels));
    input.readPixels(0, kHeight - 1);
    return pixels;
}

/// OpenEXR's own threads. After the first use of another provider, OpenEXR's global pool makes no
/// threads of its own any more (setGlobalThreadCount has no effect). Another pool still does.
class OwnThreads final : public IlmThread::ThreadPoolProvider {
public:
    explicit OwnThreads(uint32_t count) : m_pool(count) {}
    int numThreads() const override { return m_pool.numThreads(); }
    void setNumThreads(int count) override { m_pool.setNumThreads(count); }
    void addTask(IlmThread::Task *task) override { m_pool.addTask(task); }
    void finish() override {}  // the destructor of the pool waits

private:
    IlmThread::ThreadPool m_pool;
};

void UseOwnThreads(uint32_t count) {
    IlmThread::ThreadPool::globalThreadPool().setThreadProvider(new OwnThreads(count));
}

/// What OpenEXR's own threads make of a picture.
struct Expected {
    Pixels picture;
    std::string file;
    explicit Expected(uint64_t frame = 0) : picture(Picture(frame)) {
        UseOwnThreads(3);
        file = Write(picture);
        StopUsingForExr();
    }
};

/// Counts the tasks of the adapter. Tasks that run on their caller are no tasks of weft.
struct Seen {
    std::atomic<uint32_t> tasks{0};
    void AttachTo(SchedulerOptions &options) {
        options.trace.user = this;
        options.trace.kinds = TraceHooks::Bit(TraceKind::TaskBegin);
        options.trace.event = [](const TraceEvent &event, void *user) {
            if (event.task != nullptr && event.task == std::string("OpenEXR"))
                ++static_cast<Seen *>(user)->tasks;
        };
    }
};

}  // namespace

TEST_CASE("ExrThreadPool: files and pixels are those of OpenEXR's own threads", "[exr]") {
    const Expected expected;
    REQUIRE(ReadPixels(expected.file) == expected.picture);
    for (uint32_t workers : {1u, 2u, 4u}) {
        INFO(workers << " workers");
        SchedulerOptions options = test::Options(workers);
        Seen seen;
        seen.AttachTo(options);
        test::Runner run(options);
        REQUIRE(run.scheduler.Start() == Status::Ok);
        UseForExr(run.scheduler);
        CHECK(IlmThread::ThreadPool::globalThreadPool().numThreads() == static_cast<int>(workers));
        CHECK(Write(expected.picture) == expected.file);  // here, on an external thread
        CHECK(ReadPixels(expected.file) == expected.picture);
        CHECK(seen.tasks >= 2 * kHeight / 16);  // a block of ZIP has 16 lines
        StopUsingForExr();
        run.scheduler.Stop();
        CHECK(test::Faults(run.log) == "");
    }
}

TEST_CASE("ExrThreadPool: a stage of a frame reads a file while others run", "[exr]") {
    const Expected expected;
    SchedulerOptions options = test::Options(2);
    Seen seen;
    seen.AttachTo(options);
    test::Runner run(options);
    std::atomic<uint32_t> wrong{0}, others{0};
    CHECK(run.Run([&](TaskScheduler &scheduler) {
        UseForExr(scheduler);
        BlockingCalls calls(scheduler);
        for (bool onWorker : {false, true}) {
            test::Batch frame(40, [&](TaskScheduler &, uint32_t i) {
                const auto read = [&] { wrong += ReadPixels(expected.file) != expected.picture; };
                if (i % 10 != 5) {
                    ++others;
                } else if (onWorker) {
                    read();  // all workers may be in OpenEXR
                } else {
                    calls.Run(read);
                }
            });
            const uint32_t before = seen.tasks;
            scheduler.AddTasksAndWait(40, frame.Tasks());
            wrong += (seen.tasks == before) != onWorker;
        }
        calls.Run([] { StopUsingForExr(); });
    }) == Status::Ok);
    CHECK(wrong == 0);
    CHECK(others == 72);
    CHECK(test::Faults(run.log) == "");
}

TEST_CASE("ExrThreadPool: stages of overlapping frames write and read their pictures", "[exr]") {
    constexpr uint32_t kFrames = 4;
    const std::vector<Expected> expected = {Expected(0), Expected(1), Expected(2), Expected(3)};
    REQUIRE(expected[0].file != expected[1].file);
    for (uint32_t workers : {1u, 2u, 4u}) {
        INFO(workers << " workers");
        SchedulerOptions options = test::Options(workers);
        Seen seen;
        seen.AttachTo(options);
        test::Runner run(options);
        uint32_t right = 0;
        bool overlap = false;
        CHECK(run.Run([&](TaskScheduler &scheduler) {
            UseForExr(scheduler);
            BlockingCalls calls(scheduler);
            struct Frame {
                Pixels picture;
                std::string file;
            } frames[test::kFramesInFlight];
            overlap = test::RunFrames(
                scheduler, kFrames,
                [&](const FrameParams &params) {
                    frames[params.slot].picture = Picture(params.frame);
                },
                [&](const FrameParams &params) {
                    Frame &frame = frames[params.slot];
                    frame.file = calls.Run([&] { return Write(frame.picture); });
                },
                [&](const FrameParams &params) {
                    const std::string &file = frames[params.slot].file;
                    const Pixels pixels = calls.Run([&] { return ReadPixels(file); });
                    const Expected &own = expected[params.frame];
                    right += file == own.file && pixels == own.picture;
                });
            calls.Run([] { StopUsingForExr(); });
        }) == Status::Ok);
        CHECK(overlap);
        CHECK(right == kFrames);
        CHECK(seen.tasks >= kFrames * 2 * kHeight / 16);  // in parallel, on the workers
        CHECK(test::Faults(run.log) == "");
    }
}

TEST_CASE("ExrThreadPool: damaged files throw for their reader; a stopped scheduler is reported",
          "[exr]") {
    const Expected expected;
    std::string damaged = expected.file;
    damaged.resize(damaged.size() / 2);
    test::Runner run(test::Options(2));
    REQUIRE(run.scheduler.Start() == Status::Ok);
    UseForExr(run.scheduler);
    CHECK_THROWS(ReadPixels(damaged));
    CHECK(ReadPixels(expected.file) == expected.picture);
    run.scheduler.Stop();
    CHECK(run.log.Text() == "");
    CHECK(ReadPixels(expected.file) == expected.picture);
    CHECK(run.log.CountOf(ReportCode::NotRunning) > 0);
    StopUsingForExr();
    CHECK(ReadPixels(expected.file) == expected.picture);
}

TEST_CASE("OpenEXR figures: weft against OpenEXR's own threads", "[.figures]") {
    const Expected expected;
    test::Runner run(test::Options(test::kFigureWorkers));
    REQUIRE(run.scheduler.Start() == Status::Ok);
    constexpr double kPixels = double{kWidth} * kHeight;
    const auto write = [&] {
        return test::PerSecond(kPixels, [&] { CHECK(Write(expected.picture) == expected.file); });
    };
    const auto read = [&] {
        return test::PerSecond(kPixels,
                               [&] { CHECK(ReadPixels(expected.file) == expected.picture); });
    };
    const auto onWeft = [&](const auto &measure) {
        UseForExr(run.scheduler);
        const double perSecond = measure();
        StopUsingForExr();
        return perSecond;
    };
    const auto onThreads = [](const auto &measure) {
        UseOwnThreads(test::kFigureWorkers);
        const double perSecond = measure();
        StopUsingForExr();
        return perSecond;
    };
    test::Figures figures("megapixels a second", "OpenEXR's threads", 1e-6);
    figures.Add(
        "write", [&] { return onWeft(write); }, [&] { return onThreads(write); });
    figures.Add(
        "read", [&] { return onWeft(read); }, [&] { return onThreads(read); });
    CHECK(figures.Measure());
    run.scheduler.Stop();
}
