// Measures the rate of the tick counter with a clock.
#pragma once

#include <cstdint>

namespace weft::env {

/// A time of the clock, and the ticks at the same moment.
struct TickReading {
    uint64_t ticks = 0;
    uint64_t nanoseconds = 0;
};

/// Reads both at almost the same moment. The thread may be interrupted between the two readings. So
/// it reads the clock between two readings of the ticks, makes several attempts, and uses the
/// attempt with the least ticks in between.
template <class Ticks, class Nanoseconds>
TickReading ReadTogether(Ticks ticks, Nanoseconds nanoseconds) noexcept {
    TickReading best;
    uint64_t closest = ~uint64_t{0};
    for (int i = 0; i < 8; ++i) {
        const uint64_t before = ticks();
        const uint64_t now = nanoseconds();
        const uint64_t apart = ticks() - before;
        if (apart >= closest) continue;
        closest = apart;
        best = {before + apart / 2, now};
    }
    return best;
}

/// Measures the ticks per microsecond. Takes `duration` nanoseconds or a little more.
template <class Ticks, class Nanoseconds>
double MeasureTickRate(Ticks ticks, Nanoseconds nanoseconds, uint64_t duration) noexcept {
    const TickReading begin = ReadTogether(ticks, nanoseconds);
    while (nanoseconds() - begin.nanoseconds < duration) {
    }
    const TickReading end = ReadTogether(ticks, nanoseconds);
    return static_cast<double>(end.ticks - begin.ticks) * 1000.0 /
           static_cast<double>(end.nanoseconds - begin.nanoseconds);
}

}  // namespace weft::env
