// Loops whose indices are run by all workers that have time.
//
//     #include <weft/algorithms/parallel_for.h>
//
//     void Main(weft::TaskScheduler *scheduler, void *) {
//         std::vector<float> heights(1000000);
//         weft::ParallelFor(*scheduler, 0, heights.size(), [&](size_t i) { heights[i] = Noise(i);
//         });
//     }
//
//     int main() { return weft::TaskScheduler().Run(Main) == weft::Status::Ok ? 0 : 1; }
#pragma once

#include "weft/algorithms/loop.h"

#include <type_traits>

namespace weft {

namespace internal {

template <class Value>
struct Same {
    using Type = Value;
};

template <class Index>
Index IndexAt(Index begin, uint64_t offset) noexcept {
    return static_cast<Index>(static_cast<uint64_t>(begin) + offset);
}

/// `whole(first, last)` for parts of the range that begin and end with a unit.
template <class Index, class Whole>
void RunRange(TaskScheduler &scheduler, Index begin, Index end, uint64_t unit,
              const LoopOptions &options, Whole whole) noexcept {
    static_assert(std::is_integral_v<Index>, "weft: loops run over integers");
    if (!(begin < end)) return;
    struct Range {
        Whole &whole;
        Index begin;
        static void Run(void *arg, uint64_t first, uint64_t last) {
            const Range &range = *static_cast<Range *>(arg);
            range.whole(IndexAt(range.begin, first), IndexAt(range.begin, last));
        }
    } range{whole, begin};
    RunLoop(scheduler, static_cast<uint64_t>(end) - static_cast<uint64_t>(begin), unit, options,
            Range::Run, &range);
}

}  // namespace internal

/// Calls `body(index)` for each index from `begin` to before `end`, or `body(first, last)` for
/// ranges that make it up, and returns when all have returned. The index is of `end`'s type, any
/// integer. An empty range calls nothing.
///
/// The body is called by several workers at once, in any order, as the one object that was given:
/// it is not copied. It may wait, but not for another index of the same loop. How many indices a
/// worker takes at once follows from how long they take: about 4 microseconds' worth, at least
/// LoopOptions::grain.
///
/// Any thread. One that is a worker takes part, on its own stack where that has room
/// (TaskScheduler::AddTasksAndWait); one that is not blocks. While the scheduler does not run, that
/// is reported, and nothing is called. An exception that leaves the body is reported (TaskThrew);
/// then other indices may be left out, too.
template <class Index, class Body>
void ParallelFor(TaskScheduler &scheduler, typename internal::Same<Index>::Type begin, Index end,
                 Body &&body, const LoopOptions &options = {}) noexcept {
    internal::RunRange(scheduler, begin, end, options.grain, options,
                       [&body](Index first, Index last) {
                           if constexpr (std::is_invocable_v<Body &, Index>) {
                               for (Index index = first; index != last; ++index) body(index);
                           } else {
                               body(first, last);
                           }
                       });
}

/// Part of a plane: rows from `rowBegin` to before `rowEnd`, and columns alike.
template <class Index>
struct Tile {
    Index rowBegin, rowEnd;
    Index columnBegin, columnEnd;
};

/// The same over a plane: `body(row, column)` for each place, or `body(const Tile<Index> &)` for
/// tiles that make it up.
///
/// LoopOptions::grain and ::columnGrain are the rows and columns of a tile, exactly, but at the
/// edges, and unless that made 2^64 tiles. Without columnGrain tiles are strips of whole rows (as
/// many as the time allows, at least `grain`), or parts of a row where there are few.
template <class Index, class Body>
void ParallelFor2D(TaskScheduler &scheduler, typename internal::Same<Index>::Type rows,
                   Index columns, Body &&body, const LoopOptions &options = {}) noexcept {
    if (!(0 < rows) || !(0 < columns)) return;
    constexpr uint64_t kTilesPerWorker = 16;
    const uint64_t height = static_cast<uint64_t>(rows), width = static_cast<uint64_t>(columns);
    const uint64_t tileRows = (std::max)(options.grain, uint64_t{1}),
                   down = (height - 1) / tileRows + 1;
    const uint64_t pieces = kTilesPerWorker * (std::max)(scheduler.WorkerCount(), 1u) / down + 1;
    uint64_t tileColumns = (std::min)(
        options.columnGrain != 0 ? options.columnGrain : (width - 1) / pieces + 1, width);
    // they could not be counted
    if ((width - 1) / tileColumns >= ~uint64_t{0} / down) tileColumns = width;
    const uint64_t across = (width - 1) / tileColumns + 1;
    const auto run = [&body](const Tile<Index> &tile) {
        if constexpr (std::is_invocable_v<Body &, Index, Index>) {
            for (Index row = tile.rowBegin; row != tile.rowEnd; ++row) {
                for (Index column = tile.columnBegin; column != tile.columnEnd; ++column)
                    body(row, column);
            }
        } else {
            body(tile);
        }
    };
    internal::RunRange(
        scheduler, uint64_t{0}, down * across, 1, options, [&](uint64_t first, uint64_t last) {
            const auto rowAt = [&](uint64_t tile) {
                return static_cast<Index>(tile < down ? tile * tileRows : height);
            };
            if (across == 1 && options.columnGrain == 0) {
                run(Tile<Index>{rowAt(first), rowAt(last), 0, columns});
                return;
            }
            for (uint64_t tile = first; tile != last; ++tile) {
                const uint64_t row = tile / across, column = tile % across * tileColumns;
                run(Tile<Index>{rowAt(row), rowAt(row + 1), static_cast<Index>(column),
                                static_cast<Index>(
                                    width - column > tileColumns ? column + tileColumns : width)});
            }
        });
}

}  // namespace weft
