// Implements frame_graph.h.
#include "frame_graph.h"

#include "format.h"

#include <cinttypes>

namespace frame_loop {
namespace {

using Color = FrameGraph::Color;
constexpr Color kWhite{230, 230, 230}, kGrey{160, 160, 160}, kDim{70, 70, 78}, kBorder{255, 140, 0},
    kGood{80, 190, 90}, kSlow{230, 200, 60}, kLate{230, 70, 60};
constexpr std::array<Color, kStages> kStageColors{{{86, 180, 233},   // think
                                                   {0, 114, 178},    // move
                                                   {230, 90, 80},    // visibility
                                                   {0, 158, 115},    // strips
                                                   {204, 121, 167},  // compose
                                                   {240, 228, 66},   // present, with the show stage
                                                   {130, 130, 130}}};  // picture
constexpr std::array<const char *, kTurns> kTurnNames{"PACE", "WORLD", "RENDER", "SHOW"};
constexpr int kRow = 10, kBarHeight = 48, kMargin = 4, kLabel = 70, kMostWorkers = 16;
constexpr int64_t kPeriodNs = 1'000'000'000 / Screen::kFramesPerSecond;

int64_t Ns(std::chrono::steady_clock::time_point time) {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(time.time_since_epoch()).count();
}
double Ms(int64_t ns) { return static_cast<double>(ns) / 1e6; }

}  // namespace

// What a stage of this frame waited for: the stage before it, or something that ended no later than
// the frame before did. So the way back goes through the stages of this frame only.
FramePath PathOf(const weft::FrameRing &frames, uint64_t frame) {
    weft::FrameParams now, before;
    if (frame == 0 || !frames.Read(frame, &now) || !frames.Read(frame - 1, &before)) return {};
    FramePath path;
    path.begin = Ns(before.stages[kShow].end);
    path.end = Ns(now.stages[kShow].end);
    int64_t end = path.end;
    for (uint32_t stage = kTurns; stage-- != 0 && end > path.begin;) {
        const int64_t begin = std::max(Ns(now.stages[stage].begin), path.begin);
        path.parts.push_back({static_cast<Turn>(stage), begin, end});
        path.stageNs[stage] = end - begin;
        end = stage == 0 ? path.begin : std::max(Ns(now.stages[stage - 1].end), path.begin);
        path.betweenNs += begin - end;
    }
    return path;
}

Font::Font(const Wad &wad) {
    Textures textures;
    Problem problem;
    TextureLoader loader(wad, &textures, &problem);
    for (int letter = '!'; letter <= '_'; ++letter) {
        m_letters.push_back(loader.Picture(Format("STCFN%03d", letter)));
        for (uint8_t &texel : m_letters.back().texels) {
            const uint8_t *color = &textures.palette[size_t{3} * texel];
            texel = *std::max_element(color, color + 3);
        }
    }
}

const Image *Font::Find(char letter) const {
    const bool has = letter >= '!' && letter <= '_' && m_letters[letter - '!'].width > 1;
    return has ? &m_letters[letter - '!'] : nullptr;
}

// Draws on the pixels of a picture, from one row of the graph to the next.
class FrameGraph::Canvas {
public:
    Canvas(Scene *scene, const Font &font) : m_scene(*scene), m_font(font) {}

    int y = kTop + kMargin;

    // Calls `change` with each pixel that is in the picture.
    template <class Change>
    void Each(int x, int top, int width, int height, Change change) {
        for (int row = std::max(top, 0); row < std::min(top + height, m_scene.height); ++row)
            for (int column = std::max(x, 0); column < std::min(x + width, m_scene.width); ++column)
                change(&m_scene.rgb[(size_t{1} * row * m_scene.width + column) * 3]);
    }
    void Fill(int x, int top, int width, int height, const Color &color) {
        Each(x, top, width, height, [&](uint8_t *rgb) { std::copy_n(color.data(), 3, rgb); });
    }
    void Darken(int x, int top, int width, int height) {
        Each(x, top, width, height, [](uint8_t *rgb) {
            for (int i = 0; i < 3; ++i) rgb[i] = static_cast<uint8_t>(rgb[i] / 6);
        });
    }
    void Frame(int x, int top, int width, int height, const Color &color) {
        Fill(x, top, width, 1, color);
        Fill(x, top + height - 1, width, 1, color);
        Fill(x, top, 1, height, color);
        Fill(x + width - 1, top, 1, height, color);
    }
    // Returns where the text ends.
    int Text(int x, int top, const std::string &text, const Color &color = kWhite) {
        for (const char letter : text) {
            const Image *image = m_font.Find(letter);
            for (int column = 0; image != nullptr && column < image->width; ++column)
                for (int row = 0; row < image->height; ++row)
                    if (const size_t texel = image->Texel(column, row); image->opaque[texel] != 0)
                        Fill(x + column, top + row, 1, 1, Shaded(color, image->texels[texel]));
            x += image != nullptr ? image->width : 4;
        }
        return x;
    }
    // Draws a part of the time from `begin` to `end` in the space right of the labels.
    void Time(const FramePath &path, int64_t begin, int64_t end, int height, const Color &color) {
        begin = std::max(begin, path.begin);
        end = std::min(end, path.end);
        if (begin >= end) return;
        const int left = PlaceOf(path, begin), right = PlaceOf(path, end);
        Fill(left, y, std::max(right - left, 1), height, color);
    }

private:
    static Color Shaded(Color color, int brightness) {
        for (uint8_t &part : color) part = static_cast<uint8_t>(part * brightness / 255);
        return color;
    }
    static int PlaceOf(const FramePath &path, int64_t ns) {
        constexpr int kSpace = kWidth - 2 * kLabel;
        const int64_t whole = std::max<int64_t>(path.end - path.begin, 1);
        return kLeft + kLabel + static_cast<int>((ns - path.begin) * kSpace / whole);
    }
    Scene &m_scene;
    const Font &m_font;
};

void FrameGraph::Add(const ShownFrame &shown) {
    const uint64_t frame = shown.params.frame;
    m_spans[frame % kKept] = shown.spans;
    const weft::Statistics now = weft::GetStatistics(shown.scheduler);
    m_workers = now.workers;
    m_counts = {now.total.finished - m_total.finished, now.total.steals - m_total.steals,
                now.total.sleeps - m_total.sleeps};
    m_total = now.total;
    if (frame == 0) return;
    m_frame = frame - 1;
    m_path = PathOf(shown.frames, m_frame);
    shown.frames.Read(m_frame, &m_times);
    m_frameNs[m_added++ % kFrames] = m_path.end - m_path.begin;
}

void FrameGraph::Draw(Scene *scene) const {
    Canvas canvas(scene, m_font);
    const int workers = static_cast<int>(std::min<uint32_t>(m_workers, kMostWorkers));
    const int height =
        2 * kMargin + kBarHeight + kRow * (workers + static_cast<int>(kTurns) + 4) + 3 * kMargin;
    canvas.Darken(kLeft, kTop, kWidth, height);
    canvas.Frame(kLeft, kTop, kWidth, height, kBorder);
    DrawBars(&canvas);
    DrawWorkers(&canvas);
    DrawStages(&canvas);
}

void FrameGraph::DrawBars(Canvas *canvas) const {
    constexpr int kBar = 2;
    const int64_t longest = *std::max_element(m_frameNs.begin(), m_frameNs.end());
    canvas->Text(kLeft + kMargin, canvas->y,
                 Format("FRAME %" PRIu64 ": %.1f MS. LONGEST OF %d: %.1f MS", m_frame,
                        Ms(m_path.end - m_path.begin), kFrames, Ms(longest)));
    canvas->y += kRow + kMargin;
    const int bottom = canvas->y + kBarHeight, left = kLeft + kMargin + 6;
    const auto heightOf = [](int64_t ns) {  // the whole height: two periods
        return static_cast<int>(std::min(ns, 2 * kPeriodNs) * kBarHeight / (2 * kPeriodNs));
    };
    for (int i = 0; i < kFrames; ++i) {  // the oldest first
        const int64_t ns = m_frameNs[(m_added + static_cast<uint64_t>(i)) % kFrames];
        const Color &color = ns < kPeriodNs * 11 / 10 ? kGood
                             : ns < kPeriodNs * 3 / 2 ? kSlow
                                                      : kLate;
        canvas->Fill(left + kBar * i, bottom - heightOf(ns), kBar - 1, heightOf(ns), color);
    }
    canvas->Fill(left, bottom - heightOf(kPeriodNs), kBar * kFrames, 1, kGrey);
    canvas->y = bottom + kMargin;
}

void FrameGraph::DrawWorkers(Canvas *canvas) const {
    int x = canvas->Text(kLeft + kMargin, canvas->y, "TASKS");
    x = std::max(x, kLeft + kLabel);
    for (int stage = 0; stage <= kPresent; ++stage) {
        const auto &color = kStageColors[static_cast<size_t>(stage)];
        std::string name = stage == kPresent ? "show" : kStageNames[static_cast<size_t>(stage)];
        for (char &c : name) c = static_cast<char>(c - 'a' + 'A');
        canvas->Fill(x, canvas->y, 7, 7, color);
        x = canvas->Text(x + 9, canvas->y, name, kGrey) + 8;
    }
    canvas->y += kRow;
    const uint32_t workers = std::min<uint32_t>(m_workers, kMostWorkers);
    for (uint32_t worker = 0; worker < workers; ++worker) {
        canvas->Text(kLeft + kMargin, canvas->y, Format("WORKER %u", worker));
        canvas->Time(m_path, m_path.begin, m_path.end, kRow - 3, kDim);
        // show is pinned there
        if (worker == 0) DrawStage(canvas, kShow, kStageColors[kPresent]);
        for (const std::vector<Span> &spans : m_spans)
            for (const Span &span : spans)
                if (span.worker == worker)
                    canvas->Time(m_path, span.begin, span.end, kRow - 3,
                                 kStageColors[static_cast<size_t>(span.stage)]);
        canvas->y += kRow;
    }
    canvas->y += kMargin;
}

void FrameGraph::DrawStage(Canvas *canvas, uint32_t stage, const Color &color) const {
    const weft::StageTimes &times = m_times.stages[stage];
    canvas->Time(m_path, Ns(times.begin), Ns(times.end), kRow - 3, color);
}

void FrameGraph::DrawStages(Canvas *canvas) const {
    for (uint32_t stage = 0; stage < kTurns; ++stage) {
        canvas->Text(kLeft + kMargin, canvas->y, kTurnNames[stage]);
        canvas->Time(m_path, m_path.begin, m_path.end, 1, kDim);
        DrawStage(canvas, stage, kGrey);
        for (const FramePath::Part &part : m_path.parts)
            if (part.stage == stage) canvas->Time(m_path, part.begin, part.end, kRow - 3, kBorder);
        canvas->Text(kLeft + kWidth - kLabel + kMargin, canvas->y,
                     Format("%.1f MS", Ms(m_path.stageNs[stage])), kBorder);
        canvas->y += kRow;
    }
    const auto most = std::max_element(m_path.stageNs.begin(), m_path.stageNs.end());
    const bool waits = m_path.betweenNs > *most;
    canvas->Text(
        kLeft + kMargin, canvas->y,
        Format("BOUND BY %s. WAITS FOR A WORKER: %.1f MS",
               waits ? "WAITS" : kTurnNames[static_cast<size_t>(most - m_path.stageNs.begin())],
               Ms(m_path.betweenNs)),
        kBorder);
    canvas->y += kRow;
    canvas->Text(kLeft + kMargin, canvas->y,
                 Format("IN A FRAME: %" PRIu64 " TASKS, %" PRIu64 " STEALS, %" PRIu64 " SLEEPS",
                        m_counts.tasks, m_counts.steals, m_counts.sleeps));
    canvas->y += kRow;
}

}  // namespace frame_loop
