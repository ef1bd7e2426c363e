// What a page shows of a recording: frames, the critical path of a frame, idle times and tables.
// Needs no browser. slices.js explains the words.
//
//     const {read} = require('./reader.js'), {analyse} = require('./analysis.js');
//     const analysis = analyse(read(bytes));
//     const path = analysis.criticalPath(3); // of the fourth frame
//     console.log(analysis.explain(3).rows);
'use strict';
const slices = require('./slices.js');
const {Builder, TaskKind, Edge, upperBound} = slices;

/// Returns the value below or at which `percent` % of the sorted values lie.
function percentile(sorted, percent) {
    if (sorted.length === 0) return NaN;
    return sorted[
        Math.min(sorted.length - 1, Math.max(0, Math.ceil((sorted.length * percent) / 100) - 1))
    ];
}

// How much could have begun at each time: tasks that were submitted and have not begun, and fibers
// that were released and have not continued.
class Supply {
    constructor(tasks, waits) {
        const steps = [];
        for (let i = 0; i < tasks.count; ++i) {
            if (!(tasks.queued[i] > 0)) continue;
            steps.push([tasks.begin[i] - tasks.queued[i], 1], [tasks.begin[i], -1]);
        }
        for (let i = 0; i < waits.count; ++i) {
            // a thread of the host continues by itself
            if (waits.task[i] < 0 || tasks.kind[waits.task[i]] === TaskKind.Host) continue;
            if (waits.end[i] > waits.ready[i] && waits.readyTrack[i] >= 0)
                steps.push([waits.ready[i], 1], [waits.end[i], -1]);
        }
        steps.sort((a, b) => a[0] - b[0]);
        this.time = Float64Array.from(steps, step => step[0]);
        this.amount = new Int32Array(steps.length);
        this.before = new Float64Array(steps.length); // how long there was something, up to here
        let amount = 0;
        let sum = 0;
        for (let i = 0; i < steps.length; ++i) {
            if (amount > 0) sum += steps[i][0] - steps[i - 1][0];
            this.before[i] = sum;
            this.amount[i] = amount += steps[i][1];
        }
    }
    upTo(time) {
        const at = upperBound(this.time, time) - 1;
        if (at < 0) return 0;
        return this.before[at] + (this.amount[at] > 0 ? time - this.time[at] : 0);
    }
    /// Returns how long something could have begun between the two times.
    within(from, to) {
        return to > from ? this.upTo(to) - this.upTo(from) : 0;
    }
    at(time) {
        const at = upperBound(this.time, time) - 1;
        return at < 0 ? 0 : this.amount[at];
    }
}

/// What a path consists of beside tasks.
const GAPS = {
    start: 'submitted, not begun',
    resume: 'released, not resumed',
    dispatch: 'between two tasks of a worker',
    asleep: 'the worker was asleep',
    waking: 'the worker was being woken',
    offCpu: 'a thread was preempted, or blocked in the system',
    timer: 'waited for a deadline',
    call: 'blocking call, not begun',
    unknown: 'not recorded',
};
const IDLE = ['busy', 'nothing', 'searching', 'waking', 'asleep', 'offCpu'];

class Analysis {
    constructor(recording) {
        this.recording = recording;
        const built = new Builder(recording).build();
        for (const key of [
            'tracks',
            'slots',
            'trackFirst',
            'tasks',
            'slices',
            'waits',
            'parks',
            'offs',
            'sliceStart',
            'parkStart',
            'offStart',
            'begin',
            'end',
            'submissions',
            'trackOf',
            'counterNames',
        ])
            this[key] = built[key];
        this.names = recording.names;
        this.supply = new Supply(this.tasks, this.waits);
        /// From here on the events of all workers are there.
        this.completeFrom = Math.max(this.begin, recording.completeFrom);
        this.frames = this.makeFrames(built.frames);
    }

    // A frame lasts from the mark before to its own mark. The begin of the first one is not known.
    makeFrames(marks) {
        const {recording} = this;
        const frames = marks.map((mark, i) => ({
            index: i,
            number: mark.number,
            track: mark.track,
            end: mark.end,
            begin: i ? marks[i - 1].end : this.begin,
            isPartial:
                i === 0 || marks[i - 1].end < this.completeFrom || mark.end > recording.completeTo,
        }));
        if (frames.length === 0 && this.end > this.begin) {
            frames.push({
                index: 0,
                number: 0,
                track: this.lastTrack(),
                end: this.end,
                begin: this.begin,
                isPartial: false,
                isAll: true,
            });
        }
        for (const frame of frames) frame.duration = frame.end - frame.begin;
        return frames;
    }
    lastTrack() {
        let track = 0;
        let most = -Infinity;
        for (let i = 0; i < this.slices.count; ++i)
            if (
                this.slices.end[i] > most &&
                this.tasks.kind[this.slices.task[i]] !== TaskKind.Host
            ) {
                most = this.slices.end[i];
                track = this.slices.track[i];
            }
        return track;
    }

    /// Returns the durations of the frames that were recorded from begin to end, sorted.
    frameDurations() {
        const whole = this.frames.filter(frame => !frame.isPartial);
        return Float64Array.from(whole.length ? whole : this.frames, f => f.duration).sort();
    }

    /// Returns the last slice of the track that begins before `time`, or -1.
    sliceBefore(track, time) {
        const from = this.sliceStart[track];
        const to = this.sliceStart[track + 1];
        let low = from;
        let high = to;
        while (low < high) {
            const middle = (low + high) >> 1;
            if (this.slices.begin[middle] < time) low = middle + 1;
            else high = middle;
        }
        return low > from ? low - 1 : -1;
    }
    /// Returns the slice of the track at this time, or -1.
    sliceAt(track, time) {
        const slice = this.sliceBefore(track, time + 1e-6);
        return slice >= 0 && this.slices.end[slice] >= time ? slice : -1;
    }

    /// Calls visit(what, begin, end) for the parts of a time in which the track runs nothing:
    /// asleep, waking, off its processor ('offCpu'), or `what`.
    splitGap(track, begin, end, what, visit) {
        const {parks, parkStart, offs, offStart} = this;
        const parkEnd = parkStart[track + 1];
        const offEnd = offStart[track + 1];
        let park = upperBound(parks.end, begin, parkStart[track], parkEnd);
        let off = upperBound(offs.end, begin, offStart[track], offEnd);
        let at = begin;
        const add = (part, from, to) => {
            const b = Math.max(from, at);
            const e = Math.min(to, end);
            if (e <= b) return;
            if (b > at) visit(what, at, b);
            visit(part, b, e);
            at = e;
        };
        while (at < end && (park < parkEnd || off < offEnd)) {
            const offBegin = off < offEnd ? offs.begin[off] : Infinity;
            const parkBegin = park < parkEnd ? parks.begin[park] : Infinity;
            if (Math.min(offBegin, parkBegin) >= end) break;
            if (offBegin < parkBegin) {
                add('offCpu', offBegin, offs.end[off++]);
            } else {
                add('asleep', parkBegin, parks.woken[park]);
                add('waking', parks.woken[park], parks.end[park++]);
            }
        }
        if (end > at) visit(what, at, end);
    }
    /// Returns the time off the processor of the track at this time, or -1.
    offAt(track, time) {
        const {offs, offStart} = this;
        const last = offStart[track + 1];
        const off = upperBound(offs.end, time, offStart[track], last);
        return off < last && offs.begin[off] <= time ? off : -1;
    }

    /// Walks back from a time on a track. Each slice began after the later of two things: what it
    /// depends on (its submission, or what released its wait), and what its track did before.
    /// Returns the steps in the order of time: {what, track, begin, end}; for what === 'run' also
    /// `slice` and `task`; `from`: the track that the step came from.
    walk(track, time, from) {
        const {slices, waits, tasks} = this;
        const steps = [];
        const gap = (what, on, begin, end, origin) => {
            begin = Math.max(begin, from);
            if (!(end > begin)) return;
            const parts = [];
            const visit = (part, b, e) =>
                parts.push({what: part, track: on, begin: b, end: e, from: origin});
            // what no worker could have begun earlier is not the fault of one that slept
            const isWorkers = what === 'start' || what === 'resume' || what === 'dispatch';
            if (isWorkers) this.splitGap(on, begin, end, what, visit);
            else visit(what, begin, end);
            for (const part of parts.reverse()) steps.push(part);
        };
        let via = -1; // the wait through whose release this track was reached
        for (let left = 1e6; time > from && left > 0; --left) {
            const slice = this.sliceBefore(track, time);
            if (slice < 0) {
                gap('unknown', track, from, time, track);
                break;
            }
            if (slices.end[slice] < time) gap('dispatch', track, slices.end[slice], time, track);
            time = Math.min(slices.end[slice], time);
            if (time <= from) break;
            const task = slices.task[slice];
            steps.push({
                what: 'run',
                track,
                begin: Math.max(slices.begin[slice], from),
                end: time,
                slice,
                task,
                from: track,
            });
            time = slices.begin[slice];
            if (time <= from) break;
            const before = slice > this.sliceStart[track] ? slice - 1 : -1;
            const busyUntil = before >= 0 ? slices.end[before] : -Infinity;
            let edge = slices.edge[slice];
            let edgeTime = slices.edgeTime[slice];
            if (tasks.kind[task] === TaskKind.Call && via >= 0) {
                // Nothing says who asked for the call. The task that waited for it is who did.
                const asked = Math.min(waits.begin[via], time);
                if (asked > busyUntil) {
                    gap('call', track, asked, time, waits.beginTrack[via]);
                    track = waits.beginTrack[via];
                    time = asked;
                    via = -1;
                    continue;
                }
            }
            if (edge !== Edge.None && edgeTime > busyUntil) {
                const origin = slices.edgeTrack[slice];
                gap(edge === Edge.Submit ? 'start' : 'resume', track, edgeTime, time, origin);
                time = edgeTime;
                via = slices.wait[slice];
                track = origin;
                if (edge !== Edge.Deadline) continue;
                if (time > from) gap('timer', waits.beginTrack[via], waits.begin[via], time, track);
                track = waits.beginTrack[via];
                time = waits.begin[via];
                via = -1;
            } else if (before >= 0) {
                gap('dispatch', track, busyUntil, time, track);
                time = busyUntil;
            } else {
                gap('unknown', track, from, time, track);
                break;
            }
        }
        return steps.reverse();
    }

    /// Returns the steps of the critical path of a frame. They cover the whole time of the frame.
    criticalPath(index) {
        const frame = this.frames[index];
        return this.walk(frame.track, frame.end, frame.begin);
    }

    /// Adds up the steps of a path by name. Returns a Map from keys to {key, name, gap, text, ns,
    /// tasks, byTask}: `tasks` is how many tasks of this name are on the path, `byTask` the time of
    /// each.
    sumUp(path) {
        const rows = new Map();
        for (const step of path) {
            const isRun = step.what === 'run';
            const name = isRun ? this.tasks.name[step.task] : -1;
            const key = isRun ? name : step.what;
            let row = rows.get(key);
            if (row === undefined) {
                rows.set(
                    key,
                    (row = {
                        key,
                        name,
                        gap: isRun ? null : step.what,
                        ns: 0,
                        tasks: 0,
                        byTask: new Map(),
                        text: isRun ? this.names[name] || '(no name)' : GAPS[step.what],
                    }),
                );
            }
            row.ns += step.end - step.begin;
            if (isRun)
                row.byTask.set(step.task, (row.byTask.get(step.task) || 0) + step.end - step.begin);
            row.tasks = row.byTask.size;
        }
        return rows;
    }

    /// Returns what each key of a path usually takes: the median over all whole frames.
    usual() {
        if (this.usualTimes !== undefined) return this.usualTimes;
        const times = new Map();
        const whole = this.frames.filter(frame => !frame.isPartial);
        for (const frame of whole) {
            for (const row of this.sumUp(this.criticalPath(frame.index)).values()) {
                if (!times.has(row.key)) times.set(row.key, []);
                times.get(row.key).push(row.ns);
            }
        }
        this.usualTimes = new Map();
        for (const [key, list] of times) {
            const sorted = new Float64Array(whole.length); // 0 where a path lacks the key
            sorted.set(list);
            this.usualTimes.set(key, percentile(sorted.sort(), 50));
        }
        this.wholeFrames = whole.length;
        return this.usualTimes;
    }

    /// Returns the median run time of the tasks of each name.
    usualRuns() {
        if (this.usualRunTimes === undefined)
            this.usualRunTimes = new Map(this.byName().map(row => [row.name, row.p50]));
        return this.usualRunTimes;
    }

    /// Says why a frame took as long as it did. Rows: those of sumUp, longest first, with what they
    /// usually take (`usual`) and how much longer they took here (`extra`). `cause` is the row with
    /// the most extra time; with fewer than 8 whole frames, the longest row. `cause.task` is the
    /// task of this row that took the most time beyond the median of its name (`cause.taskExtra`).
    explain(index) {
        const usual = this.usual();
        const path = this.criticalPath(index);
        const rows = [...this.sumUp(path).values()];
        for (const row of rows) {
            row.usual = usual.get(row.key) || 0;
            row.extra = row.ns - row.usual;
        }
        rows.sort((a, b) => b.ns - a.ns);
        const knowsUsual = this.wholeFrames >= 8;
        let cause = null;
        for (const row of rows) {
            if (cause === null || (knowsUsual ? row.extra > cause.extra : row.ns > cause.ns))
                cause = row;
        }
        let longest = null;
        for (const step of path) {
            if (step.what !== 'run') continue;
            if (longest === null || step.end - step.begin > longest.end - longest.begin)
                longest = step;
        }
        if (cause !== null) {
            cause.task = -1;
            cause.taskExtra = -Infinity;
            const usualRun = this.usualRuns().get(cause.name);
            for (const [task, ns] of cause.byTask) {
                if (usualRun === undefined) break; // host code
                const extra = ns - usualRun;
                if (extra > cause.taskExtra) {
                    cause.task = task;
                    cause.taskExtra = extra;
                }
            }
        }
        return {path, rows, cause, longest, knowsUsual};
    }

    /// Returns what each worker and attached thread did between the two times, in nanoseconds:
    /// busy; nothing could begin; searching, although something could begin; being woken; asleep,
    /// although something could begin; off its processor.
    idle(from, to) {
        const rows = [];
        for (let track = 0; track < this.slots; ++track) rows.push(this.idleOf(track, from, to));
        return rows;
    }
    idleOf(track, from, to) {
        const {slices, supply} = this;
        const row = {track, busy: 0, nothing: 0, searching: 0, waking: 0, asleep: 0, offCpu: 0};
        const visit = (what, begin, end) => {
            if (what === 'waking' || what === 'offCpu') {
                row[what] += end - begin;
                return;
            }
            const some = supply.within(begin, end);
            row[what] += some;
            row.nothing += end - begin - some;
        };
        let at = from;
        const last = this.sliceStart[track + 1];
        for (
            let i = Math.max(this.sliceBefore(track, from), this.sliceStart[track]);
            i < last && slices.begin[i] < to;
            ++i
        ) {
            const begin = Math.max(slices.begin[i], at);
            const end = Math.min(slices.end[i], to);
            if (end <= at) continue;
            if (begin > at) this.splitGap(track, at, begin, 'searching', visit);
            row.busy += end - begin;
            at = end;
        }
        if (to > at) this.splitGap(track, at, to, 'searching', visit);
        return row;
    }

    /// Returns a row for each name of a task and of a blocking call that begins between the two
    /// times (with `orRuns`: or begins earlier, and ends later than `from`). Tasks that were not
    /// recorded from begin to end count, but not for the percentiles and the stack.
    byName(from = -Infinity, to = Infinity, orRuns = false) {
        const {tasks} = this;
        const rows = new Map();
        for (let i = 0; i < tasks.count; ++i) {
            if (tasks.kind[i] === TaskKind.Host || tasks.begin[i] >= to) continue;
            if (tasks.begin[i] < from && !(orRuns && tasks.end[i] > from)) continue;
            const key = tasks.name[i] * 2 + tasks.kind[i];
            let row = rows.get(key);
            if (row === undefined) {
                rows.set(
                    key,
                    (row = {
                        name: tasks.name[i],
                        text: this.names[tasks.name[i]] || '(no name)',
                        isCall: tasks.kind[i] === TaskKind.Call,
                        count: 0,
                        total: 0,
                        longestWait: 0,
                        stackBytes: 0, // the most that one has used; 0: none was measured
                        runs: [],
                        queued: [],
                    }),
                );
            }
            ++row.count;
            row.total += tasks.run[i];
            row.longestWait = Math.max(row.longestWait, tasks.longestWait[i]);
            if (tasks.queued[i] >= 0) row.queued.push(tasks.queued[i]);
            if (tasks.flags[i] !== 0) continue;
            row.runs.push(tasks.run[i]);
            row.stackBytes = Math.max(row.stackBytes, tasks.stackBytes[i]);
        }
        const result = [...rows.values()];
        for (const row of result) {
            const runs = Float64Array.from(row.runs).sort();
            const queued = Float64Array.from(row.queued).sort();
            row.p50 = percentile(runs, 50);
            row.p99 = percentile(runs, 99);
            row.max = runs.length ? runs[runs.length - 1] : NaN;
            row.queuedP50 = percentile(queued, 50);
            row.queuedP99 = percentile(queued, 99);
            delete row.runs;
            delete row.queued;
        }
        return result.sort((a, b) => b.total - a.total);
    }

    /// Returns what to change if the tasks of a row of `byName` use most of their stack; otherwise
    /// ''. bench/trace/summary.cpp gives the same advice.
    stackAdvice({stackBytes}) {
        const isDeep = stackBytes > (this.recording.stackBytes / 4) * 3;
        return isDeep ? 'raise SchedulerOptions::stackBytes' : '';
    }

    /// Returns the name that a counter has at this time, or a number. A counter is known by its
    /// address only, so another counter at the same address has the same name until it gets its
    /// own.
    counterName(counter, time) {
        if (counter === 0) return 'no counter';
        const names = this.counterNames.get(counter);
        let found = 0;
        if (names !== undefined) for (const one of names) if (one.time <= time) found = one.name;
        return found ? this.names[found] : `counter ${counter}`;
    }

    /// Returns what a wait is for, with the name that a counter has at this time: "counter 3",
    /// "lock 0x80, held by importer".
    waitName(wait, time) {
        const {lock, holder, counter} = this.waits;
        if (lock[wait] === 0) return this.counterName(counter[wait], time);
        const text = this.lockName(lock[wait]);
        if (holder[wait] < 0) return text;
        return `${text}, held by ${this.names[this.tasks.name[holder[wait]]] || '(no name)'}`;
    }
    lockName(lock) {
        return `lock ${this.recording.locks.get(lock)}`;
    }
}

/// Analyses what `read` has returned.
const analyse = recording => new Analysis(recording);

module.exports = {...slices, analyse, percentile, GAPS, IDLE};
