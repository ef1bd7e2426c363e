// Models of ParallelInvoke, ParallelForEach and ParallelPipeline.
#include "simulator/model_support.h"
#include "simulator/models.h"
#include "weft/algorithms/parallel_for_each.h"
#include "weft/algorithms/parallel_invoke.h"
#include "weft/algorithms/parallel_pipeline.h"

#include <list>
#include <vector>

namespace simulator {

namespace {

// A filter that takes one item at a time. Its data is a Cell, so with --weak each item must be
// ordered after the item before.
class OneAtATime {
public:
    /// Returns how many items were here before.
    uint32_t Visit() {
        Check(!m_isInside, "two items are in a filter that takes one at a time");
        m_isInside = true;
        Linger(4);
        const uint32_t before = m_visits.Get();
        Check(before == m_count, "what the filter wrote for the item before is not visible");
        m_visits.Set(++m_count);
        m_isInside = false;
        return before;
    }
    uint32_t Count() const { return m_count; }

private:
    Cell m_visits;
    uint32_t m_count = 0;
    bool m_isInside = false;
};

struct PipeItem {
    Cell number;
    Cell passed;  // filters
};

// One pipeline of five filters, of which some may be left out.
struct PipeModel {
    explicit PipeModel(uint32_t items, uint32_t most)
        : count(items), tokens(most), passes(items), slots(most) {}

    bool Input(PipeItem &item) {
        const uint32_t number = input.Visit();
        if (number >= count) return false;
        Check(++inFlight <= tokens, "more items are in flight than there are tokens");
        item.number.Set(number);
        item.passed.Set(0);
        return true;
    }
    // The `step`th filter.
    uint32_t Pass(PipeItem &item, uint32_t step) {
        const uint32_t number = item.number.Get();
        Check(number < count && passes[number] == step && item.passed.Get() == step,
              "an item has not passed a filter once, or its data is not visible");
        item.passed.Set(step + 1);
        ++passes[number];
        return number;
    }

    void Run(TaskScheduler &scheduler, const PipelineOptions &options = {}) {
        ParallelPipeline(
            scheduler, options, slots.data(), tokens, [&](PipeItem &item) { return Input(item); },
            InOrderFilter([&](PipeItem &item) {
                Check(first.Visit() == Pass(item, 0), "the order of the first filter");
            }),
            ParallelFilter([&](PipeItem &item) {
                Linger(6);
                Pass(item, 1);
            }),
            SerialFilter([&](PipeItem &item) {
                Pass(item, 2);
                serial.Visit();
            }),
            InOrderFilter([&](PipeItem &item) {
                Check(last.Visit() == Pass(item, 3), "the order of the last filter");
                if (waits && Random(2) != 0) scheduler.Yield();
            }),
            ParallelFilter([&](PipeItem &item) {
                Pass(item, 4);
                --inFlight;
            }));
    }
    void CheckAll() const {
        for (const uint32_t times : passes) Check(times == 5, "an item has not passed all filters");
        Check(input.Count() == count + 1, "the input was called too often");
    }

    const uint32_t count, tokens;
    bool waits = false;
    std::vector<uint32_t> passes;
    std::vector<PipelineSlot<PipeItem>> slots;
    uint32_t inFlight = 0;
    OneAtATime input, first, serial, last;
};

// Up to 6 items, 1 to 4 tokens.
void Pipe() {
    RunMain(Options(1 + Random(3), 13), [](TaskScheduler *scheduler) {
        PipeModel model(Random(7), 1 + Random(4));
        model.waits = Random(2) != 0;
        model.Run(*scheduler);
        model.CheckAll();
    });
}

// The first item waits until all others have come to the filter in order. There are fewer fibers
// than items, so items must hold no fiber while they wait for their turn.
void PipeHoldsNoFiber() {
    RunMain(Options(2, 4), [](TaskScheduler *scheduler) {
        constexpr uint32_t kItems = 6;
        PipelineSlot<PipeItem> slots[kItems];
        Counter others(kItems - 1);
        uint32_t read = 0, written = 0;
        ParallelPipeline(
            *scheduler, slots, kItems,
            [&](PipeItem &item) {
                item.number.Set(read++);
                return read <= kItems;
            },
            ParallelFilter([&](PipeItem &item) {
                item.number.Get() == 0 ? scheduler->WaitForCounter(&others)
                                       : scheduler->DecrementCounter(&others);
            }),
            InOrderFilter([&](PipeItem &item) {
                Check(item.number.Get() == written++, "the order of the filter");
            }));
        Check(written == kItems, "an item has not passed");
    });
}

// A filter cancels the pipeline. It must end, and call nothing after that.
void PipeCancelled() {
    RunMain(Options(1 + Random(3), 13), [](TaskScheduler *scheduler) {
        CancelSource source(*scheduler);
        PipelineOptions options;
        options.cancel = source.Token();
        PipelineSlot<PipeItem> slots[3];
        uint32_t read = 0, written = 0;
        const uint32_t end = Random(5);
        ParallelPipeline(
            *scheduler, options, slots, 3,
            [&](PipeItem &item) {
                item.number.Set(read++);
                return true;
            },
            ParallelFilter([&](PipeItem &) { Linger(5); }), InOrderFilter([&](PipeItem &item) {
                Check(!source.IsCancelled(), "a filter was called after the end");
                Check(item.number.Get() == written, "the order of the filter");
                if (written++ == end) source.Cancel();
            }));
        Check(written == end + 1, "the pipeline has ended too early");
    });
}

// An external thread runs a pipeline while the main task returns.
void PipeOutside() {
    TaskScheduler scheduler(Options(1 + Random(2), 13));
    PipeModel model(3, 2);
    HostThread other([&] { model.Run(scheduler); });
    RunMain(scheduler, [&](TaskScheduler *self) {
        other.Start();
        while (model.first.Count() == 0) self->Yield();
    });
    other.Join();
    model.CheckAll();
}

// A list, whose items are handed out by one reader at a time. Bodies may wait.
void ForEachList() {
    RunMain(Options(1 + Random(3), 13), [](TaskScheduler *scheduler) {
        std::list<uint32_t> items(Random(9));
        LoopOptions options;
        options.grain = Random(3);
        const bool wait = Random(2) != 0;
        ParallelForEach(
            *scheduler, items.begin(), items.end(),
            [&](uint32_t &item) {
                Check(item++ == 0, "an item was visited twice");
                Linger(4);
                if (wait && Random(2) != 0) scheduler->Yield();
            },
            options);
        for (const uint32_t item : items) Check(item == 1, "an item was not visited");
    });
}

// All bodies wait for a Low task. It mostly runs when no more of them may begin: all seats are
// taken, and the reader waits for one. With a feeder each part is one item. Otherwise helpers share
// the items of a part.
void ForEachSeats() {
    const uint32_t workers = 1 + Random(2), seats = 2 * workers + 1;
    const bool isShared = Random(2) != 0;
    const uint32_t bound = isShared ? 6 * workers + 1 : seats;
    RunMain(Options(workers, 64), [=](TaskScheduler *scheduler) {
        std::list<uint32_t> items(isShared ? 64 : seats + 4);
        Counter gate(1);
        uint32_t inside = 0, most = 0;
        auto open = [&](TaskScheduler *) { scheduler->DecrementCounter(&gate); };
        Counter opened;
        scheduler->AddTask(MakeTask(open), &opened, Of(Priority::Low));
        const auto visit = [&](uint32_t &item) {
            ++item;
            most = (std::max)(most, ++inside);
            scheduler->WaitForCounter(&gate);
            Linger(4);
            --inside;
        };
        if (isShared) {
            ParallelForEach(*scheduler, items.begin(), items.end(), visit);
        } else {
            FeederSlot<uint32_t> slot[1];
            ParallelForEach(*scheduler, items.begin(), items.end(), slot, 1,
                            [&](uint32_t &item, Feeder<uint32_t> &) { visit(item); });
        }
        scheduler->WaitForCounter(&opened);
        for (const uint32_t item : items) Check(item == 1, "an item was not visited once");
        Check(most <= bound, "more calls have begun and not returned than may");
    });
}

// A tree that grows while it is visited, with storage for a few nodes.
void Feed() {
    RunMain(Options(1 + Random(3), 13), [](TaskScheduler *scheduler) {
        constexpr uint32_t kNodes = 11;
        uint32_t visits[kNodes] = {};
        Cell parents[kNodes];
        std::vector<FeederSlot<uint32_t>> slots(Random(4));
        const uint32_t roots[] = {0, 1};
        ParallelForEach(*scheduler, roots, roots + 2, slots.data(),
                        static_cast<uint32_t>(slots.size()),
                        [&](uint32_t root, Feeder<uint32_t> &feeder) {
                            const auto visit = [&](uint32_t node, auto &self) -> void {
                                Check(visits[node]++ == 0, "a node was visited twice");
                                Check(node < 2 || parents[node].Get() == node / 2 + 1,
                                      "what the adding call wrote is not visible");
                                Linger(3);
                                for (uint32_t child : {2 * node, 2 * node + 1}) {
                                    if (child < 2 || child >= kNodes) continue;
                                    parents[child].Set(node + 1);
                                    if (!feeder.Add(child)) self(child, self);
                                }
                            };
                            visit(root, visit);
                        });
        for (const uint32_t times : visits) Check(times == 1, "a node was not visited");
    });
}

// Functions that call functions.
void Invoke() {
    RunMain(Options(1 + Random(3), 13), [](TaskScheduler *scheduler) {
        uint32_t ran = 0;
        const auto one = [&] { ++ran; };
        const auto slow = [&] {
            Linger(4);
            ++ran;
        };
        const auto two = [&] { ParallelInvoke(*scheduler, one, slow); };
        ParallelInvoke(*scheduler, two, one, two);
        Check(ran == 5, "a function was not called once");
    });
}

}  // namespace

std::vector<Model> FlowModels() {
    return {
        {"pipe", "a pipeline of all kinds of filters", Pipe},
        {"pipe_fibers", "items that wait for their turn, and few fibers", PipeHoldsNoFiber},
        {"pipe_cancelled", "a pipeline that a filter cancels", PipeCancelled},
        {"pipe_outside", "called by an external thread while the run ends", PipeOutside},
        {"for_each_list", "items that are found one after the other", ForEachList},
        {"for_each_seats", "bodies that wait, and the bound on them", ForEachSeats},
        {"feed", "items that are added, with little storage", Feed},
        {"invoke", "functions that call functions", Invoke},
    };
}

}  // namespace simulator
