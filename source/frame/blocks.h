// The blocks of a pool, and which of them are in use. Heaps and arenas claim blocks and give them
// back.
#pragma once

#include "platform/env.h"
#include "platform/race_finder.h"
#include "scheduler/api/internal_api.h"
#include "weft/frame/block_pool.h"

namespace weft::internal {

inline constexpr uint32_t kNoBlock = ~0u;
inline constexpr uint32_t kWordBlocks = 64;  // a word has 64 bits, one for each block

/// The data of a BlockPool.
struct BlockPoolState {
    MemoryHooks memory;
    void (*onReport)(const Report &report, void *user);
    void *user;
    char *blocks;  // null: no memory
    size_t blockBytes;
    uint32_t blockCount, wordCount;
    // A bit for each block: 1 if it is in use. The bits after the last block are always 1.
    env::Atomic<uint64_t> *words;
    // See Blocks::Trial. Low half: how many blocks are on trial. High half: how many came back.
    env::Atomic<uint64_t> trials{0};
};

/// The operations on a pool that heaps and arenas use.
struct Blocks {
    static BlockPoolState *StateOf(const BlockPool &pool) noexcept { return pool.m_state; }

    /// Claims `count` (1 to 64) free blocks in a row and returns the first one. Returns kNoBlock if
    /// no word has so many free blocks in a row. Begins the search at word `start`, modulo the
    /// number of words. What the former owners wrote is visible. Lock-free, except if no block is
    /// left and another thread has one on trial: then it waits until that thread has decided.
    static uint32_t Claim(BlockPoolState &state, uint32_t count, uint32_t start) noexcept;
    /// Gives back exactly the blocks that one Claim has returned.
    static void Release(BlockPoolState &state, uint32_t first, uint32_t count) noexcept;

    /// A claimed block that the owner of this object gives back at once if it does not need it.
    /// While a block is on trial, a Claim that finds no block does not fail, but waits for the
    /// decision. So the owner must not wait meanwhile.
    class Trial {
    public:
        /// Claims a block.
        explicit Trial(BlockPoolState &state) noexcept;
        ~Trial();
        Trial(const Trial &) = delete;
        Trial &operator=(const Trial &) = delete;

        uint32_t Block() const noexcept { return m_block; }  ///< kNoBlock: none is left
        /// Ends the trial: the block stays claimed.
        void Keep() noexcept;

    private:
        BlockPoolState &m_state;
        uint32_t m_block = kNoBlock;
        bool m_isCounted = false;
    };

    /// For the race finder, which knows only the thread that claimed the block: orders the calling
    /// thread after the former owners of `address`, too.
    static void SawOwnersBefore(const BlockPoolState &state, const char *address) noexcept {
        const size_t block = static_cast<size_t>(address - state.blocks) / state.blockBytes;
        race::SawAll(&state.words[block / kWordBlocks]);
    }
    static char *At(const BlockPoolState &state, uint32_t block) noexcept {
        return state.blocks + block * state.blockBytes;
    }
    /// Returns how many blocks `bytes` need, or a number above 64 if they are too many.
    static uint32_t For(const BlockPoolState &state, size_t bytes) noexcept {
        if (bytes > state.blockBytes * BlockPool::kMaxContiguous)
            return BlockPool::kMaxContiguous + 1;
        return bytes <= state.blockBytes
                   ? 1
                   : static_cast<uint32_t>((bytes - 1) / state.blockBytes + 1);
    }
    /// Reports why Claim has returned no block.
    static void ReportFull(const BlockPool &pool, const char *call, size_t bytes) noexcept;
};

/// Returns the next address that is a multiple of `alignment`, a power of two.
inline char *AlignUp(char *address, size_t alignment) noexcept {
    const size_t over = reinterpret_cast<uintptr_t>(address) & (alignment - 1);
    return over == 0 ? address : address + (alignment - over);
}

inline bool IsPowerOfTwo(size_t value) noexcept { return value != 0 && (value & (value - 1)) == 0; }

}  // namespace weft::internal
