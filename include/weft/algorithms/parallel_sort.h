// Parallel sort in place: needs no memory besides the range. The order of equal elements is not
// kept. See parallel_stable_sort.h for a sort that keeps it.
//
//     #include <weft/algorithms/parallel_sort.h>
//
//     void Main(weft::TaskScheduler *scheduler, void *) {
//         std::vector<Draw> draws = CollectDraws();
//         weft::ParallelSort(*scheduler, draws.begin(), draws.end(),
//                            [](const Draw &a, const Draw &b) { return a.depth < b.depth; });
//     }
//
//     int main() { return weft::TaskScheduler().Run(Main) == weft::Status::Ok ? 0 : 1; }
#pragma once

#include "weft/algorithms/sort.h"

#include <algorithm>
#include <functional>

namespace weft {

namespace internal {

/// Returns true if the elements are sorted already, or if it has reversed them because each was
/// less than the one before. Elements in another order cost only a few comparisons.
template <class It, class Less>
bool IsOneRun(SortControl &control, It first, It last, Less &less) {
    constexpr std::ptrdiff_t kSteps = 8192;  // between two scheduling points
    const bool falls = less(*(first + 1), *first);
    for (It next = first + 1; next != last; ++next) {
        // A run that falls must have no equal neighbours. Otherwise `less` could call a range
        // sorted that is not.
        if (less(*next, *(next - 1)) != falls) return false;
        if ((next - first) % kSteps == 0) control.Breathe();
    }
    if (falls) std::reverse(first, last);
    return true;
}

}  // namespace internal

/// Sorts [first, last) by `less(a, b)`, which returns true if `a` comes before `b`. Returns true if
/// it has sorted the range.
///
/// `first` and `last` are random-access iterators. Their elements must be movable; they are not
/// copied unless they are trivially copyable. The order of equal elements is not kept. But with one
/// version of weft, one input always gives one result, with any number of workers. The time is
/// O(n log n) for any order of the elements. A range that is sorted, or sorted in reverse without
/// equal elements, takes one pass. The sort needs no memory besides the range and up to 2 KiB of
/// stack for each range that is longer than 65,536 elements. Nothing is allocated.
///
/// LoopOptions::grain is the most elements that a task sorts without submitting others; 0 = 1,024.
/// Choose fewer if `less` is slow. Between two scheduling points a worker sorts so many elements,
/// or goes once through 65,536, or through a 256th of the range if that is more.
///
/// If LoopOptions::cancel is cancelled or `less` throws, the range holds all its elements in some
/// order. After a cancellation the result is false. The first exception is thrown to the caller
/// when all tasks of the sort have ended; the others are dropped. Moves and swaps of elements must
/// not throw. If `less` is no strict weak ordering, the order is unspecified, but no element is
/// lost and nothing outside of the range is touched.
///
/// If the scheduler does not run, it reports NotRunning and returns false. Thread-safe while the
/// scheduler runs. A worker or attached thread takes part, on its own stack if that has room (see
/// TaskScheduler::AddTasksAndWait). An external thread blocks.
template <class It, class Less = std::less<>>
bool ParallelSort(TaskScheduler &scheduler, It first, It last, Less &&less = {},
                  const LoopOptions &options = {}) noexcept(!internal::kCatches) {
    return internal::SortControl::Run(scheduler, options, [&](internal::SortControl &control) {
        const uint64_t count = static_cast<uint64_t>(last - first);
        if (count < 2) return;
        bool isSorted = false;
        control.Guard([&] { isSorted = internal::IsOneRun(control, first, last, less); });
        if (isSorted) return;
        internal::QuickSort<It, std::remove_reference_t<Less>> sort(control, first, count, less);
        sort.Sort({0, count, false, 0});
    });
}

}  // namespace weft
