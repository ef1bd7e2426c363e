#include "path.h"

#include <algorithm>
#include <map>
#include <utility>

namespace frame_loop {
namespace {

constexpr int kCellSide = 32, kMaxPull = 24, kSeenSide = 8;  // kCellSide in map units, the others in cells
constexpr size_t kMaxCells = 32768;
constexpr int kRadius = 16, kHeight = 56, kEyeHeight = 41, kEyeRoom = 12;
constexpr int kSpeed = 10, kPoints = 1800;  // map units a frame; after so many frames the walk begins anew
constexpr int kSmoothing = 4, kLookAhead = 12, kTurnSmoothing = 10;  // frames
constexpr int kCount = kPoints + 2 * (kLookAhead + kTurnSmoothing);

struct Point {
    Fixed x, y;
};

// The level as a grid of cells, each with the neighbours that one can walk to.
class Walker {
public:
    Walker(const Level &level, Point start, int maxStep, int64_t *budget)
        : m_level(&level), m_maxStep(maxStep), m_budget(budget) {
        m_cells.push_back({0, 0, start, {kNone, kNone, kNone, kNone}});
        Explore();
    }

    size_t Cells() const { return m_cells.size(); }

    // To the farthest cell, from there to the farthest that was not passed yet, and so on; as corners of a
    // line.
    std::vector<Point> Tour(size_t cells) {
        std::vector<int> route{0};
        std::vector<bool> seen(m_cells.size());
        while (route.size() < cells) {
            const int here = route.back();
            std::vector<int> from(m_cells.size(), kNone);
            const std::vector<int> reached = Search(here, &from);
            if (reached.size() < 2) break;
            int target = reached.back();
            for (const int cell : reached)
                if (!seen[cell]) target = cell;
            if (seen[target]) seen.assign(seen.size(), false);
            const size_t legStart = route.size();
            for (int cell = target; cell != here; cell = from[cell]) route.push_back(cell);
            std::reverse(route.begin() + static_cast<std::ptrdiff_t>(legStart), route.end());
            for (size_t i = legStart; i < route.size(); i += kSeenSide / 2)
                MarkSeen(m_cells[route[i]], &seen);
            MarkSeen(m_cells[target], &seen);
        }
        return Straighten(route);
    }

private:
    struct Cell {
        int column, row;
        Point center;
        std::array<int, 4> exits;
    };

    bool CanWalk(Point from, Point to) {
        const int samples = ToInt(Distance(to.x - from.x, to.y - from.y)) / 16 + 1;
        int floor = INT16_MAX;
        for (int i = 0; i <= samples; ++i) {
            const Footing footing = FootingAt(*m_level, from.x + (to.x - from.x) * i / samples,
                                              from.y + (to.y - from.y) * i / samples, kRadius, kBlocksAll);
            *m_budget -= footing.work;
            if (*m_budget < 0 || footing.blocked || footing.ceiling - footing.floor < kHeight) return false;
            if (footing.floor - floor > m_maxStep) return false;
            floor = footing.floor;
        }
        return true;
    }

    void Explore() {
        constexpr std::array<std::pair<int, int>, 4> kSteps{{{1, 0}, {0, 1}, {-1, 0}, {0, -1}}};
        std::map<std::pair<int, int>, int> places{{{0, 0}, 0}};
        for (size_t i = 0; i < m_cells.size(); ++i)
            for (size_t exit = 0; exit < kSteps.size(); ++exit) {
                const Cell cell = m_cells[i];
                const auto [dx, dy] = kSteps[exit];
                const Point center{cell.center.x + ToFixed(dx * kCellSide),
                                   cell.center.y + ToFixed(dy * kCellSide)};
                if (!CanWalk(cell.center, center)) continue;
                const auto [place, isNew] = places.try_emplace({cell.column + dx, cell.row + dy}, kNone);
                if (isNew && m_cells.size() < kMaxCells) {
                    place->second = static_cast<int>(m_cells.size());
                    m_cells.push_back(
                        {cell.column + dx, cell.row + dy, center, {kNone, kNone, kNone, kNone}});
                }
                m_cells[i].exits[exit] = place->second;
            }
    }

    // Breadth first: the cells in the order of their distance, and where each was reached from.
    std::vector<int> Search(int start, std::vector<int> *from) const {
        std::vector<int> reached{start};
        (*from)[start] = start;
        for (size_t i = 0; i < reached.size(); ++i)
            for (const int exit : m_cells[reached[i]].exits) {
                if (exit == kNone || (*from)[exit] != kNone) continue;
                (*from)[exit] = reached[i];
                reached.push_back(exit);
            }
        return reached;
    }

    void MarkSeen(const Cell &around, std::vector<bool> *seen) const {
        for (size_t i = 0; i < m_cells.size(); ++i)
            if (std::abs(m_cells[i].column - around.column) <= kSeenSide &&
                std::abs(m_cells[i].row - around.row) <= kSeenSide)
                (*seen)[i] = true;
    }

    std::vector<Point> Straighten(const std::vector<int> &route) {
        std::vector<Point> corners{m_cells[0].center};
        for (size_t i = 0; i + 1 < route.size();) {
            size_t next = i + 1;
            while (next + 1 < route.size() && next - i < kMaxPull &&
                   CanWalk(m_cells[route[i]].center, m_cells[route[next + 1]].center))
                ++next;
            corners.push_back(m_cells[route[next]].center);
            i = next;
        }
        return corners;
    }

    const Level *m_level;
    int m_maxStep;
    int64_t *m_budget;
    std::vector<Cell> m_cells;
};

// Points along the line, each a frame's walk from the last.
std::vector<Point> Resample(const std::vector<Point> &corners, size_t count) {
    std::vector<Point> points;
    Fixed along = 0;  // how far the next point lies on the present stretch
    for (size_t i = 0; i + 1 < corners.size(); ++i) {
        const Point a = corners[i], b = corners[i + 1];
        const Fixed length = Distance(b.x - a.x, b.y - a.y);
        for (; along < length && points.size() < count; along += ToFixed(kSpeed))
            points.push_back({a.x + (b.x - a.x) * (along >> 8) / (length >> 8),
                              a.y + (b.y - a.y) * (along >> 8) / (length >> 8)});
        along -= length;
    }
    points.resize(count, points.empty() ? corners.back() : points.back());
    return points;
}

// The mean of `value` over the frames around i.
template <class Value>
Fixed Smooth(int i, int reach, int count, Value value) {
    Fixed sum = 0;
    for (int j = i - reach; j <= i + reach; ++j) sum += value(std::clamp(j, 0, count - 1));
    return sum / (2 * reach + 1);
}

// From the player's start; where lifts or teleporters are the only way out, over any step, or from another
// thing.
std::vector<Point> FindTour(const Level &level, const Thing &start) {
    constexpr size_t kEnoughCells = 400, kTourCells = size_t{kCount} * kSpeed / kCellSide * 2;
    constexpr int kAnyStep = 4 * INT16_MAX;
    int64_t budget = 400'000'000;  // of FootingAt's steps: bounds the time that a broken file can cost
    const auto walkFrom = [&](const Thing &thing, int maxStep) {
        return Walker(level, {ToFixed(thing.x), ToFixed(thing.y)}, maxStep, &budget);
    };
    Walker best = walkFrom(start, kMaxStep);
    for (size_t i = 0; i <= level.things.size() && best.Cells() < kEnoughCells; ++i) {
        Walker walker = walkFrom(i == 0 ? start : level.things[i - 1], kAnyStep);
        if (walker.Cells() > best.Cells()) best = std::move(walker);
    }
    return best.Tour(kTourCells);
}

}  // namespace

std::string FindPath(const Level &level, std::vector<Viewpoint> *path) {
    const auto start = std::find_if(level.things.begin(), level.things.end(),
                                    [](const Thing &thing) { return thing.type == 1; });
    if (start == level.things.end()) return level.name + ": no start for player 1 among its things";
    const std::vector<Point> points = Resample(FindTour(level, *start), kCount);

    std::vector<Viewpoint> smooth(kCount);
    std::vector<Fixed> eyes(kCount), turns(kCount);
    for (int i = 0; i < kCount; ++i) {
        eyes[i] = ToFixed(FootingAt(level, points[i].x, points[i].y, kRadius, 0).floor + kEyeHeight);
        smooth[i].x = Smooth(i, kSmoothing, kCount, [&](int j) { return points[j].x; });
        smooth[i].y = Smooth(i, kSmoothing, kCount, [&](int j) { return points[j].y; });
    }
    turns[0] = (int64_t{start->angle} << 32) / 360;
    for (int i = 0; i < kCount; ++i) {  // not as an angle but as the sum of all turns: that has a mean
        const Viewpoint &here = smooth[i], &ahead = smooth[std::min(i + kLookAhead, kCount - 1)];
        if (i != 0) turns[i] = turns[i - 1];
        if (here.x == ahead.x && here.y == ahead.y) continue;
        turns[i] +=
            static_cast<int32_t>(AngleOf(ahead.x - here.x, ahead.y - here.y) - static_cast<Angle>(turns[i]));
    }
    for (int i = 0; i < kCount; ++i) {
        const Footing footing =
            FootingAt(level, smooth[i].x, smooth[i].y, kEyeRoom, 0);  // smoothness must not lead into a ledge
        smooth[i].z = std::max(Smooth(i, kSmoothing, kCount, [&](int j) { return eyes[j]; }),
                               ToFixed(footing.floor + kEyeRoom));
        smooth[i].angle =
            static_cast<Angle>(Smooth(i, kTurnSmoothing, kCount, [&](int j) { return turns[j]; }));
    }
    smooth.resize(kPoints);
    *path = std::move(smooth);
    return {};
}

}  // namespace frame_loop
