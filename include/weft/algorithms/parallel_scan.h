// Parallel scans: running totals of a range, also called prefix sums. The result is always the
// same, with any number of workers.
//
//     #include <weft/algorithms/parallel_scan.h>
//
//     void Main(weft::TaskScheduler *scheduler, void *) {
//         std::vector<uint32_t> counts = CountParticlesOfCells(), begins(counts.size());
//         const uint32_t all = weft::ParallelExclusiveScan(
//             *scheduler, counts.begin(), counts.end(), begins.begin(), 0u, std::plus<>());
//         // begins[i] is the sum of counts[0] to counts[i - 1]; `all` is the sum of all counts
//     }
//
//     int main() { return weft::TaskScheduler().Run(Main) == weft::Status::Ok ? 0 : 1; }
#pragma once

#include "weft/algorithms/body_calls.h"
#include "weft/algorithms/parallel_reduce.h"

#include <iterator>

namespace weft {

namespace internal {

/// One scan. The range is cut into strips. The first pass folds each strip. Then the results of the
/// strips become the totals before each strip. The second pass scans each strip, beginning with its
/// total (Blelloch 1990, "Prefix Sums and Their Applications"). Strips depend only on the length of
/// the range and the grain, so the joins are always the same ones.
template <bool kIsInclusive, class In, class Out, class Value, class Join>
class Scan {
    // So many strips are folded or scanned in one loop. The processor overlaps joins of different
    // strips. It cannot overlap the joins of one strip, because each needs the result of the last.
    static constexpr uint64_t kWays = sizeof(Value) <= 16 ? 4 : 1;
    static constexpr uint64_t kLeastBlock = 256;
    using Totals = BlockResults<Value, 256 * kWays>;
    static constexpr uint64_t kMaxBlocks = Totals::kMax / kWays;

public:
    Scan(TaskScheduler &scheduler, In in, uint64_t count, Out out, const Value &identity,
         Join &join, const LoopOptions &options) noexcept
        : m_scheduler(scheduler),
          m_options(options),
          m_in(in),
          m_out(out),
          m_identity(identity),
          m_join(join),
          m_count(count),
          m_strip(StripOf(count, options.grain)),
          m_strips((count - 1) / m_strip + 1),
          m_totals(m_strips) {}

    /// Returns the total, or nothing if a part was left out.
    std::optional<Value> Run() noexcept(!kCatches) {
        Passes();
        m_calls.Rethrow();
        for (uint64_t strip = 0; m_strips > kWays && strip < m_strips; ++strip) {
            if (m_totals.At(strip)) return std::nullopt;
        }
        return std::move(m_total);
    }

private:
    void Passes() noexcept {
        if (m_strips <= kWays) {
            RunLoop(m_scheduler, 1, 1, m_options, Guarded<&Scan::AllAtOnce>, this);
        } else {
            RunLoop(m_scheduler, m_strips, kWays, m_options, Guarded<&Scan::FirstPass>, this,
                    Finish);
        }
    }

    // Calls a pass, unless a part has thrown.
    template <void (Scan::*kPass)(uint64_t, uint64_t)>
    static void Guarded(void *arg, uint64_t first, uint64_t last) noexcept {
        Scan &scan = *static_cast<Scan *>(arg);
        if (!scan.m_calls.HasThrown()) scan.m_calls.Call([&] { (scan.*kPass)(first, last); });
    }

    static uint64_t StripOf(uint64_t count, uint64_t grain) noexcept {
        const uint64_t block =
            (std::max)(grain != 0 ? grain : kLeastBlock, (count - 1) / kMaxBlocks + 1);
        return ((std::min)(block, count) - 1) / kWays + 1;
    }

    void AllAtOnce(uint64_t, uint64_t) {
        Value total(m_identity);
        for (uint64_t i = 0; i < m_count; ++i) Step(total, i);
        m_total.emplace(std::move(total));
    }

    void FirstPass(uint64_t first, uint64_t last) {
        for (uint64_t strip = first; strip < last; strip += kWays) {
            if (kWays == 4 && strip + 4 <= last) {
                FoldFour(strip);
            } else {
                for (uint64_t i = strip; i < (std::min)(strip + kWays, last); ++i) {
                    const uint64_t begin = Begin(i);
                    Value total(m_in[Place(begin)]);
                    FoldRest(total, begin + 1, Begin(i + 1));
                    m_totals.At(i).emplace(std::move(total));
                }
            }
        }
        Breathe();
    }

    static void Finish(void *arg) noexcept {
        Scan &scan = *static_cast<Scan *>(arg);
        bool isComplete = false;
        if (!scan.m_calls.HasThrown()) scan.m_calls.Call([&] { isComplete = scan.FindTotals(); });
        if (isComplete)
            RunLoop(scan.m_scheduler, scan.m_strips, kWays, scan.m_options,
                    Guarded<&Scan::SecondPass>, &scan);
    }

    // Turns the result of each strip into the total before it. Returns false if a strip was left
    // out.
    bool FindTotals() {
        Value total(m_identity);
        for (uint64_t strip = 0; strip < m_strips; ++strip) {
            std::optional<Value> &own = m_totals.At(strip);
            if (!own) return false;
            Value next = m_join(std::as_const(total), std::move(*own));
            own.emplace(std::move(total));
            total = std::move(next);
        }
        m_total.emplace(std::move(total));
        return true;
    }

    void SecondPass(uint64_t first, uint64_t last) {
        for (uint64_t strip = first; strip < last; strip += kWays) {
            if (kWays == 4 && strip + 4 <= last) {
                ScanFour(strip);
            } else {
                for (uint64_t i = strip; i < (std::min)(strip + kWays, last); ++i) {
                    Value total(*m_totals.At(i));
                    ScanRest(total, Begin(i), Begin(i + 1));
                }
            }
            // A strip without a total is done; see Run.
            for (uint64_t i = strip; i < (std::min)(strip + kWays, last); ++i)
                m_totals.At(i).reset();
        }
        Breathe();
    }

    void FoldFour(uint64_t strip) {
        const uint64_t a = Begin(strip), b = a + m_strip, c = b + m_strip, d = c + m_strip;
        Value w(m_in[Place(a)]), x(m_in[Place(b)]), y(m_in[Place(c)]), z(m_in[Place(d)]);
        const uint64_t common = Begin(strip + 4) - d;  // the last strip may be shorter
        for (uint64_t i = 1; i < common; ++i) {
            Add(w, a + i);
            Add(x, b + i);
            Add(y, c + i);
            Add(z, d + i);
        }
        FoldRest(w, a + common, b);
        FoldRest(x, b + common, c);
        FoldRest(y, c + common, d);
        m_totals.At(strip).emplace(std::move(w));
        m_totals.At(strip + 1).emplace(std::move(x));
        m_totals.At(strip + 2).emplace(std::move(y));
        m_totals.At(strip + 3).emplace(std::move(z));
    }

    void ScanFour(uint64_t strip) {
        const uint64_t a = Begin(strip), b = a + m_strip, c = b + m_strip, d = c + m_strip;
        Value w(*m_totals.At(strip)), x(*m_totals.At(strip + 1)), y(*m_totals.At(strip + 2)),
            z(*m_totals.At(strip + 3));
        const uint64_t common = Begin(strip + 4) - d;
        for (uint64_t i = 0; i < common; ++i) {
            Step(w, a + i);
            Step(x, b + i);
            Step(y, c + i);
            Step(z, d + i);
        }
        ScanRest(w, a + common, b);
        ScanRest(x, b + common, c);
        ScanRest(y, c + common, d);
    }

    void FoldRest(Value &total, uint64_t begin, uint64_t end) {
        for (uint64_t i = begin; i < end; ++i) Add(total, i);
    }
    void ScanRest(Value &total, uint64_t begin, uint64_t end) {
        for (uint64_t i = begin; i < end; ++i) Step(total, i);
    }

    void Add(Value &total, uint64_t i) { total = m_join(std::move(total), m_in[Place(i)]); }

    // Reads the element before it writes the result, because both may be the same object.
    void Step(Value &total, uint64_t i) {
        if constexpr (kIsInclusive) {
            Add(total, i);
            m_out[Place(i)] = total;
        } else {
            Value next = m_join(std::as_const(total), m_in[Place(i)]);
            m_out[Place(i)] = std::move(total);
            total = std::move(next);
        }
    }

    // Lets urgent work run: every wait is a scheduling point.
    void Breathe() noexcept {
        Counter none;
        m_scheduler.WaitForCounter(&none);
    }

    uint64_t Begin(uint64_t strip) const noexcept {
        return strip < m_strips ? strip * m_strip : m_count;
    }
    static constexpr std::ptrdiff_t Place(uint64_t i) noexcept {
        return static_cast<std::ptrdiff_t>(i);
    }

    TaskScheduler &m_scheduler;
    const LoopOptions &m_options;
    const In m_in;
    const Out m_out;
    const Value &m_identity;
    Join &m_join;
    const uint64_t m_count;
    const uint64_t m_strip;  ///< elements of a strip; the last one may be shorter
    const uint64_t m_strips;
    std::optional<Value> m_total;
    Totals m_totals;
    BodyCalls<kCatches> m_calls;
};

template <bool kIsInclusive, class In, class Out, class Value, class Join>
Value RunScan(TaskScheduler &scheduler, In first, In last, Out out, Value &identity, Join &join,
              const LoopOptions &options) noexcept(!kCatches) {
    if (first == last) {
        NoteWait(scheduler, "ParallelScan");
        return std::move(identity);
    }
    const uint64_t count = static_cast<uint64_t>(last - first);
    Scan<kIsInclusive, In, Out, Value, Join> scan(scheduler, first, count, out, identity, join,
                                                  options);
    std::optional<Value> total = scan.Run();
    return total ? std::move(*total) : std::move(identity);
}

}  // namespace internal

/// Writes to `out[i]` the elements `first[0]` to `first[i]`, combined with `join`. Returns the
/// total of all elements.
///
/// `first`, `last` and `out` are random-access iterators. `out` may be `first`. Otherwise the two
/// ranges must not overlap. `join(total, element)` and `join(total, total)` return a total. Totals
/// have the type of `identity`, which must be copyable, and an element must convert to it. `join`
/// must be associative: it may be called for any neighbouring parts, in any order. It need not be
/// commutative. `identity` joined with a total must be that total.
///
/// Which parts are joined depends only on the length of the range, on LoopOptions::grain and on the
/// size of a total. So the results have the same bits with any number of workers. A sum of
/// floating-point numbers may differ from the one that a plain loop computes. LoopOptions::grain is
/// the fewest elements in a block; 0 = 256. A range has up to 256 blocks. Their totals take up to 8
/// KiB of the caller's stack. Nothing is allocated.
///
/// A range of one block is scanned by a plain loop. A longer one is read twice, and `join` is
/// called twice for each element. Between two scheduling points a worker scans as many blocks as
/// take about 4 microseconds, at least one. Threads and exceptions are as for ParallelFor. If a
/// part was left out because of a cancellation, an exception or a report, some elements of `out`
/// are not written; without an exception the result is `identity`. Thread-safe while the scheduler
/// runs.
template <class In, class Out, class Value, class Join>
Value ParallelInclusiveScan(TaskScheduler &scheduler, In first, In last, Out out, Value identity,
                            Join &&join,
                            const LoopOptions &options = {}) noexcept(!internal::kCatches) {
    return internal::RunScan<true>(scheduler, first, last, out, identity, join, options);
}

/// Like ParallelInclusiveScan, but `out[i]` gets the elements `first[0]` to `first[i - 1]`, and
/// `out[0]` is `identity`.
template <class In, class Out, class Value, class Join>
Value ParallelExclusiveScan(TaskScheduler &scheduler, In first, In last, Out out, Value identity,
                            Join &&join,
                            const LoopOptions &options = {}) noexcept(!internal::kCatches) {
    return internal::RunScan<false>(scheduler, first, last, out, identity, join, options);
}

}  // namespace weft
