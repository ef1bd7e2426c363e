#include "level.h"

#include <algorithm>
#include <cstdlib>

namespace frame_loop {
namespace {

constexpr int kMaxSegsPerSubsector = 512;
constexpr size_t kMaxThings = 8192, kMaxSegs = 65536;

// Reads the lumps that follow a level's name. The first error is kept.
class LevelReader {
public:
    LevelReader(const Wad &wad, const std::string &name, TextureLoader *textures, Level *level)
        : m_wad(wad), m_textures(*textures), m_level(*level) {
        m_level = {};
        m_level.name = name;
        const Lump *marker = wad.Find(name);
        m_first = marker == nullptr ? wad.lumps.size() : static_cast<size_t>(marker - wad.lumps.data()) + 1;
        if (marker == nullptr) Fail("the WAD has no level " + name + "; it has " + KnownLevels());
    }
    std::string Read() {
        using Step = void (LevelReader::*)();
        for (const Step step :
             {&LevelReader::Sectors, &LevelReader::Sides, &LevelReader::Lines, &LevelReader::Segs,
              &LevelReader::Subsectors, &LevelReader::Nodes, &LevelReader::CheckTree, &LevelReader::Things,
              &LevelReader::OpenDoors, &LevelReader::Sky})
            if (m_error.empty()) (this->*step)();
        if (m_error.empty()) m_error = m_textures.Error();
        return m_error;
    }

private:
    void Fail(const std::string &message) {
        if (m_error.empty()) m_error = message;
    }

    std::string KnownLevels() const {
        std::string names;
        for (size_t i = 0; i + 1 < m_wad.lumps.size() && names.size() < 300; ++i)
            if (m_wad.lumps[i + 1].name == "THINGS")
                names += (names.empty() ? "" : " ") + m_wad.lumps[i].name;
        return names.empty() ? "none" : names;
    }

    Bytes Records(const char *lumpName, size_t recordBytes, size_t limit = 65536) {
        for (size_t i = m_first; i < std::min(m_first + 10, m_wad.lumps.size()); ++i) {
            if (m_wad.lumps[i].name != lumpName) continue;
            const Bytes bytes = m_wad.lumps[i].bytes;
            if (bytes.size % recordBytes != 0)
                Fail(m_level.name + ": " + lumpName + " is truncated: " + std::to_string(bytes.size) +
                     " bytes is no multiple of " + std::to_string(recordBytes));
            if (bytes.size / recordBytes > limit) Fail(m_level.name + ": " + lumpName + " is absurdly large");
            return m_error.empty() ? bytes : Bytes{};
        }
        Fail(m_level.name + ": no " + lumpName + " lump (levels of other games' formats are not read)");
        return {};
    }

    int Checked(const char *lumpName, size_t record, int index, size_t count) {
        if (index >= 0 && static_cast<size_t>(index) < count) return index;
        Fail(m_level.name + ": " + lumpName + " record " + std::to_string(record) + " refers to number " +
             std::to_string(index) + " of " + std::to_string(count));
        return 0;
    }

    void Sectors() {
        const Bytes b = Records("SECTORS", 26);
        for (size_t at = 0; at < b.size && m_error.empty(); at += 26)
            m_level.sectors.push_back({b.I16(at), b.I16(at + 2), m_textures.Flat(b.Name(at + 4)),
                                       m_textures.Flat(b.Name(at + 12)), b.I16(at + 20), b.I16(at + 24)});
    }

    void Sides() {
        const Bytes b = Records("SIDEDEFS", 30);
        for (size_t at = 0; at < b.size && m_error.empty(); at += 30)
            m_level.sides.push_back({b.I16(at), b.I16(at + 2), m_textures.Wall(b.Name(at + 4)),
                                     m_textures.Wall(b.Name(at + 12)), m_textures.Wall(b.Name(at + 20)),
                                     Checked("SIDEDEFS", at / 30, b.U16(at + 28), m_level.sectors.size())});
    }

    void Lines() {
        const Bytes b = Records("LINEDEFS", 14);
        for (size_t at = 0; at < b.size && m_error.empty(); at += 14) {
            const int back = b.U16(at + 12);
            m_level.lines.push_back(
                {b.U16(at + 4),
                 b.U16(at + 6),
                 {Checked("LINEDEFS", at / 14, b.U16(at + 10), m_level.sides.size()),
                  back == 0xffff ? kNone : Checked("LINEDEFS", at / 14, back, m_level.sides.size())}});
        }
    }

    void Segs() {
        const Bytes vertexes = Records("VERTEXES", 4), b = Records("SEGS", 12, kMaxSegs);
        for (size_t at = 0; at < b.size && m_error.empty(); at += 12) {
            const auto vertex = [&](size_t field) {
                return 4 *
                       static_cast<size_t>(Checked("SEGS", at / 12, b.U16(at + field), vertexes.size / 4));
            };
            const size_t v1 = vertex(0), v2 = vertex(2);
            const int line = Checked("SEGS", at / 12, b.U16(at + 6), m_level.lines.size());
            if (!m_error.empty()) return;
            const auto &sides = m_level.lines[line].side;
            const size_t facing = b.U16(at + 8) != 0;
            const int side = sides[facing], other = sides[1 - facing];
            if (side == kNone)
                return Fail(m_level.name + ": SEGS record " + std::to_string(at / 12) +
                            " lies on a missing side");
            Seg seg{vertexes.I16(v1),
                    vertexes.I16(v1 + 2),
                    vertexes.I16(v2),
                    vertexes.I16(v2 + 2),
                    0,
                    b.I16(at + 10),
                    line,
                    side,
                    SectorOf(side),
                    other == kNone ? kNone : SectorOf(other)};
            seg.length = Distance(ToFixed(seg.x2 - seg.x1), ToFixed(seg.y2 - seg.y1));
            m_level.segs.push_back(seg);
        }
    }

    int SectorOf(int side) const { return m_level.sides[side].sector; }

    void Subsectors() {
        const Bytes b = Records("SSECTORS", 4);
        for (size_t at = 0; at < b.size && m_error.empty(); at += 4) {
            const int count = b.U16(at),
                      first = Checked("SSECTORS", at / 4, b.U16(at + 2), m_level.segs.size());
            Checked("SSECTORS", at / 4, first + count - 1, m_level.segs.size());
            if (count < 1 || count > kMaxSegsPerSubsector)
                Fail(m_level.name + ": SSECTORS record " + std::to_string(at / 4) + " has " +
                     std::to_string(count) + " segs");
            if (m_error.empty()) m_level.subsectors.push_back({first, count, m_level.segs[first].front});
        }
        if (m_level.subsectors.empty()) Fail(m_level.name + ": SSECTORS is empty");
    }

    void Nodes() {
        const Bytes b = Records("NODES", 28);
        const size_t count = b.size / 28;
        for (size_t at = 0; at < b.size && m_error.empty(); at += 28) {
            const auto box = [&](size_t field) {
                return Box{b.I16(at + field), b.I16(at + field + 2), b.I16(at + field + 4),
                           b.I16(at + field + 6)};
            };
            const auto child = [&](size_t field) {
                const int value = b.U16(at + field);
                if ((value & 0x8000) == 0) return Checked("NODES", at / 28, value, count);
                return ~Checked("NODES", at / 28, value & 0x7fff, m_level.subsectors.size());
            };
            const Node node{b.I16(at),     b.I16(at + 2),     b.I16(at + 4),
                            b.I16(at + 6), {box(8), box(16)}, {child(24), child(26)}};
            if (node.dx == 0 && node.dy == 0)
                Fail(m_level.name + ": NODES record " + std::to_string(at / 28) + " has no direction");
            m_level.nodes.push_back(node);
        }
        m_level.root = count == 0 ? ~0 : static_cast<int>(count) - 1;
    }

    // Every node at most once and none too deep: then each walk of the tree ends and needs only a small
    // stack.
    void CheckTree() {
        std::vector<std::pair<int, int>> open{{m_level.root, 0}};
        std::vector<bool> seen(m_level.nodes.size());
        while (!open.empty()) {
            const auto [at, depth] = open.back();
            open.pop_back();
            if (at < 0) continue;
            const size_t node = static_cast<size_t>(at);
            if (seen[node])
                return Fail(m_level.name + ": NODES is no tree: record " + std::to_string(at) +
                            " has two parents");
            if (depth >= kMaxTreeDepth)
                return Fail(m_level.name + ": NODES is deeper than " + std::to_string(kMaxTreeDepth));
            seen[node] = true;
            for (const int child : m_level.nodes[node].child) open.push_back({child, depth + 1});
        }
    }

    void Things() {
        const Bytes b = Records("THINGS", 10, kMaxThings);
        for (size_t at = 0; at < b.size && m_error.empty(); at += 10)
            m_level.things.push_back({b.I16(at), b.I16(at + 2), b.I16(at + 4), b.U16(at + 6), b.U16(at + 8)});
    }

    // A closed door is a sector whose ceiling rests on its floor and that something can trigger.
    void OpenDoors() {
        const size_t count = m_level.sectors.size();
        std::vector<int> opened(count, INT16_MAX);
        std::vector<bool> triggered(count);
        for (size_t i = 0; i < count; ++i) triggered[i] = m_level.sectors[i].tag != 0;
        for (const Line &line : m_level.lines) {
            if (line.side[1] == kNone) continue;
            const size_t front = static_cast<size_t>(SectorOf(line.side[0])),
                         back = static_cast<size_t>(SectorOf(line.side[1]));
            if (line.special != 0) triggered[back] = true;
            if (front == back) continue;
            opened[front] = std::min(opened[front], m_level.sectors[back].ceiling - 4);
            opened[back] = std::min(opened[back], m_level.sectors[front].ceiling - 4);
        }
        for (size_t i = 0; i < count; ++i) {
            Sector &sector = m_level.sectors[i];
            if (sector.ceiling == sector.floor && triggered[i] && opened[i] != INT16_MAX)
                sector.ceiling = std::max(sector.ceiling, opened[i]);
        }
    }

    void Sky() {
        const std::string &name = m_level.name;
        std::string sky = "SKY1";
        if (name.size() == 4 && name[0] == 'E' && name[1] >= '1' && name[1] <= '4') sky[3] = name[1];
        if (name.size() == 5 && name.compare(0, 3, "MAP") == 0)
            sky[3] = name > "MAP20" ? '3' : name > "MAP11" ? '2' : '1';
        m_level.skyTexture = m_textures.Wall(sky);
    }

    const Wad &m_wad;
    TextureLoader &m_textures;
    Level &m_level;
    size_t m_first = 0;
    std::string m_error;
};

// Visits the subsectors in the halves that `sides` lets through (1 right, 2 left, 3 both) until `visit` says
// false.
template <class Sides, class Visit>
void WalkTree(const Level &level, Sides sides, Visit visit) {
    std::array<int, kMaxTreeDepth + 2> open;
    size_t count = 0;
    open[count++] = level.root;
    while (count != 0) {
        const int at = open[--count];
        if (at < 0) {
            if (!visit(level.subsectors[~at])) return;
            continue;
        }
        const Node &node = level.nodes[at];
        const int mask = sides(node);
        if ((mask & 2) != 0) open[count++] = node.child[1];
        if ((mask & 1) != 0) open[count++] = node.child[0];
    }
}

// A segment and a square meet unless one of three lines keeps them apart: the two axes and the segment
// itself.
bool Touches(const Seg &seg, Fixed x, Fixed y, Fixed radius) {
    if (std::max(ToFixed(seg.x1), ToFixed(seg.x2)) <= x - radius ||
        std::min(ToFixed(seg.x1), ToFixed(seg.x2)) >= x + radius ||
        std::max(ToFixed(seg.y1), ToFixed(seg.y2)) <= y - radius ||
        std::min(ToFixed(seg.y1), ToFixed(seg.y2)) >= y + radius)
        return false;
    const int dx = seg.x2 - seg.x1, dy = seg.y2 - seg.y1;
    const int64_t apart = (x - ToFixed(seg.x1)) * dy - (y - ToFixed(seg.y1)) * dx;
    return std::abs(apart) < radius * (std::abs(dx) + std::abs(dy));
}

}  // namespace

std::string LoadLevel(const Wad &wad, const std::string &name, TextureLoader *textures, Level *level) {
    return LevelReader(wad, name, textures, level).Read();
}

int SubsectorAt(const Level &level, Fixed x, Fixed y) {
    int at = level.root;
    while (at >= 0) {
        const Node &node = level.nodes[at];
        at = node.child[node.SideOf(x, y) > 0 ? 0 : 1];
    }
    return ~at;
}

Footing FootingAt(const Level &level, Fixed x, Fixed y, int radius, int blockingFlags) {
    const Fixed reach = ToFixed(radius);
    const auto sector = [&](int index) -> const Sector & { return level.sectors[index]; };
    const Sector &here = sector(level.subsectors[SubsectorAt(level, x, y)].sector);
    Footing footing{here.floor, here.ceiling, here.floor, false, 0};
    const auto sides = [&](const Node &node) {
        ++footing.work;
        const int64_t apart = node.SideOf(x, y), extent = reach * (std::abs(node.dx) + std::abs(node.dy));
        return (apart > -extent ? 1 : 0) | (apart < extent ? 2 : 0);
    };
    WalkTree(level, sides, [&](const Subsector &subsector) {
        for (int i = subsector.firstSeg; i < subsector.firstSeg + subsector.segs; ++i) {
            const Seg &seg = level.segs[i];
            ++footing.work;
            if (!Touches(seg, x, y, reach)) continue;
            if (seg.back == kNone || (level.lines[seg.line].flags & blockingFlags) != 0) {
                footing.blocked = true;
                return false;
            }
            for (const int touched : {seg.front, seg.back}) {
                footing.floor = std::max(footing.floor, sector(touched).floor);
                footing.ceiling = std::min(footing.ceiling, sector(touched).ceiling);
                footing.lowestFloor = std::min(footing.lowestFloor, sector(touched).floor);
            }
        }
        return true;
    });
    return footing;
}

// The openings that the line of sight passes narrow a window, measured as the height above `z` that the line
// would have at its far end. Their order does not matter.
bool CanSee(const Level &level, Fixed x, Fixed y, Fixed z, Fixed toX, Fixed toY, Fixed bottom, Fixed top) {
    const int64_t dx = (toX - x) >> 8, dy = (toY - y) >> 8;
    Fixed low = bottom - z, high = top - z;
    bool clear = true;
    const auto sides = [&](const Node &node) {
        const int64_t from = node.SideOf(x, y), to = node.SideOf(toX, toY);
        return (from >= 0 || to >= 0 ? 1 : 0) | (from <= 0 || to <= 0 ? 2 : 0);
    };
    WalkTree(level, sides, [&](const Subsector &subsector) {
        for (int i = subsector.firstSeg; i < subsector.firstSeg + subsector.segs && clear; ++i) {
            const Seg &seg = level.segs[i];
            const int64_t x1 = (ToFixed(seg.x1) - x) >> 8, y1 = (ToFixed(seg.y1) - y) >> 8;
            const int64_t x2 = (ToFixed(seg.x2) - x) >> 8, y2 = (ToFixed(seg.y2) - y) >> 8;
            if ((dx * y1 - dy * x1 > 0) == (dx * y2 - dy * x2 > 0)) continue;
            const int64_t from =
                x1 * (y2 - y1) - y1 * (x2 - x1);  // twice the areas that the ends make with the seg
            const int64_t to = (x1 - dx) * (y2 - y1) - (y1 - dy) * (x2 - x1);
            if ((from > 0) == (to > 0)) continue;
            if (seg.back == kNone) {
                clear = false;
                break;
            }
            const Sector &front = level.sectors[seg.front], &back = level.sectors[seg.back];
            // from and to differ in sign, so the fraction is between 0 and 1; at 0 the viewer stands on the
            // line.
            const Fixed part = (from >> 8) * kOne / ((from - to) >> 8 == 0 ? 1 : (from - to) >> 8);
            if (part <= 0) continue;
            const Fixed floor = ToFixed(std::max(front.floor, back.floor)),
                        ceiling = ToFixed(std::min(front.ceiling, back.ceiling));
            low = std::max(low, (floor - z) * kOne / part);
            high = std::min(high, (ceiling - z) * kOne / part);
            clear = low < high && floor < ceiling;
        }
        return clear;
    });
    return clear;
}

}  // namespace frame_loop
