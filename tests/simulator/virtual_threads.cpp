// The scheduler of virtual threads, and the functions of weft::env that use it.
#include "simulator/virtual_threads.h"

#include "platform/compiler.h"
#include "simulator/env_simulator.h"

#include <boost/context/detail/fcontext.hpp>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <utility>
#include <vector>

#if !defined(_WIN32)
#include <signal.h>
#include <sys/time.h>
#endif

namespace simulator {

namespace {

namespace fcontext = boost::context::detail;

constexpr uint32_t kNobody = ~0u;
constexpr uint64_t kNever = ~uint64_t{0};
constexpr size_t kStackBytes = 128 << 10;
constexpr uint64_t kMaxSteps = 4000000;
constexpr uint64_t kFairTurn = 1500;  // steps in a row, roughly, before another thread runs

struct VirtualThread {
    fcontext::fcontext_t context = nullptr;  // while it does not run
    std::unique_ptr<char[]> stack;
    void (*entry)(void *) = nullptr;
    void *arg = nullptr;
    void *slot = nullptr;
    void *callSlot = nullptr;
    void *hookSlot = nullptr;
    int64_t priority = 0;
    uint32_t joiner = kNobody;
    uint64_t steps = 0;
    uint64_t wakeAt = kNever;  // a deadline, while it sleeps
    bool runnable = false;
    bool done = false;
};

struct DeadRange {
    const char *begin;
    const char *end;
};

// The state of the running schedule. There is one at a time.
struct State {
    std::vector<VirtualThread> threads;
    uint32_t count = 0;
    uint32_t current = 0;
    fcontext::fcontext_t host = nullptr;
    uint64_t random = 1;
    uint64_t steps = 0;
    uint64_t alone = 0;   // the steps before there was a second thread
    uint64_t passed = 0;  // ticks during which all threads slept
    uint64_t ticksBefore = 0;
    uint64_t turn = 0;  // steps that the running thread has taken in a row
    uint64_t turnEnd = kFairTurn;
    uint64_t hash = 0;
    int64_t lowest = 0;
    bool randomWalk = false;
    std::vector<uint64_t> changes;  // steps at which the running thread gets the lowest priority
    std::vector<DeadRange> dead;
    std::string failure;
    const std::function<void()> *body = nullptr;
    std::function<void()> observer;
    const void *accessed;
    double ticksPerMicrosecond = 1;
    bool printed = false;
    uint32_t threadsLeft = 0;
};

State s_state;

#if defined(_WIN32)
extern "C" const char __image_base__;  // from the linker
const char &kImage = __image_base__;
#else
extern "C" const char __executable_start;
const char &kImage = __executable_start;
#endif

// Prints one line: the step, the thread, its next access, and the place in the program (for
// addr2line).
void PrintStep(weft::env::Access access, const void *place) {
    static constexpr const char *kAccesses[] = {"-", "load", "store", "update"};
    const State &state = s_state;
    std::printf("%8llu  thread %-2u  %-6s  %#zx\n", static_cast<unsigned long long>(state.steps),
                state.current, kAccesses[static_cast<int>(access)],
                reinterpret_cast<uintptr_t>(place) - reinterpret_cast<uintptr_t>(&kImage) -
                    1);  // the address of the call, not of its return
}

uint64_t NextRandom() {
    State &state = s_state;  // xorshift64*, S. Vigna 2016
    state.random ^= state.random >> 12;
    state.random ^= state.random << 25;
    state.random ^= state.random >> 27;
    return state.random * 0x2545f4914f6cdd1dull >> 16;
}

uint32_t PickNext() {
    State &state = s_state;
    uint32_t best = kNobody;
    if (state.randomWalk) {
        if (state.threads[state.current].runnable && NextRandom() % 8 != 0) return state.current;
        const uint32_t first = static_cast<uint32_t>(NextRandom() % state.count);
        for (uint32_t i = 0; i < state.count && best == kNobody; ++i) {
            const uint32_t index = (first + i) % state.count;
            if (state.threads[index].runnable) best = index;
        }
        return best;
    }
    for (uint32_t i = 0; i < state.count; ++i) {
        if (!state.threads[i].runnable) continue;
        if (best == kNobody || state.threads[i].priority > state.threads[best].priority) best = i;
    }
    return best;
}

void SwitchToThread(uint32_t next) {
    State &state = s_state;
    if (next == state.current) return;
    VirtualThread &from = state.threads[state.current];
    state.hash = (state.hash ^ (state.steps * 64 + next)) * 0x100000001b3ull;
    state.current = next;
    state.turn = 0;
    fcontext::transfer_t landed =
        fcontext::jump_fcontext(state.threads[next].context, &from.context);
    *static_cast<fcontext::fcontext_t *>(landed.data) = landed.fctx;
}

[[noreturn]] void LeaveToHost() {
    fcontext::jump_fcontext(s_state.host, nullptr);
    std::abort();  // the host never returns to a schedule that has ended
}

// Makes threads runnable whose deadline has passed. If no thread is runnable, time jumps to the
// first deadline.
void LookAtClock() {
    State &state = s_state;
    uint64_t first = kNever;
    bool anyRunnable = false;
    for (uint32_t i = 0; i < state.count; ++i) {
        anyRunnable = anyRunnable || state.threads[i].runnable;
        first = std::min(first, state.threads[i].wakeAt);
    }
    if (first == kNever) return;
    while (!anyRunnable && weft::env::Now() < first) {
        state.passed += 1 + static_cast<uint64_t>(static_cast<double>(first - weft::env::Now()) /
                                                  1000.0 * state.ticksPerMicrosecond);
    }
    for (uint32_t i = 0; i < state.count; ++i) {
        VirtualThread &thread = state.threads[i];
        if (thread.wakeAt == kNever || thread.wakeAt > weft::env::Now()) continue;
        thread.wakeAt = kNever;
        thread.runnable = true;
    }
}

void ReSchedule() {
    LookAtClock();
    const uint32_t next = PickNext();
    if (next == kNobody) Fail("deadlock or lost wake-up: every thread sleeps");
    SwitchToThread(next);
}

// A loop without an atomic operation takes no step, so no other thread can run. A signal ends such
// a schedule. On Windows the loop does not end.
#if defined(_WIN32)
void WatchForLoops() {}
#else
constexpr time_t kSecondsWithoutStep =
    5;  // of processor time, in which thousands of schedules run otherwise

void FailInLoop(int) {
    static uint64_t s_seen = 0;
    const State &state = s_state;
    const uint64_t now = state.hash + state.steps + state.random;  // differs in each schedule
    if (state.count != 0 && now == s_seen) Fail("no progress: a loop without an atomic operation");
    s_seen = now;
}

void WatchForLoops() {
    struct sigaction action {};
    action.sa_handler = FailInLoop;
    action.sa_flags = SA_NODEFER | SA_RESTART;  // the handler does not return
    sigaction(SIGPROF, &action, nullptr);
    const itimerval every{{kSecondsWithoutStep, 0}, {kSecondsWithoutStep, 0}};
    setitimer(ITIMER_PROF, &every, nullptr);
}
#endif

void Lower(VirtualThread &thread) { thread.priority = --s_state.lowest; }

void ThreadEntry(fcontext::transfer_t landed) {
    *static_cast<fcontext::fcontext_t *>(landed.data) = landed.fctx;
    State &state = s_state;
    const uint32_t self = state.current;
    if (self == 0) {
        (*state.body)();
    } else {
        state.threads[self].entry(state.threads[self].arg);
    }
    VirtualThread &thread = state.threads[state.current];
    thread.done = true;
    thread.runnable = false;
    if (thread.joiner != kNobody) state.threads[thread.joiner].runnable = true;
    LookAtClock();
    for (uint32_t i = 0; i < state.count; ++i) {
        if (state.threads[i].runnable) {
            ReSchedule();
            std::abort();  // a thread that is done never runs again
        }
    }
    for (uint32_t i = 0; i < state.count; ++i) {
        if (!state.threads[i].done) Fail("deadlock or lost wake-up: every thread sleeps");
    }
    LeaveToHost();
}

uint32_t AddThread(void (*entry)(void *), void *arg) {
    State &state = s_state;
    if (state.count == state.threads.size()) {
        std::fprintf(stderr, "simulator: too many virtual threads\n");
        std::abort();
    }
    VirtualThread &thread = state.threads[state.count];
    if (thread.stack == nullptr) thread.stack = std::make_unique<char[]>(kStackBytes);
    thread.context =
        fcontext::make_fcontext(thread.stack.get() + kStackBytes, kStackBytes, ThreadEntry);
    thread.entry = entry;
    thread.arg = arg;
    thread.slot = thread.callSlot = thread.hookSlot = nullptr;
    thread.joiner = kNobody;
    thread.steps = 0;
    thread.wakeAt = kNever;
    thread.priority = static_cast<int64_t>(NextRandom() % 1000000) + 1;
    thread.runnable = true;
    thread.done = false;
    return state.count++;
}

}  // namespace

Outcome Explore(uint64_t seed, const std::function<void()> &body) {
    State &state = s_state;
    if (state.threads.empty()) {
        state.threads.resize(kMaxThreads);
        WatchForLoops();
    }
    state.count = 0;
    state.current = 0;
    state.random = seed * 0x9e3779b97f4a7c15ull | 1;
    for (int i = 0; i < 4; ++i) NextRandom();
    state.steps = state.alone = state.passed = state.turn = 0;
    state.turnEnd = kFairTurn;
    state.ticksBefore = uint64_t{1} << 50;  // so that RestartTicks can set the ticks back
    state.hash = 0xcbf29ce484222325ull;
    state.lowest = 0;
    state.randomWalk = seed % 2 == 0;
    state.ticksPerMicrosecond = seed % 3 == 0 ? 4 : 1;
    state.changes.clear();
    const uint64_t depth = 1 + seed % 7;
    // Schedules have between 25 and some thousands of steps.
    const uint64_t horizon = 32ull << NextRandom() % 8;
    for (uint64_t i = 0; i < depth; ++i) state.changes.push_back(NextRandom() % horizon);
    state.dead.clear();
    state.failure.clear();
    state.threadsLeft = ~0u;
    state.body = &body;
    if (weak::g_orders != nullptr) weak::g_orders->Reset();
    AddThread(nullptr, nullptr);
    // Thread 0 stores the host's context through the pointer that it receives.
    fcontext::jump_fcontext(state.threads[0].context, &state.host);
    Outcome outcome;
    outcome.failure = state.failure;
    outcome.steps = state.steps;
    outcome.hash = state.hash;
    outcome.threads = state.count;
    state.count = 0;
    state.observer = nullptr;
    return outcome;
}

void Fail(const char *message) {
    s_state.failure = message;
    LeaveToHost();
}

void MarkDead(const void *address, size_t bytes) {
    const char *begin = static_cast<const char *>(address);
    if (s_state.dead.size() == 32) s_state.dead.erase(s_state.dead.begin());
    s_state.dead.push_back({begin, begin + bytes});
}

void LimitThreads(uint32_t count) { s_state.threadsLeft = count; }
void CountNanoseconds() { s_state.ticksPerMicrosecond = 1000; }

void Compute(uint64_t microseconds) {
    weft::env::Parker nobody;
    nobody.ParkUntil(weft::env::Now() + microseconds * 1000);
}

void RestartTicks() { s_state.ticksBefore = 0; }

void PrintSteps(bool printed) { s_state.printed = printed; }

void Observe(std::function<void()> observer) { s_state.observer = std::move(observer); }

const void *Accessed() { return s_state.accessed; }

uint64_t OwnSteps() { return s_state.threads[s_state.current].steps; }

uint32_t CurrentThread() { return s_state.current; }

bool IsAlone() { return s_state.count <= 1; }

void NoteChoice(uint32_t choice) {
    State &state = s_state;
    state.hash = (state.hash ^ (state.steps * 64 + 32 + choice)) * 0x100000001b3ull;
    if (state.printed)
        std::printf("          which gives the value before the last %u stores\n", choice);
}

uint32_t Random(uint32_t below) { return static_cast<uint32_t>(NextRandom() % below); }

}  // namespace simulator

namespace weft::env {

using namespace simulator;

WEFT_NOINLINE void SchedulePoint(const void *address, Access access) noexcept {
    State &state = s_state;
    if (state.count == 0) return;  // outside of schedules
    const uint64_t step = ++state.steps;
    ++state.threads[state.current].steps;
    if (step > kMaxSteps) Fail("no progress: the schedule does not end");
    if (state.count == 1) state.alone = step;
    if (++state.turn > state.turnEnd) {
        state.turn = 0;
        // With turns of one length, each turn could end at the same place of a loop. This does not
        // happen on a machine.
        state.turnEnd = kFairTurn / 2 + NextRandom() % kFairTurn;
        Lower(state.threads[state.current]);
    }
    for (uint64_t change : state.changes) {
        if (state.alone + change == step) Lower(state.threads[state.current]);
    }
    ReSchedule();
    if (state.printed) PrintStep(access, __builtin_return_address(0));
    state.accessed = address;
    if (state.observer) state.observer();
    state.accessed = nullptr;
    for (const DeadRange &range : state.dead) {
        if (address >= range.begin && address < range.end)
            Fail("an atomic operation touched dead memory");
    }
}

void PrefetchForWrite(const void *) noexcept {}

uint64_t Ticks() noexcept { return s_state.ticksBefore + s_state.steps + s_state.passed; }
double TicksPerMicrosecond() noexcept { return s_state.ticksPerMicrosecond; }
uint64_t Now() noexcept {
    const auto ticks = static_cast<double>(s_state.steps + s_state.passed);
    return static_cast<uint64_t>(ticks * 1000.0 / s_state.ticksPerMicrosecond);
}

void Pause() noexcept {
    Lower(s_state.threads[s_state.current]);
    SchedulePoint(nullptr);
}

void *ThreadSlot() noexcept { return s_state.threads[s_state.current].slot; }
void SetThreadSlot(void *value) noexcept { s_state.threads[s_state.current].slot = value; }
void *CallSlot() noexcept { return s_state.threads[s_state.current].callSlot; }
void *ExchangeCallSlot(void *value) noexcept {
    return std::exchange(s_state.threads[s_state.current].callSlot, value);
}
void *HookSlot() noexcept { return s_state.threads[s_state.current].hookSlot; }
void SetHookSlot(void *value) noexcept { s_state.threads[s_state.current].hookSlot = value; }

bool Parker::ParkUntil(uint64_t deadline) noexcept {
    SchedulePoint(this);
    if (!m_notified) {
        m_sleeper = s_state.current;
        s_state.threads[s_state.current].runnable = false;
        s_state.threads[s_state.current].wakeAt = deadline;
        ReSchedule();
        s_state.threads[s_state.current].wakeAt = kNever;
    }
    m_sleeper = kNobody;
    if (!m_notified) return false;
    m_notified = false;
    if (weak::g_orders != nullptr) weak::g_orders->TakeOver(m_view);
    return true;
}

void Parker::Unpark() noexcept {
    SchedulePoint(this);
    m_notified = true;
    if (weak::g_orders != nullptr) weak::g_orders->Publish(m_view);
    if (m_sleeper != kNobody) s_state.threads[m_sleeper].runnable = true;
}

bool Thread::Start(void (*entry)(void *), void *arg, size_t) noexcept {
    if (s_state.threadsLeft == 0) return false;
    --s_state.threadsLeft;
    const uint32_t started = AddThread(entry, arg);
    if (weak::g_orders != nullptr) weak::g_orders->Started(started);
    SchedulePoint(nullptr);
    // The handle is plain data, but the simulator checks that the joining thread sees it.
    if (weak::g_orders != nullptr)
        weak::g_orders->Store(this, m_thread, started, std::memory_order_relaxed);
    m_thread = started;
    return true;
}

void Thread::Join() noexcept {
    SchedulePoint(nullptr);
    uint64_t seen = m_thread;
    if (weak::g_orders != nullptr)
        seen = weak::g_orders->Load(this, seen, std::memory_order_relaxed);
    if (m_thread == kNobody || seen != m_thread)
        Fail("the thread that joins does not see the handle");
    VirtualThread &thread = s_state.threads[m_thread];
    if (!thread.done) {
        thread.joiner = s_state.current;
        s_state.threads[s_state.current].runnable = false;
        ReSchedule();
    }
    if (weak::g_orders != nullptr) weak::g_orders->Joined(m_thread);
}

uint32_t UsableCpus() noexcept { return 2; }
uint32_t ThreadHint() noexcept { return s_state.current; }
// Not always lets others go first. Otherwise Run would nearly never begin before its other threads.
void YieldThread() noexcept { NextRandom() % 4 != 0 ? Pause() : SchedulePoint(nullptr); }
void NapThread() noexcept {
    Parker nobody;
    nobody.ParkUntil(Now() + 1'000'000);  // longer than a real one: a schedule has to end
}

void Panic(const char *invariant) noexcept { Fail(invariant); }

}  // namespace weft::env
