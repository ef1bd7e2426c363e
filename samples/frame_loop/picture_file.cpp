// Implements picture_file.h with libpng, or in a browser by a message.
#include "picture_file.h"

#if !defined(__EMSCRIPTEN__)
#include <png.h>
#endif

#include <algorithm>

namespace frame_loop {

std::string PicturePath(const std::string &folder, uint64_t frame) {
    const std::string number = std::to_string(frame);
    return folder + "/frame_" + std::string(6 - std::min<size_t>(number.size(), 6), '0') + number +
           ".png";
}

#if defined(__EMSCRIPTEN__)

Problem WritePng(const std::string &path, int, int, const uint8_t *, const uint8_t *) {
    return path + " cannot be written: there is no libpng in a browser";
}

#else

Problem WritePng(const std::string &path, int width, int height, const uint8_t *pixels,
                 const uint8_t *palette) {
    png_image image{};
    image.version = PNG_IMAGE_VERSION;
    image.width = static_cast<png_uint_32>(width);
    image.height = static_cast<png_uint_32>(height);
    if (palette == nullptr) {
        image.format = PNG_FORMAT_RGB;
        image.flags = PNG_IMAGE_FLAG_FAST;
    } else {
        image.format = PNG_FORMAT_RGB_COLORMAP;
        image.colormap_entries = 256;
    }
    if (png_image_write_to_file(&image, path.c_str(), 0, pixels, 0, palette) != 0) return {};
    return path + " cannot be written: " + image.message;
}

#endif

}  // namespace frame_loop
