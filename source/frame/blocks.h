// Which blocks of a pool are in use: what heaps and arenas take from it and give back.
#pragma once

#include "platform/env.h"
#include "platform/race_finder.h"
#include "scheduler/api/internal_api.h"
#include "weft/frame/block_pool.h"

namespace weft::internal {

inline constexpr uint32_t kNoBlock = ~0u;
inline constexpr uint32_t kWordBlocks = 64;  // a word of 64 bits says which of so many are in use

struct BlockPoolState {
    MemoryHooks memory;
    void (*onReport)(const Report &report, void *user);
    void *user;
    char *blocks;  // null: there are none
    size_t blockBytes;
    uint32_t blockCount, wordCount;
    // a bit for each block: in use. Those past the last block always are
    env::Atomic<uint64_t> *words;
    // see Blocks::Trial. Low half: blocks that are on trial; high half: came back
    env::Atomic<uint64_t> trials{0};
};

struct Blocks {
    static BlockPoolState *StateOf(const BlockPool &pool) noexcept { return pool.m_state; }

    /// The first of `count` (1 to 64) free blocks in a row, which are now the caller's; kNoBlock if
    /// no word has so many. The search begins at word `start`, modulo their number. What those
    /// wrote who had them before is visible. Lock-free, but where none is left and another thread
    /// has one on trial: then it waits for that one's decision.
    static uint32_t Claim(BlockPoolState &state, uint32_t count, uint32_t start) noexcept;
    /// Gives back exactly what Claim gave.
    static void Release(BlockPoolState &state, uint32_t first, uint32_t count) noexcept;

    /// A block that its taker will give back at once if it finds that it does not need it. While
    /// there is such a block, nobody is told that none is left. So its taker must not wait while it
    /// has it.
    class Trial {
    public:
        explicit Trial(BlockPoolState &state) noexcept;
        ~Trial();
        Trial(const Trial &) = delete;
        Trial &operator=(const Trial &) = delete;

        uint32_t Block() const noexcept { return m_block; }  ///< kNoBlock: none is left
        void Keep() noexcept;

    private:
        BlockPoolState &m_state;
        uint32_t m_block = kNoBlock;
        bool m_isCounted = false;
    };

    /// For the race finder, which knows only of the claimer: the caller, too, comes after those who
    /// had `address` before.
    static void SawOwnersBefore(const BlockPoolState &state, const char *address) noexcept {
        const size_t block = static_cast<size_t>(address - state.blocks) / state.blockBytes;
        race::SawAll(&state.words[block / kWordBlocks]);
    }
    static char *At(const BlockPoolState &state, uint32_t block) noexcept {
        return state.blocks + block * state.blockBytes;
    }
    /// How many blocks `bytes` take; more than 64: too many.
    static uint32_t For(const BlockPoolState &state, size_t bytes) noexcept {
        if (bytes > state.blockBytes * BlockPool::kMaxContiguous)
            return BlockPool::kMaxContiguous + 1;
        return bytes <= state.blockBytes
                   ? 1
                   : static_cast<uint32_t>((bytes - 1) / state.blockBytes + 1);
    }
    /// Why Claim gave nothing.
    static void ReportFull(const BlockPool &pool, const char *call, size_t bytes) noexcept;
};

inline char *AlignUp(char *address, size_t alignment) noexcept {
    const size_t over = reinterpret_cast<uintptr_t>(address) & (alignment - 1);
    return over == 0 ? address : address + (alignment - over);
}

inline bool IsPowerOfTwo(size_t value) noexcept { return value != 0 && (value & (value - 1)) == 0; }

}  // namespace weft::internal
