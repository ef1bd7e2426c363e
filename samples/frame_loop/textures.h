// The pictures of a WAD: wall textures composed of patches, flats for floors and ceilings, sprites with their
// rotations, the palette, and the tables that darken a colour with distance.
#pragma once

#include "fixed.h"
#include "wad.h"

#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <vector>

namespace frame_loop {

struct Image {
    int width = 0, height = 0, left = 0, top = 0;
    std::vector<uint8_t> texels, opaque;  // column after column

    size_t Column(int x) const { return static_cast<size_t>(x) * static_cast<size_t>(height); }
};

struct SpriteFrame {  // by the eighth of a circle that the viewer sees: 0 front, 2 its left side, 4 back
    std::array<int, 8> image;
    std::array<bool, 8> mirrored;
};

inline constexpr int kNoTexture = -1, kSkyFlat = -1, kNoSprite = -1;
inline constexpr int kFlatSide = 64, kLightLevels = 32, kShadeDistances = 256;

struct Textures {
    std::vector<Image> walls, images;  // images: of sprites
    std::vector<std::vector<uint8_t>> flats;
    std::vector<SpriteFrame> sprites;
    std::array<uint8_t, 768> palette{};
    std::array<uint8_t, 32 * 256> colormap{};
    std::array<std::array<uint8_t, kShadeDistances>, kLightLevels> shade{};

    const std::array<uint8_t, kShadeDistances> &ShadesOf(int light) const {
        return shade[std::clamp(light / 8, 0, kLightLevels - 1)];
    }
    static size_t ShadeIndex(Fixed depth) {  // one step each 16 units
        return static_cast<size_t>(std::min<Fixed>(depth >> 20, kShadeDistances - 1));
    }
    const uint8_t *ColorsAt(int light, Fixed depth) const {
        return &colormap[size_t{ShadesOf(light)[ShadeIndex(depth)]} * 256];
    }
};

// Loads what is asked for, each thing once. The first error is kept in `error`.
class TextureLoader {
public:
    TextureLoader(const Wad &wad, Textures *textures);
    int Wall(const std::string &name);                  // "-" is kNoTexture
    int Flat(const std::string &name);                  // F_SKY1 is kSkyFlat
    int Sprite(const std::string &prefix, char frame);  // kNoSprite when the WAD has none
    const std::string &Error() const { return m_error; }

private:
    struct Definition {
        Bytes lump;
        size_t offset;
    };
    void Fail(const std::string &message) {
        if (m_error.empty()) m_error = message;
    }
    void ReadColors();
    void ReadPatchNames();
    void ReadDefinitions(const char *lumpName);
    const Image &Patch(const std::string &name);
    Image Decode(const std::string &name, Bytes lump);
    Image Compose(const std::string &name, const Definition &definition);
    bool Afford(int width, int height);

    const Wad &m_wad;
    Textures *m_textures;
    std::string m_error;
    std::vector<std::string> m_patchNames;
    std::map<std::string, Definition> m_definitions;
    std::map<std::string, Image> m_patches;
    std::map<std::string, int> m_walls, m_flats, m_sprites;
    int64_t m_texelBudget = int64_t{1} << 27;  // bounds the time and memory that a broken file can cost
};

}  // namespace frame_loop
