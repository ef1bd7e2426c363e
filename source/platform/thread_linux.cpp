#include "platform/thread.h"

#include <pthread.h>
#include <sched.h>

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
    const bool started = pthread_attr_setstacksize(&attributes, stackBytes) == 0 &&
                         pthread_create(&handle, &attributes, Main, this) == 0;
    pthread_attr_destroy(&attributes);
    m_handle = static_cast<uintptr_t>(handle);
    return started;
}

void Thread::Join() noexcept { pthread_join(static_cast<pthread_t>(m_handle), nullptr); }

uint32_t UsableCpus() noexcept {
    cpu_set_t set;
    CPU_ZERO(&set);
    if (sched_getaffinity(0, sizeof set, &set) != 0) return 1;
    const int count = CPU_COUNT(&set);
    return count > 0 ? static_cast<uint32_t>(count) : 1;
}

void YieldThread() noexcept { sched_yield(); }

}  // namespace weft::env
