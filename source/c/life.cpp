// The functions of weft.h that make, run and destroy a scheduler, and its options.
#include "c/convert.h"
#include "weft/hooks.h"

#include <new>

namespace weft::internal {

namespace {

// A scheduler that weft_create has made.
class OwnedScheduler : public TaskScheduler {
public:
    // `options.onReport` and `options.user` are replaced.
    OwnedScheduler(const SchedulerOptions &options, weft_report_function onReport,
                   void *user) noexcept
        : TaskScheduler(Reporting(options, onReport, this)),
          m_memory(options.memory),
          m_onReport(onReport),
          m_user(user) {}

    const MemoryHooks &Memory() const noexcept { return m_memory; }

private:
    // The constructor of TaskScheduler copies the address of `self` and does not use it.
    static SchedulerOptions Reporting(SchedulerOptions options, weft_report_function onReport,
                                      OwnedScheduler *self) noexcept {
        options.onReport = onReport != nullptr ? Forward : nullptr;
        options.user = self;
        return options;
    }
    static void Forward(const Report &report, void *user) noexcept {
        const OwnedScheduler &self = *static_cast<OwnedScheduler *>(user);
        const weft_report forwarded{ToNumber(report.code), report.fatal, report.what, report.hint,
                                    report.task};
        self.m_onReport(&forwarded, self.m_user);
    }

    const MemoryHooks m_memory;
    const weft_report_function m_onReport;
    void *const m_user;
};

weft_options DefaultOptions() noexcept {
    const SchedulerOptions from;
    weft_options options = {};
    options.structBytes = sizeof options;
    options.workers = from.workers;
    options.maxAttached = from.maxAttached;
    options.groupCount = from.groupCount;
    options.fibers = from.fibers;
    options.stackBytes = from.stackBytes;
    options.threadStackBytes = from.threadStackBytes;
    options.idle = ToNumber(from.idle);
    options.affinity = ToNumber(from.affinity.kind);
    options.reportStackOverflow = from.reportStackOverflow;
    options.lockHolders = from.lockHolders;
    options.migrateAfterWait = from.migrateAfterWait;
    options.threadName = from.threadName;
    options.threadNice = from.threadNice;
    options.threadSliceMicroseconds = from.threadSliceMicroseconds;
    options.stopGraceMilliseconds = from.stopGraceMilliseconds;
    options.stallMilliseconds = from.stallMilliseconds;
    options.watchdogMilliseconds = from.watchdogMilliseconds;
    options.order = from.order;
    options.hostThreads = from.hostThreads;
    options.pendingTasks = from.pendingTasks;
    return options;
}

SchedulerOptions ToOptions(const weft_options &from) noexcept {
    SchedulerOptions options;
    options.workers = from.workers;
    options.maxAttached = from.maxAttached;
    options.groups = reinterpret_cast<const WorkerGroup *>(from.groups);
    options.groupCount = from.groupCount;
    options.fibers = from.fibers;
    options.stackBytes = from.stackBytes;
    options.threadStackBytes = from.threadStackBytes;
    options.idle = static_cast<IdlePolicy>(from.idle);
    options.affinity = {static_cast<Affinity::Kind>(from.affinity), from.maskWords, from.masks};
    options.threadName = from.threadName;
    options.threadNice = from.threadNice;
    options.threadSliceMicroseconds = from.threadSliceMicroseconds;
    options.memory.user = from.memory.user;
    options.memory.allocate = from.memory.allocate;
    options.memory.release = from.memory.release;
    options.memory.reserveStacks = from.memory.reserveStacks;
    options.memory.releaseStacks = from.memory.releaseStacks;
    options.threads.user = from.threads.user;
    options.threads.onStart = from.threads.onStart;
    options.threads.onStop = from.threads.onStop;
    options.reportStackOverflow = from.reportStackOverflow;
    options.stopGraceMilliseconds = from.stopGraceMilliseconds;
    options.stallMilliseconds = from.stallMilliseconds;
    options.watchdogMilliseconds = from.watchdogMilliseconds;
    options.lockHolders = from.lockHolders;
    options.migrateAfterWait = from.migrateAfterWait;
    options.order = from.order;
    options.hostThreads = from.hostThreads;
    options.pendingTasks = from.pendingTasks;
    return options;
}

// Reports why there is no scheduler. Only a scheduler can report, so this makes one, which never
// runs.
weft_scheduler *Refuse(const weft_options &options, ReportCode code, const char *hint,
                       const char *what) noexcept {
    const OwnedScheduler reporter(SchedulerOptions(), options.onReport, options.user);
    ReportMisuse(reporter, code, hint, what);
    return nullptr;
}

weft_scheduler *Create(const weft_options *given) noexcept {
    weft_options read = DefaultOptions();
    if (given != nullptr && !ReadStruct(*given, read)) {
        return Refuse(read, ReportCode::BadOption,
                      "Call weft_options_init, and compile with the headers of the library that "
                      "you link.",
                      "weft_create: weft_options::structBytes is out of range");
    }
    const SchedulerOptions options = ToOptions(read);
    if ((options.memory.allocate != nullptr) != (options.memory.release != nullptr)) {
        return Refuse(read, ReportCode::BadOption, "Give allocate and release together.",
                      "weft_create: weft_options::memory is not complete");
    }
    void *const memory =
        AllocateWith(options.memory, sizeof(OwnedScheduler), alignof(OwnedScheduler));
    if (memory == nullptr) {
        return Refuse(read, ReportCode::OutOfMemory, "Give the process more memory.",
                      "weft_create: there is no memory for a scheduler");
    }
    return new (memory) OwnedScheduler(options, read.onReport, read.user);
}

void Destroy(weft_scheduler *scheduler) noexcept {
    if (scheduler == nullptr) return;
    OwnedScheduler *const owned = static_cast<OwnedScheduler *>(scheduler);
    const MemoryHooks memory = owned->Memory();
    owned->~OwnedScheduler();
    ReleaseWith(memory, owned, sizeof(OwnedScheduler), alignof(OwnedScheduler));
}

}  // namespace

}  // namespace weft::internal

void weft_options_init(weft_options *options, size_t bytes) noexcept {
    weft_options defaults = weft::internal::DefaultOptions();
    defaults.structBytes = static_cast<uint32_t>(bytes);
    weft::internal::WriteStruct(defaults, options, bytes);
}

weft_scheduler *weft_create(const weft_options *options) noexcept {
    return weft::internal::Create(options);
}

void weft_destroy(weft_scheduler *scheduler) noexcept { weft::internal::Destroy(scheduler); }

weft_status weft_start(weft_scheduler *scheduler) noexcept {
    return weft::internal::ToNumber(scheduler->Start());
}

void weft_stop(weft_scheduler *scheduler) noexcept { scheduler->Stop(); }

bool weft_stop_for(weft_scheduler *scheduler, uint64_t nanoseconds) noexcept {
    return weft::StopFor(*scheduler, weft::internal::ToTime(nanoseconds).time_since_epoch());
}

weft_status weft_run_worker(weft_scheduler *scheduler, uint32_t index) noexcept {
    return weft::internal::ToNumber(scheduler->RunWorker(index));
}

weft_status weft_attach_thread(weft_scheduler *scheduler) noexcept {
    return weft::internal::ToNumber(scheduler->AttachThread());
}

void weft_detach_thread(weft_scheduler *scheduler) noexcept { scheduler->DetachThread(); }
