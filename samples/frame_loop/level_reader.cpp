// Reads a level from a WAD and checks it.
#include "level.h"

#include <utility>

namespace frame_loop {
namespace {

// Reads the lumps that follow the name of the level.
class LevelReader {
public:
    LevelReader(const Wad &wad, TextureLoader *textures, Level *level, Problem *problem)
        : m_wad(wad), m_textures(*textures), m_level(*level), m_problem(problem) {}

    void Read() {
        const Lump *marker = m_wad.Find(m_level.name);
        if (marker == nullptr)
            return Report(m_problem, "no level " + m_level.name + "; there are " + KnownLevels());
        m_first = static_cast<size_t>(marker - m_wad.lumps.data()) + 1;
        m_vertexes = Find("VERTEXES", 4);
        ForEach("SECTORS", 26, [this](Bytes r) {
            m_level.sectors.push_back({r.I16(0), m_textures.Flat(r.Name(4)),
                                       m_textures.Flat(r.Name(12)), r.I16(20), r.I16(24)});
            m_level.ceilings.push_back(r.I16(2));
        });
        ForEach("SIDEDEFS", 30, [this](Bytes r) {
            m_level.sides.push_back({r.I16(0), r.I16(2), m_textures.Wall(r.Name(4)),
                                     m_textures.Wall(r.Name(12)), m_textures.Wall(r.Name(20)),
                                     Checked(r.U16(28), m_level.sectors)});
        });
        ForEach("LINEDEFS", 14, [this](Bytes r) {
            const int back = r.U16(12) == 0xffff ? kNone : Checked(r.U16(12), m_level.sides);
            m_level.lines.push_back({r.U16(4), r.U16(6), Checked(r.U16(10), m_level.sides), back});
        });
        ForEach("SEGS", 12, [this](Bytes r) { ReadSeg(r); });
        ForEach("SSECTORS", 4, [this](Bytes r) { ReadSubsector(r); });
        ForEach("NODES", 28, [this](Bytes r) { ReadNode(r); });
        ForEach("THINGS", 10, [this](Bytes r) {
            m_level.things.push_back({r.I16(0), r.I16(2), r.I16(4), r.U16(6), r.U16(8)});
        });
        if (m_level.nodes.size() + 1 != m_level.subsectors.size())
            Report(m_problem,
                   m_level.name + ": NODES or SSECTORS is truncated, they do not make a tree");
        if (m_level.things.size() > kMaxThings)
            Report(m_problem, m_level.name + ": too many THINGS");
        if (!m_problem->empty()) return;
        CheckTree();
        FindDoors(&m_level);
    }

private:
    static constexpr size_t kMaxRecords = 65536, kMaxThings = 8192;
    static constexpr int kMaxSegsOfSubsector = 512;

    std::string KnownLevels() const {
        std::string names;
        for (size_t i = 0; i + 1 < m_wad.lumps.size() && names.size() < 300; ++i)
            if (m_wad.lumps[i + 1].name == "THINGS") names += m_wad.lumps[i].name + " ";
        return names;
    }

    Bytes Find(const std::string &lump, size_t recordBytes) {
        for (size_t i = m_first; i < std::min(m_first + 10, m_wad.lumps.size()); ++i) {
            const Bytes all = m_wad.lumps[i].bytes;
            if (m_wad.lumps[i].name != lump) continue;
            if (all.size % recordBytes != 0 || all.size / recordBytes > kMaxRecords)
                Report(m_problem, m_level.name + ": " + lump +
                                      " is truncated or broken: " + std::to_string(all.size) +
                                      " bytes of records of " + std::to_string(recordBytes));
            return all;
        }
        Report(m_problem,
               m_level.name + ": no " + lump + " (the levels of other games have other formats)");
        return {};
    }

    template <class Read>
    void ForEach(const std::string &lump, size_t recordBytes, Read read) {
        const Bytes all = Find(lump, recordBytes);
        m_lump = lump;
        for (m_record = 0; m_record * recordBytes < all.size && m_problem->empty(); ++m_record)
            read(all.Part(m_record * recordBytes, recordBytes));
    }

    void Reject(const std::string &why) {
        Report(m_problem,
               m_level.name + ": " + m_lump + " record " + std::to_string(m_record) + " " + why);
    }

    int Checked(int index, size_t count) {
        if (index >= 0 && size_t(index) < count) return index;
        Reject("refers to number " + std::to_string(index) + " of " + std::to_string(count));
        return 0;
    }
    template <class Element>
    int Checked(int index, const std::vector<Element> &of) {
        return Checked(index, of.size());
    }

    void ReadSeg(Bytes r) {
        const size_t v1 = size_t{4} * Checked(r.U16(0), m_vertexes.size / 4),
                     v2 = size_t{4} * Checked(r.U16(2), m_vertexes.size / 4);
        const int lineIndex = Checked(r.U16(6), m_level.lines);
        if (!m_problem->empty()) return;
        const Line &line = m_level.lines[lineIndex];
        const bool facesBack = r.U16(8) != 0;
        const int side = facesBack ? line.back : line.front,
                  other = facesBack ? line.front : line.back;
        if (side == kNone) return Reject("lies on a missing side");
        Seg seg{m_vertexes.I16(v1),
                m_vertexes.I16(v1 + 2),
                m_vertexes.I16(v2),
                m_vertexes.I16(v2 + 2),
                r.I16(10),
                line.flags,
                side,
                m_level.sides[side].sector,
                other == kNone ? kNone : m_level.sides[other].sector,
                0};
        seg.length = Distance(ToFixed(seg.x2 - seg.x1), ToFixed(seg.y2 - seg.y1));
        m_level.segs.push_back(seg);
    }

    void ReadSubsector(Bytes r) {
        const int count = r.U16(0), first = Checked(r.U16(2), m_level.segs);
        Checked(first + count - 1, m_level.segs);
        if (count < 1 || count > kMaxSegsOfSubsector)
            Reject("has " + std::to_string(count) + " segs");
        if (m_problem->empty())
            m_level.subsectors.push_back({first, first + count, m_level.segs[first].front});
    }

    void ReadNode(Bytes r) {
        const auto child = [&](int value) {
            return value < 0x8000 ? Checked(value, kMaxRecords)
                                  : ~Checked(value - 0x8000, m_level.subsectors);
        };
        if (r.I16(4) == 0 && r.I16(6) == 0) Reject("has no direction");
        m_level.nodes.push_back({r.I16(0),
                                 r.I16(2),
                                 r.I16(4),
                                 r.I16(6),
                                 {Box{r.I16(8), r.I16(10), r.I16(12), r.I16(14)},
                                  Box{r.I16(16), r.I16(18), r.I16(20), r.I16(22)}},
                                 {child(r.U16(24)), child(r.U16(26))}});
        m_level.root = static_cast<int>(m_level.nodes.size()) - 1;
    }

    // Checks that no node occurs twice and that the tree is not too deep. Then each walk of the
    // tree ends.
    void CheckTree() {
        std::vector<std::pair<int, int>> open{{m_level.root, 0}};
        std::vector<bool> seen(m_level.nodes.size());
        while (!open.empty()) {
            const auto [at, depth] = open.back();
            open.pop_back();
            if (at < 0) continue;
            if (size_t(at) >= seen.size() || seen[at] || depth >= Level::kMaxDepth)
                return Report(m_problem, m_level.name + ": NODES is no tree, or deeper than " +
                                             std::to_string(Level::kMaxDepth));
            seen[at] = true;
            for (const int child : m_level.nodes[at].child) open.push_back({child, depth + 1});
        }
    }

    const Wad &m_wad;
    TextureLoader &m_textures;
    Level &m_level;
    Problem *m_problem;
    size_t m_first = 0, m_record = 0;
    std::string m_lump;
    Bytes m_vertexes;
};

std::string SkyOf(const std::string &level) {  // from the episode or the number of the map
    if (level.size() == 4 && level[0] == 'E' && level[1] >= '1' && level[1] <= '4')
        return std::string("SKY") + level[1];
    return level.compare(0, 3, "MAP") != 0 || level < "MAP12" ? "SKY1"
           : level < "MAP21"                                  ? "SKY2"
                                                              : "SKY3";
}

}  // namespace

void LoadLevel(const Wad &wad, const std::string &name, TextureLoader *textures, Level *level,
               Problem *problem) {
    if (!problem->empty()) return;
    level->name = name;
    LevelReader(wad, textures, level, problem).Read();
    level->sky = textures->Wall(SkyOf(name));
}

}  // namespace frame_loop
