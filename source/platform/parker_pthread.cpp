// The sleep of a Parker, with the mutexes and condition variables of POSIX, for systems without a
// call that sleeps on a word.
//
// The addresses of words share a fixed number of condition variables. So a thread may wake without
// a reason, and checks its word again. The sleeper checks the word under the mutex, and the waker
// has written the word before it takes the mutex. So either the sleeper sees what was written, or
// it sleeps when the waker comes. The words may be gone by then, the condition variables stay.
#include "platform/parker.h"

#include "platform/env_production.h"

#include <pthread.h>
#include <time.h>

namespace weft::env {

namespace {

struct Place {
    pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
};

constexpr size_t kPlaces = 256;
Place s_places[kPlaces];

Place &PlaceOf(const std::atomic<uint32_t> &word) noexcept {
    const auto address = static_cast<uint64_t>(reinterpret_cast<uintptr_t>(&word));
    return s_places[(address * 0x9e3779b97f4a7c15u) >> 56];
}

timespec ToTime(uint64_t nanoseconds) noexcept {
    timespec time{};
    time.tv_sec = static_cast<time_t>(nanoseconds / 1'000'000'000);
    time.tv_nsec = static_cast<long>(nanoseconds % 1'000'000'000);
    return time;
}

// May return too early.
void WaitUntil(Place &place, uint64_t deadline) noexcept {
#if defined(__GLIBC__)
    const timespec time = ToTime(deadline);
    pthread_cond_clockwait(&place.condition, &place.mutex, CLOCK_MONOTONIC, &time);
#else
    const uint64_t now = Now();
    if (now >= deadline) return;
#if defined(__APPLE__)
    const timespec left = ToTime(deadline - now);
    pthread_cond_timedwait_relative_np(&place.condition, &place.mutex, &left);
#else
    // The time of day, which may be set meanwhile. So it waits for a second at most.
    const uint64_t left = deadline - now < 1'000'000'000 ? deadline - now : 1'000'000'000;
    timespec time{};
    clock_gettime(CLOCK_REALTIME, &time);
    time = ToTime(static_cast<uint64_t>(time.tv_sec) * 1'000'000'000 +
                  static_cast<uint64_t>(time.tv_nsec) + left);
    pthread_cond_timedwait(&place.condition, &place.mutex, &time);
#endif
#endif
}

}  // namespace

void Parker::SleepWhile(std::atomic<uint32_t> &word, uint32_t value,
                        const uint64_t *deadline) noexcept {
    Place &place = PlaceOf(word);
    pthread_mutex_lock(&place.mutex);
    // relaxed: the mutex orders it after what a waker wrote that has had the mutex
    if (word.load(std::memory_order_relaxed) == value) {
        if (deadline == nullptr) {
            pthread_cond_wait(&place.condition, &place.mutex);
        } else {
            WaitUntil(place, *deadline);
        }
    }
    pthread_mutex_unlock(&place.mutex);
}

// Wakes all: the place may have sleepers of other words, too.
void Parker::Wake(std::atomic<uint32_t> &word) noexcept {
    Place &place = PlaceOf(word);
    pthread_mutex_lock(&place.mutex);
    pthread_cond_broadcast(&place.condition);
    pthread_mutex_unlock(&place.mutex);
}

}  // namespace weft::env
