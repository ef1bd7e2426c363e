#include "scheduler/shared_cpu.h"

#include "scheduler/scheduler.h"

namespace weft::internal {

namespace {

using Cpus = uint64_t[env::kMaxCpus / 64];

// relaxed, all of these: hints.
void SayWhere(Worker *worker, int32_t cpu) noexcept {
    if (worker->cpu.load(kRelaxed) != cpu) worker->cpu.store(cpu, kRelaxed);
}

// Where the other workers are that do not sleep.
void ReadTaken(const Worker *worker, Cpus &taken) noexcept {
    const Scheduler &scheduler = *worker->scheduler;
    const uint32_t slots = scheduler.Slots();
    for (uint32_t i = 0; i < slots; ++i) {
        const int32_t cpu = i != worker->index ? scheduler.workers[i].cpu.load(kRelaxed) : -1;
        if (cpu >= 0 && cpu < env::kMaxCpus) taken[cpu / 64] |= uint64_t{1} << (cpu % 64);
    }
}

// Leaves the processor if another worker is on it, or the one whom this worker has kept waiting for long enough.
void LeaveIfShared(Worker *worker, uint64_t now) noexcept {
    CpuSharing &sharing = worker->sharing;
    const Times &times = worker->scheduler->times;
    const int32_t cpu = env::CurrentCpu();
    SayWhere(worker, cpu);
    if (cpu != sharing.wakersCpu) sharing.wakersCpu = -1;  // the system has moved us
    if (!sharing.mayLeave || cpu < 0 || cpu >= env::kMaxCpus || now - sharing.leftAt < times.forgetSharing) return;
    Cpus taken{};
    ReadTaken(worker, taken);
    const bool isTaken = (taken[cpu / 64] >> (cpu % 64) & 1) != 0;
    if (sharing.wakersCpu >= 0 ? sharing.cost + (now - sharing.since) < times.maxSharing : !isTaken) return;
    taken[cpu / 64] |= uint64_t{1} << (cpu % 64);
    env::LeaveCpus(taken);
    SayWhere(worker, env::CurrentCpu());
    sharing.wakersCpu = -1;
    sharing.cost = 0;
    sharing.leftAt = now;
}

}  // namespace

void BeforeSleep(Worker *worker) noexcept {
    CpuSharing &sharing = worker->sharing;
    const uint64_t now = env::Ticks();
    if (sharing.wakersCpu >= 0) sharing.cost += now - sharing.since + worker->scheduler->times.wakeOnSharedCpu;
    sharing.since = now;
    SayWhere(worker, -1);
}

void AfterSleep(Worker *worker) noexcept {
    CpuSharing &sharing = worker->sharing;
    const uint64_t now = env::Ticks();
    const int32_t cpu = env::CurrentCpu();
    sharing.wakersCpu = worker->parker.WakersCpu() == cpu ? cpu : -1;
    sharing.look = sharing.mayLeave && sharing.wakersCpu >= 0;
    if (sharing.wakersCpu < 0 || now - sharing.since > worker->scheduler->times.forgetSharing) sharing.cost = 0;
    sharing.since = now;
    SayWhere(worker, cpu);
}

bool MaySearch(Worker *worker, uint64_t now) noexcept {
    CpuSharing &sharing = worker->sharing;
    if (now - sharing.lookedAt >= worker->scheduler->times.maxSharing) {
        sharing.lookedAt = now;
        LeaveIfShared(worker, now);
    }
    return sharing.wakersCpu < 0;
}

void LookForSharedCpu(Worker *worker) noexcept {
    LeaveIfShared(worker, env::Ticks());
    worker->sharing.look = worker->sharing.mayLeave && worker->sharing.wakersCpu >= 0;
}

}  // namespace weft::internal
