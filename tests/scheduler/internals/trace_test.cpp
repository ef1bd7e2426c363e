// The numbers of traced tasks.
#include "scheduler/state/trace.h"

#include <memory>
#include <set>

#include <catch2/catch.hpp>

using namespace weft;

TEST_CASE("trace: numbers of tasks are told exactly where their lower bits begin anew", "[trace]") {
    constexpr uint64_t kRound = uint64_t{1} << internal::kTaskIdBits;
    const auto scheduler = std::make_unique<internal::Scheduler>();
    std::set<uint64_t> numbers;
    for (const uint64_t start : {kRound - 5, 7 * kRound - 2, 7 * kRound}) {
        scheduler->taskIds.store(start);
        for (const uint32_t count : {3u, 1u, 10u, 2000u}) {
            const uint64_t first = internal::NewTaskIds(*scheduler, nullptr, count);
            CHECK(first >= start);
            for (uint64_t number = first; number != first + count; ++number) {
                const uint32_t kept = static_cast<uint32_t>(number) & internal::kTaskIdMask;
                CHECK(kept != 0);
                CHECK(internal::FullTaskId(*scheduler, kept) == number);
                numbers.insert(number);
            }
        }
    }
    // The second and the third start may give the same numbers.
    CHECK(numbers.size() >= 2 * (3 + 1 + 10 + 2000));
    CHECK(internal::FullTaskId(*scheduler, 0) == 0);
}
