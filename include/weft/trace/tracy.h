// Shows what a scheduler does in Tracy (https://github.com/wolfpld/tracy), while it runs.
//
//     static weft::TracyTrace tracy;  // lives until the program ends
//     weft::SchedulerOptions options;
//     options.trace = tracy.Hooks();
//
// Define TRACY_ENABLE and TRACY_FIBERS, here and where Tracy's client is compiled. Without
// TRACY_ENABLE this header needs nothing of Tracy, and Hooks() returns no hook.
//
// Each fiber of weft is a fiber of Tracy, and each task is a zone on its fiber. Zones of your own
// lie inside the zone of their task, also if the task waits and continues on another thread. A task
// on an attached thread's own stack is a zone of that thread. MarkFrame marks frames, and a plot
// shows how many workers sleep. The page README.md in this folder says more.
#pragma once

#include "weft/hooks.h"

#if defined(TRACY_ENABLE)
#if !defined(TRACY_FIBERS)
#error "weft/trace/tracy.h needs TRACY_FIBERS, here and where Tracy's client is compiled"
#endif
#if !defined(TracyCZoneEnd)  // include TracyC.h first if it lies in another folder
#include <tracy/TracyC.h>
#endif

#include <atomic>
#include <string>
#include <vector>
#endif

namespace weft {

#if defined(TRACY_ENABLE)

// The two namespaces allow programs in which only some files define TRACY_ENABLE.
inline namespace tracy_enabled {

/// Passes the events of one scheduler on to Tracy.
///
/// Tracy reads names until the program ends. So the object must live that long, and it never frees
/// its memory. It allocates when a fiber runs a task for the first time, when more tasks than ever
/// before (and more than 8) run on top of each other on a fiber, and for each new name of a task.
/// When fibers and names repeat, it allocates nothing. If there is no memory, the process ends. It
/// takes no lock, but Tracy does.
class TracyTrace {
public:
    TracyTrace() = default;
    TracyTrace(const TracyTrace &) = delete;
    TracyTrace &operator=(const TracyTrace &) = delete;

    /// Returns the value for SchedulerOptions::trace. Fiber 12 is shown as "weft 12" if `name` is
    /// "weft". `name` is copied. Each scheduler needs an object and a name of its own. Call it
    /// once, before the scheduler starts.
    TraceHooks Hooks(const char *name = "weft") {
        m_name = new std::string(name);
        m_plot = new std::string(*m_name + " workers asleep");
        using Kind = TraceKind;
        TraceHooks hooks{this, OnEvent, 0};
        for (const Kind kind : {Kind::TaskBegin, Kind::TaskEnd, Kind::FiberSwitch, Kind::Attach,
                                Kind::Park, Kind::Unpark, Kind::Frame})
            hooks.kinds |= TraceHooks::Bit(kind);
        return hooks;
    }

    /// The hook. A hook of your own can call it; `user` is the TracyTrace.
    static void OnEvent(const TraceEvent &event, void *user) noexcept {
        TracyTrace &trace = *static_cast<TracyTrace *>(user);
        switch (event.kind) {
            case TraceKind::TaskBegin:
                return trace.BeginTask(event);
            case TraceKind::TaskEnd:
                return trace.EndTask(event);
            case TraceKind::FiberSwitch:
                return trace.Switch(event);
            case TraceKind::Attach:
                trace.m_workers[event.worker].own = event.fiber;
                trace.m_workers[event.worker].isAttached = true;
                return;
            case TraceKind::Park:
                return trace.PlotSleepers(1);
            case TraceKind::Unpark:
                return trace.PlotSleepers(-1);
            case TraceKind::Frame:
                return ___tracy_emit_frame_mark(nullptr);
            default:
                return;
        }
    }

private:
    // The zones of a fiber belong to the thread that runs it.
    struct Fiber {
        std::string name;
        std::vector<TracyCZoneCtx> zones;  // of its tasks, the outermost one first
    };

    // Only the worker's own thread uses it.
    struct Worker {
        const char *outer = nullptr;  // what the thread ran before it came to this worker's fibers
        uint32_t own = 0;             // an attached thread's own stack
        bool isAttached = false;
    };

    struct Name {
        explicit Name(const std::string &name) : text(name) {
            location.name = location.function = text.c_str();
            location.file = "";
        }
        const std::string text;
        ___tracy_source_location_data location{};
        Name *next = nullptr;
    };

    static constexpr uint32_t kFibersOfBlock = 256;
    static constexpr uint32_t kBlocks = 7817;   // 2,000,000 fibers, and 1,024 attached threads
    static constexpr uint32_t kWorkers = 2048;  // and attached threads
    static constexpr uint32_t kLists = 512;

    // The name of the fiber that the calling thread has told Tracy last. Null: the thread is on its
    // own stack. A task of one scheduler may run another scheduler, so all objects share it.
    static const char *&Current() noexcept {
        static thread_local const char *fiber = nullptr;
        return fiber;
    }

    // Returns whether this is a stack of the thread itself: then its zones are those of the thread.
    static bool IsThread(const Worker &worker, uint32_t fiber) noexcept {
        return fiber == kAnyWorker || (worker.isAttached && fiber == worker.own);
    }

    void Switch(const TraceEvent &event) {
        Worker &worker = m_workers[event.worker];
        const bool comesFromThread = IsThread(worker, event.fiber);
        if (IsThread(worker, event.other)) {
            if (!comesFromThread) Enter(worker.outer);
            return;
        }
        if (comesFromThread) worker.outer = Current();
        Enter(FiberAt(event.other).name.c_str());
    }

    static void Enter(const char *fiber) noexcept {
        Current() = fiber;
        fiber != nullptr ? ___tracy_fiber_enter(fiber) : ___tracy_fiber_leave();
    }

    void BeginTask(const TraceEvent &event) {
        std::vector<TracyCZoneCtx> &zones = FiberAt(event.fiber).zones;
        zones.reserve(8);  // has an effect once; more tasks on top of each other need more
        zones.push_back(___tracy_emit_zone_begin(LocationOf(event), 1));
    }

    void EndTask(const TraceEvent &event) {
        std::vector<TracyCZoneCtx> &zones = FiberAt(event.fiber).zones;
        ___tracy_emit_zone_end(zones.back());
        zones.pop_back();
    }

    // Two workers may plot in the wrong order. seq_cst, both operations: a worker that has plotted
    // an old number reads the newer one afterwards, and plots again.
    void PlotSleepers(int32_t change) {
        int32_t sleepers = m_sleepers.fetch_add(change) + change;
        for (int32_t plotted = sleepers + 1; plotted != sleepers; sleepers = m_sleepers.load()) {
            ___tracy_emit_plot_int(m_plot->c_str(), sleepers);
            plotted = sleepers;
        }
    }

    // acquire: pairs with the release that makes the block, or the name, visible.
    Fiber &FiberAt(uint32_t index) {
        const uint32_t number = index / kFibersOfBlock;
        Fiber *block = m_blocks[number].load(std::memory_order_acquire);
        if (block == nullptr) block = NewBlock(number);
        return block[index % kFibersOfBlock];
    }

    Fiber *NewBlock(uint32_t number) {
        Fiber *const block = new Fiber[kFibersOfBlock];
        for (uint32_t i = 0; i < kFibersOfBlock; ++i)
            block[i].name = *m_name + " " + std::to_string(number * kFibersOfBlock + i);
        Fiber *other = nullptr;
        if (m_blocks[number].compare_exchange_strong(other, block, std::memory_order_acq_rel))
            return block;
        delete[] block;
        return other;
    }

    // Returns the source location of the task's name, or of its function if it has no name. Names
    // are compared by content: another name may come to lie at the same address later.
    const ___tracy_source_location_data *LocationOf(const TraceEvent &event) {
        char text[32];
        const char *const name = event.task != nullptr ? event.task : Describe(event, text);
        uint32_t hash = 2166136261u;  // FNV-1a
        for (const char *letter = name; *letter != 0; ++letter)
            hash = (hash ^ static_cast<unsigned char>(*letter)) * 16777619u;
        std::atomic<Name *> &list = m_names[hash % kLists];
        Name *first = list.load(std::memory_order_acquire);
        Name *added = nullptr;
        do {
            for (const Name *known = first; known != nullptr; known = known->next) {
                if (known->text != name) continue;
                delete added;  // another thread was faster
                return &known->location;
            }
            if (added == nullptr) added = new Name(name);
            added->next = first;
        } while (!list.compare_exchange_weak(first, added, std::memory_order_acq_rel,
                                             std::memory_order_acquire));
        return &added->location;
    }

    static const char *Describe(const TraceEvent &event, char *text) noexcept {
        uintptr_t address = reinterpret_cast<uintptr_t>(event.function);
        char *at = text + 31;
        *at = 0;
        do *--at = "0123456789abcdef"[address & 15];
        while ((address >>= 4) != 0);
        for (const char letter : {'x', '0', ' ', 'k', 's', 'a', 't'}) *--at = letter;
        return at;
    }

    std::atomic<Fiber *> m_blocks[kBlocks] = {};
    std::atomic<Name *> m_names[kLists] = {};
    Worker m_workers[kWorkers] = {};
    std::atomic<int32_t> m_sleepers{0};
    const std::string *m_name = nullptr;
    const std::string *m_plot = nullptr;
};

}  // namespace tracy_enabled

#else

inline namespace tracy_disabled {

class TracyTrace {
public:
    TracyTrace() = default;
    TracyTrace(const TracyTrace &) = delete;
    TracyTrace &operator=(const TracyTrace &) = delete;
    TraceHooks Hooks(const char * = "weft") noexcept { return {}; }
    static void OnEvent(const TraceEvent &, void *) noexcept {}
};

}  // namespace tracy_disabled

#endif

}  // namespace weft
