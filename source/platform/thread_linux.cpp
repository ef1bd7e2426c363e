// CPUs, priorities and time slices of threads, with the calls of Linux.
#include "platform/thread.h"

#include <cstdio>

#include <pthread.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace weft::env {

namespace {

// A set of CPUs, of any size.
class CpuSet {
public:
    explicit CpuSet(size_t cpus) noexcept
        : m_set(CPU_ALLOC(cpus)), m_bytes(m_set != nullptr ? CPU_ALLOC_SIZE(cpus) : 0) {
        if (m_set != nullptr) CPU_ZERO_S(m_bytes, m_set);
    }
    ~CpuSet() {
        if (m_set != nullptr) CPU_FREE(m_set);
    }
    CpuSet(const CpuSet &) = delete;
    CpuSet &operator=(const CpuSet &) = delete;

    // Reads the CPUs that the process may use, not only the calling thread. Returns false if the
    // set is smaller than the kernel's set.
    bool ReadUsable() noexcept {
        return m_set != nullptr && sched_getaffinity(getpid(), m_bytes, m_set) == 0;
    }
    // Lets the calling thread run on the CPUs of the set, if it is not empty.
    bool Apply() const noexcept {
        return m_set != nullptr && Count() > 0 && sched_setaffinity(0, m_bytes, m_set) == 0;
    }
    size_t Cpus() const noexcept { return m_bytes * 8; }
    bool Has(size_t cpu) const noexcept { return CPU_ISSET_S(cpu, m_bytes, m_set); }
    void Add(size_t cpu) noexcept { CPU_SET_S(cpu, m_bytes, m_set); }
    int Count() const noexcept { return CPU_COUNT_S(m_bytes, m_set); }

private:
    cpu_set_t *m_set;
    size_t m_bytes;
};

// Calls use(usable) with the CPUs of the process. Returns false if they are unknown.
template <class Use>
bool WithUsable(Use use) noexcept {
    for (size_t cpus = 1024; cpus <= 65536; cpus *= 4) {
        CpuSet usable(cpus);
        if (usable.ReadUsable() && usable.Count() > 0) return use(usable);
    }
    return false;
}

}  // namespace

uint32_t UsableCpus() noexcept {
    uint32_t count = 1;
    WithUsable([&](const CpuSet &usable) {
        count = static_cast<uint32_t>(usable.Count());
        return true;
    });
    return count;
}

bool BindThread(const uint64_t *mask, uint32_t words) noexcept {
    return WithUsable([=](const CpuSet &usable) {
        CpuSet both(usable.Cpus());
        for (size_t cpu = 0; cpu < usable.Cpus() && cpu < size_t{words} * 64; ++cpu) {
            if (usable.Has(cpu) && (mask[cpu / 64] >> (cpu % 64) & 1) != 0) both.Add(cpu);
        }
        return both.Apply();
    });
}

bool BindThreadToNth(uint32_t n) noexcept {
    return WithUsable([=](const CpuSet &usable) {
        uint32_t left = n % static_cast<uint32_t>(usable.Count());
        size_t cpu = 0;
        while (!usable.Has(cpu) || left-- != 0) ++cpu;
        CpuSet one(usable.Cpus());
        one.Add(cpu);
        return one.Apply();
    });
}

void NameThread(const char *prefix, uint32_t number) noexcept {
    char name[16];
    std::snprintf(name, sizeof name, "%.10s %u", prefix, number);  // Linux takes 15 characters
    pthread_setname_np(pthread_self(), name);
}

bool AddNice(int nice) noexcept {
    const auto thread = static_cast<id_t>(gettid());  // on Linux each thread has its own nice value
    return setpriority(PRIO_PROCESS, thread, getpriority(PRIO_PROCESS, thread) + nice) == 0;
}

bool SetNice(int nice) noexcept {
    const auto thread = static_cast<id_t>(gettid());
    const auto process = static_cast<id_t>(getpid());  // its first thread
    return setpriority(PRIO_PROCESS, thread, getpriority(PRIO_PROCESS, process) + nice) == 0;
}

// The structure sched_attr of sched_setattr(2). Its header cannot be included together with
// <sched.h>.
struct SchedulingAttributes {
    uint32_t size, policy;
    uint64_t flags;
    int32_t nice;
    uint32_t priority;
    uint64_t runtime, deadline, period;  // in ns; without a deadline, `runtime` is the slice
    uint32_t leastUtilisation, maxUtilisation;
};

// 1 ns. The kernel's default is 50,000.
void SetPreciseSleep() noexcept { prctl(PR_SET_TIMERSLACK, 1); }

void SetSlice(uint32_t microseconds) noexcept {
    SchedulingAttributes attributes{};
    if (syscall(SYS_sched_getattr, 0, &attributes, sizeof attributes, 0) != 0) return;
    // the scheduling policy has no slices of this kind
    if (attributes.policy != SCHED_OTHER && attributes.policy != SCHED_BATCH) return;
    attributes.runtime = uint64_t{microseconds} * 1000;
    syscall(SYS_sched_setattr, 0, &attributes, 0);
}

int32_t CurrentCpu() noexcept { return sched_getcpu(); }

void MoveBehindCpu(int32_t cpu, uint32_t n) noexcept {
    cpu_set_t all;  // of fixed size, to avoid an allocation
    if (cpu < 0 || sched_getaffinity(0, sizeof all, &all) != 0 || CPU_COUNT(&all) == 0) return;
    for (size_t next = static_cast<size_t>(cpu); n != 0; cpu = static_cast<int32_t>(next)) {
        next = (next + 1) % CPU_SETSIZE;
        if (CPU_ISSET(next, &all)) --n;
    }
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(static_cast<size_t>(cpu), &one);
    if (sched_setaffinity(0, sizeof one, &one) == 0) sched_setaffinity(0, sizeof all, &all);
}

}  // namespace weft::env
