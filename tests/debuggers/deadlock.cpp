// What tests/debuggers.sh looks at in gdb and lldb. Five tasks wait for each other in a circle. The
// loader waits for a counter that nobody will lower. The main task waits for the loader. Without
// arguments the program sleeps then, until it is killed. "abort" aborts it, for a core dump.
//
// An external thread, an attached thread and a deferred task wait, too.
#include <weft/deferred.h>
#include <weft/task_scheduler.h>
#include <weft/time.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>

#if defined(__GNUC__)
#define NOINLINE __attribute__((noinline))
#else
#define NOINLINE __declspec(noinline)
#endif

namespace {

struct Link {
    weft::Counter *next;
    int id;
};

}  // namespace

// Not in the namespace: the test looks for these names.
weft::Counter g_done[5];
weft::Counter g_never(1);
weft::Counter g_loaded;
weft::Counter g_later;
static Link g_links[5];
static std::atomic<int> g_waiting{0};

NOINLINE void WaitForNeighbour(weft::TaskScheduler *scheduler, const Link &link, int depth) {
    volatile int local = depth * 100 + link.id;
    if (depth > 0) {
        WaitForNeighbour(scheduler, link, depth - 1);
    } else {
        g_waiting.fetch_add(1);
        scheduler->WaitForCounter(link.next);
    }
    local = local + 1;  // no tail call
}

NOINLINE void Eat(weft::TaskScheduler *scheduler, void *arg) {
    WaitForNeighbour(scheduler, *static_cast<Link *>(arg), 2);
    static_cast<Link *>(arg)->id = -1;
}

NOINLINE void Load(weft::TaskScheduler *scheduler, void *arg) {
    g_waiting.fetch_add(1);
    scheduler->WaitForCounter(&g_never);
    ++*static_cast<int *>(arg);
}

NOINLINE void Nothing(weft::TaskScheduler *, void *) {}

static void Main(weft::TaskScheduler *scheduler, void *) {
    static const char *const names[5] = {"eater0", "eater1", "eater2", "eater3", "eater4"};
    // All counters are raised before the first task waits.
    for (weft::Counter &done : g_done) scheduler->IncrementCounter(&done);
    for (int i = 0; i < 5; ++i) {
        g_links[i] = {&g_done[(i + 1) % 5], i};
        weft::TaskOptions options;
        options.name = names[i];
        const weft::Task task{Eat, &g_links[i]};
        scheduler->AddTasks(1, &task, &g_done[i], options);
    }
    for (weft::Counter &done : g_done) scheduler->DecrementCounter(&done);

    static int loads = 0;
    weft::TaskOptions options;
    options.name = "loader";
    const weft::Task loader{Load, &loads};
    scheduler->AddTasks(1, &loader, &g_loaded, options);
    options.name = "saver";
    weft::AddTaskAfter(*scheduler, &g_loaded, 0, weft::Task{Nothing, nullptr}, &g_later,
                       options);
    scheduler->WaitForCounter(&g_loaded);
}

int main(int argc, char **argv) {
    weft::SchedulerOptions options;
    options.workers = 3;
    options.onReport = [](const weft::Report &, void *) {};
    weft::TaskScheduler scheduler(options);
    const bool aborts = argc > 1 && std::strcmp(argv[1], "abort") == 0;
    if (scheduler.Start() != weft::Status::Ok) return 1;
    const weft::Task main{Main, nullptr};
    weft::TaskOptions named;
    named.name = "main";
    scheduler.AddTasks(1, &main, nullptr, named);
    std::thread external([&] { scheduler.WaitForCounter(&g_later); });
    while (g_waiting.load() != 6) std::this_thread::yield();
    // Until all have left their threads. Nothing else tells that.
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    std::puts("stuck");
    std::fflush(stdout);
    if (aborts) std::abort();
    external.join();
    return 0;
}
