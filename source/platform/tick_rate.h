// How fast the ticks go, measured with a clock.
#pragma once

#include <cstdint>

namespace weft::env {

/// The clock's nanoseconds, and the ticks at that moment.
struct TickReading {
    uint64_t ticks = 0;
    uint64_t nanoseconds = 0;
};

/// Who is interrupted between looks at the two has looked at different moments. So the clock is
/// read between two looks at the ticks, and of several tries the one counts whose looks are the
/// closest.
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

/// Ticks per microsecond, in the next `duration` nanoseconds or a little more.
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
