#include "support/failing_allocation.h"

#include <atomic>
#include <cstdlib>
#include <new>

namespace {

std::atomic<int64_t> s_outstanding{0};
std::atomic<int64_t> s_number{0};
std::atomic<int64_t> s_failFrom{INT64_MAX};
std::atomic<int64_t> s_failUntil{INT64_MAX};
std::atomic<bool> s_failed{false};

}  // namespace

void *operator new(std::size_t bytes, std::align_val_t alignment, const std::nothrow_t &) noexcept {
    const int64_t number = s_number.fetch_add(1);
    if (number >= s_failFrom.load() && number < s_failUntil.load()) {
        s_failed.store(true);
        return nullptr;
    }
    void *memory = nullptr;
    if (posix_memalign(&memory, static_cast<std::size_t>(alignment), bytes) != 0) return nullptr;
    s_outstanding.fetch_add(1);
    return memory;
}

// Goes with the same delete; weft does not call it, so it does not fail.
void *operator new(std::size_t bytes, std::align_val_t alignment) {
    void *memory = nullptr;
    if (posix_memalign(&memory, static_cast<std::size_t>(alignment), bytes) != 0) std::abort();
    s_outstanding.fetch_add(1);
    return memory;
}

void operator delete(void *memory, std::align_val_t) noexcept {
    if (memory != nullptr) s_outstanding.fetch_sub(1);
    std::free(memory);
}

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
