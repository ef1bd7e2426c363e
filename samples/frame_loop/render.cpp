// Draws the columns of a picture and turns its rows into colours.
#include "render.h"

namespace frame_loop {
namespace {

// Draws one column of the picture. First it draws walls, floors and ceilings from the viewer
// outwards. Then it draws sprites and walls with holes, the farthest first.
class ColumnPainter {
public:
    ColumnPainter(const Game &game, const World &world, const Scene &scene, Strip *strip,
                  int column, uint8_t *pixels)
        : m_textures(game.textures),
          m_level(game.level),
          m_ceilings(world.ceilings),
          m_scene(scene),
          m_strip(*strip),
          m_column(column),
          m_pixels(pixels),
          m_slope(ToFixed(2 * column + 1 - scene.width) / (2 * scene.focal)),
          m_rayX(scene.cosine + Multiply(m_slope, scene.sine)),
          m_rayY(scene.sine - Multiply(m_slope, scene.cosine)),
          m_bottom(scene.height) {}

    void Paint() {
        std::fill(m_pixels, m_pixels + m_scene.height, uint8_t{0});  // holes of the level are black
        m_strip.passed.clear();
        for (const VisibleSeg *seg : m_strip.segs)
            if (Has(*seg) && m_top < m_bottom) PaintSeg(*seg);
        PaintMasked();
    }

private:
    template <class Visible>
    bool Has(const Visible &it) const {
        return m_column >= it.left && m_column < it.right;
    }

    // Returns the first row whose middle is not above this height.
    int RowOf(Fixed aboveEye) const {
        const Fixed row = ToFixed(m_scene.height) / 2 - aboveEye * m_scene.focal * kOne / m_depth;
        return static_cast<int>(std::clamp<Fixed>((row + kOne / 2 - 1) >> 16, 0, m_scene.height));
    }
    // Returns the height above the eye of the middle of a row, at the current depth.
    Fixed HeightOf(int row) const { return Step() * (m_scene.height - 2 * row - 1) / 2; }
    Fixed Step() const { return m_depth / m_scene.focal; }

    // Finds the point where the ray of the column meets the seg. Returns false if the ray misses
    // it.
    bool Meet(const VisibleSeg &it) {
        constexpr int kBits = 24;  // of the place along the seg
        const Fixed turn = it.across2 - it.across1 - Multiply(m_slope, it.depth2 - it.depth1);
        if (turn <= 0) return false;
        const Fixed ahead = Multiply(m_slope, it.depth1) - it.across1, whole = Fixed{1} << kBits;
        const Fixed part = std::clamp<Fixed>(ahead * whole / turn, 0, whole);
        m_depth = std::max(it.depth1 + (((it.depth2 - it.depth1) * part) >> kBits), Scene::kNear);
        m_along = ((it.seg->length * part) >> kBits) +
                  ToFixed(it.seg->offset + m_level.sides[it.seg->side].xOffset);
        m_colors = WallColors(*it.seg);
        return true;
    }

    void PaintSeg(const VisibleSeg &visible) {
        if (!Meet(visible)) return;
        const Seg &seg = *visible.seg;
        const Side &side = m_level.sides[seg.side];
        const Sector &front = m_level.sectors[seg.front];
        const Fixed eye = m_scene.eye.z, ceiling = ToFixed(m_ceilings[seg.front]) - eye,
                    floor = ToFixed(front.floor) - eye;
        const int ceilingRow = RowOf(ceiling), floorRow = RowOf(floor);
        if (ceiling > 0 || front.ceilingFlat == kSky)
            PaintPlane(front.ceilingFlat, ceiling, front.light, m_top,
                       std::min(ceilingRow, m_bottom));
        if (floor < 0)
            PaintPlane(front.floorFlat, floor, front.light, std::max(floorRow, m_top), m_bottom);
        m_top = std::max(m_top, ceilingRow);
        m_bottom = std::min(m_bottom, floorRow);

        const bool lowerUnpegged = (seg.flags & kLowerUnpegged) != 0,
                   upperUnpegged = (seg.flags & kUpperUnpegged) != 0;
        const Fixed shift = ToFixed(side.yOffset);
        if (seg.back == kNone) {
            PaintWall(side.middle,
                      (lowerUnpegged ? floor + TextureHeight(side.middle) : ceiling) + shift, m_top,
                      m_bottom);
            m_bottom = m_top;
        } else {
            // if a texture is missing, the plane behind continues: levels use this for invisible
            // pits
            const Sector &back = m_level.sectors[seg.back];
            const Fixed backCeiling = ToFixed(m_ceilings[seg.back]) - eye,
                        backFloor = ToFixed(back.floor) - eye;
            const int upperEnd = RowOf(backCeiling), lowerBegin = RowOf(backFloor);
            // sky continues over lower sky
            const bool bothSky = back.ceilingFlat == kSky && front.ceilingFlat == kSky;
            if (!bothSky && side.upper != kNone) {
                PaintWall(
                    side.upper,
                    (upperUnpegged ? ceiling : backCeiling + TextureHeight(side.upper)) + shift,
                    m_top, std::min(upperEnd, m_bottom));
                m_top = std::max(m_top, upperEnd);
            }
            if (side.lower != kNone) {
                PaintWall(side.lower, (lowerUnpegged ? ceiling : backFloor) + shift,
                          std::max(lowerBegin, m_top), m_bottom);
                m_bottom = std::min(m_bottom, lowerBegin);
            }
        }
        m_strip.passed.push_back({&visible, m_depth, m_along, m_top, m_bottom});
    }

    Fixed TextureHeight(int texture) const {
        return texture == kNone ? 0 : ToFixed(m_textures.walls[texture].height);
    }

    // Walls along the axes have a slightly different light, so that corners are visible.
    const uint8_t *WallColors(const Seg &seg) const {
        const int contrast = seg.y1 == seg.y2 ? -16 : seg.x1 == seg.x2 ? 16 : 0;
        return m_textures.ColorsAt(m_textures.ShadesOf(m_level.sectors[seg.front].light + contrast),
                                   m_depth);
    }

    static int Repeated(Fixed along, int width) {
        const int x = ToInt(along) % width;
        return x < 0 ? x + width : x;
    }

    void PaintWall(int texture, Fixed textureTop, int first, int last) {
        if (texture == kNone || first >= last) return;
        const Image &image = m_textures.walls[texture];
        const uint8_t *texels = &image.texels[image.Texel(Repeated(m_along, image.width), 0)];
        const Fixed size = ToFixed(image.height), step = Step() % size;
        Fixed v = (textureTop - HeightOf(first)) % size;
        if (v < 0) v += size;
        for (int row = first; row < last; ++row) {
            m_pixels[row] = m_colors[texels[v >> 16]];
            v += step;
            if (v >= size) v -= size;
        }
    }

    void PaintPlane(int flat, Fixed aboveEye, int light, int first, int last) {
        if (first >= last) return;
        if (flat == kSky) return PaintSky(first, last);
        const uint8_t *texels = m_textures.flats[flat].data();
        const Textures::Shades &shades = m_textures.ShadesOf(light);
        const Fixed distance = aboveEye < 0 ? -aboveEye : aboveEye;
        const Fixed acrossX = Multiply(distance, m_rayX), acrossY = Multiply(distance, m_rayY);
        for (int row = first; row < last; ++row) {
            const Fixed perUnit = m_scene.rowDepth[row];
            const int x = ToInt(m_scene.eye.x + Multiply(acrossX, perUnit)) & (kFlatSide - 1);
            const int y = ToInt(-m_scene.eye.y - Multiply(acrossY, perUnit)) & (kFlatSide - 1);
            m_pixels[row] =
                m_textures.ColorsAt(shades, Multiply(distance, perUnit))[texels[y * kFlatSide + x]];
        }
    }

    // The sky is a cylinder around the level. It has 1024 texels around, and the height of the
    // frame.
    void PaintSky(int first, int last) {
        if (m_level.sky == kNone) return;
        const Image &image = m_textures.walls[m_level.sky];
        const Angle angle = m_scene.eye.angle - AngleOf(kOne, m_slope);
        const uint8_t *texels =
            &image.texels[image.Texel(static_cast<int>(~angle >> 22) % image.width, 0)];
        for (int row = first; row < last; ++row)
            m_pixels[row] = m_textures.colormap[texels[row * 200 / m_scene.height % image.height]];
    }

    // Returns whether the middle of a sprite is behind the seg. The depths decide, or the line of
    // the seg if the depth is between those of its ends.
    static bool IsBehind(const VisibleSprite &sprite, const VisibleSeg &it) {
        if (sprite.depth <= std::min(it.depth1, it.depth2)) return false;
        return sprite.depth >= std::max(it.depth1, it.depth2) ||
               it.seg->SideOf(sprite.x, sprite.y) <= 0;
    }

    void PaintMasked() {
        const auto &passed = m_strip.passed;
        const int count = static_cast<int>(passed.size());
        m_strip.behind.clear();
        for (const VisibleSprite *sprite : m_strip.sprites) {
            int last = count - 1;
            while (last >= 0 && !IsBehind(*sprite, *passed[last].seg)) --last;
            m_strip.behind.push_back(last);
        }
        for (int i = count - 1; i >= -1; --i) {
            for (size_t s = 0; s < m_strip.sprites.size(); ++s)
                if (m_strip.behind[s] == i && Has(*m_strip.sprites[s]))
                    PaintSprite(*m_strip.sprites[s], i < 0 ? 0 : passed[i].top,
                                i < 0 ? m_scene.height : passed[i].bottom);
            if (i >= 0) PaintGrating(passed[i]);
        }
    }

    void PaintSprite(const VisibleSprite &sprite, int top, int bottom) {
        m_depth = sprite.depth;
        m_colors = m_textures.ColorsAt(m_textures.ShadesOf(sprite.light), m_depth);
        const int x = std::clamp(ToInt(Multiply(m_slope, m_depth) - sprite.across), 0,
                                 sprite.image->width - 1);
        PaintHoled(*sprite.image, sprite.mirrored ? sprite.image->width - 1 - x : x, sprite.top,
                   top, bottom);
    }

    // Draws the middle texture of a line with two sides. It hangs in the opening and is not
    // repeated downwards.
    void PaintGrating(const Passed &passed) {
        const Seg &seg = *passed.seg->seg;
        const Side &side = m_level.sides[seg.side];
        if (seg.back == kNone || side.middle == kNone) return;
        const Image &image = m_textures.walls[side.middle];
        const bool stands = (seg.flags & kLowerUnpegged) != 0;
        const int top =
            stands ? std::max(m_level.sectors[seg.front].floor, m_level.sectors[seg.back].floor) +
                         image.height
                   : std::min(m_ceilings[seg.front], m_ceilings[seg.back]);
        m_depth = passed.depth;
        m_colors = WallColors(seg);
        PaintHoled(image, Repeated(passed.along, image.width),
                   ToFixed(top + side.yOffset) - m_scene.eye.z, passed.top, passed.bottom);
    }

    void PaintHoled(const Image &image, int x, Fixed imageTop, int top, int bottom) {
        const int first = std::max(RowOf(imageTop), top),
                  last = std::min(RowOf(imageTop - ToFixed(image.height)), bottom);
        const Fixed step = Step();
        Fixed v = std::max<Fixed>(imageTop - HeightOf(first), 0);
        for (int row = first; row < last; ++row, v += step) {
            const size_t texel = image.Texel(x, std::min(ToInt(v), image.height - 1));
            if (image.opaque[texel] != 0) m_pixels[row] = m_colors[image.texels[texel]];
        }
    }

    const Textures &m_textures;
    const Level &m_level;
    const Ceilings &m_ceilings;
    const Scene &m_scene;
    Strip &m_strip;
    int m_column;
    uint8_t *m_pixels;
    // the ray of the column: across the view, and in the level, for a depth of one
    Fixed m_slope, m_rayX, m_rayY;
    int m_top = 0, m_bottom;            // the rows still open
    Fixed m_depth = kOne, m_along = 0;  // of the current wall or sprite
    const uint8_t *m_colors = nullptr;
};

uint64_t LittleEndian32(const uint8_t *bytes) {
    return uint32_t{bytes[0]} | uint32_t{bytes[1]} << 8 | uint32_t{bytes[2]} << 16 |
           uint32_t{bytes[3]} << 24;
}

}  // namespace

void DrawStrip(const Game &game, const World &world, Scene *scene, size_t index) {
    Strip &strip = scene->strips[index];
    const int first = static_cast<int>(index) * Scene::kStripColumns,
              last = std::min(first + Scene::kStripColumns, scene->width);
    strip.segs.clear();
    strip.sprites.clear();
    for (const VisibleSeg &it : scene->segs)
        if (it.left < last && it.right > first) strip.segs.push_back(&it);
    for (const VisibleSprite &it : scene->sprites)
        if (it.left < last && it.right > first) strip.sprites.push_back(&it);
    for (int column = first; column < last; ++column)
        ColumnPainter(game, world, *scene, &strip, column,
                      &scene->pixels[size_t{1} * column * scene->height])
            .Paint();
}

uint64_t ComposeRows(const Game &game, Scene *scene, int firstRow, int lastRow) {
    const size_t rowBytes = size_t{3} * scene->width;
    for (int column = 0; column < scene->width; ++column) {
        const uint8_t *pixel = &scene->pixels[size_t{1} * column * scene->height + firstRow];
        uint8_t *rgb = &scene->rgb[firstRow * rowBytes + size_t{3} * column];
        for (int row = firstRow; row < lastRow; ++row, rgb += rowBytes) {
            const uint8_t *color = &game.textures.palette[size_t{3} * *pixel++];
            for (int i = 0; i < 3; ++i) rgb[i] = color[i];
        }
    }
    uint64_t hash = kHashStart;
    const uint8_t *at = &scene->rgb[firstRow * rowBytes],
                  *end = at + (lastRow - firstRow) * rowBytes;
    for (; end - at >= 8; at += 8)
        hash = HashStep(hash, LittleEndian32(at) | LittleEndian32(at + 4) << 32);
    for (; at != end; ++at) hash = HashStep(hash, *at);
    return hash;
}

}  // namespace frame_loop
