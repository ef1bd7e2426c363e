// Tests the recording of the sample frame_loop, and its small pictures.
#include "frame_loop/record.h"

#include "samples/frame_loop/game_files.h"
#include "trace/frame_pictures.h"

#include <algorithm>
#include <filesystem>
#include <set>

using namespace frame_loop;

TEST_CASE("frame_loop: a recording has all frames, their pictures and names, and changes no frame",
          "[frame_loop]") {
    const auto game = test::LevelOf("E1M1");
    const std::filesystem::path folder = "frame_loop_record_test";
    const std::string file = (folder / "frames.weft").string();
    std::filesystem::create_directories(folder);
    RunOptions options;
    options.width = 160;
    options.height = 100;
    options.frames = 200;
    const RunResult serial = RunSerial(*game, options);
    for (const uint32_t workers : {1, 2, 3}) {
        INFO(workers << " workers");
        options.workers = workers;
        const RunResult result = RunRecorded(*game, options, file);
        CHECK(result.problem == "");
        CHECK(result.frameHashes == serial.frameHashes);

        trace::Recording recording;
        CHECK(trace::ReadFile(file, &recording) == "");
        CHECK(recording.workers == workers);
        CHECK(recording.remarks.empty());  // so nothing was overwritten
        std::vector<uint32_t> frames, pictured;
        for (const trace::Event &event : recording.events)
            if (event.kind == weft::TraceKind::Frame) frames.push_back(event.other);
        CHECK(frames.size() == 200);
        std::vector<std::pair<uint32_t, std::string>> pictures;
        CHECK(trace::ReadPictures(PictureFolder(file), recording, &pictures) == "");
        for (const auto &[frame, address] : pictures) pictured.push_back(frame);
        CHECK(pictured == frames);
        CHECK(std::adjacent_find(pictures.begin(), pictures.end(), [](auto &a, auto &b) {
                  return a.second == b.second;
              }) == pictures.end());
        std::set<std::string> tasks, counters;
        for (const trace::Event &event : recording.events) {
            if (event.kind == weft::TraceKind::Submit) tasks.insert(recording.names[event.name]);
            if (event.kind == weft::TraceKind::CounterName)
                counters.insert(recording.names[event.name]);
        }
        CHECK(tasks == std::set<std::string>{"frames", "world", "render", "show", "think", "move",
                                             "visibility", "strips", "compose"});
        CHECK(counters == std::set<std::string>{"world", "render", "show", "think", "move",
                                                "visibility", "strips", "compose",
                                                "pictures to write"});
    }
    std::filesystem::remove_all(folder);
}
