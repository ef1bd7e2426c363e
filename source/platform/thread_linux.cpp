// CPUs, priorities and time slices of threads, with the calls of Linux.
#include "platform/thread.h"

#include "weft/options.h"

#include <algorithm>
#include <cstdio>
#include <cstring>

#include <pthread.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace weft::env {

namespace {

// A set of CPUs.
class CpuSet {
public:
    static constexpr size_t kMost = 8192;  // the most that Linux can have

    CpuSet() noexcept { CPU_ZERO_S(sizeof m_set, m_set); }

    bool Has(size_t cpu) const noexcept { return CPU_ISSET_S(cpu, sizeof m_set, m_set); }
    void Add(size_t cpu) noexcept { CPU_SET_S(cpu, sizeof m_set, m_set); }
    void Add(const CpuSet &more) noexcept { CPU_OR_S(sizeof m_set, m_set, m_set, more.m_set); }
    void AddAll() noexcept { std::memset(m_set, 0xff, sizeof m_set); }
    uint32_t Count() const noexcept {
        return static_cast<uint32_t>(CPU_COUNT_S(sizeof m_set, m_set));
    }
    bool operator==(const CpuSet &other) const noexcept {
        return CPU_EQUAL_S(sizeof m_set, m_set, other.m_set) != 0;
    }

    // Reads the CPUs of a thread; 0 = the calling one.
    bool Read(pid_t thread) noexcept { return sched_getaffinity(thread, sizeof m_set, m_set) == 0; }
    // Lets the calling thread run on those CPUs of the set that the system grants. Returns false if
    // it grants none.
    bool Apply() const noexcept { return sched_setaffinity(0, sizeof m_set, m_set) == 0; }

    // Removes the CPUs that the system does not grant. Returns false if it does not tell. Only a
    // thread that asks for CPUs learns which ones it gets, so a short-lived thread does.
    bool Ask() noexcept {
        struct Question {
            CpuSet cpus;
            bool isAnswered;
        } question{*this, false};
        const auto ask = [](void *arg) {
            Question &its = *static_cast<Question *>(arg);
            its.isAnswered = its.cpus.Apply() && its.cpus.Read(0);
        };
        Thread thread;
        if (!thread.Start(ask, &question, 64 << 10)) return false;
        thread.Join();
        if (question.isAnswered) *this = question.cpus;
        return question.isAnswered;
    }

    void CopyTo(uint64_t *mask, uint32_t words) const noexcept {
        std::memcpy(mask, m_set, std::min(words * sizeof *mask, sizeof m_set));
    }

private:
    static_assert(sizeof(cpu_set_t) % sizeof(uint64_t) == 0, "masks of weft have the same layout");
    cpu_set_t m_set[kMost / CPU_SETSIZE];
};

CpuSet CpusOf(pid_t thread) noexcept {
    CpuSet cpus;
    cpus.Read(thread);
    return cpus;
}

// The CPUs that the process was given: those of its first thread when weft was loaded, which is
// before main. Later the program may bind that thread to some of them. Nothing tells this apart
// from a mask of taskset afterwards. So this is the only code of the library that runs before main.
#if defined(__clang__)
#pragma clang diagnostic ignored "-Wglobal-constructors"
#endif
const CpuSet s_given = CpusOf(getpid());

// Returns the CPUs that the process has: those that it was given, and those that its first thread
// has now. The system may grant fewer, if the cpuset of the process has been changed meanwhile.
CpuSet WithGiven(CpuSet ofFirstThread) noexcept {
    ofFirstThread.Add(s_given);
    return ofFirstThread;
}

// Returns those of them that the system grants.
CpuSet Usable() noexcept {
    const CpuSet now = CpusOf(getpid());
    CpuSet usable = WithGiven(now);
    // The system grants what the first thread has. Usually nothing has bound it.
    const bool isBound = now.Count() != 0 && !(usable == now);
    return isBound && !usable.Ask() ? now : usable;
}

}  // namespace

uint32_t UsableCpus() noexcept { return std::max(Usable().Count(), 1u); }

uint32_t GrantedCpus() noexcept {
    CpuSet all;
    all.AddAll();
    return all.Ask() ? all.Count() : 0;
}

void UnbindThread() noexcept {
    const CpuSet process = WithGiven(CpusOf(getpid()));
    if (!(CpusOf(0) == process)) process.Apply();
}

bool BindThread(const uint64_t *mask, uint32_t words) noexcept {
    // a cpu_set_t has the same layout
    return sched_setaffinity(0, words * sizeof *mask, reinterpret_cast<const cpu_set_t *>(mask)) ==
           0;
}

bool BindThreadToNth(uint32_t n) noexcept {
    UnbindThread();
    const CpuSet usable = CpusOf(0);
    if (usable.Count() == 0) return false;
    uint32_t left = n % usable.Count();
    size_t cpu = 0;
    while (!usable.Has(cpu) || left-- != 0) ++cpu;
    CpuSet one;
    one.Add(cpu);
    return one.Apply();
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
    const CpuSet all = CpusOf(0);
    if (cpu < 0 || all.Count() == 0) return;
    size_t at = static_cast<size_t>(cpu);
    while (n != 0) {
        at = (at + 1) % CpuSet::kMost;
        if (all.Has(at)) --n;
    }
    CpuSet one;
    one.Add(at);
    if (one.Apply()) all.Apply();
}

}  // namespace weft::env

namespace weft::internal {

uint32_t ReadUsableCpus(uint64_t *mask, uint32_t words) noexcept {
    const env::CpuSet usable = env::Usable();
    std::fill_n(mask, words, uint64_t{0});
    usable.CopyTo(mask, words);
    return usable.Count();
}

}  // namespace weft::internal
