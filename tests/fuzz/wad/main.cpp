// Damaged WAD files for libFuzzer (see tests/fuzz.sh). An input is a list of changes to a level of
// Debian's package `freedoom`. The level reader must refuse the changed file with a message, or
// load it, and then the level must be playable for some frames.
#include "samples/frame_loop/small_wad.h"

#include <cstdio>
#include <cstdlib>

namespace {

// A change: six bytes that give a region, a place in it, and what is written there.
constexpr size_t kChangeBytes = 6;

const test::SmallWad &Undamaged() {
    static frame_loop::Wad all;
    static const test::SmallWad *const small = [] {
        const frame_loop::Problem problem = frame_loop::ReadWad(frame_loop::kFreedoom, &all);
        if (!problem.empty()) {
            std::fprintf(stderr, "%s: %s\n", frame_loop::kFreedoom, problem.c_str());
            std::exit(2);
        }
        return new test::SmallWad(all, "E1M1");
    }();
    return *small;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes) {
    const test::SmallWad &small = Undamaged();
    std::vector<uint8_t> file = small.m_file;
    for (; bytes >= kChangeBytes; data += kChangeBytes, bytes -= kChangeBytes) {
        const size_t place = data[1] | size_t{data[2]} << 8 | size_t{data[3]} << 16;
        // the header and the level: most of what the reader reads
        size_t begin = 0, end = small.m_levelBytes;
        if (data[0] % 8 == 0) begin = small.m_directory, end = file.size();
        // pictures and definitions of textures
        if (data[0] % 8 == 1) begin = small.m_levelBytes, end = small.m_directory;
        const size_t at = begin + place % (end - begin);
        file[at] = data[4];
        if ((data[0] & 0x80) != 0 && at + 1 < end) file[at + 1] = data[5];
        if ((data[0] & 0x40) != 0) file.resize(std::max<size_t>(at, 1));
        if (file.size() < small.m_file.size()) break;
    }
    small.Try(file);
    return 0;
}
