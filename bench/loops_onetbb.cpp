// The loop rows of oneTBB: parallel_for and parallel_reduce with their default, auto_partitioner.
#include "loop_rows.h"

#if __has_include(<tbb/parallel_reduce.h>)

#include "run_onetbb.h"

#include <tbb/blocked_range2d.h>
#include <tbb/parallel_for.h>
#include <tbb/parallel_reduce.h>

namespace bench {

namespace {

struct OneTbbLoops : RunsOnOneTbb {
    static constexpr const char *kName = "onetbb";

    template <class Body>
    static void For(uint32_t count, Body &body) {
        tbb::parallel_for(0u, count, [&](uint32_t i) { body(i); });
    }

    template <class Body>
    static void ForTiles(uint32_t rows, uint32_t columns, Body &body) {
        using Range = tbb::blocked_range2d<uint32_t>;
        tbb::parallel_for(Range(0, rows, 0, columns), [&](const Range &range) {
            body(range.rows().begin(), range.rows().end(), range.cols().begin(),
                 range.cols().end());
        });
    }

    template <class Body>
    static double Sum(uint32_t count, Body &body) {
        using Range = tbb::blocked_range<uint32_t>;
        return tbb::parallel_reduce(
            Range(0, count), 0.0,
            [&](const Range &range, double sum) { return sum + body(range.begin(), range.end()); },
            [](double a, double b) { return a + b; });
    }
};

}  // namespace

void AddOneTbbLoopRows(std::vector<Row> &rows, uint32_t workers) {
    AddLoopWorkloads<OneTbbLoops>(rows, workers);
}

}  // namespace bench

#else

namespace bench {
void AddOneTbbLoopRows(std::vector<Row> &, uint32_t) {}
}  // namespace bench

#endif
