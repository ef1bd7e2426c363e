// The name of the calling thread, the CPUs that it may use, and its nice value. Linux only.
#pragma once

#include "support/child_process.h"

#include <cstdint>
#include <string>
#include <vector>

#include <pthread.h>
#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>

namespace test {

using Cpus = std::vector<uint32_t>;

/// Returns the CPUs in ascending order, or nothing if the system does not say.
inline Cpus CpusOfThread() {
    std::vector<cpu_set_t> sets(64);
    const size_t bytes = sets.size() * sizeof(cpu_set_t);
    Cpus cpus;
    if (sched_getaffinity(0, bytes, sets.data()) != 0) return cpus;
    for (uint32_t cpu = 0; cpu < bytes * 8; ++cpu) {
        if (CPU_ISSET_S(cpu, bytes, sets.data())) cpus.push_back(cpu);
    }
    return cpus;
}

/// Restricts the calling thread to these CPUs. Returns false if the system refuses.
inline bool Restrict(const Cpus &cpus) {
    std::vector<cpu_set_t> sets(64);
    const size_t bytes = sets.size() * sizeof(cpu_set_t);
    CPU_ZERO_S(bytes, sets.data());
    for (const uint32_t cpu : cpus) CPU_SET_S(cpu, bytes, sets.data());
    return sched_setaffinity(0, bytes, sets.data()) == 0;
}

/// Runs a test case in a new process that begins on this CPU, as taskset does. It writes what
/// Catch2 says to ChildResult::output.
inline ChildResult RunAgain(uint32_t cpu, const char *testCase) {
    return RunInChild([&] {
        if (!Restrict({cpu})) _exit(1);
        dup2(STDERR_FILENO, STDOUT_FILENO);
        execl("/proc/self/exe", "tests", testCase, nullptr);
        _exit(2);
    });
}

inline int NiceOfThread() { return getpriority(PRIO_PROCESS, static_cast<id_t>(gettid())); }

/// What the system knows of a thread.
struct Place {
    std::string name;
    Cpus cpus;
    int nice = 0;
    bool operator==(const Place &other) const {
        return name == other.name && cpus == other.cpus && nice == other.nice;
    }
};

inline Place PlaceOfThread() {
    char name[64] = "";
    pthread_getname_np(pthread_self(), name, sizeof name);
    return {name, CpusOfThread(), NiceOfThread()};
}

}  // namespace test
