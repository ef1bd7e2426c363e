// Turns the events of a recording into slices, tasks, waits, and the times in which workers sleep
// or are off their processors.
//
// Times are nanoseconds since the start of the run. A *track* is a row of the timeline: first the
// workers, then the slots for attached threads, then the external threads and those for blocking
// calls. A *slice* is a time in which a track runs a certain task without interruption. Slices of a
// track do not overlap. A thread is *off its processor* if the system has preempted or blocked it.
// A slice ends there, and another one of the same task begins after it. Results are columns, as the
// events of a recording are.
//
// The beginning of a recording may be overwritten, and its end may be missing. So a task may end
// without a begin, and a fiber may seem to run a task whose end was lost. Each place below that
// deals with this says "lost".
'use strict';
const {Kind, NONE} = require('./reader.js');

const THREAD_FIBER = 0xffffff; // a worker's own stack, which runs no tasks
const CLOCK_SKEW = 20e3; // how far the clocks of two processors may differ

/// What a task of the analysis is.
const TaskKind = {Task: 0, Call: 1, Host: 2};
/// What made a slice begin.
const Start = {Begin: 0, Resume: 1, Continue: 2, Unknown: 3};
/// What the begin of a slice had to wait for.
const Edge = {None: 0, Submit: 1, Release: 2, Deadline: 3};
const FLAG_CUT_BEGIN = 1;
const FLAG_CUT_END = 2;

// Columns that grow together.
class Table {
    constructor(types) {
        this.count = 0;
        this.room = 1024;
        this.keys = Object.keys(types);
        for (const key of this.keys) this[key] = new types[key](this.room);
    }
    add() {
        if (this.count === this.room) {
            this.room *= 2;
            for (const key of this.keys) {
                const grown = new this[key].constructor(this.room);
                grown.set(this[key]);
                this[key] = grown;
            }
        }
        return this.count++;
    }
    /// Keeps the rows with these numbers, in this order.
    take(rows) {
        for (const key of this.keys)
            this[key] = this[key].constructor.from(rows, i => this[key][i]);
        this.count = this.room = rows.length;
    }
}

/// Returns the first index in [from, to) with column[index] > value, or `to`.
function upperBound(column, value, from = 0, to = column.length) {
    while (from < to) {
        const middle = (from + to) >> 1;
        if (column[middle] <= value) from = middle + 1;
        else to = middle;
    }
    return from;
}

// The track of each event.
function makeTracks(recording) {
    const {count, kind, ring, fiber, workers} = recording;
    const slots = Math.max(0, recording.rings.length - 1);
    const tracks = [];
    for (let i = 0; i < slots; ++i) {
        tracks.push(
            i < workers
                ? {kind: 'worker', label: `worker ${i}`}
                : {kind: 'attached', label: `attached ${i - workers}`},
        );
    }
    const external = new Map();
    const trackOf = new Uint16Array(count);
    for (let i = 0; i < count; ++i) {
        if (ring[i] < slots) {
            trackOf[i] = ring[i];
            continue;
        }
        let track = external.get(fiber[i]);
        if (track === undefined && tracks.length < 65535) {
            external.set(fiber[i], (track = tracks.length));
            tracks.push({kind: 'thread', label: `thread ${fiber[i]}`});
        }
        trackOf[i] = track;
        if (kind[i] === Kind.CallBegin || kind[i] === Kind.CallEnd) {
            tracks[track].kind = 'calls';
            tracks[track].label = `calls ${fiber[i]}`;
        }
    }
    return {tracks, trackOf, slots};
}

// Lists of events by a key, each in the order of time. `latest` finds the one that belongs to an
// event that follows from it.
class Causes {
    constructor(time) {
        this.time = time;
        this.lists = new Map();
    }
    add(key, event) {
        const list = this.lists.get(key);
        if (list === undefined) this.lists.set(key, {events: [event], next: 0});
        else list.events.push(event);
    }
    /// Returns the last event of the key up to `to` that is not before `from`, or -1. Calls for the
    /// same key must come in the order of `to`.
    latest(key, from, to) {
        const list = this.lists.get(key);
        if (list === undefined) return -1;
        const {events} = list;
        const time = this.time;
        let found = -1;
        while (list.next < events.length && time[events[list.next]] <= to)
            found = events[list.next++];
        if (
            (found < 0 || time[found] < from) &&
            list.next < events.length &&
            time[events[list.next]] <= to + CLOCK_SKEW
        )
            found = events[list.next++];
        return found >= 0 && time[found] >= from - CLOCK_SKEW ? found : -1;
    }
}

// Finds the submission of a task by its number.
class Submissions {
    constructor(recording) {
        const {kind, task, other, count} = recording;
        const events = [];
        for (let i = 0; i < count; ++i) if (kind[i] === Kind.Submit) events.push(i);
        events.sort((a, b) => task[a] - task[b]);
        this.events = events;
        this.first = Float64Array.from(events, i => task[i]);
        this.end = Float64Array.from(events, i => task[i] + other[i]);
        this.submitter = new Map(); // task that submits, by event
    }
    find(number) {
        if (!(number > 0)) return -1;
        const at = upperBound(this.first, number) - 1;
        return at >= 0 && number < this.end[at] ? this.events[at] : -1;
    }
}

// Goes through all events by time, and keeps for each fiber its tasks (a task that waits may run
// others on top of it), and for each track the slice that is open.
class Builder {
    constructor(recording) {
        this.recording = recording;
        Object.assign(this, makeTracks(recording));
        const {rings, ringStart, time, kind, other, counter} = recording;
        this.trackCount = this.tracks.length;
        this.trackFirst = this.tracks.map((track, i) =>
            i < this.slots && rings[i].count ? time[ringStart[i]] : NaN,
        );
        this.tasks = new Table({
            name: Int32Array,
            number: Float64Array,
            kind: Uint8Array,
            flags: Uint8Array,
            depth: Uint16Array,
            fiber: Uint32Array,
            begin: Float64Array,
            end: Float64Array,
            beginTrack: Uint16Array,
            endTrack: Uint16Array,
            run: Float64Array,
            waited: Float64Array,
            longestWait: Float64Array,
            submit: Int32Array,
            queued: Float64Array,
            stolenFrom: Uint32Array,
            stackBytes: Uint32Array, // that it has used; 0: not measured
            offCpu: Float64Array, // how long its thread was off its processor
        });
        this.slices = new Table({
            task: Int32Array,
            begin: Float64Array,
            end: Float64Array,
            track: Uint16Array,
            start: Uint8Array,
            edge: Uint8Array,
            edgeTime: Float64Array,
            edgeTrack: Uint16Array,
            wait: Int32Array,
            waitsAtEnd: Uint8Array,
        });
        this.waits = new Table({
            task: Int32Array,
            begin: Float64Array,
            end: Float64Array,
            beginTrack: Uint16Array,
            endTrack: Uint16Array,
            ready: Float64Array,
            readyTrack: Int32Array,
            counter: Int32Array,
            target: Uint32Array,
            isYield: Uint8Array,
            byDeadline: Uint8Array,
            lock: Int32Array, // for which it waits; 0: none
            holder: Int32Array, // the task that held the lock when the wait began; -1: none
        });
        this.parks = new Table({
            track: Uint16Array,
            begin: Float64Array,
            end: Float64Array,
            woken: Float64Array,
            by: Int32Array,
        });
        this.offs = new Table({
            track: Uint16Array,
            begin: Float64Array,
            end: Float64Array,
            task: Int32Array, // that ran then; -1: none
        });
        this.frames = [];
        this.counterNames = new Map(); // {time, name} by counter, by time
        this.stacks = new Map(); // tasks of each fiber, the innermost last
        this.waiting = new Map(); // the open wait of each fiber
        this.awaitedLocks = new Map(); // the lock that the task of a fiber wants
        this.holders = new Map(); // the tasks that hold each lock, the last one that got it last
        this.open = new Int32Array(this.trackCount).fill(-1);
        this.freeSince = new Float64Array(this.trackCount).fill(-Infinity);
        this.parkedAt = new Float64Array(this.trackCount).fill(NaN);
        this.lastTime = new Float64Array(this.trackCount).fill(NaN); // of the event before
        this.callsOnly = this.tracks.map(track => track.kind === 'calls');
        this.seen = new Uint8Array(this.trackCount);
        this.readies = new Causes(time);
        this.wakes = new Causes(time);
        this.dueReadies = new Set();
        for (const i of recording.order) {
            if (kind[i] === Kind.Ready) {
                this.readies.add(other[i] === NONE ? -1 - counter[i] : other[i] & 0xffffff, i);
                this.noteDeadline(i);
            } else if (kind[i] === Kind.Wake) {
                this.wakes.add(other[i], i);
            }
        }
        this.submissions = new Submissions(recording);
    }

    // A Ready comes from a deadline if it follows the event of one, but for other events of the
    // same deadline.
    noteDeadline(i) {
        const {kind, ringStart, ring, fiber} = this.recording;
        for (let j = i - 1; j >= ringStart[ring[i]] && j >= i - 8; --j) {
            if (fiber[j] !== fiber[i]) return;
            if (kind[j] === Kind.Deadline) {
                this.dueReadies.add(i);
                return;
            }
            const others = [Kind.Ready, Kind.Wake, Kind.Submit, Kind.OffCpu];
            if (!others.includes(kind[j])) return;
        }
    }

    // A key for the fiber that runs: threads have no fiber of their own number.
    fiberOf(i) {
        const track = this.trackOf[i];
        const fiber = this.recording.fiber[i];
        if (track >= this.slots) return -2 - track;
        return fiber === THREAD_FIBER ? 0x1000000 + track : fiber;
    }
    stackOf(fiber) {
        let stack = this.stacks.get(fiber);
        if (stack === undefined) this.stacks.set(fiber, (stack = []));
        return stack;
    }

    closeSlice(track, time, waits = 0) {
        const {slices, tasks} = this;
        const slice = this.open[track];
        this.freeSince[track] = Math.max(this.freeSince[track], time);
        if (slice < 0) return;
        this.open[track] = -1;
        slices.end[slice] = Math.max(time, slices.begin[slice]);
        slices.waitsAtEnd[slice] = waits;
        tasks.run[slices.task[slice]] += slices.end[slice] - slices.begin[slice];
    }
    openSlice(track, task, time, start) {
        const {slices} = this;
        const slice = slices.add();
        this.open[track] = slice;
        slices.task[slice] = task;
        slices.begin[slice] = slices.end[slice] = Math.max(time, this.freeSince[track]);
        slices.track[slice] = track;
        slices.start[slice] = start;
        slices.wait[slice] = -1;
        return slice;
    }
    setEdge(slice, edge, time, track, wait) {
        const {slices} = this;
        slices.edge[slice] = edge;
        slices.edgeTime[slice] = Math.min(time, slices.begin[slice]);
        slices.edgeTrack[slice] = track;
        slices.wait[slice] = wait;
    }

    addTask(kind, name, number, fiber, track, time, flags) {
        const {tasks} = this;
        const task = tasks.add();
        tasks.kind[task] = kind;
        tasks.name[task] = name;
        tasks.number[task] = number;
        tasks.fiber[task] = fiber & 0xffffff;
        tasks.begin[task] = time;
        tasks.end[task] = NaN;
        tasks.beginTrack[task] = tasks.endTrack[task] = track;
        tasks.flags[task] = flags;
        tasks.submit[task] = -1;
        tasks.queued[task] = NaN;
        tasks.stolenFrom[task] = NONE;
        const stack = this.stackOf(fiber);
        tasks.depth[task] = stack.length;
        stack.push(task);
        return task;
    }
    endTask(task, track, time, flags) {
        const {tasks} = this;
        tasks.end[task] = Math.max(time, tasks.begin[task]);
        tasks.endTrack[task] = track;
        tasks.flags[task] |= flags;
    }
    // Lost: the ends of these tasks. They ended at the latest when they were last seen.
    forget(stack, length, track, time) {
        while (stack.length > length) this.endTask(stack.pop(), track, time, FLAG_CUT_END);
    }
    // Lost: the begin of this task. It ran at least since the track was seen to be free, or since
    // the first record of its ring.
    taskWithoutBegin(name, number, fiber, track, time, kind = TaskKind.Task) {
        const since = Math.max(
            this.freeSince[track],
            Math.min(time, this.trackFirst[track] || time),
        );
        const begin = Number.isFinite(since) ? Math.min(since, time) : time;
        this.closeSlice(track, begin);
        const task = this.addTask(kind, name, number, fiber, track, begin, FLAG_CUT_BEGIN);
        this.openSlice(track, task, begin, Start.Unknown);
        return task;
    }

    // The code of the host: on a thread that is attached, below all tasks of its own stack; on
    // other threads, all the time that the thread does not wait.
    hostTask(track, fiber, time, flags) {
        const name = this.hostName;
        const task = this.addTask(TaskKind.Host, name, -1, fiber, track, time, flags);
        this.openSlice(track, task, time, Start.Unknown);
        return task;
    }
    isHostFiber(track, fiber) {
        return (
            this.tracks[track].kind === 'attached' &&
            fiber === this.recording.ownStacks + track - this.recording.workers
        );
    }
    meetTrack(i, track, fiber, time) {
        const {kind} = this.recording;
        if (this.seen[track]) return;
        if (track >= this.slots) {
            this.seen[track] = 1;
            if (!this.callsOnly[track]) this.hostTask(track, fiber, time, FLAG_CUT_BEGIN);
        } else if (this.tracks[track].kind === 'attached') {
            this.seen[track] = 1;
            if (kind[i] !== Kind.Attach && this.isHostFiber(track, fiber))
                // lost: its Attach
                this.hostTask(track, fiber, time, FLAG_CUT_BEGIN);
        }
    }

    build() {
        const {recording, trackOf} = this;
        const {order, kind, time} = recording;
        this.hostName = recording.names.indexOf('host code');
        if (this.hostName < 0) this.hostName = recording.names.push('host code') - 1;
        for (const i of order) {
            const track = trackOf[i];
            const fiber = this.fiberOf(i);
            this.meetTrack(i, track, fiber, time[i]);
            switch (kind[i]) {
                case Kind.TaskBegin:
                    this.taskBegin(i, track, fiber, time[i]);
                    break;
                case Kind.TaskEnd:
                    this.taskEnd(i, track, fiber, time[i], TaskKind.Task);
                    break;
                case Kind.FiberSwitch:
                    this.fiberSwitch(i, track, time[i]);
                    break;
                case Kind.Submit:
                    this.submit(i, fiber);
                    break;
                case Kind.Wait:
                    this.wait(i, track, fiber, time[i], false);
                    break;
                case Kind.Yield:
                    this.wait(i, track, fiber, time[i], true);
                    break;
                case Kind.Resume:
                    this.resume(i, track, fiber, time[i]);
                    break;
                case Kind.Park:
                    this.park(track, time[i]);
                    break;
                case Kind.Unpark:
                    this.unpark(track, time[i]);
                    break;
                case Kind.Attach:
                    this.attach(track, fiber, time[i]);
                    break;
                case Kind.Detach:
                    this.detach(track, fiber, time[i]);
                    break;
                case Kind.CallBegin:
                    this.callBegin(i, track, fiber, time[i]);
                    break;
                case Kind.CallEnd:
                    this.taskEnd(i, track, fiber, time[i], TaskKind.Call);
                    break;
                case Kind.Frame:
                    this.frames.push({
                        number: recording.other[i],
                        end: time[i],
                        track,
                    });
                    break;
                case Kind.CounterName:
                    this.nameCounter(i, time[i]);
                    break;
                case Kind.StackUse:
                    this.stackUse(i, fiber);
                    break;
                case Kind.OffCpu:
                    this.offCpu(i, track, time[i]);
                    break;
                case Kind.LockWait:
                case Kind.Lock:
                case Kind.Unlock:
                    this.lock(i, track, fiber, time[i]);
                    break;
            }
            this.lastTime[track] = time[i];
        }
        this.finish();
        return this;
    }

    nameCounter(i, time) {
        const counter = this.recording.counter[i];
        if (!this.counterNames.has(counter)) this.counterNames.set(counter, []);
        this.counterNames.get(counter).push({time, name: this.recording.name[i]});
    }

    // The task is about to end, so it is the innermost one of its fiber.
    stackUse(i, fiber) {
        const {recording, tasks} = this;
        const stack = this.stackOf(fiber);
        const task = stack.length ? stack[stack.length - 1] : -1;
        if (task >= 0 && tasks.number[task] === recording.task[i])
            tasks.stackBytes[task] = recording.other[i];
    }

    // It is known for how long the thread was off its processor since its event before, but not
    // when. It is shown at the end of this time.
    offCpu(i, track, time) {
        const {recording, slices, tasks, offs} = this;
        const before = this.lastTime[track];
        const first = Math.min(0, recording.time[recording.order[0]]); // of all threads
        const since = Number.isNaN(before) ? first : before;
        const begin = Math.max(since, time - recording.other[i]);
        if (!(time > begin)) return;
        const open = this.open[track];
        const task = open < 0 ? -1 : slices.task[open];
        const off = offs.add();
        offs.track[off] = track;
        offs.begin[off] = begin;
        offs.end[off] = time;
        offs.task[off] = task;
        if (task < 0) return;
        tasks.offCpu[task] += time - begin;
        this.closeSlice(track, Math.max(begin, slices.begin[open]));
        this.openSlice(track, task, time, Start.Continue);
    }

    taskBegin(i, track, fiber, time) {
        const {recording, tasks, submissions} = this;
        const stack = this.stackOf(fiber);
        // A task begins on top of another one only if that one runs here, right now.
        const open = this.open[track];
        const below = stack.length ? stack[stack.length - 1] : -1;
        if (below >= 0 && (open < 0 || this.slices.task[open] !== below))
            this.forget(stack, 0, track, time);
        this.waiting.delete(fiber);
        this.closeSlice(track, time);
        const task = this.addTask(
            TaskKind.Task,
            recording.name[i],
            recording.task[i],
            fiber,
            track,
            time,
            0,
        );
        const slice = this.openSlice(track, task, time, Start.Begin);
        tasks.stolenFrom[task] = recording.other[i];
        const submit = submissions.find(recording.task[i]);
        if (submit < 0) return; // lost, or the main task of Run, which has none
        tasks.submit[task] = submit;
        tasks.queued[task] = Math.max(0, time - recording.time[submit]);
        this.setEdge(slice, Edge.Submit, recording.time[submit], this.trackOf[submit], -1);
    }

    taskEnd(i, track, fiber, time, kind) {
        const {recording, tasks} = this;
        const stack = this.stackOf(fiber);
        const isThis = task =>
            tasks.kind[task] === kind &&
            (kind === TaskKind.Call
                ? tasks.name[task] === recording.name[i]
                : tasks.number[task] === recording.task[i] ||
                  (tasks.number[task] < 0 && tasks.name[task] === recording.name[i]));
        // Lost: the begin of a task whose end was recorded together with the begin of the next one.
        const isUnknown = recording.task[i] === 0 && recording.name[i] === 0;
        let at = stack.length - 1;
        while (at >= 0 && !isThis(stack[at]) && !isUnknown) --at;
        if (
            isUnknown &&
            (at < 0 || tasks.kind[stack[at]] !== kind || tasks.number[stack[at]] === 0)
        ) {
            this.closeSlice(track, time);
            return;
        }
        if (at < 0) {
            const top = stack.length ? stack[stack.length - 1] : -1;
            if (top >= 0 && tasks.kind[top] !== TaskKind.Host) this.forget(stack, 0, track, time);
            this.taskWithoutBegin(recording.name[i], recording.task[i], fiber, track, time, kind);
            at = stack.length - 1;
        }
        this.forget(stack, at + 1, track, time);
        const task = stack.pop();
        if (tasks.number[task] < 0 && kind === TaskKind.Task)
            tasks.number[task] = recording.task[i];
        this.closeSlice(track, time);
        this.endTask(task, track, time, 0);
        if (stack.length) this.openSlice(track, stack[stack.length - 1], time, Start.Continue);
    }

    fiberSwitch(i, track, time) {
        const other = this.recording.other[i];
        const fiber = other === NONE ? 0x1000000 + track : other & 0xffffff;
        this.closeSlice(track, time);
        const stack = this.stackOf(fiber);
        if (stack.length) this.continueFiber(track, fiber, stack[stack.length - 1], time);
    }
    // The track continues a fiber that has waited or yielded.
    continueFiber(track, fiber, task, time) {
        const {waits, recording} = this;
        const slice = this.openSlice(track, task, time, Start.Resume);
        const wait = this.waiting.has(fiber) ? this.waiting.get(fiber) : -1;
        const key = track >= this.slots ? -1 - (wait >= 0 ? waits.counter[wait] : 0) : fiber;
        const ready = this.readies.latest(key, wait >= 0 ? waits.begin[wait] : time - 1e9, time);
        if (wait >= 0) {
            waits.end[wait] = time;
            waits.endTrack[wait] = track;
            if (ready >= 0) {
                waits.ready[wait] = Math.min(
                    Math.max(recording.time[ready], waits.begin[wait]),
                    time,
                );
                waits.readyTrack[wait] = this.trackOf[ready];
                waits.byDeadline[wait] = this.dueReadies.has(ready) ? 1 : 0;
            }
            if (waits.isYield[wait]) this.waiting.delete(fiber); // a Yield has no Resume
        }
        if (ready < 0) return;
        const edge = this.dueReadies.has(ready) && wait >= 0 ? Edge.Deadline : Edge.Release;
        this.setEdge(slice, edge, recording.time[ready], this.trackOf[ready], wait);
    }

    submit(i, fiber) {
        const stack = this.stacks.get(fiber);
        if (stack !== undefined && stack.length)
            this.submissions.submitter.set(i, stack[stack.length - 1]);
    }

    wait(i, track, fiber, time, isYield) {
        const {recording, waits} = this;
        const stack = this.stackOf(fiber);
        if (!stack.length && track < this.slots)
            this.taskWithoutBegin(recording.name[i], -1, fiber, track, time);
        const wait = waits.add();
        waits.task[wait] = stack.length ? stack[stack.length - 1] : -1;
        waits.begin[wait] = time;
        waits.end[wait] = waits.ready[wait] = NaN;
        waits.beginTrack[wait] = waits.endTrack[wait] = track;
        waits.readyTrack[wait] = -1;
        waits.counter[wait] = recording.counter[i];
        waits.target[wait] = recording.other[i];
        waits.isYield[wait] = isYield ? 1 : 0;
        const lock = this.awaitedLocks.get(fiber);
        const holders = this.holders.get(lock);
        waits.lock[wait] = (!isYield && lock) || 0;
        waits.holder[wait] = !isYield && holders ? holders[holders.length - 1] : -1;
        this.waiting.set(fiber, wait);
        this.closeSlice(track, time, 1);
    }

    // An event of a lock.
    lock(i, track, fiber, time) {
        const kind = this.recording.kind[i];
        const lock = this.recording.counter[i]; // 0 in LockWait: the task has given up
        if (kind === Kind.LockWait && lock !== 0) this.awaitedLocks.set(fiber, lock);
        else this.awaitedLocks.delete(fiber);
        const stack = this.stackOf(fiber);
        if (!stack.length && track < this.slots)
            this.taskWithoutBegin(this.recording.name[i], -1, fiber, track, time);
        if (!stack.length || kind === Kind.LockWait) return;
        const task = stack[stack.length - 1];
        const holders = this.holders.get(lock) || [];
        if (kind === Kind.Lock) holders.push(task);
        // another task may have locked it
        else holders.splice(Math.max(0, holders.indexOf(task)), 1);
        if (holders.length) this.holders.set(lock, holders);
        else this.holders.delete(lock);
    }

    resume(i, track, fiber, time) {
        const {recording, tasks, waits, slices} = this;
        const stack = this.stackOf(fiber);
        const top = stack.length ? stack[stack.length - 1] : -1;
        if (
            top >= 0 &&
            tasks.kind[top] === TaskKind.Task &&
            recording.name[i] !== 0 &&
            tasks.name[top] !== recording.name[i]
        )
            this.forget(stack, 0, track, time);
        if (!stack.length && track < this.slots) {
            // lost: the begin of the task that has waited
            this.closeSlice(track, time);
            this.addTask(TaskKind.Task, recording.name[i], -1, fiber, track, time, FLAG_CUT_BEGIN);
        }
        const task = stack.length ? stack[stack.length - 1] : -1;
        const open = this.open[track];
        if (task >= 0 && (open < 0 || slices.task[open] !== task)) {
            this.closeSlice(track, time);
            this.continueFiber(track, fiber, task, time);
        }
        const wait = this.waiting.get(fiber);
        if (wait === undefined) return;
        this.waiting.delete(fiber);
        waits.end[wait] = time;
        waits.endTrack[wait] = track;
        if (!(waits.ready[wait] <= time)) waits.ready[wait] = time;
        const waited = waits.end[wait] - waits.begin[wait];
        if (waits.task[wait] < 0) return;
        tasks.waited[waits.task[wait]] += waited;
        tasks.longestWait[waits.task[wait]] = Math.max(tasks.longestWait[waits.task[wait]], waited);
    }

    park(track, time) {
        this.parkedAt[track] = time;
    }
    unpark(track, time) {
        const first = this.trackFirst[track];
        let begin = this.parkedAt[track];
        if (Number.isNaN(begin)) begin = Number.isNaN(first) ? time : Math.min(first, time);
        this.parkedAt[track] = NaN;
        const wake = this.wakes.latest(track, begin - 1e6, time);
        this.addPark(
            track,
            begin,
            time,
            wake < 0 ? time : Math.min(Math.max(this.recording.time[wake], begin), time),
            wake < 0 ? -1 : this.trackOf[wake],
        );
    }
    addPark(track, begin, end, woken, by) {
        if (!(end > begin)) return;
        const {parks} = this;
        const park = parks.add();
        parks.track[park] = track;
        parks.begin[park] = begin;
        parks.end[park] = end;
        parks.woken[park] = woken;
        parks.by[park] = by;
    }

    attach(track, fiber, time) {
        const stack = this.stackOf(fiber);
        this.forget(stack, 0, track, time);
        this.closeSlice(track, time);
        this.hostTask(track, fiber, time, 0);
    }
    detach(track, fiber, time) {
        this.closeSlice(track, time);
        const stack = this.stackOf(fiber);
        while (stack.length) this.endTask(stack.pop(), track, time, 0);
    }

    callBegin(i, track, fiber, time) {
        this.closeSlice(track, time);
        const name = this.recording.name[i];
        const task = this.addTask(TaskKind.Call, name, -1, fiber, track, time, 0);
        this.openSlice(track, task, time, Start.Begin);
    }

    finish() {
        const {recording, tasks, slices, waits, open, tracks} = this;
        let begin = Infinity;
        let end = 0;
        for (const i of [0, recording.count - 1]) {
            if (recording.count === 0) continue;
            const event = recording.order[i];
            begin = Math.min(begin, recording.time[event]);
            end = Math.max(end, recording.time[event]);
        }
        this.begin = recording.count ? begin : 0;
        this.end = end;
        const lastOf = new Float64Array(this.trackCount).fill(-Infinity);
        for (let i = 0; i < recording.count; ++i)
            lastOf[this.trackOf[i]] = Math.max(lastOf[this.trackOf[i]], recording.time[i]);
        for (let track = 0; track < this.trackCount; ++track) {
            // nothing is known of a thread after its last event
            const last = track < this.slots && recording.isWhole ? end : lastOf[track];
            if (open[track] >= 0) this.closeSlice(track, last);
            if (!Number.isNaN(this.parkedAt[track]))
                this.addPark(track, this.parkedAt[track], last, last, -1);
        }
        for (let task = 0; task < tasks.count; ++task) {
            if (!Number.isNaN(tasks.end[task])) continue;
            tasks.end[task] = Math.max(end, tasks.begin[task]);
            tasks.flags[task] |= FLAG_CUT_END;
        }
        for (let wait = 0; wait < waits.count; ++wait) {
            if (Number.isNaN(waits.end[wait])) waits.end[wait] = end;
            if (Number.isNaN(waits.ready[wait])) waits.ready[wait] = waits.end[wait];
        }
        this.trackFirst = this.trackFirst.map(time => (Number.isNaN(time) ? begin : time));
        tracks.forEach((track, i) => {
            track.last = lastOf[i];
        });
        this.sortByTrack(slices, 'sliceStart', i => slices.end[i] > slices.begin[i]);
        this.sortByTrack(this.parks, 'parkStart', () => true);
        this.sortByTrack(this.offs, 'offStart', () => true);
        this.frames.sort((a, b) => a.end - b.end);
    }
    // Puts the rows of each track next to each other. They were added in the order of time.
    sortByTrack(table, startName, isKept) {
        const rows = [];
        const start = (this[startName] = new Uint32Array(this.trackCount + 1));
        const byTrack = Array.from({length: this.trackCount}, () => []);
        for (let i = 0; i < table.count; ++i) if (isKept(i)) byTrack[table.track[i]].push(i);
        byTrack.forEach((list, track) => {
            start[track] = rows.length;
            for (const i of list) rows.push(i);
        });
        start[this.trackCount] = rows.length;
        table.take(rows);
    }
}

module.exports = {
    Builder,
    TaskKind,
    Start,
    Edge,
    FLAG_CUT_BEGIN,
    FLAG_CUT_END,
    upperBound,
};
