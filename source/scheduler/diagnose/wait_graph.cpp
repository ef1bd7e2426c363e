// Builds the graph, decides which waits can end, finds the cycles, and describes them.
#include "scheduler/diagnose/wait_graph.h"

#include "scheduler/diagnose/watch.h"
#include "scheduler/state/entry_gate.h"
#include "scheduler/wait/deferred.h"

#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <utility>

namespace weft::internal {

namespace {

// Returns the address of what it waits for: the lock if that is known, else the counter.
const void *AwaitedBy(const WaiterInfo &waiter) noexcept {
    return waiter.lock != nullptr ? waiter.lock : waiter.counter;
}

// A line of a report for one waiter is at most this long: three names of 40 bytes, and numbers.
constexpr size_t kBytesOfWaiter = 256, kOtherBytes = 1024;

// A fiber and the name of its task, as in a report.
void AddFiber(ReportText &text, const Scheduler &scheduler, uint32_t fiber,
              const char *task) noexcept {
    const char *unnamed = fiber < scheduler.fibers.count ? "unnamed task" : "attached thread";
    text.Add("fiber %u '%.40s'", fiber, task != nullptr ? task : unnamed);
}

// What a report says before the waiters with this cause.
constexpr const char *kHeadings[] = {"in a cycle", "lowered by no task", "behind these",
                                     "perhaps lowered by other tasks"};

// Returns true if the tasks have the same name and wait in the same way. Each task of a cycle is
// told.
bool AreAlike(const WaiterInfo &a, const WaiterInfo &b) noexcept {
    return a.cause == b.cause && AwaitedBy(a) == AwaitedBy(b) && a.task == b.task &&
           a.cause != WaitCause::Cycle && !b.isExternal;
}

// Returns true if a report tells this waiter.
bool IsBlocked(const WaiterInfo &waiter) noexcept {
    return !waiter.isExternal && waiter.cause != WaitCause::Working;
}

}  // namespace

WaitGraph::WaitGraph(Scheduler &scheduler, bool allIdle) noexcept : m_scheduler(scheduler) {
    constexpr uint32_t kMore = 16;  // more may begin to wait meanwhile; the last ones are left out
    Read(allIdle);                  // only counts
    m_maxNodes = m_count + kMore;
    m_maxLowerers = m_lowererCount + kMore;
    m_lowerers = scheduler.memory.NewArray<Lowerer>(m_maxLowerers);
    if (m_lowerers != nullptr) m_nodes = scheduler.memory.NewArray<Node>(m_maxNodes);
    m_count = 0;
    if (m_nodes == nullptr) return;
    const SchedulerState &state = EntryGate::StateOf(*scheduler.taskScheduler);
    for (const std::atomic<const char *> &name : state.outsideNames) {
        if (m_work == nullptr) m_work = name.load(kRelaxed);
    }
    m_othersMayLower = CountDeferred(scheduler, true) != 0 || state.outside.load(kRelaxed) != 0 ||
                       AnyQueued(scheduler, true);
    Read(allIdle);
    m_count = std::min(m_count, m_maxNodes);
    m_lowererCount = std::min(m_lowererCount, m_maxLowerers);
    FindEdges();
    MarkEnding();
    MarkCycles();
    std::sort(m_nodes, m_nodes + m_count, [](const Node &a, const Node &b) {
        return a.cause != b.cause ? a.cause < b.cause : a.fiber < b.fiber;
    });
}

WaitGraph::~WaitGraph() {
    m_scheduler.memory.DeleteArray(m_nodes, m_maxNodes);
    m_scheduler.memory.DeleteArray(m_lowerers, m_maxLowerers);
}

void WaitGraph::Read(bool allIdle) noexcept {
    Node leftOut;
    m_count = m_lowererCount = 0;
    const auto add = [&]() -> Node & {
        return m_count++ < m_maxNodes ? m_nodes[m_count - 1] : leftOut;
    };
    for (uint32_t i = 0; i < m_scheduler.AllFibers(); ++i) {
        const Fiber &fiber = m_scheduler.fibers[i];
        const FiberWait &wait = fiber.wait;
        const Counter *const waitsFor = wait.counter.load(kRelaxed);
        // guests.left: a Stop without workers waits for external threads
        const bool waits = waitsFor != nullptr && waitsFor != &m_scheduler.guests.left;
        // While nothing runs, a fiber that does not wait is free, or looks for work.
        if (!waits && (allIdle || IsFree(m_scheduler, i))) continue;
        AddLowerers(fiber, i, waits);
        if (!waits) continue;
        Node &node = add();
        node.fiber = i;
        node.task = fiber.name.load(kRelaxed);
        node.counter = waitsFor;
        node.lock = fiber.locks.awaited.load(kRelaxed);
        const WaitKind kind = wait.kind.load(kRelaxed);
        node.forIdle = kind == WaitKind::Idle;
        node.onTop = wait.inlined[0].load(kRelaxed) != nullptr;
        node.anyEnds = wait.target.load(kRelaxed) != 0;
        if (wait.deadline.load(kRelaxed) != Timers::kNever)
            node.cause = WaitCause::Working;
        else if (kind == WaitKind::Several)
            node.cause = WaitCause::Unknown;
    }
    for (uint32_t i = 0; m_scheduler.pools.threadWaiters.Has(i); ++i) {
        const Counter *counter = m_scheduler.pools.threadWaiters.At(i).waitsFor.load(kRelaxed);
        if (counter == nullptr) continue;
        Node &node = add();
        node.isExternal = true;
        node.counter = counter;
    }
}

// The counters of inline tasks are known only of fibers that wait.
void WaitGraph::AddLowerers(const Fiber &fiber, uint32_t index, bool waits) noexcept {
    const uint32_t node = waits && m_count < m_maxNodes ? m_count : kNone;
    bool isInnermost = true;
    const auto add = [&](const void *awaited) {
        if (awaited != nullptr && m_lowererCount++ < m_maxLowerers)
            m_lowerers[m_lowererCount - 1] = {awaited, node, index, fiber.name.load(kRelaxed),
                                              isInnermost};
    };
    for (uint32_t i = 0; waits && i < FiberWait::kInlined; ++i) {
        const Counter *counter = fiber.wait.inlined[i].load(kRelaxed);
        if (counter == nullptr) break;
        add(counter);
        isInnermost = false;
    }
    add(fiber.counter.load(kRelaxed));
    fiber.locks.ForEach(add);
}

void WaitGraph::FindEdges() noexcept {
    const auto before = [](const Lowerer &a, const Lowerer &b) { return a.awaited < b.awaited; };
    Lowerer *const end = m_lowerers + m_lowererCount;
    std::sort(m_lowerers, end, before);
    for (uint32_t i = 0; i < m_count; ++i) {
        Node &node = m_nodes[i];
        const auto range = std::equal_range(m_lowerers, end,
                                            Lowerer{AwaitedBy(node), 0, 0, nullptr, false}, before);
        node.firstLowerer = static_cast<uint32_t>(range.first - m_lowerers);
        node.endOfLowerers = static_cast<uint32_t>(range.second - m_lowerers);
    }
}

// A wait that can end lets others end, so this is repeated until nothing changes.
void WaitGraph::MarkEnding() noexcept {
    for (bool changes = true; changes;) {
        changes = false;
        for (uint32_t i = 0; i < m_count; ++i) {
            if (m_nodes[i].cause == WaitCause::Stuck && Decide(m_nodes[i])) changes = true;
        }
    }
}

// Returns true if the task itself is what lowers the counter, and it waits for a value above zero:
// its own unit may be a part of this value.
bool WaitGraph::IsOwn(const Node &node, const Lowerer &lowerer) const noexcept {
    return node.anyEnds && lowerer.isInnermost && lowerer.fiber == node.fiber;
}

// Returns true if the cause is known now.
bool WaitGraph::Decide(Node &node) noexcept {
    bool isBlocked = false, isLowered = node.forIdle;
    WaitCause worst = WaitCause::Working;
    uint32_t by = kNone;
    for (uint32_t i = 0; i < EdgeCount(node); ++i) {
        if (EdgeAt(node, i) != kNone) {
            isBlocked = isLowered = true;
            continue;
        }
        if (node.forIdle || IsOwn(node, m_lowerers[node.firstLowerer + i])) continue;
        isLowered = true;
        const uint32_t other = m_lowerers[node.firstLowerer + i].node;
        const WaitCause cause = other == kNone ? WaitCause::Working : m_nodes[other].cause;
        if (by == kNone || cause < worst) by = node.firstLowerer + i;
        worst = std::min(worst, cause);
    }
    if (isBlocked && (by == kNone || !node.anyEnds)) return false;
    if (!isLowered && m_othersMayLower) node.byWork = m_work;
    if (!isLowered) worst = m_othersMayLower ? WaitCause::Unknown : WaitCause::Nobody;
    node.cause = worst;
    if (by != kNone) {
        node.byFiber = m_lowerers[by].fiber;
        node.byTask = m_lowerers[by].task;
    }
    return true;
}

// Returns the node that an edge leads to; kNone if the edge does not count. A task in WaitIdle
// waits for all others that are not in WaitIdle, and for the task below itself.
uint32_t WaitGraph::EdgeAt(const Node &node, uint32_t i) const noexcept {
    const uint32_t other = node.forIdle ? i : m_lowerers[node.firstLowerer + i].node;
    if (other == kNone) return kNone;
    const Node &next = m_nodes[other];
    if (next.cause >= WaitCause::Unknown) return kNone;
    if (!node.forIdle) return IsOwn(node, m_lowerers[node.firstLowerer + i]) ? kNone : other;
    if (&next == &node) return node.onTop ? other : kNone;
    return next.forIdle || next.isExternal ? kNone : other;
}

// What is not known yet cannot end: it is in a cycle, or waits for what cannot end.
void WaitGraph::MarkCycles() noexcept {
    for (uint32_t i = 0; i < m_count; ++i) {
        Node &node = m_nodes[i];
        if (node.cause != WaitCause::Stuck) continue;
        uint32_t next = kNone;
        for (uint32_t edge = 0; edge < EdgeCount(node) && node.cause == WaitCause::Stuck; ++edge) {
            const uint32_t other = EdgeAt(node, edge);
            if (other == kNone) continue;
            if (Reaches(other, i)) node.cause = WaitCause::Cycle;
            if (next == kNone || node.cause == WaitCause::Cycle) next = other;
        }
        if (next == kNone) continue;
        node.byFiber = m_nodes[next].fiber;
        node.byTask = m_nodes[next].task;
    }
}

// Returns true if edges lead from one node to the other. Earlier searches for the other one found
// nothing: what they have seen is left out.
bool WaitGraph::Reaches(uint32_t from, uint32_t to) noexcept {
    uint32_t top = kNone;
    const auto see = [&](uint32_t i) {
        if (i == kNone || m_nodes[i].seenFor == to) return;
        m_nodes[i].seenFor = to;
        m_nodes[i].below = std::exchange(top, i);
    };
    for (see(from); top != kNone && top != to;) {
        const Node &node = m_nodes[std::exchange(top, m_nodes[top].below)];
        for (uint32_t edge = 0; edge < EdgeCount(node); ++edge) see(EdgeAt(node, edge));
    }
    return top == to;
}

ReportText::ReportText(const Memory &memory, uint32_t waiters) noexcept
    : m_memory(memory),
      m_bytes(kOtherBytes + waiters * kBytesOfWaiter),
      m_text(memory.NewArray<char>(m_bytes)) {}

void ReportText::Add(const char *format, ...) noexcept {
    if (m_text == nullptr || m_used + 1 >= m_bytes) return;
    va_list arguments;
    va_start(arguments, format);
    const int length = std::vsnprintf(m_text + m_used, m_bytes - m_used, format, arguments);
    va_end(arguments);
    m_used = std::min(m_used + static_cast<size_t>(std::max(length, 0)), m_bytes - 1);
}

const char *ReportText::Get() const noexcept {
    return m_text != nullptr ? m_text : "there is no memory to describe the waiting fibers";
}

uint32_t CountBlocked(const WaitGraph &graph) noexcept {
    return static_cast<uint32_t>(std::count_if(graph.begin(), graph.end(), IsBlocked));
}

void AddWaiters(ReportText &text, const Scheduler &scheduler, const WaitGraph &graph) noexcept {
    const WaiterInfo *last = nullptr;
    for (auto next = graph.begin(); next != graph.end();) {
        const WaiterInfo &waiter = *next++;
        if (!IsBlocked(waiter)) continue;
        const bool isFirst = last == nullptr || last->cause != waiter.cause;
        if (last != nullptr) text.Add(isFirst ? "; " : ", ");
        if (isFirst) text.Add("%s: ", kHeadings[static_cast<uint32_t>(waiter.cause)]);
        AddFiber(text, scheduler, waiter.fiber, waiter.task);
        uint32_t more = 0;
        for (; next != graph.end() && AreAlike(waiter, *next); ++next) ++more;
        if (more != 0) text.Add(" and %u more", more);
        text.Add(" for %s %p", waiter.lock != nullptr ? "lock" : "counter", AwaitedBy(waiter));
        if (waiter.byFiber != kAnyWorker) {
            text.Add(waiter.lock != nullptr ? " held by " : " of ");
            AddFiber(text, scheduler, waiter.byFiber, waiter.byTask);
        }
        if (waiter.byWork != nullptr)
            text.Add(", perhaps ended by external work '%.40s'", waiter.byWork);
        last = &waiter;
    }
}

// relaxed, all: for a report
void AddRunning(ReportText &text, const Scheduler &scheduler) noexcept {
    uint32_t count = 0;
    for (uint32_t i = 0; i < scheduler.AllFibers(); ++i) {
        const Fiber &fiber = scheduler.fibers[i];
        const char *name = fiber.name.load(kRelaxed);
        if (name == nullptr || fiber.wait.counter.load(kRelaxed) != nullptr || IsFree(scheduler, i))
            continue;
        text.Add(count++ == 0 ? "; running: " : ", ");
        AddFiber(text, scheduler, i, name);
    }
}

}  // namespace weft::internal
