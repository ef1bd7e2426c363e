// Implements film.h.
#include "film.h"

#include "frame_graph.h"
#include "picture_file.h"

namespace frame_loop {
namespace {

class Film final : public Screen {
public:
    explicit Film(const Wad &wad) : m_graph(wad) {}

    // Writing a picture takes longer than a frame. So the pictures are kept until the end.
    bool Show(const ShownFrame &frame) override {
        constexpr uint64_t kEvery = 8;
        m_graph.Add(frame);
        if (frame.params.frame % kEvery != 0) return true;
        m_graph.Draw(&frame.scene);
        m_pictures.push_back({frame.params.frame, frame.scene.rgb});
        return true;
    }

    Problem Write(const RunOptions &options, const std::string &folder) const {
        for (const Picture &picture : m_pictures) {
            Problem problem = WritePng(PicturePath(folder, picture.frame), options.width,
                                       options.height, picture.rgb.data());
            if (!problem.empty()) return problem;
        }
        return {};
    }

private:
    struct Picture {
        uint64_t frame;
        std::vector<uint8_t> rgb;
    };
    FrameGraph m_graph;
    std::vector<Picture> m_pictures;
};

}  // namespace

RunResult RunFilm(const Game &game, const Wad &wad, RunOptions options, const std::string &folder) {
    Film film(wad);
    options.screen = &film;
    options.pictures.clear();
    RunResult result = RunTasks(game, options);
    if (result.problem.empty()) result.problem = film.Write(options, folder);
    return result;
}

}  // namespace frame_loop
