// Implements timeline.h.
#include "trace/timeline.h"

#include <algorithm>
#include <cstdio>
#include <deque>
#include <set>
#include <unordered_map>
#include <utility>

namespace trace {

namespace {

using weft::TraceKind;

// More slices inside each other are not shown, so that the work stays linear.
constexpr size_t kMaxDepth = 256;

// The event that ended the wait of a fiber: its time, and the worker or thread that caused it.
struct Ready {
    int64_t ns = kUnknown;
    uint32_t actor = kNone;
    bool byDeadline = false;
};

struct Fiber {
    std::vector<uint32_t> stack;  // tasks, the outermost first
    uint32_t wait = kNone;        // the wait that goes on
    int64_t entered = kUnknown;   // when a worker came back to the fiber in this wait
    int64_t left = kUnknown;      // when a worker has left it for the last time
    uint32_t slot = kNone;        // the worker that runs it
    Ready ready;
    uint64_t awaitedLock = 0;  // its task wants this lock
    bool hasBegun = false;     // a worker has run it
    bool hasOwnCode = false;   // stack[0] stands for what an attached thread does
};

// A worker, or a slot for an attached thread.
struct Slot {
    uint32_t fiber = kNone;      // the key of the fiber that it runs
    std::vector<uint32_t> open;  // slices, the outermost first
    bool hasBegun = false;       // there was an event
    bool isDetached = false;     // the attached thread does not run code of its own any more
    bool isRunning = false;      // `segment` goes on
    bool isAsleep = false;       // open.back() is a sleep
    bool afterDeadline = false;  // the last event was Deadline, or what followed from it
    Segment segment{};
    int64_t wokenAt = kUnknown;  // by another actor, since the last event
    uint32_t wokenBy = kNone;
    int64_t lastNs = kUnknown;  // of its last event
};

// A thread that is no worker.
struct Thread {
    uint32_t task = kNone;  // stands for what it does
    bool isRunning = false;
    Segment segment{};
    uint64_t awaitedLock = 0;            // it wants this lock
    std::vector<uint32_t> waits, calls;  // that go on; indices
};

class Builder {
public:
    Builder(const Recording &recording, Timeline &timeline)
        : m_recording(recording), m_timeline(timeline) {
        m_timeline.from = recording.from;
        m_timeline.until = recording.until;
        m_timeline.workers = recording.workers;
        m_timeline.stackBytes = recording.stackBytes;
        m_timeline.slots = recording.Slots();
        m_timeline.names = recording.names;
        m_slots.resize(m_timeline.slots);
        m_hasAllRings = recording.isComplete;
        m_timeline.parks.resize(m_timeline.slots);
        m_timeline.offCpu.resize(m_timeline.slots);
    }

    void Build() {
        FindThreads();
        m_timeline.segments.resize(m_timeline.actors);
        FindSubmissions();
        FindOpenTasks();
        for (const Event &event : m_recording.events) {
            if (!IsInWindow(event)) continue;
            event.ring < m_timeline.slots ? OnSlot(event) : OnThread(event);
        }
        Finish();
        FindFrames();
        CountReady();
        CountRunning();
    }

private:
    bool IsInWindow(const Event &event) const {
        return event.ns >= m_timeline.from && event.ns <= m_timeline.until;
    }

    uint32_t KeyOf(uint32_t fiber, uint32_t slot) const {
        fiber &= 0xffffff;
        return fiber == kThreadStack ? kThreadStack + 1 + slot : fiber;
    }

    uint32_t NewName(const char *name) {
        m_timeline.names.emplace_back(name);
        return static_cast<uint32_t>(m_timeline.names.size()) - 1;
    }

    // Numbers the threads that are no workers.
    void FindThreads() {
        m_timeline.actors = m_timeline.slots;
        for (const Event &event : m_recording.events) {
            if (event.ring != m_timeline.slots || event.ns > m_timeline.until) continue;
            const auto [at, isNew] = m_threadOf.emplace(event.fiber, m_timeline.actors);
            (void)at;
            if (isNew) ++m_timeline.actors;
        }
        m_threads.resize(m_timeline.actors - m_timeline.slots);
    }

    uint32_t ActorOf(const Event &event) const {
        return event.ring < m_timeline.slots ? event.ring : m_threadOf.at(event.fiber);
    }

    void FindSubmissions() {
        std::vector<Submission> &submissions = m_timeline.submissions;
        for (const Event &event : m_recording.events) {
            if (event.kind != TraceKind::Submit || event.ns > m_timeline.until) continue;
            submissions.push_back({event.ns, event.id, event.other, 0, event.name, ActorOf(event),
                                   event.counter, event.priority});
        }
        m_byFirst.resize(submissions.size());
        for (uint32_t i = 0; i < m_byFirst.size(); ++i) m_byFirst[i] = i;
        std::stable_sort(m_byFirst.begin(), m_byFirst.end(), [&](uint32_t a, uint32_t b) {
            return submissions[a].first < submissions[b].first;
        });
    }

    // Returns the submission of a task, or kNone.
    uint32_t SubmissionOf(uint64_t id) const {
        const auto comesBefore = [&](uint64_t number, uint32_t submission) {
            return number < m_timeline.submissions[submission].first;
        };
        const auto after = std::upper_bound(m_byFirst.begin(), m_byFirst.end(), id, comesBefore);
        if (id == 0 || after == m_byFirst.begin()) return kNone;
        const Submission &submission = m_timeline.submissions[*(after - 1)];
        return id - submission.first < submission.count ? *(after - 1) : kNone;
    }

    // Tasks that end in the window, but do not begin there, are on the stacks of their fibers at
    // its beginning. This is known only if the events of all workers are there.
    void FindOpenTasks() {
        if (!m_hasAllRings) return;
        std::unordered_map<uint32_t, std::vector<uint64_t>> stacks;
        std::unordered_map<uint32_t, std::vector<const Event *>> before;  // the innermost first
        for (const Event &event : m_recording.events) {
            if (event.kind > TraceKind::TaskEnd || event.ring >= m_timeline.slots ||
                !IsInWindow(event))
                continue;
            const uint32_t key = KeyOf(event.fiber, event.ring);
            std::vector<uint64_t> &stack = stacks[key];
            if (event.kind == TraceKind::TaskBegin) {
                stack.push_back(event.id);
                continue;
            }
            while (!stack.empty() && stack.back() != event.id) stack.pop_back();
            stack.empty() ? before[key].push_back(&event) : stack.pop_back();
        }
        for (const auto &[key, ends] : before) {
            for (size_t i = ends.size(); i-- != 0;) {
                Task task;
                task.isBeginKnown = false;
                task.begin = m_timeline.from;
                Push(m_fibers[key], task, *ends[i]);
            }
        }
    }

    // Puts a task on the stack of a fiber. `event`: its begin or its end.
    void Push(Fiber &fiber, Task &task, const Event &event) {
        task.id = event.id;
        task.name = event.name;
        task.fiber = event.fiber;
        task.stolenFrom = event.other;
        task.parent = fiber.stack.empty() ? kNone : fiber.stack.back();
        task.depth = static_cast<uint32_t>(fiber.stack.size());
        fiber.stack.push_back(static_cast<uint32_t>(m_timeline.tasks.size()));
        m_timeline.tasks.push_back(task);
    }

    // --- segments ---

    void OpenSegment(uint32_t actor, Segment &segment, bool &isRunning, uint32_t task, int64_t ns,
                     Edge edge, Ready from, uint32_t wait) {
        if (isRunning) CloseSegment(actor, segment, isRunning, ns);
        if (from.ns == kUnknown) edge = Edge::None;
        segment = {ns, ns, task, edge, wait, kNone, kUnknown};
        if (edge != Edge::None) {
            segment.edgeActor = from.actor;
            segment.edgeNs = std::min(from.ns, ns);
        }
        isRunning = true;
    }
    void CloseSegment(uint32_t actor, Segment &segment, bool &isRunning, int64_t ns) {
        if (!std::exchange(isRunning, false) || ns <= segment.begin) return;
        segment.end = ns;
        m_timeline.tasks[segment.task].run += ns - segment.begin;
        m_timeline.segments[actor].push_back(segment);
    }
    void Run(uint32_t slot, uint32_t task, int64_t ns, Edge edge = Edge::None, Ready from = {},
             uint32_t wait = kNone) {
        OpenSegment(slot, m_slots[slot].segment, m_slots[slot].isRunning, task, ns, edge, from,
                    wait);
    }
    void Pause(uint32_t slot, int64_t ns) {
        CloseSegment(slot, m_slots[slot].segment, m_slots[slot].isRunning, ns);
    }

    // --- slices ---

    void OpenSlice(uint32_t slot, uint32_t task, int64_t ns, bool isFirst) {
        std::vector<uint32_t> &open = m_slots[slot].open;
        const bool isTooMany = m_timeline.slices.size() > 8 * m_recording.events.size() + 1024;
        if (open.size() >= kMaxDepth || (!isFirst && isTooMany)) {
            m_timeline.isCoarse = true;
            return;
        }
        open.push_back(static_cast<uint32_t>(m_timeline.slices.size()));
        m_timeline.slices.push_back(
            {ns, ns, slot, task, static_cast<uint32_t>(open.size()) - 1, kNone, isFirst});
    }
    void CloseSlice(uint32_t slot, int64_t ns) {
        m_timeline.slices[m_slots[slot].open.back()].end = ns;
        m_slots[slot].open.pop_back();
    }

    // --- fibers ---

    // The worker begins to run the fiber.
    void Enter(uint32_t slot, uint32_t key, int64_t ns) {
        Fiber &fiber = m_fibers[key];
        if (fiber.slot != kNone) Leave(fiber.slot, ns);  // an event is missing
        fiber.slot = slot;
        m_slots[slot].fiber = key;
        fiber.entered = ns;
        fiber.hasBegun = true;
        for (const uint32_t task : fiber.stack) OpenSlice(slot, task, ns, false);
        const Ready ready = TakeReady(fiber);
        if (fiber.stack.empty()) return;
        std::vector<uint32_t> &open = m_slots[slot].open;
        if (!open.empty()) m_timeline.slices[open.back()].wait = fiber.wait;
        Run(slot, fiber.stack.back(), ns, ready.byDeadline ? Edge::Deadline : Edge::Release, ready,
            fiber.wait);
    }

    void Leave(uint32_t slot, int64_t ns) {
        Slot &state = m_slots[slot];
        EndSleep(slot, ns);
        Pause(slot, ns);
        while (!state.open.empty()) CloseSlice(slot, ns);
        if (state.fiber != kNone) {
            m_fibers[state.fiber].slot = kNone;
            m_fibers[state.fiber].left = ns;
        }
        state.fiber = kNone;
    }

    // Returns what has made the fiber ready, and notes it in its wait.
    Ready TakeReady(Fiber &fiber) {
        const Ready ready = std::exchange(fiber.ready, {});
        if (fiber.wait != kNone && ready.ns != kUnknown) NoteReady(fiber.wait, ready);
        return ready;
    }
    void NoteReady(uint32_t index, const Ready &ready) {
        Wait &wait = m_timeline.waits[index];
        wait.ready = std::max(ready.ns, wait.begin);
        wait.readyActor = ready.actor;
        wait.byDeadline = ready.byDeadline;
    }

    // Ends the task on top of the stack.
    void Pop(Fiber &fiber, uint32_t slot, int64_t ns, bool isEndKnown) {
        const uint32_t index = fiber.stack.back();
        fiber.stack.pop_back();
        Task &task = m_timeline.tasks[index];
        task.end = ns;
        task.endActor = slot;
        task.isEndKnown = isEndKnown;
        std::vector<uint32_t> &open = m_slots[slot].open;
        if (!open.empty() && m_timeline.slices[open.back()].task == index) CloseSlice(slot, ns);
    }

    // The fiber runs something else, although its task waits. So the task has ended, after the
    // wait, without an event.
    void Forget(Fiber &fiber, uint32_t slot, int64_t ns) {
        const int64_t end = fiber.slot == kNone && fiber.left != kUnknown ? fiber.left : ns;
        fiber.wait = kNone;
        fiber.ready = {};
        while (!fiber.stack.empty()) Pop(fiber, slot, end, false);
        fiber.hasOwnCode = false;
    }

    // Code that an attached thread runs on its own stack is shown as a task.
    void ShowOwnCode(const Event &event, uint32_t key, bool isBeginKnown) {
        if (event.ring < m_timeline.workers || key >= kThreadStack ||
            key < m_recording.OwnStacks() || m_fibers[key].hasOwnCode ||
            m_slots[event.ring].isDetached)
            return;
        Fiber &fiber = m_fibers[key];
        fiber.hasOwnCode = true;
        Task task;
        task.kind = Task::Kind::OwnCode;
        task.isBeginKnown = isBeginKnown;
        task.begin = isBeginKnown ? event.ns : m_timeline.from;
        task.beginActor = event.ring;
        task.name =
            m_ownCode != 0 ? m_ownCode : m_ownCode = NewName("(attached thread's own code)");
        task.fiber = key;
        const auto index = static_cast<uint32_t>(m_timeline.tasks.size());
        m_timeline.tasks.push_back(task);
        for (const uint32_t above : fiber.stack) ++m_timeline.tasks[above].depth;
        if (!fiber.stack.empty()) m_timeline.tasks[fiber.stack[0]].parent = index;
        fiber.stack.insert(fiber.stack.begin(), index);
    }

    // Makes sure that the worker runs the fiber that an event names.
    Fiber &Arrive(const Event &event) {
        const uint32_t slot = event.ring, key = KeyOf(event.fiber, slot);
        Slot &state = m_slots[slot];
        const bool attaches = event.kind == TraceKind::Attach;
        if (attaches) state.isDetached = false;
        if (state.fiber == kNone || state.fiber != key) {
            const bool isFirst = !std::exchange(state.hasBegun, true) && !attaches;
            if (state.fiber != kNone) Leave(slot, event.ns);  // an event is missing
            Fiber &fiber = m_fibers[key];
            if (event.kind == TraceKind::TaskBegin && fiber.wait != kNone)
                Forget(fiber, slot, event.ns);
            ShowOwnCode(event, key, attaches);
            // the worker has run this fiber since the beginning, if no other one has
            const bool sinceBegin = isFirst && !fiber.hasBegun;
            Enter(slot, key, sinceBegin ? m_timeline.from : event.ns);
            if (sinceBegin && event.kind == TraceKind::Unpark) BeginSleep(slot, m_timeline.from);
        } else {
            const bool hadOwnCode = m_fibers[key].hasOwnCode;
            ShowOwnCode(event, key, true);
            if (!hadOwnCode && m_fibers[key].hasOwnCode) {
                Leave(slot, event.ns);
                Enter(slot, key, event.ns);
            }
        }
        if (event.kind == TraceKind::OffCpu) return m_fibers[key];  // belongs to the next event
        state.afterDeadline = state.afterDeadline &&
                              (event.kind == TraceKind::Ready || event.kind == TraceKind::Wake);
        if (event.kind != TraceKind::Unpark) {
            EndSleep(slot, event.ns);
            if (event.kind != TraceKind::Park) state.wokenAt = kUnknown;
        }
        return m_fibers[key];
    }

    // --- sleep ---

    void BeginSleep(uint32_t slot, int64_t ns) {
        Pause(slot, ns);
        const size_t before = m_slots[slot].open.size();
        OpenSlice(slot, kNone, ns, false);
        m_slots[slot].isAsleep = m_slots[slot].open.size() != before;
    }

    void EndSleep(uint32_t slot, int64_t ns) {
        Slot &state = m_slots[slot];
        if (!std::exchange(state.isAsleep, false)) return;
        const int64_t begin = m_timeline.slices[state.open.back()].begin;
        CloseSlice(slot, ns);
        const bool wasWoken = state.wokenAt != kUnknown;
        const Park park{begin, ns, wasWoken ? std::clamp(state.wokenAt, begin, ns) : kUnknown, slot,
                        wasWoken ? state.wokenBy : kNone};
        state.wokenAt = kUnknown;
        m_timeline.parks[slot].push_back(park);
    }

    // --- events of workers ---

    void OnSlot(const Event &event) {
        const uint32_t slot = event.ring;
        Fiber &fiber = Arrive(event);
        const int64_t before = std::exchange(m_slots[slot].lastNs, event.ns);
        switch (event.kind) {
            case TraceKind::TaskBegin:
                return BeginTask(event, fiber);
            case TraceKind::TaskEnd:
                return EndTask(event, fiber);
            case TraceKind::FiberSwitch:
                Leave(slot, event.ns);
                return Enter(slot, KeyOf(event.other, slot), event.ns);
            case TraceKind::Wait:
                return BeginWait(event, fiber);
            case TraceKind::Resume:
                return EndWait(event, fiber);
            case TraceKind::Park:
                return BeginSleep(slot, event.ns);
            case TraceKind::Unpark:
                return EndSleep(slot, event.ns);
            case TraceKind::Deadline:
                m_slots[slot].afterDeadline = true;
                return;
            case TraceKind::OffCpu:
                return AddOffCpu(slot, before != kUnknown ? before : m_timeline.from, event);
            case TraceKind::LockWait:
            case TraceKind::Lock:
            case TraceKind::Unlock:
                return OnLock(event, fiber.stack.empty() ? kNone : fiber.stack.back(),
                              fiber.awaitedLock);
            case TraceKind::StackUse:
                if (fiber.stack.empty()) return;
                if (Task &task = m_timeline.tasks[fiber.stack.back()]; task.id == event.id)
                    task.stackBytes = event.other;
                return;
            case TraceKind::Detach:
                Pause(slot, event.ns);
                while (!fiber.stack.empty()) Pop(fiber, slot, event.ns, true);
                fiber.hasOwnCode = false;
                m_slots[slot].isDetached = true;  // it may still run tasks that it holds
                return;
            default:
                return OnAny(event, slot);
        }
    }

    // `awaited`: the lock that the task wants.
    void OnLock(const Event &event, uint32_t task, uint64_t &awaited) {
        awaited = event.kind == TraceKind::LockWait ? event.counter : 0;
        if (task == kNone) return;
        std::vector<uint32_t> &holders = m_holders[event.counter];
        if (event.kind == TraceKind::Lock) holders.push_back(task);
        if (event.kind != TraceKind::Unlock || holders.empty()) return;
        // another task may have locked it
        const auto own = std::find(holders.begin(), holders.end(), task);
        holders.erase(own != holders.end() ? own : holders.begin());
    }

    // `before`: the time of the event before.
    void AddOffCpu(uint32_t slot, int64_t before, const Event &event) {
        Slot &state = m_slots[slot];
        const int64_t begin = std::max(before, event.ns - int64_t{event.other});
        if (begin >= event.ns) return;
        m_timeline.offCpu[slot].push_back({begin, event.ns});
        if (!state.isRunning) return;
        const uint32_t task = state.segment.task;
        Pause(slot, std::max(begin, state.segment.begin));
        Run(slot, task, event.ns);
    }

    void BeginTask(const Event &event, Fiber &fiber) {
        const uint32_t slot = event.ring;
        if (fiber.wait != kNone) Forget(fiber, slot, event.ns);
        Task task;
        task.isBeginKnown = true;
        task.begin = event.ns;
        task.beginActor = slot;
        task.submission = SubmissionOf(event.id);
        Push(fiber, task, event);
        const uint32_t index = fiber.stack.back();
        OpenSlice(slot, index, event.ns, true);
        Ready from;
        if (task.submission != kNone) {
            Submission &submission = m_timeline.submissions[task.submission];
            ++submission.begun;
            from = {submission.ns, submission.actor, false};
        }
        Run(slot, index, event.ns, Edge::Submit, from);
    }

    void EndTask(const Event &event, Fiber &fiber) {
        const std::vector<uint32_t> &stack = fiber.stack;
        const auto isIt = [&](uint32_t task) {
            const Task &of = m_timeline.tasks[task];
            return of.kind == Task::Kind::Task && of.id == event.id;
        };
        if (std::find_if(stack.rbegin(), stack.rend(), isIt) == stack.rend()) {
            // Its begin is missing. Tasks that began after that have ended, too.
            while (!stack.empty() && m_timeline.tasks[stack.back()].kind == Task::Kind::Task)
                Pop(fiber, event.ring, event.ns, false);
        } else {
            while (!isIt(stack.back())) Pop(fiber, event.ring, event.ns, false);
            Pause(event.ring, event.ns);
            Pop(fiber, event.ring, event.ns, true);
        }
        Pause(event.ring, event.ns);
        if (!stack.empty()) Run(event.ring, stack.back(), event.ns);
    }

    void BeginWait(const Event &event, Fiber &fiber) {
        Pause(event.ring, event.ns);
        // The event that ends the wait may have the same time, and come first.
        if (fiber.ready.ns != event.ns) fiber.ready = {};
        fiber.entered = kUnknown;
        fiber.wait = NewWait(event, fiber.stack.empty() ? kNone : fiber.stack.back(), event.ring);
        NoteLock(fiber.wait, fiber.awaitedLock);
    }

    // The wait is for that lock, or for none.
    void NoteLock(uint32_t index, uint64_t lock) {
        if (lock == 0) return;
        Wait &wait = m_timeline.waits[index];
        wait.lock = lock;
        const std::vector<uint32_t> &holders = m_holders[lock];
        if (!holders.empty()) wait.holder = holders.back();
    }

    uint32_t NewWait(const Event &event, uint32_t task, uint32_t actor) {
        Wait wait{};
        wait.begin = event.ns;
        wait.end = m_timeline.until;
        wait.ready = kUnknown;
        wait.task = task;
        wait.fiber = event.fiber;
        wait.actor = actor;
        wait.endActor = wait.readyActor = wait.holder = kNone;
        wait.target = event.other;
        wait.counter = event.counter;
        m_timeline.waits.push_back(wait);
        return static_cast<uint32_t>(m_timeline.waits.size()) - 1;
    }

    void EndWait(const Event &event, Fiber &fiber) {
        const Ready ready = TakeReady(fiber);
        const uint32_t wait = std::exchange(fiber.wait, kNone);
        if (wait != kNone) {
            const int64_t end = fiber.entered != kUnknown ? fiber.entered : event.ns;
            NoteEnd(wait, end, event.ring);
        }
        if (m_slots[event.ring].isRunning || fiber.stack.empty()) return;
        Run(event.ring, fiber.stack.back(), event.ns,  // the worker did not leave the fiber
            ready.byDeadline ? Edge::Deadline : Edge::Release, ready, wait);
    }

    void NoteEnd(uint32_t index, int64_t ns, uint32_t actor) {
        Wait &wait = m_timeline.waits[index];
        wait.end = ns;
        wait.endActor = actor;
        wait.isOver = true;
        wait.ready = std::min(wait.ready, ns);
        if (wait.task == kNone) return;
        Task &task = m_timeline.tasks[wait.task];
        task.waited += ns - wait.begin;
        task.longestWait = std::max(task.longestWait, ns - wait.begin);
    }

    // --- events of all actors ---

    void OnAny(const Event &event, uint32_t actor) {
        switch (event.kind) {
            case TraceKind::Ready:
                return MakeReady(event, actor);
            case TraceKind::Wake:
                if (event.other >= m_slots.size()) return;
                m_slots[event.other].wokenAt = event.ns;
                m_slots[event.other].wokenBy = actor;
                return;
            case TraceKind::Frame:
                m_marks.push_back({event.other, actor, 0, event.ns});
                return;
            case TraceKind::CounterName:
                m_timeline.counterNames[event.counter] = event.name;
                return;
            default:
                return;
        }
    }

    void MakeReady(const Event &event, uint32_t actor) {
        const bool byDeadline = actor < m_timeline.slots && m_slots[actor].afterDeadline;
        const Ready ready{event.ns, actor, byDeadline};
        if (event.other != kNone) {
            const uint32_t fiber = event.other & 0xffffff;
            if (fiber != kThreadStack) m_fibers[fiber].ready = ready;
            return;
        }
        const uint32_t wait = TakeOutside(event.counter);
        if (wait != kNone) NoteReady(wait, ready);
    }

    // Returns the wait of another thread that has ended: the first one for this counter, or the
    // only one if the event does not know the counter.
    uint32_t TakeOutside(uint64_t counter) {
        if (counter == 0 && m_goesOn.size() == 1)
            counter = m_timeline.waits[*m_goesOn.begin()].counter;
        std::deque<uint32_t> &waits = m_outside[counter];
        while (!waits.empty()) {
            const uint32_t wait = waits.front();
            waits.pop_front();
            if (m_goesOn.erase(wait) != 0) return wait;
        }
        return kNone;
    }

    // --- events of other threads ---

    void OnThread(const Event &event) {
        const uint32_t actor = ActorOf(event);
        Thread &thread = m_threads[actor - m_timeline.slots];
        if (thread.task == kNone) BeginThread(thread, event, actor);
        m_timeline.tasks[thread.task].end = event.ns;
        switch (event.kind) {
            case TraceKind::Wait: {
                CloseSegment(actor, thread.segment, thread.isRunning, event.ns);
                const uint32_t wait = NewWait(event, thread.task, actor);
                NoteLock(wait, thread.awaitedLock);
                thread.waits.push_back(wait);
                m_outside[event.counter].push_back(wait);
                m_goesOn.insert(wait);
                return;
            }
            case TraceKind::Resume:
                return EndOutside(event, thread, actor);
            case TraceKind::LockWait:
            case TraceKind::Lock:
            case TraceKind::Unlock:
                return OnLock(event, thread.task, thread.awaitedLock);
            case TraceKind::CallBegin:
                return BeginCall(event, thread, actor);
            case TraceKind::CallEnd:
                return EndCall(event, thread, actor);
            default:
                return OnAny(event, actor);
        }
    }

    void RunThread(Thread &thread, uint32_t actor, uint32_t task, int64_t ns,
                   Edge edge = Edge::None, Ready from = {}, uint32_t wait = kNone) {
        OpenSegment(actor, thread.segment, thread.isRunning, task, ns, edge, from, wait);
    }

    void BeginThread(Thread &thread, const Event &event, uint32_t actor) {
        Task task;
        task.kind = Task::Kind::Thread;
        task.begin = event.ns;
        task.beginActor = task.endActor = actor;
        task.fiber = event.fiber;
        task.name = m_outsideCode != 0 ? m_outsideCode : m_outsideCode = NewName("(other thread)");
        thread.task = static_cast<uint32_t>(m_timeline.tasks.size());
        m_timeline.tasks.push_back(task);
        RunThread(thread, actor, thread.task, event.ns);
    }

    void EndOutside(const Event &event, Thread &thread, uint32_t actor) {
        const auto isIt = [&](uint32_t wait) {
            return m_timeline.waits[wait].counter == event.counter &&
                   m_timeline.waits[wait].target == event.other;
        };
        const auto found = std::find_if(thread.waits.begin(), thread.waits.end(), isIt);
        if (found == thread.waits.end()) return;
        const uint32_t index = *found;
        thread.waits.erase(found);
        m_goesOn.erase(index);
        NoteEnd(index, event.ns, actor);
        const Wait &wait = m_timeline.waits[index];
        RunThread(thread, actor, thread.task, event.ns,
                  wait.byDeadline ? Edge::Deadline : Edge::Release,
                  {wait.ready, wait.readyActor, wait.byDeadline}, index);
    }

    void BeginCall(const Event &event, Thread &thread, uint32_t actor) {
        Task task;
        task.kind = Task::Kind::Call;
        task.isBeginKnown = true;
        task.id = event.id;
        task.name = event.name;
        task.fiber = event.fiber;
        task.parent = thread.task;
        task.depth = static_cast<uint32_t>(thread.calls.size());
        task.begin = event.ns;
        task.beginActor = actor;
        const auto index = static_cast<uint32_t>(m_timeline.tasks.size());
        thread.calls.push_back(index);
        m_timeline.tasks.push_back(task);
        RunThread(thread, actor, index, event.ns);
    }

    void EndCall(const Event &event, Thread &thread, uint32_t actor) {
        const auto isIt = [&](uint32_t call) {
            return m_timeline.tasks[call].id == event.id &&
                   m_timeline.tasks[call].name == event.name;
        };
        const auto found = std::find_if(thread.calls.begin(), thread.calls.end(), isIt);
        if (found == thread.calls.end()) return;
        const uint32_t index = *found;
        thread.calls.erase(found);
        CloseSegment(actor, thread.segment, thread.isRunning, event.ns);
        EndCallAt(index, actor, event.ns, true);
        RunThread(thread, actor, thread.calls.empty() ? thread.task : thread.calls.back(),
                  event.ns);
    }

    void EndCallAt(uint32_t index, uint32_t actor, int64_t ns, bool isEndKnown) {
        Task &call = m_timeline.tasks[index];
        call.end = ns;
        call.endActor = actor;
        call.isEndKnown = isEndKnown;
        m_timeline.slices.push_back({call.begin, ns, actor, index, call.depth, kNone, true});
    }

    // --- the end ---

    void Finish() {
        for (uint32_t slot = 0; slot < m_slots.size(); ++slot) {
            const int64_t until = m_recording.rings[slot].until;
            Leave(slot, until == kUnknown ? m_timeline.until
                                          : std::clamp(until, m_timeline.from, m_timeline.until));
        }
        for (auto &[key, fiber] : m_fibers) {
            for (const uint32_t task : fiber.stack) m_timeline.tasks[task].end = m_timeline.until;
            if (fiber.wait == kNone || fiber.ready.ns == kUnknown) continue;
            NoteReady(fiber.wait, fiber.ready);
        }
        for (uint32_t i = 0; i < m_threads.size(); ++i) {
            Thread &thread = m_threads[i];
            const uint32_t actor = m_timeline.slots + i;
            const int64_t end = thread.task != kNone ? m_timeline.tasks[thread.task].end : 0;
            CloseSegment(actor, thread.segment, thread.isRunning, end);
            for (const uint32_t call : thread.calls) EndCallAt(call, actor, end, false);
        }
        std::stable_sort(m_timeline.slices.begin(), m_timeline.slices.end(),
                         [](const Slice &a, const Slice &b) {
                             return a.begin != b.begin ? a.begin < b.begin : false;
                         });
    }

    // A frame goes from one mark to the next. If its number is not the next one, and events are
    // missing, marks may be missing, too.
    void FindFrames() {
        bool hasLost = !m_recording.isComplete;
        for (const Ring &ring : m_recording.rings) hasLost = hasLost || ring.lost != 0;
        for (size_t i = 1; i < m_marks.size(); ++i) {
            Frame frame = m_marks[i];
            frame.begin = m_marks[i - 1].end;
            if (hasLost && frame.number > m_marks[i - 1].number + uint64_t{1}) continue;
            m_timeline.frames.push_back(frame);
        }
    }

    // Sums changes at the same time, and leaves out what changes nothing.
    static std::vector<Step> Sum(std::vector<Step> &changes) {
        std::stable_sort(changes.begin(), changes.end(),
                         [](const Step &a, const Step &b) { return a.ns < b.ns; });
        std::vector<Step> steps;
        int64_t value = 0;
        for (size_t i = 0; i < changes.size();) {
            const int64_t ns = changes[i].ns;
            for (; i < changes.size() && changes[i].ns == ns; ++i) value += changes[i].value;
            // negative if the clocks of two processors differ
            const int64_t shown = std::max<int64_t>(value, 0);
            if (steps.empty() ? shown != 0 : shown != steps.back().value)
                steps.push_back({ns, shown});
        }
        return steps;
    }

    void CountReady() {
        std::vector<Step> changes;
        const auto isInWindow = [&](const Submission &submission) {
            return submission.ns >= m_timeline.from;
        };
        for (const Submission &submission : m_timeline.submissions) {
            if (isInWindow(submission)) changes.push_back({submission.ns, submission.count});
        }
        for (const Task &task : m_timeline.tasks) {
            if (task.submission != kNone && isInWindow(m_timeline.submissions[task.submission]))
                changes.push_back({task.begin, -1});
        }
        for (const Wait &wait : m_timeline.waits) {
            if (wait.ready == kUnknown || wait.actor >= m_timeline.slots) continue;
            changes.push_back({wait.ready, 1});
            changes.push_back({wait.end, -1});
        }
        m_timeline.ready = Sum(changes);
        int64_t sum = 0;
        const std::vector<Step> &steps = m_timeline.ready;
        for (size_t i = 0; i < steps.size(); ++i) {
            if (i != 0 && steps[i - 1].value > 0) sum += steps[i].ns - steps[i - 1].ns;
            m_timeline.withWork.push_back(sum);
        }
    }

    void CountRunning() {
        std::vector<Step> changes;
        for (uint32_t slot = 0; slot < m_timeline.slots; ++slot) {
            for (const Segment &segment : m_timeline.segments[slot]) {
                changes.push_back({segment.begin, 1});
                changes.push_back({segment.end, -1});
            }
        }
        m_timeline.running = Sum(changes);
    }

    const Recording &m_recording;
    Timeline &m_timeline;
    bool m_hasAllRings = false;
    std::vector<Slot> m_slots;
    std::vector<Thread> m_threads;
    std::unordered_map<uint32_t, Fiber> m_fibers;                   // by key
    std::unordered_map<uint64_t, std::vector<uint32_t>> m_holders;  // tasks that hold each lock
    std::map<uint32_t, uint32_t> m_threadOf;                        // number of a thread to actor
    std::vector<uint32_t> m_byFirst;                     // submissions by their first task
    std::map<uint64_t, std::deque<uint32_t>> m_outside;  // waits of other threads, by counter
    std::set<uint32_t> m_goesOn;                // waits of other threads that nobody has ended yet
    std::vector<Frame> m_marks;                 // without a begin
    uint32_t m_ownCode = 0, m_outsideCode = 0;  // names
};

}  // namespace

Timeline BuildTimeline(const Recording &recording) {
    Timeline timeline;
    Builder(recording, timeline).Build();
    return timeline;
}

int64_t Timeline::TimeWithWork(int64_t begin, int64_t end) const {
    // Returns the time with work before `ns`.
    const auto before = [&](int64_t ns) {
        const auto after = std::upper_bound(ready.begin(), ready.end(), ns,
                                            [](int64_t a, const Step &b) { return a < b.ns; });
        if (after == ready.begin()) return int64_t{0};
        const Step &step = *(after - 1);
        const auto index = static_cast<size_t>(after - 1 - ready.begin());
        return withWork[index] + (step.value > 0 ? ns - step.ns : 0);
    };
    return end > begin ? before(end) - before(begin) : 0;
}

std::string Timeline::NameOfTask(uint32_t task) const {
    const std::string &name = names[tasks[task].name];
    return name.empty() ? "(no name)" : name;
}

std::string Timeline::NameOfActor(uint32_t actor) const {
    if (actor == kNone) return "?";
    if (actor < workers) return "worker " + std::to_string(actor);
    if (actor < slots) return "attached thread " + std::to_string(actor - workers);
    return "thread " + std::to_string(actor - slots);
}

std::string Timeline::NameOfCounter(uint64_t counter) const {
    const auto found = counterNames.find(counter);
    return found != counterNames.end() ? names[found->second] : Hexadecimal("counter", counter);
}

std::string Timeline::NameOfWait(const Wait &wait) const {
    if (wait.lock == 0) return NameOfCounter(wait.counter);
    const std::string lock = Hexadecimal("lock", wait.lock);
    return wait.holder != kNone ? lock + ", held by " + NameOfTask(wait.holder) : lock;
}

}  // namespace trace
