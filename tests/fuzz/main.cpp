// The entry point for libFuzzer: plays an input as a sequence of calls, valid ones and mistakes.
// See tests/fuzz.sh.
#include "fuzz/world.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes) {
    fuzz::World({data, bytes}).Play();
    return 0;
}
