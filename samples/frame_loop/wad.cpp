// Reads the header and the directory of a WAD file.
#include "wad.h"

#include <cctype>
#include <fstream>

namespace frame_loop {

std::string Bytes::Name(size_t at) const {
    std::string name;
    for (size_t i = at; i < at + 8 && U8(i) != 0; ++i)
        name += U8(i) > ' ' && U8(i) < 127 ? static_cast<char>(std::toupper(U8(i))) : '?';
    return name;
}

const Lump *Wad::Find(const std::string &name, char space) const {
    const auto found = places.find(space + name);
    return found == places.end() ? nullptr : &lumps[found->second];
}

Problem ParseWad(std::vector<uint8_t> file, Wad *wad) {
    constexpr size_t kHeaderBytes = 12, kEntryBytes = 16, kMaxLumps = 65536;
    wad->file.swap(file);
    const Bytes all{wad->file.data(), wad->file.size()};
    const std::string magic = all.Name(0).substr(0, 4);
    const size_t count = all.U32(4), directory = all.U32(8);
    if (all.size < kHeaderBytes || (magic != "IWAD" && magic != "PWAD"))
        return "not a WAD: it does not begin with IWAD or PWAD";
    if (count > kMaxLumps)
        return "broken WAD: its header claims " + std::to_string(count) + " lumps";
    if (directory > all.size || count * kEntryBytes > all.size - directory)
        return "truncated WAD: its directory reaches beyond the end of the file";
    char space = Wad::kAll;
    for (size_t i = 0; i < count; ++i) {
        const Bytes entry = all.Part(directory + i * kEntryBytes, kEntryBytes);
        const size_t offset = entry.U32(0), size = entry.U32(4);
        const std::string name = entry.Name(8);
        if (size != 0 && (offset > all.size || size > all.size - offset))
            return "truncated WAD: lump " + std::to_string(i) + " (" + name +
                   ") reaches beyond the end of the file";
        if (name == "S_START" || name == "SS_START") space = Wad::kSprites;
        if (name == "F_START" || name == "FF_START") space = Wad::kFlats;
        if (name == "S_END" || name == "SS_END" || name == "F_END" || name == "FF_END")
            space = Wad::kAll;
        wad->places[space + name] = i;
        wad->lumps.push_back({name, space, size == 0 ? Bytes{} : all.Part(offset, size)});
    }
    return {};
}

Problem ReadWad(const std::string &path, Wad *wad) {
    constexpr size_t kMaxFileBytes = size_t{256} << 20;
    std::ifstream stream(path, std::ios::binary);
    std::vector<uint8_t> file;
    std::vector<char> block(1 << 20);
    while (stream && file.size() <= kMaxFileBytes) {
        stream.read(block.data(), static_cast<std::streamsize>(block.size()));
        file.insert(file.end(), block.begin(), block.begin() + stream.gcount());
    }
    if (!stream.eof() && file.empty())
        return "cannot be read; get it by third_party/setup.sh freedoom, or give another by --wad";
    if (file.size() > kMaxFileBytes) return "larger than any WAD (256 MiB)";
    return ParseWad(std::move(file), wad);
}

}  // namespace frame_loop
