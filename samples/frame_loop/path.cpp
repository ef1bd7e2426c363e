// Finds the path of the viewer through a level.
#include "game.h"

#include <utility>

namespace frame_loop {
namespace {

constexpr int kCellSide = 32, kMaxPull = 24;  // map units; cells
constexpr int kRadius = 16, kHeight = 56, kEyeHeight = 41, kEyeRoom = 12;
// map units for each frame; number of frames, after which the walk repeats
constexpr int kSpeed = 10, kPoints = 1800;
constexpr int kSmoothing = 4, kLookAhead = 12, kTurnSmoothing = 10;  // frames
constexpr int kCount = kPoints + 2 * (kLookAhead + kTurnSmoothing);

struct Point {
    Fixed x, y;
};

// The level as a grid of cells. Each cell has the neighbours to which the viewer can walk.
class Walker {
public:
    Walker(const Level &level, const Ceilings &ceilings, Point start, int maxStep, int64_t *budget)
        : m_level(&level),
          m_ceilings(&ceilings),
          m_maxStep(maxStep),
          m_budget(budget),
          m_centers{start},
          m_exits(1) {
        constexpr size_t kMaxCells = 32768;
        constexpr std::array<std::array<int, 2>, 4> kSteps{
            {{kCellSide, 0}, {0, kCellSide}, {-kCellSide, 0}, {0, -kCellSide}}};
        std::map<std::pair<Fixed, Fixed>, int> places{{{start.x, start.y}, 0}};
        for (size_t i = 0; i < m_centers.size(); ++i)
            for (const auto [dx, dy] : kSteps) {
                const Point from = m_centers[i], to{from.x + ToFixed(dx), from.y + ToFixed(dy)};
                if (m_centers.size() == kMaxCells || !CanWalk(from, to)) continue;
                const auto [place, isNew] =
                    places.insert({{to.x, to.y}, static_cast<int>(m_centers.size())});
                if (isNew) m_centers.push_back(to);
                m_exits.resize(m_centers.size());
                m_exits[i].push_back(place->second);
            }
        m_ways = m_exits;
        for (size_t i = 0; i < m_centers.size(); ++i)
            for (const int exit : m_exits[i]) m_ways[exit].push_back(static_cast<int>(i));
    }

    size_t Cells() const { return m_centers.size(); }

    // Returns the corners of a line that goes from one distant place to the next.
    std::vector<Point> Tour(size_t length) {
        std::vector<int> route{0};
        while (route.size() < length && m_centers.size() > 1) {
            std::vector<int> way, leg;
            std::vector<int> cells = Search(m_exits, route.back(), &way);
            if (cells.size() <= m_centers.size() / 2) cells = Search(m_ways, route.back(), &way);
            const size_t nearest = cells.size() / 2,
                         any = route.size() * 2654435761u % (cells.size() - nearest);
            for (int cell = cells[nearest + any]; cell != route.back(); cell = way[cell])
                leg.push_back(cell);
            route.insert(route.end(), leg.rbegin(), leg.rend());
        }
        return Straighten(route);
    }

private:
    // Breadth-first search. Returns the cells that can be reached, the nearest first. `way` gets
    // the cell from which each was reached.
    static std::vector<int> Search(const std::vector<std::vector<int>> &exits, int start,
                                   std::vector<int> *way) {
        std::vector<int> cells{start};
        way->assign(exits.size(), kNone);
        (*way)[start] = start;
        for (size_t i = 0; i < cells.size(); ++i)
            for (const int exit : exits[cells[i]])
                if ((*way)[exit] == kNone) {
                    (*way)[exit] = cells[i];
                    cells.push_back(exit);
                }
        return cells;
    }

    bool CanWalk(Point from, Point to) {
        const int samples = ToInt(Distance(to.x - from.x, to.y - from.y)) / 16 + 1;
        int floor = INT16_MAX;
        for (int i = 0; i <= samples; ++i) {
            const Fixed dx = (to.x - from.x) * i / samples, dy = (to.y - from.y) * i / samples;
            if (*m_budget < 0) return false;
            const Footing footing =
                FootingAt(*m_level, *m_ceilings, from.x + dx, from.y + dy, kRadius, kBlocksAll);
            *m_budget -= footing.work;
            if (footing.blocked || footing.ceiling - footing.floor < kHeight) return false;
            if (footing.floor - floor > m_maxStep) return false;
            floor = footing.floor;
        }
        return true;
    }

    std::vector<Point> Straighten(const std::vector<int> &route) {
        std::vector<Point> corners{m_centers[0]};
        for (size_t i = 0, next = 1; next < route.size(); i = next++) {
            const auto canSkip = [&] {
                return CanWalk(corners.back(), m_centers[route[next + 1]]);
            };
            while (next + 1 < route.size() && next - i < kMaxPull && canSkip()) ++next;
            corners.push_back(m_centers[route[next]]);
        }
        return corners;
    }

    const Level *m_level;
    const Ceilings *m_ceilings;
    int m_maxStep;
    int64_t *m_budget;
    std::vector<Point> m_centers;
    // m_ways also has the ways back up, where the viewer can only jump down
    std::vector<std::vector<int>> m_exits, m_ways;
};

// Returns a tour from the player's start. If only lifts or teleporters lead out of there, the tour
// may climb any step, or begin at another thing.
std::vector<Point> FindTour(const Level &level, const Ceilings &ceilings, const Thing &start) {
    constexpr size_t kEnoughCells = 400, kTourCells = size_t{2} * kCount * kSpeed / kCellSide;
    // in steps of FootingAt; limits the time that a broken file can cost
    int64_t budget = 50'000'000;
    const auto pointOf = [](const Thing &thing) {
        return Point{ToFixed(thing.x), ToFixed(thing.y)};
    };
    Walker best(level, ceilings, pointOf(start), kMaxStep, &budget);
    for (size_t i = 0; i <= level.things.size() && best.Cells() < kEnoughCells; ++i) {
        Walker walker(level, ceilings, pointOf(i == 0 ? start : level.things[i - 1]), 4 * INT16_MAX,
                      &budget);
        if (walker.Cells() > best.Cells()) best = std::move(walker);
    }
    return best.Tour(kTourCells);
}

// Returns points along the line. The distance between two points is the walk of one frame.
std::vector<Point> Resample(const std::vector<Point> &corners) {
    std::vector<Point> points;
    Fixed along = 0;  // the distance of the next point from a
    for (size_t i = 0; i + 1 < corners.size(); ++i) {
        const Point a = corners[i], b = corners[i + 1];
        const Fixed length = Distance(b.x - a.x, b.y - a.y);
        for (; along < length; along += ToFixed(kSpeed))
            points.push_back({a.x + (b.x - a.x) * (along >> 8) / (length >> 8),
                              a.y + (b.y - a.y) * (along >> 8) / (length >> 8)});
        along -= length;
    }
    points.resize(kCount, points.empty() ? corners.back() : points.back());
    return points;
}

// Returns the mean of `value` over the frames around `frame`.
template <class Value>
Fixed Smooth(int frame, int reach, Value value) {
    Fixed sum = 0;
    for (int i = frame - reach; i <= frame + reach; ++i) sum += value(std::clamp(i, 0, kCount - 1));
    return sum / (2 * reach + 1);
}

}  // namespace

void FindPath(Game *game, Problem *problem) {
    const Level &level = game->level;
    const auto start = std::find_if(level.things.begin(), level.things.end(),
                                    [](const Thing &thing) { return thing.type == 1; });
    if (problem->empty() && start == level.things.end())
        *problem = level.name + ": no start for player 1 among its things";
    if (!problem->empty()) return;
    const Ceilings ceilings = OpenCeilings(level);  // doors open before the viewer reaches them
    const std::vector<Point> points = Resample(FindTour(level, ceilings, *start));
    std::vector<Viewpoint> path(kCount);
    std::vector<Fixed> eyes(kCount),
        turns(kCount);  // sums of turns: unlike angles, they have a mean
    for (int i = 0; i < kCount; ++i) {
        path[i].x = Smooth(i, kSmoothing, [&](int j) { return points[j].x; });
        path[i].y = Smooth(i, kSmoothing, [&](int j) { return points[j].y; });
        eyes[i] = ToFixed(FootingAt(level, ceilings, points[i].x, points[i].y, kRadius, 0).floor +
                          kEyeHeight);
    }
    for (int i = 0; i < kCount; ++i) {
        const Viewpoint &here = path[i], &ahead = path[std::min(i + kLookAhead, kCount - 1)];
        const Fixed before = i == 0 ? AngleOfDegrees(start->angle) : turns[i - 1];
        const bool still = here.x == ahead.x && here.y == ahead.y;
        turns[i] =
            before + (still ? 0
                            : static_cast<int32_t>(AngleOf(ahead.x - here.x, ahead.y - here.y) -
                                                   static_cast<Angle>(before)));
    }
    for (int i = 0; i < kCount; ++i) {
        const Fixed floor =
            ToFixed(FootingAt(level, ceilings, path[i].x, path[i].y, kEyeRoom, 0).floor);
        path[i].z = std::max(Smooth(i, kSmoothing, [&](int j) { return eyes[j]; }),
                             floor + ToFixed(kEyeRoom));  // never inside a ledge
        path[i].angle =
            static_cast<Angle>(Smooth(i, kTurnSmoothing, [&](int j) { return turns[j]; }));
    }
    path.resize(kPoints);
    game->path = std::move(path);
}

Problem LoadGame(const Wad &wad, const std::string &levelName, Game *game) {
    Problem problem;
    *game = {};
    TextureLoader textures(wad, &game->textures, &problem);
    LoadLevel(wad, levelName, &textures, &game->level, &problem);
    FindPath(game, &problem);
    if (problem.empty()) PlaceThings(&textures, game);
    return problem;
}

}  // namespace frame_loop
