// The rest of thread.h where the system has only pthreads: no CPU masks, no time slices, and no
// nice values of threads.
#include "platform/thread.h"

#include <cstdio>

#include <pthread.h>
#include <unistd.h>
#if defined(__FreeBSD__) || defined(__OpenBSD__)
#include <pthread_np.h>
#endif

namespace weft::env {

uint32_t UsableCpus() noexcept {
    const long count = sysconf(_SC_NPROCESSORS_ONLN);
    return count > 0 ? static_cast<uint32_t>(count) : 1;
}

uint32_t GrantedCpus() noexcept { return 0; }
uint32_t CpuQuota() noexcept { return 0; }

void NameThread(const char *prefix, uint32_t number) noexcept {
    char name[16];
    std::snprintf(name, sizeof name, "%.10s %u", prefix, number);
#if defined(__APPLE__)
    pthread_setname_np(name);
#elif defined(__FreeBSD__) || defined(__OpenBSD__)
    pthread_set_name_np(pthread_self(), name);
#elif defined(__linux__)
    pthread_setname_np(pthread_self(), name);
#endif
}

// The caller reports that the system refuses it.
bool AddNice(int nice) noexcept { return nice == 0; }
bool SetNice(int nice) noexcept { return nice == 0; }
void UnbindThread() noexcept {}
bool BindThread(const uint64_t *, uint32_t) noexcept { return false; }
bool BindThreadToNth(uint32_t) noexcept { return false; }

void SetSlice(uint32_t) noexcept {}
void SetPreciseSleep() noexcept {}
int32_t CurrentCpu() noexcept { return -1; }
void MoveBehindCpu(int32_t, uint32_t) noexcept {}

}  // namespace weft::env
