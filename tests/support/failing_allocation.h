// Makes allocations of weft fail at a chosen place.
#pragma once

#include <cstdint>

namespace test {

/// While it lives, allocation number `nth` (from 0) of weft and the following ones fail, `count` in
/// all. weft allocates with the aligned nothrow operator new, which tests/support replaces.
class FailingAllocation {
public:
    explicit FailingAllocation(int64_t nth, int64_t count = INT64_MAX);
    ~FailingAllocation();
    FailingAllocation(const FailingAllocation &) = delete;
    FailingAllocation &operator=(const FailingAllocation &) = delete;
    /// Returns true once an allocation has failed.
    bool HasFailed() const;
};

/// The number of allocations of weft that have not been freed.
int64_t OutstandingAllocations();

}  // namespace test
