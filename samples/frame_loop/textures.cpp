#include "textures.h"

namespace frame_loop {
namespace {

constexpr int kMaxImageSide = 4096, kMaxPosts = 512;
constexpr size_t kMaxDefinitions = 16384;

std::string Quoted(const std::string &name) { return "\"" + name + "\""; }

// Copies `from` into `to` with its upper left corner at (left, top), leaving `to` where `from` is
// transparent.
void Paste(const Image &from, int left, int top, Image *to) {
    const int firstX = std::max(0, -left), lastX = std::min(from.width, to->width - left);
    const int firstY = std::max(0, -top), lastY = std::min(from.height, to->height - top);
    for (int x = firstX; x < lastX; ++x)
        for (int y = firstY; y < lastY; ++y) {
            const size_t source = from.Column(x) + static_cast<size_t>(y);
            if (from.opaque[source] == 0) continue;
            const size_t target = to->Column(x + left) + static_cast<size_t>(y + top);
            to->texels[target] = from.texels[source];
            to->opaque[target] = 1;
        }
}

Image Blank(int width, int height) {
    Image image;
    image.width = width;
    image.height = height;
    const size_t texels = static_cast<size_t>(width) * static_cast<size_t>(height);
    image.texels.assign(texels, 0);
    image.opaque.assign(texels, 0);
    return image;
}

}  // namespace

TextureLoader::TextureLoader(const Wad &wad, Textures *textures) : m_wad(wad), m_textures(textures) {
    ReadColors();
    ReadPatchNames();
    ReadDefinitions("TEXTURE1");
    ReadDefinitions("TEXTURE2");
    if (m_definitions.empty()) Fail("the WAD defines no wall textures (TEXTURE1)");
}

void TextureLoader::ReadColors() {
    const Lump *palette = m_wad.Find("PLAYPAL"), *colormap = m_wad.Find("COLORMAP");
    if (palette == nullptr || colormap == nullptr)
        return Fail("the WAD lacks PLAYPAL or COLORMAP: a complete game (an IWAD) is needed");
    if (palette->bytes.size < m_textures->palette.size() ||
        colormap->bytes.size < m_textures->colormap.size())
        return Fail("PLAYPAL or COLORMAP is truncated");
    std::copy_n(palette->bytes.data, m_textures->palette.size(), m_textures->palette.begin());
    std::copy_n(colormap->bytes.data, m_textures->colormap.size(), m_textures->colormap.begin());
    // A sector's light says how dark its distance is; within a few steps everything is brighter.
    for (int light = 0; light < kLightLevels; ++light)
        for (int distance = 0; distance < kShadeDistances; ++distance) {
            const int gain = std::min(24, 1280 / (16 * distance + 8));
            m_textures->shade[light][distance] =
                static_cast<uint8_t>(std::clamp(56 - 2 * light - gain, 0, 31));
        }
}

void TextureLoader::ReadPatchNames() {
    const Lump *names = m_wad.Find("PNAMES");
    if (names == nullptr) return Fail("the WAD lacks PNAMES: a complete game (an IWAD) is needed");
    const size_t count = names->bytes.U32(0);
    if (names->bytes.size < 4 || count > (names->bytes.size - 4) / 8) return Fail("PNAMES is truncated");
    for (size_t i = 0; i < count; ++i) m_patchNames.push_back(names->bytes.Name(4 + 8 * i));
}

void TextureLoader::ReadDefinitions(const char *lumpName) {
    const Lump *lump = m_wad.Find(lumpName);
    if (lump == nullptr) return;
    const Bytes bytes = lump->bytes;
    const size_t count = bytes.U32(0);
    if (count > kMaxDefinitions || 4 + 4 * count > bytes.size)
        return Fail(std::string(lumpName) + " is truncated");
    for (size_t i = 0; i < count; ++i) {
        const size_t offset = bytes.U32(4 + 4 * i);
        if (offset > bytes.size || bytes.size - offset < 22)
            return Fail(std::string(lumpName) + " is truncated in texture " + std::to_string(i));
        m_definitions.insert({bytes.Name(offset), {bytes, offset}});
    }
}

bool TextureLoader::Afford(int width, int height) {
    m_texelBudget -= int64_t{width} * height + 1024;
    if (m_texelBudget < 0) Fail("the level's textures are absurdly large");
    return m_texelBudget >= 0;
}

// A patch: four 16-bit numbers (width, height, left, top), the offset of each column, and each column as
// posts (first row, length, a pad byte, texels, a pad byte) up to a first row of 255.
Image TextureLoader::Decode(const std::string &name, Bytes lump) {
    const int width = lump.I16(0), height = lump.I16(2);
    if (width < 1 || height < 1 || width > kMaxImageSide || height > kMaxImageSide ||
        lump.size < 8 + 4 * static_cast<size_t>(width)) {
        Fail("picture " + Quoted(name) + " is broken or truncated");
        return Blank(1, 1);
    }
    if (!Afford(width, height)) return Blank(1, 1);
    Image image = Blank(width, height);
    image.left = lump.I16(4);
    image.top = lump.I16(6);
    for (int x = 0; x < width; ++x) {
        size_t at = lump.U32(8 + 4 * static_cast<size_t>(x));
        int row = -1;
        for (int posts = 0; posts < kMaxPosts; ++posts) {
            const int first = at < lump.size ? lump.U8(at) : -1, length = lump.U8(at + 1);
            if (first == 255) break;
            if (first < 0 || at + 3 + static_cast<size_t>(length) > lump.size) {
                Fail("picture " + Quoted(name) + " is truncated in column " + std::to_string(x));
                return image;
            }
            row = first <= row ? row + first
                               : first;  // pictures taller than 254 rows count on from the post before
            for (int i = 0; i < length && row + i < height; ++i) {
                const size_t target = image.Column(x) + static_cast<size_t>(row + i);
                image.texels[target] = lump.data[at + 3 + static_cast<size_t>(i)];
                image.opaque[target] = 1;
            }
            at += 4 + static_cast<size_t>(length);
        }
    }
    return image;
}

const Image &TextureLoader::Patch(const std::string &name) {
    auto [place, isNew] = m_patches.try_emplace(name);
    if (isNew) {
        const Lump *lump = m_wad.Find(name);
        if (lump == nullptr) Fail("PNAMES names the patch " + Quoted(name) + ", which the WAD lacks");
        place->second = lump == nullptr ? Blank(1, 1) : Decode(name, lump->bytes);
    }
    return place->second;
}

// A texture: name, flags, width, height, four unused bytes, number of patches; of each patch the place within
// the texture, its number in PNAMES and four unused bytes.
Image TextureLoader::Compose(const std::string &name, const Definition &definition) {
    const Bytes lump = definition.lump;
    const size_t at = definition.offset, patches = static_cast<size_t>(lump.U16(at + 20));
    const int width = lump.I16(at + 12), height = lump.I16(at + 14);
    if (width < 1 || height < 1 || width > kMaxImageSide || height > kMaxImageSide ||
        at + 22 + 10 * patches > lump.size) {
        Fail("texture " + Quoted(name) + " is broken or truncated");
        return Blank(1, 1);
    }
    if (!Afford(width, height)) return Blank(1, 1);
    Image image = Blank(width, height);
    for (size_t i = 0; i < patches && m_error.empty(); ++i) {
        const size_t entry = at + 22 + 10 * i, number = static_cast<size_t>(lump.U16(entry + 4));
        if (number >= m_patchNames.size()) {
            Fail("texture " + Quoted(name) + " uses patch " + std::to_string(number) +
                 ", which PNAMES lacks");
            break;
        }
        const Image &patch = Patch(m_patchNames[number]);
        if (Afford(patch.width, patch.height)) Paste(patch, lump.I16(entry), lump.I16(entry + 2), &image);
    }
    return image;
}

int TextureLoader::Wall(const std::string &name) {
    if (name == "-" || name.empty()) return kNoTexture;
    const auto [place, isNew] = m_walls.try_emplace(name, static_cast<int>(m_textures->walls.size()));
    if (!isNew) return place->second;
    const auto definition = m_definitions.find(name);
    if (definition == m_definitions.end())
        Fail("the level uses the wall texture " + Quoted(name) + ", which the WAD lacks");
    m_textures->walls.push_back(definition == m_definitions.end() ? Blank(1, 1)
                                                                  : Compose(name, definition->second));
    return place->second;
}

int TextureLoader::Flat(const std::string &name) {
    if (name == "F_SKY1") return kSkyFlat;
    const auto [place, isNew] = m_flats.try_emplace(name, static_cast<int>(m_textures->flats.size()));
    if (!isNew) return place->second;
    const Lump *lump = m_wad.Find(name, Space::Flats);
    if (lump == nullptr)
        Fail("the level uses the flat " + Quoted(name) + ", which the WAD lacks");
    else if (lump->bytes.size < kFlatSide * kFlatSide)
        Fail("flat " + Quoted(name) + " is truncated");
    m_textures->flats.emplace_back(kFlatSide * kFlatSide);
    if (m_error.empty())
        std::copy_n(lump->bytes.data, kFlatSide * kFlatSide, m_textures->flats.back().begin());
    return place->second;
}

// Sprite lumps are named by four letters, then a frame letter and a rotation (0: all sides alike); a second
// such pair means that the mirror image serves there.
int TextureLoader::Sprite(const std::string &prefix, char frame) {
    const auto [place, isNew] = m_sprites.try_emplace(prefix + frame, kNoSprite);
    if (!isNew) return place->second;
    SpriteFrame sprite;
    sprite.image.fill(kNoSprite);
    sprite.mirrored.fill(false);
    for (const Lump &lump : m_wad.lumps) {
        if (lump.space != Space::Sprites || lump.name.compare(0, 4, prefix) != 0) continue;
        int image = kNoSprite;
        for (size_t pair = 4; pair + 1 < lump.name.size(); pair += 2) {
            const int rotation = lump.name[pair + 1] - '0';
            if (lump.name[pair] != frame || rotation < 0 || rotation > 8) continue;
            if (image == kNoSprite) {
                image = static_cast<int>(m_textures->images.size());
                m_textures->images.push_back(Decode(lump.name, lump.bytes));
            }
            for (int side = 0; side < 8; ++side) {
                if (rotation != 0 && rotation != side + 1) continue;
                sprite.image[side] = image;
                sprite.mirrored[side] = pair == 6;
            }
        }
    }
    if (std::count(sprite.image.begin(), sprite.image.end(), kNoSprite) != 0) return kNoSprite;
    m_textures->sprites.push_back(sprite);
    return place->second = static_cast<int>(m_textures->sprites.size()) - 1;
}

}  // namespace frame_loop
