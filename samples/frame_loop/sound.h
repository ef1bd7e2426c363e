// The sounds of a WAD, and a mixer for an audio thread that must never wait. The game gives it
// sounds through a ring.
#pragma once

#include "wad.h"

#include <array>
#include <atomic>

namespace frame_loop {

struct Sound {
    int rate = 0;                  // samples a second; 0: there is no sound
    std::vector<uint8_t> samples;  // 128 is silence
};

/// Returns a sound of the WAD (DSPISTOL and others). It is empty if the WAD has none of this name,
/// or if the lump is broken.
Sound ReadSound(const Wad &wad, const std::string &name);

/// Passes numbers of sounds from one thread at a time (the producer) to another (the consumer).
/// Takes no lock and no memory. Neither side waits for the other.
class SoundRing {
public:
    static constexpr uint32_t kSlots = 32;

    /// Adds a number. Returns false, and drops it, if 32 numbers have not been taken yet. Only for
    /// the producer. Calls on several threads must be ordered, as those of a stage of a
    /// FramePipeline are: a stage of a frame begins after the same stage of the frame before.
    bool Push(uint32_t sound) {
        // relaxed: only the producer writes it
        const uint32_t written = m_written.load(std::memory_order_relaxed);
        // acquire: pairs with the release in Pop, so the consumer has read the slot before it is
        // overwritten below
        if (written - m_taken.load(std::memory_order_acquire) == kSlots) return false;
        m_slots[written % kSlots] = sound;
        // release: publishes the slot to the acquire in Pop
        m_written.store(written + 1, std::memory_order_release);
        return true;
    }

    /// Takes the oldest number. Returns false if there is none. Only for the consumer.
    bool Pop(uint32_t *sound) {
        // relaxed: only the consumer writes it
        const uint32_t taken = m_taken.load(std::memory_order_relaxed);
        // acquire: pairs with the release in Push, so the slot has its number
        if (taken == m_written.load(std::memory_order_acquire)) return false;
        *sound = m_slots[taken % kSlots];
        // release: the slot has been read; Push may overwrite it
        m_taken.store(taken + 1, std::memory_order_release);
        return true;
    }

    /// Returns how many numbers have been taken, modulo 2^32. Thread-safe.
    uint32_t Taken() const {
        return m_taken.load(std::memory_order_relaxed);  // relaxed: a count; nothing is read by it
    }

private:
    std::array<uint32_t, kSlots> m_slots{};
    // cache lines of their own, since two threads write them
    alignas(64) std::atomic<uint32_t> m_written{0};
    alignas(64) std::atomic<uint32_t> m_taken{0};
};

/// Mixes sounds for an audio callback. Mix is for the audio thread alone: it allocates nothing and
/// takes no lock.
class Mixer {
public:
    /// `rate`: samples a second of the result. `sounds` and `ring` must outlive the mixer.
    Mixer(const std::vector<Sound> &sounds, SoundRing &ring, int rate)
        : m_sounds(sounds), m_ring(ring), m_rate(rate) {}

    /// Begins the sounds of the ring, and writes the next `count` samples. Of more than 8 sounds at
    /// once, the oldest ends. Numbers of sounds that do not exist are dropped.
    void Mix(int16_t *samples, size_t count);

private:
    struct Voice {
        const Sound *sound = nullptr;
        uint64_t place = 0;  // in the sound, 48.16
    };
    const std::vector<Sound> &m_sounds;
    SoundRing &m_ring;
    int m_rate;
    std::array<Voice, 8> m_voices{};
    size_t m_next = 0;  // the voice that begins next; it is the oldest
};

}  // namespace frame_loop
