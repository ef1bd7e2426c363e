// Reads and composes the pictures of a WAD.
#include "textures.h"

namespace frame_loop {
namespace {

constexpr size_t kMaxNames = 65536;

}  // namespace

TextureLoader::TextureLoader(const Wad &wad, Textures *textures, Problem *problem)
    : m_wad(wad), m_textures(*textures), m_problem(problem) {
    for (const char *name : {"PLAYPAL", "COLORMAP", "PNAMES", "TEXTURE1"})
        if (wad.Find(name) == nullptr)
            Report(problem, std::string("no ") + name + ": a complete game (an IWAD) is needed");
    if (!problem->empty()) return;
    ReadColors();
    ReadNames();
    ReadDefinitions("TEXTURE1");
    ReadDefinitions("TEXTURE2");
}

void TextureLoader::ReadColors() {
    const Bytes palette = m_wad.Find("PLAYPAL")->bytes, colormap = m_wad.Find("COLORMAP")->bytes;
    if (palette.size < m_textures.palette.size() || colormap.size < m_textures.colormap.size())
        return Report(m_problem, "PLAYPAL or COLORMAP is truncated");
    std::copy_n(palette.data, m_textures.palette.size(), m_textures.palette.begin());
    std::copy_n(colormap.data, m_textures.colormap.size(), m_textures.colormap.begin());
    // The light of a sector sets the darkness at a distance. Near the viewer everything is
    // brighter.
    for (int light = 0; light < Textures::kLights; ++light)
        for (int distance = 0; distance < Textures::kDistances; ++distance) {
            const int gain = std::min(24, 1280 / (16 * distance + 8));
            m_textures.shades[light][distance] =
                static_cast<uint8_t>(std::clamp(52 - 2 * light - gain, 0, 31));
        }
}

void TextureLoader::ReadNames() {
    const Bytes names = m_wad.Find("PNAMES")->bytes;
    const size_t count = names.U32(0);
    if (names.size < 4 || count > kMaxNames || count > (names.size - 4) / 8)
        return Report(m_problem, "PNAMES is truncated");
    for (size_t i = 0; i < count; ++i) m_patchNames.push_back(names.Name(4 + 8 * i));
}

void TextureLoader::ReadDefinitions(const std::string &lumpName) {
    const Lump *lump = m_wad.Find(lumpName);
    const Bytes bytes = lump == nullptr ? Bytes{} : lump->bytes;
    const size_t count = bytes.U32(0);
    if (count > kMaxNames || 4 * count > bytes.size)
        return Report(m_problem, lumpName + " is truncated");
    for (size_t i = 0; i < count; ++i) {
        const size_t offset = bytes.U32(4 + 4 * i);
        if (offset > bytes.size)
            return Report(m_problem, lumpName + " is truncated in texture " + std::to_string(i));
        m_definitions.insert({bytes.Name(offset), bytes.Part(offset, bytes.size - offset)});
    }
}

Image TextureLoader::Broken(const std::string &name) {
    Report(m_problem, "the picture or texture " + name + " is broken, truncated or missing");
    return Image(1, 1);
}

bool TextureLoader::Affords(int width, int height) {
    constexpr int kMaxSide = 4096;
    if (width < 1 || height < 1 || width > kMaxSide || height > kMaxSide) return false;
    m_texelBudget -= int64_t{width} * height + 1024;
    return m_texelBudget >= 0;
}

// Decodes a patch: four 16-bit numbers (width, height, left, top), the offset of each column, and
// the columns. A column is a list of posts (first row, length, a pad byte, texels, a pad byte). It
// ends with the first row 255.
Image TextureLoader::Decode(const std::string &name, Bytes lump) {
    constexpr int kMaxPosts = 512;
    if (!Affords(lump.I16(0), lump.I16(2))) return Broken(name);
    Image image(lump.I16(0), lump.I16(2));
    image.left = lump.I16(4);
    image.top = lump.I16(6);
    for (int x = 0; x < image.width; ++x) {
        size_t at = lump.U32(8 + size_t{4} * x);
        int row = -1;
        for (int posts = 0; at >= lump.size || lump.U8(at) != 255; ++posts) {
            const int first = lump.U8(at), length = lump.U8(at + 1);
            if (at >= lump.size || at + 3 + length > lump.size || posts == kMaxPosts)
                return Broken(name);
            // after row 254 a post counts from the post before it
            row = first <= row ? row + first : first;
            for (int i = 0; i < length && row + i < image.height; ++i) {
                image.texels[image.Texel(x, row + i)] = lump.data[at + 3 + i];
                image.opaque[image.Texel(x, row + i)] = 1;
            }
            at += size_t{4} + length;
        }
    }
    return image;
}

const Image &TextureLoader::Patch(const std::string &name) {
    const auto place = m_patches.find(name);
    if (place != m_patches.end()) return place->second;
    const Lump *lump = m_wad.Find(name);
    return m_patches.insert({name, lump == nullptr ? Broken(name) : Decode(name, lump->bytes)})
        .first->second;
}

Image TextureLoader::Picture(const std::string &name) {
    const Lump *lump = m_wad.Find(name);
    return lump == nullptr ? Image(1, 1) : Decode(name, lump->bytes);
}

// Composes a texture: name, flags, width, height, four unused bytes, and the number of patches. A
// patch has its place within the texture, its number in PNAMES, and four unused bytes.
Image TextureLoader::Compose(const std::string &name) {
    const auto definition = m_definitions.find(name);
    const Bytes lump = definition == m_definitions.end() ? Bytes{} : definition->second;
    const size_t patches = lump.U16(20);
    if (!Affords(lump.I16(12), lump.I16(14)) || 22 + 10 * patches > lump.size) return Broken(name);
    Image image(lump.I16(12), lump.I16(14));
    for (size_t i = 0; i < patches; ++i) {
        const Bytes entry = lump.Part(22 + 10 * i, 10);
        const int left = entry.I16(0), top = entry.I16(2);
        if (size_t(entry.U16(4)) >= m_patchNames.size()) return Broken(name);
        const Image &patch = Patch(m_patchNames[entry.U16(4)]);
        if (!Affords(patch.width, patch.height)) return Broken(name);
        for (int x = std::max(0, left); x < std::min(image.width, left + patch.width); ++x)
            for (int y = std::max(0, top); y < std::min(image.height, top + patch.height); ++y) {
                if (patch.opaque[patch.Texel(x - left, y - top)] == 0) continue;
                image.texels[image.Texel(x, y)] = patch.texels[patch.Texel(x - left, y - top)];
                image.opaque[image.Texel(x, y)] = 1;
            }
    }
    return image;
}

int TextureLoader::Wall(const std::string &name) {
    if (name == "-" || name.empty()) return kNone;
    const auto [place, isNew] = m_walls.insert({name, static_cast<int>(m_textures.walls.size())});
    if (isNew) m_textures.walls.push_back(Compose(name));
    return place->second;
}

int TextureLoader::Flat(const std::string &name) {
    if (name == "F_SKY1") return kSky;
    const auto [place, isNew] = m_flats.insert({name, static_cast<int>(m_textures.flats.size())});
    if (!isNew) return place->second;
    m_textures.flats.emplace_back(kFlatSide * kFlatSide);
    const Lump *lump = m_wad.Find(name, Wad::kFlats);
    if (lump == nullptr || lump->bytes.size < m_textures.flats.back().size())
        Report(m_problem, "the flat " + name + " is truncated or missing");
    else
        std::copy_n(lump->bytes.data, m_textures.flats.back().size(),
                    m_textures.flats.back().begin());
    return place->second;
}

// The name of a sprite lump has four letters, then a frame letter and a rotation (0: the same from
// all sides). A second pair of frame and rotation means that the mirror image is used for it.
int TextureLoader::Sprite(const std::string &prefix, char frame) {
    const auto [place, isNew] = m_sprites.insert({prefix + frame, kNone});
    if (!isNew) return place->second;
    SpriteFrame sprite{};
    sprite.image.fill(kNone);
    for (const Lump &lump : m_wad.lumps) {
        if (lump.space != Wad::kSprites || lump.name.compare(0, 4, prefix) != 0) continue;
        for (size_t pair = 4; pair + 1 < lump.name.size(); pair += 2) {
            const int rotation = lump.name[pair + 1] - '0';
            if (lump.name[pair] != frame || rotation < 0 || rotation > 8) continue;
            for (int side = rotation == 0 ? 0 : rotation - 1; side < (rotation == 0 ? 8 : rotation);
                 ++side) {
                sprite.image[side] = static_cast<int>(m_textures.images.size());
                sprite.mirrored[side] = pair == 6;
            }
            m_textures.images.push_back(Decode(lump.name, lump.bytes));
        }
    }
    if (std::count(sprite.image.begin(), sprite.image.end(), kNone) != 0) return kNone;
    m_textures.sprites.push_back(sprite);
    return place->second = static_cast<int>(m_textures.sprites.size()) - 1;
}

}  // namespace frame_loop
