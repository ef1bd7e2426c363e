// Systems: finds conflicts without an order, and makes a graph of the systems.
#include "weft/graph/systems.h"

#include "graph/graph_state.h"
#include "platform/race_finder.h"
#include "scheduler/api/internal_api.h"

#include <cstdarg>
#include <cstdio>
#include <new>

namespace weft {

using namespace internal;

namespace internal {

struct DeclaredResource {
    const char *name;
    void *begin;
    size_t bytes;
};

struct DeclaredSystem {
    const char *name;
    Task task;
    TaskOptions options;
    SystemsState *state;
    uint32_t index;
};

struct DeclaredAccess {
    uint32_t system, resource;
    bool writes;
};

struct DeclaredOrder {
    uint32_t first, second;
};

struct SystemsState {
    SystemsState(const SchedulerOptions &options, const SystemsOptions &systemsOptions) noexcept
        : memory(options.memory),
          onReport(options.onReport),
          user(options.user),
          name(systemsOptions.name != nullptr ? systemsOptions.name : "systems"),
          orderByDeclaration(systemsOptions.orderByDeclaration),
          resources(memory),
          systems(memory),
          accesses(memory),
          orders(memory),
          conflicts(memory),
          graph(options, {name, 1}) {}

    /// Reports, and remembers it unless `isLasting` is false.
    void Refuse(bool isLasting, ReportCode code, const char *hint, const char *what, ...) noexcept
        WEFT_PRINTF_LIKE(5, 6);
    void RefuseMemory(const char *call) noexcept {
        Refuse(true, ReportCode::OutOfMemory, "Give the process more memory.",
               "%s: no memory for '%s'", call, name);
    }

    const MemoryHooks memory;  // first: the arrays refer to it
    void (*const onReport)(const Report &report, void *user);
    void *const user;
    const char *const name;
    const bool orderByDeclaration;
    Status refusal = Status::Ok;  // why something was refused first: what Check returns
    bool isChecked = false;
    GrowingArray<DeclaredResource> resources;
    GrowingArray<DeclaredSystem> systems;
    GrowingArray<DeclaredAccess> accesses;
    GrowingArray<DeclaredOrder> orders;
    GrowingArray<SystemConflict> conflicts;
    Graph graph;
};

void SystemsState::Refuse(bool isLasting, ReportCode code, const char *hint, const char *what,
                          ...) noexcept {
    char text[512];
    va_list arguments;
    va_start(arguments, what);
    std::vsnprintf(text, sizeof text, what, arguments);
    va_end(arguments);
    if (isLasting && refusal == Status::Ok) refusal = StatusOf(code);
    ReportTo(onReport, user, code, hint, "%s", text);
}

}  // namespace internal

namespace {

constexpr uint32_t kMostSystems = 4096;  // so that the table of orders has at most two megabytes

// Which systems come before which, also by way of others: a bit for each pair.
class OrderTable {
public:
    OrderTable(const MemoryHooks &memory, uint32_t count) noexcept
        : m_words((count + 63) / 64), m_count(count), m_bits(memory) {}
    bool Fill() noexcept { return m_bits.Fill(m_words * m_count); }

    bool IsBefore(uint32_t first, uint32_t second) const noexcept {
        return (m_bits[first * m_words + second / 64] >> (second % 64) & 1) != 0;
    }
    void Add(uint32_t first, uint32_t second) noexcept {
        if (IsBefore(first, second)) return;
        for (uint32_t i = 0; i < m_count; ++i) {
            if (i != first && !IsBefore(i, first)) continue;
            m_bits[i * m_words + second / 64] |= uint64_t{1} << second % 64;
            for (uint32_t word = 0; word < m_words; ++word)
                m_bits[i * m_words + word] |= m_bits[second * m_words + word];
        }
    }

private:
    const uint32_t m_words, m_count;
    GrowingArray<uint64_t> m_bits;  // a row for each system: those that come after it
};

// Returns false, after a report, if nothing can be added.
bool MayAdd(SystemsState *state, const char *call) noexcept {
    if (state == nullptr) return false;  // the constructor reported it
    if (!state->isChecked) return true;
    state->Refuse(false, ReportCode::BadOption, "Declare everything before Check.",
                  "%s: '%s' has been checked already", call, state->name);
    return false;
}

// Returns false, after a report, if the handle is not of these systems.
template <class Handle>
bool IsOwn(SystemsState &state, const Systems &systems, const Handle &handle, uint32_t count,
           const char *call, const char *kind) noexcept {
    if (handle.systems == &systems && handle.index < count) return true;
    state.Refuse(true, ReportCode::BadOption, "Use what this object returned.",
                 "%s: a %s is not of '%s'", call, kind, state.name);
    return false;
}

bool Overlap(const DeclaredResource &a, const DeclaredResource &b) noexcept {
    if (a.bytes == 0 || b.bytes == 0) return false;
    const auto begin = [](const DeclaredResource &of) {
        return reinterpret_cast<uintptr_t>(of.begin);
    };
    return begin(a) < begin(b) + b.bytes && begin(b) < begin(a) + a.bytes;
}

// Returns false, after a report, if two resources overlap.
bool AreApart(SystemsState &state) noexcept {
    for (uint32_t i = 0; i < state.resources.Count(); ++i) {
        for (uint32_t j = 0; j < i; ++j) {
            if (!Overlap(state.resources[i], state.resources[j])) continue;
            state.Refuse(false, ReportCode::BadOption, "Make them one resource.",
                         "'%s': the resources '%s' and '%s' overlap", state.name,
                         state.resources[j].name, state.resources[i].name);
            return false;
        }
    }
    return true;
}

// Calls found(first, second) for each two accesses that conflict, with first.system <
// second.system. A system may have several accesses to a resource.
template <class Found>
void ForEachConflict(const SystemsState &state, Found found) noexcept {
    for (const DeclaredAccess &first : state.accesses) {
        for (const DeclaredAccess &second : state.accesses) {
            if (first.resource == second.resource && first.system < second.system &&
                (first.writes || second.writes))
                found(first, second);
        }
    }
}

// Adds what the accesses mean to the conflict of the same systems and resource, or a new one.
bool KeepConflict(SystemsState &state, const Systems &systems, const DeclaredAccess &first,
                  const DeclaredAccess &second) noexcept {
    for (SystemConflict &each : state.conflicts) {
        if (each.first.index != first.system || each.second.index != second.system ||
            each.resource.index != first.resource)
            continue;
        each.firstWrites |= first.writes;
        each.secondWrites |= second.writes;
        return true;
    }
    return state.conflicts.Add({{&systems, first.system},
                                {&systems, second.system},
                                {&systems, first.resource},
                                first.writes,
                                second.writes});
}

void ReportConflicts(SystemsState &state) noexcept {
    for (const SystemConflict &each : state.conflicts) {
        const char *const first = state.systems[each.first.index].name;
        const char *const second = state.systems[each.second.index].name;
        state.Refuse(false, ReportCode::BadOption,
                     "Order them with Before, or set SystemsOptions::orderByDeclaration.",
                     "'%s': systems '%s' and '%s' conflict in '%s' and have no order: '%s' %s it, "
                     "'%s' %s it",
                     state.name, first, second, state.resources[each.resource.index].name, first,
                     each.firstWrites ? "writes" : "reads", second,
                     each.secondWrites ? "writes" : "reads");
    }
}

// Finds conflicts without an order. With orderByDeclaration, adds the orders instead: never against
// an order that there is already, so they form no cycle. Returns false if there is no memory.
bool FindConflicts(SystemsState &state, const Systems &systems) noexcept {
    OrderTable table(state.memory, state.systems.Count());
    if (!table.Fill()) return false;
    for (const DeclaredOrder &each : state.orders) table.Add(each.first, each.second);
    bool isRoom = true;
    ForEachConflict(state, [&](const DeclaredAccess &first, const DeclaredAccess &second) {
        if (table.IsBefore(first.system, second.system) ||
            table.IsBefore(second.system, first.system))
            return;
        if (!state.orderByDeclaration) {
            isRoom = isRoom && KeepConflict(state, systems, first, second);
            return;
        }
        isRoom = isRoom && state.orders.Add({first.system, second.system});
        table.Add(first.system, second.system);
    });
    return isRoom;
}

// The node of a system in a race finder build: tells which data the system may touch, then runs it.
void RunDeclared(TaskScheduler *scheduler, void *arg) {
    const DeclaredSystem &system = *static_cast<DeclaredSystem *>(arg);
    const SystemsState &state = *system.state;
    for (const DeclaredAccess &access : state.accesses) {
        const DeclaredResource &resource = state.resources[access.resource];
        if (access.system != system.index || resource.bytes == 0) continue;
        if (access.writes) {
            race::WillWrite(resource.begin, resource.bytes);
        } else {
            race::WillRead(resource.begin, resource.bytes);
        }
    }
    system.task.function(scheduler, system.task.arg);
}

// Makes the graph and checks it. Returns an error after a report.
Status MakeGraph(SystemsState &state) noexcept {
    GrowingArray<GraphNode> nodes(state.memory);
    if (!nodes.Reserve(state.systems.Count())) {
        state.RefuseMemory("Systems::Check");
        return Status::OutOfMemory;
    }
    for (DeclaredSystem &system : state.systems) {
        const Task task = race::kFinder ? Task{RunDeclared, &system} : system.task;
        const GraphNode node = state.graph.AddNode(system.name, task, system.options);
        if (!node) return state.graph.Check();  // says why
        nodes.Add(node);
    }
    for (const DeclaredOrder &order : state.orders) {
        if (!state.graph.AddEdge(nodes[order.first], nodes[order.second])) break;
    }
    return state.graph.Check();
}

}  // namespace

Systems::Systems(const SchedulerOptions &options, const SystemsOptions &systemsOptions) noexcept
    : m_state(nullptr) {
    void *memory = AllocateWith(options.memory, sizeof(SystemsState), alignof(SystemsState));
    if (memory != nullptr) {
        m_state = new (memory) SystemsState(options, systemsOptions);
    } else {
        ReportTo(options.onReport, options.user, ReportCode::OutOfMemory,
                 "Give the process more memory.", "Systems: no memory for '%s'",
                 systemsOptions.name != nullptr ? systemsOptions.name : "systems");
    }
}

Systems::~Systems() {
    if (m_state == nullptr) return;
    const MemoryHooks memory = m_state->memory;
    m_state->~SystemsState();
    ReleaseWith(memory, m_state, sizeof(SystemsState), alignof(SystemsState));
}

Resource Systems::AddResource(const char *name, void *begin, size_t bytes) noexcept {
    if (!MayAdd(m_state, "Systems::AddResource")) return {};
    const uint32_t index = m_state->resources.Count();
    const DeclaredResource resource{name != nullptr ? name : "resource", begin,
                                    begin != nullptr ? bytes : 0};
    if (m_state->resources.Add(resource)) return {this, index};
    m_state->RefuseMemory("Systems::AddResource");
    return {};
}

bool Systems::SetPlace(Resource resource, void *begin, size_t bytes) noexcept {
    if (m_state == nullptr || !IsOwn(*m_state, *this, resource, m_state->resources.Count(),
                                     "Systems::SetPlace", "resource"))
        return false;
    DeclaredResource &declared = m_state->resources[resource.index];
    declared.begin = begin;
    declared.bytes = begin != nullptr ? bytes : 0;
    return true;
}

System Systems::AddSystem(const char *name, Task task, const Reads &reads, const Writes &writes,
                          const TaskOptions &options) noexcept {
    if (!MayAdd(m_state, "Systems::AddSystem")) return {};
    SystemsState &state = *m_state;
    if (name == nullptr) name = "system";
    const uint32_t index = state.systems.Count();
    if (task.function == nullptr) {
        state.Refuse(true, ReportCode::NullTask, "Give every system a function.",
                     "Systems::AddSystem: system '%s' of '%s' has no function", name, state.name);
        return {};
    }
    if (options.taskGroup != nullptr) {
        state.Refuse(true, ReportCode::BadOption, "Give no taskGroup for a system.",
                     "Systems::AddSystem: system '%s' of '%s' cannot belong to a TaskGroup", name,
                     state.name);
        return {};
    }
    if (options.priority > Priority::Low || reads.count > Resources::kMost ||
        writes.count > Resources::kMost || index >= kMostSystems) {
        state.Refuse(true, ReportCode::BadOption,
                     "Give a value of Priority, and at most 16 resources at once "
                     "(more with AddRead and AddWrite).",
                     "Systems::AddSystem: system %u, '%s', of '%s': an option is out of range, or "
                     "it has %u and %u resources",
                     index, name, state.name, reads.count, writes.count);
        return {};
    }
    if (!state.systems.Add({name, task, options, m_state, index})) {
        state.RefuseMemory("Systems::AddSystem");
        return {};
    }
    const System system{this, index};
    bool isGood = true;
    for (uint32_t i = 0; i < reads.count; ++i) isGood &= AddRead(system, reads.items[i]);
    for (uint32_t i = 0; i < writes.count; ++i) isGood &= AddWrite(system, writes.items[i]);
    return isGood ? system : System{};
}

namespace {

bool AddAccess(SystemsState *state, const Systems &systems, System system, Resource resource,
               bool writes, const char *call) noexcept {
    if (!MayAdd(state, call) ||
        !IsOwn(*state, systems, system, state->systems.Count(), call, "system") ||
        !IsOwn(*state, systems, resource, state->resources.Count(), call, "resource"))
        return false;
    if (state->accesses.Add({system.index, resource.index, writes})) return true;
    state->RefuseMemory(call);
    return false;
}

}  // namespace

bool Systems::AddRead(System system, Resource resource) noexcept {
    return AddAccess(m_state, *this, system, resource, false, "Systems::AddRead");
}

bool Systems::AddWrite(System system, Resource resource) noexcept {
    return AddAccess(m_state, *this, system, resource, true, "Systems::AddWrite");
}

bool Systems::Before(System first, System second) noexcept {
    const char *const call = "Systems::Before";
    if (!MayAdd(m_state, call) ||
        !IsOwn(*m_state, *this, first, m_state->systems.Count(), call, "system") ||
        !IsOwn(*m_state, *this, second, m_state->systems.Count(), call, "system"))
        return false;
    if (m_state->orders.Add({first.index, second.index})) return true;
    m_state->RefuseMemory(call);
    return false;
}

Status Systems::Check() noexcept {
    if (m_state == nullptr) return Status::OutOfMemory;
    SystemsState &state = *m_state;
    if (state.isChecked) return Status::Ok;
    state.conflicts.Clear();
    if (state.refusal != Status::Ok) return state.refusal;  // reported
    if (!AreApart(state)) return Status::BadOption;
    if (!FindConflicts(state, *this)) {
        state.RefuseMemory("Systems::Check");
        return Status::OutOfMemory;
    }
    ReportConflicts(state);
    if (state.conflicts.Count() != 0) return Status::BadOption;
    state.refusal = MakeGraph(state);
    state.isChecked = state.refusal == Status::Ok;
    return state.refusal;
}

uint32_t Systems::ConflictCount() const noexcept {
    return m_state != nullptr ? m_state->conflicts.Count() : 0;
}

SystemConflict Systems::ConflictAt(uint32_t index) const noexcept {
    return index < ConflictCount() ? m_state->conflicts[index] : SystemConflict{};
}

const char *Systems::NameOf(System system) const noexcept {
    const bool isOwn =
        system.systems == this && m_state != nullptr && system.index < m_state->systems.Count();
    return isOwn ? m_state->systems[system.index].name : "";
}

const char *Systems::NameOf(Resource resource) const noexcept {
    const bool isOwn = resource.systems == this && m_state != nullptr &&
                       resource.index < m_state->resources.Count();
    return isOwn ? m_state->resources[resource.index].name : "";
}

Status Systems::Run(TaskScheduler &scheduler) noexcept {
    return m_state != nullptr ? m_state->graph.Run(scheduler) : Status::OutOfMemory;
}

Status Systems::RunAsync(TaskScheduler &scheduler, Counter *counter) noexcept {
    return m_state != nullptr ? m_state->graph.RunAsync(scheduler, counter) : Status::OutOfMemory;
}

void Systems::WriteDot(Graph::Write write, void *user) const noexcept {
    if (m_state != nullptr) m_state->graph.WriteDot(write, user);
}

}  // namespace weft
