// The flow rows of oneTBB: parallel_invoke, parallel_for_each and parallel_pipeline.
#include "flow_rows.h"

#if __has_include(<tbb/parallel_pipeline.h>)

#include "run_onetbb.h"

#include <tbb/parallel_for_each.h>
#include <tbb/parallel_invoke.h>
#include <tbb/parallel_pipeline.h>

namespace bench {

namespace {

struct OneTbbFlow : RunsOnOneTbb {
    static constexpr const char *kName = "onetbb";

    template <class Left, class Right>
    static void Invoke(Left &left, Right &right) {
        tbb::parallel_invoke(left, right);
    }

    template <class Body>
    static void ForEach(std::list<uint64_t> &items, Body &body) {
        tbb::parallel_for_each(items.begin(), items.end(), body);
    }

    template <class Body>
    static void Feed(uint32_t root, Body &body) {
        tbb::parallel_for_each(&root, &root + 1, [&](uint32_t node, tbb::feeder<uint32_t> &feeder) {
            body(node, [&](uint32_t left, uint32_t right) {
                feeder.add(left);
                feeder.add(right);
            });
        });
    }

    // The items lie in an array, and pointers to them pass from filter to filter, as the manual of
    // oneTBB recommends. At most kTokens items are in flight, and the last filter is in order, so
    // the next item but kTokens may use the same place.
    template <class Input, class Work, class Output>
    static void Pipe(Input &input, Work &work, Output &output) {
        PipeItem items[kTokens];
        uint32_t next = 0;
        tbb::parallel_pipeline(
            kTokens,
            tbb::make_filter<void, PipeItem *>(tbb::filter_mode::serial_in_order,
                                               [&](tbb::flow_control &control) -> PipeItem * {
                                                   PipeItem *item = &items[next++ % kTokens];
                                                   if (input(*item)) return item;
                                                   control.stop();
                                                   return nullptr;
                                               }) &
                tbb::make_filter<PipeItem *, PipeItem *>(tbb::filter_mode::parallel,
                                                         [&](PipeItem *item) {
                                                             work(*item);
                                                             return item;
                                                         }) &
                tbb::make_filter<PipeItem *, void>(tbb::filter_mode::serial_in_order,
                                                   [&](PipeItem *item) { output(*item); }));
    }
};

}  // namespace

void AddOneTbbFlowRows(std::vector<Row> &rows, uint32_t workers) {
    AddFlowWorkloads<OneTbbFlow>(rows, workers);
}

}  // namespace bench

#else

namespace bench {
void AddOneTbbFlowRows(std::vector<Row> &, uint32_t) {}
}  // namespace bench

#endif
