// Finds the fiber on whose stack an address lies, for DescribeFault and for the handler that
// reports stack overflows (SchedulerOptions::reportStackOverflow). Both run in a signal handler.
#include "weft/describe_fault.h"

#include "scheduler/diagnose/watch.h"
#include "scheduler/state/reporting.h"

#include <charconv>

namespace weft {

using namespace internal;

namespace {

// Appends text to a buffer. Uses only what a signal handler may call.
class Line {
public:
    Line(char *out, size_t bytes) noexcept : m_out(out), m_room(bytes - 1) { *out = 0; }
    Line &operator<<(const char *text) noexcept {
        for (; *text != 0 && m_length < m_room; ++text) m_out[m_length++] = *text;
        m_out[m_length] = 0;
        return *this;
    }
    Line &operator<<(size_t number) noexcept {
        char digits[24];
        *std::to_chars(digits, digits + sizeof digits - 1, number).ptr = 0;
        return *this << digits;
    }
    size_t Length() const noexcept { return m_length; }

private:
    char *m_out;
    size_t m_room, m_length = 0;
};

// If the address lies on the stack of a fiber of the pool, describes it and returns the fiber;
// otherwise returns null. A guard page belongs to the stack above it, because that stack grows down
// into it. relaxed: the name is only for the text.
const Fiber *Describe(const Scheduler &scheduler, const void *address, Line &line,
                      StackMemory::Place &place) noexcept {
    if (!scheduler.fibers.stacks.Find(address, place) || place.index >= scheduler.fibers.count)
        return nullptr;
    const Fiber &fiber = scheduler.fibers[place.index];
    const char *const task = fiber.name.load(kRelaxed);
    line << (place.isGuard ? "stack overflow" : "address on the stack") << " of fiber "
         << size_t{fiber.index} << " (" << scheduler.options.stackBytes / 1024 << " KiB), task '"
         << (task != nullptr ? task : "unnamed") << "'";
    return &fiber;
}

// The signal handler calls this. Reports the fault if the address lies in a guard page.
void OnFault(const void *address) {
    char what[256];
    Line line(what, sizeof what);
    SchedulerTag::Find([&](void *live) {
        const Scheduler &scheduler = *static_cast<Scheduler *>(live);
        StackMemory::Place place{};
        const Fiber *const fiber = Describe(scheduler, address, line, place);
        if (fiber != nullptr && place.isGuard)
            ReportFault(scheduler.options, what,
                        "Raise SchedulerOptions::stackBytes, or keep large arrays off the stack.",
                        fiber->name.load(kRelaxed));
        return fiber != nullptr;
    });
}

}  // namespace

bool internal::BeginFaultReports(Scheduler &scheduler) noexcept {
    const bool reports = scheduler.options.reportStackOverflow;
    for (uint32_t i = 0; i < scheduler.slotCount; ++i) {
        const bool isOwn = i < scheduler.workerCount && !scheduler.options.hostThreads;
        if ((reports || isOwn) && !scheduler.workers[i].signalStack.Acquire(scheduler.memory))
            return false;
    }
    if (!reports) return true;
    scheduler.handlesFaults = env::InstallFaultHandler(OnFault);
    if (!scheduler.handlesFaults)
        ReportMistake(scheduler.options, ReportCode::BadOption,
                      "Let the process handle SIGSEGV and SIGBUS.",
                      "SchedulerOptions::reportStackOverflow: the system refused a signal handler");
    return true;
}

void internal::EndFaultReports(const Scheduler &scheduler) noexcept {
    if (scheduler.handlesFaults) env::RemoveFaultHandler();
}

size_t DescribeFault(const void *address, char *out, size_t bytes) noexcept {
    if (out == nullptr || bytes == 0) return 0;
    Line line(out, bytes);
    StackMemory::Place place{};
    SchedulerTag::Find([&](void *live) {
        return Describe(*static_cast<Scheduler *>(live), address, line, place) != nullptr;
    });
    return line.Length();
}

}  // namespace weft
