// Calls a function for each item of a sequence, in parallel, also if the calls add more items.
//
//     #include <weft/algorithms/parallel_for_each.h>
//
//     struct Node { std::vector<Node *> children; int value; };
//
//     void Main(weft::TaskScheduler *scheduler, void *) {
//         std::list<Texture> textures = LoadTextures();
//         weft::ParallelForEach(*scheduler, textures.begin(), textures.end(),
//                               [](Texture &texture) { texture.Compress(); });
//
//         Node *roots[] = {LoadScene()};
//         weft::FeederSlot<Node *> slots[256];                 // room for 256 added items
//         const auto visit = [](Node *node, weft::Feeder<Node *> &feeder, auto &self) -> void {
//             node->value *= 2;
//             for (Node *child : node->children) {
//                 if (!feeder.Add(child)) self(child, feeder, self);   // no room: visit it here
//             }
//         };
//         weft::ParallelForEach(*scheduler, roots, roots + 1, slots, 256,
//                               [&](Node *node, weft::Feeder<Node *> &feeder) {
//                                   visit(node, feeder, visit);
//                               });
//     }
//
//     int main() { return weft::TaskScheduler().Run(Main) == weft::Status::Ok ? 0 : 1; }
#pragma once

#include "weft/algorithms/parallel_for.h"
#include "weft/sync/gates.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <new>
#include <type_traits>
#include <utility>

namespace weft {

template <class Item>
class Feeder;

namespace internal {

template <class Iterator, class Tag>
inline constexpr bool kIsIterator =
    std::is_base_of_v<Tag, typename std::iterator_traits<Iterator>::iterator_category>;

/// True if moving along the sequence, or reading it, may throw.
template <class Iterator>
inline constexpr bool kSequenceMayThrow =
    kCatches &&
    !(noexcept(++std::declval<Iterator &>()) &&noexcept(*std::declval<Iterator &>()) &&noexcept(
          std::declval<Iterator &>() != std::declval<Iterator &>()) &&
      std::is_nothrow_copy_constructible_v<Iterator> &&
      std::is_nothrow_copy_assignable_v<Iterator> &&
      std::is_nothrow_default_constructible_v<Iterator>);

/// A chunk of a sequence that can be read more than once: the number of its items, and copies of
/// the iterator at equal distances (marks). A worker that takes the items from `first` on begins at
/// the last mark that is not after `first`.
template <class Iterator>
class ForwardChunk {
public:
    static constexpr uint32_t kMaxItems = ~uint32_t{0};

    /// Makes an empty chunk, which can hold up to `size` items.
    explicit ForwardChunk(uint32_t size) noexcept : m_distance((size - 1) / kMarks + 1) {}
    /// Moves `next` over an item.
    void Take(Iterator &next) {
        if (m_count == m_marked * m_distance) m_marks[m_marked++] = next;
        ++next;
        ++m_count;
    }
    uint32_t Count() const noexcept { return m_count; }
    /// Calls `each` for the items [first, last).
    template <class Each>
    void ForEach(Each &each, uint32_t first, uint32_t last) {
        Iterator item = m_marks[first / m_distance];
        std::advance(item, first % m_distance);
        for (; first != last; ++first, ++item) each(*item);
    }

private:
    static_assert(std::is_default_constructible_v<Iterator>,
                  "weft: a forward iterator must have a default constructor, as the standard says");
    static constexpr uint32_t kMarks =  // about a kilobyte
        static_cast<uint32_t>(std::clamp(1024 / sizeof(Iterator), size_t{4}, size_t{64}));
    const uint32_t m_distance;
    uint32_t m_count = 0, m_marked = 0;
    Iterator m_marks[kMarks] = {};
};

/// Items of a sequence that can be read only once. They are moved here, into about a kilobyte.
template <class Iterator>
class InputChunk {
    using Item = typename std::iterator_traits<Iterator>::value_type;

public:
    static constexpr uint32_t kMaxItems =
        static_cast<uint32_t>(std::clamp(1024 / sizeof(Item), size_t{1}, size_t{64}));

    explicit InputChunk(uint32_t) noexcept {}
    InputChunk(const InputChunk &) = delete;
    InputChunk &operator=(const InputChunk &) = delete;
    ~InputChunk() {
        while (m_count != 0) At(--m_count).~Item();
    }
    void Take(Iterator &next) {
        ::new (static_cast<void *>(m_bytes + m_count * sizeof(Item))) Item(*next);
        ++m_count;
        ++next;
    }
    uint32_t Count() const noexcept { return m_count; }
    template <class Each>
    void ForEach(Each &each, uint32_t first, uint32_t last) {
        for (; first != last; ++first) each(At(first));
    }

private:
    Item &At(uint32_t index) noexcept {
        return *std::launder(
            static_cast<Item *>(static_cast<void *>(m_bytes + index * sizeof(Item))));
    }
    uint32_t m_count = 0;
    alignas(Item) unsigned char m_bytes[kMaxItems * sizeof(Item)];
};

inline uint32_t GrainOf(const LoopOptions &options, uint32_t automatic) noexcept {
    return static_cast<uint32_t>(
        (std::min)(options.grain != 0 ? options.grain : automatic, uint64_t{~uint32_t{0}}));
}

/// Calls `each(item)` for the items of a sequence that can only be read from front to back.
///
/// The *reader* is the only task that moves the iterator on. It takes a chunk of items, submits a
/// task that is the next reader, and runs its chunk. So reading needs no lock, and a worker takes
/// part as soon as it is idle. With `isTimed` a chunk is a loop over its items (LoopPart), so idle
/// workers take items of it. Otherwise the task that took the chunk runs all of its items.
///
/// Each running chunk holds a seat. The next reader needs one, too. If no seat is free, there is no
/// reader for a while. The next task that ends its chunk keeps its seat and becomes the reader. So
/// there are never more chunks in work than seats, also if the calls wait.
template <class Iterator, class Each, bool kMayThrow>
class SequenceWork {
public:
    using Chunk = std::conditional_t<kIsIterator<Iterator, std::forward_iterator_tag>,
                                     ForwardChunk<Iterator>, InputChunk<Iterator>>;

    /// The first chunk has `chunk` items. With `isTimed` the next ones have as many as take about
    /// kLoopChunks * kChunkNanoseconds. Otherwise each has `chunk` items.
    SequenceWork(TaskScheduler &scheduler, Iterator first, Iterator last, Each &each,
                 const LoopOptions &options, uint32_t chunk, bool isTimed,
                 BodyCalls<kMayThrow> &calls)
        : m_next(std::move(first)),
          m_last(std::move(last)),
          m_each(each),
          m_calls(calls),
          m_options{options.priority, kAnyWorker, options.name},
          m_cancel(options.cancel),
          m_smallest(GrainOf(options, 1)),
          m_isTimed(isTimed),
          m_chunk(chunk),
          m_seats(2 * scheduler.WorkerCount()),
          m_freeHelpers(static_cast<int32_t>(4 * scheduler.WorkerCount())) {}

    /// Returns when all calls have returned. Thread-safe.
    void Run(TaskScheduler &scheduler) noexcept {
        const Task reader{Read, this};
        scheduler.AddTasksAndWait(1, &reader, m_options);
    }

private:
    // The task of the reader. It has a seat.
    static void Read(TaskScheduler *scheduler, void *arg) {
        SequenceWork &work = *static_cast<SequenceWork *>(arg);
        do {
            work.m_calls.Call([&]() noexcept(!kMayThrow) { work.TakeChunk(*scheduler); });
            PassPoint(*scheduler);
        } while (work.m_seats.GiveBack());
    }

    void TakeChunk(TaskScheduler &scheduler) noexcept(!kMayThrow) {
        if (IsStopped()) return;
        const uint64_t begin = m_isTimed ? Nanoseconds() : 0;
        // relaxed: a hint.
        const uint32_t size = (std::min)(m_chunk.load(std::memory_order_relaxed), Chunk::kMaxItems);
        Chunk chunk(size);
        while (chunk.Count() < size && m_next != m_last) chunk.Take(m_next);
        if (m_next != m_last && m_seats.Take()) {
            const Task reader{Read, this};
            scheduler.AddChildTasks(1, &reader, m_options);
        }
        // From here on another task may be the reader.
        const uint32_t count = chunk.Count();
        if (!m_isTimed) return chunk.ForEach(m_each, 0, count);
        RunItems(scheduler, chunk);
        const uint32_t next = NextChunk(count, (Nanoseconds() - begin) / kLoopChunks);
        m_chunk.store((std::max)(m_smallest, next), std::memory_order_relaxed);  // a hint
    }

    void RunItems(TaskScheduler &scheduler, Chunk &chunk) noexcept {
        struct Items {
            SequenceWork &work;
            Chunk &chunk;
        } items{*this, chunk};
        const auto run = [](void *arg, uint64_t first, uint64_t last) noexcept {
            auto &[work, all] = *static_cast<Items *>(arg);
            if (work.m_calls.HasThrown()) return;
            work.m_calls.Call(
                [&all = all, &each = work.m_each, first, last]() noexcept(!kMayThrow) {
                    all.ForEach(each, static_cast<uint32_t>(first), static_cast<uint32_t>(last));
                });
        };
        LoopWork work =
            WorkOf(scheduler, chunk.Count(), m_smallest, m_options, m_cancel, run, &items);
        work.chunk = work.units / 2 + 1;
        work.freeHelpers = &m_freeHelpers;
        LoopPart(work, 0, work.units).Run(scheduler);
    }

    bool IsStopped() const noexcept { return m_calls.HasThrown() || m_cancel.IsCancelled(); }

    static constexpr uint32_t kLoopChunks = 8;  // a chunk takes as long as so many of a loop
    Iterator m_next;                            // only the reader uses it
    const Iterator m_last;
    Each &m_each;
    BodyCalls<kMayThrow> &m_calls;
    const TaskOptions m_options;
    const CancelToken m_cancel;
    const uint32_t m_smallest;
    const bool m_isTimed;
    WEFT_ATOMIC<uint32_t> m_chunk;  // items in the next chunk
    Seats m_seats;                  // besides that of the first reader
    WEFT_ATOMIC<int32_t> m_freeHelpers;
};

template <class Item>
class FeedWork;

}  // namespace internal

/// Calls `body(item)` for each item of the sequence [first, last), and returns when all calls have
/// returned.
///
/// Several workers call the body at once, in any order. It is not copied. It may wait, but not for
/// another item. A worker takes several items at once, for about 16 microseconds at most, but at
/// least LoopOptions::grain if that many are left. If some items take a thousand times as long as
/// others, the workers still share them.
///
/// With random access iterators this is ParallelFor. Otherwise one task at a time reads a part of
/// the sequence, and the workers share its items. With forward iterators `item` is in the sequence,
/// and a part is as many items as take about 32 microseconds. Workers advance copies of the
/// iterator, also over items whose calls are still running. So the body must not insert or remove
/// items. With input iterators, which can be read only once, `item` is moved or copied to the stack
/// of a task, and a part is at most 64 items, or a kilobyte.
///
/// In all cases but ParallelFor, at most 2 * workers + 1 parts are in work at once, and at most
/// 6 * workers + 1 calls have begun and not returned.
///
/// Cancellation, exceptions, reports and threads are as for ParallelFor. The iterators may throw,
/// too. Allocates nothing.
template <class Iterator, class Body>
void ParallelForEach(TaskScheduler &scheduler, Iterator first, Iterator last, Body &&body,
                     const LoopOptions &options = {})  //
    noexcept(!internal::kSequenceMayThrow<Iterator> &&
             std::is_nothrow_invocable_v<Body &, decltype(*first)>) {
    constexpr bool kMayThrow =
        internal::kSequenceMayThrow<Iterator> ||
        (internal::kCatches && !std::is_nothrow_invocable_v<Body &, decltype(*first)>);
    if constexpr (internal::kIsIterator<Iterator, std::random_access_iterator_tag>) {
        using Offset = typename std::iterator_traits<Iterator>::difference_type;
        const auto run = [&](Offset from, Offset to) noexcept(!kMayThrow) {
            Iterator item = first + from;
            for (; from != to; ++from, ++item) body(*item);
        };
        internal::RunRange<kMayThrow>(scheduler, Offset{0}, static_cast<Offset>(last - first),
                                      options.grain, options, run);
    } else {
        if (!(first != last)) return internal::NoteWait(scheduler, "ParallelForEach");
        constexpr bool isForward = internal::kIsIterator<Iterator, std::forward_iterator_tag>;
        internal::BodyCalls<kMayThrow> calls;
        internal::SequenceWork<Iterator, Body, kMayThrow>(
            scheduler, std::move(first), std::move(last), body, options,
            internal::GrainOf(options, isForward || scheduler.WorkerCount() == 0 ? 16 : 1),
            scheduler.WorkerCount() != 0, calls)
            .Run(scheduler);
        calls.Rethrow();
    }
}

/// Memory for one added item. An array of slots may lie anywhere. One ParallelForEach may use it at
/// a time.
template <class Item>
class FeederSlot : private internal::FreeSlot {
    static_assert(std::is_nothrow_move_constructible_v<Item> &&
                      std::is_nothrow_destructible_v<Item>,
                  "weft: moving or destroying an item of a feeder must not throw");

public:
    FeederSlot() = default;
    FeederSlot(const FeederSlot &) = delete;
    FeederSlot &operator=(const FeederSlot &) = delete;

private:
    friend class Feeder<Item>;
    friend class internal::FeedWork<Item>;
    internal::FeedWork<Item> *m_work;
    alignas(Item) unsigned char m_bytes[sizeof(Item)];
};

namespace internal {

/// The slots of one ParallelForEach, and how the items in them are run.
template <class Item>
class FeedWork {
public:
    using Slot = FeederSlot<Item>;
    /// Calls the body of the user, and keeps an exception that leaves it.
    using Body = void (*)(void *context, Item &item, Feeder<Item> &feeder);

    FeedWork(TaskScheduler &scheduler, Slot *slots, uint32_t count, Body body, void *context,
             const LoopOptions &options) noexcept
        : m_scheduler(scheduler),
          m_slots(slots),
          m_count(count),
          m_body(body),
          m_context(context),
          m_options{options.priority, kAnyWorker, options.name},
          m_lists(scheduler) {}

    Slot *TakeSlot() noexcept {
        FreeSlot *slot = m_lists.TakeOwn();
        if (slot == nullptr) {
            // relaxed: it only says which slots were never used. Read first, so that the number
            // cannot overflow.
            if (m_used.load(std::memory_order_relaxed) < m_count) {
                const uint32_t used = m_used.fetch_add(1, std::memory_order_relaxed);
                if (used < m_count) return &m_slots[used];
            }
            slot = m_lists.TakeAny();
        }
        return static_cast<Slot *>(slot);
    }
    void GiveBack(Slot &slot) noexcept { m_lists.GiveBack(slot); }

    /// Calls `call(feeder)` with a feeder for the calling task.
    template <class Call>
    void WithFeeder(Call &&call) {
        Feeder<Item> feeder(*this, nullptr);
        call(feeder);
    }

    /// Moves the item to the slot, and returns its task.
    Task TaskFor(Slot &slot, Item &&item) noexcept {
        slot.m_work = this;
        ::new (static_cast<void *>(slot.m_bytes)) Item(std::move(item));
        return {RunItem, &slot};
    }
    /// Submits tasks of items as child tasks of the calling task.
    void Submit(uint32_t count, const Task *tasks) noexcept {
        m_scheduler.AddChildTasks(count, tasks, m_options);
    }

private:
    static void RunItem(TaskScheduler *, void *arg) {
        Slot &slot = *static_cast<Slot *>(arg);
        FeedWork &work = *slot.m_work;
        Item *stored = std::launder(static_cast<Item *>(static_cast<void *>(slot.m_bytes)));
        Item item(std::move(*stored));
        stored->~Item();
        Feeder<Item> feeder(work, &slot);  // the first item that it adds takes the same slot
        work.m_body(work.m_context, item, feeder);
    }

    TaskScheduler &m_scheduler;
    Slot *const m_slots;
    const uint32_t m_count;
    const Body m_body;
    void *const m_context;
    const TaskOptions m_options;
    WEFT_ATOMIC<uint32_t> m_used{0};
    SlotLists m_lists;
};

}  // namespace internal

/// Adds items to a ParallelForEach. The body gets it with each item, and only the task that runs
/// this call of the body may use it, until the call returns.
template <class Item>
class Feeder {
public:
    Feeder(const Feeder &) = delete;
    Feeder &operator=(const Feeder &) = delete;

    /// Adds an item, for which the body will be called by any worker. Returns false, and leaves
    /// `item` as it is, if it finds no free slot: then the caller must handle the item itself. An
    /// item leaves its slot when its own call begins. If other workers take and give back slots at
    /// this moment, a free slot may be overlooked. Does not wait, and does not call the body.
    [[nodiscard]] bool Add(Item &&item) noexcept { return AddAll(&item, 1) != 0; }
    [[nodiscard]] bool Add(const Item &item) noexcept(std::is_nothrow_copy_constructible_v<Item>) {
        return Add(Item(item));
    }

    /// Adds the items [items, items + count), which it moves, and returns how many: those before
    /// the first one for which it finds no free slot. Costs less than to add one after the other. A
    /// worker that adds several items at once begins with the first one.
    [[nodiscard]] uint32_t AddAll(Item *items, uint32_t count) noexcept {
        constexpr uint32_t kAtOnce = 16;
        uint32_t added = 0;
        for (bool isFull = false; added != count && !isFull;) {
            Task tasks[kAtOnce];
            uint32_t tasksCount = 0;
            while (added != count && tasksCount != kAtOnce) {
                FeederSlot<Item> *slot = std::exchange(m_slot, nullptr);
                if (slot == nullptr) slot = m_work.TakeSlot();
                isFull = slot == nullptr;
                if (isFull) break;
                tasks[tasksCount++] = m_work.TaskFor(*slot, std::move(items[added++]));
            }
            m_work.Submit(tasksCount, tasks);
        }
        return added;
    }

private:
    friend class internal::FeedWork<Item>;

    Feeder(internal::FeedWork<Item> &work, FeederSlot<Item> *slot) noexcept
        : m_work(work), m_slot(slot) {}
    ~Feeder() {
        if (m_slot != nullptr) m_work.GiveBack(*m_slot);
    }

    internal::FeedWork<Item> &m_work;
    FeederSlot<Item> *m_slot;  // a free slot that only this feeder knows, or null
};

/// Like the other ParallelForEach, but calls `body(item, feeder)` with a `Feeder<Item> &`, through
/// which the body may add items. Returns when the calls for these have returned, too.
///
/// `slots` are `count` slots, for added items whose call has not begun. Each added item is a task.
/// It is moved to the stack of its task, so an item should be small: a pointer, an index.
/// A worker begins with the item that it added last. So it visits a tree in depth, and needs few
/// slots. A worker takes LoopOptions::grain items of the sequence at once, or one if that is 0.
///
/// After a cancellation or an exception, added items whose call has not begun are left out, too.
template <class Iterator, class Item, class Body>
void ParallelForEach(TaskScheduler &scheduler, Iterator first, Iterator last,
                     FeederSlot<Item> *slots, uint32_t count, Body &&body,
                     const LoopOptions &options = {})  //
    noexcept(!internal::kCatches) {
    static_assert(std::is_invocable_v<Body &, Item &, Feeder<Item> &> &&
                      std::is_invocable_v<Body &, decltype(*first), Feeder<Item> &>,
                  "weft: the body is called with an added item, or one of the sequence, and a "
                  "Feeder &");
    if (!(first != last)) return internal::NoteWait(scheduler, "ParallelForEach");
    constexpr bool kMayThrow = internal::kCatches;
    struct Context {
        Body &body;
        const CancelToken cancel;
        internal::BodyCalls<kMayThrow> calls;
    } context{body, options.cancel, {}};
    internal::FeedWork<Item> work(
        scheduler, slots, slots != nullptr ? count : 0,
        [](void *arg, Item &item, Feeder<Item> &feeder) {
            Context &all = *static_cast<Context *>(arg);
            if (all.calls.HasThrown() || all.cancel.IsCancelled()) return;
            all.calls.Call([&] { all.body(item, feeder); });
        },
        &context, options);
    auto each = [&](auto &&item) {
        if (context.calls.HasThrown() || context.cancel.IsCancelled()) return;
        work.WithFeeder([&](Feeder<Item> &feeder) { body(item, feeder); });
    };
    internal::SequenceWork<Iterator, decltype(each), kMayThrow>(
        scheduler, std::move(first), std::move(last), each, options, internal::GrainOf(options, 1),
        false, context.calls)
        .Run(scheduler);
    context.calls.Rethrow();
}

}  // namespace weft
