// A set of bits that many threads set and clear, for example the free fibers or the sleeping
// workers. A thread takes something by clearing its bit, and gives it back by setting the bit.
//
// Setting and clearing are one read-modify-write each. No thread retries on a shared word: if
// another thread was faster, the value that the read-modify-write returns shows it, and the search
// continues with the next bit. All operations are seq_cst, because of this pattern: one thread sets
// a bit, then checks whether another thread lacks one; the other thread announces that it lacks
// one, then searches for a bit. At least one of them must see the other.
//
// Hints. A set of more than a few words has a second set of bits above it: one hint for each word.
// So a search costs a few loads, however many bits there are. A hint may be set although its word
// is empty. While the word is not empty, the hint is set, or a thread is about to set it.
//
// No hint stays clear over a word with bits. P sets a bit (p1), then reads the hint (p2). C clears
// the hint (c1), then reads the word once more (c2). If P reads the hint as set, p2 is before c1,
// so p1 is before c2: C sees the bit and sets the hint again. If P reads it as clear, P sets it. A
// thread may announce that it lacks a bit, and then miss P's bit because the hint is not set yet. P
// sees this announcement, because P checks for it after it has set the hint.
#pragma once

#include "platform/compiler.h"
#include "platform/env.h"
#include "platform/memory.h"

#include <cstdint>

namespace weft::internal {

/// A set of bits. All calls except Acquire and Release are thread-safe.
class AtomicBitSet {
public:
    static constexpr uint32_t kNone = ~0u;

    AtomicBitSet() = default;
    AtomicBitSet(const AtomicBitSet &) = delete;
    AtomicBitSet &operator=(const AtomicBitSet &) = delete;
    ~AtomicBitSet() { Release(); }

    /// Makes a set of `bits` bits, all clear. Returns false if there is no memory.
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

    /// Sets a bit.
    void Set(uint32_t bit) noexcept {
        const uint64_t before = m_words[bit / 64].bits.fetch_or(Mask(bit), kSeqCst);
        if (m_hints != nullptr && before == 0) Hint(bit / 64);
    }

    /// Clears a bit. Returns true if this call cleared it: exactly one of several callers wins.
    bool Clear(uint32_t bit) noexcept {
        return (m_words[bit / 64].bits.fetch_and(~Mask(bit), kSeqCst) & Mask(bit)) != 0;
    }

    /// The mask that allows all bits.
    struct All {
        uint64_t operator()(uint32_t) const noexcept { return ~uint64_t{0}; }
    };

    /// Clears a set bit and returns its index. The search begins in the word of bit `home`. `among`
    /// limits it: among(i) returns a mask of the bits of word i that may be cleared. Returns kNone
    /// if no such bit was set during the whole call. A bit that is set behind the search may be
    /// missed. A caller that must not miss it announces that it lacks one, and then calls Any.
    template <class Among = All>
    uint32_t ClearAny(uint32_t home, Among among = Among()) noexcept {
        return ForWords(home / 64, [&](uint32_t index) {
            const uint64_t wanted = among(index);
            env::Atomic<uint64_t> &word = m_words[index].bits;
            for (uint64_t seen = word.load(kSeqCst) & wanted; seen != 0;) {
                const uint64_t mask = seen & (~seen + 1);
                const uint64_t before = word.fetch_and(~mask, kSeqCst);
                if ((before & mask) != 0) return index * 64 + LowestBit(mask);
                // Another thread was faster. Continue with the bits above this one.
                seen = before & wanted & ~mask & (seen | ~(mask - 1));
            }
            return kNone;
        });
    }

    bool Test(uint32_t bit) const noexcept {
        return (m_words[bit / 64].bits.load(kSeqCst) & Mask(bit)) != 0;
    }

    /// Returns true if a bit is set.
    bool Any() const noexcept {
        if (WEFT_LIKELY(m_count != 0 && m_words[0].bits.load(kSeqCst) != 0)) return true;
        return ForWords(0, [this](uint32_t i) {
                   return m_words[i].bits.load(kSeqCst) != 0 ? i : kNone;
               }) != kNone;
    }

private:
    friend struct DebugLayout;
    static constexpr uint32_t kFewWords = 4;

    // Sets the hint of a word.
    void Hint(uint32_t word) noexcept {
        if (!m_hints->Test(word)) m_hints->Set(word);
    }

    // A question about a word. It returns kNone to continue with the next word.
    struct Look {
        uint32_t (*ask)(const void *look, uint32_t word);
        const void *look;
        uint32_t operator()(uint32_t word) const noexcept { return ask(look, word); }
    };

    // Calls `ask` for each word that may have bits, beginning with word `first`, until the result
    // is not kNone.
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

    // Does the same by way of the hints. Clears the hints of empty words.
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

    // A cache line for each word: workers with different home words do not write to the same line.
    struct alignas(64) Word {
        env::Atomic<uint64_t> bits{0};
    };
    static uint64_t Mask(uint32_t bit) noexcept { return uint64_t{1} << (bit % 64); }

    Word *m_words = nullptr;
    AtomicBitSet *m_hints = nullptr;  // a bit for each word; null if there are few words
    uint32_t m_count = 0;
    Memory m_memory;
};

}  // namespace weft::internal
