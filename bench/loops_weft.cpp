// The loop rows of weft: ParallelFor and ParallelReduce. All options but the number of workers are
// the defaults.
#include "loop_rows.h"
#include "run_weft.h"

#include <weft/algorithms/parallel_for.h>
#include <weft/algorithms/parallel_reduce.h>

namespace bench {

namespace {

struct WeftLoops : RunsOnWeft {
    static constexpr const char *kName = "weft";

    template <class Body>
    static void For(uint32_t count, Body &body) {
        weft::ParallelFor(*s_running, 0, count, body);
    }

    template <class Body>
    static void ForTiles(uint32_t rows, uint32_t columns, Body &body) {
        weft::ParallelFor2D(*s_running, rows, columns, [&](const weft::Tile<uint32_t> &tile) {
            body(tile.rowBegin, tile.rowEnd, tile.columnBegin, tile.columnEnd);
        });
    }

    template <class Body>
    static double Sum(uint32_t count, Body &body) {
        return weft::ParallelReduce(*s_running, 0, count, 0.0, body,
                                    [](double a, double b) { return a + b; });
    }
};

}  // namespace

void AddWeftLoopRows(std::vector<Row> &rows, uint32_t workers) {
    AddLoopWorkloads<WeftLoops>(rows, workers);
}

}  // namespace bench
