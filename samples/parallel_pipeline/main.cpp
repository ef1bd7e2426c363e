// A pipeline of filters. Blocks of a map are read, packed and written. One block is read at a time.
// Several blocks are packed at the same time. The packed blocks are written one at a time, in the
// order in which they were read. So the result is the same as that of a loop on one thread, and the
// sample compares the two.
//
//     samples/run.sh parallel_pipeline
#include <weft/algorithms/parallel_pipeline.h>

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <vector>

namespace {

constexpr uint32_t kBlocks = 200, kBytes = 16384, kTokens = 8;

struct Block {
    std::vector<unsigned char> raw, packed;  // used again for each block that has the same slot
};

void Read(uint32_t block, std::vector<unsigned char> &raw) {
    raw.resize(kBytes);
    for (uint32_t i = 0; i < kBytes; ++i) {
        const float height = std::sin(static_cast<float>(block * kBytes + i) / 700);
        raw[i] = static_cast<unsigned char>(20 * (1 + height));
    }
}

// Run-length encoding: pairs of a value and how often it comes.
void Pack(const std::vector<unsigned char> &raw, std::vector<unsigned char> &packed) {
    packed.clear();
    for (size_t i = 0; i < raw.size();) {
        size_t end = i + 1;
        while (end < raw.size() && raw[end] == raw[i] && end - i < 255) ++end;
        packed.push_back(raw[i]);
        packed.push_back(static_cast<unsigned char>(end - i));
        i = end;
    }
}

void Append(const std::vector<unsigned char> &packed, std::vector<unsigned char> &file) {
    file.insert(file.end(), packed.begin(), packed.end());
}

void PackMap(weft::TaskScheduler *scheduler, void *arg) {
    std::vector<unsigned char> &file = *static_cast<std::vector<unsigned char> *>(arg);
    weft::PipelineSlot<Block> slots[kTokens];  // at most 8 blocks are in memory
    uint32_t next = 0;
    weft::PipelineOptions options;
    options.name = "pack";
    weft::ParallelPipeline(
        *scheduler, options, slots, kTokens,
        [&](Block &block) {
            if (next == kBlocks) return false;  // the input has ended
            Read(next++, block.raw);
            return true;
        },
        weft::ParallelFilter([](Block &block) { Pack(block.raw, block.packed); }),
        weft::InOrderFilter([&](Block &block) { Append(block.packed, file); }));
}

}  // namespace

int main() {
    std::vector<unsigned char> file, expected;
    if (weft::TaskScheduler().Run(PackMap, &file) != weft::Status::Ok) return 1;

    Block block;
    for (uint32_t i = 0; i < kBlocks; ++i) {
        Read(i, block.raw);
        Pack(block.raw, block.packed);
        Append(block.packed, expected);
    }
    const bool same = file == expected;
    std::printf("%u blocks of %u bytes, packed into %zu bytes: %s as in a loop\n", kBlocks, kBytes,
                file.size(), same ? "the same" : "NOT THE SAME");
    return same ? 0 : 1;
}
