// A pipeline of filters. Items pass through all filters, several items at a time. A filter may be
// parallel, or take one item at a time, also in the order of the input.
//
// (Not to be confused with FramePipeline in weft/frame/, which runs the stages of game frames.)
//
//     #include <weft/algorithms/parallel_pipeline.h>
//
//     struct Chunk { std::string text; size_t words; };
//
//     void Main(weft::TaskScheduler *scheduler, void *) {
//         weft::PipelineSlot<Chunk> slots[8];                  // at most 8 items in flight
//         size_t words = 0;
//         weft::ParallelPipeline(
//             *scheduler, slots, 8,
//             [&](Chunk &chunk) { return bool(std::getline(std::cin, chunk.text)); },
//             weft::ParallelFilter([](Chunk &chunk) { chunk.words = CountWords(chunk.text); }),
//             weft::InOrderFilter([&](Chunk &chunk) {
//                 words += chunk.words;
//                 std::printf("%s\n", chunk.text.c_str());     // in the order of the input
//             }));
//         std::printf("%zu words\n", words);
//     }
//
//     int main() { return weft::TaskScheduler().Run(Main) == weft::Status::Ok ? 0 : 1; }
#pragma once

#include "weft/algorithms/body_calls.h"
#include "weft/data/cancellation.h"
#include "weft/report.h"
#include "weft/sync/gates.h"
#include "weft/task_scheduler.h"

#include <cstddef>
#include <cstdint>
#include <tuple>
#include <type_traits>
#include <utility>

namespace weft {

/// Options of one ParallelPipeline.
struct PipelineOptions {
    Priority priority = Priority::Normal;  ///< priority of the pipeline's tasks
    /// Name of the pipeline's tasks in reports; must outlive the run (a string literal does)
    const char *name = nullptr;
    /// After it is cancelled, the input and the filters are not called any more
    CancelToken cancel;
};

namespace internal {

enum class FilterMode : uint8_t { InOrder, Serial, Parallel };

/// A filter: F is a reference if the function was an lvalue.
template <FilterMode kMode, class F>
struct PipelineFilter {
    static constexpr FilterMode kFilterMode = kMode;
    F function;
};

/// What the pipeline keeps for an item in flight. As a Waiter it waits at a gate, or is free.
struct PipelinePlace : Waiter {
    void *pipeline = nullptr;
    uint32_t number = 0;  ///< of the item, in the order of the input
    uint32_t ticket = 0;  ///< its number at the gate at which it waits
    uint32_t filter = 0;  ///< the filter at whose gate it waits
};

template <class Item, bool kMayThrow, class Input, class... Filters>
class PipelineRun;

}  // namespace internal

/// Returns a filter that takes one item at a time, in the order of the input. An lvalue is not
/// copied and must outlive the pipeline. An rvalue is moved into the filter.
template <class F>
internal::PipelineFilter<internal::FilterMode::InOrder, F> InOrderFilter(F &&function) noexcept(
    std::is_nothrow_constructible_v<F, F &&>) {
    return {std::forward<F>(function)};
}

/// Returns a filter that takes one item at a time, in the order in which they come to it. See
/// InOrderFilter.
template <class F>
internal::PipelineFilter<internal::FilterMode::Serial, F> SerialFilter(F &&function) noexcept(
    std::is_nothrow_constructible_v<F, F &&>) {
    return {std::forward<F>(function)};
}

/// Returns a filter that takes several items at a time. See InOrderFilter.
template <class F>
internal::PipelineFilter<internal::FilterMode::Parallel, F> ParallelFilter(F &&function) noexcept(
    std::is_nothrow_constructible_v<F, F &&>) {
    return {std::forward<F>(function)};
}

/// An item of yours, with what the pipeline needs to keep for it. One pipeline may use a slot at a
/// time. Items keep their values from one use to the next, so a buffer in an item is used again.
template <class Item>
class PipelineSlot : private internal::PipelinePlace {
public:
    Item item{};

private:
    template <class, bool, class, class...>
    friend class internal::PipelineRun;
};

namespace internal {

/// One call of ParallelPipeline.
///
/// The *reader* is the only task that calls the input. It needs a free slot. When it has read an
/// item, any task may become the reader: one that is done with an item, and then keeps the slot and
/// reads the next item; or a helper, a task for an idle worker, which takes another free slot. So a
/// worker goes from item to item without a task for each, and all idle workers come to help.
///
/// Each filter that is not parallel has a gate. An item that comes before its turn stays at the
/// gate as an entry in a list, and its task ends. The item that is inside submits a new task for it
/// when it leaves.
///
/// All tasks are child tasks of one AddTasksAndWait. Its wait cannot end while an item is at a
/// gate: an item that is not at a gate and goes before it has a task, which submits the task of the
/// next one before it ends.
template <class Item, bool kMayThrow, class Input, class... Filters>
class PipelineRun {
public:
    using Slot = PipelineSlot<Item>;
    static constexpr size_t kFilters = sizeof...(Filters);
    using Indices = std::make_index_sequence<kFilters>;

    PipelineRun(TaskScheduler &scheduler, const PipelineOptions &options, Input &input,
                Filters &...filters) noexcept
        : PipelineRun(scheduler, options, input, Indices(), filters...) {}

    /// Runs the pipeline with `tokens` slots, at least one.
    void Run(Slot *slots, uint32_t tokens) noexcept {
        for (uint32_t i = 0; i < tokens; ++i) slots[i].pipeline = this;
        for (uint32_t i = tokens - 1; i > 0; --i) m_places.GiveBack(slots[i]);
        const Task first{Read, static_cast<PipelinePlace *>(slots)};
        m_scheduler.AddTasksAndWait(1, &first, m_options);
    }

    void Rethrow() const noexcept(!kMayThrow) { m_calls.Rethrow(); }

private:
    template <size_t... I>
    PipelineRun(TaskScheduler &scheduler, const PipelineOptions &options, Input &input,
                std::index_sequence<I...>, Filters &...filters) noexcept
        : m_scheduler(scheduler),
          m_options{options.priority, kAnyWorker, options.name},
          m_cancel(options.cancel),
          m_input(input),
          m_filters(filters...),
          m_places(scheduler),
          m_gates{(static_cast<void>(I), OrderedGate(scheduler))...} {}

    // The task of the reader: `arg` is its slot.
    static void Read(TaskScheduler *, void *arg) {
        PipelinePlace &place = *static_cast<PipelinePlace *>(arg);
        static_cast<PipelineRun *>(place.pipeline)->ReadAndPass(static_cast<Slot &>(place));
    }

    static void Help(TaskScheduler *, void *arg) {
        PipelineRun &run = *static_cast<PipelineRun *>(arg);
        if (Waiter *place = run.m_places.BeginHelper())
            run.ReadAndPass(static_cast<Slot &>(static_cast<PipelinePlace &>(*place)));
    }

    // The task of an item that has waited at a gate, and whose turn it is.
    static void Continue(TaskScheduler *, void *arg) {
        PipelinePlace &place = *static_cast<PipelinePlace *>(arg);
        PipelineRun &run = *static_cast<PipelineRun *>(place.pipeline);
        Slot &slot = static_cast<Slot &>(place);
        if (run.Pass(slot, place.filter, true, Indices()) && run.m_places.GiveBack(place))
            run.ReadAndPass(slot);
    }

    // Reads items and takes them through the filters. The task ends after a few items, so that the
    // worker also runs other tasks, some of which may have a higher priority.
    void ReadAndPass(Slot &slot) noexcept {
        constexpr uint32_t kMaxItems = 16;
        for (uint32_t items = 1;
             ReadItem(slot) && Pass(slot, 0, false, Indices()) && m_places.GiveBack(slot);
             ++items) {
            if (items == kMaxItems) return Submit(Read, static_cast<PipelinePlace *>(&slot));
        }
    }

    // Returns false if the input has ended. Then there is no reader any more.
    bool ReadItem(Slot &slot) noexcept {
        if (IsStopped()) return false;
        bool more = false;
        m_calls.Call([&]() noexcept(!kMayThrow) { more = m_input(slot.item); });
        if (!more) return false;
        slot.number = m_read++;
        // From here on another task may be the reader.
        if (m_places.OfferReader()) Submit(Help, this);
        return true;
    }

    // Takes the item through the filters from `from` on. `isInside`: it has the turn of that one.
    // Returns false if the item waits at a gate; then another task may have it already.
    template <size_t... I>
    bool Pass(Slot &slot, size_t from, bool isInside, std::index_sequence<I...>) noexcept {
        return (... && (I < from || PassOne<I>(slot, isInside && I == from)));
    }

    template <size_t kFilter>
    bool PassOne(Slot &slot, bool isInside) noexcept {
        auto &filter = std::get<kFilter>(m_filters);
        constexpr FilterMode kMode = std::decay_t<decltype(filter)>::kFilterMode;
        const auto call = [&] {
            if (IsStopped()) return;
            m_calls.Call([&]() noexcept(!kMayThrow) { filter.function(slot.item); });
        };
        if constexpr (kMode == FilterMode::Parallel) {
            call();
        } else {
            OrderedGate &gate = m_gates[kFilter];
            if (!isInside) {
                slot.filter = kFilter;
                slot.ticket = kMode == FilterMode::InOrder ? slot.number : gate.TakeNumber();
                if (!gate.Enter(slot, slot.ticket)) return false;
            }
            call();
            if (Waiter *next = gate.Leave(slot.ticket))
                Submit(Continue, static_cast<PipelinePlace *>(next));
        }
        return true;
    }

    void Submit(TaskFunction function, void *arg) noexcept {
        const Task task{function, arg};
        m_scheduler.AddChildTasks(1, &task, m_options);
    }

    bool IsStopped() const noexcept { return m_calls.HasThrown() || m_cancel.IsCancelled(); }

    TaskScheduler &m_scheduler;
    const TaskOptions m_options;
    const CancelToken m_cancel;
    Input &m_input;
    const std::tuple<Filters &...> m_filters;
    BodyCalls<kMayThrow> m_calls;
    FreePlaces m_places;
    OrderedGate m_gates[kFilters];
    uint32_t m_read = 0;  // items that the reader has read; only the reader uses it
};

template <class Function, class Item>
inline constexpr bool kFilterMayThrow =
    kCatches && !std::is_nothrow_invocable_v<Function &, Item &>;

}  // namespace internal

/// Calls `input(item)` for one item after the other until it returns false, and takes each item
/// through all filters. Returns when all items have passed.
///
/// `slots` are `tokens` slots: at most so many items are in flight. An item is in flight from the
/// call of the input until the last filter has returned. Then another item uses its slot. `tokens`
/// is 1 to 2^31 - 1; at least twice the number of workers is a good value. The input is called by
/// one task at a time. Each filter is called as `filter(item)`, once for each item, and sees what
/// the filters before it wrote. A filter from SerialFilter or InOrderFilter is called for one item
/// at a time, and also sees what it wrote for the item before. The input and the filters may wait,
/// but not for another item.
///
/// An item that comes to a filter before its turn holds no task and no fiber. Allocates nothing.
///
/// When PipelineOptions::cancel is cancelled, the input and the filters are not called any more,
/// also for items in flight. The same happens if an exception leaves the input or a filter. When
/// all other calls have returned, this call throws the first exception. If the input and the
/// filters are noexcept or the code is compiled without exceptions, nothing is caught.
///
/// After a report it calls nothing: BadOption (`tokens` or the options are out of range, or `slots`
/// is null), NotRunning, and the others of TaskScheduler::AddTasksAndWait. Thread-safe while the
/// scheduler runs. A worker or attached thread takes part, on its own stack if that has room (see
/// TaskScheduler::AddTasksAndWait). An external thread blocks.
///
/// After `parallel_pipeline` of oneTBB.
template <class Item, class Input, internal::FilterMode... kModes, class... Functions>
void ParallelPipeline(TaskScheduler &scheduler, const PipelineOptions &options,
                      PipelineSlot<Item> *slots, uint32_t tokens, Input &&input,
                      internal::PipelineFilter<kModes, Functions> &&...filters)  //
    noexcept(!(internal::kFilterMayThrow<Input, Item> || ... ||
               internal::kFilterMayThrow<Functions, Item>)) {
    static_assert(sizeof...(Functions) > 0, "weft: a pipeline needs at least one filter");
    static_assert(std::is_invocable_r_v<bool, Input &, Item &>,
                  "weft: the input is called with an item, and returns false at the end");
    static_assert((std::is_invocable_v<Functions &, Item &> && ...),
                  "weft: a filter is called with an item");
    constexpr bool kMayThrow = (internal::kFilterMayThrow<Input, Item> || ... ||
                                internal::kFilterMayThrow<Functions, Item>);
    if (slots == nullptr || tokens == 0 || tokens >= uint32_t{1} << 31) {
        return internal::ReportMisuse(scheduler, ReportCode::BadOption,
                                      "Give 1 to 2^31 - 1 slots, and their number.",
                                      "ParallelPipeline: there are no slots, or too many");
    }
    internal::PipelineRun<Item, kMayThrow, std::remove_reference_t<Input>,
                          internal::PipelineFilter<kModes, Functions>...>
    run(scheduler, options, input, filters...);
    run.Run(slots, tokens);
    run.Rethrow();
}

/// The same with the default options.
template <class Item, class Input, internal::FilterMode... kModes, class... Functions>
void ParallelPipeline(TaskScheduler &scheduler, PipelineSlot<Item> *slots, uint32_t tokens,
                      Input &&input, internal::PipelineFilter<kModes, Functions> &&...filters)  //
    noexcept(!(internal::kFilterMayThrow<Input, Item> || ... ||
               internal::kFilterMayThrow<Functions, Item>)) {
    ParallelPipeline(scheduler, PipelineOptions{}, slots, tokens, input, std::move(filters)...);
}

}  // namespace weft
