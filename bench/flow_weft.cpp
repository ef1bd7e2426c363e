// The flow rows of weft: ParallelInvoke, ParallelForEach and ParallelPipeline. All options but the
// number of workers are the defaults.
#include "flow_rows.h"
#include "run_weft.h"

#include <weft/algorithms/parallel_for_each.h>
#include <weft/algorithms/parallel_invoke.h>
#include <weft/algorithms/parallel_pipeline.h>

namespace bench {

namespace {

struct WeftFlow : RunsOnWeft {
    static constexpr const char *kName = "weft";

    template <class Left, class Right>
    static void Invoke(Left &left, Right &right) {
        weft::ParallelInvoke(*s_running, left, right);
    }

    template <class Body>
    static void ForEach(std::list<uint64_t> &items, Body &body) {
        weft::ParallelForEach(*s_running, items.begin(), items.end(), body);
    }

    template <class Body>
    static void Feed(uint32_t root, Body &body) {
        weft::FeederSlot<uint32_t> slots[256];
        weft::ParallelForEach(*s_running, &root, &root + 1, slots, 256,
                              [&](uint32_t node, weft::Feeder<uint32_t> &feeder) {
                                  body(node, [&](uint32_t left, uint32_t right) {
                                      uint32_t both[] = {left, right};
                                      if (feeder.AddAll(both, 2) != 2) Wrong("too few slots");
                                  });
                              });
    }

    template <class Input, class Work, class Output>
    static void Pipe(Input &input, Work &work, Output &output) {
        weft::PipelineSlot<PipeItem> slots[kTokens];
        weft::ParallelPipeline(*s_running, slots, kTokens, input, weft::ParallelFilter(work),
                               weft::InOrderFilter(output));
    }
};

}  // namespace

void AddWeftFlowRows(std::vector<Row> &rows, uint32_t workers) {
    AddFlowWorkloads<WeftFlow>(rows, workers);
}

}  // namespace bench
