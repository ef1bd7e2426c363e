// Finds the fiber on whose stack an address lies. Used by DescribeFault and by the handler that
// reports stack overflows. Both run in a signal handler.
#include "weft/describe_fault.h"

#include "scheduler/state/describe_fault.h"
#include "scheduler/state/reporting.h"

namespace weft {

namespace internal {

namespace {

// Appends text to a buffer. Uses only what a signal handler may call.
class Line {
public:
    Line(char *out, size_t bytes) noexcept : m_out(out), m_room(bytes != 0 ? bytes - 1 : 0) {}
    Line &operator<<(const char *text) noexcept {
        for (; *text != 0 && m_length < m_room; ++text) m_out[m_length++] = *text;
        return *this;
    }
    Line &operator<<(size_t number) noexcept {
        char digits[24];
        char *digit = digits + sizeof digits - 1;
        *digit = 0;
        do *--digit = static_cast<char>('0' + number % 10);
        while ((number /= 10) != 0);
        return *this << digit;
    }
    size_t End() noexcept {
        m_out[m_length] = 0;
        return m_length;
    }

private:
    char *m_out;
    size_t m_room;
    size_t m_length = 0;
};

// The fiber on whose stack an address lies.
struct FaultLocation {
    const Fiber *fiber = nullptr;
    const char *stack = nullptr;   // name of the stack class
    const char *option = nullptr;  // the option that makes these stacks larger
    size_t bytes = 0;
    bool isOverflow = false;
};

// Finds the stack of this scheduler that contains the address. Returns false if there is none. A
// guard page belongs to the stack above it, because that stack grows down into it.
bool LocateFault(const Scheduler &scheduler, const void *address, FaultLocation &found) noexcept {
    StackMemory::Place location{};
    if (scheduler.smallStacks.Find(address, location) &&
        location.index < scheduler.options.smallFibers) {
        found = {&scheduler.fibers[location.index], "small",
                 "smallStackBytes, or give the task StackClass::Large",
                 scheduler.options.smallStackBytes, location.isGuard};
        return true;
    }
    if (scheduler.largeStacks.Find(address, location) &&
        location.index < scheduler.options.largeFibers) {
        found = {&scheduler.fibers[scheduler.options.smallFibers + location.index], "large",
                 "largeStackBytes", scheduler.options.largeStackBytes, location.isGuard};
        return true;
    }
    return false;
}

// The signal handler calls this. Reports the fault if the address lies in a guard page.
void OnFault(const void *address) {
    SchedulerTag::Find([=](void *live) {
        const Scheduler &scheduler = *static_cast<Scheduler *>(live);
        FaultLocation location;
        if (!LocateFault(scheduler, address, location) || !location.isOverflow) return false;
        char what[256], hint[160];
        DescribeFault(address, what, sizeof what);
        Line hintLine(hint, sizeof hint);
        hintLine << "Raise SchedulerOptions::" << location.option
                 << ", or keep large arrays off the stack.";
        hintLine.End();
        ReportFault(scheduler.options, what, hint, location.fiber->taskName.load(kRelaxed));
        return true;
    });
}

}  // namespace

bool ReportStackOverflows() noexcept { return env::InstallFaultHandler(OnFault); }

}  // namespace internal

size_t DescribeFault(const void *address, char *out, size_t bytes) noexcept {
    using namespace internal;
    if (out == nullptr || bytes == 0) return 0;
    Line line(out, bytes);
    SchedulerTag::Find([&](void *live) {
        FaultLocation location;
        if (!LocateFault(*static_cast<Scheduler *>(live), address, location)) return false;
        const char *task = location.fiber->taskName.load(kRelaxed);  // relaxed: only for the text
        line << (location.isOverflow ? "stack overflow" : "address on the stack") << " of fiber "
             << size_t{location.fiber->index} << " (" << location.stack << ", "
             << location.bytes / 1024 << " KiB), task '" << (task != nullptr ? task : "unnamed")
             << "'";
        return true;
    });
    return line.End();
}

}  // namespace weft
