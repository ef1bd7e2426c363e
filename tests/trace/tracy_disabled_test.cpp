// weft/trace/tracy.h without TRACY_ENABLE: no hook, and nothing of Tracy.
#include "weft/trace/tracy.h"

#include <type_traits>

#include <catch2/catch.hpp>

using namespace weft;

TEST_CASE("Tracy: without TRACY_ENABLE there is no hook", "[tracy]") {
    static TracyTrace trace;
    CHECK(trace.Hooks().event == nullptr);
    CHECK(trace.Hooks("name").user == nullptr);
    CHECK(std::is_empty_v<TracyTrace>);
}
