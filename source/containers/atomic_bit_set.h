// A flat array of bits that many threads claim from and release to: free fibers, sleeping workers.
//
// Claim and release are one read-modify-write each, without a retry loop on a shared word: a bit that another thread was
// faster to claim shows in the value that the read-modify-write returns, and the search goes on behind it.
// All operations are seq_cst: releasing a bit and then looking whether somebody lacks one, and announcing a lack and then
// looking for a bit, must not miss each other.
#pragma once

#include "platform/compiler.h"
#include "platform/env.h"
#include "platform/memory.h"

#include <cstdint>

namespace weft::internal {

class AtomicBitSet {
public:
    static constexpr uint32_t kNone = ~0u;

    AtomicBitSet() = default;
    AtomicBitSet(const AtomicBitSet &) = delete;
    AtomicBitSet &operator=(const AtomicBitSet &) = delete;
    ~AtomicBitSet() { Release(); }

    /// `bits` bits, all clear. False when there is no memory.
    bool Acquire(uint32_t bits, Memory memory = {}) noexcept {
        m_memory = memory;
        m_count = (bits + 63) / 64;
        m_words = m_memory.NewArray<Word>(m_count);
        return m_words != nullptr || m_count == 0;
    }
    void Release() noexcept {
        m_memory.DeleteArray(m_words, m_count);
        m_words = nullptr;
        m_count = 0;
    }

    void Set(uint32_t bit) noexcept { m_words[bit / 64].bits.fetch_or(Mask(bit), kSeqCst); }

    /// True if this call cleared it: of several callers exactly one wins.
    bool Clear(uint32_t bit) noexcept {
        return (m_words[bit / 64].bits.fetch_and(~Mask(bit), kSeqCst) & Mask(bit)) != 0;
    }

    /// Clears some set bit and returns its index. Begins in the word of `home`. kNone: no bit was set all the time, but one
    /// that was set behind the search may be missed; whoever must not miss it announces its lack and asks Any.
    uint32_t ClearAny(uint32_t home) noexcept {
        const uint32_t first = m_count == 0 ? 0 : home / 64 % m_count;
        for (uint32_t i = 0; i < m_count; ++i) {
            const uint32_t index = first + i < m_count ? first + i : first + i - m_count;
            env::Atomic<uint64_t> &word = m_words[index].bits;
            for (uint64_t seen = word.load(kSeqCst); seen != 0;) {
                const uint64_t mask = seen & (~seen + 1);
                const uint64_t before = word.fetch_and(~mask, kSeqCst);
                if ((before & mask) != 0) return index * 64 + LowestBit(mask);
                seen = before & ~mask & (seen | ~(mask - 1));  // somebody was faster: go on upwards from here
            }
        }
        return kNone;
    }

    bool Test(uint32_t bit) const noexcept { return (m_words[bit / 64].bits.load(kSeqCst) & Mask(bit)) != 0; }

    bool Any() const noexcept {
        for (uint32_t i = 0; i < m_count; ++i) {
            if (m_words[i].bits.load(kSeqCst) != 0) return true;
        }
        return false;
    }

private:
    // One line each: workers with different home words do not disturb each other.
    struct alignas(64) Word {
        env::Atomic<uint64_t> bits{0};
    };
    static uint64_t Mask(uint32_t bit) noexcept { return uint64_t{1} << (bit % 64); }

    Word *m_words = nullptr;
    uint32_t m_count = 0;
    Memory m_memory;
};

}  // namespace weft::internal
