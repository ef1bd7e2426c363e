// Implements record.h.
#include "record.h"

#include "picture_file.h"

#include <weft/trace/recorder.h>
#include <weft/trace/stack_meter.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <new>

namespace frame_loop {
namespace {

// Room for all events of the run in the ring of each worker, because one worker may do most of the
// work. With many workers the limit counts; then a worker does a small part of the work.
size_t BytesFor(const RunOptions &options, uint32_t workers) {
    constexpr size_t kEventBytes = 32, kMost = size_t{512} << 20;
    // more tasks draw a larger picture
    const size_t perFrame = 600 + static_cast<size_t>(options.width + options.height) / 4;
    const size_t perRing = (1000 + perFrame * static_cast<size_t>(options.frames)) * kEventBytes;
    const size_t rings = workers + size_t{kMaxAttached} + 1;  // one for external threads
    return weft::Recorder::LeastBytes(workers + kMaxAttached) + std::min(perRing * rings, kMost);
}

Problem WriteThumbnails(const Game &game, const std::vector<Thumbnail> &thumbnails,
                        const std::string &folder) {
    std::error_code failure;
    std::filesystem::create_directories(folder, failure);
    if (failure) return folder + ": " + failure.message();
    Problem problem;
    for (size_t frame = 0; frame < thumbnails.size() && problem.empty(); ++frame) {
        const Thumbnail &it = thumbnails[frame];
        problem = WritePng(PicturePath(folder, frame), it.width, it.height, it.pixels.data(),
                           game.textures.palette.data());
    }
    return problem;
}

}  // namespace

RunResult RunRecorded(const Game &game, RunOptions options, const std::string &file) {
    weft::SchedulerOptions schedulerOptions;
    schedulerOptions.workers = options.workers;
    options.workers = weft::TaskScheduler(schedulerOptions).WorkerCount();
    const size_t bytes = BytesFor(options, options.workers);
    const std::unique_ptr<unsigned char[]> memory(new (std::nothrow) unsigned char[bytes]);
    RunResult result;
    if (memory == nullptr) {
        result.problem = "there is no memory for the recording";
        return result;
    }
    weft::Recorder recorder(memory.get(), bytes);
    weft::StackMeter stackMeter;
    options.recorder = &recorder;
    options.stackMeter = &stackMeter;
    options.makesThumbnails = true;
    result = RunTasks(game, options);
    if (!result.problem.empty()) return result;
    if (recorder.WriteFile(file.c_str())) {
        result.problem = WriteThumbnails(game, result.thumbnails, PictureFolder(file));
    } else {
        result.problem = file + " cannot be written";
    }
    return result;
}

}  // namespace frame_loop
