#include "options.h"

#include <cctype>
#include <cstdlib>

namespace frame_loop {
namespace {

// A number from `low` to `high` that fills the text up to `end`; on success the text is moved behind it.
bool ReadNumber(const char **text, char end, long low, long high, long *value) {
    char *rest = nullptr;
    *value = std::strtol(*text, &rest, 10);
    if (rest == *text || *rest != end || *value < low || *value > high) return false;
    *text = rest + (end != 0);
    return true;
}

}  // namespace

std::string ParseOptions(int count, const char *const *arguments, Options *options) {
    for (int i = 1; i < count; ++i) {
        const std::string name = arguments[i];
        if (name == "--serial" || name == "--help") {
            (name == "--serial" ? options->serial : options->help) = true;
            continue;
        }
        const char *value = i + 1 < count ? arguments[i + 1] : "";
        long number = 0, height = 0;
        if (name == "--wad") {
            options->wad = value;
        } else if (name == "--out") {
            options->out = value;
        } else if (name == "--level") {
            options->level = value;
            for (char &c : options->level) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
        } else if (name == "--workers") {
            if (!ReadNumber(&value, 0, 1, 1024, &number)) return "--workers takes a number from 1 to 1024";
            options->run.workers = static_cast<uint32_t>(number);
        } else if (name == "--frames") {
            if (!ReadNumber(&value, 0, 1, 1000000, &number))
                return "--frames takes a number from 1 to 1000000";
            options->run.frames = static_cast<int>(number);
        } else if (name == "--size") {
            if (!ReadNumber(&value, 'x', 16, 4096, &number) || !ReadNumber(&value, 0, 16, 4096, &height))
                return "--size takes WxH, each from 16 to 4096";
            options->run.width = static_cast<int>(number);
            options->run.height = static_cast<int>(height);
        } else {
            return "unknown option " + name;
        }
        if (++i == count || arguments[i][0] == 0) return name + " needs a value";
    }
    return {};
}

}  // namespace frame_loop
