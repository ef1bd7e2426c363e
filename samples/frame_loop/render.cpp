#include "render.h"

#include <algorithm>

namespace frame_loop {
namespace {

constexpr Fixed kNear = kOne;
constexpr int kPartBits = 24;  // of the place along a seg: 0 at its first end, 2^24 at its second

int Wrapped(Fixed value, int size) {
    const int rest = static_cast<int>(ToInt(value) % size);
    return rest < 0 ? rest + size : rest;
}

// Draws one column of the frame: walls, floors and ceilings from the viewer outwards, then from the farthest
// back what has holes to look through.
class ColumnPainter {
public:
    ColumnPainter(const Game &game, const Scene &scene, Strip *strip, int column, uint8_t *pixels)
        : m_game(game),
          m_scene(scene),
          m_strip(*strip),
          m_column(column),
          m_pixels(pixels),
          m_bottom(scene.height) {
        m_slope = ToFixed(2 * column + 1 - scene.width) / (2 * scene.focal);
        m_rayX = scene.cosine + Multiply(m_slope, scene.sine);
        m_rayY = scene.sine - Multiply(m_slope, scene.cosine);
    }

    void Paint() {
        std::fill(m_pixels, m_pixels + m_scene.height, uint8_t{0});  // holes of the level are black
        m_strip.passed.clear();
        for (const VisibleSeg *seg : m_strip.segs) {
            if (m_column < seg->left || m_column >= seg->right) continue;
            PaintSeg(*seg);
            if (m_top >= m_bottom) break;
        }
        PaintMasked();
    }

private:
    const Sector &SectorAt(int index) const { return m_game.level.sectors[index]; }

    // The first row whose middle is not above a height.
    int RowOf(Fixed aboveEye) const {
        const Fixed row = ToFixed(m_scene.height) / 2 - aboveEye * m_scene.focal * kOne / m_depth;
        return static_cast<int>(std::clamp<Fixed>((row + kOne / 2 - 1) >> 16, 0, m_scene.height));
    }

    void PaintSeg(const VisibleSeg &visible) {
        const Seg &seg = *visible.seg;
        const Fixed turn =
            visible.across2 - visible.across1 - Multiply(m_slope, visible.depth2 - visible.depth1);
        if (turn <= 0) return;
        const Fixed ahead = Multiply(m_slope, visible.depth1) - visible.across1;
        const Fixed part =
            std::clamp<Fixed>(ahead * (Fixed{1} << kPartBits) / turn, 0, Fixed{1} << kPartBits);
        m_depth = std::max(visible.depth1 + (((visible.depth2 - visible.depth1) * part) >> kPartBits), kNear);
        const Side &side = m_game.level.sides[seg.side];
        m_along = ((seg.length * part) >> kPartBits) + ToFixed(seg.offset + side.xOffset);
        const Sector &front = SectorAt(seg.front);
        m_colors = WallColors(seg, front);

        const Fixed eye = m_scene.eye.z, ceiling = ToFixed(front.ceiling) - eye,
                    floor = ToFixed(front.floor) - eye;
        const int ceilingRow = RowOf(ceiling), floorRow = RowOf(floor);
        if (ceiling > 0 || front.ceilingFlat == kSkyFlat)
            PaintPlane(front.ceilingFlat, ceiling, front.light, m_top, std::min(ceilingRow, m_bottom));
        if (floor < 0) PaintPlane(front.floorFlat, floor, front.light, std::max(floorRow, m_top), m_bottom);
        m_top = std::max(m_top, ceilingRow);
        m_bottom = std::min(m_bottom, floorRow);

        const bool lowerUnpegged = (m_game.level.lines[seg.line].flags & kLowerUnpegged) != 0;
        if (seg.back == kNone) {
            const Fixed textureTop = lowerUnpegged ? floor + TextureHeight(side.middle) : ceiling;
            PaintWall(side.middle, textureTop + ToFixed(side.yOffset), m_top, m_bottom);
            m_bottom = m_top;
        } else {  // where a texture is missing, the plane behind goes on: levels make invisible pits of that
            const Sector &back = SectorAt(seg.back);
            const Fixed backCeiling = ToFixed(back.ceiling) - eye, backFloor = ToFixed(back.floor) - eye;
            if (back.ceilingFlat != kSkyFlat ||
                front.ceilingFlat != kSkyFlat) {  // sky goes on over lower sky
                const bool unpegged = (m_game.level.lines[seg.line].flags & kUpperUnpegged) != 0;
                const Fixed textureTop = unpegged ? ceiling : backCeiling + TextureHeight(side.upper);
                const int row = RowOf(backCeiling);
                PaintWall(side.upper, textureTop + ToFixed(side.yOffset), m_top, std::min(row, m_bottom));
                if (side.upper != kNoTexture) m_top = std::max(m_top, row);
            }
            const int row = RowOf(backFloor);
            PaintWall(side.lower, (lowerUnpegged ? ceiling : backFloor) + ToFixed(side.yOffset),
                      std::max(row, m_top), m_bottom);
            if (side.lower != kNoTexture) m_bottom = std::min(m_bottom, row);
        }
        m_strip.passed.push_back({&visible, m_depth, m_along, m_top, m_bottom});
    }

    Fixed TextureHeight(int texture) const {
        return texture == kNoTexture ? 0 : ToFixed(m_game.textures.walls[texture].height);
    }

    // Walls along the axes are lit a little differently, so that corners show.
    const uint8_t *WallColors(const Seg &seg, const Sector &sector) const {
        const int contrast = seg.y1 == seg.y2 ? -16 : seg.x1 == seg.x2 ? 16 : 0;
        return m_game.textures.ColorsAt(sector.light + contrast, m_depth);
    }

    // The height above the eye of a row's middle, at the present depth.
    Fixed HeightOf(int row) const { return Step() * (m_scene.height - 2 * row - 1) / 2; }
    Fixed Step() const { return m_depth / m_scene.focal; }

    void PaintWall(int texture, Fixed textureTop, int first, int last) {
        if (texture == kNoTexture || first >= last) return;
        const Image &image = m_game.textures.walls[texture];
        const uint8_t *texels = &image.texels[image.Column(Wrapped(m_along, image.width))];
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
        if (flat == kSkyFlat) return PaintSky(first, last);
        const uint8_t *texels = m_game.textures.flats[flat].data(),
                      *colormap = m_game.textures.colormap.data();
        const auto &shades = m_game.textures.ShadesOf(light);
        const Fixed distance = aboveEye < 0 ? -aboveEye : aboveEye;
        const Fixed acrossX = Multiply(distance, m_rayX), acrossY = Multiply(distance, m_rayY);
        for (int row = first; row < last; ++row) {
            const Fixed perUnit = m_scene.rowDepth[row];
            const int x = ToInt(m_scene.eye.x + Multiply(acrossX, perUnit)) & (kFlatSide - 1);
            const int y = ToInt(-m_scene.eye.y - Multiply(acrossY, perUnit)) & (kFlatSide - 1);
            const size_t shade = shades[Textures::ShadeIndex(Multiply(distance, perUnit))];
            m_pixels[row] = colormap[shade * 256 + texels[y * kFlatSide + x]];
        }
    }

    // The sky is a cylinder of four textures' circumference, as far as the level is concerned infinitely far.
    void PaintSky(int first, int last) {
        if (m_game.level.skyTexture == kNoTexture) return;
        const Image &image = m_game.textures.walls[m_game.level.skyTexture];
        const Angle angle = m_scene.eye.angle - AngleOf(kOne, m_slope);
        const uint8_t *texels =
            &image.texels[image.Column(static_cast<int>(0x3ff - (angle >> 22)) % image.width)];
        for (int row = first; row < last; ++row)
            m_pixels[row] = m_game.textures.colormap[texels[row * 200 / m_scene.height % image.height]];
    }

    // Whether a sprite's middle is farther than the seg: by depth, or if that is no answer, by the seg's
    // line.
    bool IsBehind(const VisibleSprite &sprite, const VisibleSeg &visible) const {
        if (sprite.depth <= std::min(visible.depth1, visible.depth2)) return false;
        if (sprite.depth >= std::max(visible.depth1, visible.depth2)) return true;
        const Seg &seg = *visible.seg;
        return (sprite.x - ToFixed(seg.x1)) * (seg.y2 - seg.y1) -
                   (sprite.y - ToFixed(seg.y1)) * (seg.x2 - seg.x1) <=
               0;
    }

    void PaintMasked() {
        const auto &passed = m_strip.passed;
        const auto inColumn = [&](const VisibleSprite &sprite) {
            return m_column >= sprite.firstColumn && m_column < sprite.lastColumn;
        };
        m_strip.behind.assign(m_strip.sprites.size(), -1);  // of each sprite the last seg that it is behind
        for (size_t s = 0; s < m_strip.sprites.size(); ++s)
            for (int i = static_cast<int>(passed.size()) - 1; i >= 0 && inColumn(*m_strip.sprites[s]); --i)
                if (IsBehind(*m_strip.sprites[s], *passed[i].seg)) {
                    m_strip.behind[s] = i;
                    break;
                }
        for (int i = static_cast<int>(passed.size()) - 1; i >= -1; --i) {
            const int top = i < 0 ? 0 : passed[i].top, bottom = i < 0 ? m_scene.height : passed[i].bottom;
            for (size_t s = 0; s < m_strip.sprites.size(); ++s)
                if (m_strip.behind[s] == i && inColumn(*m_strip.sprites[s]))
                    PaintSprite(*m_strip.sprites[s], top, bottom);
            if (i >= 0) PaintGrating(passed[i]);
        }
    }

    void PaintSprite(const VisibleSprite &sprite, int top, int bottom) {
        m_depth = sprite.depth;
        m_colors = m_game.textures.ColorsAt(sprite.light, m_depth);
        const int x = std::clamp(ToInt(Multiply(m_slope, m_depth) - sprite.left), 0, sprite.image->width - 1);
        PaintHoled(*sprite.image, sprite.mirrored ? sprite.image->width - 1 - x : x, sprite.top, top, bottom);
    }

    // The middle texture of a line with two sides: it hangs in the opening and is not repeated downwards.
    void PaintGrating(const Passed &passed) {
        const Seg &seg = *passed.seg->seg;
        const Side &side = m_game.level.sides[seg.side];
        if (seg.back == kNone || side.middle == kNoTexture) return;
        const Image &image = m_game.textures.walls[side.middle];
        const Sector &front = SectorAt(seg.front), &back = SectorAt(seg.back);
        const bool standing = (m_game.level.lines[seg.line].flags & kLowerUnpegged) != 0;
        const int top = standing ? std::max(front.floor, back.floor) + image.height
                                 : std::min(front.ceiling, back.ceiling);
        m_depth = passed.depth;
        m_colors = WallColors(seg, front);
        PaintHoled(image, Wrapped(passed.along, image.width), ToFixed(top + side.yOffset) - m_scene.eye.z,
                   passed.top, passed.bottom);
    }

    void PaintHoled(const Image &image, int x, Fixed imageTop, int top, int bottom) {
        const int first = std::max(RowOf(imageTop), top),
                  last = std::min(RowOf(imageTop - ToFixed(image.height)), bottom);
        if (first >= last) return;
        const size_t texels = image.Column(x);
        const Fixed step = Step();
        Fixed v = std::max<Fixed>(imageTop - HeightOf(first), 0);
        for (int row = first; row < last; ++row, v += step) {
            const size_t texel = texels + std::min(ToInt(v), image.height - 1);
            if (image.opaque[texel] != 0) m_pixels[row] = m_colors[image.texels[texel]];
        }
    }

    const Game &m_game;
    const Scene &m_scene;
    Strip &m_strip;
    int m_column;
    uint8_t *m_pixels;
    Fixed m_slope = 0, m_rayX = 0,
          m_rayY = 0;         // the column's ray: across the view, and in the level, for a depth of one
    int m_top = 0, m_bottom;  // the rows still open
    Fixed m_depth = kOne, m_along = 0;  // of the seg or sprite being painted
    const uint8_t *m_colors = nullptr;
};

uint64_t LittleEndian(const uint8_t *bytes, size_t count) {
    if (count == 8) {
        const auto pair = [&](size_t at) { return uint32_t{bytes[at]} | uint32_t{bytes[at + 1]} << 8; };
        return uint64_t{pair(0) | pair(2) << 16} | uint64_t{pair(4) | pair(6) << 16} << 32;
    }
    uint64_t word = 0;
    while (count-- > 0) word = word << 8 | bytes[count];
    return word;
}

}  // namespace

void DrawStrip(const Game &game, Scene *scene, int index) {
    Strip &strip = scene->strips[index];
    const int first = index * Scene::kStripColumns,
              last = std::min(first + Scene::kStripColumns, scene->width);
    strip.segs.clear();
    strip.sprites.clear();
    for (const VisibleSeg &seg : scene->segs)
        if (seg.left < last && seg.right > first) strip.segs.push_back(&seg);
    for (const VisibleSprite &sprite : scene->sprites)
        if (sprite.firstColumn < last && sprite.lastColumn > first) strip.sprites.push_back(&sprite);
    for (int column = first; column < last; ++column)
        ColumnPainter(game, *scene, &strip, column, &scene->pixels[size_t{1} * column * scene->height])
            .Paint();
}

uint64_t ComposeRows(const Game &game, Scene *scene, int firstRow, int lastRow) {
    const size_t rowBytes = size_t{3} * scene->width, end = lastRow * rowBytes;
    for (int column = 0; column < scene->width; ++column) {
        const uint8_t *pixel = &scene->pixels[size_t{1} * column * scene->height + firstRow];
        uint8_t *rgb = &scene->rgb[firstRow * rowBytes + size_t{3} * column];
        for (int row = firstRow; row < lastRow; ++row, rgb += rowBytes, ++pixel) {
            const uint8_t *color = &game.textures.palette[size_t{3} * *pixel];
            for (int i = 0; i < 3; ++i) rgb[i] = color[i];
        }
    }
    uint64_t hash = kHashStart;
    for (size_t at = firstRow * rowBytes; at < end; at += 8)
        hash = HashStep(hash, LittleEndian(&scene->rgb[at], std::min<size_t>(8, end - at)));
    return hash;
}

}  // namespace frame_loop
