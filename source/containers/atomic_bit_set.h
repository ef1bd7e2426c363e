// A flat array of bits that many threads claim from and release to: free fibers, sleeping workers.
//
// Claim and release are one read-modify-write each, without a retry loop on a shared word: a bit
// that another thread was faster to claim shows in the value that the read-modify-write returns,
// and the search goes on behind it. All operations are seq_cst: releasing a bit and then looking
// whether somebody lacks one, and announcing a lack and then looking for a bit, must not miss each
// other.
//
// A set of more than a few words has a set of hints above it, with one bit for each word: so a look
// costs a few loads, however many bits there are. A hint may be set although its word is empty;
// while the word is not empty the hint is set, or is just being set. Let P set a bit and then look
// at the hint, and let C clear the hint and then look at the word once more. If P saw the hint set,
// P's bit came before the clearing, so C sees it and sets the hint again; if not, P sets it.
// Whoever announces a lack and then misses a bit whose hint is just being set is seen by P, who
// looks for those that lack one after it has set the hint.
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
        if (m_count > kFewWords) {
            m_hints = m_memory.NewArray<AtomicBitSet>(1);
            if (m_hints == nullptr || !m_hints->Acquire(m_count, memory)) return false;
        }
        return m_words != nullptr || m_count == 0;
    }
    void Release() noexcept {
        m_memory.DeleteArray(m_words, m_count);
        m_memory.DeleteArray(m_hints, 1);
        m_words = nullptr;
        m_hints = nullptr;
        m_count = 0;
    }

    void Set(uint32_t bit) noexcept {
        const uint64_t before = m_words[bit / 64].bits.fetch_or(Mask(bit), kSeqCst);
        if (m_hints != nullptr && before == 0) Hint(bit / 64);
    }

    /// True if this call cleared it: of several callers exactly one wins.
    bool Clear(uint32_t bit) noexcept {
        return (m_words[bit / 64].bits.fetch_and(~Mask(bit), kSeqCst) & Mask(bit)) != 0;
    }

    struct All {
        uint64_t operator()(uint32_t) const noexcept { return ~uint64_t{0}; }
    };

    /// Clears some set bit and returns its index. The search begins in the word of `home`. `among`
    /// limits it: among(i) returns a mask of the bits of word i that may be cleared. kNone: no such
    /// bit was set all the time, but one that was set behind the search may be missed; whoever must
    /// not miss it announces its lack and asks Any.
    template <class Among = All>
    uint32_t ClearAny(uint32_t home, Among among = Among()) noexcept {
        return ForWords(home / 64, [&](uint32_t index) {
            const uint64_t wanted = among(index);
            env::Atomic<uint64_t> &word = m_words[index].bits;
            for (uint64_t seen = word.load(kSeqCst) & wanted; seen != 0;) {
                const uint64_t mask = seen & (~seen + 1);
                const uint64_t before = word.fetch_and(~mask, kSeqCst);
                if ((before & mask) != 0) return index * 64 + LowestBit(mask);
                // somebody was faster: go on upwards from here
                seen = before & wanted & ~mask & (seen | ~(mask - 1));
            }
            return kNone;
        });
    }

    bool Test(uint32_t bit) const noexcept {
        return (m_words[bit / 64].bits.load(kSeqCst) & Mask(bit)) != 0;
    }

    bool Any() const noexcept {
        if (WEFT_LIKELY(m_count != 0 && m_words[0].bits.load(kSeqCst) != 0)) return true;
        return ForWords(0, [this](uint32_t i) {
                   return m_words[i].bits.load(kSeqCst) != 0 ? i : kNone;
               }) != kNone;
    }

private:
    static constexpr uint32_t kFewWords = 4;

    void Hint(uint32_t word) noexcept {
        if (!m_hints->Test(word)) m_hints->Set(word);
    }

    // What is asked about a word; it gives kNone to go on.
    struct Look {
        uint32_t (*ask)(const void *look, uint32_t word);
        const void *look;
        uint32_t operator()(uint32_t word) const noexcept { return ask(look, word); }
    };

    // Asks `look(word)` for the words that may have bits, from `first` on, until it gives something
    // else than kNone.
    template <class Ask>
    uint32_t ForWords(uint32_t first, Ask ask) const noexcept {
        if (m_hints != nullptr) {
            const auto call = [](const void *look, uint32_t word) {
                return (*static_cast<const Ask *>(look))(word);
            };
            return ForHints(first, {call, &ask});
        }
        for (uint32_t i = 0; i < m_count; ++i) {
            const uint32_t word = first % m_count + i;
            const uint32_t found = ask(word < m_count ? word : word - m_count);
            if (found != kNone) return found;
        }
        return kNone;
    }

    // The same by way of the hints. One whose word is empty is taken back.
    WEFT_NOINLINE uint32_t ForHints(uint32_t first, Look look) const noexcept {
        const auto inWord = [&](uint32_t hints) {
            for (uint64_t seen = m_hints->m_words[hints].bits.load(kSeqCst); seen != 0;
                 seen &= seen - 1) {
                const uint32_t word = hints * 64 + LowestBit(seen & (~seen + 1));
                const uint32_t found = look(word);
                if (found != kNone) return found;
                const auto &bits = m_words[word].bits;
                if (bits.load(kSeqCst) != 0 || !m_hints->Clear(word)) continue;  // [order]
                if (bits.load(kSeqCst) != 0) m_hints->Set(word);                 // [re-check]
            }
            return kNone;
        };
        const uint32_t begin = first % m_count / 64;
        if (m_hints->m_hints == nullptr) {
            for (uint32_t i = 0; i < m_hints->m_count; ++i) {
                const uint32_t hints =
                    begin + i < m_hints->m_count ? begin + i : begin + i - m_hints->m_count;
                const uint32_t found = inWord(hints);
                if (found != kNone) return found;
            }
            return kNone;
        }
        const auto call = [](const void *ask, uint32_t hints) {
            return (*static_cast<const decltype(inWord) *>(ask))(hints);
        };
        return m_hints->ForHints(begin, {call, &inWord});
    }

    // One line each: workers with different home words do not disturb each other.
    struct alignas(64) Word {
        env::Atomic<uint64_t> bits{0};
    };
    static uint64_t Mask(uint32_t bit) noexcept { return uint64_t{1} << (bit % 64); }

    Word *m_words = nullptr;
    AtomicBitSet *m_hints = nullptr;  // one for each word; null if there are few
    uint32_t m_count = 0;
    Memory m_memory;
};

}  // namespace weft::internal
