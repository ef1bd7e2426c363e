// Recursions that overflow the stack.
#include "support/stack_overflow.h"

#include <cstdint>

namespace test {

namespace {

// Uses its frame before and after the call, so that each call needs a frame.
uint32_t Recurse(volatile char *from, uint32_t depth) {
    volatile char frame[512];
    frame[0] = *from;
    if (depth == 0) return 1;
    const uint32_t below = Recurse(frame, depth - 1);
    *from = frame[0];
    return below + 1;
}

// -fstack-clash-protection touches each page of a large frame in order.
uint32_t RecurseInLeaps(volatile char *from, uint32_t depth) {
    volatile char frame[64 << 10];
    frame[0] = *from;
    if (depth == 0) return 1;
    const uint32_t below = RecurseInLeaps(frame, depth - 1);
    *from = frame[0];
    return below + 1;
}

}  // namespace

void OverflowStack(bool leaps) {
    volatile char first = 0;
    constexpr uint32_t kForEver = 1u << 30;
    leaps ? RecurseInLeaps(&first, kForEver) : Recurse(&first, kForEver);
}

}  // namespace test
