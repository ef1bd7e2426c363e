// Implements the functions that the tasks of all systems call.
#include "bodies.h"

namespace bench {

BENCH_NOINLINE void WriteCell(void *cell) { *static_cast<Cell *>(cell) = Sign(cell); }

namespace {

#if defined(__x86_64__)
uint64_t Ticks() { return __rdtsc(); }
#else
uint64_t Ticks() { return static_cast<uint64_t>(Clock::now().time_since_epoch().count()); }
#endif

double TicksPerNanosecond() {
    static const double rate = [] {
        const Clock::time_point begin = Clock::now();
        const uint64_t ticks = Ticks();
        while (Since(begin) < 20e6) {
        }
        return static_cast<double>(Ticks() - ticks) / Since(begin);
    }();
    return rate;
}

}  // namespace

BENCH_NOINLINE void Spin(double nanoseconds) {
    const uint64_t begin = Ticks();
    const uint64_t ticks = static_cast<uint64_t>(nanoseconds * TicksPerNanosecond());
    while (Ticks() - begin < ticks) {
    }
}

BENCH_NOINLINE uint64_t Node::Work() const {
    uint64_t value = seed;
    for (int i = 0; i < 5; ++i) value = Mix(value + size);
    return value;
}

BENCH_NOINLINE void SumPart(void *part) {
    Part &own = *static_cast<Part *>(part);
    uint64_t sum = 0;
    for (uint32_t i = 0; i < kSummands; ++i) sum += own.first[i];
    own.sum = sum;
}

}  // namespace bench
