#include "render.h"

#include <algorithm>
#include <cstdlib>

namespace frame_loop {
namespace {

constexpr Fixed kNear = kOne, kSpriteNear = 16 * kOne;

struct ViewPoint2 {
    Fixed depth, across;
};

class Walk {
public:
    Walk(const Game &game, const World &world, Scene *scene)
        : m_game(game), m_world(world), m_scene(*scene) {}

    // Nearer half first; a half whose box lies outside the view or behind closed columns is left out.
    void Run() {
        const Level &level = m_game.level;
        std::array<std::pair<int, const Box *>, kMaxTreeDepth + 2> open;
        size_t count = 0;
        open[count++] = {level.root, nullptr};
        while (count != 0) {
            const auto [at, box] = open[--count];
            if (box != nullptr && !MaySee(*box)) continue;
            if (at < 0) {
                AddSubsector(~at);
                continue;
            }
            const Node &node = level.nodes[at];
            const size_t nearer = node.SideOf(m_scene.eye.x, m_scene.eye.y) > 0 ? 0 : 1;
            open[count++] = {node.child[1 - nearer], &node.box[1 - nearer]};
            open[count++] = {node.child[nearer], &node.box[nearer]};
        }
        AddSprites();
    }

private:
    ViewPoint2 ToView(Fixed x, Fixed y) const {
        const Fixed dx = x - m_scene.eye.x, dy = y - m_scene.eye.y;
        return {Multiply(dx, m_scene.cosine) + Multiply(dy, m_scene.sine),
                Multiply(dx, m_scene.sine) - Multiply(dy, m_scene.cosine)};
    }

    // The first column whose middle is not left of the point.
    int ColumnOf(Fixed across, Fixed depth) const {
        const Fixed column = ToFixed(m_scene.width) / 2 + across * m_scene.focal * kOne / depth;
        return static_cast<int>(std::clamp<Fixed>((column + kOne / 2 - 1) >> 16, 0, m_scene.width));
    }

    bool AnyOpen(int left, int right) const {
        return std::find(m_scene.closed.begin() + left, m_scene.closed.begin() + right, 0) !=
               m_scene.closed.begin() + right;
    }

    bool MaySee(const Box &box) const {
        int behind = 0, offLeft = 0, offRight = 0, left = m_scene.width, right = 0;
        for (const int x : {box.left, box.right})
            for (const int y : {box.bottom, box.top}) {
                const ViewPoint2 corner = ToView(ToFixed(x), ToFixed(y));
                behind += corner.depth < kNear;
                offLeft += corner.across < -corner.depth;
                offRight += corner.across > corner.depth;
                if (corner.depth < kNear) continue;
                left = std::min(left, ColumnOf(corner.across, corner.depth) - 1);
                right = std::max(right, ColumnOf(corner.across, corner.depth) + 1);
            }
        if (behind == 4 || offLeft == 4 || offRight == 4) return false;
        if (behind != 0) return AnyOpen(0, m_scene.width);
        return AnyOpen(std::max(left, 0), std::min(right, m_scene.width));
    }

    void AddSubsector(int index) {
        m_scene.reached[index] = 1;
        const Subsector &subsector = m_game.level.subsectors[index];
        for (int i = subsector.firstSeg; i < subsector.firstSeg + subsector.segs; ++i)
            AddSeg(m_game.level.segs[i]);
    }

    void AddSeg(const Seg &seg) {
        const Fixed toEyeX = m_scene.eye.x - ToFixed(seg.x1), toEyeY = m_scene.eye.y - ToFixed(seg.y1);
        if (toEyeX * (seg.y2 - seg.y1) - toEyeY * (seg.x2 - seg.x1) <= 0) return;  // seen from behind
        const ViewPoint2 a = ToView(ToFixed(seg.x1), ToFixed(seg.y1)),
                         b = ToView(ToFixed(seg.x2), ToFixed(seg.y2));
        if (a.depth < kNear && b.depth < kNear) return;
        const auto atNear = [&](const ViewPoint2 &end) {
            if (end.depth >= kNear) return ColumnOf(end.across, end.depth);
            const Fixed part = (kNear - a.depth) * kOne / (b.depth - a.depth);
            return ColumnOf(a.across + Multiply(b.across - a.across, part), kNear);
        };
        const int left = atNear(a), right = atNear(b);
        if (left >= right || !AnyOpen(left, right)) return;
        m_scene.segs.push_back({&seg, a.depth, a.across, b.depth, b.across, left, right});
        if (IsClosed(seg))
            std::fill(m_scene.closed.begin() + left, m_scene.closed.begin() + right, uint8_t{1});
    }

    bool IsClosed(const Seg &seg) const {
        if (seg.back == kNone) return true;
        const Sector &front = m_game.level.sectors[seg.front], &back = m_game.level.sectors[seg.back];
        const bool bothSky = front.ceilingFlat == kSkyFlat && back.ceilingFlat == kSkyFlat;
        return back.floor >= front.ceiling || (!bothSky && back.ceiling <= front.floor);
    }

    void AddSprites() {
        for (const Scenery &scenery : m_game.things.scenery)
            AddSprite(scenery.x, scenery.y, scenery.floor, scenery.subsector, scenery.sprite, 0);
        for (const Monster &monster : m_world.monsters) {
            const MonsterKind &kind = m_game.things.kinds[monster.kind];
            AddSprite(monster.x, monster.y, monster.floor, monster.subsector,
                      kind.sprite[monster.walked / 8 % 4], monster.angle);
        }
        std::stable_sort(m_scene.sprites.begin(), m_scene.sprites.end(),
                         [](const VisibleSprite &a, const VisibleSprite &b) { return a.depth > b.depth; });
    }

    void AddSprite(Fixed x, Fixed y, int floor, int subsector, int sprite, Angle facing) {
        const ViewPoint2 at = ToView(x, y);
        if (!m_scene.reached[subsector] || at.depth < kSpriteNear) return;
        const Angle toEye = AngleOf(m_scene.eye.x - x, m_scene.eye.y - y);
        const size_t side = (toEye - facing + kQuarterTurn / 4) >> 29;
        const SpriteFrame &frame = m_game.textures.sprites[sprite];
        const Image &image = m_game.textures.images[frame.image[side]];
        const Fixed left = at.across - ToFixed(image.left);
        const int first = ColumnOf(left, at.depth), last = ColumnOf(left + ToFixed(image.width), at.depth);
        if (first >= last) return;
        const int light = m_game.level.sectors[m_game.level.subsectors[subsector].sector].light;
        m_scene.sprites.push_back({&image, x, y, at.depth, left, ToFixed(floor + image.top) - m_scene.eye.z,
                                   light, first, last, frame.mirrored[side]});
    }

    const Game &m_game;
    const World &m_world;
    Scene &m_scene;
};

}  // namespace

Scene::Scene(int frameWidth, int frameHeight)
    : width(frameWidth),
      height(frameHeight),
      focal(frameWidth / 2),
      rowDepth(frameHeight),
      closed(frameWidth),
      strips((frameWidth + kStripColumns - 1) / kStripColumns),
      pixels(size_t{1} * frameWidth * frameHeight),
      rgb(pixels.size() * 3) {
    for (int row = 0; row < height; ++row)
        rowDepth[row] = 2 * ToFixed(focal) / std::max(std::abs(2 * row + 1 - height), 1);
}

void FindVisible(const Game &game, const Viewpoint &eye, const World &world, Scene *scene) {
    scene->eye = eye;
    scene->sine = Sine(eye.angle);
    scene->cosine = Cosine(eye.angle);
    scene->segs.clear();
    scene->sprites.clear();
    scene->closed.assign(scene->closed.size(), 0);
    scene->reached.assign(game.level.subsectors.size(), 0);
    Walk(game, world, scene).Run();
}

}  // namespace frame_loop
