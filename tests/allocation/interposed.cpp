// Replaces functions of the C library by functions that count a call and then make it.
#include "allocation/interposed.h"

#include <atomic>
#include <cstdarg>
#include <cstddef>
#include <cstring>

#include <dlfcn.h>
#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>
#include <unistd.h>

namespace {

std::atomic<bool> s_counting{false}, s_holding{false};
std::atomic<uint64_t> s_calls{0}, s_systemCalls{0};

void Count(std::atomic<uint64_t> &calls = s_calls) {
    if (s_counting.load(std::memory_order_relaxed)) calls.fetch_add(1, std::memory_order_relaxed);
}

// dlsym may allocate before the real functions are known. Such memory comes from here.
alignas(64) char s_early[16 << 10];
std::atomic<size_t> s_earlyUsed{0};
thread_local bool t_resolving = false;

bool IsEarly(const void *memory) {
    const char *address = static_cast<const char *>(memory);
    return address >= s_early && address < s_early + sizeof s_early;
}

void *Early(size_t bytes) {
    const size_t rounded = (bytes + 63) / 64 * 64;
    const size_t offset = s_earlyUsed.fetch_add(rounded);
    return offset + rounded <= sizeof s_early ? s_early + offset : nullptr;
}

struct Resolving {
    Resolving() { t_resolving = true; }
    ~Resolving() { t_resolving = false; }
};

}  // namespace

// Defines `next`, the function of the C library with this name.
#define NEXT(name)                              \
    static std::atomic<void *> s_next{nullptr}; \
    if (s_next.load() == nullptr) {             \
        const Resolving resolving;              \
        s_next.store(dlsym(RTLD_NEXT, #name));  \
    }                                           \
    auto next = reinterpret_cast<decltype(&name)>(s_next.load());

extern "C" {

int pthread_setname_np(pthread_t thread, const char *name) noexcept {
    NEXT(pthread_setname_np)
    while (s_holding.load()) sched_yield();
    return next(thread, name);
}

void *malloc(size_t bytes) noexcept {
    if (t_resolving) return Early(bytes);
    NEXT(malloc)
    Count();
    return next(bytes);
}

void *calloc(size_t count, size_t bytes) noexcept {
    if (t_resolving) return Early(count * bytes);
    NEXT(calloc)
    Count();
    return next(count, bytes);
}

void *realloc(void *memory, size_t bytes) noexcept {
    NEXT(realloc)
    Count();
    if (!IsEarly(memory)) return next(memory, bytes);
    void *moved = malloc(bytes);
    if (moved != nullptr) std::memcpy(moved, memory, bytes);
    return moved;
}

void free(void *memory) noexcept {
    if (memory == nullptr || IsEarly(memory)) return;
    NEXT(free)
    Count();
    next(memory);
}

void *aligned_alloc(size_t alignment, size_t bytes) noexcept {
    NEXT(aligned_alloc)
    Count();
    return next(alignment, bytes);
}

void *memalign(size_t alignment, size_t bytes) noexcept {
    NEXT(memalign)
    Count();
    return next(alignment, bytes);
}

int posix_memalign(void **memory, size_t alignment, size_t bytes) noexcept {
    NEXT(posix_memalign)
    Count();
    return next(memory, alignment, bytes);
}

void *mmap(void *address, size_t bytes, int protection, int flags, int file,
           off_t offset) noexcept {
    NEXT(mmap)
    Count();
    return next(address, bytes, protection, flags, file, offset);
}

int munmap(void *address, size_t bytes) noexcept {
    NEXT(munmap)
    Count();
    return next(address, bytes);
}

int mprotect(void *address, size_t bytes, int protection) noexcept {
    NEXT(mprotect)
    Count();
    return next(address, bytes, protection);
}

int madvise(void *address, size_t bytes, int advice) noexcept {
    NEXT(madvise)
    Count();
    return next(address, bytes, advice);
}

long syscall(long number, ...) noexcept {
    NEXT(syscall)
    Count(s_systemCalls);
    long arguments[6];
    va_list list;
    va_start(list, number);
    for (long &argument : arguments) argument = va_arg(list, long);  // the maximum number
    va_end(list);
    return next(number, arguments[0], arguments[1], arguments[2], arguments[3], arguments[4],
                arguments[5]);
}

}  // extern "C"

namespace test {

uint64_t CountedCalls() { return s_calls.load(); }

uint64_t CountedSystemCalls() { return s_systemCalls.load(); }

void HoldNewThreads(bool on) { s_holding.store(on); }

void CountCalls(bool on) { s_counting.store(on); }

}  // namespace test
