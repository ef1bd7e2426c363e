// Systems: functions that declare which data they read and write. Two systems that would disturb
// each other must have an order; Check finds those that have none.
//
//     #include <weft/graph/systems.h>
//
//     void Think(weft::TaskScheduler *, void *world);
//     void Move(weft::TaskScheduler *, void *world);
//     void Draw(weft::TaskScheduler *, void *world);
//
//     void Play(weft::TaskScheduler *scheduler, const weft::SchedulerOptions &options, void *world)
//     {
//         weft::Systems update(options, {"update"});
//         const weft::Resource speeds = update.AddResource("speeds");
//         const weft::Resource places = update.AddResource("places");
//         const weft::System think = update.AddSystem("think", {Think, world}, weft::Reads{places},
//                                                     weft::Writes{speeds});
//         const weft::System move = update.AddSystem("move", {Move, world}, weft::Reads{speeds},
//                                                    weft::Writes{places});
//         const weft::System draw = update.AddSystem("draw", {Draw, world}, weft::Reads{places});
//         update.Before(think, move);                          // both use speeds and places
//         update.Before(move, draw);                           // without it, Check reports places
//         if (update.Check() != weft::Status::Ok) return;
//         for (int i = 0; i < 600; ++i) update.Run(*scheduler);
//     }
#pragma once

#include "weft/graph/graph.h"

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <type_traits>

namespace weft {

class Systems;

namespace internal {
struct SystemsState;
}

/// Data that systems read or write, such as an array of components. Only the Systems that returned
/// it accepts it.
struct Resource {
    const Systems *systems = nullptr;  ///< null: the resource was refused
    uint32_t index = 0;
    explicit operator bool() const noexcept { return systems != nullptr; }
};

/// A system, for orders. Only the Systems that returned it accepts it.
struct System {
    const Systems *systems = nullptr;  ///< null: the system was refused
    uint32_t index = 0;                ///< systems are numbered in the order of the calls
    explicit operator bool() const noexcept { return systems != nullptr; }
};

/// The resources that a system reads or writes, for AddSystem. More than 16 are refused
/// (BadOption): add the others with AddRead and AddWrite.
struct Resources {
    static constexpr uint32_t kMost = 16;
    Resources() noexcept = default;
    Resources(std::initializer_list<Resource> list) noexcept
        : count(static_cast<uint32_t>(list.size())) {
        uint32_t i = 0;
        for (const Resource &each : list)
            if (i < kMost) items[i++] = each;
    }
    Resource items[kMost];
    uint32_t count = 0;
};
struct Reads : Resources {
    using Resources::Resources;
};
struct Writes : Resources {
    using Resources::Resources;
};

/// Options of Systems.
struct SystemsOptions {
    /// Name in reports and traces. Must outlive the object, as a string literal does.
    const char *name = "systems";
    /// True: two systems that conflict and have no order run in the order of their declaration.
    /// False: Check reports them.
    bool orderByDeclaration = false;
};

/// Two systems that use the same resource, of which one writes it, and that have no order.
struct SystemConflict {
    System first, second;  ///< in the order of their declaration
    Resource resource;
    bool firstWrites, secondWrites;
};

/// Functions that declare their access, and their order. Runs them as a Graph.
///
/// Two systems *conflict* if they use the same resource and at least one of them writes it. A
/// conflict needs an order: Before, also by way of other systems. All systems without an order may
/// run at the same time.
///
/// In a build as a race finder (samples/race_finder), each system that runs is taken to touch all
/// that it has declared, if its resources have addresses. So ThreadSanitizer also reports a system
/// that touches data of another one without declaring it.
///
/// Declaring and Check allocate memory; runs allocate nothing.
class WEFT_API Systems {
public:
    /// `options` must be the scheduler's; `memory`, `onReport` and `user` are used. Errors are
    /// reported by Check.
    explicit Systems(const SchedulerOptions &options,
                     const SystemsOptions &systemsOptions = {}) noexcept;
    /// No run may be in flight (DestroyedInUse).
    ~Systems();
    Systems(const Systems &) = delete;
    Systems &operator=(const Systems &) = delete;

    /// Adds a resource. `name` must outlive the object. `begin` and `bytes`: where it lies, for the
    /// race finder; null if that is not known. Two resources must not overlap (Check reports it).
    ///
    /// Returns a null resource, after a report: BadOption (Check has returned Ok already),
    /// OutOfMemory. One thread at a time may declare; this holds for all calls up to Check.
    Resource AddResource(const char *name, void *begin = nullptr, size_t bytes = 0) noexcept;
    /// Changes where the resource lies. Call it while no run is in flight.
    bool SetPlace(Resource resource, void *begin, size_t bytes) noexcept;

    /// Adds a system that runs `task`. `name` must outlive the object, and replaces
    /// TaskOptions::name.
    ///
    /// Returns a null system, after a report, if nothing was added: NullTask (no function),
    /// BadOption (an option is out of range, `options` has a TaskGroup, a resource belongs to
    /// another object, there are more than 16 resources or more than 4,096 systems, or Check has
    /// returned Ok already), OutOfMemory.
    System AddSystem(const char *name, Task task, const Reads &reads = {},
                     const Writes &writes = {}, const TaskOptions &options = {}) noexcept;
    System AddSystem(const char *name, Task task, const Writes &writes,
                     const TaskOptions &options = {}) noexcept {
        return AddSystem(name, task, Reads{}, writes, options);
    }
    /// The same for a callable `callable(TaskScheduler *)`. It is not copied, and must outlive the
    /// object.
    template <
        class F, class... Access,
        class = std::enable_if_t<std::is_class_v<F> && !std::is_same_v<std::remove_cv_t<F>, Task>>>
    System AddSystem(const char *name, F &callable, const Access &...access) noexcept {
        return AddSystem(name, MakeTask(callable), access...);
    }
    /// Says that the system also reads or writes this resource. Returns false after a report:
    /// BadOption, OutOfMemory.
    bool AddRead(System system, Resource resource) noexcept;
    bool AddWrite(System system, Resource resource) noexcept;

    /// Orders two systems: `second` begins after `first` has finished, and sees what that wrote.
    /// Returns false after a report: BadOption, OutOfMemory.
    bool Before(System first, System second) noexcept;
    bool After(System second, System first) noexcept { return Before(first, second); }

    /// Checks the declaration and takes the memory for a run.
    ///
    /// Returns Ok, also if it did before. Otherwise nothing can run, and each error is reported:
    /// BadOption (a call was refused, two systems conflict without an order, orders form a cycle,
    /// or two resources overlap) or OutOfMemory (here, or in another call). The report names both
    /// systems and the resource. After conflicts, add the missing orders and call it again.
    Status Check() noexcept;
    /// How many conflicts without an order the last Check has found, for each resource; and which.
    uint32_t ConflictCount() const noexcept;
    SystemConflict ConflictAt(uint32_t index) const noexcept;
    const char *NameOf(System system) const noexcept;
    const char *NameOf(Resource resource) const noexcept;

    /// Runs all systems once: see Graph::Run. One run can be in flight.
    Status Run(TaskScheduler &scheduler) noexcept;
    /// See Graph::RunAsync.
    Status RunAsync(TaskScheduler &scheduler, Counter *counter) noexcept;
    /// Writes the systems and their orders for Graphviz: see Graph::WriteDot. Empty before Check.
    void WriteDot(Graph::Write write, void *user) const noexcept;

private:
    internal::SystemsState *m_state;  // null: no memory
};

}  // namespace weft
