#include "core/counter_word.h"

#include <type_traits>

#include <catch2/catch.hpp>

using namespace weft::internal;

TEST_CASE("counter word: its parts are independent", "[counter_word]") {
    for (uint32_t count : {0u, 1u, 0x80000000u, 0xffffffffu}) {
        for (uint32_t head : {0u, 1u, CounterWord::kMaxRecords}) {
            for (uint32_t tag : {0u, 1u, 63u}) {
                for (int flags = 0; flags < 4; ++flags) {
                    const bool eager = (flags & 1) != 0, sorting = (flags & 2) != 0;
                    CounterWord word{~uint64_t{0}};
                    word = word.WithTag(tag)
                               .WithCount(count)
                               .WithSorting(sorting)
                               .WithHead(head)
                               .WithEager(eager);
                    CHECK(word.Count() == count);
                    CHECK(word.Head() == head);
                    CHECK(word.Tag() == tag);
                    CHECK(word.IsEager() == eager);
                    CHECK(word.IsSorting() == sorting);
                    CHECK(word.InUse() == (count != 0 || head != 0 || eager || sorting));
                }
            }
        }
    }
}

TEST_CASE("counter word: a waiter for zero is not satisfied while a thread sorts",
          "[counter_word]") {
    const CounterWord zero{0};
    CHECK(zero.Satisfies(0));
    CHECK(zero.Satisfies(3));
    CHECK(!zero.WithSorting(true).Satisfies(0));
    CHECK(zero.WithSorting(true).Satisfies(1));
    CHECK(zero.WithCount(3).Satisfies(3));
    CHECK(!zero.WithCount(4).Satisfies(3));
}

TEST_CASE("counter: Value and IsZero report it as not zero while a thread sorts",
          "[counter_word]") {
    weft::Counter counter;
    CHECK(counter.IsZero());
    CounterAccess::Word(counter).store(CounterWord{0}.WithSorting(true).bits);
    CHECK(!counter.IsZero());
    CHECK(counter.Value() == 1);
    CounterAccess::Word(counter).store(CounterWord{0}.WithTag(9).bits);
    CHECK(counter.IsZero());
    weft::Counter five(5);
    CHECK(five.Value() == 5);
}

namespace {

// Does not compile if the default constructor of Counter is explicit.
struct Level {
    int number;
    weft::Counter loaded;
    weft::Counter shown[2];
};

}  // namespace

TEST_CASE("counter: aggregates may have counters", "[counter_word]") {
    const Level one{1, {}, {}};
    const Level levels[2] = {{2, {}, {}}, {3, {}, {}}}, none = {};
    CHECK((one.loaded.IsZero() && none.loaded.IsZero()));
    CHECK((levels[0].number == 2 && levels[1].number == 3));
    for (const Level &level : levels) {
        CHECK((level.loaded.IsZero() && level.shown[0].IsZero() && level.shown[1].IsZero()));
    }
    // a number does not become a counter by itself
    CHECK(!std::is_convertible_v<uint32_t, weft::Counter>);
    CHECK(weft::Counter(3).Value() == 3);
}
