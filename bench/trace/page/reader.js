// Reads the file of a recording (bench/trace/FORMAT.md) in a browser or in node.
//
//     const {read} = require('./reader.js');
//     const recording = read(bytes);                 // an ArrayBuffer or a Uint8Array
//     for (const i of recording.order) console.log(recording.kind[i], recording.time[i]);
//
// Events are columns of equal length: event i has kind[i], time[i] and so on. Events of one ring
// follow each other, in the order in which they were written. `order` has all of them by time.
//
// The file may be cut, or damaged anywhere. `read` then returns what it can find, and says in
// `problems` what is missing. It throws only if the file is no recording, or has another format.
'use strict';

const Kind = {
    TaskBegin: 0,
    TaskEnd: 1,
    FiberSwitch: 2,
    Submit: 3,
    Wait: 4,
    Resume: 5,
    Park: 6,
    Unpark: 7,
    Satisfied: 8,
    Ready: 9,
    Increment: 10,
    Decrement: 11,
    Deadline: 12,
    Yield: 13,
    Wake: 14,
    TakeInbox: 15,
    Attach: 16,
    Detach: 17,
    CallBegin: 18,
    CallEnd: 19,
    Frame: 20,
    CounterName: 21,
    StackUse: 22,
    OffCpu: 23,
    LockWait: 24,
    Lock: 25,
    Unlock: 26,
};
const KINDS = 27;
const TASK_NEXT = 63; // a task has ended, and the next one begins at once
// bits of a record's kind
const CONTINUES = 64;
const IS_FUNCTION = 128;
const NONE = 0xffffffff; // in `other`: no worker, no fiber
const VERSION = 2;
const HEADER_BYTES = 64;
const RECORD_BYTES = 32;
const MOST_TEXT = 255;
const MOST_RINGS = 65536;
const RING_BYTES = 24;
// kinds of sections
const TEXT = 1;
const RECORDS = 2;
const END = 3;
const RING = 4;
const TWO_32 = 4294967296;

// Numbers of 64 bits as keys. A double would lose the low bits of a tagged address.
class Interned {
    constructor() {
        this.byHigh = new Map();
        this.count = 0;
    }
    /// Returns a small number that is the same for the same 64 bits. 0 is for 0.
    idOf(low, high) {
        if (low === 0 && high === 0) return 0;
        let byLow = this.byHigh.get(high);
        if (byLow === undefined) this.byHigh.set(high, (byLow = new Map()));
        let id = byLow.get(low);
        if (id === undefined) byLow.set(low, (id = ++this.count));
        return id;
    }
}

const hex = (low, high) =>
    '0x' + (high === 0 ? low.toString(16) : high.toString(16) + low.toString(16).padStart(8, '0'));

function readHeader(view) {
    if (view.byteLength < 8) throw new Error('This is no recording: it is too short.');
    for (let i = 0; i < 8; ++i) {
        if (view.getUint8(i) !== 'WEFTRACE'.charCodeAt(i))
            throw new Error('This is no recording: it does not begin with WEFTRACE.');
    }
    if (view.byteLength < HEADER_BYTES) throw new Error('The recording was cut in its header.');
    const word = at => view.getUint32(at, true);
    if (word(8) !== VERSION) {
        const cure = word(8) < VERSION ? ': record it again with weft 0.7 or later' : '';
        throw new Error(
            `The file has format ${word(8)}, and this page reads format ${VERSION}${cure}.`,
        );
    }
    return {
        headerBytes: word(12),
        recordBytes: word(16),
        rings: word(20),
        workers: word(24),
        fibers: word(28),
        ticksLow: word(32),
        ticksHigh: word(36),
        nanosecondsAtStart: word(44) * TWO_32 + word(40),
        ticksPerMicrosecond: view.getFloat64(48, true),
        stackBytes: word(60) * TWO_32 + word(56),
    };
}

// Replaces numbers that cannot be true.
function mendHeader(header, bytes, problems) {
    const replace = (field, isGood, value, text) => {
        if (isGood) return;
        problems.push(`The header is damaged: ${text}.`);
        header[field] = value;
    };
    replace(
        'headerBytes',
        header.headerBytes >= HEADER_BYTES && header.headerBytes <= bytes,
        HEADER_BYTES,
        'its size is wrong',
    );
    replace(
        'recordBytes',
        header.recordBytes >= RECORD_BYTES && header.recordBytes <= 4096,
        RECORD_BYTES,
        'the size of a record is wrong',
    );
    replace('rings', header.rings <= MOST_RINGS, 0, 'the number of rings is wrong');
    const rate = header.ticksPerMicrosecond;
    const hasRings = header.rings !== 0;
    replace(
        'ticksPerMicrosecond',
        (rate > 0.001 && rate < 1e6) || !hasRings,
        1000,
        'it does not say how long a tick is; times are shown as if a tick were 1 ns',
    );
    if (!(header.ticksPerMicrosecond > 0)) header.ticksPerMicrosecond = 1000;
}

// Finds the sections. Where one is damaged, looks for the next place from which on two sections
// follow each other.
function findSections(view, header, problems) {
    const end = view.byteLength;
    const texts = [];
    const records = [];
    const rings = []; // what the file says of a ring, and which part of `records` follows
    let hasEnd = false;
    let lost = 0;

    // Returns the end of the section at `at`, 0 if there is none, or -1 if the file ends inside it.
    const sectionEnd = (at, onlyKnown) => {
        if (at + 8 > end) return -1;
        const kind = view.getUint32(at, true);
        const bytes = view.getUint32(at + 4, true);
        const next = at + 8 + bytes;
        if (kind === TEXT) {
            if (bytes < 8 || bytes > 8 + MOST_TEXT) return 0;
        } else if (kind === RECORDS) {
            if (bytes < 4 || (bytes - 4) % header.recordBytes !== 0) return 0;
            if (
                at + 12 <= end &&
                header.rings !== 0 &&
                view.getUint32(at + 8, true) >= header.rings
            )
                return 0;
        } else if (kind === END) {
            if (bytes !== 0) return 0;
        } else if (kind === RING) {
            if (bytes < RING_BYTES || bytes > 255) return 0;
        } else if (onlyKnown || kind === 0 || kind > 255 || next > end) {
            return 0;
        }
        return next > end ? -1 : next;
    };
    // Returns true if `count` whole sections follow each other from `at` on, or fewer up to the end
    // of the recording. With a `count` of 2 the end may be that of a cut file.
    const areSections = (at, count) => {
        let last = 0;
        for (let n = 0; n < count; ++n) {
            if (at === end) return n > 0 && (count === 2 || (n > 1 && last === END));
            if (at + 8 <= end) last = view.getUint32(at, true);
            const next = sectionEnd(at, true);
            if (next <= 0) return next < 0 && n > 0 && count === 2;
            at = next;
        }
        return true;
    };
    const findSection = (from, to, count) => {
        while (from < to && !areSections(from, count)) ++from;
        return from;
    };

    let at = header.headerBytes;
    while (at < end) {
        let next = sectionEnd(at, false);
        if (next < 0) {
            // Either the file was cut here, or the length is damaged: then others follow.
            if (findSection(at + 1, end, 3) < end) next = 0;
        } else if (next > 0 && next < end && sectionEnd(next, false) === 0 && !hasEnd) {
            // A length that is damaged leads to a place where no section begins.
            if (findSection(at + 1, next, 2) < next) next = 0;
        }
        if (next === 0) {
            const again = findSection(at + 1, end, 2);
            lost += again - at;
            at = again;
            continue;
        }
        const kind = at + 8 <= end ? view.getUint32(at, true) : 0;
        const stop = next < 0 ? end : next;
        if (kind === TEXT && next > 0) texts.push([at + 8, stop]);
        if (kind === RECORDS && stop >= at + 12) {
            const count = Math.floor((stop - at - 12) / header.recordBytes);
            records.push({ring: view.getUint32(at + 8, true), at: at + 12, count});
        }
        if (kind === RING && next > 0) {
            rings.push({
                ring: view.getUint32(at + 8, true),
                firstRecord: view.getUint32(at + 20, true) * TWO_32 + view.getUint32(at + 16, true),
                ticksAt: at + 24,
                part: records.length,
            });
        }
        if (kind === END) hasEnd = true;
        at = stop;
    }
    if (lost > 0) problems.push(`${lost} bytes are damaged and were left out.`);
    return {texts, records, rings, hasEnd};
}

// Drops records whose time cannot be right, in one ring. A few kinds may be a little older than the
// record before them: a task begins at the tick at which the one before it ended, and external
// threads take the time before they take the lock of their ring.
function dropWrongTimes(time, kind, from, to, slack, keep) {
    const kept = [];
    let dropped = 0;
    let lastEnd = -1;
    const drop = i => {
        keep[i] = 0;
        ++dropped;
    };
    for (let i = from; i < to; ++i) {
        if (!keep[i]) continue;
        const isFollowing = kind[i] === Kind.TaskBegin && time[i] === lastEnd;
        const last = kept.length ? time[kept[kept.length - 1]] : -Infinity;
        if (time[i] < last - slack && !isFollowing) {
            let below = 0;
            let above = 0;
            for (let j = i + 1; j < to && below + above < 8; ++j) {
                if (keep[j]) time[j] < last - slack ? ++below : ++above;
            }
            if (below <= above) {
                drop(i);
                continue;
            }
            while (kept.length && time[kept[kept.length - 1]] > time[i] + slack) drop(kept.pop());
        }
        kept.push(i);
        if (kind[i] === Kind.TaskEnd) lastEnd = time[i];
    }
    // Nothing follows the last record that could show that it is wrong.
    const gap = 1e9;
    const last = kept.length - 1;
    if (last > 0 && time[kept[last]] > time[kept[last - 1]] + gap)
        return {dropped, late: kept[last]};
    return {dropped, late: -1};
}

// All kept events by time. Of events at the same time, those that others depend on come first.
// Inside a ring the order is that of the ring.
function mergeRings(recording) {
    const {time, kind, ringStart, rings} = recording;
    const sorted = new Float64Array(time.length); // never decreases inside a ring
    for (let r = 0; r < rings.length; ++r) {
        let most = -Infinity;
        for (let i = ringStart[r]; i < ringStart[r + 1]; ++i)
            sorted[i] = most = Math.max(most, time[i]);
    }
    const isCause = i => kind[i] === Kind.Submit || kind[i] === Kind.Ready || kind[i] === Kind.Wake;
    const before = (a, b) =>
        sorted[a] !== sorted[b]
            ? sorted[a] < sorted[b]
            : isCause(a) !== isCause(b)
              ? isCause(a)
              : a < b;
    // a heap of the next event of each ring
    const heap = [];
    const ringOf = recording.ring;
    const down = at => {
        for (;;) {
            let least = at;
            for (const child of [2 * at + 1, 2 * at + 2])
                if (child < heap.length && before(heap[child], heap[least])) least = child;
            if (least === at) return;
            [heap[at], heap[least]] = [heap[least], heap[at]];
            at = least;
        }
    };
    for (let r = 0; r < rings.length; ++r)
        if (ringStart[r] < ringStart[r + 1]) heap.push(ringStart[r]);
    for (let i = heap.length >> 1; i-- > 0;) down(i);
    const order = new Uint32Array(time.length);
    for (let n = 0; heap.length; ++n) {
        const i = (order[n] = heap[0]);
        if (i + 1 < ringStart[ringOf[i] + 1]) heap[0] = i + 1;
        else {
            const last = heap.pop();
            if (heap.length) heap[0] = last;
        }
        down(0);
    }
    return order;
}

// Says what is missing.
function describeRings(recording, hasEnd, lastRing, ringsSaid, problems) {
    const {time, ringStart, rings} = recording;
    let from = 0;
    let to = Infinity;
    let end = 0;
    rings.forEach((ring, r) => {
        ring.count = ringStart[r + 1] - ringStart[r];
        ring.first = ring.count ? time[ringStart[r]] : NaN;
        ring.last = ring.count ? time[ringStart[r + 1] - 1] : NaN;
        if (ring.count) end = Math.max(end, ring.last);
    });
    rings.forEach((ring, r) => {
        const said = ringsSaid.get(r);
        if (said === undefined) return;
        from = Math.max(from, Math.min(said.from, end));
        // the time is damaged if it is before the last record
        if (!(said.until < ring.last - 1e9)) to = Math.min(to, said.until);
    });
    recording.completeFrom = from;
    recording.completeTo = Math.min(to, end);
    lastRing = Math.max(lastRing, ...ringsSaid.keys());
    if (hasEnd) return;
    // the last ring that has come lacks its newest records; those after it lack all
    const name = r =>
        r < recording.workers
            ? `worker ${r}`
            : r < rings.length - 1
              ? `attached thread ${r - recording.workers}`
              : 'the external threads';
    const absent = [];
    for (let r = lastRing + 1; r < rings.length; ++r) absent.push(name(r));
    if (lastRing >= 0 && rings[lastRing].count)
        recording.completeTo = Math.min(recording.completeTo, rings[lastRing].last);
    problems.push(
        'The file was cut off.' +
            (lastRing >= 0 ? ` The newest records of ${name(lastRing)} may be missing.` : '') +
            (absent.length ? ` There is nothing of ${absent.join(', ')}.` : ''),
    );
}

/// Reads a recording.
function read(bytes) {
    const view =
        bytes instanceof ArrayBuffer
            ? new DataView(bytes)
            : new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    const problems = [];
    const header = readHeader(view);
    mendHeader(header, view.byteLength, problems);
    const sections = findSections(view, header, problems);
    let ringCount = header.rings;
    if (ringCount === 0) {
        for (const part of sections.records)
            if (part.ring < MOST_RINGS) ringCount = Math.max(ringCount, part.ring + 1);
    }
    const workers = Math.min(header.workers, Math.max(0, ringCount - 1));
    if (workers !== header.workers)
        problems.push('The header is damaged: it names more workers than rings.');

    // names by address, the same name once
    const textAt = new Map();
    const names = [''];
    const nameIds = new Map([['', 0]]);
    const nameId = text => {
        let id = nameIds.get(text);
        if (id === undefined) {
            id = names.length;
            names.push(text);
            nameIds.set(text, id);
        }
        return id;
    };
    const decoder = new TextDecoder();
    for (const [at, end] of sections.texts) {
        const key = hex(view.getUint32(at, true), view.getUint32(at + 4, true));
        textAt.set(
            key,
            decoder.decode(new Uint8Array(view.buffer, view.byteOffset + at + 8, end - at - 8)),
        );
    }
    const addresses = new Interned();
    const nameOfAddress = [0, 0];
    const functions = new Map();
    let namesLost = 0;
    const nameOf = (low, high, isFunction) => {
        const id = addresses.idOf(low, high) * 2 + (isFunction ? 1 : 0);
        if (nameOfAddress[id] === undefined) {
            const key = hex(low, high);
            const text = textAt.get(key);
            if (!isFunction && text === undefined) ++namesLost;
            nameOfAddress[id] = nameId(isFunction ? `function ${key}` : text || `name ${key}`);
            if (isFunction) functions.set(nameOfAddress[id], key);
        }
        return nameOfAddress[id];
    };

    // the parts of each ring, oldest first
    const parts = sections.records.filter(part => part.ring < ringCount);
    const lastRing = parts.length ? parts[parts.length - 1].ring : -1;
    parts.sort((a, b) => a.ring - b.ring); // stable
    let most = 0;
    for (const part of parts) {
        most += part.count;
        for (let i = 0, at = part.at; i < part.count; ++i, at += header.recordBytes)
            if ((view.getUint32(at + 8, true) & 127) === TASK_NEXT) ++most;
    }
    const kind = new Uint8Array(most);
    const ring = new Uint16Array(most);
    const time = new Float64Array(most);
    const fiber = new Uint32Array(most);
    const other = new Uint32Array(most);
    const task = new Float64Array(most);
    const counter = new Int32Array(most);
    const name = new Int32Array(most);
    const priority = new Uint8Array(most);
    const keep = new Uint8Array(most).fill(1);
    const counters = new Interned(); // and locks
    const locks = new Map();
    const scale = 1000 / header.ticksPerMicrosecond;
    const usesTask = k =>
        k === Kind.TaskBegin || k === Kind.TaskEnd || k === Kind.Submit || k === Kind.StackUse;
    const isLock = k => k >= Kind.LockWait && k <= Kind.Unlock;
    let n = 0;
    let unknown = 0;
    let before = 0;
    const start = new Array(ringCount + 1).fill(0);
    let ringNow = -1;
    const running = new Map(); // fiber: the tasks that run on it, outermost first
    for (const part of parts) {
        while (ringNow < part.ring) {
            start[++ringNow] = n;
            running.clear();
        }
        for (let i = 0, at = part.at; i < part.count; ++i, at += header.recordBytes) {
            const bits = view.getUint32(at + 8, true);
            const aLow = view.getUint32(at + 16, true);
            const aHigh = view.getUint32(at + 20, true);
            const bLow = view.getUint32(at + 24, true);
            const bHigh = view.getUint32(at + 28, true);
            const what = bits & 63;
            if (bits & CONTINUES) {
                if (n > start[ringNow] && kind[n - 1] === Kind.Submit) {
                    counter[n - 1] = counters.idOf(aLow, aHigh);
                    priority[n - 1] = view.getUint32(at + 12, true) & 3;
                }
                continue;
            }
            if (what >= KINDS && what !== TASK_NEXT) {
                ++unknown;
                continue;
            }
            const ticks =
                (view.getUint32(at + 4, true) - header.ticksHigh) * TWO_32 +
                (view.getUint32(at, true) - header.ticksLow);
            time[n] = ticks * scale;
            if (time[n] < -1e9) {
                ++before;
                continue;
            }
            if (what === TASK_NEXT) {
                // the end of the task that began last on this fiber
                const open = running.get(bits >>> 8);
                kind[n] = Kind.TaskEnd;
                ring[n] = part.ring;
                fiber[n] = bits >>> 8;
                other[n] = 0xffffffff;
                task[n] = open && open.length ? open[open.length - 1][0] : 0;
                name[n] = open && open.length ? open[open.length - 1][1] : 0;
                time[n + 1] = time[n];
                if (open) open.pop();
                ++n;
            }
            kind[n] = what === TASK_NEXT ? Kind.TaskBegin : what;
            ring[n] = part.ring;
            fiber[n] = bits >>> 8;
            other[n] = view.getUint32(at + 12, true);
            if (usesTask(kind[n])) task[n] = aHigh * TWO_32 + aLow;
            else counter[n] = counters.idOf(aLow, aHigh);
            if (isLock(kind[n]) && counter[n] !== 0) locks.set(counter[n], hex(aLow, aHigh));
            name[n] = nameOf(bLow, bHigh, (bits & IS_FUNCTION) !== 0);
            if (kind[n] === Kind.TaskBegin) {
                if (!running.has(fiber[n])) running.set(fiber[n], []);
                running.get(fiber[n]).push([task[n], name[n]]);
            } else if (kind[n] === Kind.TaskEnd && running.has(fiber[n])) {
                running.get(fiber[n]).pop();
            }
            ++n;
        }
    }
    while (ringNow < ringCount) start[++ringNow] = n;

    // what the file says of each ring
    const timeAt = at => {
        const high = view.getUint32(at + 4, true) - header.ticksHigh;
        return (high * TWO_32 + (view.getUint32(at, true) - header.ticksLow)) * scale;
    };
    const ringsSaid = new Map();
    for (const said of sections.rings) {
        if (said.ring >= ringCount) continue;
        const until = timeAt(said.ticksAt); // the ring was read then
        const part = sections.records[said.part];
        const follows = part !== undefined && part.ring === said.ring && part.count > 0;
        const from = said.firstRecord === 0 ? 0 : follows ? timeAt(part.at) : until;
        ringsSaid.set(said.ring, {until, from});
    }

    // times that cannot be right
    let wrong = before;
    const late = [];
    for (let r = 0; r < ringCount; ++r) {
        const found = dropWrongTimes(
            time,
            kind,
            start[r],
            start[r + 1],
            r === ringCount - 1 ? 50e6 : 1e6,
            keep,
        );
        wrong += found.dropped;
        if (found.late >= 0) late.push(found.late);
    }
    for (const i of late) {
        const said = ringsSaid.get(ring[i]);
        let isWrong = said !== undefined && time[i] > said.until + 1e9;
        if (said === undefined) {
            // a bit that flips in the upper half of the time puts the record minutes away
            isWrong = true;
            for (let r = 0; r < ringCount; ++r) {
                const last = start[r + 1] - (r === ring[i] ? 2 : 1);
                if (last >= start[r] && time[last] > time[i] - 600e9) isWrong = false;
            }
        }
        if (isWrong) {
            keep[i] = 0;
            ++wrong;
        }
    }
    if (wrong)
        problems.push(`${wrong} records have a time that cannot be right and were left out.`);
    if (unknown) problems.push(`${unknown} records are of a kind that this page does not know.`);
    if (namesLost) problems.push(`${namesLost} names are missing.`);

    // closes the gaps
    const columns = {kind, ring, time, fiber, other, task, counter, name, priority};
    let count = 0;
    const ringStart = new Uint32Array(ringCount + 1);
    for (let r = 0; r < ringCount; ++r) {
        ringStart[r] = count;
        for (let i = start[r]; i < start[r + 1]; ++i) {
            if (!keep[i]) continue;
            if (count !== i) for (const key in columns) columns[key][count] = columns[key][i];
            ++count;
        }
    }
    ringStart[ringCount] = count;
    for (const key in columns) columns[key] = columns[key].subarray(0, count);

    const recording = {
        ...columns,
        count,
        ringStart,
        names,
        functions,
        locks, // address of each lock, by its number in `counter`
        workers,
        problems,
        rings: Array.from({length: ringCount}, () => ({})),
        // the first own stack of an attached thread, behind the fibers of the pool
        ownStacks: header.fibers + Math.max(0, ringCount - 1),
        stackBytes: header.stackBytes, // SchedulerOptions::stackBytes
        nanosecondsAtStart: header.nanosecondsAtStart,
        ticksPerMicrosecond: header.ticksPerMicrosecond,
        isWhole: sections.hasEnd,
    };
    recording.order = mergeRings(recording);
    describeRings(recording, sections.hasEnd, lastRing, ringsSaid, problems);
    if (count === 0) problems.push('The recording has no events.');
    return recording;
}

module.exports = {read, Kind, NONE};
