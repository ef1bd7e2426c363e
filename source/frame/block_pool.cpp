// The blocks of a pool: claiming, trials, giving back, reports.
#include "weft/frame/block_pool.h"

#include "frame/blocks.h"
#include "platform/backoff.h"
#include "platform/compiler.h"

#include <new>

namespace weft {

using namespace internal;

namespace {

constexpr size_t kLeastBlockBytes = 4 << 10, kMaxBlockBytes = size_t{1} << 30;

size_t StateBytes(uint32_t words) noexcept {
    return sizeof(BlockPoolState) + words * sizeof(env::Atomic<uint64_t>);
}

// Returns the bits of `used` at which `count` zeros in a row begin. Before each step, bit i of
// `starts` is set if the bits i to i + have - 1 of `used` are zeros.
uint64_t StartsOfFree(uint64_t used, uint32_t count) noexcept {
    uint64_t starts = ~used;
    for (uint32_t have = 1; have < count;) {
        const uint32_t step = have < count - have ? have : count - have;
        starts &= starts >> step;
        have += step;
    }
    return starts;
}

// A mask of the lowest `count` bits (1 to 64).
uint64_t BlockMask(uint32_t count) noexcept {
    return count == kWordBlocks ? ~uint64_t{0} : (uint64_t{1} << count) - 1;
}

uint32_t BitsIn(uint64_t word) noexcept {
    uint32_t bits = 0;
    for (; word != 0; word &= word - 1) ++bits;
    return bits;
}

// Allocates the state and the blocks. Returns null without memory for the state; `blocks` of the
// result is null without memory for the blocks.
BlockPoolState *NewState(const SchedulerOptions &options, uint32_t blocks,
                         size_t blockBytes) noexcept {
    const uint32_t words = (blocks + kWordBlocks - 1) / kWordBlocks;
    void *memory = AllocateWith(options.memory, StateBytes(words), kLineBytes);
    if (memory == nullptr) return nullptr;
    auto *state =
        new (memory) BlockPoolState{options.memory, options.onReport, options.user, nullptr,
                                    blockBytes,     blocks,           words,        nullptr};
    char *begin = static_cast<char *>(memory) + sizeof(BlockPoolState);
    for (uint32_t i = 0; i < words; ++i) {
        const uint32_t here = blocks - i * kWordBlocks;
        auto *word = new (begin + i * sizeof(env::Atomic<uint64_t>))
            env::Atomic<uint64_t>(here >= kWordBlocks ? 0 : ~BlockMask(here));
        if (i == 0) state->words = word;
    }
    state->blocks =
        static_cast<char *>(AllocateWith(options.memory, blocks * blockBytes, blockBytes));
    return state;
}

void DeleteState(BlockPoolState *state) noexcept {
    const MemoryHooks memory = state->memory;
    const uint32_t words = state->wordCount;
    ReleaseWith(memory, state->blocks, state->blockCount * state->blockBytes, state->blockBytes);
    state->~BlockPoolState();
    ReleaseWith(memory, state, StateBytes(words), kLineBytes);
}

// Does what Blocks::Claim does, but searches only once. Calls `before` before the first attempt to
// take blocks.
template <class Before>
uint32_t FindBlocks(BlockPoolState &state, uint32_t count, uint32_t start, Before before) noexcept {
    for (uint32_t i = 0; i < state.wordCount; ++i) {
        const uint32_t index = (start + i) % state.wordCount;
        env::Atomic<uint64_t> &word = state.words[index];
        // acquire, here and where the exchange fails: pairs with the exchange of a thread that took
        // a block which is missing here. If that block is on trial, CameBack sees that it is
        // counted as such.
        uint64_t used = word.load(kAcquire);
        for (uint64_t starts; (starts = StartsOfFree(used, count)) != 0;) {
            const uint32_t bit = LowestBit(starts);
            before();
            // acquire: pairs with the release of the call that gave the blocks back. What was
            // written into them comes before what the caller writes. The exchange continues the
            // release sequences of the word, so what other blocks' users released stays visible.
            // release: see above.
            if (word.compare_exchange_strong(used, used | BlockMask(count) << bit, kAcqRel,
                                             kAcquire)) {
                race::SawAll(&word);
                return index * kWordBlocks + bit;
            }
        }
    }
    return kNoBlock;
}

constexpr uint64_t kOneCameBack = uint64_t{1} << 32;

// Returns true if a block came back from a trial since `seen` was read. A search may have missed
// this block. Waits until no block is on trial.
bool CameBack(const BlockPoolState &state, uint64_t seen) noexcept {
    uint64_t now;
    // acquire: pairs with the end of each trial. The next search finds the blocks that came back. A
    // block that was kept can be found where its taker has put it.
    for (Backoff backoff; static_cast<uint32_t>(now = state.trials.load(kAcquire)) != 0;
         backoff.Next()) {
    }
    return now / kOneCameBack != seen / kOneCameBack;
}

}  // namespace

namespace internal {

uint32_t Blocks::Claim(BlockPoolState &state, uint32_t count, uint32_t start) noexcept {
    for (;;) {
        // acquire: the search finds the blocks that had come back by then.
        const uint64_t seen = state.trials.load(kAcquire);
        const uint32_t first = FindBlocks(state, count, start, [] {});
        if (first != kNoBlock || !CameBack(state, seen)) return first;
    }
}

// Counts a trial only once a block was found. Otherwise several threads that find none, again and
// again, could keep each other waiting.
Blocks::Trial::Trial(BlockPoolState &state) noexcept : m_state(state) {
    const auto count = [&] {
        if (!m_isCounted)
            // relaxed: the exchange that takes the block publishes it
            state.trials.fetch_add(1, kRelaxed);
        m_isCounted = true;
    };
    for (;;) {
        const uint64_t seen = state.trials.load(kAcquire);  // acquire: as in Claim
        m_block = FindBlocks(state, 1, 0, count);
        if (m_block != kNoBlock) return;
        if (m_isCounted) state.trials.fetch_sub(1, kRelaxed);  // relaxed: no block was taken
        m_isCounted = false;
        if (!CameBack(state, seen)) return;
    }
}

// release, here and below: pairs with CameBack. A block that is kept can be found; another one is
// free.
void Blocks::Trial::Keep() noexcept {
    m_state.trials.fetch_sub(1, kRelease);
    m_isCounted = false;
}

Blocks::Trial::~Trial() {
    if (!m_isCounted) return;
    Release(m_state, m_block, 1);
    m_state.trials.fetch_add(kOneCameBack - 1, kRelease);
}

void Blocks::Release(BlockPoolState &state, uint32_t first, uint32_t count) noexcept {
    env::Atomic<uint64_t> &word = state.words[first / kWordBlocks];
    const uint64_t mask = BlockMask(count) << first % kWordBlocks;
    race::Finishes(&word);
    // release: pairs with the acquire of the next claim.
    if ((word.fetch_and(~mask, kRelease) & mask) != mask)
        env::Panic("a block that is given back is in use");
}

void Blocks::ReportFull(const BlockPool &pool, const char *call, size_t bytes) noexcept {
    const BlockPoolState &state = *pool.m_state;
    const uint32_t count = For(state, bytes), inUse = pool.BlocksInUse();
    if (count > BlockPool::kMaxContiguous) {
        ReportTo(state.onReport, state.user, ReportCode::OutOfMemory,
                 "Give the pool larger blocks, or allocate it elsewhere.",
                 "%s: %zu bytes are more than %u blocks of %zu bytes", call, bytes,
                 BlockPool::kMaxContiguous, state.blockBytes);
    } else {
        ReportTo(
            state.onReport, state.user, ReportCode::OutOfMemory,
            "Give the pool more blocks, or free earlier.",
            "%s: no %u free blocks in a row for %zu bytes; %u of %u blocks of %zu bytes are in use",
            call, count, bytes, inUse, state.blockCount, state.blockBytes);
    }
}

}  // namespace internal

BlockPool::BlockPool(const SchedulerOptions &options, uint32_t blocks, size_t blockBytes) noexcept
    : m_state(nullptr) {
    if ((options.memory.allocate != nullptr) != (options.memory.release != nullptr)) {
        ReportTo(options.onReport, options.user, ReportCode::BadOption,
                 "Give allocate and release together.",
                 "BlockPool: SchedulerOptions::memory is not complete");
        return;
    }
    const bool good = blocks >= 1 && blocks <= kMaxBlocks && IsPowerOfTwo(blockBytes) &&
                      blockBytes >= kLeastBlockBytes && blockBytes <= kMaxBlockBytes;
    if (!good || blocks > SIZE_MAX / blockBytes) {
        ReportTo(options.onReport, options.user, ReportCode::BadOption,
                 "Give 1 to 1,048,576 blocks of a power of two bytes, 4 KiB to 1 GiB.",
                 "BlockPool: %u blocks of %zu bytes", blocks, blockBytes);
        return;
    }
    m_state = NewState(options, blocks, blockBytes);
    if (m_state != nullptr && m_state->blocks != nullptr) return;
    if (m_state != nullptr) DeleteState(m_state);
    m_state = nullptr;
    ReportTo(options.onReport, options.user, ReportCode::OutOfMemory,
             "Give it fewer or smaller blocks.",
             "BlockPool: there is no memory for %u blocks of %zu bytes", blocks, blockBytes);
}

BlockPool::~BlockPool() {
    if (m_state == nullptr) return;
    if (const uint32_t inUse = BlocksInUse(); inUse != 0) {
        ReportTo(m_state->onReport, m_state->user, ReportCode::MemoryLeaked,
                 "End every heap and arena before their pool.",
                 "BlockPool: it ends while %u of %u blocks are in use", inUse, m_state->blockCount);
    }
    DeleteState(m_state);
}

uint32_t BlockPool::BlockCount() const noexcept {
    return m_state != nullptr ? m_state->blockCount : 0;
}
size_t BlockPool::BlockBytes() const noexcept {
    return m_state != nullptr ? m_state->blockBytes : 0;
}

uint32_t BlockPool::BlocksInUse() const noexcept {
    if (m_state == nullptr) return 0;
    uint32_t used = 0;
    for (uint32_t i = 0; i < m_state->wordCount; ++i) {
        used += BitsIn(m_state->words[i].load(kRelaxed));  // relaxed: only a figure
    }
    return used - (m_state->wordCount * kWordBlocks - m_state->blockCount);
}

}  // namespace weft
