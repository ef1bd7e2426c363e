#include "frame_loop/wad.h"

#include "frame_loop/frame.h"
#include "game_files.h"

#include <algorithm>
#include <random>

using namespace frame_loop;

namespace {

// What of the WAD one level needs, as a WAD of its own that is small enough to be broken many times.
class SmallWad {
public:
    explicit SmallWad(const std::string &level) : m_level(level) {
        const Wad &all = test::Freedoom();
        const size_t first = static_cast<size_t>(all.Find(level) - all.lumps.data());
        for (size_t i = first; i < first + 11; ++i) Add(all.lumps[i]);
        m_levelBytes = m_file.size();
        for (const Lump &lump : all.lumps) {
            const bool isLevelOrSound = lump.bytes.size > 40000 || (lump.name.size() == 4 && lump.name[2] == 'M') ||
                                        lump.name.compare(0, 2, "DS") == 0 || lump.name.compare(0, 2, "D_") == 0;
            const bool isOfLevel = std::any_of(std::begin(kLevelLumps), std::end(kLevelLumps),
                                               [&](const char *name) { return lump.name == name; });
            if (lump.name == "TEXTURE1" || (!isLevelOrSound && !isOfLevel)) Add(lump);
        }
        m_directory = m_file.size();
        Write32(4, static_cast<uint32_t>(m_entries.size() / 16));
        Write32(8, static_cast<uint32_t>(m_directory));
        m_file.insert(m_file.end(), m_entries.begin(), m_entries.end());
    }

    void Write32(size_t at, uint32_t value) {
        for (size_t i = 0; i < 4; ++i) m_file[at + i] = static_cast<uint8_t>(value >> (8 * i));
    }

    // Loads it; if that works, runs some frames. Returns what was wrong.
    Problem Try(const std::vector<uint8_t> &file) const {
        Wad wad;
        Game game;
        Problem problem = ParseWad(file, &wad);
        if (problem.empty()) problem = LoadGame(wad, m_level, &game);
        if (!problem.empty()) return problem;
        RunOptions options;
        options.width = 48;
        options.height = 33;
        options.frames = 3;
        for (int frame = 0; frame < options.frames; ++frame) game.path[frame] = game.path[frame * 599];
        return RunSerial(game, options).problem;
    }

    static constexpr const char *kLevelLumps[] = {"THINGS",   "LINEDEFS", "SIDEDEFS", "VERTEXES", "SEGS",
                                                  "SSECTORS", "NODES",    "SECTORS",  "REJECT",   "BLOCKMAP"};
    std::vector<uint8_t> m_file = {'I', 'W', 'A', 'D', 0, 0, 0, 0, 0, 0, 0, 0};
    size_t m_levelBytes = 0, m_directory = 0;

private:
    void Add(const Lump &lump) {
        const size_t entry = m_entries.size();
        m_entries.resize(entry + 16);
        for (size_t i = 0; i < 4; ++i) {
            m_entries[entry + i] = static_cast<uint8_t>(m_file.size() >> (8 * i));
            m_entries[entry + 4 + i] = static_cast<uint8_t>(lump.bytes.size >> (8 * i));
        }
        std::copy(lump.name.begin(), lump.name.end(), m_entries.begin() + static_cast<std::ptrdiff_t>(entry + 8));
        m_file.insert(m_file.end(), lump.bytes.data, lump.bytes.data + lump.bytes.size);
    }

    std::string m_level;
    std::vector<uint8_t> m_entries;
};

}  // namespace

TEST_CASE("frame_loop: what is no WAD is refused with a message", "[frame_loop]") {
    Wad wad;
    CHECK(ParseWad({}, &wad).find("not a WAD") == 0);
    CHECK(ParseWad({'I', 'W', 'A', 'D'}, &wad).find("not a WAD") == 0);
    CHECK(ParseWad(std::vector<uint8_t>(100, 'x'), &wad).find("not a WAD") == 0);
    CHECK(ReadWad("/nonexistent", &wad).find("cannot be read") == 0);
    CHECK(ReadWad("/", &wad).find("cannot be read") == 0);
    Game game;
    CHECK(LoadGame(test::Freedoom(), "E9M9", &game).find("no level E9M9; there are E1M1 ") == 0);
    CHECK(LoadGame(test::Freedoom(), "PLAYPAL", &game) != "");
}

TEST_CASE("frame_loop: a truncated WAD is refused wherever it ends", "[frame_loop]") {
    const SmallWad small("E1M1");
    REQUIRE(small.Try(small.m_file) == "");
    for (const size_t bytes :
         {size_t{3}, size_t{11}, size_t{12}, small.m_levelBytes, small.m_directory, small.m_file.size() - 1}) {
        std::vector<uint8_t> file(small.m_file.begin(), small.m_file.begin() + static_cast<std::ptrdiff_t>(bytes));
        CHECK(small.Try(file) != "");
    }
}

TEST_CASE("frame_loop: a truncated lump of a level is refused by name", "[frame_loop]") {
    const SmallWad small("E1M1");
    for (size_t lump = 0; lump < 8; ++lump) {
        const size_t entry = small.m_directory + 16 * (lump + 1);
        const Bytes all{small.m_file.data(), small.m_file.size()};
        for (const uint32_t less : {uint32_t{1}, all.U32(entry + 4) / 2 + 1, all.U32(entry + 4) - 1}) {
            SmallWad broken = small;
            broken.Write32(entry + 4, all.U32(entry + 4) - less);
            INFO(SmallWad::kLevelLumps[lump] << " is shorter by " << less);
            CHECK(broken.Try(broken.m_file).find("truncated") != std::string::npos);
        }
    }
}

#if !defined(__SANITIZE_THREAD__)  // one thread, and a quarter of a minute
TEST_CASE("frame_loop: random damage to a level never does harm", "[frame_loop]") {
    const SmallWad small("E1M1");
    std::mt19937 random(1);
    int refused = 0;
    for (int round = 0; round < 60; ++round) {
        std::vector<uint8_t> file = small.m_file;
        const uint32_t damages = 1 + random() % (random() % 4 == 0 ? 100 : 3);
        for (uint32_t i = 0; i < damages; ++i) {
            const bool inDirectory = random() % 16 == 0;
            const size_t at =
                inDirectory ? small.m_directory + random() % 4096 : 12 + random() % (small.m_levelBytes - 12);
            file[at] = static_cast<uint8_t>(random() % 2 == 0 ? random() : random() % 2 * 255);
        }
        if (small.Try(file) != "") ++refused;
    }
    CHECK(refused > 10);
    CHECK(refused < 60);
}
#endif
