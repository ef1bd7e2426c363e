// Loops and reductions. Each part of a loop may wait, so there are at most as many parts as spare
// fibers.
#include "weft/algorithms/parallel_for.h"
#include "weft/algorithms/parallel_reduce.h"

#include "fuzz/script.h"

#include <atomic>
#include <vector>

namespace fuzz {

using namespace weft;

namespace {

// A range with at least one index. Joining two ranges is not commutative.
struct Range {
    uint32_t first, last;
};

constexpr uint32_t kGone = 3;  // the value that a body throws

}  // namespace

void Script::Loop() {
    const uint32_t kind = m_bytes.Below(6), grain = 1 + m_bytes.Below(16);
    const uint32_t special = m_bytes.Next();
    if (!m_mayWait) return;
    const Spares spares(m_world, Spares::kMax);
    const uint32_t count = (spares.Count() + 1) * grain - m_bytes.Below(grain);
    std::vector<std::atomic<uint32_t>> ran(count);
    LoopOptions options;
    options.grain = grain;
    options.priority = static_cast<Priority>(special % 3);
    options.name = "fuzz";
    const bool stops = kind >= 4 && special < count;
    CancelSource source(m_scheduler);
    if (kind == 4) options.cancel = source.Token();
    const auto body = [&](uint32_t i) {
        ran[i].fetch_add(1);
        if (!stops || i != special) return;
        if (kind == 4) return source.Cancel();
        throw kGone;
    };
    uint32_t caught = 0;
    if (kind == 2) {
        options.columnGrain = 1 + special % 4;
        options.grain = (grain + options.columnGrain - 1) / options.columnGrain;
        const uint32_t columns = std::min(static_cast<uint32_t>(options.columnGrain), count),
                       rows = count / columns;
        ParallelFor2D(
            m_scheduler, rows, columns,
            [&](uint32_t row, uint32_t column) { body(row * columns + column); }, options);
        for (uint32_t i = rows * columns; i < count; ++i) body(i);
    } else if (kind == 1) {
        ParallelFor(
            m_scheduler, 0, count,
            [&](uint32_t first, uint32_t last) {
                Require(first < last && last <= count, "a range of a loop");
                while (first != last) body(first++);
            },
            options);
    } else {
        try {
            ParallelFor(m_scheduler, 0, count, body, options);
        } catch (uint32_t thrown) {
            caught = thrown;
        }
    }
    Require(caught == (kind == 5 && stops ? kGone : 0), "the exception of a loop's body");
    const uint32_t least = stops ? 0 : 1;
    for (const std::atomic<uint32_t> &each : ran) {
        Require(each.load() >= least && each.load() <= 1,
                "an index of a loop did not run exactly once");
    }
    Require(source.IsCancelled() == (kind == 4 && stops && ran[special].load() == 1),
            "a loop's token");
}

void Script::Reduce() {
    const uint32_t grain = 1 + m_bytes.Below(16);
    if (!m_mayWait) return;
    const Spares spares(m_world, Spares::kMax);
    const uint32_t count = (spares.Count() + 1) * grain - m_bytes.Below(grain);
    LoopOptions options;
    options.grain = grain;
    const auto join = [](Range left, Range right) {
        Require(left.last == right.first, "a reduction joins what are no neighbours");
        return Range{left.first, right.last};
    };
    const Range all = ParallelReduce(
        m_scheduler, 0, count, Range{},
        [](uint32_t i) {
            return Range{i, i + 1};
        },
        join, options);
    Require(all.first == 0 && all.last == count, "a reduction has left something out");
}

}  // namespace fuzz
