// Writes recordings for the tests, as weft::Recorder does (bench/trace/FORMAT.md).
'use strict';
const {Kind, NONE} = require('../../bench/trace/page/reader.js');

const TASK_NEXT = 63; // a task has ended, and the next one begins at once

class Writer {
    /// `capacity`: how many records a ring keeps.
    constructor({
        workers = 2,
        attached = 0,
        fibers = 72,
        ticksPerMicrosecond = 1000,
        ticksAtStart = 5000000000,
        capacity = Infinity,
        version = 2,
        stackBytes = 512 * 1024,
    } = {}) {
        Object.assign(this, {
            workers,
            attached,
            fibers,
            ticksPerMicrosecond,
            ticksAtStart,
            capacity,
            version,
            stackBytes,
            ownStack: fibers + workers + attached, // of the first attached thread
        });
        this.rings = Array.from({length: workers + attached + 1}, () => []);
        this.external = this.rings.length - 1;
        this.lost = this.rings.map(() => 0); // records that were overwritten
        this.texts = new Map();
    }

    /// Returns the address of a text.
    text(text) {
        if (!text) return 0n;
        if (!this.texts.has(text))
            this.texts.set(text, 0x7f0000001000n + BigInt(this.texts.size) * 64n);
        return this.texts.get(text);
    }

    /// Adds a record. `time` is in nanoseconds since the start of the run.
    put(
        ring,
        kind,
        time,
        {fiber = 0, other = 0, a = 0, b = 0n, name = '', isFunction = false} = {},
    ) {
        const ticks = BigInt(
            Math.round(this.ticksAtStart + (time * this.ticksPerMicrosecond) / 1000),
        );
        const list = this.rings[ring];
        list.push({
            ticks,
            kind: kind | (isFunction ? 128 : 0),
            fiber,
            other,
            a: BigInt(a),
            b: name ? this.text(name) : BigInt(b),
        });
        if (list.length > this.capacity) {
            list.shift();
            ++this.lost[ring];
        }
    }

    submit(
        ring,
        time,
        {
            fiber = 0,
            first,
            count = 1,
            name = '',
            counter = 0,
            priority = 1,
            function: code = 0x401000,
        },
    ) {
        this.put(ring, Kind.Submit, time, {
            fiber,
            other: count,
            a: first,
            name,
            b: name ? 0n : code,
            isFunction: !name,
        });
        this.put(ring, 64, time, {fiber, other: priority, a: counter, b: code});
    }
    begin(ring, time, {fiber = 0, number, name = '', stolenFrom = NONE}) {
        this.put(ring, Kind.TaskBegin, time, {fiber, other: stolenFrom, a: number, name});
    }
    end(ring, time, {fiber = 0, number, name = '', stolenFrom = NONE}) {
        this.put(ring, Kind.TaskEnd, time, {fiber, other: stolenFrom, a: number, name});
    }

    /// Ends a task whose stack was measured.
    measuredEnd(ring, time, {fiber = 0, number, name = '', bytes}) {
        this.put(ring, Kind.StackUse, time, {fiber, other: bytes, a: number, name});
        this.end(ring, time, {fiber, number, name});
    }

    /// Puts the end of a task and the begin that follows at once on the same fiber into one record.
    joinTasks() {
        this.rings = this.rings.map(records => {
            const joined = [];
            for (const record of records) {
                const last = joined[joined.length - 1];
                const kind = record.kind & 127;
                const follows = last !== undefined && last.fiber === record.fiber;
                const isEnd = follows && (last.kind & 127) === Kind.TaskEnd;
                if (kind !== Kind.TaskBegin || !isEnd) joined.push(record);
                else
                    joined[joined.length - 1] = {
                        ...record,
                        kind: TASK_NEXT | (record.kind & 128),
                        ticks: last.ticks,
                    };
            }
            return joined;
        });
        return this;
    }

    /// Returns the file. `partSize`: how many records a section has at most. The file says that
    /// each ring was read after the last event, or at `until[ring]` nanoseconds.
    bytes({isWhole = true, partSize = 64, until = {}} = {}) {
        const chunks = [];
        const u32 = (...values) => {
            const buffer = Buffer.alloc(4 * values.length);
            values.forEach((value, i) => buffer.writeUInt32LE(value >>> 0, 4 * i));
            return buffer;
        };
        const u64 = value => {
            const b = Buffer.alloc(8);
            b.writeBigUInt64LE(BigInt.asUintN(64, BigInt(value)));
            return b;
        };
        const rate = Buffer.alloc(8);
        rate.writeDoubleLE(this.ticksPerMicrosecond);
        chunks.push(
            Buffer.from('WEFTRACE'),
            u32(this.version, 64, 32, this.rings.length, this.workers, this.fibers),
            u64(this.ticksAtStart),
            u64(123456789),
            rate,
            u64(this.stackBytes),
        );
        for (const [text, address] of this.texts) {
            const content = Buffer.from(text);
            chunks.push(u32(1, 8 + content.length), u64(address), content);
        }
        let last = BigInt(this.ticksAtStart);
        for (const {ticks} of this.rings.flat())
            if (ticks > last && ticks < last * 2n) last = ticks;
        this.rings.forEach((records, ring) => {
            const readAt = this.ticksAtStart + (until[ring] * this.ticksPerMicrosecond) / 1000;
            const ticks = ring in until ? Math.round(readAt) : last + 100n;
            chunks.push(u32(4, 24, ring, 0), u64(this.lost[ring]), u64(ticks));
            for (let at = 0; at < records.length; at += partSize) {
                const part = records.slice(at, at + partSize);
                chunks.push(u32(2, 4 + 32 * part.length, ring));
                for (const record of part) {
                    chunks.push(
                        u64(record.ticks),
                        u32(record.kind | (record.fiber << 8), record.other),
                        u64(record.a),
                        u64(record.b),
                    );
                }
            }
        });
        if (isWhole) chunks.push(u32(3, 0));
        return new Uint8Array(Buffer.concat(chunks));
    }
}

module.exports = {Writer, Kind, NONE};
