// Parallel reduction: computes one value from all indices of a range. The result is always the
// same, with any number of workers.
//
//     #include <weft/algorithms/parallel_reduce.h>
//
//     void Main(weft::TaskScheduler *scheduler, void *) {
//         std::vector<float> weights(1000000, 0.1f);
//         const float sum = weft::ParallelReduce(
//             *scheduler, 0, weights.size(), 0.0f, [&](size_t i) { return weights[i]; },
//             std::plus<>());
//         std::printf("%f\n", sum);   // the same to the last bit, with any number of workers
//     }
//
//     int main() { return weft::TaskScheduler().Run(Main) == weft::Status::Ok ? 0 : 1; }
#pragma once

#include "weft/algorithms/parallel_for.h"

#include <new>
#include <optional>
#include <type_traits>
#include <utility>

namespace weft {

namespace internal {

/// The results of the blocks of a range, in the order of the blocks. There are at most `kMost`.
template <class Result, size_t kMost = 256>
class BlockResults {
public:
    // There are enough blocks that workers do not wait for each other's last block. There are so
    // few that a block of a thousand trivial indices costs more than its result. Together the
    // results are small compared to a stack.
    static constexpr size_t kBytes = 8192;
    static constexpr uint64_t kMax = (std::min)(kMost, kBytes / sizeof(std::optional<Result>));
    static_assert(kMax >= 8,
                  "weft: the result is too large for a stack; reduce pointers or vectors");

    explicit BlockResults(uint64_t count) noexcept : m_count(count) {
        for (uint64_t i = 0; i < count; ++i) new (Address(i)) std::optional<Result>();
    }
    ~BlockResults() {
        for (uint64_t i = 0; i < m_count; ++i) At(i).~optional();
    }
    BlockResults(const BlockResults &) = delete;
    BlockResults &operator=(const BlockResults &) = delete;

    std::optional<Result> &At(uint64_t block) noexcept {
        return *std::launder(reinterpret_cast<std::optional<Result> *>(Address(block)));
    }

    /// Joins neighbours, then neighbours of the joined results, and so on. A block without a result
    /// was left out because of a cancellation.
    template <class Join>
    std::optional<Result> JoinAll(Join &join) {
        for (uint64_t step = 1; step < m_count; step *= 2) {
            for (uint64_t i = 0; i + step < m_count; i += 2 * step) {
                std::optional<Result> &left = At(i), &right = At(i + step);
                if (!right) continue;
                if (left) {
                    Result joined = join(std::move(*left), std::move(*right));
                    left.emplace(std::move(joined));
                } else {
                    left.emplace(std::move(*right));
                }
            }
        }
        return std::move(At(0));
    }

private:
    void *Address(uint64_t block) noexcept {
        return m_bytes + block * sizeof(std::optional<Result>);
    }

    const uint64_t m_count;
    alignas(std::optional<Result>) unsigned char m_bytes[kMax * sizeof(std::optional<Result>)];
};

/// Returns true if a reduction may throw: a call of its functions, or the move or copy of a result.
template <class Index, class Result, class Body, class Join>
constexpr bool ReductionMayThrow() noexcept {
    if (!kCatches) return false;
    if (!std::is_nothrow_move_constructible_v<Result> ||
        !std::is_nothrow_invocable_r_v<Result, Join &, Result, Result>)
        return true;
    if constexpr (std::is_invocable_v<Body &, Index>) {
        using Each = std::invoke_result_t<Body &, Index>;
        using Joined = std::invoke_result_t<Join &, Result, Each>;
        return !std::is_nothrow_invocable_r_v<Result, Body &, Index> ||
               !std::is_nothrow_invocable_v<Join &, Result, Each> ||
               !std::is_nothrow_assignable_v<Result &, Joined>;
    } else {
        return !std::is_nothrow_invocable_r_v<Result, Body &, Index, Index>;
    }
}
template <class Index, class Result, class Body, class Join>
inline constexpr bool kReductionMayThrow = ReductionMayThrow<Index, Result, Body, Join>();

}  // namespace internal

/// Returns the results of `body(index)` for all indices in [begin, end), combined with `join`.
///
/// A body that takes two indices is called as `body(first, last)` for parts of the range instead.
/// Returns `empty` if the range is empty. The result has the type of `empty`, which must be
/// movable.
///
/// The order is fixed: `join(left, right)` always gets the results of neighbouring parts. Which
/// parts these are depends only on the length of the range, the grain and the size of the result.
/// So `join` need not be commutative, and a sum of floating-point numbers is the same to the last
/// bit with any number of workers. LoopOptions::grain is the fewest indices in a block. A range has
/// up to 256 blocks, fewer if the result is larger than 24 bytes. The results of the blocks take
/// up to 8 KiB of the caller's stack.
///
/// Threads, waits and exceptions are as for ParallelFor. `join` may throw, too, and so may moves
/// and copies of results. The workers call `join` within blocks, and one of them joins the blocks.
/// Indices that were left out because of a cancellation are not in the result. If all were left
/// out, the result is `empty`.
template <class Index, class Result, class Body, class Join>
Result ParallelReduce(TaskScheduler &scheduler, typename internal::Same<Index>::Type begin,
                      Index end, Result empty, Body &&body, Join &&join,
                      const LoopOptions &options = {})  //
    noexcept(!internal::kReductionMayThrow<Index, Result, Body, Join>) {
    if (!(begin < end)) {
        internal::NoteWait(scheduler, "ParallelReduce");
        return empty;
    }
    using Results = internal::BlockResults<Result>;
    const uint64_t count = static_cast<uint64_t>(end) - static_cast<uint64_t>(begin);
    const uint64_t block =
        (std::max)((std::max)(options.grain, uint64_t{1}), (count - 1) / Results::kMax + 1);
    const uint64_t blocks = (count - 1) / block + 1;
    Results results(blocks);
    const auto reduce = [&](Index first, Index last) -> Result {
        if constexpr (std::is_invocable_v<Body &, Index>) {
            Result result = body(first);
            for (Index index = ++first; index != last; ++index)
                result = join(std::move(result), body(index));
            return result;
        } else {
            return body(first, last);
        }
    };
    std::optional<Result> result;
    internal::BodyCalls<internal::kReductionMayThrow<Index, Result, Body, Join>> calls;
    auto run = [&](uint64_t first, uint64_t last) {
        if (calls.HasThrown()) return;
        calls.Call([&] {
            for (uint64_t i = first; i != last; ++i) {
                const Index to = i + 1 < blocks ? internal::IndexAt(begin, (i + 1) * block) : end;
                results.At(i).emplace(reduce(internal::IndexAt(begin, i * block), to));
            }
        });
    };
    auto finish = [&] {
        if (calls.HasThrown()) return;
        calls.Call([&] {
            if (auto joined = results.JoinAll(join)) result.emplace(std::move(*joined));
        });
    };
    struct Both {
        decltype(run) &blocksOf;
        decltype(finish) &joinThem;
    } both{run, finish};
    internal::RunLoop(
        scheduler, blocks, 1, options,
        [](void *arg, uint64_t first, uint64_t last) {
            static_cast<Both *>(arg)->blocksOf(first, last);
        },
        &both, [](void *arg) { static_cast<Both *>(arg)->joinThem(); });
    calls.Rethrow();
    return result ? std::move(*result) : std::move(empty);
}

}  // namespace weft
