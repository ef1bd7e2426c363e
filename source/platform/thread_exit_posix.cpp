// Exit calls with a pthread key.
#include "platform/thread_exit.h"

#include <atomic>

#include <pthread.h>

namespace weft::env {

namespace {

pthread_mutex_t s_keyMutex = PTHREAD_MUTEX_INITIALIZER;
pthread_key_t s_key;
std::atomic<bool> s_made{false};

void Call(void *exit) {
    const ExitCall called = *static_cast<ExitCall *>(exit);
    called.call(called.arg);
}

// Makes the key if there is none yet. After a failure the next caller tries again.
bool HasKey() noexcept {
    // acquire: pairs with the release below. The key is visible.
    if (s_made.load(std::memory_order_acquire)) return true;
    pthread_mutex_lock(&s_keyMutex);
    bool made = s_made.load(std::memory_order_relaxed);  // relaxed: it is written under the mutex
    if (!made) made = pthread_key_create(&s_key, Call) == 0;
    s_made.store(made, std::memory_order_release);
    pthread_mutex_unlock(&s_keyMutex);
    return made;
}

}  // namespace

bool AtThreadExit(ExitCall *exit) noexcept {
    return HasKey() && pthread_setspecific(s_key, exit) == 0;
}

}  // namespace weft::env
