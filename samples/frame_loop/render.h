// One frame's picture: the walk of the tree lists what can be seen from front to back, then each
// strip of columns is drawn on its own, then rows of the result become colours.
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

// What one column passed on its way from the viewer: a seg, and the rows that stay open behind it.
struct Passed {
    const VisibleSeg *seg;
    Fixed depth, along;
    int top, bottom;
};

struct Strip {  // the memory of the task that draws it
    std::vector<const VisibleSeg *> segs;
    std::vector<const VisibleSprite *> sprites;
    std::vector<Passed> passed;
    std::vector<int> behind;  // of each sprite the last passed seg that it is behind
};

struct Scene {
    Scene(int frameWidth, int frameHeight);

    static constexpr int kStripColumns = 16;
    static constexpr Fixed kNear = kOne;  // what is nearer is not seen
    int width, height, focal;             // focal: pixels; the view is a quarter turn wide
    // depth at which a plane one unit off the eye crosses the row's middle
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
void DrawStrip(const Game &game, Scene *scene, size_t strip);
// returns the rows' hash
uint64_t ComposeRows(const Game &game, Scene *scene, int firstRow, int lastRow);

// FNV-1a by words; the shift lets high bits reach low ones.
inline constexpr uint64_t kHashStart = 0xcbf29ce484222325;
inline uint64_t HashStep(uint64_t hash, uint64_t word) {
    hash = (hash ^ word) * 0x100000001b3;
    return hash ^ hash >> 29;
}

}  // namespace frame_loop
