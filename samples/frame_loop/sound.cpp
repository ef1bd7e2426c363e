// Implements sound.h.
#include "sound.h"

#include <algorithm>

namespace frame_loop {

// A lump of a sound: format 3, samples a second, number of samples (32 bits), and 8-bit samples.
// The first and the last 16 samples are padding.
Sound ReadSound(const Wad &wad, const std::string &name) {
    constexpr size_t kHeaderBytes = 8, kPad = 16;
    const Lump *lump = wad.Find(name);
    const Bytes bytes = lump == nullptr ? Bytes{} : lump->bytes;
    const size_t count = bytes.U32(4);
    if (bytes.U16(0) != 3 || bytes.U16(2) == 0 || count <= 2 * kPad ||
        count + kHeaderBytes > bytes.size)
        return {};
    const uint8_t *samples = bytes.data + kHeaderBytes;
    return {bytes.U16(2), {samples + kPad, samples + count - kPad}};
}

void Mixer::Mix(int16_t *samples, size_t count) {
    uint32_t number = 0;
    while (m_ring.Pop(&number)) {
        if (number >= m_sounds.size() || m_sounds[number].rate == 0) continue;
        m_voices[m_next] = {&m_sounds[number], 0};
        m_next = (m_next + 1) % m_voices.size();
    }
    constexpr int kGain = 64;  // of 256: four sounds at once are not cut
    for (size_t i = 0; i < count; ++i) {
        int sum = 0;
        for (Voice &voice : m_voices) {
            if (voice.sound == nullptr) continue;
            sum += (voice.sound->samples[voice.place >> 16] - 128) * kGain;
            voice.place += (static_cast<uint64_t>(voice.sound->rate) << 16) / m_rate;
            if (voice.place >> 16 >= voice.sound->samples.size()) voice.sound = nullptr;
        }
        samples[i] = static_cast<int16_t>(std::clamp(sum, -32768, 32767));
    }
}

}  // namespace frame_loop
