#include "weft/trace/stack_meter.h"

#include "core/stack_meter_access.h"

namespace weft {

using namespace internal;

uint32_t StackMeter::ForEach(void (*tell)(const StackUse &use, void *user),
                             void *user) const noexcept {
    uint32_t count = 0;
    for (const Entry &entry : m_entries) {
        StackUse use;
        use.measured = entry.measured.load(kRelaxed);
        if (use.measured == 0) continue;
        const uintptr_t key = entry.key.load(kRelaxed);
        if ((key & StackMeterAccess::kIsFunction) != 0)
            use.function = reinterpret_cast<TaskFunction>(key & ~StackMeterAccess::kIsFunction);
        else
            use.task = reinterpret_cast<const char *>(key);
        use.bytes = entry.bytes.load(kRelaxed);
        use.stackBytes = m_stackBytes.load(kRelaxed);
        tell(use, user);
        ++count;
    }
    return count;
}

}  // namespace weft
