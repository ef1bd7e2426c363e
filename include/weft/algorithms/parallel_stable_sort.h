// Parallel sort that keeps the order of equal elements. It needs scratch memory for as many
// elements as the range has.
//
//     #include <weft/algorithms/parallel_stable_sort.h>
//
//     void Main(weft::TaskScheduler *scheduler, void *) {
//         std::vector<Draw> draws = CollectDraws(), scratch(draws.size());
//         weft::ParallelStableSort(*scheduler, draws.begin(), draws.end(), scratch.begin(),
//                                  [](const Draw &a, const Draw &b) { return a.layer < b.layer; });
//     }
//
//     int main() { return weft::TaskScheduler().Run(Main) == weft::Status::Ok ? 0 : 1; }
#pragma once

#include "weft/algorithms/sort.h"

#include <algorithm>
#include <functional>

namespace weft {

namespace internal {

/// A merge sort. Each half of a range is sorted into the other one of the two places, the range and
/// the scratch memory, and the halves are merged into the place where the result belongs.
///
/// Every part leaves its elements where its caller expects them, sorted or not. So if the sort is
/// stopped, they come together in the range.
template <class It, class Scratch, class Less>
class MergeSort {
public:
    MergeSort(SortControl &control, It range, Scratch scratch, Less &less) noexcept
        : m_control(control), m_range(range), m_scratch(scratch), m_less(less) {}

    /// Sorts the elements [first, last) of the range, and puts them into the scratch memory if
    /// `toScratch` is true. Several workers take part.
    void Sort(uint64_t first, uint64_t last, bool toScratch) noexcept {
        if (last - first <= (std::max)(m_control.Leaf(), kInsertion))
            return SortAlone(first, last, toScratch);
        const uint64_t middle = first + (last - first) / 2;
        m_control.Both([&] { Sort(first, middle, !toScratch); },
                       [&] { Sort(middle, last, !toScratch); });
        if (toScratch) {
            MergeInPieces(m_range, m_scratch, first, middle, last);
        } else {
            MergeInPieces(m_scratch, m_range, first, middle, last);
        }
    }

private:
    static constexpr uint64_t kPiece = 8192;
    static constexpr uint64_t kMaxPieces = 256;

    void SortAlone(uint64_t first, uint64_t last, bool toScratch) noexcept {
        if (last - first <= kInsertion || m_control.IsStopped()) {
            m_control.Guard([&] {
                if (!m_control.IsStopped())
                    SortByInsertion(At(m_range, first), At(m_range, last), m_less);
            });
            if (toScratch) std::move(At(m_range, first), At(m_range, last), At(m_scratch, first));
            return;
        }
        const uint64_t middle = first + (last - first) / 2;
        SortAlone(first, middle, !toScratch);
        SortAlone(middle, last, !toScratch);
        if (toScratch) {
            Merge(At(m_range, first), At(m_range, middle), At(m_range, middle), At(m_range, last),
                  At(m_scratch, first));
        } else {
            Merge(At(m_scratch, first), At(m_scratch, middle), At(m_scratch, middle),
                  At(m_scratch, last), At(m_range, first));
        }
    }

    // Two sorted parts that are being merged. At the end it moves to its place what is left of
    // them, also if a comparison threw.
    template <class From, class To>
    struct Parts {
        ~Parts() { std::move(right, rightEnd, std::move(left, leftEnd, to)); }
        From left, leftEnd, right, rightEnd;
        To to;
    };

    template <class From, class To>
    void Merge(From left, From leftEnd, From right, From rightEnd, To to) noexcept {
        m_control.Guard([&] {
            Parts<From, To> parts{left, leftEnd, right, rightEnd, to};
            if (m_control.IsStopped()) return;
            if constexpr (kIsCheap<ElementOf<It>>) {
                // Copies leave the elements where they are. So an exception needs no care here.
                MergeBothEnds(left, leftEnd, right, rightEnd, to);
                parts.leftEnd = left;
                parts.rightEnd = right;
            }
            while (parts.left != parts.leftEnd && parts.right != parts.rightEnd) {
                From &next = m_less(*parts.right, *parts.left) ? parts.right : parts.left;
                *parts.to = std::move(*next);
                ++parts.to;
                ++next;
            }
        });
    }

    // Copies the elements in their order, without a branch that depends on a comparison. Takes
    // elements from the front and from the back, and the processor overlaps the two. As long as it
    // takes at most half of the shorter part on each side, neither part can be used up.
    template <class From, class To>
    void MergeBothEnds(From left, From leftEnd, From right, From rightEnd, To to) {
        To toEnd = to + (leftEnd - left) + (rightEnd - right);
        while (true) {
            std::ptrdiff_t steps = (std::min)(leftEnd - left, rightEnd - right) / 2;
            if (steps == 0) break;
            for (; steps != 0; --steps) {
                const std::ptrdiff_t takesRight = m_less(*right, *left) ? -1 : 0;
                *to = *(left + ((right - left) & takesRight));
                ++to;
                right -= takesRight;
                left += 1 + takesRight;
                const std::ptrdiff_t takesLeft = m_less(*(rightEnd - 1), *(leftEnd - 1)) ? -1 : 0;
                leftEnd += takesLeft;
                rightEnd -= 1 + takesLeft;
                --toEnd;
                *toEnd = *(rightEnd + ((leftEnd - rightEnd) & takesLeft));
            }
        }
        while (left != leftEnd && right != rightEnd) {
            From &next = m_less(*right, *left) ? right : left;
            *to = *next;
            ++to;
            ++next;
        }
        std::copy(right, rightEnd, std::copy(left, leftEnd, to));
    }

    // Merges pieces of the result, on several workers (merge path: Odeh, Green, Mwassi, Shmueli,
    // Birk 2012).
    template <class From, class To>
    void MergeInPieces(From from, To to, uint64_t first, uint64_t middle, uint64_t last) noexcept {
        const uint64_t count = last - first, lefts = middle - first;
        const uint64_t piece = (std::max)(kPiece, (count - 1) / kMaxPieces + 1);
        const uint64_t pieces = (count - 1) / piece + 1;
        // How many elements of the left half are in the pieces before each piece. If a comparison
        // throws, these are all zero, or what an earlier piece had; see LeftsBefore.
        uint64_t before[kMaxPieces + 1];
        const auto placeOf = [&](uint64_t i) { return (std::min)(i * piece, count); };
        before[0] = 0;
        for (uint64_t i = 1; i < pieces; ++i) {
            const uint64_t place = placeOf(i), rights = count - lefts;
            // At least what earlier pieces have, and so that neither half is used up too early.
            before[i] = (std::max)(before[i - 1], place > rights ? place - rights : 0);
            m_control.Guard([&] {
                if (m_control.IsStopped()) return;
                const uint64_t most = (std::min)(lefts, before[i - 1] + (place - placeOf(i - 1)));
                before[i] = LeftsBefore(At(from, first), At(from, middle), place, before[i], most);
            });
        }
        before[pieces] = lefts;
        m_control.ForEach(pieces, [&](uint64_t i) {
            const uint64_t left = first + before[i], leftEnd = first + before[i + 1];
            const uint64_t right = middle + placeOf(i) - before[i],
                           rightEnd = middle + placeOf(i + 1) - before[i + 1];
            Merge(At(from, left), At(from, leftEnd), At(from, right), At(from, rightEnd),
                  At(to, first + placeOf(i)));
        });
    }

    // Returns how many elements of `left` are among the first `place` elements of the result, at
    // least `least` and at most `most`.
    template <class From>
    uint64_t LeftsBefore(From left, From right, uint64_t place, uint64_t least, uint64_t most) {
        while (least < most) {
            const uint64_t guess = least + (most - least) / 2;
            if (m_less(*At(right, place - guess - 1), *At(left, guess))) {
                most = guess;
            } else {
                least = guess + 1;
            }
        }
        return least;
    }

    SortControl &m_control;
    const It m_range;
    const Scratch m_scratch;
    Less &m_less;
};

}  // namespace internal

/// Like ParallelSort, but keeps the order of elements of which neither is less than the other.
///
/// `scratch` is the begin of at least `last - first` objects of the same type, which the caller
/// owns, for example of a second vector. They are assigned to and moved from; after the call their
/// values are unspecified. They must not overlap the range. Elements must be movable.
///
/// The result is the same with any number of workers. Each task uses up to 2 KiB of stack to merge
/// a long range. Between two scheduling points a worker sorts LoopOptions::grain elements, or
/// merges 8,192, or a 256th of the range if that is more.
template <class It, class Scratch, class Less = std::less<>>
bool ParallelStableSort(TaskScheduler &scheduler, It first, It last, Scratch scratch,
                        Less &&less = {},
                        const LoopOptions &options = {}) noexcept(!internal::kCatches) {
    return internal::SortControl::Run(scheduler, options, [&](internal::SortControl &control) {
        const uint64_t count = static_cast<uint64_t>(last - first);
        if (count < 2) return;
        internal::MergeSort<It, Scratch, std::remove_reference_t<Less>> sort(control, first,
                                                                             scratch, less);
        sort.Sort(0, count, false);
    });
}

}  // namespace weft
