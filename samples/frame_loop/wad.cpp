#include "wad.h"

#include <cctype>
#include <fstream>
#include <utility>

namespace frame_loop {
namespace {

constexpr size_t kMaxFileBytes = size_t{256} << 20, kMaxLumps = 65536;
constexpr size_t kHeaderBytes = 12, kEntryBytes = 16;

}  // namespace

std::string Bytes::Name(size_t at) const {
    std::string name;
    for (size_t i = at; i < at + 8 && U8(i) != 0; ++i) {
        const int c = U8(i);
        name += c > ' ' && c < 127 ? static_cast<char>(std::toupper(c)) : '?';
    }
    return name;
}

const Lump *Wad::Find(const std::string &name, Space space) const {
    const auto found = places.find(static_cast<char>(space) + name);
    return found == places.end() ? nullptr : &lumps[found->second];
}

std::string ParseWad(std::vector<uint8_t> file, Wad *wad) {
    wad->file = std::move(file);
    wad->lumps.clear();
    wad->places.clear();
    const Bytes all{wad->file.data(), wad->file.size()};
    const std::string magic = all.Name(0).substr(0, 4);
    if (all.size < kHeaderBytes || (magic != "IWAD" && magic != "PWAD"))
        return "not a WAD: it does not begin with IWAD or PWAD";
    const size_t count = all.U32(4), directory = all.U32(8);
    if (count > kMaxLumps) return "broken WAD: its header claims " + std::to_string(count) + " lumps";
    if (directory > all.size || count * kEntryBytes > all.size - directory)
        return "truncated WAD: the directory of " + std::to_string(count) + " lumps at byte " +
               std::to_string(directory) + " reaches beyond the end of the file at byte " +
               std::to_string(all.size);
    Space space = Space::Global;
    for (size_t i = 0; i < count; ++i) {
        const size_t entry = directory + i * kEntryBytes, offset = all.U32(entry), size = all.U32(entry + 4);
        const std::string name = all.Name(entry + 8);
        if (size != 0 && (offset > all.size || size > all.size - offset))
            return "truncated WAD: lump " + std::to_string(i) + " (" + name +
                   ") reaches beyond the end of the file";
        if (name == "S_START" || name == "SS_START") space = Space::Sprites;
        if (name == "F_START" || name == "FF_START") space = Space::Flats;
        if (name == "S_END" || name == "SS_END" || name == "F_END" || name == "FF_END") space = Space::Global;
        wad->places[static_cast<char>(space) + name] = i;
        wad->lumps.push_back({name, space, size == 0 ? Bytes{} : Bytes{wad->file.data() + offset, size}});
    }
    return {};
}

std::string ReadWad(const std::string &path, Wad *wad) {
    std::ifstream stream(path, std::ios::binary);
    std::vector<uint8_t> file;
    std::vector<char> block(1 << 20);
    while (stream && file.size() <= kMaxFileBytes) {
        stream.read(block.data(), static_cast<std::streamsize>(block.size()));
        file.insert(file.end(), block.begin(), block.begin() + stream.gcount());
    }
    if (!stream.eof() && file.empty()) return path + ": cannot be read; give the WAD's place with --wad PATH";
    if (file.size() > kMaxFileBytes) return path + ": larger than any WAD (256 MiB)";
    const std::string error = ParseWad(std::move(file), wad);
    return error.empty() ? error : path + ": " + error;
}

}  // namespace frame_loop
