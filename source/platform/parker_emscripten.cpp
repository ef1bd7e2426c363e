// The sleep of a Parker where there is one thread, which nobody can wake.
#include "platform/env_production.h"
#include "platform/parker.h"

namespace weft::env {

// With a deadline it returns at once. The caller looks at the clock, and calls again: a page must
// not return to the browser in the middle of a task.
void Parker::SleepWhile(std::atomic<uint32_t> &, uint32_t, const uint64_t *deadline) noexcept {
    if (deadline == nullptr)
        Panic("a wait has an end: no task can run, and there is no other thread");
}

void Parker::Wake(std::atomic<uint32_t> &) noexcept {}

}  // namespace weft::env
