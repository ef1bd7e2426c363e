// Makes a small WAD from one level of a WAD, for tests that damage it many times.
#pragma once

#include "frame_loop/frame.h"
#include "frame_loop/game.h"
#include "frame_loop/wad.h"

#include <algorithm>
#include <string>
#include <vector>

namespace test {

using namespace frame_loop;

// A WAD with one level and all that the level needs. It is small enough to be damaged many times.
class SmallWad {
public:
    SmallWad(const Wad &all, const std::string &level) : m_level(level) {
        const size_t first = static_cast<size_t>(all.Find(level) - all.lumps.data());
        for (size_t i = first; i < first + 11; ++i) Add(all.lumps[i]);
        m_levelBytes = m_file.size();
        for (const Lump &lump : all.lumps) {
            const bool isLevelOrSound =
                lump.bytes.size > 40000 || (lump.name.size() == 4 && lump.name[2] == 'M') ||
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

    // Loads the file, and runs some frames if it is valid. Returns what was wrong.
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
        for (int frame = 0; frame < options.frames; ++frame)
            game.path[frame] = game.path[frame * 599];
        return RunSerial(game, options).problem;
    }

    static constexpr const char *kLevelLumps[] = {"THINGS", "LINEDEFS", "SIDEDEFS", "VERTEXES",
                                                  "SEGS",   "SSECTORS", "NODES",    "SECTORS",
                                                  "REJECT", "BLOCKMAP"};
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
        std::copy(lump.name.begin(), lump.name.end(),
                  m_entries.begin() + static_cast<std::ptrdiff_t>(entry + 8));
        m_file.insert(m_file.end(), lump.bytes.data, lump.bytes.data + lump.bytes.size);
    }

    std::string m_level;
    std::vector<uint8_t> m_entries;
};

}  // namespace test
