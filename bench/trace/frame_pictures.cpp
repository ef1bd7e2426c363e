// Implements frame_pictures.h.
#include "trace/frame_pictures.h"

#include "trace/base64.h"

#include <charconv>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <set>

namespace trace {
namespace {

namespace fs = std::filesystem;

std::string TypeOf(const fs::path &file) {
    const std::string extension = file.extension().string();
    if (extension == ".png") return "image/png";
    if (extension == ".jpg" || extension == ".jpeg") return "image/jpeg";
    if (extension == ".webp") return "image/webp";
    return {};
}

// Returns false if the name does not end with a number.
bool ReadNumber(const fs::path &file, uint32_t *number) {
    const std::string name = file.stem().string();
    const size_t before = name.find_last_not_of("0123456789");
    const char *first = name.data() + (before == name.npos ? 0 : before + 1);
    const char *last = name.data() + name.size();
    const auto [end, error] = std::from_chars(first, last, *number);
    return error == std::errc() && end == last;
}

std::set<uint32_t> FramesOf(const Recording &recording) {
    std::set<uint32_t> frames;
    for (const Event &event : recording.events)
        if (event.kind == weft::TraceKind::Frame) frames.insert(event.other);
    return frames;
}

}  // namespace

Problem ReadPictures(const std::string &folder, const Recording &recording,
                     std::vector<std::pair<uint32_t, std::string>> *pictures) {
    const std::set<uint32_t> frames = FramesOf(recording);
    std::map<uint32_t, fs::path> files;  // by frame
    std::error_code failure;
    for (fs::directory_iterator it(folder, failure), end; !failure && it != end;
         it.increment(failure)) {
        uint32_t frame = 0;
        if (!TypeOf(it->path()).empty() && ReadNumber(it->path(), &frame) &&
            frames.count(frame) != 0)
            files[frame] = it->path();
    }
    if (failure) return folder + ": " + failure.message();
    for (const auto &[frame, path] : files) {
        std::ifstream file(path, std::ios::binary);
        const std::vector<unsigned char> content{std::istreambuf_iterator<char>(file), {}};
        if (!file.is_open() || file.bad()) return path.string() + ": cannot be read";
        pictures->emplace_back(
            frame, "data:" + TypeOf(path) + ";base64," + Base64(content.data(), content.size()));
    }
    return {};
}

}  // namespace trace
