// The pictures of a WAD: wall textures made of patches, flats for floors and ceilings, and sprites
// with their rotations. Also the palette and the tables that darken a colour with distance.
#pragma once

#include "fixed.h"
#include "wad.h"

#include <algorithm>
#include <array>

namespace frame_loop {

struct Image {
    Image(int imageWidth, int imageHeight)
        : width(imageWidth),
          height(imageHeight),
          texels(Texel(width, 0)),
          opaque(Texel(width, 0)) {}
    size_t Texel(int x, int y) const { return size_t{1} * x * height + y; }

    int width, height, left = 0, top = 0;
    std::vector<uint8_t> texels, opaque;  // column after column
};

// by the eighth of a circle from which the viewer looks: 0 front, 2 its left side, 4 back
struct SpriteFrame {
    std::array<int, 8> image;
    std::array<bool, 8> mirrored;
};

inline constexpr int kNone = -1, kSky = -1, kFlatSide = 64;

struct Textures {
    static constexpr int kLights = 32, kDistances = 256;
    // the darkness at each distance, as a row of the colour map
    using Shades = std::array<uint8_t, kDistances>;
    std::vector<Image> walls, images;  // images: the sprites
    std::vector<std::vector<uint8_t>> flats;
    std::vector<SpriteFrame> sprites;
    std::array<uint8_t, 768> palette{};
    std::array<uint8_t, 32 * 256> colormap{};
    std::array<Shades, kLights> shades{};

    const Shades &ShadesOf(int light) const {
        return shades[std::clamp(light / 8, 0, kLights - 1)];
    }
    const uint8_t *ColorsAt(const Shades &of, Fixed depth) const {  // one step for every 16 units
        return &colormap[size_t{of[std::min<Fixed>(depth >> 20, kDistances - 1)]} * 256];
    }
};

// Loads pictures on request, each picture once.
class TextureLoader {
public:
    TextureLoader(const Wad &wad, Textures *textures, Problem *problem);
    int Wall(const std::string &name);                  // "-" is kNone
    int Flat(const std::string &name);                  // F_SKY1 is kSky
    int Sprite(const std::string &prefix, char frame);  // kNone when the WAD has none
    Image Picture(const std::string &name);             // one column and row if the WAD has none

private:
    void ReadColors();
    void ReadNames();
    void ReadDefinitions(const std::string &lumpName);
    bool Affords(int width, int height);
    Image Broken(const std::string &name);
    const Image &Patch(const std::string &name);
    Image Decode(const std::string &name, Bytes lump);
    Image Compose(const std::string &name);

    const Wad &m_wad;
    Textures &m_textures;
    Problem *m_problem;
    std::vector<std::string> m_patchNames;
    // definitions of wall textures; each Bytes reaches to the end of its lump
    std::map<std::string, Bytes> m_definitions;
    std::map<std::string, Image> m_patches;
    std::map<std::string, int> m_walls, m_flats, m_sprites;
    // limits the time and memory that a broken file can cost
    int64_t m_texelBudget = int64_t{1} << 26;
};

}  // namespace frame_loop
