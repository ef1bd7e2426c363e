// Threads, CPUs and priorities with the calls of Windows.
#include "platform/thread.h"

#include "platform/windows_api.h"

#include <algorithm>
#include <climits>
#include <cstdio>

#include <process.h>

namespace weft::env {

void *Thread::Main(void *self) noexcept {
    Thread *thread = static_cast<Thread *>(self);
    thread->m_entry(thread->m_arg);
    return nullptr;
}

bool Thread::Start(void (*entry)(void *), void *arg, size_t stackBytes) noexcept {
    // Windows accepts any size and changes it. A size that is too small shall fail as on other
    // systems.
    constexpr size_t kMinStackBytes = 16 << 10;
    if (stackBytes < kMinStackBytes || stackBytes > UINT_MAX) return false;
    m_entry = entry;
    m_arg = arg;
    const auto main = [](void *self) -> unsigned {
        Main(self);
        return 0;
    };
    m_handle = _beginthreadex(nullptr, static_cast<unsigned>(stackBytes), main, this,
                              STACK_SIZE_PARAM_IS_A_RESERVATION, nullptr);
    return m_handle != 0;
}

void Thread::Join() noexcept {
    const HANDLE handle = reinterpret_cast<HANDLE>(m_handle);
    WaitForSingleObject(handle, INFINITE);
    CloseHandle(handle);
}

namespace {

constexpr unsigned kGroupCpus = 64;

// A thread runs in one group of up to 64 processors, so processors of other groups do not count.
// Word n of a mask is group n.
GROUP_AFFINITY Usable() noexcept {
    GROUP_AFFINITY usable{};
    if (GetThreadGroupAffinity(GetCurrentThread(), &usable) == 0) usable.Mask = 1;
    DWORD_PTR process = 0, system = 0;
    if (GetProcessAffinityMask(GetCurrentProcess(), &process, &system) != 0 && process != 0) {
        usable.Mask = process;
    } else if (const DWORD all = GetActiveProcessorCount(usable.Group); all != 0) {
        // the process has CPUs of several groups
        usable.Mask = ~KAFFINITY{0} >> (kGroupCpus - std::min<DWORD>(all, kGroupCpus));
    }
    return usable;
}

bool Bind(KAFFINITY cpus) noexcept {
    return cpus != 0 && SetThreadAffinityMask(GetCurrentThread(), cpus) != 0;
}

}  // namespace

uint32_t UsableCpus() noexcept {
    uint32_t count = 0;
    for (KAFFINITY cpus = Usable().Mask; cpus != 0; cpus &= cpus - 1) ++count;
    return std::max(count, 1u);
}

// A process cannot leave its own mask, and a thread begins with it, whatever its creator has.
uint32_t GrantedCpus() noexcept { return 0; }
void UnbindThread() noexcept {}

// weft does not read the limits of job objects.
uint32_t CpuQuota() noexcept { return 0; }

bool BindThread(const uint64_t *mask, uint32_t words) noexcept {
    const GROUP_AFFINITY usable = Usable();
    return usable.Group < words && Bind(usable.Mask & mask[usable.Group]);
}

bool BindThreadToNth(uint32_t n) noexcept {
    KAFFINITY cpus = Usable().Mask;
    for (uint32_t left = n % UsableCpus(); left > 0; --left) cpus &= cpus - 1;
    return Bind(cpus & ~(cpus - 1));
}

void NameThread(const char *prefix, uint32_t number) noexcept {
    // Found at run time, because mingw's headers do not declare it yet.
    using SetDescription = HRESULT(WINAPI *)(HANDLE, const wchar_t *);
    const HMODULE kernel = GetModuleHandleW(L"kernel32.dll");
    const auto found = reinterpret_cast<void (*)()>(GetProcAddress(kernel, "SetThreadDescription"));
    char name[64];
    wchar_t wide[64];
    std::snprintf(name, sizeof name, "%.50s %u", prefix, number);
    if (found == nullptr || MultiByteToWideChar(CP_UTF8, 0, name, -1, wide, 64) == 0) return;
    reinterpret_cast<SetDescription>(found)(GetCurrentThread(), wide);
}

// Windows has few levels of priority: ten steps of the nice value are one level.
bool AddNice(int nice) noexcept {
    const int now = GetThreadPriority(GetCurrentThread());
    if (now == THREAD_PRIORITY_ERROR_RETURN) return false;
    const int levels = nice > 0 ? -((nice + 9) / 10) : (9 - nice) / 10;
    return SetThreadPriority(GetCurrentThread(), std::clamp(now + levels, THREAD_PRIORITY_LOWEST,
                                                            THREAD_PRIORITY_HIGHEST)) != 0;
}

// A thread begins with the normal priority of the process, whatever its creator has.
bool SetNice(int nice) noexcept { return AddNice(nice); }

// Without effect: Windows raises the priority of a woken thread for a while, and slices have the
// same length for all threads.
void SetSlice(uint32_t) noexcept {}
void SetPreciseSleep() noexcept {}

int32_t CurrentCpu() noexcept {
    PROCESSOR_NUMBER cpu;
    GetCurrentProcessorNumberEx(&cpu);
    return static_cast<int32_t>(cpu.Group * kGroupCpus + cpu.Number);
}

void MoveBehindCpu(int32_t cpu, uint32_t n) noexcept {
    GROUP_AFFINITY all{};
    if (cpu < 0 || GetThreadGroupAffinity(GetCurrentThread(), &all) == 0 || all.Mask == 0) return;
    unsigned at = static_cast<unsigned>(cpu) % kGroupCpus;
    while (n != 0) {
        at = (at + 1) % kGroupCpus;
        if ((all.Mask >> at & 1) != 0) --n;
    }
    if (Bind(KAFFINITY{1} << at)) Bind(all.Mask);
}

void YieldThread() noexcept { SwitchToThread(); }

void NapThread() noexcept { ::Sleep(1); }

}  // namespace weft::env
