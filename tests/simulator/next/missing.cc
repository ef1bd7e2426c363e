// What the new scheduler does not have yet, so that the models link. Models that need it do not
// pass (tests/next.txt). weak: a source of the scheduler replaces it.
#include "simulator/virtual_threads.h"
#include "weft/time.h"

namespace weft {

[[gnu::weak]] bool StopFor(TaskScheduler &, std::chrono::nanoseconds) noexcept {
    simulator::Fail("StopFor is missing");
}

}  // namespace weft
