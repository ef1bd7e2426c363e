// The table of a StackMeter. All accesses are relaxed: the figures are only shown, and an entry
// keeps its key.
#pragma once

#include "platform/env.h"
#include "weft/trace/stack_meter.h"

#include <cstddef>
#include <cstdint>

namespace weft::internal {

struct StackMeterAccess {
    using Entry = StackMeter::Entry;
    static constexpr uint64_t kFirst = 64;  // tasks of each name that are measured at once

    static constexpr uintptr_t kIsFunction = ~(~uintptr_t{0} >> 1);  // no program lies there

    /// The address of the name, or of the function if there is none.
    static uintptr_t KeyOf(const char *name, TaskFunction function) noexcept {
        return name != nullptr ? reinterpret_cast<uintptr_t>(name)
                               : reinterpret_cast<uintptr_t>(function) | kIsFunction;
    }

    /// Returns the entry of a name, a new one if it has none. Null if the table is full.
    static Entry *Find(StackMeter &meter, const char *name, TaskFunction function) noexcept {
        const uintptr_t key = KeyOf(name, function);
        const uint64_t hash = key * 0x9e3779b97f4a7c15u >> 32;
        for (uint32_t i = 0; i < StackMeter::kMaxNames; ++i) {
            Entry &entry = meter.m_entries[(hash + i) % StackMeter::kMaxNames];
            uintptr_t held = entry.key.load(kRelaxed);
            if (held == 0 && entry.key.compare_exchange_strong(held, key, kRelaxed, kRelaxed))
                return &entry;
            if (held == key) return &entry;
        }
        return nullptr;
    }

    /// A scheduler with these stack sizes begins to use the meter.
    static void Begin(StackMeter &meter, size_t smallBytes, size_t largeBytes) noexcept {
        meter.m_stackBytes[static_cast<uint32_t>(StackClass::Small)].store(smallBytes, kRelaxed);
        meter.m_stackBytes[static_cast<uint32_t>(StackClass::Large)].store(largeBytes, kRelaxed);
    }

    /// Tasks of the name belong to the class.
    static void NoteClass(StackMeter &meter, const char *name, TaskFunction function,
                          StackClass stack) noexcept {
        if (Entry *const entry = Find(meter, name, function)) entry->stack.store(stack, kRelaxed);
    }

    /// A task of the name begins. Returns its entry if it is to be measured, otherwise null.
    static Entry *FindNext(StackMeter &meter, const char *name, TaskFunction function) noexcept {
        Entry *const entry = Find(meter, name, function);
        if (entry == nullptr) return nullptr;
        const uint64_t before = entry->begun.fetch_add(1, kRelaxed);
        return before < kFirst || before % meter.m_every == 0 ? entry : nullptr;
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
