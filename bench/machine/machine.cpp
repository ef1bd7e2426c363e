// Implements the machine in virtual time: cores, cache lines, and the environment of weft
// (platform/env.h).
#include "machine/machine.h"

#include "simulator/env_simulator.h"

#include <boost/context/detail/fcontext.hpp>

#include <algorithm>
#include <bitset>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

namespace machine {

namespace {

namespace fcontext = boost::context::detail;

constexpr uint32_t kCores = 130;
constexpr uint32_t kNobody = ~0u;
constexpr size_t kStackBytes = 256 << 10;
constexpr double kNever = 1e300;

struct Core {
    fcontext::fcontext_t context = nullptr;  // saved while the core does not run
    std::unique_ptr<char[]> stack;
    void (*entry)(void *) = nullptr;
    void *arg = nullptr;
    void *slot = nullptr;
    void *callSlot = nullptr;
    void *hookSlot = nullptr;
    double clock = 0;
    double fellAsleep = 0;
    uint32_t joiner = kNobody;
    bool runnable = false;
    bool done = false;
    bool joined = false;  // done; a new thread may have this core
};

struct Line {
    std::bitset<kCores> holders;  // cores with a copy; after a write only the writer
    // a core that asks to write the line later gets it at this time at the earliest
    double freeAt = 0;
};

// There is only one run at a time.
struct State {
    std::vector<Core> cores{kCores};
    uint32_t count = 0;
    uint32_t current = 0;
    std::vector<uint32_t> others;  // runnable cores as a heap, the earliest first
    double nextClock = kNever;     // clock of the earliest
    fcontext::fcontext_t host = nullptr;
    const std::function<void()> *body = nullptr;
    std::unordered_map<uintptr_t, Line> lines;
    Costs costs;
    Counts total;
};

State s_state;

// If two clocks are equal, the core with the smaller index is earlier.
bool IsLater(uint32_t a, uint32_t b) {
    const double clockA = s_state.cores[a].clock, clockB = s_state.cores[b].clock;
    return clockA != clockB ? clockA > clockB : a > b;
}

void MakeRunnable(uint32_t other) {
    s_state.cores[other].runnable = true;
    s_state.others.push_back(other);
    std::push_heap(s_state.others.begin(), s_state.others.end(), IsLater);
    s_state.nextClock = s_state.cores[s_state.others.front()].clock;
}

// Call it after the clock of a runnable core has changed.
void SortRunnable() {
    std::make_heap(s_state.others.begin(), s_state.others.end(), IsLater);
    s_state.nextClock = s_state.cores[s_state.others.front()].clock;
}

void SwitchToEarliest() {
    State &state = s_state;
    const uint32_t self = state.current;
    std::pop_heap(state.others.begin(), state.others.end(), IsLater);
    state.current = state.others.back();
    state.others.pop_back();
    state.nextClock = state.others.empty() ? kNever : state.cores[state.others.front()].clock;
    if (state.cores[self].runnable) MakeRunnable(self);
    fcontext::transfer_t landed =
        fcontext::jump_fcontext(state.cores[state.current].context, &state.cores[self].context);
    *static_cast<fcontext::fcontext_t *>(landed.data) = landed.fctx;
}

// Switches to the core with the earliest clock. Returns when the calling core is the earliest.
void Yield() {
    const State &state = s_state;
    const Core &own = state.cores[state.current];
    while (!own.runnable || state.nextClock < own.clock) {
        if (state.others.empty()) {
            std::fprintf(stderr, "machine: every core sleeps\n");
            std::abort();
        }
        SwitchToEarliest();
    }
}

void Entry(fcontext::transfer_t landed) {
    *static_cast<fcontext::fcontext_t *>(landed.data) = landed.fctx;
    State &state = s_state;
    const uint32_t self = state.current;
    if (self == 0) {
        (*state.body)();
    } else {
        state.cores[self].entry(state.cores[self].arg);
    }
    Core &core = state.cores[self];
    core.done = true;
    core.runnable = false;
    if (core.joiner != kNobody) {
        Core &joiner = state.cores[core.joiner];
        joiner.clock = std::max(joiner.clock, core.clock);
        MakeRunnable(core.joiner);
    }
    for (uint32_t i = 0; i < state.count; ++i) {
        if (!state.cores[i].done) Yield();  // does not return: this core is done
    }
    fcontext::jump_fcontext(state.host, nullptr);
    std::abort();  // the host does not return here
}

uint32_t AddCore(void (*entry)(void *), void *arg, double clock) {
    State &state = s_state;
    uint32_t index = 0;
    while (index < state.count && !state.cores[index].joined) ++index;
    if (index == kCores) {
        std::fprintf(stderr, "machine: too many threads\n");
        std::abort();
    }
    Core &core = state.cores[index];
    if (core.stack == nullptr) core.stack = std::make_unique<char[]>(kStackBytes);
    core.context = fcontext::make_fcontext(core.stack.get() + kStackBytes, kStackBytes, Entry);
    core.entry = entry;
    core.arg = arg;
    core.slot = core.callSlot = core.hookSlot = nullptr;
    core.clock = clock;
    core.joiner = kNobody;
    core.done = core.joined = false;
    state.count = std::max(state.count, index + 1);
    return index;
}

// Returns the time on this core of work that takes `nanoseconds` on a fast core.
double OnThisCore(double nanoseconds) {
    return s_state.current < s_state.costs.firstSlow ? nanoseconds
                                                     : nanoseconds * s_state.costs.slowness;
}

// Returns whether a core of another domain takes part: it has the only copies, or it loses its
// copy.
bool IsFar(const Line &line, bool toWrite) {
    const State &state = s_state;
    const uint32_t domain = state.costs.domainCores;
    if (domain == 0) return false;
    bool isHere = false, isElsewhere = false;
    for (uint32_t i = 0; i < state.count; ++i) {
        if (line.holders.test(i))
            (i / domain == state.current / domain ? isHere : isElsewhere) = true;
    }
    return toWrite ? isElsewhere : !isHere;
}

// Moves the line to this core. Cores that write a line get it one after another, and each keeps it
// for `hold`.
void Fetch(Line &line, bool toWrite) {
    State &state = s_state;
    Core &own = state.cores[state.current];
    ++state.total.transfers;
    const double begin = std::max(own.clock, line.freeAt);
    own.clock = begin + (IsFar(line, toWrite) ? state.costs.farTransfer : state.costs.transfer);
    if (toWrite) line.freeAt = own.clock + state.costs.hold;
    Yield();  // until the line has arrived
}

void Access(const void *address, weft::env::Access access) {
    State &state = s_state;
    Line &line = state.lines[reinterpret_cast<uintptr_t>(address) / 64];
    const uint32_t self = state.current;
    const bool toWrite = access != weft::env::Access::Load;
    const bool alone = line.holders.test(self) && line.holders.count() == 1;
    if (line.holders.any() && (toWrite ? !alone : !line.holders.test(self))) Fetch(line, toWrite);
    if (toWrite) line.holders.reset();
    line.holders.set(self);
    ++state.total.operations;
    state.total.updates += access == weft::env::Access::Update;
    state.cores[self].clock += OnThisCore(
        state.costs.operation + (access == weft::env::Access::Update ? state.costs.update : 0));
}

}  // namespace

void Run(const Costs &costs, const std::function<void()> &body) {
    State &state = s_state;
    state.costs = costs;
    state.total = {};
    state.lines.clear();
    state.count = 0;
    state.current = 0;
    state.body = &body;
    state.others.clear();
    state.nextClock = kNever;
    state.cores[AddCore(nullptr, nullptr, 0)].runnable = true;
    fcontext::jump_fcontext(state.cores[0].context, &state.host);
    state.count = 0;
}

void Work(double nanoseconds) { s_state.cores[s_state.current].clock += OnThisCore(nanoseconds); }
double Now() { return s_state.cores[s_state.current].clock; }
Counts Total() { return s_state.total; }

void Forget(const void *memory, size_t bytes) {
    const uintptr_t begin = reinterpret_cast<uintptr_t>(memory) / 64;
    for (uintptr_t line = begin; line < begin + (bytes + 63) / 64; ++line)
        s_state.lines.erase(line);
}

}  // namespace machine

namespace weft::env {

using namespace machine;

// First runs everything that happens earlier on other cores.
void SchedulePoint(const void *address, Access access) noexcept {
    if (s_state.count == 0) return;  // outside of runs
    Yield();
    if (access != Access::None) machine::Access(address, access);
}

// Fetches the line for writing, if this core does not own it already.
void PrefetchForWrite(const void *address) noexcept {
    if (s_state.count == 0) return;
    Yield();
    machine::Access(address, Access::Store);
}

uint64_t Now() noexcept { return Ticks(); }
uint64_t Ticks() noexcept { return static_cast<uint64_t>(machine::Now()); }
double TicksPerMicrosecond() noexcept { return 1000; }

void Pause() noexcept {
    Work(s_state.costs.pause);
    Yield();
}

void *ThreadSlot() noexcept { return s_state.cores[s_state.current].slot; }
void SetThreadSlot(void *value) noexcept { s_state.cores[s_state.current].slot = value; }
void *CallSlot() noexcept { return s_state.cores[s_state.current].callSlot; }
void *ExchangeCallSlot(void *value) noexcept {
    return std::exchange(s_state.cores[s_state.current].callSlot, value);
}
void *HookSlot() noexcept { return s_state.cores[s_state.current].hookSlot; }
void SetHookSlot(void *value) noexcept { s_state.cores[s_state.current].hookSlot = value; }

// A core that sleeps with a deadline stays runnable, with its clock at the deadline.
bool Parker::ParkUntil(uint64_t deadline) noexcept {
    Yield();
    if (!m_notified) {
        Core &own = s_state.cores[s_state.current];
        m_sleeper = s_state.current;
        own.fellAsleep = own.clock;
        own.runnable = deadline != ~uint64_t{0};
        if (own.runnable) own.clock = std::max(own.clock, static_cast<double>(deadline));
        Yield();
    }
    m_sleeper = ~0u;
    return std::exchange(m_notified, false);
}

void Parker::Unpark() noexcept {
    Yield();
    if (m_notified) return;
    m_notified = true;
    if (m_sleeper == ~0u) return;
    Work(s_state.costs.wake);
    ++s_state.total.wakes;
    Core &sleeper = s_state.cores[m_sleeper];
    const double woken = std::max(sleeper.fellAsleep, machine::Now() + s_state.costs.wakeUp);
    if (sleeper.runnable) {
        sleeper.clock = std::min(sleeper.clock, woken);
        SortRunnable();
    } else {
        sleeper.clock = woken;
        MakeRunnable(m_sleeper);
    }
}

bool Thread::Start(void (*entry)(void *), void *arg, size_t) noexcept {
    m_thread = AddCore(entry, arg, machine::Now());
    MakeRunnable(m_thread);
    return true;
}

void Thread::Join() noexcept {
    Core &core = s_state.cores[m_thread];
    if (!core.done) {
        core.joiner = s_state.current;
        s_state.cores[s_state.current].runnable = false;
        Yield();
    }
    core.joined = true;
}

uint32_t UsableCpus() noexcept { return kCores; }
uint32_t ThreadHint() noexcept { return s_state.current; }
void YieldThread() noexcept { Pause(); }
void NapThread() noexcept { Pause(); }

void Panic(const char *invariant) noexcept {
    std::fprintf(stderr, "machine: broken invariant: %s\n", invariant);
    std::abort();
}

}  // namespace weft::env
