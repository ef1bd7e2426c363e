// Tests the sounds of the sample frame_loop: the lumps, the ring between two threads, the mixer.
#include "frame_loop/sound.h"

#include "samples/frame_loop/game_files.h"
#include "support/spin.h"

#include <thread>

using namespace frame_loop;

namespace {

// A WAD with one lump: DSTEST, with the given header, and samples from 1 to `bytes`.
void MakeWad(Wad *wad, uint16_t format, uint16_t rate, uint32_t count, size_t bytes) {
    std::vector<uint8_t> file{'P', 'W', 'A', 'D', 1, 0, 0, 0, 12, 0, 0, 0};
    const auto add = [&](uint32_t value, int size) {
        for (int i = 0; i < size; ++i) file.push_back(static_cast<uint8_t>(value >> (8 * i)));
    };
    add(28, 4);
    add(static_cast<uint32_t>(8 + bytes), 4);
    for (const char letter : {'D', 'S', 'T', 'E', 'S', 'T', '\0', '\0'})
        file.push_back(static_cast<uint8_t>(letter));
    add(format, 2);
    add(rate, 2);
    add(count, 4);
    for (size_t i = 1; i <= bytes; ++i) add(static_cast<uint32_t>(i), 1);
    REQUIRE(ParseWad(std::move(file), wad) == "");
}

Sound SoundOf(uint16_t format, uint16_t rate, uint32_t count, size_t bytes) {
    Wad wad;
    MakeWad(&wad, format, rate, count, bytes);
    return ReadSound(wad, "DSTEST");
}

}  // namespace

TEST_CASE("frame_loop: a sound is read without its padding", "[frame_loop]") {
    const Sound sound = SoundOf(3, 11025, 35, 35);
    CHECK(sound.rate == 11025);
    CHECK(sound.samples == std::vector<uint8_t>{17, 18, 19});
    CHECK(ReadSound(test::Freedoom(), "DSHOOF").samples.size() > 1000);
}

TEST_CASE("frame_loop: a broken or missing sound is empty", "[frame_loop]") {
    CHECK(SoundOf(3, 11025, 36, 35).rate == 0);   // longer than its lump
    CHECK(SoundOf(3, 11025, ~0u, 35).rate == 0);  // so that a sum overflows 32 bits
    CHECK(SoundOf(3, 11025, 32, 35).rate == 0);   // padding only
    CHECK(SoundOf(3, 0, 35, 35).rate == 0);       // no rate
    CHECK(SoundOf(0, 11025, 35, 35).rate == 0);   // another format
    CHECK(ReadSound(test::Freedoom(), "DSNONE").rate == 0);
}

TEST_CASE("frame_loop: the ring of sounds drops what does not fit, and keeps the order",
          "[frame_loop]") {
    SoundRing ring;
    uint32_t sound = 0;
    CHECK_FALSE(ring.Pop(&sound));
    for (uint32_t i = 0; i < SoundRing::kSlots; ++i) REQUIRE(ring.Push(i));
    CHECK_FALSE(ring.Push(99));
    CHECK(ring.Taken() == 0);
    for (uint32_t i = 0; i < SoundRing::kSlots; ++i) {
        REQUIRE(ring.Pop(&sound));
        REQUIRE(sound == i);
    }
    CHECK_FALSE(ring.Pop(&sound));
    CHECK(ring.Taken() == SoundRing::kSlots);
}

TEST_CASE("frame_loop: the ring of sounds loses nothing between two threads", "[frame_loop]") {
    constexpr uint32_t kSounds = 20000;
    SoundRing ring;
    uint32_t wrong = 0, taken = 0;
    std::thread consumer([&] {
        for (uint32_t sound = 0; taken < kSounds; ++taken) {
            if (!test::SpinUntil([&] { return ring.Pop(&sound); })) return;
            wrong += sound != taken;
        }
    });
    uint32_t pushed = 0;
    while (pushed < kSounds && test::SpinUntil([&] { return ring.Push(pushed); })) ++pushed;
    consumer.join();
    CHECK(pushed == kSounds);
    CHECK(taken == kSounds);
    CHECK(wrong == 0);
}

TEST_CASE("frame_loop: the mixer adds sounds, and is silent after them", "[frame_loop]") {
    const std::vector<Sound> sounds{{100, {228, 28, 128}}, {50, {138}}, {}};
    SoundRing ring;
    Mixer mixer(sounds, ring, 100);
    std::array<int16_t, 5> mixed{};
    for (const uint32_t sound : {0, 1, 2, 77}) ring.Push(sound);  // 2 is empty, 77 is none
    mixer.Mix(mixed.data(), mixed.size());
    // the second sound has half the rate, so its sample is heard twice
    CHECK(mixed == std::array<int16_t, 5>{110 * 64, -90 * 64, 0, 0, 0});
    for (int i = 0; i < 10; ++i) ring.Push(0);  // more than the mixer's 8 voices
    mixer.Mix(mixed.data(), mixed.size());
    CHECK(mixed == std::array<int16_t, 5>{32767, -32768, 0, 0, 0});
    mixer.Mix(mixed.data(), mixed.size());
    CHECK(mixed == std::array<int16_t, 5>{});
}
