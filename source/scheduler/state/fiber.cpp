// Moving fibers while a scheduler is built, and preparing their stacks.
#include "scheduler/state/fiber.h"

#include <utility>

namespace weft::internal {

Fiber::Fiber(Fiber &&other) noexcept : InboxItem(Kind::Fiber) { *this = std::move(other); }

Fiber &Fiber::operator=(Fiber &&other) noexcept {
    index = std::exchange(other.index, kAnyWorker);
    worker = std::exchange(other.worker, nullptr);
    next = std::exchange(other.next, nullptr);
    pinnedTo = other.pinnedTo;
    context = std::move(other.context);
    // relaxed: no other thread knows the two fibers while one is moved. The fiber does not wait.
    taskName.store(other.taskName.load(kRelaxed), kRelaxed);
    waitTarget.store(other.waitTarget.load(kRelaxed), kRelaxed);
    waitsFor.store(other.waitsFor.load(kRelaxed), kRelaxed);
    m_stackBottom = std::exchange(other.m_stackBottom, nullptr);
    m_stackBytes = std::exchange(other.m_stackBytes, 0u);
    return *this;
}

void Fiber::Reset(Start start, void *arg) noexcept {
    // The tops of the stacks have different distances from a page boundary. Otherwise all stacks
    // would compete for the same few cache sets.
    static_assert(15 * 192 <= kColourBytes, "the largest colour must fit");
    const size_t colour = index % 16 * 192;
    context.Create(m_stackBottom, m_stackBytes - colour, start, arg);
    worker = nullptr;
    floatingPoint = kNoControl;
}

}  // namespace weft::internal
