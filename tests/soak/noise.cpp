// The signals and the changes of CPU masks.
#include "soak/noise.h"

#include "soak/figures.h"

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <vector>

#include <dirent.h>
#include <sched.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

namespace soak {

namespace {

std::atomic<uint64_t> *s_signals = nullptr;

// Runs on the current stack of the thread. It writes to a part of this stack, and checks that
// nothing else writes to it.
void OnSignal(int) {
    const int error = errno;
    volatile unsigned char frame[1024];
    const unsigned char mark =
        static_cast<unsigned char>(s_signals->fetch_add(1, std::memory_order_relaxed));
    for (unsigned char volatile &byte : frame) byte = mark;
    for (unsigned char volatile &byte : frame) {
        if (byte != mark) std::abort();
    }
    errno = error;
}

void SetTimer(long microseconds) {
    const itimerval timer{{0, microseconds}, {0, microseconds}};
    setitimer(ITIMER_PROF, &timer, nullptr);
}

std::vector<pid_t> Threads() {
    std::vector<pid_t> threads;
    DIR *folder = opendir("/proc/self/task");
    if (folder == nullptr) return threads;
    while (const dirent *entry = readdir(folder)) {
        const pid_t thread = std::atoi(entry->d_name);
        if (thread != 0) threads.push_back(thread);
    }
    closedir(folder);
    return threads;
}

cpu_set_t SomeOf(const cpu_set_t &all, Random &random) {
    cpu_set_t some;
    do {
        CPU_ZERO(&some);
        for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
            if (CPU_ISSET(cpu, &all) && random.OneIn(2)) CPU_SET(cpu, &some);
        }
    } while (CPU_COUNT(&some) == 0);
    return some;
}

void Disturb(const std::atomic<bool> &stop, Figures &figures) {
    const pid_t process = getpid(), self = static_cast<pid_t>(syscall(SYS_gettid));
    cpu_set_t all;
    sched_getaffinity(0, sizeof all, &all);
    Random random(static_cast<uint64_t>(process));
    for (uint32_t turn = 0; !stop.load(); ++turn) {
        const bool masks = turn % 4 == 0;
        const cpu_set_t some = SomeOf(all, random);
        for (const pid_t thread : Threads()) {
            if (thread == self) continue;
            if (masks) sched_setaffinity(thread, sizeof some, &some);
            syscall(SYS_tgkill, process, thread, SIGPROF);  // the thread may have ended
        }
        if (masks) figures.masks.fetch_add(1);
        usleep(1000);
    }
    for (const pid_t thread : Threads()) sched_setaffinity(thread, sizeof all, &all);
}

}  // namespace

Noise::Noise(Figures &figures) {
    s_signals = &figures.signals;
    struct sigaction action {};
    action.sa_handler = OnSignal;
    action.sa_flags = SA_RESTART;
    sigaction(SIGPROF, &action, nullptr);
    m_thread = std::thread([this, &figures] { Disturb(m_stop, figures); });
    SetTimer(1000);
}

Noise::~Noise() {
    SetTimer(0);
    m_stop.store(true);
    m_thread.join();
}

}  // namespace soak
