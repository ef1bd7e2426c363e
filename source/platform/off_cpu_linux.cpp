// Implements off_cpu.h.
#include "platform/off_cpu.h"

#include <ctime>

#if defined(__has_include) && (defined(__x86_64__) || defined(__aarch64__))
#if __has_include(<sys/rseq.h>)
#include <sys/rseq.h>
#define WEFT_RSEQ 1
#endif
#endif

namespace weft::env {

namespace {

constexpr uint64_t kNever = 1;  // used as the word if there is none: it is never cleared

#if defined(WEFT_RSEQ)

// A critical section at addresses where no program has code, so no thread is ever in it. The kernel
// requires RSEQ_SIG, which the C library has registered, in the 4 bytes before the abort address.
constexpr uint64_t kNoCode = 0x1000;
const uint32_t s_abort[2] = {RSEQ_SIG, 0};
struct alignas(32) Section {
    uint32_t version, flags;
    uint64_t begin, bytes;
    const uint32_t *abort;
};
const Section s_section = {0, 0, kNoCode, 16, &s_abort[1]};

char *ThreadPointer() noexcept {
    char *pointer;
#if defined(__x86_64__)
    asm("mov %%fs:0, %0" : "=r"(pointer));
#else
    asm("mrs %0, tpidr_el0" : "=r"(pointer));
#endif
    return pointer;
}

// Returns `rseq_cs` of the calling thread, or null if the C library has not registered it.
volatile uint64_t *Word() noexcept {
    if (__rseq_size == 0) return nullptr;
    void *const place = ThreadPointer() + __rseq_offset;
    auto *const area = static_cast<struct rseq *>(place);
    const auto cpu = static_cast<int32_t>(const_cast<volatile uint32_t &>(area->cpu_id));
    if (cpu < 0) return nullptr;
    return reinterpret_cast<volatile uint64_t *>(&area->rseq_cs);
}

void Arm(volatile uint64_t *word) noexcept { *word = reinterpret_cast<uintptr_t>(&s_section); }

#else

volatile uint64_t *Word() noexcept { return nullptr; }
void Arm(volatile uint64_t *) noexcept {}

#endif

uint64_t Nanoseconds(clockid_t clock) noexcept {
    timespec time{};
    clock_gettime(clock, &time);
    return static_cast<uint64_t>(time.tv_sec) * 1000000000 + static_cast<uint64_t>(time.tv_nsec);
}

// Returns a value that grows by one for each nanosecond that the thread is off its processor.
uint64_t Off() noexcept {
    const uint64_t onCpu = Nanoseconds(CLOCK_THREAD_CPUTIME_ID);
    return Nanoseconds(CLOCK_MONOTONIC) - onCpu;
}

}  // namespace

void OffCpuWatch::Begin() noexcept {
    volatile uint64_t *const word = Word();
    m_word = word != nullptr ? word : &kNever;
    if (word == nullptr) return;
    m_off = Off();
    Arm(word);
}

uint64_t OffCpuWatch::TakeLost() noexcept {
    constexpr uint64_t kLeast = 1000;
    if (m_word == &kNotBegun) {
        Begin();
        return 0;
    }
    const uint64_t before = m_off;
    Begin();
    return m_off - before >= kLeast && m_off > before ? m_off - before : 0;
}

}  // namespace weft::env
