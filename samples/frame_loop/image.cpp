#include "image.h"

#include <png.h>

namespace frame_loop {

std::string WritePng(const std::string &path, int width, int height, const std::vector<uint8_t> &rgb) {
    png_image image{};
    image.version = PNG_IMAGE_VERSION;
    image.width = static_cast<png_uint_32>(width);
    image.height = static_cast<png_uint_32>(height);
    image.format = PNG_FORMAT_RGB;
    image.flags = PNG_IMAGE_FLAG_FAST;
    if (png_image_write_to_file(&image, path.c_str(), 0, rgb.data(), 0, nullptr) != 0) return {};
    return path + ": cannot be written: " + image.message;
}

}  // namespace frame_loop
