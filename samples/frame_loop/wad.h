// Reads WAD files: a header, lumps of data, and a directory with the names and places of the lumps.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace frame_loop {

// A description of what is wrong with a file; empty if nothing is. Only the first report is kept,
// because the others may follow from it.
using Problem = std::string;
inline void Report(Problem *problem, const std::string &what) {
    if (problem->empty()) *problem = what;
}

// A piece of a file. A read outside of it gives 0, so a wrong offset does no harm.
struct Bytes {
    const uint8_t *data = nullptr;
    size_t size = 0;

    int U8(size_t at) const { return at < size ? data[at] : 0; }
    int U16(size_t at) const { return U8(at) | U8(at + 1) << 8; }
    int I16(size_t at) const { return static_cast<int16_t>(U16(at)); }
    uint32_t U32(size_t at) const { return uint32_t(U16(at)) | uint32_t(U16(at + 2)) << 16; }
    // up to eight characters, in upper case
    std::string Name(size_t at) const;
    Bytes Part(size_t at, size_t bytes) const { return {data + at, bytes}; }  // must lie within
};

struct Lump {
    std::string name;
    char space;
    Bytes bytes;
};

struct Wad {
    // names are unique only within a space
    static constexpr char kAll = 'A', kSprites = 'S', kFlats = 'F';
    std::vector<uint8_t> file;
    std::vector<Lump> lumps;  // they point into `file`
    std::map<std::string, size_t> places;

    Wad() = default;
    Wad(const Wad &) = delete;
    Wad &operator=(const Wad &) = delete;
    const Lump *Find(const std::string &name, char space = kAll) const;
};

// The link to the levels that `third_party/setup.sh freedoom` makes. Programs run in the root
// folder.
constexpr const char *kFreedoom = "build/freedoom1.wad";

Problem ParseWad(std::vector<uint8_t> file, Wad *wad);
Problem ReadWad(const std::string &path, Wad *wad);

}  // namespace frame_loop
