#include "core/counter_word.h"

#include <type_traits>

#include <catch2/catch.hpp>

using namespace weft::internal;
using weft::Priority;

TEST_CASE("counter word: its parts are independent", "[counter_word]") {
    for (const uint32_t count : {0u, 1u, 0x80000000u, 0xffffffffu}) {
        for (const uint32_t head : {0u, 1u, CounterWord::kMaxRecords}) {
            for (const uint32_t tag : {0u, 1u, CounterWord::kMaxTag}) {
                for (int flags = 0; flags < 8; ++flags) {
                    const bool eager = (flags & 1) != 0, locked = (flags & 2) != 0;
                    const bool isGroup = (flags & 4) != 0;
                    CounterWord word{isGroup ? ~uint64_t{0} : ~CounterWord::kGroup};
                    word = word.WithoutWaiters()
                               .WithTag(tag)
                               .WithCount(count)
                               .WithLocked(locked)
                               .WithHead(head)
                               .WithEager(eager);
                    CHECK(word.Count() == count);
                    CHECK(word.Head() == head);
                    CHECK(word.Tag() == tag);
                    CHECK(word.IsEager() == eager);
                    CHECK(word.IsLocked() == locked);
                    CHECK(word.IsGroup() == isGroup);
                    CHECK(word.HighestWaiter() == Priority::Low);
                    CHECK(word.InUse() == (count != 0 || head != 0 || eager || locked));
                    CHECK(word.IsPlain(tag) == (head == 0 && !eager && !locked));
                    CHECK(!word.IsPlain(tag ^ 1));
                }
            }
        }
    }
}

TEST_CASE("counter word: the highest priority of the waiters", "[counter_word]") {
    const CounterWord none = CounterWord{0}.WithCount(3).WithTag(5);
    CHECK(none.HighestWaiter() == Priority::Low);
    CHECK(none.WithWaiter(Priority::Low).bits == none.bits);
    const CounterWord normal = none.WithHead(7).WithWaiter(Priority::Normal);
    CHECK(normal.HighestWaiter() == Priority::Normal);
    const CounterWord high = normal.WithWaiter(Priority::High);
    CHECK(high.HighestWaiter() == Priority::High);
    CHECK(high.WithWaiter(Priority::Normal).HighestWaiter() == Priority::High);
    CHECK(high.WithEager(true).WithoutWaiters().bits == none.bits);
}

TEST_CASE("counter: Value is the count, whatever else the word holds", "[counter_word]") {
    const CounterWord zero = CounterWord{CounterWord::kGroup}.WithTag(9);
    weft::Counter counter;
    CounterAccess::Word(counter).store(zero.bits);
    CHECK(counter.IsZero());
    CounterAccess::Word(counter).store(
        zero.WithCount(4).WithHead(7).WithWaiter(Priority::High).WithLocked(true).bits);
    CHECK(counter.Value() == 4);
    CHECK(!counter.IsZero());
    CounterAccess::Word(counter).store(0);  // debug builds report a counter with waiters
}

namespace {

// Does not compile if the default constructor of Counter is explicit.
struct Stage {
    int number;
    weft::Counter loaded;
    weft::Counter shown[2];
};

}  // namespace

TEST_CASE("counter: aggregates may have counters", "[counter_word]") {
    const Stage one{1, {}, {}};
    const Stage stages[2] = {{2, {}, {}}, {3, {}, {}}}, none = {};
    CHECK((one.loaded.IsZero() && none.loaded.IsZero()));
    CHECK((stages[0].number == 2 && stages[1].number == 3));
    for (const Stage &stage : stages) {
        CHECK((stage.loaded.IsZero() && stage.shown[0].IsZero() && stage.shown[1].IsZero()));
    }
    // a number does not become a counter by itself
    CHECK(!std::is_convertible_v<uint32_t, weft::Counter>);
    CHECK(weft::Counter(3).Value() == 3);
}
