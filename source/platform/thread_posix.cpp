// Threads with the calls of POSIX.
#include "platform/thread.h"

#include <climits>

#include <pthread.h>
#include <sched.h>
#include <time.h>

namespace weft::env {

void *Thread::Main(void *self) noexcept {
    Thread *thread = static_cast<Thread *>(self);
    thread->m_entry(thread->m_arg);
    return nullptr;
}

bool Thread::Start(void (*entry)(void *), void *arg, size_t stackBytes) noexcept {
    static_assert(sizeof(pthread_t) <= sizeof(m_handle), "the handle must fit");
    m_entry = entry;
    m_arg = arg;
    pthread_attr_t attributes;
    if (pthread_attr_init(&attributes) != 0) return false;
    pthread_t handle{};
    const size_t least = static_cast<size_t>(PTHREAD_STACK_MIN);  // 128 KiB on aarch64
    const bool started =
        pthread_attr_setstacksize(&attributes, stackBytes > least ? stackBytes : least) == 0 &&
        pthread_create(&handle, &attributes, Main, this) == 0;
    pthread_attr_destroy(&attributes);
    m_handle = static_cast<uintptr_t>(handle);
    return started;
}

void Thread::Join() noexcept { pthread_join(static_cast<pthread_t>(m_handle), nullptr); }

void YieldThread() noexcept { sched_yield(); }

void NapThread() noexcept {
    const timespec duration{0, 50'000};
    // a signal may end it early: the caller checks again in any case
    nanosleep(&duration, nullptr);
}

}  // namespace weft::env
