// The reader of recordings: whole files, cut files, damaged files.
'use strict';
const test = require('node:test');
const assert = require('node:assert');
const weft = require('../../bench/trace/page/reader.js');
const {Writer, Kind, NONE} = require('./writer.js');
const {simulate, chance} = require('./simulate.js');

// A small recording with each kind of event.
function small() {
    const w = new Writer({workers: 2, attached: 1});
    w.submit(3, 10, {fiber: 7, first: 100, count: 2, name: 'walk', counter: 0x5000, priority: 2});
    w.put(0, Kind.FiberSwitch, 20, {fiber: 0xffffff, other: 4});
    w.begin(0, 30, {fiber: 4, number: 100, name: 'walk', stolenFrom: 1});
    w.put(0, Kind.Wait, 40, {fiber: 4, other: 3, a: 0x6000, name: 'walk'});
    w.put(1, Kind.Ready, 50, {fiber: 5, other: 4, a: 0x6000, name: 'walk'});
    w.put(0, Kind.Resume, 60, {fiber: 4, other: 3, a: 0x6000, name: 'walk'});
    w.put(0, Kind.StackUse, 65, {fiber: 4, other: 9876, a: 100, name: 'walk'});
    w.end(0, 70, {fiber: 4, number: 100, name: 'walk', stolenFrom: 1});
    w.put(0, Kind.Park, 80, {fiber: 0xffffff});
    w.put(1, Kind.Wake, 90, {fiber: 5, other: 0});
    w.put(0, Kind.Unpark, 95, {fiber: 0xffffff});
    w.put(3, Kind.CallBegin, 100, {fiber: 9, a: 0x77, b: 0x402000, isFunction: true});
    w.put(3, Kind.CallEnd, 110, {fiber: 9, a: 0x77, b: 0x402000, isFunction: true});
    w.put(2, Kind.Attach, 115, {fiber: w.ownStack});
    w.put(1, Kind.Frame, 120, {fiber: 5, other: 42});
    w.put(1, Kind.CounterName, 130, {fiber: 5, a: 0x6000, name: 'walkers'});
    w.put(1, Kind.OffCpu, 135, {fiber: 5, other: 4000});
    return w;
}
const eventsOf = recording =>
    [...recording.order].map(i => ({
        kind: recording.kind[i],
        time: recording.time[i],
        ring: recording.ring[i],
        fiber: recording.fiber[i],
        other: recording.other[i],
        task: recording.task[i],
        name: recording.names[recording.name[i]],
    }));

test('all fields of a whole recording', () => {
    const recording = weft.read(small().bytes());
    assert.deepEqual(recording.problems, []);
    assert.equal(recording.isWhole, true);
    assert.equal(recording.count, 17);
    assert.equal(recording.workers, 2);
    assert.equal(recording.rings.length, 4);
    assert.equal(recording.ownStacks, 72 + 3);
    assert.equal(recording.stackBytes, 512 * 1024);
    const events = eventsOf(recording);
    assert.deepEqual(events[0], {
        kind: Kind.Submit,
        time: 10,
        ring: 3,
        fiber: 7,
        other: 2,
        task: 100,
        name: 'walk',
    });
    assert.deepEqual(events[2], {
        kind: Kind.TaskBegin,
        time: 30,
        ring: 0,
        fiber: 4,
        other: 1,
        task: 100,
        name: 'walk',
    });
    assert.deepEqual(events[6], {
        kind: Kind.StackUse,
        time: 65,
        ring: 0,
        fiber: 4,
        other: 9876,
        task: 100,
        name: 'walk',
    });
    assert.equal(events[12].name, 'function 0x402000');
    assert.deepEqual([events[16].kind, events[16].other], [Kind.OffCpu, 4000]);
    assert.equal(recording.priority[recording.order[0]], 2);
    const wait = [...recording.order].find(i => recording.kind[i] === Kind.Wait);
    assert.notEqual(recording.counter[recording.order[0]], recording.counter[wait]);
    assert.deepEqual(
        events.map(event => event.time),
        [10, 20, 30, 40, 50, 60, 65, 70, 80, 90, 95, 100, 110, 115, 120, 130, 135],
    );
});

test('events of locks, with the addresses of the locks', () => {
    const w = new Writer({workers: 1});
    w.put(0, Kind.LockWait, 10, {fiber: 4, a: 0x80, name: 'walk'});
    w.put(0, Kind.Wait, 20, {fiber: 4, a: 0x90, name: 'walk'});
    w.put(0, Kind.LockWait, 30, {fiber: 4, name: 'walk'}); // it has given up
    w.put(0, Kind.Lock, 40, {fiber: 4, a: 0xfedc000000000081n, name: 'walk'});
    w.put(0, Kind.Unlock, 50, {fiber: 4, a: 0x82, name: 'walk'});
    const recording = weft.read(w.bytes());
    assert.deepEqual(recording.problems, []);
    const found = [...recording.order].map(i => [
        recording.kind[i],
        recording.locks.get(recording.counter[i]),
    ]);
    assert.deepEqual(found, [
        [24, '0x80'],
        [Kind.Wait, undefined], // an address of a counter
        [24, undefined],
        [25, '0xfedc000000000081'],
        [26, '0x82'],
    ]);
});

test('accepts a Buffer, a Uint8Array inside of a larger buffer, and an ArrayBuffer', () => {
    const bytes = small().bytes();
    const larger = new Uint8Array(bytes.length + 13);
    larger.set(bytes, 7);
    const expected = eventsOf(weft.read(bytes));
    assert.deepEqual(eventsOf(weft.read(larger.subarray(7, 7 + bytes.length))), expected);
    assert.deepEqual(eventsOf(weft.read(Buffer.from(bytes))), expected);
    assert.deepEqual(eventsOf(weft.read(larger.slice(7, 7 + bytes.length).buffer)), expected);
});

test('ticks far above 2^53 and another tick length', () => {
    const w = new Writer({ticksPerMicrosecond: 2500});
    w.ticksAtStart = 0;
    w.begin(0, 1000, {number: 1, name: 'a'});
    w.end(0, 3000, {number: 1, name: 'a'});
    const big = 2n ** 60n + 12345n;
    for (const record of w.rings[0]) record.ticks += big;
    const bytes = w.bytes();
    new DataView(bytes.buffer, bytes.byteOffset).setBigUint64(32, big, true);
    assert.deepEqual([...weft.read(bytes).time], [1000, 3000]);
});

test('ticks whose lower half overflows during the run', () => {
    const w = new Writer({ticksAtStart: 0x1fffffff0});
    w.begin(0, 5, {number: 1, name: 'a'});
    w.end(0, 1000, {number: 1, name: 'a'});
    assert.deepEqual([...weft.read(w.bytes()).time], [5, 1000]);
});

test('events at the same time: those that others depend on come first', () => {
    const w = new Writer({workers: 2});
    w.begin(0, 100, {number: 5, name: 'b'});
    w.submit(1, 100, {first: 5, name: 'b'});
    const kinds = eventsOf(weft.read(w.bytes())).map(event => event.kind);
    assert.deepEqual(kinds, [Kind.Submit, Kind.TaskBegin]);
});

test('a task that begins at the tick at which the one before ended', () => {
    const w = new Writer({workers: 1});
    w.begin(0, 100, {number: 1, name: 'a'});
    w.end(0, 200, {number: 1, name: 'a'});
    w.put(0, Kind.Ready, 5000000, {other: 9}); // the thread was preempted for 5 ms
    w.begin(0, 200, {number: 2, name: 'a'});
    w.end(0, 5000300, {number: 2, name: 'a'});
    const recording = weft.read(w.bytes());
    assert.deepEqual(recording.problems, []);
    assert.equal(recording.count, 5);
    assert.equal(recording.time[3], 200);
});

test('unknown sections and unknown kinds of records are skipped', () => {
    const w = small();
    w.rings[1].push({
        ticks: BigInt(w.ticksAtStart + 140),
        kind: 50,
        fiber: 0,
        other: 0,
        a: 0n,
        b: 0n,
    });
    const bytes = w.bytes();
    const more = Buffer.concat([
        bytes.subarray(0, 64),
        Buffer.from([9, 0, 0, 0, 5, 0, 0, 0, 1, 2, 3, 4, 5]),
        bytes.subarray(64),
    ]);
    const recording = weft.read(more);
    assert.equal(recording.count, 17);
    assert.deepEqual(recording.problems, ['1 records are of a kind that this page does not know.']);
});

test('a header of a later version that is longer', () => {
    const w = small();
    w.stackBytes = 2 ** 33;
    const bytes = w.bytes();
    const longer = Buffer.concat([
        bytes.subarray(0, 64),
        Buffer.alloc(16, 0xee),
        bytes.subarray(64),
    ]);
    longer.writeUInt32LE(80, 12);
    const recording = weft.read(longer);
    assert.deepEqual(recording.problems, []);
    assert.equal(recording.stackBytes, 2 ** 33);
    assert.deepEqual(eventsOf(recording), eventsOf(weft.read(small().bytes())));
});

test('a size of the header that is wrong costs nothing', () => {
    const bytes = small().bytes();
    const events = eventsOf(weft.read(bytes));
    bytes[13] = 0xff;
    const recording = weft.read(bytes);
    assert.deepEqual(recording.problems, ['The header is damaged: its size is wrong.']);
    assert.deepEqual(eventsOf(recording), events);
});

test('what is no recording is refused', () => {
    assert.throws(() => weft.read(new Uint8Array(0)), /too short/);
    assert.throws(
        () =>
            weft.read(
                Buffer.from('PNG and much more of it, but no recording of weft at all, is it'),
            ),
        /WEFTRACE/,
    );
    assert.throws(() => weft.read(small().bytes().subarray(0, 63)), /header/);
});

test('a file of another format is refused', () => {
    const reads = version => () => weft.read(new Writer({version}).bytes());
    assert.throws(reads(1), {
        message:
            'The file has format 1, and this page reads format 2: ' +
            'record it again with weft 0.7 or later.',
    });
    assert.throws(reads(3), {message: 'The file has format 3, and this page reads format 2.'});
});

test('a recording without a run', () => {
    const w = new Writer();
    const bytes = w.bytes({isWhole: false}).subarray(0, 64);
    bytes.fill(0, 20);
    const recording = weft.read(bytes);
    assert.equal(recording.count, 0);
    assert.ok(recording.problems.some(text => /no events/.test(text)));
});

test('a file that is cut anywhere gives the events before the cut', () => {
    const {writer} = simulate({
        workers: 3,
        frames: 2,
        stages: [{name: 'a', count: 5, ns: 9000}],
        side: null,
    });
    const bytes = writer.bytes({partSize: 4});
    const whole = weft.read(bytes);
    let last = 0;
    let cut = 0;
    for (let length = 64; length < bytes.length; ++length) {
        const recording = weft.read(bytes.subarray(0, length));
        assert.ok(recording.count >= last && recording.count <= whole.count, `length ${length}`);
        assert.equal(recording.isWhole, false);
        if (recording.problems.some(text => /cut off/.test(text))) ++cut;
        assert.ok(
            !recording.problems.some(text => /damaged|cannot be right/.test(text)),
            recording.problems.join(),
        );
        last = recording.count;
    }
    assert.equal(cut, bytes.length - 64);
    assert.equal(last, whole.count);
});

test('a cut file says which workers are missing', () => {
    const {writer} = simulate({workers: 4, frames: 3});
    const bytes = writer.bytes();
    const half = weft.read(bytes.subarray(0, Math.floor(bytes.length * 0.45)));
    const text = half.problems.join(' ');
    assert.match(text, /newest records of worker [01] may be missing/);
    assert.match(text, /There is nothing of .*worker 3, the external threads/);
    assert.ok(half.completeTo < weft.read(bytes).completeTo);
});

test('any flipped bit: no exception but for a damaged start, and few events are lost', () => {
    const {writer} = simulate({workers: 3, frames: 4});
    const bytes = writer.bytes();
    const whole = weft.read(bytes);
    let refused = 0;
    let least = whole.count;
    let damaged = 0;
    for (let i = 0; i < 3000; ++i) {
        const at = Math.floor(chance(9, i) * bytes.length);
        const bit = Math.floor(chance(10, i) * 8);
        const copy = bytes.slice();
        copy[at] ^= 1 << bit;
        let recording;
        try {
            recording = weft.read(copy);
        } catch (error) {
            assert.ok(at < 12, `byte ${at}: ${error.stack}`);
            ++refused;
            continue;
        }
        for (let k = 1; k < recording.count; ++k) assert.ok(recording.order[k] < recording.count);
        if (recording.problems.length) ++damaged;
        if (at >= 64) least = Math.min(least, recording.count);
    }
    assert.ok(
        least >= whole.count - 70,
        `a bit cost ${whole.count - least} of ${whole.count} events`,
    );
    assert.ok(damaged > 100);
    assert.ok(refused < 20);
});

test('each bit of the header', () => {
    const {writer} = simulate({workers: 3, frames: 2});
    const bytes = writer.bytes();
    for (let bit = 0; bit < 512; ++bit) {
        const copy = bytes.slice();
        copy[bit >> 3] ^= 1 << (bit & 7);
        try {
            const recording = weft.read(copy);
            assert.ok(recording.count >= 0);
        } catch (error) {
            assert.ok(bit < 96, `bit ${bit}: ${error.stack}`);
        }
    }
});

test('a length that is damaged costs its section only', () => {
    const {writer} = simulate({workers: 3, frames: 4});
    const bytes = writer.bytes({partSize: 64});
    const whole = weft.read(bytes);
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    let at = 64;
    let tried = 0;
    while (at < bytes.length) {
        const kind = view.getUint32(at, true);
        const length = view.getUint32(at + 4, true);
        if (kind === 2) {
            for (const wrong of [0, 4, length + 32, length + 1, 0xffffffff, 0x7fffffe4]) {
                const copy = bytes.slice();
                new DataView(copy.buffer).setUint32(at + 4, wrong, true);
                const recording = weft.read(copy);
                assert.ok(
                    recording.count >= whole.count - 130,
                    `section at ${at}, length ${wrong}: ${recording.count} of ${whole.count}`,
                );
                ++tried;
            }
        }
        at += 8 + length;
    }
    assert.ok(tried > 20);
});

test('a record with a time that cannot be right is left out', () => {
    for (const bit of [30, 36, 45, 52, 63]) {
        const {writer} = simulate({
            workers: 2,
            frames: 3,
            stages: [{name: 'a', count: 20, ns: 9000}],
            side: null,
        });
        const whole = weft.read(writer.bytes());
        for (const index of [0, 1, 25, writer.rings[0].length - 1]) {
            const record = writer.rings[0][index];
            const before = record.ticks;
            record.ticks ^= 1n << BigInt(bit);
            const recording = weft.read(writer.bytes());
            record.ticks = before;
            const isLast = index === writer.rings[0].length - 1;
            if (isLast && bit < 40) continue; // nothing follows that could show it
            assert.ok(
                recording.count >= whole.count - 2 && recording.count < whole.count,
                `bit ${bit}, record ${index}: ${recording.count} of ${whole.count}`,
            );
            assert.match(recording.problems.join(), /time that cannot be right/);
        }
    }
});

test('random bytes after a header', () => {
    for (let seed = 0; seed < 200; ++seed) {
        const bytes = new Uint8Array(64 + Math.floor(chance(seed, 1) * 5000));
        bytes.set(new Writer().bytes().subarray(0, 64));
        for (let i = 64; i < bytes.length; ++i) bytes[i] = Math.floor(chance(seed, i) * 256);
        const recording = weft.read(bytes);
        assert.equal(recording.order.length, recording.count);
    }
});

test('names that are missing are shown as addresses', () => {
    const w = small();
    w.texts.clear = undefined;
    const bytes = w.bytes();
    // turns the section of the name into one of an unknown kind
    new DataView(bytes.buffer, bytes.byteOffset).setUint32(64, 77, true);
    const recording = weft.read(bytes);
    assert.equal(recording.count, 17);
    assert.match(recording.problems.join(), /1 names are missing/);
    assert.match(recording.names.join(), /name 0x7f0000001000/);
    assert.equal(NONE, 0xffffffff);
});

test('rings that were overwritten say from when on all is there', () => {
    const whole = simulate({workers: 4, frames: 20});
    const cut = simulate({workers: 4, frames: 20, capacity: 400});
    assert.ok(weft.read(whole.writer.bytes()).completeFrom < 1000);
    const recording = weft.read(cut.writer.bytes());
    const firsts = recording.rings.slice(0, 4).map(ring => ring.first);
    assert.equal(recording.completeFrom, Math.max(...firsts));
    assert.ok(recording.completeFrom > cut.end / 3);
});

test('a ring that begins late and has lost nothing, and one that was read early', () => {
    const w = new Writer({workers: 2});
    for (let i = 0; i < 100; ++i) w.put(0, Kind.Park, 1e6 + i, {fiber: 0xffffff});
    for (let i = 0; i < 10; ++i) w.put(1, Kind.Park, i * 2e6, {fiber: 0xffffff});
    const recording = weft.read(w.bytes({until: {0: 15e6}}));
    assert.equal(recording.completeFrom, 0);
    assert.equal(recording.completeTo, 15e6);
    w.lost[1] = 3;
    assert.equal(weft.read(w.bytes()).completeFrom, 0, 'its first record is the first of all');
    w.lost[0] = 1;
    assert.equal(weft.read(w.bytes()).completeFrom, 1e6);
});

test('records that were overwritten while the file was written', () => {
    const w = new Writer({workers: 1});
    for (let i = 0; i < 30; ++i) w.put(0, Kind.Park, 1000 * i, {fiber: 0xffffff});
    const bytes = Buffer.from(w.bytes({partSize: 10}));
    // a section of the ring between its second and third part
    const parts = [];
    for (let at = 64; at < bytes.length; at += 8 + bytes.readUInt32LE(at + 4))
        if (bytes.readUInt32LE(at) === 2) parts.push(at);
    const gap = Buffer.alloc(32);
    gap.writeUInt32LE(4, 0);
    gap.writeUInt32LE(24, 4);
    gap.writeUInt32LE(25, 16);
    bytes.copy(gap, 24, parts[0] - 8, parts[0]); // the time of the section before
    const recording = weft.read(
        Buffer.concat([bytes.subarray(0, parts[2]), gap, bytes.subarray(parts[2])]),
    );
    assert.equal(recording.count, 30);
    assert.equal(recording.completeFrom, 20000);
});
