// Sequences of calls, valid and abusive, for libFuzzer: see tests/fuzz.sh.
#include "fuzz/world.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes) {
    fuzz::World({data, bytes}).Play();
    return 0;
}
