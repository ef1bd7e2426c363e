// Reader of WAD files: a header, lumps of data, and a directory of the lumps' names and places.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

namespace frame_loop {

// A piece of a file. Reading outside it gives 0, so that no broken offset can do harm.
struct Bytes {
    const uint8_t *data = nullptr;
    size_t size = 0;

    int U8(size_t at) const { return at < size ? data[at] : 0; }
    int U16(size_t at) const { return U8(at) | U8(at + 1) << 8; }
    int I16(size_t at) const { return static_cast<int16_t>(U16(at)); }
    uint32_t U32(size_t at) const {
        return static_cast<uint32_t>(U16(at)) | static_cast<uint32_t>(U16(at + 2)) << 16;
    }
    std::string Name(size_t at) const;  // up to eight characters, in capitals
};

enum class Space : char { Global = 'G', Sprites = 'S', Flats = 'F' };  // names are unique only within a space

struct Lump {
    std::string name;
    Space space;
    Bytes bytes;
};

struct Wad {
    std::vector<uint8_t> file;
    std::vector<Lump> lumps;  // they point into `file`
    std::unordered_map<std::string, size_t> places;

    Wad() = default;
    Wad(const Wad &) = delete;
    Wad &operator=(const Wad &) = delete;
    const Lump *Find(const std::string &name, Space space = Space::Global) const;
};

// Both return an empty string, or what is wrong.
std::string ParseWad(std::vector<uint8_t> file, Wad *wad);
std::string ReadWad(const std::string &path, Wad *wad);

}  // namespace frame_loop
