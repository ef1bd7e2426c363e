// Finds what is visible from the eye, from front to back.
#include "render.h"

#include <cstdlib>
#include <utility>

namespace frame_loop {
namespace {

class TreeWalk {
public:
    TreeWalk(const Game &game, const Ceilings &ceilings, Scene *scene)
        : m_game(game), m_ceilings(ceilings), m_scene(*scene) {}

    // Visits the nearer half of a node first. Skips a half whose box is outside of the view or
    // behind closed columns.
    void Run() {
        std::array<std::pair<int, const Box *>, Level::kMaxDepth + 2> open;
        size_t count = 0;
        open[count++] = {m_game.level.root, nullptr};
        while (count != 0) {
            const auto [at, box] = open[--count];
            if (box != nullptr && !MaySee(*box)) continue;
            if (at < 0) {
                AddSubsector(~at);
                continue;
            }
            const Node &node = m_game.level.nodes[at];
            const int nearer = node.SideOf(m_scene.eye.x, m_scene.eye.y) > 0 ? 0 : 1;
            for (const int child : {1 - nearer, nearer})
                open[count++] = {node.child[child], &node.box[child]};
        }
    }

    void AddSprite(Fixed x, Fixed y, int floor, int subsector, int sprite, Angle facing) {
        const View at = ToView(x, y);
        if (m_scene.reached[subsector] == 0 || at.depth < 16 * kOne) return;
        const Angle toEye = AngleOf(m_scene.eye.x - x, m_scene.eye.y - y);
        const size_t side = (toEye - facing + kQuarterTurn / 4) >> 29;
        const SpriteFrame &frame = m_game.textures.sprites[sprite];
        const Image &image = m_game.textures.images[frame.image[side]];
        const Fixed across = at.across - ToFixed(image.left);
        const int left = ColumnOf({at.depth, across}),
                  right = ColumnOf({at.depth, across + ToFixed(image.width)});
        if (left < right)
            m_scene.sprites.push_back(
                {&image, x, y, at.depth, across, ToFixed(floor + image.top) - m_scene.eye.z,
                 m_game.level.SectorOf(subsector).light, left, right, frame.mirrored[side]});
    }

private:
    struct View {
        Fixed depth, across;
    };

    View ToView(Fixed x, Fixed y) const {
        const Fixed dx = x - m_scene.eye.x, dy = y - m_scene.eye.y;
        return {Multiply(dx, m_scene.cosine) + Multiply(dy, m_scene.sine),
                Multiply(dx, m_scene.sine) - Multiply(dy, m_scene.cosine)};
    }

    // Returns the first column whose middle is not left of the point.
    int ColumnOf(View point) const {
        const Fixed column =
            ToFixed(m_scene.width) / 2 + point.across * m_scene.focal * kOne / point.depth;
        return static_cast<int>(std::clamp<Fixed>((column + kOne / 2 - 1) >> 16, 0, m_scene.width));
    }

    bool AnyOpen(int left, int right) const {
        const auto begin = m_scene.closed.begin();
        return left < right && std::find(begin + left, begin + right, 0) != begin + right;
    }

    bool MaySee(const Box &box) const {
        int behind = 0, offLeft = 0, offRight = 0, left = m_scene.width, right = 0;
        for (const int x : {box.left, box.right})
            for (const int y : {box.bottom, box.top}) {
                const View corner = ToView(ToFixed(x), ToFixed(y));
                offLeft += corner.across < -corner.depth;
                offRight += corner.across > corner.depth;
                behind += corner.depth < Scene::kNear;
                if (corner.depth < Scene::kNear) continue;
                left = std::min(left, std::max(ColumnOf(corner) - 1, 0));
                right = std::max(right, std::min(ColumnOf(corner) + 1, m_scene.width));
            }
        if (behind == 4 || offLeft == 4 || offRight == 4) return false;
        return behind != 0 ? AnyOpen(0, m_scene.width) : AnyOpen(left, right);
    }

    void AddSubsector(int index) {
        m_scene.reached[index] = 1;
        const Subsector &subsector = m_game.level.subsectors[index];
        for (int i = subsector.firstSeg; i < subsector.lastSeg; ++i) AddSeg(m_game.level.segs[i]);
    }

    void AddSeg(const Seg &seg) {
        const View a = ToView(ToFixed(seg.x1), ToFixed(seg.y1)),
                   b = ToView(ToFixed(seg.x2), ToFixed(seg.y2));
        if (seg.SideOf(m_scene.eye.x, m_scene.eye.y) <= 0 ||
            std::max(a.depth, b.depth) < Scene::kNear)
            return;
        const auto columnOf = [&](const View &end) {
            if (end.depth >= Scene::kNear) return ColumnOf(end);
            const Fixed part = (Scene::kNear - a.depth) * kOne / (b.depth - a.depth);
            return ColumnOf({Scene::kNear, a.across + Multiply(b.across - a.across, part)});
        };
        const int left = columnOf(a), right = columnOf(b);
        if (!AnyOpen(left, right)) return;
        m_scene.segs.push_back({&seg, a.depth, a.across, b.depth, b.across, left, right});
        if (IsClosed(seg))
            std::fill(m_scene.closed.begin() + left, m_scene.closed.begin() + right, uint8_t{1});
    }

    bool IsClosed(const Seg &seg) const {
        if (seg.back == kNone) return true;
        const Sector &front = m_game.level.sectors[seg.front],
                     &back = m_game.level.sectors[seg.back];
        const bool bothSky = front.ceilingFlat == kSky && back.ceilingFlat == kSky;
        return back.floor >= m_ceilings[seg.front] ||
               (m_ceilings[seg.back] <= front.floor && !bothSky);
    }

    const Game &m_game;
    const Ceilings &m_ceilings;
    Scene &m_scene;
};

}  // namespace

Scene::Scene(int frameWidth, int frameHeight)
    : width(frameWidth),
      height(frameHeight),
      focal(width / 2),
      strips((width + kStripColumns - 1) / kStripColumns),
      pixels(size_t{1} * width * height),
      rgb(3 * pixels.size()) {
    for (int row = 0; row < height; ++row)
        rowDepth.push_back(2 * ToFixed(focal) / std::max(std::abs(2 * row + 1 - height), 1));
}

void FindVisible(const Game &game, const Viewpoint &eye, const World &world, Scene *scene) {
    scene->eye = eye;
    scene->sine = Sine(eye.angle);
    scene->cosine = Cosine(eye.angle);
    scene->segs.clear();
    scene->sprites.clear();
    scene->closed.assign(scene->width, 0);
    scene->reached.assign(game.level.subsectors.size(), 0);
    TreeWalk walk(game, world.ceilings, scene);
    walk.Run();
    for (const Scenery &it : game.scenery)
        walk.AddSprite(it.x, it.y, game.level.SectorOf(it.subsector).floor, it.subsector, it.sprite,
                       0);
    for (const Monster &it : world.monsters)
        walk.AddSprite(it.x, it.y, it.floor, it.subsector,
                       game.kinds[it.kind].sprites[it.walked / 8 % 4], it.angle);
    std::stable_sort(scene->sprites.begin(), scene->sprites.end(),
                     [](const auto &a, const auto &b) { return a.depth > b.depth; });
}

}  // namespace frame_loop
