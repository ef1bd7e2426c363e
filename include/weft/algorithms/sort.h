// The common part of the parallel sorts: what ends a sort early, and the parts that one worker
// sorts. Nothing here leaves the range, whatever a comparison returns. If a comparison throws, all
// elements are still in the range.
#pragma once

#include "weft/algorithms/body_calls.h"
#include "weft/algorithms/parallel_for.h"

#include <cstddef>
#include <cstring>
#include <iterator>
#include <memory>
#include <type_traits>
#include <utility>

namespace weft {

namespace internal {

/// What all tasks of one sort share: its options, and whether it ends early.
class SortControl {
public:
    SortControl(TaskScheduler &scheduler, const LoopOptions &options,
                BodyCalls<kCatches> &calls) noexcept
        : m_scheduler(scheduler),
          m_cancel(options.cancel),
          m_leaf(LeafOf(options.grain)),
          m_calls(calls) {
        m_task = {options.priority, kAnyWorker, options.name};
        m_loop.priority = options.priority;
        m_loop.name = options.name;
    }

    /// Runs `sort(control)` in a task, unless the scheduler refuses it, and returns true if it ran
    /// to its end. Throws the first exception of a comparison to the caller.
    template <class Sort>
    static bool Run(TaskScheduler &scheduler, const LoopOptions &options,
                    Sort sort) noexcept(!kCatches) {
        bool isSorted = false;
        BodyCalls<kCatches> calls;
        auto whole = [&](TaskScheduler *running) {
            SortControl control(*running, options, calls);
            sort(control);
            isSorted = !control.IsStopped();
        };
        const Task task = MakeTask(whole);
        scheduler.AddTasksAndWait(1, &task, {options.priority, kAnyWorker, options.name});
        calls.Rethrow();
        return isSorted;
    }

    /// True if the sort was cancelled or a comparison threw. Then nothing is compared any more.
    bool IsStopped() const noexcept { return m_calls.HasThrown() || m_cancel.IsCancelled(); }

    /// Calls `part()`, which may throw in a comparison.
    template <class Part>
    void Guard(Part part) noexcept {
        m_calls.Call(part);
    }

    /// Calls `first()` and `second()`, maybe on two workers.
    template <class First, class Second>
    void Both(First first, Second second) noexcept {
        auto callFirst = [&](TaskScheduler *) { first(); };
        auto callSecond = [&](TaskScheduler *) { second(); };
        const Task tasks[2] = {MakeTask(callFirst), MakeTask(callSecond)};
        m_scheduler.AddTasksAndWait(2, tasks, m_task);
    }

    /// Calls `body(index)` for all indices below `count`, with a scheduling point after each call.
    /// The body must not throw.
    template <class Body>
    void ForEach(uint64_t count, Body body) noexcept {
        const auto each = [&](uint64_t i) noexcept {
            body(i);
            Breathe();
        };
        ParallelFor(m_scheduler, 0, count, each, m_loop);
    }

    /// Lets urgent work run: every wait is a scheduling point.
    void Breathe() noexcept {
        Counter none;
        m_scheduler.WaitForCounter(&none);
    }

    /// Elements that one task sorts.
    uint64_t Leaf() const noexcept { return m_leaf; }

private:
    static constexpr uint64_t kLeaf = 1024;
    static constexpr uint64_t LeafOf(uint64_t grain) noexcept { return grain != 0 ? grain : kLeaf; }

    TaskScheduler &m_scheduler;
    const CancelToken m_cancel;
    const uint64_t m_leaf;
    TaskOptions m_task;
    LoopOptions m_loop;
    BodyCalls<kCatches> &m_calls;
};

template <class It>
using ElementOf = typename std::iterator_traits<It>::value_type;

/// Elements that are copied as cheaply as they are compared. A sort of them avoids branches that
/// depend on a comparison, because the processor mispredicts half of these.
template <class Element>
inline constexpr bool kIsCheap = std::is_trivially_copyable_v<Element> && sizeof(Element) <= 32;

template <class It>
It At(It first, uint64_t i) noexcept {
    return first + static_cast<std::ptrdiff_t>(i);
}

/// An element that was moved out of its place. It goes to the place that is free at the end, also
/// if a comparison throws.
template <class It>
struct Hole {
    explicit Hole(It from) noexcept : element(std::move(*from)), place(from) {}
    ~Hole() { *place = std::move(element); }
    Hole(const Hole &) = delete;
    Hole &operator=(const Hole &) = delete;

    void MoveTo(It from) noexcept {
        *place = std::move(*from);
        place = from;
    }

    ElementOf<It> element;
    It place;
};

inline constexpr uint64_t kInsertion = 24;  ///< ranges up to this length are sorted by insertion

/// Stable.
template <class It, class Less>
void SortByInsertion(It first, It last, Less &less) {
    if (first == last) return;
    for (It next = first + 1; next != last; ++next) {
        if (!less(*next, *(next - 1))) continue;
        Hole<It> hole(next);
        do {
            hole.MoveTo(hole.place - 1);
        } while (hole.place != first && less(hole.element, *(hole.place - 1)));
    }
}

/// Moves the element at `top` down in the heap of `count` elements.
template <class It, class Less>
void SiftDown(It first, uint64_t top, uint64_t count, Less &less) {
    if (2 * top + 1 >= count) return;
    Hole<It> hole(At(first, top));
    while (2 * top + 1 < count) {
        uint64_t child = 2 * top + 1;
        if (child + 1 < count && less(*At(first, child), *At(first, child + 1))) ++child;
        if (!less(hole.element, *At(first, child))) return;
        hole.MoveTo(At(first, child));
        top = child;
    }
}

/// Sorts in O(n log n), whatever the order of the elements is.
template <class It, class Less>
void SortByHeap(SortControl &control, It first, uint64_t count, Less &less) {
    constexpr uint64_t kSteps = 1024;  // between two scheduling points
    for (uint64_t top = count / 2; top-- > 0;) {
        SiftDown(first, top, count, less);
        if (top % kSteps == kSteps - 1) control.Breathe();
    }
    for (uint64_t end = count; end-- > 1;) {
        std::iter_swap(first, At(first, end));
        SiftDown(first, 0, end, less);
        if (end % kSteps != 0) continue;
        if (control.IsStopped()) return;
        control.Breathe();
    }
}

/// Exchanges two elements that are trivially copyable, or leaves one as it is if it is both. It
/// copies them as bytes. If it copied them member by member, the processor would stall when it
/// loads in one piece what was stored in several.
template <class Element>
void SwapBytes(Element &a, Element &b) noexcept {
    void *const first = std::addressof(a), *const second = std::addressof(b);
    unsigned char bytes[2][sizeof(Element)];
    std::memcpy(bytes[0], first, sizeof(Element));
    std::memcpy(bytes[1], second, sizeof(Element));
    std::memcpy(first, bytes[1], sizeof(Element));
    std::memcpy(second, bytes[0], sizeof(Element));
}

/// Moves the elements for which `isLeft` holds to the front, and returns how many these are.
template <class It, class IsLeft>
uint64_t Partition(It first, It last, IsLeft isLeft) {
    It end = first;
    if constexpr (kIsCheap<ElementOf<It>>) {
        // Lomuto's partition, without a branch: each element changes places with the first one
        // that stays right.
        for (It next = first; next != last; ++next) {
            const std::ptrdiff_t step = isLeft(*next) ? 1 : 0;
            SwapBytes(*next, *end);
            end += step;
        }
    } else {
        // The element at `end` is looked at only once. Another answer the next time would otherwise
        // lead out of the range.
        while (true) {
            while (end != last && isLeft(*end)) ++end;
            while (last - end > 1 && !isLeft(*(last - 1))) --last;
            if (last - end < 2) break;
            std::iter_swap(end, --last);
            ++end;
        }
    }
    return static_cast<uint64_t>(end - first);
}

/// Returns the place of the median of three elements.
template <class It, class Less>
uint64_t MedianOf(It first, uint64_t a, uint64_t b, uint64_t c, Less &less) {
    if (less(*At(first, b), *At(first, a))) std::swap(a, b);
    if (!less(*At(first, c), *At(first, b))) return b;
    return less(*At(first, c), *At(first, a)) ? a : c;
}

/// Moves a pivot to the front: the median of three medians of three, in short ranges of three.
/// `failed` is how many pivots were bad before. After a bad one, the places are drawn, so that no
/// simple pattern gives bad pivots again and again. They are the same ones in every run.
template <class It, class Less>
void ChoosePivot(It first, uint64_t count, uint32_t failed, Less &less) {
    uint64_t state = count + failed;
    const auto place = [&](uint64_t i, uint64_t of) {
        if (failed == 0) return count / of * i + count / of / 2;
        state = state * 6364136223846793005u + 1442695040888963407u;
        return (state >> 33) % count;
    };
    const auto median = [&](uint64_t i, uint64_t of) {
        const uint64_t a = place(i, of), b = place(i + 1, of), c = place(i + 2, of);
        return MedianOf(first, a, b, c, less);
    };
    uint64_t pivot = 0;
    if (count < 128) {
        pivot = median(0, 3);
    } else {
        const uint64_t a = median(0, 9), b = median(3, 9), c = median(6, 9);
        pivot = MedianOf(first, a, b, c, less);
    }
    if (pivot != 0) std::iter_swap(first, At(first, pivot));
}

/// The steps of a quicksort that one worker and several workers have in common.
///
/// A pivot is bad if one side has less than an eighth of the elements. After log2(n) bad pivots the
/// rest is sorted by a heap, so the time is O(n log n) for any order of the elements (introsort:
/// Musser 1997). The element before a range is not greater than any of its elements, if there is
/// one. If the pivot equals it, the elements that equal the pivot go left and are done
/// (pattern-defeating quicksort: Peters 2021). So many equal elements make a sort faster.
struct QuickRange {
    uint64_t first, count;
    bool hasBefore;   ///< the element before the range belongs to the sort
    uint32_t failed;  ///< bad pivots so far
};

inline uint32_t Log2(uint64_t n) noexcept {
    uint32_t bits = 0;
    while ((n >>= 1) != 0) ++bits;
    return bits;
}

template <class It, class Less>
class QuickSort {
public:
    QuickSort(SortControl &control, It all, uint64_t count, Less &less) noexcept
        : m_control(control), m_all(all), m_maxFailed(Log2(count)), m_less(less) {}

    /// Sorts all elements, with all workers that are idle.
    void Sort(QuickRange range) noexcept {
        while (!m_control.IsStopped()) {
            if (range.count <= (std::max)(m_control.Leaf(), kInsertion) ||
                range.failed >= m_maxFailed)
                return m_control.Guard([&] { SortAlone(range); });
            QuickRange left{}, right{};
            m_control.Guard([&] {
                Split(range, left, right, [&](QuickRange rest, auto isLeft) {
                    return rest.count > kTogether
                               ? PartitionTogether(At(m_all, rest.first), rest.count, isLeft)
                               : PartitionAlone(rest, isLeft);
                });
            });
            m_control.Breathe();
            if (m_control.IsStopped()) return;
            if (left.count != 0) return m_control.Both([&] { Sort(left); }, [&] { Sort(right); });
            range = right;
        }
    }

private:
    // Longer ranges are partitioned in blocks, by several workers. This does not depend on how many
    // there are, so the order of equal elements does not either.
    static constexpr uint64_t kTogether = 65536;
    static constexpr uint64_t kBlock = 8192;
    static constexpr uint64_t kMaxBlocks = 256;

    // Partitions the range around a pivot. `left` stays empty if nothing is left of the pivot that
    // is not sorted.
    template <class DoPartition>
    void Split(QuickRange range, QuickRange &left, QuickRange &right, DoPartition partition) {
        const It first = At(m_all, range.first);
        ChoosePivot(first, range.count, range.failed, m_less);
        const QuickRange rest{range.first + 1, range.count - 1, false, 0};
        if (range.hasBefore && !m_less(*(first - 1), *first)) {
            const uint64_t equal =
                partition(rest, [&](const auto &element) { return !m_less(*first, element); });
            right = {rest.first + equal, rest.count - equal, true, range.failed};
            return;
        }
        const uint64_t smaller =
            partition(rest, [&](const auto &element) { return m_less(element, *first); });
        if (m_control.IsStopped()) return;
        if (smaller != 0) std::iter_swap(first, At(first, smaller));
        const uint64_t greater = rest.count - smaller;
        const uint32_t failed =
            range.failed + ((std::min)(smaller, greater) < range.count / 8 ? 1 : 0);
        left = {range.first, smaller, range.hasBefore, failed};
        right = {range.first + smaller + 1, greater, true, failed};
    }

    template <class IsLeft>
    uint64_t PartitionAlone(QuickRange range, IsLeft isLeft) {
        return Partition(At(m_all, range.first), At(m_all, range.first + range.count), isLeft);
    }

    void SortAlone(QuickRange range) {
        while (range.count > kInsertion) {
            if (range.failed >= m_maxFailed)
                return SortByHeap(m_control, At(m_all, range.first), range.count, m_less);
            QuickRange left{}, right{};
            Split(range, left, right,
                  [&](QuickRange rest, auto isLeft) { return PartitionAlone(rest, isLeft); });
            // The shorter side first: so the stack does not become deep.
            const bool leftIsShorter = left.count < right.count;
            SortAlone(leftIsShorter ? left : right);
            range = leftIsShorter ? right : left;
        }
        SortByInsertion(At(m_all, range.first), At(m_all, range.first + range.count), m_less);
    }

    // Partitions each block, and then exchanges what is on the wrong side.
    template <class IsLeft>
    uint64_t PartitionTogether(It first, uint64_t count, IsLeft isLeft) noexcept {
        const uint64_t block = (std::max)(kBlock, (count - 1) / kMaxBlocks + 1);
        const uint64_t blocks = (count - 1) / block + 1;
        uint64_t lefts[kMaxBlocks] = {};  // how many elements at the front of each block go left
        m_control.ForEach(blocks, [&](uint64_t i) {
            if (m_control.IsStopped()) return;
            m_control.Guard([&] {
                lefts[i] = Partition(At(first, i * block),
                                     At(first, (std::min)((i + 1) * block, count)), isLeft);
            });
        });
        if (m_control.IsStopped()) return 0;
        uint64_t left = 0;
        for (uint64_t i = 0; i < blocks; ++i) left += lefts[i];

        // Elements that go right but lie before `left`, and the other way round, in their order.
        const auto wrongBefore = [&](uint64_t i) {
            return Stretch{(std::min)(i * block + lefts[i], left),
                           (std::min)((std::min)((i + 1) * block, count), left)};
        };
        const auto wrongBehind = [&](uint64_t i) {
            return Stretch{(std::max)(i * block, left), (std::max)(i * block + lefts[i], left)};
        };
        uint64_t wrong = 0;
        for (uint64_t i = 0; i < blocks; ++i) wrong += wrongBefore(i).Length();
        m_control.ForEach((wrong + kBlock - 1) / kBlock, [&](uint64_t chunk) {
            Walk<decltype(wrongBefore)> before(wrongBefore, chunk * kBlock);
            Walk<decltype(wrongBehind)> behind(wrongBehind, chunk * kBlock);
            uint64_t todo = (std::min)(kBlock, wrong - chunk * kBlock);
            while (todo != 0) {
                const uint64_t step = (std::min)({todo, before.Here(), behind.Here()});
                std::swap_ranges(At(first, before.Place()), At(first, before.Place() + step),
                                 At(first, behind.Place()));
                before.Advance(step);
                behind.Advance(step);
                todo -= step;
            }
        });
        return left;
    }

    struct Stretch {
        uint64_t begin, end;
        uint64_t Length() const noexcept { return begin < end ? end - begin : 0; }
    };

    // Goes through the elements of the stretches of all blocks, beginning with the `skip`th one.
    template <class Of>
    class Walk {
    public:
        Walk(const Of &of, uint64_t skip) noexcept : m_of(of), m_stretch(of(0)) { Advance(skip); }
        uint64_t Place() const noexcept { return m_stretch.begin; }
        uint64_t Here() const noexcept { return m_stretch.Length(); }
        void Advance(uint64_t n) noexcept {
            while (m_stretch.Length() <= n && m_block + 1 < kMaxBlocks) {
                n -= m_stretch.Length();
                m_stretch = m_of(++m_block);
            }
            m_stretch.begin += n;
        }

    private:
        const Of &m_of;
        uint64_t m_block = 0;
        Stretch m_stretch;
    };

    SortControl &m_control;
    const It m_all;
    const uint32_t m_maxFailed;
    Less &m_less;
};

}  // namespace internal

}  // namespace weft
