// Parallel sort by a number of each element, such as the sort key of a draw call. It keeps the
// order of elements with equal keys.
//
//     #include <weft/algorithms/parallel_sort_by_key.h>
//
//     void Main(weft::TaskScheduler *scheduler, void *) {
//         std::vector<Draw> draws = CollectDraws(), scratch(draws.size());
//         weft::ParallelSortByKey(*scheduler, draws.begin(), draws.end(), scratch.begin(),
//                                 [](const Draw &draw) { return draw.key; });
//     }
//
//     int main() { return weft::TaskScheduler().Run(Main) == weft::Status::Ok ? 0 : 1; }
//
// If keys and values are in different arrays, sort indices:
//
//     weft::ParallelSortByKey(*scheduler, order.begin(), order.end(), scratch.begin(),
//                             [&](uint32_t i) { return depths[i]; });
#pragma once

#include "weft/algorithms/parallel_stable_sort.h"

#include <cstring>
#include <limits>

namespace weft {

namespace internal {

template <size_t kBytes>
using UnsignedOf = std::conditional_t<
    kBytes == 1, uint8_t,
    std::conditional_t<kBytes == 2, uint16_t, std::conditional_t<kBytes == 4, uint32_t, uint64_t>>>;

/// Returns an unsigned number with the same order as `key`.
template <class Key>
auto OrderedBits(Key key) noexcept {
    if constexpr (std::is_enum_v<Key>) {
        return OrderedBits(static_cast<std::underlying_type_t<Key>>(key));
    } else {
        static_assert(std::is_arithmetic_v<Key> && sizeof(Key) <= 8,
                      "weft: a key is an integer, an enum, a float or a double; for others there "
                      "is ParallelStableSort");
        using Bits = UnsignedOf<sizeof(Key)>;
        constexpr Bits kSign = static_cast<Bits>(Bits{1} << (8 * sizeof(Key) - 1));
        Bits bits = 0;
        std::memcpy(&bits, &key, sizeof bits);
        // Of negative floating-point numbers, the one with the greater bits is the smaller one.
        if constexpr (std::is_floating_point_v<Key>)
            return static_cast<Bits>((bits & kSign) != 0 ? ~bits : bits | kSign);
        if constexpr (std::is_signed_v<Key>) return static_cast<Bits>(bits ^ kSign);
        return bits;
    }
}

/// A radix sort, from the lowest digit of the keys to the highest. Each pass counts the digits in
/// each block, and moves the elements of all blocks to their places, from the range to the scratch
/// memory or back. A digit that is the same in all keys is not moved.
template <class It, class Scratch, class KeyOf>
class RadixSort {
public:
    RadixSort(SortControl &control, It range, Scratch scratch, uint32_t count,
              KeyOf &keyOf) noexcept
        : m_control(control),
          m_range(range),
          m_scratch(scratch),
          m_count(count),
          m_block((count - 1) / kBlocks + 1),
          m_keyOf(keyOf) {}

    void Sort() noexcept {
        for (uint32_t digit = 0; digit < sizeof(Bits) && !m_control.IsStopped(); ++digit) {
            if (m_isInScratch) {
                Pass(m_scratch, m_range, 8 * digit);
            } else {
                Pass(m_range, m_scratch, 8 * digit);
            }
        }
        if (!m_isInScratch) return;
        ForEachPiece([&](uint32_t, uint32_t first, uint32_t last) {
            std::move(At(m_scratch, first), At(m_scratch, last), At(m_range, first));
        });
    }

private:
    using Key = std::decay_t<std::invoke_result_t<KeyOf &, const ElementOf<It> &>>;
    using Bits = decltype(OrderedBits(std::declval<Key>()));
    static constexpr uint32_t kDigits = 256;
    static constexpr uint32_t kBlocks = 16;
    static constexpr uint32_t kPiece = 8192;  ///< elements between two scheduling points

    uint32_t DigitOf(const ElementOf<It> &element, uint32_t shift) noexcept {
        return static_cast<uint32_t>(OrderedBits<Key>(m_keyOf(element)) >> shift) & (kDigits - 1);
    }

    template <class From, class To>
    void Pass(From from, To to, uint32_t shift) noexcept {
        ForEachPiece([&](uint32_t block, uint32_t first, uint32_t last) {
            uint32_t *const counts = m_places[block];
            if (first == block * m_block) std::fill(counts, counts + kDigits, 0u);
            for (uint32_t i = first; i < last; ++i) ++counts[DigitOf(*At(from, i), shift)];
        });
        if (!FindPlaces()) return;
        ForEachPiece([&](uint32_t block, uint32_t first, uint32_t last) {
            uint32_t *const places = m_places[block];
            for (uint32_t i = first; i < last; ++i) {
                const From element = At(from, i);
                *At(to, places[DigitOf(*element, shift)]++) = std::move(*element);
            }
        });
        m_isInScratch = !m_isInScratch;
    }

    // Turns the counts of the digits into the places of their first elements, in the order of the
    // digits and then of the blocks. Returns false if all elements have the same digit.
    bool FindPlaces() noexcept {
        uint32_t place = 0;
        const uint32_t blocks = (m_count - 1) / m_block + 1;
        for (uint32_t digit = 0; digit < kDigits; ++digit) {
            const uint32_t before = place;
            for (uint32_t block = 0; block < blocks; ++block) {
                const uint32_t count = m_places[block][digit];
                m_places[block][digit] = place;
                place += count;
            }
            if (before == 0 && place == m_count) return false;
        }
        return true;
    }

    // Calls body(block, first, last) for all pieces. The pieces of a block come in their order.
    template <class Body>
    void ForEachPiece(Body body) noexcept {
        m_control.ForEach((m_count - 1) / m_block + 1, [&](uint64_t i) {
            const uint32_t block = static_cast<uint32_t>(i), first = block * m_block,
                           last = first + (std::min)(m_block, m_count - first);
            for (uint32_t piece = first; piece < last;) {
                const uint32_t end = piece + (std::min)(kPiece, last - piece);
                body(block, piece, end);
                if (end < last) m_control.Breathe();
                piece = end;
            }
        });
    }

    SortControl &m_control;
    const It m_range;
    const Scratch m_scratch;
    const uint32_t m_count;
    const uint32_t m_block;
    KeyOf &m_keyOf;
    bool m_isInScratch = false;
    uint32_t m_places[kBlocks][kDigits];
};

/// Shorter ranges are merge sorted. Going through all digits takes longer there.
inline constexpr uint64_t kLeastRadix = 1024;

}  // namespace internal

/// Sorts [first, last) by `key(element)`, which returns an integer, an enum, a float or a double.
/// Keeps the order of elements with equal keys. Returns true if it has sorted the range.
///
/// `scratch` is the begin of at least `last - first` objects of the same type, as for
/// ParallelStableSort. `key` may be called several times for an element, on any worker. It must
/// return the same each time, and must not throw: otherwise the behaviour is undefined. Negative
/// zero comes before zero. NaNs come first or last, by their sign.
///
/// The time is proportional to the length of the range and the bytes of the key; bytes that are the
/// same in all keys take half the time. Ranges of fewer than 1,024 elements are merge sorted. The
/// result is the same with any number of workers. The sort takes 17 KiB of the caller's stack.
/// Nothing is allocated. Between two scheduling points a worker goes through up to 8,192 elements.
///
/// LoopOptions::grain counts only for ranges of fewer than 1,024 elements. If LoopOptions::cancel
/// is cancelled, the range holds all its elements in some order, and the result is false. If the
/// scheduler does not run, it reports NotRunning and returns false. Threads and waits are as for
/// ParallelSort.
template <class It, class Scratch, class KeyOf>
bool ParallelSortByKey(TaskScheduler &scheduler, It first, It last, Scratch scratch, KeyOf &&key,
                       const LoopOptions &options = {}) noexcept {
    const uint64_t count = static_cast<uint64_t>(last - first);
    if (count < internal::kLeastRadix || count > (std::numeric_limits<uint32_t>::max)()) {
        using Element = internal::ElementOf<It>;
        const auto less = [&key](const Element &a, const Element &b) {
            return internal::OrderedBits(key(a)) < internal::OrderedBits(key(b));
        };
        return ParallelStableSort(scheduler, first, last, scratch, less, options);
    }
    return internal::SortControl::Run(scheduler, options, [&](internal::SortControl &control) {
        internal::RadixSort<It, Scratch, std::remove_reference_t<KeyOf>>(
            control, first, scratch, static_cast<uint32_t>(count), key)
            .Sort();
    });
}

}  // namespace weft
