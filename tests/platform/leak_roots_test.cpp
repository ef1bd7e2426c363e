#include "platform/leak_roots.h"

#include "platform/sanitizers.h"
#include "support/child_process.h"
#include "support/pages.h"
#include "support/scheduler_run.h"
#include "support/spin.h"
#include "weft/frame/tagged_heap.h"

#include <atomic>
#include <string>
#include <thread>

#include <catch2/catch.hpp>

#if defined(WEFT_ASAN) && defined(__linux__)

#include <alloca.h>
#include <sanitizer/lsan_interface.h>

using namespace weft;

namespace {

// Sizes, by which the text of LeakSanitizer names memory.
enum : size_t {
    kByTask = 10007,
    kByThread = 20011,
    kByHeap = 30011,
    kByQueue = 40009,
    kByNothing = 50021
};

// Memory that only the result points to.
__attribute__((noinline)) char *NewMemory(size_t bytes) { return new char[bytes]; }

// Returns a place on the caller's stack. A variable may lie on a stack of AddressSanitizer instead.
#define PLACE_ON_STACK() static_cast<char *volatile *>(alloca(sizeof(char *)))

// Pages of the system, which LeakSanitizer does not know.
void *AllocatePages(size_t bytes, size_t alignment, void *) {
    char *const pages = static_cast<char *>(test::MapPages(bytes + alignment));
    const size_t over = reinterpret_cast<uintptr_t>(pages) % alignment;
    return pages + (over != 0 ? alignment - over : 0);
}

struct Scene {
    Counter hold{1}, done;
    std::atomic<bool> isHeld{false}, mayGo{false};
    SchedulerOptions options;
};

// A task that waits. Only its stack points to the first memory and to the pool, and only the pool's
// memory to the second one.
void Holder(TaskScheduler *scheduler, void *arg) {
    Scene &scene = *static_cast<Scene *>(arg);
    char *volatile *const place = PLACE_ON_STACK();
    *place = NewMemory(kByTask);
    BlockPool pool(scene.options, 4, 4 << 10);
    TaggedHeap heap(*scheduler, scene.options, pool, 1);
    char **const inHeap = static_cast<char **>(heap.Allocate(0, sizeof(char *)));
    *inHeap = NewMemory(kByHeap);
    scene.isHeld.store(true);
    scheduler->WaitForCounter(&scene.hold);
    delete[] * inHeap;
    delete[] * place;
    heap.Free(0);
}

// A task that keeps the only worker, so that the next one stays in the queue.
void Blocker(TaskScheduler *, void *arg) {
    Scene &scene = *static_cast<Scene *>(arg);
    std::thread([] { NewMemory(kByNothing)[0] = 1; }).join();
    __lsan_do_recoverable_leak_check();
    scene.mayGo.store(true);
}

__attribute__((noinline)) void Submit(TaskScheduler &scheduler, Scene &scene) {
    const Task tasks[] = {{Blocker, &scene},
                          {[](TaskScheduler *, void *arg) { delete[] static_cast<char *>(arg); },
                           NewMemory(kByQueue)}};
    scheduler.AddTask(tasks[0], &scene.done);
    scheduler.AddTask(tasks[1], &scene.done);
}

void RunScene(bool withPages) {
    Scene scene;
    scene.options = test::Options(1, 10);
    if (withPages) {
        scene.options.memory.allocate = AllocatePages;
        scene.options.memory.release = [](void *, size_t, size_t, void *) {};
    }
    char *volatile *const place = PLACE_ON_STACK();
    *place = NewMemory(kByThread);
    TaskScheduler scheduler(scene.options);
    auto main = [&](TaskScheduler *running) {
        running->AddTask({Holder, &scene}, &scene.done);
        test::YieldUntil(*running, [&] { return scene.isHeld.load(); });
        Submit(*running, scene);
        test::YieldUntil(*running, [&] { return scene.mayGo.load(); });
        running->DecrementCounter(&scene.hold);
        running->WaitForCounter(&scene.done);
    };
    const Task task = MakeTask(main);
    scheduler.Run(task.function, task.arg, {});
    delete[] * place;
}

}  // namespace

TEST_CASE(
    "fault: LeakSanitizer sees the pointers in waiting tasks, queues and heaps, and real leaks",
    "[leak_roots]") {
    for (const bool withPages : {false, true}) {
        INFO((withPages ? "memory hooks with mmap" : "operator new"));
        const test::ChildResult result = test::RunInChild([=] { RunScene(withPages); });
        INFO(result.output);
        CHECK(!result.Died());
        const auto isLeaked = [&](size_t bytes) {
            return test::Names(result.output, std::to_string(bytes) + " byte(s)");
        };
        CHECK(!isLeaked(kByTask));
        CHECK(!isLeaked(kByThread));
        CHECK(!isLeaked(kByHeap));
        CHECK(!isLeaked(kByQueue));
        CHECK(isLeaked(kByNothing));
    }
}

#endif
