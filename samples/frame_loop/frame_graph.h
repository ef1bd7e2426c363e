// Draws what the last frames did over a picture: their times, a timeline of the workers, and what
// the last complete frame waited for.
#pragma once

#include "frame.h"

#include <weft/inspect.h>

namespace frame_loop {

/// The way back from the end of a frame to the end of the frame before it: which stages the frame
/// waited for, and for how long. Times are nanoseconds of the steady clock.
struct FramePath {
    struct Part {
        Turn stage;
        int64_t begin, end;
    };
    int64_t begin = 0, end = 0;             // of the frame: the ends of two last stages
    std::vector<Part> parts;                // the last first
    std::array<int64_t, kTurns> stageNs{};  // sums of the parts
    int64_t betweenNs = 0;                  // a stage could begin, and no worker ran it yet
};

/// Finds the path of a frame from the times of the stages. The frame and the one before it must
/// have completed. Returns an empty path if the ring does not have both. Thread-safe.
FramePath PathOf(const weft::FrameRing &frames, uint64_t frame);

/// The letters of a WAD (STCFN033 to STCFN095), as images of brightness. Letters that it does not
/// have are not drawn.
class Font {
public:
    explicit Font(const Wad &wad);
    const Image *Find(char letter) const;

private:
    std::vector<Image> m_letters;
};

/// Keeps the times of 240 frames. Add and Draw are for one thread at a time.
class FrameGraph {
public:
    using Color = std::array<uint8_t, 3>;                    // red, green, blue
    static constexpr int kLeft = 8, kTop = 8, kWidth = 500;  // pixels

    explicit FrameGraph(const Wad &wad) : m_font(wad) {}

    /// Adds a frame. Call it for each frame, also if the graph is not drawn.
    void Add(const ShownFrame &frame);
    /// Draws the frame before the one that was added last. A picture that is too small gets a part
    /// of the graph.
    void Draw(Scene *scene) const;

private:
    static constexpr int kFrames = 240, kKept = 3;
    struct Counts {
        uint64_t tasks, steals, sleeps;
    };
    class Canvas;
    void DrawBars(Canvas *canvas) const;
    void DrawWorkers(Canvas *canvas) const;
    void DrawStage(Canvas *canvas, uint32_t stage, const Color &color) const;
    void DrawStages(Canvas *canvas) const;

    Font m_font;
    std::array<int64_t, kFrames> m_frameNs{};
    uint64_t m_added = 0, m_frame = 0;  // m_frame: the one that is drawn
    uint32_t m_workers = 1;
    weft::FrameParams m_times;                     // of that frame
    std::array<std::vector<Span>, kKept> m_spans;  // of that frame, the one before and the next one
    FramePath m_path;
    weft::WorkerStatistics m_total;
    Counts m_counts{};
};

}  // namespace frame_loop
