// Everything that can be chosen about a scheduler. All of it has a default that works.
//
//     weft::SchedulerOptions options;
//     options.workers = 4;
//     options.smallFibers = 512;
//     weft::TaskScheduler scheduler(options);
#pragma once

#include "weft/hooks.h"
#include "weft/report.h"
#include "weft/task.h"

#include <cstddef>
#include <cstdint>

namespace weft {

/// How a call ended, or why Run, Start or AttachThread could not begin.
enum class Status : uint8_t {
    Ok,
    BadOption,  ///< an option is out of range; the report names it
    /// Stacks or queues could not be allocated; AttachThread: or the system has no thread-specific
    /// key
    OutOfMemory,
    /// The system refused more memory mappings (guard pages): fewer fibers, or raise
    /// vm.max_map_count
    OutOfMappings,
    ThreadFailed,    ///< a worker thread could not be created
    AlreadyRunning,  ///< this scheduler runs already, or this thread is one of its workers already
    NotRunning,      ///< the scheduler does not run
    TooManyThreads   ///< as many threads as SchedulerOptions::maxAttached are attached
};

/// What a worker does when it finds no work.
enum class IdlePolicy : uint8_t {
    /// Search for up to 100 microseconds (but not on the CPU of who woke it), then sleep until
    /// woken
    Balanced,
    Spin,  ///< search for ever: lowest latency, a whole core each
    Sleep  ///< sleep at once
};

/// Workers that belong together: cores of one kind, a NUMA node, or threads that the system is to
/// run last.
///
/// TaskOptions::groups says which groups may run a task. If it is 0, the task has the groups of the
/// task that submits it. A task that gets no groups in this way is in no groups: any group that is
/// not namedOnly may run it, and so may attached threads. If SchedulerOptions::lowGroups is not 0,
/// only these groups run Low tasks that are in no groups; attached threads do if it names all
/// groups. The tasks of one run may name at most 9 different sets of groups.
struct WorkerGroup {
    /// Of its threads, instead of threadName; must outlive the scheduler
    const char *name = nullptr;
    /// How many, at least 1. They come after the workers of the group before it
    uint32_t workers = 0;
    int32_t nice = 0;  ///< added to threadNice for these threads; -20 to 19
    /// Those that its threads may use: bit 0 of word 0 is CPU 0. Null = as `affinity` says
    const uint64_t *cpus = nullptr;
    uint32_t cpuWords = 0;   ///< 64-bit words in `cpus`, 1 to 1024
    bool namedOnly = false;  ///< it runs only tasks that name it. Not for the first group
};

struct SchedulerOptions {
    /// Set by the compiler; lets newer libraries read older structs
    uint32_t structBytes = sizeof(SchedulerOptions);
    /// Threads that run tasks, the caller of Run included; kAnyWorker = one per usable CPU; 1 to
    /// 1024, for Start from 0
    uint32_t workers = kAnyWorker;
    uint32_t maxAttached = 8;  ///< threads that AttachThread takes at once; 1 to 1024
    /// Their workers add up to `workers`; null = one group. Run and Start copy them
    const WorkerGroup *groups = nullptr;
    uint32_t groupCount = 0;  ///< up to 8
    /// Groups that run Low tasks that are in no groups: bit i for groups[i]; 0 = as for other tasks
    uint8_t lowGroups = 0;
    /// Up to 1,000,000; at most this many small tasks run or wait at once; 0 = 128, or 16 for each
    /// worker if that is more
    uint32_t smallFibers = 0;
    /// Up to 1,000,000; the same for Large tasks; 0 = 32, or 2 for each worker if that is more
    uint32_t largeFibers = 0;
    /// What every small task has, at least 16 KiB. Twice as much is mapped, so that a waiting task
    /// can run another on top of its own frames; pages that nobody touches take no memory (Windows:
    /// they count as committed)
    size_t smallStackBytes = 64 << 10;
    size_t largeStackBytes = 512 << 10;  ///< the same for Large tasks
    /// Stack of a worker thread; tasks never run on it; at least 64 KiB
    size_t threadStackBytes = 512 << 10;
    IdlePolicy idle = IdlePolicy::Balanced;
    Affinity affinity;  ///< of the threads that weft makes
    /// They are named this and their index; null = unnamed; at most 15 bytes are shown; must
    /// outlive the scheduler
    const char *threadName = "weft";
    /// Added to their nice value, -20 (first) to 19 (last); 0 = as the caller
    int32_t threadNice = 0;
    /// Microseconds of CPU that they take at once if others want it: a woken worker goes before a
    /// thread with longer slices; 100 to 100,000; 0 = as the caller. Linux 6.12 or newer; others
    /// ignore it
    uint32_t threadSliceMicroseconds = 500;
    MemoryHooks memory;
    ThreadHooks threads;
    TraceHooks trace;
    /// Install a handler for SIGSEGV and SIGBUS that names the task, and then goes on to the
    /// handler that was there before
    bool reportStackOverflow = false;
    /// Any thread; a worker must not wait in it; null = one line on stderr
    void (*onReport)(const Report &report, void *user) = nullptr;
    void *user = nullptr;  ///< handed to onReport
    /// After Stop, or after Run's main task has returned, threads that are no workers may submit
    /// and wait for so long; then their calls are refused; up to 60,000
    uint32_t stopGraceMilliseconds = 1000;
    /// A stall (PoolEmpty, LargePoolEmpty, Stalled) is reported when it has lasted for so long; 1
    /// to 60,000
    uint32_t stallMilliseconds = 500;
    /// A queue whose oldest task or fiber has waited for so long gets a sixth of the workers' time;
    /// 1 to 60,000
    uint32_t agingMilliseconds = 100;
};

}  // namespace weft
