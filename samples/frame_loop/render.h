// The picture of one frame, in three steps. FindVisible walks the tree and lists what is visible,
// from front to back. DrawStrip draws a strip of columns, independently of other strips.
// ComposeRows turns rows into colours.
#pragma once

#include "game.h"

namespace frame_loop {

struct VisibleSeg {
    const Seg *seg;
    Fixed depth1, across1, depth2, across2;  // its ends: along the view, and to the right of it
    int left, right;                         // columns [left, right)
};

struct VisibleSprite {
    const Image *image;
    Fixed x, y, depth, across, top;  // across: of its first column; top: above the eye
    int light, left, right;
    bool mirrored;
};

// What one column has passed on its way from the viewer: a seg, and the rows that stay open behind
// it.
struct Passed {
    const VisibleSeg *seg;
    Fixed depth, along;
    int top, bottom;
};

struct Strip {  // the memory of a task that draws a strip
    std::vector<const VisibleSeg *> segs;
    std::vector<const VisibleSprite *> sprites;
    std::vector<Passed> passed;
    std::vector<int> behind;  // for each sprite the last passed seg in front of it
};

struct Scene {
    Scene(int frameWidth, int frameHeight);

    static constexpr int kStripColumns = 16;
    static constexpr Fixed kNear = kOne;  // nearer things are not visible
    int width, height, focal;             // focal: pixels; the view is a quarter turn wide
    // the depth at which a plane one unit above or below the eye crosses the middle of the row
    std::vector<Fixed> rowDepth;
    Viewpoint eye{};
    Fixed sine = 0, cosine = 0;
    std::vector<VisibleSeg> segs;
    std::vector<VisibleSprite> sprites;    // the farthest first
    std::vector<uint8_t> closed, reached;  // by column; by subsector
    std::vector<Strip> strips;
    std::vector<uint8_t> pixels;  // palette indices, column after column
    std::vector<uint8_t> rgb;     // row after row
};

void FindVisible(const Game &game, const Viewpoint &eye, const World &world, Scene *scene);
void DrawStrip(const Game &game, const World &world, Scene *scene, size_t strip);
// returns the hash of the rows
uint64_t ComposeRows(const Game &game, Scene *scene, int firstRow, int lastRow);

// FNV-1a by words. The shift lets high bits affect low ones.
inline constexpr uint64_t kHashStart = 0xcbf29ce484222325;
inline uint64_t HashStep(uint64_t hash, uint64_t word) {
    hash = (hash ^ word) * 0x100000001b3;
    return hash ^ hash >> 29;
}

}  // namespace frame_loop
