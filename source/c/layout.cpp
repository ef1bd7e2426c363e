// Checks at compile time that weft.h says the same as the headers of the C++ interface, and names
// the numbers of weft.h.
#include "c/convert.h"

#include <cstddef>

namespace weft::internal {

namespace {

// No trampoline: the function of a task is called as it is.
static_assert(std::is_same_v<weft_task_function, TaskFunction>);

static_assert(sizeof(weft_task) == sizeof(Task) && alignof(weft_task) == alignof(Task));
static_assert(offsetof(weft_task, function) == offsetof(Task, function));
static_assert(offsetof(weft_task, arg) == offsetof(Task, arg));

// A weft_counter is memory for a Counter: weft_counter_init makes one in it. In memory of zeros it
// counts nothing, because all parts of its word are 0 then.
static_assert(sizeof(weft_counter) == sizeof(Counter) && alignof(weft_counter) == alignof(Counter));

using Group = WorkerGroup;
static_assert(sizeof(weft_worker_group) == sizeof(Group));
static_assert(alignof(weft_worker_group) == alignof(Group));
static_assert(offsetof(weft_worker_group, name) == offsetof(Group, name));
static_assert(offsetof(weft_worker_group, workers) == offsetof(Group, workers));
static_assert(offsetof(weft_worker_group, nice) == offsetof(Group, nice));
static_assert(offsetof(weft_worker_group, cpus) == offsetof(Group, cpus));
static_assert(offsetof(weft_worker_group, cpuWords) == offsetof(Group, cpuWords));
static_assert(offsetof(weft_worker_group, namedOnly) == offsetof(Group, namedOnly));
static_assert(offsetof(weft_worker_group, runsLow) == offsetof(Group, runsLow));

template <class Number, class Enum>
constexpr bool IsSame(int number, Enum value) {
    return std::is_same_v<Number, std::underlying_type_t<Enum>> &&
           number == static_cast<int>(value);
}

static_assert(WEFT_ANY_WORKER == kAnyWorker);
static_assert(WEFT_ANY_GROUP == kAnyGroup);

static_assert(IsSame<weft_status>(WEFT_STATUS_OK, Status::Ok));
static_assert(IsSame<weft_status>(WEFT_STATUS_BAD_OPTION, Status::BadOption));
static_assert(IsSame<weft_status>(WEFT_STATUS_OUT_OF_MEMORY, Status::OutOfMemory));
static_assert(IsSame<weft_status>(WEFT_STATUS_OUT_OF_MAPPINGS, Status::OutOfMappings));
static_assert(IsSame<weft_status>(WEFT_STATUS_THREAD_FAILED, Status::ThreadFailed));
static_assert(IsSame<weft_status>(WEFT_STATUS_ALREADY_RUNNING, Status::AlreadyRunning));
static_assert(IsSame<weft_status>(WEFT_STATUS_NOT_RUNNING, Status::NotRunning));
static_assert(IsSame<weft_status>(WEFT_STATUS_TOO_MANY_THREADS, Status::TooManyThreads));

static_assert(IsSame<weft_priority>(WEFT_PRIORITY_HIGH, Priority::High));
static_assert(IsSame<weft_priority>(WEFT_PRIORITY_NORMAL, Priority::Normal));
static_assert(IsSame<weft_priority>(WEFT_PRIORITY_LOW, Priority::Low));

static_assert(IsSame<weft_resume_on>(WEFT_RESUME_ON_ANY_WORKER, ResumeOn::AnyWorker));
static_assert(IsSame<weft_resume_on>(WEFT_RESUME_ON_SAME_WORKER, ResumeOn::SameWorker));

static_assert(IsSame<weft_meanwhile>(WEFT_MEANWHILE_ANY_TASK, Meanwhile::AnyTask));
static_assert(IsSame<weft_meanwhile>(WEFT_MEANWHILE_NORMAL_OR_HIGHER, Meanwhile::NormalOrHigher));
static_assert(IsSame<weft_meanwhile>(WEFT_MEANWHILE_HIGH_ONLY, Meanwhile::HighOnly));
static_assert(IsSame<weft_meanwhile>(WEFT_MEANWHILE_OWN_TASKS, Meanwhile::OwnTasks));
static_assert(IsSame<weft_meanwhile>(WEFT_MEANWHILE_NOTHING, Meanwhile::Nothing));

static_assert(IsSame<weft_idle_policy>(WEFT_IDLE_BALANCED, IdlePolicy::Balanced));
static_assert(IsSame<weft_idle_policy>(WEFT_IDLE_SPIN, IdlePolicy::Spin));
static_assert(IsSame<weft_idle_policy>(WEFT_IDLE_SLEEP, IdlePolicy::Sleep));

static_assert(IsSame<weft_affinity>(WEFT_AFFINITY_NONE, Affinity::Kind::None));
static_assert(IsSame<weft_affinity>(WEFT_AFFINITY_COMPACT, Affinity::Kind::Compact));
static_assert(IsSame<weft_affinity>(WEFT_AFFINITY_EXPLICIT, Affinity::Kind::Explicit));

using Code = weft_report_code;
static_assert(IsSame<Code>(WEFT_REPORT_NULL_TASK, ReportCode::NullTask));
static_assert(IsSame<Code>(WEFT_REPORT_NULL_COUNTER, ReportCode::NullCounter));
static_assert(IsSame<Code>(WEFT_REPORT_BAD_OPTION, ReportCode::BadOption));
static_assert(IsSame<Code>(WEFT_REPORT_NOT_RUNNING, ReportCode::NotRunning));
static_assert(IsSame<Code>(WEFT_REPORT_RUN_ENDING, ReportCode::RunEnding));
static_assert(IsSame<Code>(WEFT_REPORT_END_DELAYED, ReportCode::EndDelayed));
static_assert(IsSame<Code>(WEFT_REPORT_NOT_A_WORKER, ReportCode::NotAWorker));
static_assert(IsSame<Code>(WEFT_REPORT_WRONG_THREAD, ReportCode::WrongThread));
static_assert(IsSame<Code>(WEFT_REPORT_IN_HOOK, ReportCode::InHook));
static_assert(IsSame<Code>(WEFT_REPORT_LEFT_ATTACHED, ReportCode::LeftAttached));
static_assert(IsSame<Code>(WEFT_REPORT_FORKED, ReportCode::Forked));
static_assert(IsSame<Code>(WEFT_REPORT_STACK_OVERFLOW, ReportCode::StackOverflow));
static_assert(IsSame<Code>(WEFT_REPORT_DESTROYED_IN_USE, ReportCode::DestroyedInUse));
static_assert(IsSame<Code>(WEFT_REPORT_NO_WORKERS, ReportCode::NoWorkers));
static_assert(IsSame<Code>(WEFT_REPORT_COUNTER_UNDERFLOW, ReportCode::CounterUnderflow));
static_assert(IsSame<Code>(WEFT_REPORT_COUNTER_OVERFLOW, ReportCode::CounterOverflow));
static_assert(IsSame<Code>(WEFT_REPORT_WRONG_SCHEDULER, ReportCode::WrongScheduler));
static_assert(IsSame<Code>(WEFT_REPORT_TASK_THREW, ReportCode::TaskThrew));
static_assert(IsSame<Code>(WEFT_REPORT_FLOATING_POINT_STATE, ReportCode::FloatingPointState));
static_assert(IsSame<Code>(WEFT_REPORT_OUT_OF_FIBERS, ReportCode::OutOfFibers));
static_assert(IsSame<Code>(WEFT_REPORT_STALLED, ReportCode::Stalled));
static_assert(IsSame<Code>(WEFT_REPORT_OUT_OF_MEMORY, ReportCode::OutOfMemory));
static_assert(IsSame<Code>(WEFT_REPORT_MEMORY_IN_USE, ReportCode::MemoryInUse));
static_assert(IsSame<Code>(WEFT_REPORT_MEMORY_LEAKED, ReportCode::MemoryLeaked));
static_assert(IsSame<Code>(WEFT_REPORT_BROKEN_INVARIANT, ReportCode::BrokenInvariant));
static_assert(IsSame<Code>(WEFT_REPORT_NO_PROGRESS, ReportCode::NoProgress));
static_assert(IsSame<Code>(WEFT_REPORT_WAIT_IN_SCOPE, ReportCode::WaitInScope));
static_assert(IsSame<Code>(WEFT_REPORT_ONE_CPU, ReportCode::OneCpu));

// Without a default, so that the compiler warns if a new value has no name. Then weft.h and the
// checks above need the value, too.
const char *NameOf(Status status) noexcept {
    switch (status) {
        case Status::Ok:
            return "Ok";
        case Status::BadOption:
            return "BadOption";
        case Status::OutOfMemory:
            return "OutOfMemory";
        case Status::OutOfMappings:
            return "OutOfMappings";
        case Status::ThreadFailed:
            return "ThreadFailed";
        case Status::AlreadyRunning:
            return "AlreadyRunning";
        case Status::NotRunning:
            return "NotRunning";
        case Status::TooManyThreads:
            return "TooManyThreads";
    }
    return "unknown";
}

const char *NameOf(ReportCode code) noexcept {
    switch (code) {
        case ReportCode::NullTask:
            return "NullTask";
        case ReportCode::NullCounter:
            return "NullCounter";
        case ReportCode::BadOption:
            return "BadOption";
        case ReportCode::NotRunning:
            return "NotRunning";
        case ReportCode::RunEnding:
            return "RunEnding";
        case ReportCode::EndDelayed:
            return "EndDelayed";
        case ReportCode::NotAWorker:
            return "NotAWorker";
        case ReportCode::WrongThread:
            return "WrongThread";
        case ReportCode::InHook:
            return "InHook";
        case ReportCode::LeftAttached:
            return "LeftAttached";
        case ReportCode::Forked:
            return "Forked";
        case ReportCode::StackOverflow:
            return "StackOverflow";
        case ReportCode::DestroyedInUse:
            return "DestroyedInUse";
        case ReportCode::NoWorkers:
            return "NoWorkers";
        case ReportCode::CounterUnderflow:
            return "CounterUnderflow";
        case ReportCode::CounterOverflow:
            return "CounterOverflow";
        case ReportCode::WrongScheduler:
            return "WrongScheduler";
        case ReportCode::TaskThrew:
            return "TaskThrew";
        case ReportCode::FloatingPointState:
            return "FloatingPointState";
        case ReportCode::OutOfFibers:
            return "OutOfFibers";
        case ReportCode::Stalled:
            return "Stalled";
        case ReportCode::OutOfMemory:
            return "OutOfMemory";
        case ReportCode::MemoryInUse:
            return "MemoryInUse";
        case ReportCode::MemoryLeaked:
            return "MemoryLeaked";
        case ReportCode::BrokenInvariant:
            return "BrokenInvariant";
        case ReportCode::NoProgress:
            return "NoProgress";
        case ReportCode::WaitInScope:
            return "WaitInScope";
        case ReportCode::OneCpu:
            return "OneCpu";
    }
    return "unknown";
}

}  // namespace

}  // namespace weft::internal

uint32_t weft_version(void) noexcept { return WEFT_VERSION_NUMBER; }

const char *weft_status_name(weft_status status) noexcept {
    return weft::internal::NameOf(static_cast<weft::Status>(status));
}

const char *weft_report_name(weft_report_code code) noexcept {
    return weft::internal::NameOf(static_cast<weft::ReportCode>(code));
}
