// Checks each field of SchedulerOptions. A report names the first field that is wrong.
#include "scheduler/state/check_options.h"

#include "core/counter_word.h"
#include "core/wait_records.h"
#include "platform/env.h"
#include "scheduler/state/reporting.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <limits>

namespace weft::internal {

namespace {

Status BadOption(const SchedulerOptions &options, const char *hint, const char *name) noexcept {
    ReportMistake(options, ReportCode::BadOption, hint, "SchedulerOptions::%s is not complete",
                  name);
    return Status::BadOption;
}

constexpr uint32_t kMaxFibers = 1000000;
static_assert(kMaxFibers + 2 * 1024 + WaitRecords::kMaxSpares < CounterWord::kMaxRecords,
              "a counter must be able to name each record");

// Of values that have no upper bound.
constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
int64_t Signed(uint64_t value) noexcept {
    return static_cast<int64_t>(std::min<uint64_t>(value, kMost));
}

Status OutOfRange(const SchedulerOptions &options, const char *hint, const char *name,
                  int64_t value) noexcept {
    ReportMistake(options, ReportCode::BadOption, hint,
                  "SchedulerOptions::%s is %lld, which is out of range", name,
                  static_cast<long long>(value));
    return Status::BadOption;
}

// Checks that each group is complete, and that the groups have as many workers as the options say.
Status CheckGroups(const SchedulerOptions &options, uint32_t workers) noexcept {
    if (options.groupCount != 0 && options.groups == nullptr)
        return BadOption(options, "Give groupCount groups.", "groups");
    uint64_t sum = 0;
    for (uint32_t i = 0; i < options.groupCount; ++i) {
        const WorkerGroup &group = options.groups[i];
        sum += group.workers;
        if (group.workers == 0) return BadOption(options, "Give each group a worker.", "groups");
        if (group.nice < -20 || group.nice > 19)
            return OutOfRange(options, "Give -20 to 19.", "groups.nice", group.nice);
        if (group.cpus != nullptr && (group.cpuWords < 1 || group.cpuWords > 1024))
            return OutOfRange(options, "Give 1 to 1024.", "groups.cpuWords", group.cpuWords);
        if (i == 0 && group.namedOnly)
            return BadOption(options, "Let the first group run tasks that name none.", "groups");
    }
    if (options.groupCount != 0 && sum != workers) {
        return OutOfRange(
            options, "Give the groups as many workers together as SchedulerOptions::workers says.",
            "groups: the sum of their workers", Signed(sum));
    }
    return Status::Ok;
}

const char *EnvironmentText() noexcept {
    const char *const text = std::getenv("WEFT_WORKERS");
    return text != nullptr ? text : "";
}

// Returns the number of workers that the environment asks for. 0 = none, or it is no valid number.
uint32_t WorkersOfEnvironment() noexcept {
    const char *const text = EnvironmentText(), *const end = text + std::strlen(text);
    uint32_t workers = 0;
    const auto [rest, error] = std::from_chars(text, end, workers);
    return error == std::errc() && rest == end && workers <= 1024 ? workers : 0;
}

uint32_t DefaultWorkers() noexcept {
    if (const uint32_t wanted = WorkersOfEnvironment(); wanted != 0) return wanted;
    const uint32_t cpus = env::UsableCpus(), quota = env::CpuQuota();
    return std::min({cpus, quota != 0 ? quota : cpus, 1024u});
}

// Reports a default of the number of workers that the host probably does not want.
void CheckDefaultWorkers(const SchedulerOptions &options, uint32_t workers) noexcept {
    if (WorkersOfEnvironment() != 0) return;
    if (const char *const text = EnvironmentText(); *text != 0) {
        ReportMistake(options, ReportCode::BadOption, "Give 1 to 1024.",
                      "the environment variable WEFT_WORKERS is '%.40s'; it is ignored", text);
    }
    if (workers != 1 || env::CpuQuota() == 1) return;
    const uint32_t granted = env::GrantedCpus();
    if (granted <= 1) return;
    ReportMistake(options, ReportCode::OneCpu,
                  "Set `workers` or WEFT_WORKERS to 1 if one is enough. Otherwise bind the main "
                  "thread after weft is loaded, or give masks (Affinity::Kind::Explicit).",
                  "SchedulerOptions::workers: the default is one worker, because the process had "
                  "one CPU when weft was loaded (taskset, or a bound main thread), but the system "
                  "grants %u",
                  granted);
}

}  // namespace

uint32_t EffectiveWorkers(const SchedulerOptions &options) noexcept {
    return options.workers == kAnyWorker ? DefaultWorkers() : options.workers;
}

void SetDefaults(SchedulerOptions &options) noexcept {
    options.workers = EffectiveWorkers(options);
    if (options.fibers == 0) options.fibers = std::max(160u, 18 * options.workers);
}

Status CheckOptions(const SchedulerOptions &options, uint32_t leastWorkers) noexcept {
    if (options.structBytes < kLeastOptionBytes || options.structBytes > sizeof(SchedulerOptions)) {
        return OutOfRange(options, "Compile with the headers of the library that you link.",
                          "structBytes", options.structBytes);
    }
    const uint32_t workers = EffectiveWorkers(options);
    const struct {
        const char *name;
        int64_t value, least, most;
        const char *hint;
    } ranges[] = {
        {"workers", workers, leastWorkers, 1024,
         "Give 1 to 1024, or kAnyWorker; for Start also 0."},
        {"groupCount", options.groupCount, 0, kMaxGroups, "Give up to 8."},
        {"maxAttached", options.maxAttached, 1, 1024, "Give 1 to 1024."},
        {"fibers", options.fibers, 0, kMaxFibers, "Give at most 1,000,000."},
        {"pendingTasks", options.pendingTasks, 0, 65536, "Give at most 65,536."},
        {"stopGraceMilliseconds", options.stopGraceMilliseconds, 0, 60000, "Give at most 60,000."},
        {"stackBytes", Signed(options.stackBytes), 16 << 10, kMost, "Give 16 KiB or more."},
        {"threadStackBytes", Signed(options.threadStackBytes), 64 << 10, kMost,
         "Give 64 KiB or more."},
        {"affinity.kind", static_cast<int64_t>(options.affinity.kind), 0,
         static_cast<int64_t>(Affinity::Kind::Explicit), "Give one of Affinity::Kind's values."},
        {"threadNice", options.threadNice, -20, 19, "Give -20 to 19."},
        {"threadSliceMicroseconds", options.threadSliceMicroseconds,
         options.threadSliceMicroseconds != 0 ? 100 : 0, 100000, "Give 0, or 100 to 100,000."},
        {"stallMilliseconds", options.stallMilliseconds, 1, 60000, "Give 1 to 60,000."},
        {"watchdogMilliseconds", options.watchdogMilliseconds, 0, 600000, "Give at most 600,000."},
        {"order", Signed(options.order), 0, workers != 0 ? 0 : kMost,
         "Set SchedulerOptions::workers to 0, and call Start and AttachThread."},
        {"idle", static_cast<int64_t>(options.idle), 0, static_cast<int64_t>(IdlePolicy::Sleep),
         "Give one of IdlePolicy's values."},
    };
    for (const auto &range : ranges) {
        if (range.value < range.least || range.value > range.most)
            return OutOfRange(options, range.hint, range.name, range.value);
    }
    const MemoryHooks &memory = options.memory;
    if ((memory.allocate != nullptr) != (memory.release != nullptr))
        return BadOption(options, "Give allocate and release together.", "memory");
    if ((memory.reserveStacks != nullptr) != (memory.releaseStacks != nullptr))
        return BadOption(options, "Give reserveStacks and releaseStacks together.", "memory");
    if (const Status status = CheckGroups(options, workers); status != Status::Ok) return status;
    const Affinity &affinity = options.affinity;
    if (affinity.kind == Affinity::Kind::Explicit &&
        (affinity.masks == nullptr || affinity.maskWords < 1 || affinity.maskWords > 1024))
        return BadOption(options, "Give a mask of 1 to 1,024 words for each worker.", "affinity");
    if (options.workers == kAnyWorker) CheckDefaultWorkers(options, workers);
    return Status::Ok;
}

}  // namespace weft::internal
