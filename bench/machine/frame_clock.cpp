// Defines the clock and Spin for described frames in virtual time.
#include "bodies.h"
#include "frame/clock.h"
#include "machine/machine.h"

namespace frame {

int64_t NowNs() { return static_cast<int64_t>(machine::Now()); }

}  // namespace frame

namespace bench {

BENCH_NOINLINE void Spin(double nanoseconds) { machine::Work(nanoseconds); }

}  // namespace bench
