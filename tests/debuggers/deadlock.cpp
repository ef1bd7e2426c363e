// What tests/debuggers.sh looks at in gdb and lldb. The program says "stuck" when all is in place.
//
//     deadlock          five tasks wait for each other in a circle; the loader waits for a counter
//                       that nobody will lower; others wait behind these two. Two tasks hold a
//                       lock each and wait for that of the other, and a third task waits for one
//                       of them. A task holds a lock and waits for a task that waits for this
//                       lock. Until it is killed.
//     deadlock abort    the same, but it aborts, for a core dump
//     deadlock busy     waits of several kinds, whose ends are still to come: a task runs, tasks
//                       are queued, pinned, or begin later. Until it is killed.
#include <weft/deferred.h>
#include <weft/sync/mutex.h>
#include <weft/task_scheduler.h>
#include <weft/time.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#if defined(__linux__)
#include <sys/prctl.h>
#endif

#if defined(__GNUC__)
#define NOINLINE __attribute__((noinline))
#else
#define NOINLINE __declspec(noinline)
#endif

struct Link {
    weft::Counter *next;
    int id;
};

// The test looks for these names, so nothing here is in a namespace.
weft::Counter g_done[5];
weft::Counter g_never(1);
weft::Counter g_loaded;
weft::Counter g_later;
weft::Counter g_crumbs;
weft::Counter g_pinned;
weft::Counter g_timed;
weft::Counter g_staged(9);
weft::Counter g_rest;
weft::Counter g_traced;
std::optional<weft::Mutex> g_textures;
std::optional<weft::Mutex> g_meshes;
std::optional<weft::Mutex> g_lightmap;
static Link g_links[5];
static std::atomic<int> g_ready{0};

static weft::TaskOptions Named(const char *name) {
    weft::TaskOptions options;
    options.name = name;
    return options;
}

NOINLINE void WaitForNeighbour(weft::TaskScheduler *scheduler, const Link &link, int depth) {
    volatile int local = depth * 100 + link.id;
    if (depth > 0) {
        WaitForNeighbour(scheduler, link, depth - 1);
    } else {
        g_ready.fetch_add(1);
        scheduler->WaitForCounter(link.next);
    }
    local = local + 1;  // no tail call
}

static std::atomic<int> g_eating{0};

NOINLINE void Eat(weft::TaskScheduler *scheduler, void *arg) {
    // A wait could run a neighbour that has not begun on the stack of this task.
    g_eating.fetch_add(1);
    while (g_eating.load() != 5) scheduler->Yield();
    WaitForNeighbour(scheduler, *static_cast<Link *>(arg), 2);
    static_cast<Link *>(arg)->id = -1;
}

NOINLINE void Load(weft::TaskScheduler *scheduler, void *arg) {
    g_ready.fetch_add(1);
    scheduler->WaitForCounter(&g_never);
    ++*static_cast<int *>(arg);
}

NOINLINE void Nothing(weft::TaskScheduler *, void *) {}

struct TwoLocks {
    std::optional<weft::Mutex> *first, *second;
};
static std::atomic<int> g_holding{0};

NOINLINE void LockBoth(weft::TaskScheduler *scheduler, void *arg) {
    const auto &locks = *static_cast<TwoLocks *>(arg);
    const std::lock_guard<weft::Mutex> first(**locks.first);
    g_holding.fetch_add(1);
    while (g_holding.load() != 2) scheduler->Yield();
    g_ready.fetch_add(1);
    const std::lock_guard<weft::Mutex> second(**locks.second);
}

NOINLINE void LockOne(weft::TaskScheduler *scheduler, void *arg) {
    while (g_holding.load() != 2) scheduler->Yield();
    g_ready.fetch_add(1);
    const std::lock_guard<weft::Mutex> lock(**static_cast<std::optional<weft::Mutex> *>(arg));
}

static std::atomic<bool> g_traceBegun{false};

NOINLINE void Trace(weft::TaskScheduler *, void *) {
    g_traceBegun.store(true);
    g_ready.fetch_add(1);
    const std::lock_guard<weft::Mutex> lock(*g_lightmap);
}

NOINLINE void Bake(weft::TaskScheduler *scheduler, void *) {
    const std::lock_guard<weft::Mutex> lock(*g_lightmap);
    const weft::Task tracer{Trace, nullptr};
    scheduler->AddTasks(1, &tracer, &g_traced, Named("tracer"));
    // A wait could run the tracer on the stack of this task.
    while (!g_traceBegun.load()) scheduler->Yield();
    g_ready.fetch_add(1);
    scheduler->WaitForCounter(&g_traced);
}

static void DeadlockOfLocks(weft::TaskScheduler *scheduler) {
    static TwoLocks importer{&g_textures, &g_meshes}, exporter{&g_meshes, &g_textures};
    const weft::Task imports{LockBoth, &importer}, exports{LockBoth, &exporter};
    const weft::Task previews{LockOne, &g_textures}, bakes{Bake, nullptr};
    scheduler->AddTasks(1, &imports, &g_rest, Named("importer"));
    scheduler->AddTasks(1, &exports, &g_rest, Named("exporter"));
    scheduler->AddTasks(1, &previews, &g_rest, Named("previewer"));
    scheduler->AddTasks(1, &bakes, &g_rest, Named("baker"));
}

static void Deadlock(weft::TaskScheduler *scheduler, void *) {
    static const char *const names[5] = {"eater0", "eater1", "eater2", "eater3", "eater4"};
    // All counters are raised before the first task waits.
    for (weft::Counter &done : g_done) scheduler->IncrementCounter(&done);
    for (int i = 0; i < 5; ++i) {
        g_links[i] = {&g_done[(i + 1) % 5], i};
        const weft::Task task{Eat, &g_links[i]};
        scheduler->AddTasks(1, &task, &g_done[i], Named(names[i]));
    }
    for (weft::Counter &done : g_done) scheduler->DecrementCounter(&done);

    static int loads = 0;
    const weft::Task loader{Load, &loads};
    scheduler->AddTasks(1, &loader, &g_loaded, Named("loader"));
    // More than the first segment of a pool holds.
    for (int i = 0; i < 100; ++i)
        weft::AddTaskAfter(*scheduler, &g_loaded, 0, {Nothing, nullptr}, &g_later, Named("saver"));
    DeadlockOfLocks(scheduler);
    scheduler->WaitForCounter(&g_loaded);
}

static weft::Mutex *g_mutex = nullptr;

NOINLINE void LockMutex(weft::TaskScheduler *, void *) {
    g_ready.fetch_add(1);
    const std::lock_guard<weft::Mutex> lock(*g_mutex);
}

NOINLINE void WaitForLong(weft::TaskScheduler *scheduler, void *) {
    g_ready.fetch_add(1);
    weft::WaitForCounterFor(*scheduler, &g_never, std::chrono::hours(1));
}

NOINLINE void Choose(weft::TaskScheduler *scheduler, void *) {
    weft::Counter *const counters[] = {&g_never, &g_staged};
    g_ready.fetch_add(1);
    scheduler->WaitForAny(2, counters);
}

NOINLINE void Nap(weft::TaskScheduler *scheduler, void *) {
    g_ready.fetch_add(1);
    weft::SleepFor(*scheduler, std::chrono::hours(1));
}

NOINLINE void Spin(weft::TaskScheduler *scheduler, void *arg) {
    const std::vector<weft::Task> crumbs(40, weft::Task{Nothing, arg});
    scheduler->AddTasks(40, crumbs.data(), &g_crumbs, Named("crumb"));
    weft::TaskOptions pinned = Named("pinned");
    pinned.worker = 0;
    scheduler->AddTasks(2, crumbs.data(), &g_pinned, pinned);
    weft::AddTaskAt(*scheduler, weft::Now() + std::chrono::hours(1), crumbs[0], &g_timed,
                    Named("timed"));
    // The decrement makes a heap of them (core/counters.h).
    for (uint32_t value = 1; value != 8; ++value)
        weft::AddTaskAfter(*scheduler, &g_staged, value, crumbs[0], nullptr, Named("stage"));
    scheduler->DecrementCounter(&g_staged);
    g_ready.fetch_add(1);
    for (volatile bool forever = true; forever;) {
    }
}

static void Busy(weft::TaskScheduler *scheduler, void *) {
    g_mutex->lock();
    const weft::Task locker{LockMutex, nullptr}, sleeper{WaitForLong, nullptr};
    const weft::Task chooser{Choose, nullptr}, napper{Nap, nullptr};
    scheduler->AddTasks(1, &locker, &g_rest, Named("locker"));
    scheduler->AddTasks(1, &sleeper, &g_rest, Named("sleeper"));
    scheduler->AddTasks(1, &chooser, &g_rest, Named("chooser"));
    scheduler->AddTasks(1, &napper, &g_rest, Named("napper"));
    while (g_ready.load() != 4) scheduler->Yield();
    const weft::Task spinner{Spin, nullptr};
    weft::Counter spun;
    scheduler->AddTasks(1, &spinner, &spun, Named("spinner"));
    scheduler->WaitForCounter(&spun);
    g_mutex->unlock();
}

#if defined(__linux__)
// Returns how many threads of this process run or want to, without the caller.
static int RunningThreads() {
    int running = -1;
    for (const auto &task : std::filesystem::directory_iterator("/proc/self/task")) {
        std::ifstream file(task.path() / "stat");
        std::string line;
        std::getline(file, line);
        const size_t name = line.rfind(')');  // the state comes after the name
        running += name != std::string::npos && line[name + 2] == 'R';
    }
    return running;
}
#endif

// Returns when all other threads but `running` sleep, a few times in a row: then all tasks that
// wait have left their threads.
static void WaitUntilAsleep([[maybe_unused]] int running) {
    for (int times = 0; times < 10; ++times) {
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
#if defined(__linux__)
        if (RunningThreads() > running) times = 0;
#endif
    }
}

int main(int argc, char **argv) {
#if defined(__linux__)
    prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY);  // any debugger may attach
#endif
    const auto is = [&](const char *word) { return argc > 1 && std::strcmp(argv[1], word) == 0; };
    const bool busy = is("busy");
    weft::SchedulerOptions options;
    options.workers = busy ? 1 : 3;
    options.lockHolders = !busy;
    options.onReport = [](const weft::Report &, void *) {};  // it stalls: that is the point
    weft::TaskScheduler scheduler(options);
    weft::Mutex mutex(scheduler);
    g_mutex = &mutex;
    g_textures.emplace(scheduler);
    g_meshes.emplace(scheduler);
    g_lightmap.emplace(scheduler);
    if (scheduler.Start() != weft::Status::Ok) return 1;
    const weft::Task main{busy ? Busy : Deadlock, nullptr};
    scheduler.AddTasks(1, &main, nullptr, Named("main"));
    while (g_ready.load() != (busy ? 5 : 11)) std::this_thread::yield();

    std::vector<std::thread> threads;
    std::vector<weft::Counter *> counters = {&g_later};
    if (busy) counters = {&g_crumbs, &g_pinned, &g_timed};
    for (weft::Counter *counter : counters)
        threads.emplace_back([&, counter] { scheduler.WaitForCounter(counter); });
    if (busy) threads.emplace_back([&] { scheduler.WaitIdle(); });
    WaitUntilAsleep(busy ? 1 : 0);
    std::puts("stuck");
    std::fflush(stdout);
    if (is("abort")) std::abort();
    for (std::thread &thread : threads) thread.join();
    return 0;
}
