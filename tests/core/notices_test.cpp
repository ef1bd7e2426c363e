#include "core/notices.h"

#include <catch2/catch.hpp>

using weft::internal::Notices;

TEST_CASE("notices: each is set and cleared by itself", "[notices]") {
    Notices notices;
    CHECK(notices.Look() == 0);
    notices.Show(Notices::kForValue);
    notices.Show(4);
    notices.Show(Notices::kTimed | 4);
    CHECK(notices.Look() == (Notices::kForValue | Notices::kTimed | 4));
    CHECK(notices.Has(4));
    CHECK(notices.Has(4 | 8));
    CHECK(!notices.Has(8 | 16));
    notices.Hide(Notices::kTimed | 8, [] { return false; });
    CHECK(notices.Look() == (Notices::kForValue | 4));
}

TEST_CASE("notices: Hide checks for items after it has cleared the notice", "[notices]") {
    Notices notices;
    notices.Show(1 | 2);
    notices.Hide(1, [&] {
        CHECK(notices.Look() == 2);
        return true;
    });
    CHECK(notices.Look() == (1 | 2));
}
