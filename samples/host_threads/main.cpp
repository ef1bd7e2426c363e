// A host with strict rules, such as a console engine has them: no exceptions, no RTTI, all threads
// are made by the host and bound to its CPUs, all memory comes from the host, and none is taken
// after Start.
//
//     samples/run.sh host_threads
//
// The build of weft for such a host has no exceptions and no RTTI: premake5 --no-exceptions.
#include <weft/task_scheduler.h>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <new>
#include <thread>

#if defined(_WIN32)
#include <windows.h>
#else
#include <sys/mman.h>
#endif
#if defined(__linux__)
#include <sched.h>
#endif

namespace {

constexpr uint32_t kWorkers = 3, kFrames = 120, kJobs = 600;

// The host's memory: one block for everything that weft allocates. Stacks are pages of the system,
// because weft protects a guard page below each of them.
class Memory {
public:
    void AttachTo(weft::MemoryHooks &hooks) noexcept {
        hooks.user = this;
        hooks.allocate = [](size_t bytes, size_t alignment, void *user) {
            return static_cast<Memory *>(user)->Allocate(bytes, alignment);
        };
        hooks.release = [](void *, size_t, size_t, void *) {};  // the block goes as a whole
        hooks.reserveStacks = [](size_t bytes, void *user) {
            static_cast<Memory *>(user)->m_stackBytes += bytes;
            return Pages(bytes);
        };
        hooks.releaseStacks = [](void *memory, size_t bytes, void *) { FreePages(memory, bytes); };
    }
    size_t Used() const noexcept { return m_used.load(); }
    size_t StackBytes() const noexcept { return m_stackBytes; }

private:
    // Any thread may call it.
    void *Allocate(size_t bytes, size_t alignment) noexcept {
        const uintptr_t block = reinterpret_cast<uintptr_t>(m_block);
        size_t used = m_used.load(), begin;
        do {
            // the address must be aligned, not only the place in the block
            begin = (block + used + alignment - 1) / alignment * alignment - block;
            if (begin + bytes > sizeof m_block) return nullptr;  // weft reports OutOfMemory
        } while (!m_used.compare_exchange_weak(used, begin + bytes));
        return m_block + begin;
    }
#if defined(_WIN32)
    static void *Pages(size_t bytes) noexcept {
        return VirtualAlloc(nullptr, bytes, MEM_RESERVE | MEM_COMMIT, PAGE_READWRITE);
    }
    static void FreePages(void *memory, size_t) noexcept { VirtualFree(memory, 0, MEM_RELEASE); }
#else
    static void *Pages(size_t bytes) noexcept {
        void *const pages = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        return pages != MAP_FAILED ? pages : nullptr;
    }
    static void FreePages(void *memory, size_t bytes) noexcept { munmap(memory, bytes); }
#endif

    unsigned char m_block[32 << 20];
    std::atomic<size_t> m_used{0};
    size_t m_stackBytes = 0;
};

Memory memory;

// Binds the calling thread to one of the CPUs that the process may use. Returns false if the system
// refuses.
bool BindToCpu(uint32_t thread) noexcept {
#if defined(_WIN32)
    DWORD_PTR usable = 0, all = 0;
    if (!GetProcessAffinityMask(GetCurrentProcess(), &usable, &all) || usable == 0) return false;
    DWORD_PTR left = usable;
    for (uint32_t i = 0; i < thread; ++i) {
        left &= left - 1;  // without its lowest CPU
        if (left == 0) left = usable;
    }
    return SetThreadAffinityMask(GetCurrentThread(), left & (~left + 1)) != 0;
#elif defined(__linux__)
    cpu_set_t usable, one;
    if (sched_getaffinity(0, sizeof usable, &usable) != 0) return false;
    uint32_t skip = thread % static_cast<uint32_t>(CPU_COUNT(&usable)), cpu = 0;
    while (!CPU_ISSET(cpu, &usable) || skip-- != 0) ++cpu;
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    return sched_setaffinity(0, sizeof one, &one) == 0;
#else
    static_cast<void>(thread);
    return true;  // the system has no such call
#endif
}

struct Job {
    uint32_t runs = 0;
    static void Run(weft::TaskScheduler *, void *arg) { ++static_cast<Job *>(arg)->runs; }
};

Job jobs[kJobs];

// A frame submits each job on its own, so the queue of its worker needs room for 600 entries.
// Without SchedulerOptions::pendingTasks it has room for 256 at the start.
void RunFrame(weft::TaskScheduler *scheduler, void *) {
    weft::Counter counter;
    for (Job &job : jobs) scheduler->AddTask({Job::Run, &job}, &counter);
    scheduler->WaitForCounter(&counter);
}

}  // namespace

int main() {
    weft::SchedulerOptions options;
    options.workers = kWorkers;
    options.hostThreads = true;
    options.fibers = 72;
    options.maxAttached = 1;
    options.pendingTasks = 1024;  // a frame, its jobs, and room for changes
    memory.AttachTo(options.memory);
    static weft::TaskScheduler scheduler(options);
    if (scheduler.Start() != weft::Status::Ok) return 1;
    const size_t usedByStart = memory.Used();

    // The host makes the threads, and chooses their names, stacks, CPUs and priorities.
    static bool bound[kWorkers];
    static weft::Status results[kWorkers];
    std::thread threads[kWorkers];
    for (uint32_t i = 0; i < kWorkers; ++i) {
        threads[i] = std::thread([i] {
            bound[i] = BindToCpu(i);
            results[i] = scheduler.RunWorker(i);
        });
    }
    if (scheduler.AttachThread() != weft::Status::Ok) return 1;

    // Waits until each worker has its thread: a pinned task runs on no other one.
    static Job first[kWorkers];
    weft::Counter begun;
    for (uint32_t i = 0; i < kWorkers; ++i) {
        weft::TaskOptions pinned;
        pinned.worker = i;
        scheduler.AddTask({Job::Run, &first[i]}, &begun, pinned);
    }
    scheduler.WaitForCounter(&begun);

    for (uint32_t frame = 0; frame < kFrames; ++frame) {
        const weft::Task task{RunFrame, nullptr};
        scheduler.AddTasksAndWait(1, &task);  // on any worker, or here
    }
    const size_t usedAfter = memory.Used();

    scheduler.DetachThread();
    scheduler.Stop();  // the threads leave RunWorker
    bool right = usedAfter == usedByStart;
    for (uint32_t i = 0; i < kWorkers; ++i) {
        threads[i].join();
        right = right && bound[i] && results[i] == weft::Status::Ok;
    }
    for (const Job &job : jobs) right = right && job.runs == kFrames;
    std::printf("%u frames of %u jobs on %u threads of the host, each bound to a CPU\n", kFrames,
                kJobs, kWorkers);
    std::printf("memory at Start: %zu KiB, stacks: %zu KiB (of address space)\n", usedByStart >> 10,
                memory.StackBytes() >> 10);
    std::printf("taken after Start: %zu bytes: %s\n", usedAfter - usedByStart,
                right ? "right" : "WRONG");
    return right ? 0 : 1;
}
