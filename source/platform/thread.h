// Worker threads, and how many CPUs this process may use.
#pragma once

#include <cstddef>
#include <cstdint>

namespace weft::env {

/// An OS thread with a stack size of its own. Start may fail; Join must follow a Start that
/// succeeded.
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

/// CPUs in this process's affinity mask, at least 1.
uint32_t UsableCpus() noexcept;

/// Names the calling thread `prefix` and a number, for debuggers and profilers.
void NameThread(const char *prefix, uint32_t number) noexcept;

/// Adds to the calling thread's nice value. False if the system refuses.
bool AddNice(int nice) noexcept;

/// Sets the calling thread's nice value to that of the process (on Linux, of its first thread) plus
/// `nice`, whatever it inherited from its creator. False if the system refuses.
bool SetNice(int nice) noexcept;

/// Asks that the calling thread be given the CPU in slices of so many microseconds (the system
/// takes 100 to 100,000). A woken thread with a shorter slice than the running one goes first.
/// Linux 6.12 or newer; others leave it as it is.
void SetSlice(uint32_t microseconds) noexcept;

/// The calling thread sleeps until its deadlines, not until other deadlines near them.
void SetPreciseSleep() noexcept;

/// Lets the calling thread run on those CPUs of the mask that the process may use; on the n-th of
/// these, modulo their number. False if there is none, or the system refuses.
bool BindThread(const uint64_t *mask, uint32_t words) noexcept;
bool BindThreadToNth(uint32_t n) noexcept;

/// The calling thread's CPU, or -1 if the system does not tell.
int32_t CurrentCpu() noexcept;

/// Moves the calling thread to the n-th CPU after `cpu` among those that it may use, round and
/// round. It may use all of them as before afterwards. Nothing if `cpu` is -1, and on machines with
/// more than 1,024 CPUs.
void MoveBehindCpu(int32_t cpu, uint32_t n) noexcept;

/// Gives the rest of this thread's time slice away.
void YieldThread() noexcept;

/// Sleeps for as short as is usual (50 us and what the system adds; a millisecond on Windows):
/// threads of all priorities may run.
void NapThread() noexcept;

}  // namespace weft::env
