// Builds the graph, decides which waits can end, and finds the cycles.
#include "scheduler/diagnose/wait_graph.h"

#include "scheduler/diagnose/watch.h"
#include "scheduler/state/entry_gate.h"
#include "scheduler/wait/deferred.h"

#include <algorithm>
#include <utility>

namespace weft::internal {

WaitGraph::WaitGraph(Scheduler &scheduler, bool allIdle) noexcept
    : m_scheduler(scheduler), m_allIdle(allIdle) {
    constexpr uint32_t kMore = 16;  // more may begin to wait meanwhile; the last ones are left out
    Read();                         // only counts
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
    Read();
    m_count = std::min(m_count, m_maxNodes);
    m_lowererCount = std::min(m_lowererCount, m_maxLowerers);
    FindEdges();
    MarkEnding();
    MarkCycles();
    std::sort(m_nodes, m_nodes + m_count, [](const Node &a, const Node &b) {
        return a.waiter.cause != b.waiter.cause ? a.waiter.cause < b.waiter.cause
                                                : a.waiter.fiber < b.waiter.fiber;
    });
}

WaitGraph::~WaitGraph() {
    m_scheduler.memory.DeleteArray(m_nodes, m_maxNodes);
    m_scheduler.memory.DeleteArray(m_lowerers, m_maxLowerers);
}

void WaitGraph::Read() noexcept {
    Node leftOut;
    m_count = m_lowererCount = 0;
    const auto add = [&]() -> Node & {
        return m_count++ < m_maxNodes ? m_nodes[m_count - 1] : leftOut;
    };
    for (uint32_t i = 0; i < m_scheduler.AllFibers(); ++i) {
        const Fiber &fiber = m_scheduler.fibers[i];
        const FiberWait &wait = fiber.wait;
        const Counter *const waitsFor = wait.counter.load(kRelaxed);
        // guestsLeft: a Stop without workers waits for external threads
        const bool waits = waitsFor != nullptr && waitsFor != &m_scheduler.guestsLeft;
        // While nothing runs, a fiber that does not wait is free, or looks for work.
        if (!waits && (m_allIdle || IsFree(m_scheduler, i))) continue;
        AddLowerers(fiber, i, waits);
        if (!waits) continue;
        Node &node = add();
        node.waiter.fiber = i;
        node.waiter.task = fiber.name.load(kRelaxed);
        node.waiter.counter = waitsFor;
        node.waiter.lock = fiber.locks.awaited.load(kRelaxed);
        const WaitKind kind = wait.kind.load(kRelaxed);
        node.forIdle = kind == WaitKind::Idle;
        node.onTop = wait.inlined[0].load(kRelaxed) != nullptr;
        node.anyEnds = wait.target.load(kRelaxed) != 0;
        if (wait.deadline.load(kRelaxed) != Timers::kNever)
            NameCause(node, WaitCause::Working, kNone);
        else if (kind == WaitKind::Several)
            NameCause(node, WaitCause::Unknown, kNone);
    }
    for (uint32_t i = 0; m_scheduler.threadWaiters.Has(i); ++i) {
        const Counter *counter = m_scheduler.threadWaiters.At(i).waitsFor.load(kRelaxed);
        if (counter == nullptr) continue;
        Node &node = add();
        node.waiter.isExternal = true;
        node.waiter.counter = counter;
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
        const auto range = std::equal_range(
            m_lowerers, end, Lowerer{AwaitedBy(node.waiter), 0, 0, nullptr, false}, before);
        node.first = static_cast<uint32_t>(range.first - m_lowerers);
        node.end = static_cast<uint32_t>(range.second - m_lowerers);
    }
}

void WaitGraph::NameCause(Node &node, WaitCause cause, uint32_t by) noexcept {
    node.waiter.cause = cause;
    node.isKnown = true;
    if (by == kNone) return;
    node.waiter.byFiber = m_lowerers[by].fiber;
    node.waiter.byTask = m_lowerers[by].task;
}

// A wait that can end lets others end, so this is repeated until nothing changes.
void WaitGraph::MarkEnding() noexcept {
    for (bool changes = true; changes;) {
        changes = false;
        for (uint32_t i = 0; i < m_count; ++i) {
            if (!m_nodes[i].isKnown && Decide(m_nodes[i])) changes = true;
        }
    }
}

// Returns true if the task itself is what lowers the counter, and it waits for a value above zero:
// its own unit may be a part of this value.
bool WaitGraph::IsOwn(const Node &node, const Lowerer &lowerer) const noexcept {
    return node.anyEnds && lowerer.isInnermost && lowerer.node != kNone &&
           &node == &m_nodes[lowerer.node];
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
        if (node.forIdle || IsOwn(node, m_lowerers[node.first + i])) continue;
        isLowered = true;
        const uint32_t other = m_lowerers[node.first + i].node;
        const WaitCause cause = other == kNone ? WaitCause::Working : m_nodes[other].waiter.cause;
        if (by == kNone || cause < worst) by = node.first + i;
        worst = std::min(worst, cause);
    }
    if (isBlocked && (by == kNone || !node.anyEnds)) return false;
    if (!isLowered && m_othersMayLower) node.waiter.byWork = m_work;
    if (!isLowered) worst = m_othersMayLower ? WaitCause::Unknown : WaitCause::Nobody;
    NameCause(node, worst, by);
    return true;
}

uint32_t WaitGraph::EdgeCount(const Node &node) const noexcept {
    return node.forIdle ? m_count : node.end - node.first;
}

// Returns the node that an edge leads to; kNone if the edge does not count. A task in WaitIdle
// waits for all others that are not in WaitIdle, and for the task below itself.
uint32_t WaitGraph::EdgeAt(const Node &node, uint32_t i) const noexcept {
    const uint32_t other = node.forIdle ? i : m_lowerers[node.first + i].node;
    if (other == kNone) return kNone;
    const Node &next = m_nodes[other];
    if (next.isKnown && next.waiter.cause >= WaitCause::Unknown) return kNone;
    if (!node.forIdle) return IsOwn(node, m_lowerers[node.first + i]) ? kNone : other;
    if (&next == &node) return node.onTop ? other : kNone;
    return next.forIdle || next.waiter.isExternal ? kNone : other;
}

// What is not known yet cannot end: it is in a cycle, or waits for what cannot end.
void WaitGraph::MarkCycles() noexcept {
    for (uint32_t i = 0; i < m_count; ++i) {
        Node &node = m_nodes[i];
        if (node.isKnown) continue;
        node.waiter.cause = WaitCause::Stuck;
        uint32_t next = kNone;
        for (uint32_t edge = 0; edge < EdgeCount(node) && node.waiter.cause == WaitCause::Stuck;
             ++edge) {
            const uint32_t other = EdgeAt(node, edge);
            if (other == kNone) continue;
            if (Reaches(other, i)) node.waiter.cause = WaitCause::Cycle;
            if (next == kNone || node.waiter.cause == WaitCause::Cycle) next = other;
        }
        if (next == kNone) continue;
        node.waiter.byFiber = m_nodes[next].waiter.fiber;
        node.waiter.byTask = m_nodes[next].waiter.task;
    }
}

// Returns true if edges lead from one node to the other. Earlier searches for the other one found
// nothing: what they have seen is left out.
bool WaitGraph::Reaches(uint32_t from, uint32_t to) noexcept {
    uint32_t top = kNone;
    const auto see = [&](uint32_t i) {
        if (i == kNone || m_nodes[i].isKnown || m_nodes[i].seenFor == to) return;
        m_nodes[i].seenFor = to;
        m_nodes[i].below = std::exchange(top, i);
    };
    for (see(from); top != kNone && top != to;) {
        const Node &node = m_nodes[std::exchange(top, m_nodes[top].below)];
        for (uint32_t edge = 0; edge < EdgeCount(node); ++edge) see(EdgeAt(node, edge));
    }
    return top == to;
}

}  // namespace weft::internal
