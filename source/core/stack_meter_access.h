// The table of a StackMeter. All accesses are relaxed: the figures are only shown, and the key of
// an entry never changes after it was set.
#pragma once

#include "platform/env.h"
#include "weft/trace/stack_meter.h"

#include <cstddef>
#include <cstdint>

namespace weft::internal {

struct StackMeterAccess {
    using Entry = StackMeter::Entry;
    static constexpr uint64_t kFirst = 64;  // the first tasks of each name are all measured

    // Marks the key of a function. No address in a process has this bit.
    static constexpr uintptr_t kIsFunction = ~(~uintptr_t{0} >> 1);

    /// Stores the stack size of a scheduler that begins to use the meter.
    static void Begin(StackMeter &meter, size_t stackBytes) noexcept {
        meter.m_stackBytes.store(stackBytes, kRelaxed);
    }

    /// Counts a task that begins. Its key is its name, or its function if it has none. Returns the
    /// entry of the key if the task is to be measured. Otherwise, or if the table is full, null.
    static Entry *FindNext(StackMeter &meter, const char *name, TaskFunction function) noexcept {
        const uintptr_t key = name != nullptr ? reinterpret_cast<uintptr_t>(name)
                                              : reinterpret_cast<uintptr_t>(function) | kIsFunction;
        const uint64_t hash = key * 0x9e3779b97f4a7c15u >> 32;
        for (uint32_t i = 0; i < StackMeter::kMaxNames; ++i) {
            Entry &entry = meter.m_entries[(hash + i) % StackMeter::kMaxNames];
            uintptr_t held = entry.key.load(kRelaxed);
            if (held == 0 && entry.key.compare_exchange_strong(held, key, kRelaxed, kRelaxed))
                held = key;
            if (held != key) continue;
            const uint64_t before = entry.begun.fetch_add(1, kRelaxed);
            return before < kFirst || before % meter.m_every == 0 ? &entry : nullptr;
        }
        return nullptr;
    }

    static void Note(Entry &entry, size_t bytes) noexcept {
        entry.measured.fetch_add(1, kRelaxed);
        size_t most = entry.bytes.load(kRelaxed);
        while (most < bytes &&
               !entry.bytes.compare_exchange_strong(most, bytes, kRelaxed, kRelaxed)) {
        }
    }
};

}  // namespace weft::internal
