// Threads, their CPUs and their priorities.
#pragma once

#include <cstddef>
#include <cstdint>

namespace weft::env {

/// An OS thread with its own stack size. It must stay at its address until Join returns. Start
/// returns false if the system refuses. Call Join after each Start that succeeded.
class Thread {
public:
    bool Start(void (*entry)(void *), void *arg, size_t stackBytes) noexcept;
    void Join() noexcept;

private:
    uintptr_t m_handle = 0;
    void (*m_entry)(void *) = nullptr;
    void *m_arg = nullptr;
    static void *Main(void *self) noexcept;
};

/// Returns how many CPUs this process may use, at least 1: those that it was given when it began,
/// even if its first thread is bound to fewer of them now.
uint32_t UsableCpus() noexcept;

/// Returns how many CPUs the system grants to a thread of this process that asks for all of them,
/// or 0 if that is unknown.
uint32_t GrantedCpus() noexcept;

/// Returns how many CPUs the time quota of the process's container amounts to, rounded up. 0 = it
/// has none, or none is known.
uint32_t CpuQuota() noexcept;

/// Gives the calling thread the name "`prefix` `number`", for debuggers and profilers.
void NameThread(const char *prefix, uint32_t number) noexcept;

/// Adds to the nice value that the calling thread has. Returns false if the system refuses.
bool AddNice(int nice) noexcept;

/// Sets the nice value of the calling thread to that of the process (on Linux, of its first thread)
/// plus `nice`, whatever the thread inherited. Returns false if the system refuses.
bool SetNice(int nice) noexcept;

/// Asks the system to give the calling thread the CPU in slices of `microseconds` (100 to 100,000).
/// A woken thread with a shorter slice than the running thread runs at once. Needs
/// Linux 6.12; without effect elsewhere.
void SetSlice(uint32_t microseconds) noexcept;

/// Lets the calling thread's sleeps end at their deadlines. Otherwise the system may delay them to
/// other deadlines nearby.
void SetPreciseSleep() noexcept;

/// Lets the calling thread run on all CPUs that the process may use, whatever it has inherited from
/// its creator. Without effect if the system refuses.
void UnbindThread() noexcept;

/// BindThread lets the calling thread run on those CPUs of `mask` that the system grants, also if
/// they are not among the CPUs that the process was given. BindThreadToNth lets it run on the n-th
/// usable CPU, modulo their number. Return false if there is no such CPU or the system refuses.
bool BindThread(const uint64_t *mask, uint32_t words) noexcept;
bool BindThreadToNth(uint32_t n) noexcept;

/// Returns the CPU of the calling thread, or -1 if it is unknown.
int32_t CurrentCpu() noexcept;

/// Moves the calling thread to the n-th CPU after `cpu`. Counts only CPUs that the thread may use,
/// and continues with the first one after the last. Afterwards the thread may use the same CPUs as
/// before. Has no effect if `cpu` is -1.
void MoveBehindCpu(int32_t cpu, uint32_t n) noexcept;

/// Gives up the rest of the calling thread's time slice.
void YieldThread() noexcept;

/// Sleeps for a very short time, so that threads of all priorities may run: 50 us and what the
/// system adds, on Windows a millisecond.
void NapThread() noexcept;

}  // namespace weft::env
