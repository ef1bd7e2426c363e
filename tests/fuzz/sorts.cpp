// Sorts and scans. A part of a sort or a scan may wait, so there are only as many parts as spare
// fibers.
#include "fuzz/script.h"
#include "weft/algorithms/parallel_scan.h"
#include "weft/algorithms/parallel_sort.h"
#include "weft/algorithms/parallel_sort_by_key.h"
#include "weft/algorithms/parallel_stable_sort.h"

#include <algorithm>
#include <memory>
#include <vector>

namespace fuzz {

using namespace weft;

namespace {

constexpr uint32_t kThrown = 7;

// Elements that are copied as bytes, and elements that can only be moved.
struct Plain {
    Plain() = default;
    Plain(uint32_t ofKey, uint32_t at) : key(ofKey), place(at) {}
    uint32_t Key() const { return key; }
    uint32_t Place() const { return place; }
    uint32_t key = 0, place = 0;
};
struct Moved {
    Moved() = default;
    Moved(uint32_t key, uint32_t place) : plain(new Plain(key, place)) {}
    uint32_t Key() const { return plain->key; }
    uint32_t Place() const { return plain->place; }
    std::unique_ptr<Plain> plain;
};

enum class Way : uint32_t { Quick, Stable, ByKey };

// How a sort is asked for.
struct Order {
    Way way;
    uint32_t count, seed, keys;  ///< keys are below `keys`
    uint32_t endsAt;             ///< the comparison that ends the sort; 0: none
    bool throws;
    LoopOptions options;
};

template <class Element>
std::vector<Element> Make(const Order &order) {
    std::vector<Element> elements;
    uint32_t state = order.seed;
    for (uint32_t i = 0; i < order.count; ++i) {
        state = state * 1664525 + 1013904223;
        elements.emplace_back(
            order.seed < 16 ? i * order.keys / order.count : (state >> 16) % order.keys, i);
    }
    return elements;
}

// Sorts, and returns the places that the elements had before, in their new order.
template <class Element>
std::vector<uint32_t> Sorted(TaskScheduler &scheduler, const Order &order) {
    std::vector<Element> elements = Make<Element>(order), scratch(order.count);
    CancelSource source(scheduler);
    LoopOptions options = order.options;
    options.cancel = source.Token();
    std::atomic<uint32_t> compared{0};
    const auto less = [&](const Element &a, const Element &b) {
        if (compared.fetch_add(1) + 1 == order.endsAt) {
            if (order.throws) throw kThrown;
            source.Cancel();
        }
        return a.Key() < b.Key();
    };
    bool sorted = false;
    uint32_t thrown = 0;
    try {
        const auto first = elements.begin(), last = elements.end();
        if (order.way == Way::Quick) sorted = ParallelSort(scheduler, first, last, less, options);
        if (order.way == Way::Stable)
            sorted = ParallelStableSort(scheduler, first, last, scratch.begin(), less, options);
        if (order.way == Way::ByKey)
            sorted = ParallelSortByKey(
                scheduler, first, last, scratch.begin(),
                [](const Element &element) { return element.Key(); }, options);
    } catch (uint32_t of) {
        thrown = of;
    }
    const bool ends = order.endsAt != 0 && compared.load() >= order.endsAt;
    Require(thrown == (ends && order.throws ? kThrown : 0), "the exception of a sort");
    Require(sorted == !ends, "whether a sort was ended");
    std::vector<uint32_t> places;
    std::vector<bool> isThere(order.count);
    for (const Element &element : elements) {
        const uint32_t place = element.Place();
        Require(place < order.count && !isThere[place], "a sort has lost an element");
        isThere[place] = true;
        places.push_back(place);
    }
    std::vector<Element> expected = Make<Element>(order);
    if (ends) return places;
    std::vector<uint32_t> keys;
    for (const Element &element : expected) keys.push_back(element.Key());
    std::stable_sort(expected.begin(), expected.end(),
                     [](const Element &a, const Element &b) { return a.Key() < b.Key(); });
    for (uint32_t i = 0; i < order.count; ++i) {
        Require(keys[places[i]] == elements[i].Key(), "a sort has changed an element");
        Require(elements[i].Key() == expected[i].Key(), "a range is not sorted");
        Require(order.way == Way::Quick || places[i] == expected[i].Place(),
                "a stable sort has changed the order of equal elements");
    }
    return places;
}

// A range of indices, perhaps without one. Joining two ranges is not commutative. `kWords` more
// words make it larger.
template <uint32_t kWords>
struct Span {
    uint32_t first = 0, last = 0;
    uint32_t more[kWords]{};
    bool IsEmpty() const { return first == last; }
};

template <uint32_t kWords>
void CheckScan(TaskScheduler &scheduler, uint32_t count, bool isInclusive, bool inPlace,
               uint32_t throwsAt, const LoopOptions &options) {
    using Value = Span<kWords>;
    std::vector<Value> in, out(count);
    for (uint32_t i = 0; i < count; ++i) in.push_back({i, i + 1});
    std::atomic<bool> threw{false};
    const auto join = [&](const Value &left, const Value &right) {
        if (left.IsEmpty()) return right;
        if (right.IsEmpty()) return left;
        Require(left.last == right.first, "a scan joins what are no neighbours");
        if (right.first == throwsAt) {
            threw.store(true);
            throw kThrown;
        }
        return Value{left.first, right.last};
    };
    const auto to = inPlace ? in.begin() : out.begin();
    Value total;
    uint32_t thrown = 0;
    try {
        total = isInclusive ? ParallelInclusiveScan(scheduler, in.begin(), in.end(), to, Value{},
                                                    join, options)
                            : ParallelExclusiveScan(scheduler, in.begin(), in.end(), to, Value{},
                                                    join, options);
    } catch (uint32_t of) {
        thrown = of;
    }
    Require(thrown == (threw.load() ? kThrown : 0), "the exception of a scan");
    if (thrown != 0) return;
    Require(total.first == 0 && total.last == count, "the total of a scan");
    for (uint32_t i = 0; i < count; ++i) {
        Require(to[i].first == 0 && to[i].last == (isInclusive ? i + 1 : i), "a total of a scan");
        Require(inPlace || (in[i].first == i && in[i].last == i + 1),
                "a scan has changed its input");
    }
}

}  // namespace

// A task waits for two others if its range has more than `leaf` elements. A quicksort of leaf + n
// elements has at most n such tasks, and a merge sort of 2 * leaf elements has one.
void Script::Sort() {
    constexpr uint32_t kInsertion = 24;  // shorter ranges are not divided
    const uint32_t how = m_bytes.Next(), grain = m_bytes.Below(64), ends = m_bytes.Next();
    Order order{static_cast<Way>(how % 3), 0, m_bytes.Next(), 1u + how / 8, 0, ends % 2 != 0, {}};
    const uint32_t fewer = m_bytes.Below(32);
    order.options.grain = grain;
    order.options.priority = static_cast<Priority>(grain % 3);
    order.options.name = "fuzz";
    if (!m_mayWait) return;
    const Spares spares(m_world, Spares::kMax);
    const uint32_t leaf = grain == 0 ? 1024 : std::max(grain, kInsertion);
    order.count = order.way == Way::Quick ? leaf + spares.Count()
                  : spares.Count() >= 3   ? 4 * leaf
                  : spares.Count() >= 1   ? 2 * leaf
                                          : leaf;
    order.count -= std::min(fewer, order.count);
    if (order.way == Way::ByKey) order.count = std::min(order.count, 1023u);
    if (fewer == 31) order.count = ends % 3;
    if (order.way != Way::ByKey && ends >= 128) order.endsAt = (ends - 127) * (1 + how % 5);
    const std::vector<uint32_t> places = Sorted<Plain>(m_scheduler, order);
    // One input always gives one result.
    if (order.endsAt == 0 && order.way == Way::Quick)
        Require(Sorted<Plain>(m_scheduler, order) == places, "a sort gives two results");
    Sorted<Moved>(m_scheduler, order);
}

void Script::Scan() {
    const uint32_t how = m_bytes.Next(), grain = 1 + m_bytes.Below(64), fewer = m_bytes.Next();
    const uint32_t throwsAt = m_bytes.Next();
    if (!m_mayWait) return;
    const Spares spares(m_world, Spares::kMax);
    LoopOptions options;
    options.grain = grain;
    options.priority = static_cast<Priority>(how / 8 % 3);
    options.name = "fuzz";
    // Blocks of `grain` elements, and one for each spare fiber and for the caller.
    const uint32_t most = (spares.Count() + 1) * grain, count = most - fewer % grain;
    const uint32_t place = (how & 4) != 0 ? throwsAt : ~0u;
    const auto scan = how >= 128 ? CheckScan<1> : CheckScan<20>;
    scan(m_scheduler, count, how % 2 == 0, (how & 2) != 0, place, options);
}

void Script::MistakeInSorts() {
    const uint32_t kind = m_bytes.Below(5), n = 1 + m_bytes.Next();
    std::vector<uint32_t> range(n + 1), scratch(n + 1, ~0u);
    for (uint32_t i = 0; i <= n; ++i) range[i] = n - i;
    const auto less = [](uint32_t, uint32_t) -> bool { Finding("a refused sort compares"); };
    const auto key = [](uint32_t) -> uint32_t { Finding("a refused sort asks for a key"); };
    const auto join = [](uint32_t, uint32_t) -> uint32_t { Finding("a refused scan joins"); };
    TaskScheduler &idle = *m_world.idle;
    m_world.oracle.Expect(ReportCode::NotRunning, [&] {
        bool sorted = false;
        const auto first = range.begin(), last = range.end();
        if (kind == 0) sorted = ParallelSort(idle, first, last, less);
        if (kind == 1) sorted = ParallelStableSort(idle, first, last, scratch.begin(), less);
        if (kind == 2) sorted = ParallelSortByKey(idle, first, last, scratch.begin(), key);
        if (kind == 3)
            sorted = ParallelInclusiveScan(idle, first, last, scratch.begin(), n, join) != n;
        if (kind == 4)
            sorted = ParallelExclusiveScan(idle, first, last, scratch.begin(), n, join) != n;
        Require(!sorted, "one that does not run has sorted");
    });
    for (uint32_t i = 0; i <= n; ++i)
        Require(range[i] == n - i && scratch[i] == ~0u, "a refused sort has an effect");
}

}  // namespace fuzz
