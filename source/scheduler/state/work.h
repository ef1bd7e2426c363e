// Work in the forms in which it moves: entries of deques, chunks of tasks, nodes of lists.
//
// Levels: a level is a priority and a group, or no group. It decides in which deque work lies, and
// which workers may run it. Slot 0 stands for work of no group, slot i + 1 for work of group i
// (SchedulerOptions::groups). The level with the lowest index has the highest priority: High work
// of no group, then High work of each group, then Normal, then Low. A set of levels is a mask of
// bits.
#pragma once

#include "core/timers.h"
#include "platform/env.h"
#include "weft/counter.h"
#include "weft/task.h"

#include <cstdint>

namespace weft::internal {

inline constexpr uint32_t kPriorities = 3;
inline constexpr uint32_t kMaxGroups = 8;
inline constexpr uint32_t kSlots = kMaxGroups + 1;
inline constexpr uint32_t kLevels = kPriorities * kSlots;

/// In TaskOptions::group, from objects of weft: the low four bits are the slot of the tasks,
/// whichever thread submits them.
inline constexpr uint8_t kInSlot = 0xe0;
constexpr bool IsInSlot(uint8_t group) noexcept { return (group & 0xf0) == kInSlot; }
constexpr uint32_t SlotIn(uint8_t group) noexcept { return group & 0xf; }

/// One byte: if it had several small fields, they would be stored one by one and then read as one
/// word, for which the processor waits.
class Level {
public:
    constexpr Level() noexcept = default;
    constexpr Level(Priority priority, uint32_t slot = 0) noexcept
        : m_index(static_cast<uint8_t>(static_cast<uint32_t>(priority) * kSlots + slot)) {}
    static constexpr Level At(uint32_t index) noexcept { return {Priority::High, index}; }
    constexpr uint32_t Index() const noexcept { return m_index; }
    constexpr uint32_t Bit() const noexcept { return 1u << m_index; }
    constexpr Priority ThePriority() const noexcept { return Priority(m_index / kSlots); }
    constexpr uint32_t Slot() const noexcept { return m_index % kSlots; }
    constexpr bool operator==(Level other) const noexcept { return m_index == other.m_index; }

private:
    uint8_t m_index = 0;
};

/// The levels of a set of slots, of the priorities with numbers below `limit`.
constexpr uint32_t LevelsOf(uint32_t slots, uint32_t limit = kPriorities) noexcept {
    uint32_t levels = 0;
    for (uint32_t priority = 0; priority < limit; ++priority) levels |= slots << priority * kSlots;
    return levels;
}
inline constexpr uint32_t kAllLevels = LevelsOf((1u << kSlots) - 1);
inline constexpr uint32_t kHighLevels = LevelsOf((1u << kSlots) - 1, 1);
inline constexpr uint32_t kNormalLevels = LevelsOf((1u << kSlots) - 1, 2) & ~kHighLevels;
/// The levels of no group. A worker that may run all of them is not choosy (core/idle.h).
inline constexpr uint32_t kPlainLevels = LevelsOf(1);
/// A bit beside the levels in the mask of each sleeper: it can keep a deadline, whatever it runs.
inline constexpr uint32_t kAnyKeeper = 1u << 31;
/// Work of these levels has no notice: each worker looks for it. A look costs less than the notice
/// of each push and pop.
inline constexpr uint32_t kUnnoticed = Level(Priority::Normal).Bit() | Level(Priority::Low).Bit();

static_assert(kLevels == 27, "Notices::kLevels has a bit for each level");

class Fiber;

/// Base of what lists across threads are made of: chunks, ready fibers, and the signals of workers
/// (groups.h).
struct Node {
    enum class Kind : uint8_t { Chunk, Fiber, Signal };
    Node(Kind nodeKind) noexcept : kind(nodeKind) {}
    Node *next = nullptr;
    Kind kind;
    Level level;
};

/// What counts tasks, and the name that they have in reports. Both may be null. In the word of the
/// counter, two bits are for the kind of an entry, and the upper 16 for its number.
class TasksOf {
public:
    TasksOf() = default;
    /// `isGroup`: the counter is a TaskGroup. `scope`: of a wait, see policy/own_tasks.h.
    TasksOf(Counter *counter, const char *name, bool isGroup, uint16_t scope) noexcept
        : m_counter(reinterpret_cast<uint64_t>(counter) | (isGroup ? kGroup : 0)),
          m_name(reinterpret_cast<uint64_t>(name) | uint64_t{scope} << kFree) {}
    Counter *TheCounter() const noexcept {
        return reinterpret_cast<Counter *>(m_counter & kCounter);
    }
    const char *Name() const noexcept { return reinterpret_cast<const char *>(m_name & kAddress); }
    bool IsOfGroup() const noexcept { return (m_counter & kGroup) != 0; }
    uint16_t Scope() const noexcept { return static_cast<uint16_t>(m_name >> kFree); }

protected:
    friend struct DebugLayout;
    static_assert(alignof(Counter) >= 8, "three bits of a counter's address must be free");
    // the addresses of user programs have at most 48 bits: the bits from kFree on are free
    static constexpr uint32_t kFree = 48;
    static constexpr uint64_t kKind = 3, kGroup = 4, kAddress = (uint64_t{1} << kFree) - 1,
                              kCounter = kAddress & ~(kKind | kGroup);
    uint64_t m_counter = 0, m_name = 0;
};

/// Its tasks lie right behind it. One thread owns it. In a claim, `next` is the chunk around it.
struct Chunk : Node {
    Chunk() noexcept : Node(Kind::Chunk), isPinned(false), isOld(false) {}
    Task *Tasks() noexcept { return reinterpret_cast<Task *>(this + 1); }
    uint32_t Left() const noexcept { return end - begin; }
    Chunk *Outer() const noexcept { return static_cast<Chunk *>(next); }

    bool isPinned : 1;           // only one worker may run it
    bool isOld : 1;              // a fair pick has taken it
    uint8_t begin = 0, end = 0;  // the tasks that have not begun
    uint8_t settled = 0;         // the tasks before it are counted as finished (submit/finish.h)
    uint32_t index = 0;          // in its pool
    // only if the tasks are traced (state/trace.h)
    uint32_t number = 0;  // the lower half of the number of task 0; the others follow
    uint32_t stolenFrom = kAnyWorker;
    TasksOf of;
};

/// A chunk and the room for its tasks. There are three sizes: most submissions from outside have
/// one task, and large submissions consist of large chunks.
template <uint32_t kTasks>
struct alignas(64) ChunkOf : Chunk {
    Task room[kTasks];
};
inline constexpr uint32_t kChunkTasks = 60;
inline constexpr uint32_t kLargeChunkTasks = 252;
static_assert(sizeof(void *) != 8 ||
                  (sizeof(ChunkOf<1>) == 64 && sizeof(ChunkOf<kChunkTasks>) == 1024 &&
                   sizeof(ChunkOf<kLargeChunkTasks>) == 4096),
              "powers of two");

/// An entry of a deque: a task, a chunk or a ready fiber.
class Entry : public TasksOf {
public:
    enum Kind : uint64_t { Task = 1, Chunk = 2, Fiber = 3 };

    /// `number`: as in Chunk. It lies in the free bits of the function and of the counter.
    static Entry Of(const weft::Task &task, const TasksOf &of, uint32_t number = 0) noexcept {
        Entry entry(reinterpret_cast<uint64_t>(task.function) | uint64_t{number & 0xffff} << kFree,
                    reinterpret_cast<uint64_t>(task.arg), of, Task);
        entry.m_counter |= uint64_t{number >> 16} << kFree;
        return entry;
    }
    uint32_t Number() const noexcept {
        return static_cast<uint32_t>(m_counter >> kFree << 16 | m_what >> kFree);
    }
    static Entry Of(internal::Chunk &chunk) noexcept {
        return Entry(reinterpret_cast<uint64_t>(&chunk), 0, chunk.of, Chunk);
    }
    static Entry Of(internal::Fiber &fiber) noexcept;
    static Entry Of(Node &node) noexcept;

    bool IsEmpty() const noexcept { return m_counter == 0; }
    Kind TheKind() const noexcept { return static_cast<Kind>(m_counter & kKind); }
    weft::Task TheTask() const noexcept {
        return {reinterpret_cast<TaskFunction>(m_what & kAddress), reinterpret_cast<void *>(m_arg)};
    }
    weft::Task UntracedTask() const noexcept {
        return {reinterpret_cast<TaskFunction>(m_what), reinterpret_cast<void *>(m_arg)};
    }
    internal::Chunk &TheChunk() const noexcept {
        return *reinterpret_cast<internal::Chunk *>(m_what);
    }
    internal::Fiber &TheFiber() const noexcept {
        return *reinterpret_cast<internal::Fiber *>(m_what);
    }
    /// The counter, or that of the fiber's task.
    Counter *CounterOfIt() const noexcept {
        return TheKind() == Fiber ? reinterpret_cast<Counter *>(m_arg) : TheCounter();
    }
    static constexpr uint32_t kMostScopes = 0xffff;
    Entry WithScope(uint32_t scope) const noexcept {
        Entry entry = *this;
        entry.m_name = (m_name & kAddress) | uint64_t{scope} << kFree;
        return entry;
    }

    Entry() = default;

private:
    friend struct DebugLayout;
    Entry(uint64_t what, uint64_t arg, const TasksOf &of, Kind kind) noexcept
        : TasksOf(of), m_what(what), m_arg(arg) {
        m_counter = (m_counter & ~kKind) | kind;
    }

    uint64_t m_what = 0, m_arg = 0;
};

/// What a pick found: an entry, its level, and whether only this worker may run it.
struct Work {
    Entry entry;
    Level level;
    bool isPinned = false;
    explicit operator bool() const noexcept { return !entry.IsEmpty(); }
};

/// Nodes that one worker has to itself, in order.
struct NodeQueue {
    Node *first = nullptr;
    Node **last = &first;  // the link behind the last one

    NodeQueue() = default;
    NodeQueue(const NodeQueue &) = delete;
    NodeQueue &operator=(const NodeQueue &) = delete;

    bool IsEmpty() const noexcept { return first == nullptr; }
    void PushBack(Node &node) noexcept {
        node.next = nullptr;
        *last = &node;
        last = &node.next;
    }
    void PushFront(Node &node) noexcept {
        node.next = first;
        if (first == nullptr) last = &node.next;
        first = &node;
    }
    /// Takes the first node for which wants(node) returns true, or null.
    template <class Wants>
    Node *TakeIf(Wants wants) noexcept {
        for (Node **link = &first; *link != nullptr; link = &(*link)->next) {
            Node *const node = *link;
            if (!wants(*node)) continue;
            *link = node->next;
            if (node->next == nullptr) last = link;
            return node;
        }
        return nullptr;
    }
    Node *Take() noexcept {
        return TakeIf([](const Node &) { return true; });
    }
};

/// Chunks, linked from the newest to the oldest.
struct ChunkList {
    Chunk *newest = nullptr, *oldest = nullptr;
    uint32_t chunks = 0;
    uint32_t onWorker = kAnyWorker;  // the tasks are pinned to it
};

/// Tasks of one submission that wait for counters, for a deadline, or for whichever of the two
/// comes first. It has a wait record on each of the counters (owner: kDeferredOwner + its index).
///
/// `state` says how many records, timers and calls still refer to the object. The call that submits
/// it counts, too, so the tasks are not handed over while it still registers. The reference at
/// which `firesAt` are left hands them over. The last one frees the object.
///
/// If it is withdrawn, the tasks are handed over at once. A wait record stays on its counter,
/// because the counter may be gone by now. So the object stays until the counter is reached or the
/// run ends.
struct Deferred {
    static constexpr uint64_t kLeft = 0xffffffff;
    static constexpr uint64_t kWithdrawn = uint64_t{1} << 32;
    static constexpr uint64_t kHeld = uint64_t{1} << 33;  // it is not withdrawn meanwhile
    static constexpr uint32_t kGenerationShift = 34;

    // generation : 30 | held : 1 | withdrawn : 1 | references left : 32
    env::Atomic<uint64_t> state{0};
    // What counts the tasks: a hint for WithdrawBatchesOf.
    env::Atomic<const Counter *> counter{nullptr};
    Timer timer;
    ChunkList tasks;
    env::Atomic<uint32_t> firesAt{0};
    // For reports and StopFor. Valid for a thread that refers to the object.
    const char *name = nullptr;  // of the tasks
    uint32_t count = 0;
    bool isKept = false;      // StopFor does not withdraw the tasks
    bool isPeriodic = false;  // the task of a PeriodicTask
    bool hasRecord = false;   // of AfterOrAt: there was memory for the wait record
    uint32_t index = 0;       // in its pool
};

}  // namespace weft::internal
