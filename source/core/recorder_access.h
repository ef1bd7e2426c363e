// Makes the rings of a Recorder, in the memory of the host.
#pragma once

#include "core/trace_rings.h"
#include "weft/trace/recorder.h"

#include <cstddef>
#include <memory>
#include <new>

namespace weft::internal {

struct RecorderAccess {
    /// Makes rings for a run with that many slots. Returns null if the memory is too small.
    static TraceRings *Begin(Recorder &recorder, uint32_t slots) noexcept {
        recorder.m_rings = nullptr;
        recorder.m_frameBegan.store(0, kRelaxed);  // no thread of the run exists yet
        void *at = recorder.m_memory;
        size_t left = recorder.m_bytes;
        const uint32_t count = slots + 1;
        auto *rings = Take<TraceRings>(at, left, 1);
        auto *ring = rings != nullptr ? Take<TraceRing>(at, left, count) : nullptr;
        if (ring == nullptr || std::align(alignof(TraceRing::Cell), 1, at, left) == nullptr)
            return nullptr;
        const size_t capacity = left / sizeof(TraceRing::Cell) / count;
        auto *cells = capacity >= kLeastCapacity ? Take<TraceRing::Cell>(at, left, capacity * count)
                                                 : nullptr;
        if (cells == nullptr) return nullptr;
        rings->rings = ring;
        rings->count = count;
        for (uint32_t i = 0; i < count; ++i) ring[i].Use(cells + i * capacity, capacity);
        return recorder.m_rings = rings;
    }

    /// A frame has ended. Returns how long it took, in ticks; 0 for the first one of a run.
    /// relaxed: one number after the other.
    static uint64_t EndFrame(Recorder &recorder, uint64_t now) noexcept {
        const uint64_t began = recorder.m_frameBegan.exchange(now, kRelaxed);
        return began != 0 ? now - began : 0;
    }
    static const RecorderOptions &OptionsOf(const Recorder &recorder) noexcept {
        return recorder.m_options;
    }

private:
    static constexpr size_t kLeastCapacity = 64;

    // Makes `count` objects at the beginning of the memory that is left. Returns null if they have
    // no room.
    template <class T>
    static T *Take(void *&at, size_t &left, size_t count) noexcept {
        if (std::align(alignof(T), count * sizeof(T), at, left) == nullptr) return nullptr;
        T *first = static_cast<T *>(at);
        for (size_t i = 0; i < count; ++i) new (first + i) T();
        at = first + count;
        left -= count * sizeof(T);
        return first;
    }
};

}  // namespace weft::internal
