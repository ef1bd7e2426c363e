// Parallel loops: all idle workers take part.
//
//     #include <weft/algorithms/parallel_for.h>
//
//     void Main(weft::TaskScheduler *scheduler, void *) {
//         std::vector<float> heights(1000000);
//         weft::ParallelFor(*scheduler, 0, heights.size(), [&](size_t i) {
//             heights[i] = Noise(i);
//         });
//     }
//
//     int main() { return weft::TaskScheduler().Run(Main) == weft::Status::Ok ? 0 : 1; }
#pragma once

#include "weft/algorithms/body_calls.h"
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

/// True if the body of ParallelFor may throw.
template <class Body, class Index>
inline constexpr bool kLoopMayThrow =
    kCatches &&
    !(std::is_invocable_v<Body &, Index> ? std::is_nothrow_invocable_v<Body &, Index>
                                         : std::is_nothrow_invocable_v<Body &, Index, Index>);

/// Calls `whole(first, last)` for parts of the range. Each part consists of whole units. Throws the
/// first exception that left `whole`; then parts that no worker has begun are left out.
template <bool kMayThrow, class Index, class Whole>
void RunRange(TaskScheduler &scheduler, Index begin, Index end, uint64_t unit,
              const LoopOptions &options, Whole whole) noexcept(!kMayThrow) {
    static_assert(std::is_integral_v<Index>, "weft: loops run over integers");
    if (!(begin < end)) return NoteWait(scheduler, "ParallelFor");
    struct Range {
        Whole &whole;
        Index begin;
        BodyCalls<kMayThrow> calls;
        static void Run(void *arg, uint64_t first, uint64_t last) {
            Range &range = *static_cast<Range *>(arg);
            if (range.calls.HasThrown()) return;
            range.calls.Call(
                [&] { range.whole(IndexAt(range.begin, first), IndexAt(range.begin, last)); });
        }
    } range{whole, begin, {}};
    RunLoop(scheduler, static_cast<uint64_t>(end) - static_cast<uint64_t>(begin), unit, options,
            Range::Run, &range);
    range.calls.Rethrow();
}

}  // namespace internal

/// Calls `body(index)` for each index in [begin, end), and returns when all calls have returned.
///
/// A body that takes two indices is called as `body(first, last)` for parts of the range instead.
/// The index has the type of `end`, any integer type. If the range is empty, nothing is called.
///
/// Several workers call the body at once, in any order. It is not copied. It may wait, but not for
/// another index of the same loop. A worker takes as many indices at once as take about 4
/// microseconds, and at least LoopOptions::grain.
///
/// If an exception leaves the body, indices that no worker has taken yet are left out. When all
/// other calls have returned, this call throws the first exception. If the body is noexcept or the
/// code is compiled without exceptions, nothing is caught.
///
/// If the scheduler does not run, it reports NotRunning and calls nothing.
/// Thread-safe while the scheduler runs. A worker or attached thread takes part, on its own stack
/// if that has room (see TaskScheduler::AddTasksAndWait). An external thread blocks.
template <class Index, class Body>
void ParallelFor(TaskScheduler &scheduler, typename internal::Same<Index>::Type begin, Index end,
                 Body &&body,
                 const LoopOptions &options = {}) noexcept(!internal::kLoopMayThrow<Body, Index>) {
    internal::RunRange<internal::kLoopMayThrow<Body, Index>>(
        scheduler, begin, end, options.grain, options, [&body](Index first, Index last) {
            if constexpr (std::is_invocable_v<Body &, Index>) {
                for (Index index = first; index != last; ++index) body(index);
            } else {
                body(first, last);
            }
        });
}

/// Part of a plane: the rows [rowBegin, rowEnd) and the columns [columnBegin, columnEnd).
template <class Index>
struct Tile {
    Index rowBegin, rowEnd;
    Index columnBegin, columnEnd;
};

namespace internal {

/// True if the body of ParallelFor2D may throw.
template <class Body, class Index>
inline constexpr bool kTilesMayThrow =
    kCatches && !(std::is_invocable_v<Body &, Index, Index>
                      ? std::is_nothrow_invocable_v<Body &, Index, Index>
                      : std::is_nothrow_invocable_v<Body &, const Tile<Index> &>);

}  // namespace internal

/// Like ParallelFor, over a plane: calls `body(row, column)` for each place, or
/// `body(const Tile<Index> &)` for tiles that cover the plane.
///
/// LoopOptions::grain and LoopOptions::columnGrain are the exact size of a tile in rows and
/// columns, except at the edges, and unless there were 2^64 tiles or more. If columnGrain is 0, a
/// tile is a strip of whole rows: as many rows as take a suitable time, at least `grain`. If there
/// are few rows, a tile is a part of `grain` rows (of one row if grain is 0).
template <class Index, class Body>
void ParallelFor2D(TaskScheduler &scheduler, typename internal::Same<Index>::Type rows,
                   Index columns, Body &&body, const LoopOptions &options = {})  //
    noexcept(!internal::kTilesMayThrow<Body, Index>) {
    if (!(0 < rows) || !(0 < columns)) return internal::NoteWait(scheduler, "ParallelFor2D");
    constexpr uint64_t kTilesPerWorker = 16;
    const uint64_t height = static_cast<uint64_t>(rows), width = static_cast<uint64_t>(columns);
    const uint64_t tileRows = (std::max)(options.grain, uint64_t{1}),
                   down = (height - 1) / tileRows + 1;
    const uint64_t pieces = kTilesPerWorker * (std::max)(scheduler.WorkerCount(), 1u) / down + 1;
    uint64_t tileColumns = (std::min)(
        options.columnGrain != 0 ? options.columnGrain : (width - 1) / pieces + 1, width);
    // Otherwise the number of tiles would overflow.
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
    internal::RunRange<internal::kTilesMayThrow<Body, Index>>(
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
