// The thread that watches the time of a test case, and what it prints. In browsers there is no
// thread, and no limit.
#include "case_limit.h"

#include "platform/sanitizers.h"
#include "scheduler/state/scheduler.h"
#include "weft/inspect.h"

#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <thread>

#if defined(__linux__)
#include <csignal>

#include <pthread.h>
#endif

namespace test {

namespace {

using Clock = std::chrono::steady_clock;

#if defined(WEFT_ASAN) || defined(WEFT_TSAN)
constexpr int kSlowdown = 4;
#else
constexpr int kSlowdown = 1;
#endif

struct Watch {
    std::mutex mutex;
    std::string name;  // empty between two test cases
    Clock::time_point end;
    std::chrono::seconds limit{0};
    size_t passed = 0, failed = 0;
};

// Never destroyed, because the thread outlives main.
Watch &TheWatch() {
    static Watch &watch = *new Watch;
    return watch;
}

#if !defined(WEFT_SHARED)  // which hides the table of schedulers
const char *TextOf(weft::WaitCause cause) {
    switch (cause) {
        case weft::WaitCause::Cycle:
            return "is in a deadlock with";
        case weft::WaitCause::Nobody:
            return "waits for what no task does";
        case weft::WaitCause::Stuck:
            return "waits for a task that cannot continue:";
        case weft::WaitCause::Unknown:
            return "waits for what queued tasks or other threads may do";
        case weft::WaitCause::Working:
            return "waits for a task that can continue:";
    }
    return "waits";
}

constexpr uint32_t kPrinted = 20;

void Print(const weft::WaiterInfo &waiter, void *user) {
    auto &count = *static_cast<uint32_t *>(user);
    if (++count > kPrinted) return;
    if (waiter.isExternal) {
        std::printf("    an external thread");
    } else {
        std::printf("    the task '%s' on fiber %u", waiter.task != nullptr ? waiter.task : "-",
                    waiter.fiber);
    }
    std::printf(" %s", TextOf(waiter.cause));
    if (waiter.byTask != nullptr) std::printf(" '%s'", waiter.byTask);
    if (waiter.byFiber != weft::kAnyWorker) std::printf(" on fiber %u", waiter.byFiber);
    std::printf(" (counter %p)\n", static_cast<const void *>(waiter.counter));
}

void PrintSchedulers() {
    weft::internal::SchedulerTag::Find([](void *found) {
        auto &scheduler = *static_cast<weft::internal::Scheduler *>(found)->taskScheduler;
        std::printf("  what waits in the scheduler with %u workers:\n", scheduler.WorkerCount());
        std::fflush(stdout);
        uint32_t count = 0;
        weft::DescribeWaiters(scheduler, Print, &count);
        if (count == 0) std::printf("    nothing\n");
        if (count > kPrinted) std::printf("    and %u more\n", count - kPrinted);
        return false;
    });
}
#else
void PrintSchedulers() {}
#endif

[[noreturn]] void GiveUp(const Watch &watch, const std::string &why) {
    std::printf("\ngiven up: test case \"%s\": %s\n", watch.name.c_str(), why.c_str());
    std::fflush(stdout);
    // The description takes part in the schedulers, so it could hang as well.
    std::thread([] {
        std::this_thread::sleep_for(std::chrono::seconds(10));
        std::_Exit(kCaseLimitCode);
    }).detach();
    PrintSchedulers();
    std::printf("\n%zu passed, %zu failed\n", watch.passed, watch.failed + 1);
    std::fflush(stdout);
    std::_Exit(kCaseLimitCode);
}

// The thread looks once a second. If each test case woke it, it would disturb the tests that count
// system calls.
class Watcher {
public:
    void Start() {
        m_thread = std::thread([this] { Run(); });
    }
    // Returns false if there is no thread.
    bool Stop() {
        if (!m_thread.joinable()) return false;
        {
            const std::lock_guard lock(m_mutex);
            m_stops = true;
        }
        m_stop.notify_one();
        m_thread.join();
        m_stops = false;
        return true;
    }

private:
    void Run() {
        std::unique_lock stop(m_mutex);
        while (!m_stop.wait_for(stop, std::chrono::seconds(1), [this] { return m_stops; })) {
            Watch &watch = TheWatch();
            const std::lock_guard lock(watch.mutex);
            if (watch.name.empty() || Clock::now() < watch.end) continue;
            GiveUp(watch, "it still runs after " + std::to_string(watch.limit.count()) + " s");
        }
    }

    std::mutex m_mutex;
    std::condition_variable m_stop;
    bool m_stops = false;
    std::thread m_thread;
};

// Never destroyed, because the thread outlives main.
Watcher &TheWatcher() {
    static Watcher &watcher = *new Watcher;
    return watcher;
}

// The thread blocks all signals, because some tests raise them for the process. It does not live
// during a fork: ThreadSanitizer and qemu end a child of several threads that starts threads.
[[maybe_unused]] void StartWatcher() {
#if defined(__linux__)
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
#endif
    TheWatcher().Start();
#if defined(__linux__)
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
#endif
}

bool BeginToWatch() {
#if !defined(__EMSCRIPTEN__)
    StartWatcher();
#endif
#if defined(__linux__)
    static bool stopped = false;  // no thread watches a child, which may fork, too
    pthread_atfork([] { stopped = TheWatcher().Stop(); },
                   [] {
                       if (stopped) StartWatcher();
                   },
                   nullptr);
#endif
    return true;
}

}  // namespace

void BeginCase(const std::string &name, bool isLong) {
    static const bool watches = BeginToWatch();
    static const char *const slowdown = std::getenv("WEFT_SLOWDOWN");
    static_cast<void>(watches);
    Watch &watch = TheWatch();
    const std::lock_guard lock(watch.mutex);
    watch.name = name;
    watch.limit = std::chrono::seconds((isLong ? 600 : 60) * kSlowdown);
    if (slowdown != nullptr) watch.limit *= std::atoi(slowdown);
    watch.end = Clock::now() + watch.limit;
}

void EndCase(bool passed) {
    Watch &watch = TheWatch();
    const std::lock_guard lock(watch.mutex);
    watch.name.clear();
    ++(passed ? watch.passed : watch.failed);
}

void GiveUpCase(const std::string &why) {
    Watch &watch = TheWatch();
    const std::lock_guard lock(watch.mutex);
    GiveUp(watch, why);
}

}  // namespace test
