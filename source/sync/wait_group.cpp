#include "weft/sync/wait_group.h"

#include "platform/env.h"
#include "scheduler/api/internal_api.h"

#include <new>

namespace weft {

using namespace internal;

struct WaitGroup::Shared {
    static constexpr size_t kAlignment = 16;
    Shared(TaskScheduler &owner, uint32_t count) noexcept : scheduler(owner), counter(count) {}
    TaskScheduler &scheduler;
    Counter counter;
    WEFT_ATOMIC<uint32_t> handles{1};
};

WaitGroup::WaitGroup(TaskScheduler &scheduler, uint32_t count) noexcept {
    void *memory = MemoryOf(scheduler).AllocateZeroed(sizeof(Shared), Shared::kAlignment);
    if (memory == nullptr)
        ReportNoMemory(scheduler, "WaitGroup: there is no memory for another group");
    m_shared = new (memory) Shared(scheduler, count);
}

// relaxed: the caller has a handle, so the group lives during the copy.
WaitGroup::WaitGroup(const WaitGroup &other) noexcept : m_shared(other.m_shared) {
    m_shared->handles.fetch_add(1, kRelaxed);
}

WaitGroup &WaitGroup::operator=(const WaitGroup &other) noexcept {
    if (m_shared == other.m_shared) return *this;
    this->~WaitGroup();
    return *new (this) WaitGroup(other);
}

// release: what was done with this handle happens before the end of the group. acquire: the thread
// that releases the last handle sees what was done with all other handles.
WaitGroup::~WaitGroup() {
    if (m_shared->handles.fetch_sub(1, kAcqRel) != 1) return;
    const Memory memory = MemoryOf(m_shared->scheduler);
    m_shared->~Shared();
    memory.Free(m_shared, sizeof(Shared), Shared::kAlignment);
}

void WaitGroup::Add(uint32_t n) const noexcept {
    m_shared->scheduler.IncrementCounter(&m_shared->counter, n);
}

void WaitGroup::Done() const noexcept { m_shared->scheduler.DecrementCounter(&m_shared->counter); }

void WaitGroup::Wait() const noexcept { m_shared->scheduler.WaitForCounter(&m_shared->counter); }

bool WaitGroup::IsDone() const noexcept {
    return m_shared->scheduler.PollCounter(&m_shared->counter);
}

}  // namespace weft
