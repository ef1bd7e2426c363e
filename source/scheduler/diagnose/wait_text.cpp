// Implements wait_text.h.
#include "scheduler/diagnose/wait_text.h"

#include "scheduler/diagnose/watch.h"

#include <algorithm>
#include <cstdarg>
#include <cstdio>

namespace weft::internal {

namespace {

// A line of a report for one waiter is at most this long: three names of 40 bytes, and numbers.
constexpr size_t kBytesOfWaiter = 256;
constexpr size_t kOtherBytes = 1024;

// A fiber and the name of its task, as in a report.
void AddFiber(ReportText &text, const Scheduler &scheduler, uint32_t fiber,
              const char *task) noexcept {
    const char *unnamed = fiber < scheduler.fiberCount ? "unnamed task" : "attached thread";
    text.Add("fiber %u '%.40s'", fiber, task != nullptr ? task : unnamed);
}

// What a report says before the waiters with this cause.
constexpr const char *kHeadings[] = {"in a cycle", "lowered by no task", "behind these",
                                     "perhaps lowered by other tasks"};

// Returns true if the tasks have the same name and wait in the same way. Each task of a cycle is
// told.
bool AreAlike(const WaiterInfo &a, const WaiterInfo &b) noexcept {
    return a.cause == b.cause && AwaitedBy(a) == AwaitedBy(b) && a.task == b.task &&
           a.cause != WaitCause::Cycle && !b.isExternal;
}

// Returns true if a report tells this waiter.
bool IsBlocked(const WaiterInfo &waiter) noexcept {
    return !waiter.isExternal && waiter.cause != WaitCause::Working;
}

}  // namespace

ReportText::ReportText(const Memory &memory, const WaitGraph &graph) noexcept
    : ReportText(memory, kOtherBytes + graph.Count() * kBytesOfWaiter) {}
ReportText::ReportText(const Memory &memory, size_t bytes) noexcept
    : m_memory(memory), m_bytes(bytes), m_text(memory.NewArray<char>(bytes)) {}

void ReportText::Add(const char *format, ...) noexcept {
    if (m_text == nullptr || m_used + 1 >= m_bytes) return;
    va_list arguments;
    va_start(arguments, format);
    const int length = std::vsnprintf(m_text + m_used, m_bytes - m_used, format, arguments);
    va_end(arguments);
    m_used = std::min(m_used + static_cast<size_t>(std::max(length, 0)), m_bytes - 1);
}

const char *ReportText::Get() const noexcept {
    return m_text != nullptr ? m_text : "there is no memory to describe the waiting fibers";
}

uint32_t CountBlocked(const WaitGraph &graph) noexcept {
    uint32_t count = 0;
    for (uint32_t i = 0; i < graph.Count(); ++i) count += IsBlocked(graph.At(i)) ? 1u : 0u;
    return count;
}

void AddWaiters(ReportText &text, const Scheduler &scheduler, const WaitGraph &graph) noexcept {
    const WaiterInfo *last = nullptr;
    for (uint32_t i = 0; i < graph.Count();) {
        const WaiterInfo &waiter = graph.At(i++);
        if (!IsBlocked(waiter)) continue;
        const bool isFirst = last == nullptr || last->cause != waiter.cause;
        if (last != nullptr) text.Add(isFirst ? "; " : ", ");
        if (isFirst) text.Add("%s: ", kHeadings[static_cast<uint32_t>(waiter.cause)]);
        AddFiber(text, scheduler, waiter.fiber, waiter.task);
        uint32_t more = 0;
        for (; i < graph.Count() && AreAlike(waiter, graph.At(i)); ++i) ++more;
        if (more != 0) text.Add(" and %u more", more);
        text.Add(" for %s %p", waiter.lock != nullptr ? "lock" : "counter", AwaitedBy(waiter));
        if (waiter.byFiber != kAnyWorker) {
            text.Add(waiter.lock != nullptr ? " held by " : " of ");
            AddFiber(text, scheduler, waiter.byFiber, waiter.byTask);
        }
        if (waiter.byWork != nullptr)
            text.Add(", perhaps ended by external work '%.40s'", waiter.byWork);
        last = &waiter;
    }
}

// relaxed, all: for a report
void AddRunning(ReportText &text, const Scheduler &scheduler) noexcept {
    uint32_t count = 0;
    for (uint32_t i = 0; i < scheduler.AllFibers(); ++i) {
        const Fiber &fiber = scheduler.fibers[i];
        const char *name = fiber.name.load(kRelaxed);
        if (name == nullptr || fiber.wait.counter.load(kRelaxed) != nullptr || IsFree(scheduler, i))
            continue;
        text.Add(count++ == 0 ? "; running: " : ", ");
        AddFiber(text, scheduler, i, name);
    }
}

}  // namespace weft::internal
