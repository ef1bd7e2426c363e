#include "platform/thread.h"

#include <pthread.h>
#include <sched.h>
#include <unistd.h>

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
    // The process's mask, not the calling thread's. The call fails while the set is smaller than the kernel's.
    for (size_t cpus = 1024; cpus <= 65536; cpus *= 4) {
        cpu_set_t *set = CPU_ALLOC(cpus);
        if (set == nullptr) break;
        const size_t bytes = CPU_ALLOC_SIZE(cpus);
        const bool known = sched_getaffinity(getpid(), bytes, set) == 0;
        const int count = known ? CPU_COUNT_S(bytes, set) : 0;
        CPU_FREE(set);
        if (count > 0) return static_cast<uint32_t>(count);
    }
    return 1;
}

void YieldThread() noexcept { sched_yield(); }

}  // namespace weft::env
