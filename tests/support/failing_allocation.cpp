// Counts weft's allocations, and makes chosen ones fail.
#include "support/failing_allocation.h"

#include <atomic>
#include <new>

namespace {

std::atomic<int64_t> s_outstanding{0};
std::atomic<int64_t> s_number{0};
std::atomic<int64_t> s_failFrom{INT64_MAX};
std::atomic<int64_t> s_failUntil{INT64_MAX};
std::atomic<bool> s_failed{false};

}  // namespace

// The linker redirects calls of weft and of the tests to these functions (--wrap). Replacing the
// operators would collide with those of the sanitizers.
#if defined(_WIN64)  // size_t is unsigned long long there
#define __real__ZnwmSt11align_val_tRKSt9nothrow_t __real__ZnwySt11align_val_tRKSt9nothrow_t
#define __wrap__ZnwmSt11align_val_tRKSt9nothrow_t __wrap__ZnwySt11align_val_tRKSt9nothrow_t
#elif defined(__EMSCRIPTEN__)  // unsigned int
#define __real__ZnwmSt11align_val_tRKSt9nothrow_t __real__ZnwjSt11align_val_tRKSt9nothrow_t
#define __wrap__ZnwmSt11align_val_tRKSt9nothrow_t __wrap__ZnwjSt11align_val_tRKSt9nothrow_t
#endif

extern "C" {

void *__real__ZnwmSt11align_val_tRKSt9nothrow_t(std::size_t, std::align_val_t,
                                                const std::nothrow_t &) noexcept;
void __real__ZdlPvSt11align_val_t(void *, std::align_val_t) noexcept;

// operator new(std::size_t, std::align_val_t, const std::nothrow_t &)
void *__wrap__ZnwmSt11align_val_tRKSt9nothrow_t(std::size_t bytes, std::align_val_t alignment,
                                                const std::nothrow_t &nothrow) noexcept {
    const int64_t number = s_number.fetch_add(1);
    if (number >= s_failFrom.load() && number < s_failUntil.load()) {
        s_failed.store(true);
        return nullptr;
    }
    void *memory = __real__ZnwmSt11align_val_tRKSt9nothrow_t(bytes, alignment, nothrow);
    if (memory != nullptr) s_outstanding.fetch_add(1);
    return memory;
}

// operator delete(void *, std::align_val_t)
void __wrap__ZdlPvSt11align_val_t(void *memory, std::align_val_t alignment) noexcept {
    if (memory != nullptr) s_outstanding.fetch_sub(1);
    __real__ZdlPvSt11align_val_t(memory, alignment);
}

}  // extern "C"

namespace test {

FailingAllocation::FailingAllocation(int64_t nth, int64_t count) {
    s_failed.store(false);
    s_number.store(0);
    s_failUntil.store(count > INT64_MAX - nth ? INT64_MAX : nth + count);
    s_failFrom.store(nth);
}

FailingAllocation::~FailingAllocation() { s_failFrom.store(INT64_MAX); }

bool FailingAllocation::HasFailed() const { return s_failed.load(); }

int64_t OutstandingAllocations() { return s_outstanding.load(); }

}  // namespace test
