// What weft reports to ThreadSanitizer in the build that finds races between its users' tasks
// (premake5 --race-finder, configuration Tsan).
//
// For ThreadSanitizer two accesses are ordered if there is any synchronisation between them.
// Between two tasks there is always some, inside weft. So ThreadSanitizer finds no race between two
// tasks that ran one after the other on one worker, although in another run they may run at the
// same time. So this build differs:
//
// - The library is not instrumented.
// - A switch between fibers orders nothing (__tsan_switch_to_fiber_no_sync).
// - Every task begins on another fiber than the task before it.
// - A task that waits runs no other tasks on its own stack.
// - weft reports only the orders that it promises: a submission comes before the start of its task,
//   and the decrement of a counter comes before the return from a wait that it ends.
#pragma once

#include "weft/counter.h"
#include "weft/task.h"

#if defined(WEFT_RACE_FINDER)
#include <sanitizer/tsan_interface.h>

extern "C" {
void AnnotateIgnoreReadsBegin(const char *file, int line);
void AnnotateIgnoreReadsEnd(const char *file, int line);
void AnnotateIgnoreWritesBegin(const char *file, int line);
void AnnotateIgnoreWritesEnd(const char *file, int line);
void __tsan_read_range(void *begin, unsigned long bytes);
void __tsan_write_range(void *begin, unsigned long bytes);
}
#endif

#include <cstddef>
#include <cstdint>

namespace weft::internal::race {

#if defined(WEFT_RACE_FINDER)

inline constexpr bool kFinder = true;

// The address that stands for a task, because tasks have no address of their own. If two tasks
// share an address here, too much is ordered, and a race may be missed.
inline char *PlaceOf(const Task &task) noexcept {
    static char places[1 << 16];
    const uint64_t both = reinterpret_cast<uint64_t>(task.function) * 0x9e3779b97f4a7c15u ^
                          reinterpret_cast<uint64_t>(task.arg);
    return &places[both * 0x9e3779b97f4a7c15u >> 48];
}

inline void Submitted(uint32_t count, const Task *tasks) noexcept {
    for (uint32_t i = 0; i < count; ++i) __tsan_release(PlaceOf(tasks[i]));
}
inline void Starts(const Task &task) noexcept { __tsan_acquire(PlaceOf(task)); }
inline void CountsOff(const Counter &counter) noexcept {
    __tsan_release(const_cast<Counter *>(&counter));
}
inline void SawCount(const Counter &counter) noexcept {
    __tsan_acquire(const_cast<Counter *>(&counter));
}

// `all` stands for everything that a scheduler runs.
inline void Finishes(void *all) noexcept { __tsan_release(all); }
inline void SawAll(void *all) noexcept { __tsan_acquire(all); }

// Code that is pinned to one thread is ordered by this thread.
inline void LeavesThread(void *thread) noexcept { __tsan_release(thread); }
inline void ComesToThread(void *thread) noexcept { __tsan_acquire(thread); }

// The start of a thread set up the thread's own data, such as errno. It comes before all that runs
// on the thread.
inline void ThreadBegan(void *thread) noexcept { __tsan_release(static_cast<char *>(thread) + 1); }
inline void RunsOn(void *thread) noexcept { __tsan_acquire(static_cast<char *>(thread) + 1); }

// A task that asks for its worker may use data of this worker, until its next wait.
inline void Leaves(void *worker) noexcept { __tsan_release(static_cast<char *>(worker) + 2); }
inline void AsksFor(void *worker) noexcept { __tsan_acquire(static_cast<char *>(worker) + 2); }

// Memory of the library that has held data of the user, and is used again.
inline void Frees(void *memory) noexcept { __tsan_release(memory); }
inline void Reuses(void *memory) noexcept { __tsan_acquire(memory); }

// A node of a graph: what precedes it, and its begin. `state` is that of the node in this run.
inline void Precedes(void *state) noexcept { __tsan_release(state); }
inline void Follows(void *state) noexcept { __tsan_acquire(state); }

// Accesses that a system has declared.
inline void WillRead(void *begin, size_t bytes) noexcept { __tsan_read_range(begin, bytes); }
inline void WillWrite(void *begin, size_t bytes) noexcept { __tsan_write_range(begin, bytes); }

// The library copies with memcpy, which ThreadSanitizer watches everywhere.
class Unwatched {
public:
    Unwatched() noexcept {
        AnnotateIgnoreReadsBegin(__FILE__, __LINE__);
        AnnotateIgnoreWritesBegin(__FILE__, __LINE__);
    }
    ~Unwatched() {
        AnnotateIgnoreWritesEnd(__FILE__, __LINE__);
        AnnotateIgnoreReadsEnd(__FILE__, __LINE__);
    }
    Unwatched(const Unwatched &) = delete;
    Unwatched &operator=(const Unwatched &) = delete;
};

#else

inline constexpr bool kFinder = false;
inline void Submitted(uint32_t, const Task *) noexcept {}
inline void Starts(const Task &) noexcept {}
inline void CountsOff(const Counter &) noexcept {}
inline void SawCount(const Counter &) noexcept {}
inline void Finishes(void *) noexcept {}
inline void SawAll(void *) noexcept {}
inline void LeavesThread(void *) noexcept {}
inline void ComesToThread(void *) noexcept {}
inline void ThreadBegan(void *) noexcept {}
inline void RunsOn(void *) noexcept {}
inline void Leaves(void *) noexcept {}
inline void AsksFor(void *) noexcept {}
inline void Frees(void *) noexcept {}
inline void Reuses(void *) noexcept {}
inline void Precedes(void *) noexcept {}
inline void Follows(void *) noexcept {}
inline void WillRead(void *, size_t) noexcept {}
inline void WillWrite(void *, size_t) noexcept {}
struct Unwatched {
    Unwatched() noexcept {}
};

#endif

}  // namespace weft::internal::race
