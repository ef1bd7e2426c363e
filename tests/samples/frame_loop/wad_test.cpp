// Tests that the sample frame_loop refuses files that are not valid WADs.
#include "frame_loop/wad.h"

#include "frame_loop/frame.h"
#include "samples/frame_loop/game_files.h"
#include "samples/frame_loop/small_wad.h"

#include <algorithm>
#include <random>

using namespace frame_loop;
using test::SmallWad;

TEST_CASE("frame_loop: a file that is not a WAD is refused with a message", "[frame_loop]") {
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

#if !defined(__SANITIZE_THREAD__)  // one thread, and too slow
TEST_CASE("frame_loop: a truncated WAD is refused", "[frame_loop]") {
    const SmallWad small(test::Freedoom(), "E1M1");
    REQUIRE(small.Try(small.m_file) == "");
    for (const size_t bytes : {size_t{3}, size_t{11}, size_t{12}, small.m_levelBytes,
                               small.m_directory, small.m_file.size() - 1}) {
        std::vector<uint8_t> file(small.m_file.begin(),
                                  small.m_file.begin() + static_cast<std::ptrdiff_t>(bytes));
        CHECK(small.Try(file) != "");
    }
}

TEST_CASE("frame_loop: a truncated lump of a level is refused by name", "[frame_loop]") {
    const SmallWad small(test::Freedoom(), "E1M1");
    for (size_t lump = 0; lump < 8; ++lump) {
        const size_t entry = small.m_directory + 16 * (lump + 1);
        const Bytes all{small.m_file.data(), small.m_file.size()};
        for (const uint32_t less :
             {uint32_t{1}, all.U32(entry + 4) / 2 + 1, all.U32(entry + 4) - 1}) {
            SmallWad broken = small;
            broken.Write32(entry + 4, all.U32(entry + 4) - less);
            INFO(SmallWad::kLevelLumps[lump] << " is shorter by " << less);
            CHECK(broken.Try(broken.m_file).find("truncated") != std::string::npos);
        }
    }
}

TEST_CASE("frame_loop: a randomly damaged level is refused or does not crash", "[frame_loop]") {
    const SmallWad small(test::Freedoom(), "E1M1");
    std::mt19937 random(1);
    int refused = 0;
    for (int round = 0; round < 60; ++round) {
        std::vector<uint8_t> file = small.m_file;
        const uint32_t damages = 1 + random() % (random() % 4 == 0 ? 100 : 3);
        for (uint32_t i = 0; i < damages; ++i) {
            const bool inDirectory = random() % 16 == 0;
            const size_t at = inDirectory ? small.m_directory + random() % 4096
                                          : 12 + random() % (small.m_levelBytes - 12);
            file[at] = static_cast<uint8_t>(random() % 2 == 0 ? random() : random() % 2 * 255);
        }
        if (small.Try(file) != "") ++refused;
    }
    CHECK(refused > 10);
    CHECK(refused < 60);
}
#endif
