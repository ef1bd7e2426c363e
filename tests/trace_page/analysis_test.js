// The analysis: slices, waits, critical paths, idle times and tables.
'use strict';
const test = require('node:test');
const assert = require('node:assert');
const weft = {
    ...require('../../bench/trace/page/reader.js'),
    ...require('../../bench/trace/page/analysis.js'),
};
const {waitTexts} = require('../../bench/trace/page/details.js');
const {waitText} = require('../../bench/trace/page/input.js');
const {Writer, Kind, NONE} = require('./writer.js');
const {simulate, preempt, chance, STAGES, SIDE} = require('./simulate.js');

const analyse = writer => weft.analyse(weft.read(writer.bytes()));
// The slices of a track: [name, begin, end].
function slicesOf(analysis, track) {
    const {slices, sliceStart, tasks} = analysis;
    const list = [];
    for (let i = sliceStart[track]; i < sliceStart[track + 1]; ++i)
        list.push([analysis.names[tasks.name[slices.task[i]]], slices.begin[i], slices.end[i]]);
    return list;
}
const stepsOf = (analysis, path) =>
    path.map(step => [
        step.what === 'run' ? analysis.names[analysis.tasks.name[step.task]] : step.what,
        step.track,
        step.begin,
        step.end,
    ]);
const rowOf = (rows, text) => rows.find(row => row.text === text);

// What holds for each analysis, whatever the recording.
function checkInvariants(analysis) {
    const {slices, sliceStart, tasks, waits, parks, offs, offStart, frames} = analysis;
    for (let track = 0; track < analysis.tracks.length; ++track) {
        for (let i = sliceStart[track]; i < sliceStart[track + 1]; ++i) {
            assert.equal(slices.track[i], track);
            assert.ok(slices.end[i] > slices.begin[i]);
            if (i > sliceStart[track])
                assert.ok(slices.begin[i] >= slices.end[i - 1], 'slices of a track overlap');
            assert.ok(slices.task[i] < tasks.count);
            if (slices.edge[i]) assert.ok(slices.edgeTime[i] <= slices.begin[i]);
        }
    }
    const run = new Float64Array(tasks.count);
    for (let i = 0; i < slices.count; ++i) run[slices.task[i]] += slices.end[i] - slices.begin[i];
    for (let i = 0; i < tasks.count; ++i) {
        assert.ok(
            Math.abs(run[i] - tasks.run[i]) < 1,
            'the run time of a task is the sum of its slices',
        );
        assert.ok(tasks.end[i] >= tasks.begin[i] || tasks.flags[i] !== 0);
    }
    for (let i = 0; i < waits.count; ++i)
        assert.ok(
            waits.ready[i] >= waits.begin[i] ||
                waits.task[i] < 0 ||
                waits.ready[i] === waits.end[i],
        );
    for (let i = 0; i < waits.count; ++i)
        assert.ok(waits.holder[i] < tasks.count && (waits.holder[i] < 0 || waits.lock[i] > 0));
    for (let i = 0; i < parks.count; ++i)
        assert.ok(parks.woken[i] >= parks.begin[i] && parks.woken[i] <= parks.end[i]);
    for (let track = 0; track < analysis.tracks.length; ++track) {
        for (let i = offStart[track]; i < offStart[track + 1]; ++i) {
            assert.equal(offs.track[i], track);
            assert.ok(offs.end[i] > offs.begin[i]);
            if (i > offStart[track]) assert.ok(offs.begin[i] >= offs.end[i - 1]);
        }
    }
    for (const frame of frames) {
        const path = analysis.criticalPath(frame.index);
        let at = frame.begin;
        let covered = 0;
        for (const step of path) {
            assert.ok(
                step.begin >= at - 1e-3 && step.end > step.begin && step.end <= frame.end + 1e-3,
                'steps follow each other',
            );
            at = step.end;
            covered += step.end - step.begin;
        }
        assert.ok(
            Math.abs(covered - frame.duration) < 1,
            `the path of frame ${frame.number} covers ${covered} of ${frame.duration}`,
        );
        for (const row of analysis.idle(frame.begin, frame.end)) {
            const sum = weft.IDLE.reduce((total, reason) => total + row[reason], 0);
            assert.ok(Math.abs(sum - frame.duration) < 1, 'what a worker did adds up to the frame');
        }
    }
}

test('a task that waits, another one that releases it, on two workers', () => {
    const w = new Writer({workers: 2});
    w.submit(2, 100, {fiber: 7, first: 10, name: 'outer', counter: 0x10});
    w.put(0, Kind.FiberSwitch, 190, {fiber: 0xffffff, other: 1});
    w.begin(0, 200, {fiber: 1, number: 10, name: 'outer'});
    w.submit(0, 300, {fiber: 1, first: 11, name: 'inner', counter: 0x20});
    w.put(0, Kind.Wait, 400, {fiber: 1, a: 0x20, name: 'outer'});
    w.put(0, Kind.FiberSwitch, 410, {fiber: 1, other: 2});
    w.put(1, Kind.FiberSwitch, 440, {fiber: 0xffffff, other: 3});
    w.begin(1, 450, {fiber: 3, number: 11, name: 'inner', stolenFrom: 0});
    w.end(1, 900, {fiber: 3, number: 11, name: 'inner', stolenFrom: 0});
    w.put(1, Kind.Ready, 950, {fiber: 3, other: 1, a: 0x20, name: 'outer'});
    w.put(0, Kind.FiberSwitch, 1000, {fiber: 2, other: 1});
    w.put(0, Kind.Resume, 1010, {fiber: 1, a: 0x20, name: 'outer'});
    w.put(0, Kind.Frame, 1200, {fiber: 1, other: 5});
    w.end(0, 1300, {fiber: 1, number: 10, name: 'outer'});
    const a = analyse(w);
    checkInvariants(a);
    assert.deepEqual(slicesOf(a, 0), [
        ['outer', 200, 400],
        ['outer', 1000, 1300],
    ]);
    assert.deepEqual(slicesOf(a, 1), [['inner', 450, 900]]);
    assert.equal(a.waits.count, 1);
    assert.deepEqual(
        [a.waits.begin[0], a.waits.ready[0], a.waits.end[0], a.waits.readyTrack[0]],
        [400, 950, 1010, 1],
    );
    const rows = a.byName();
    assert.equal(rowOf(rows, 'outer').longestWait, 610);
    assert.equal(rowOf(rows, 'outer').total, 500);
    assert.equal(rowOf(rows, 'inner').queuedP50, 150);
    const [outer, inner] = ['outer', 'inner'].map(name =>
        a.tasks.name.indexOf(a.names.indexOf(name)),
    );
    assert.equal(a.tasks.stolenFrom[inner], 0);
    assert.equal(a.submissions.submitter.get(a.tasks.submit[inner]), outer);
    assert.deepEqual(stepsOf(a, a.criticalPath(0)), [
        ['start', 0, 100, 200],
        ['outer', 0, 200, 300],
        ['start', 1, 300, 450],
        ['inner', 1, 450, 900],
        ['dispatch', 1, 900, 950],
        ['resume', 0, 950, 1000],
        ['outer', 0, 1000, 1200],
    ]);
});

test('inline tasks nest, and their time is not that of the task below', () => {
    const w = new Writer({workers: 1});
    w.begin(0, 100, {fiber: 1, number: 1, name: 'outer'});
    w.submit(0, 150, {fiber: 1, first: 2, count: 2, name: 'inner'});
    w.begin(0, 200, {fiber: 1, number: 3, name: 'inner'});
    w.end(0, 300, {fiber: 1, number: 3, name: 'inner'});
    w.begin(0, 300, {fiber: 1, number: 2, name: 'inner'});
    w.end(0, 450, {fiber: 1, number: 2, name: 'inner'});
    w.end(0, 500, {fiber: 1, number: 1, name: 'outer'});
    const a = analyse(w);
    checkInvariants(a);
    assert.deepEqual(slicesOf(a, 0), [
        ['outer', 100, 200],
        ['inner', 200, 300],
        ['inner', 300, 450],
        ['outer', 450, 500],
    ]);
    assert.equal(rowOf(a.byName(), 'outer').total, 150);
    assert.deepEqual([...a.tasks.depth.subarray(0, 3)], [0, 1, 1]);
});

test('submissions are matched by number, not by order', () => {
    const w = new Writer({workers: 2});
    w.submit(0, 10, {fiber: 1, first: 100, count: 3, name: 'a', counter: 0x10});
    w.submit(1, 20, {fiber: 2, first: 50, count: 3, name: 'a', counter: 0x10});
    w.begin(0, 40, {fiber: 1, number: 52, name: 'a'});
    w.end(0, 50, {fiber: 1, number: 52, name: 'a'});
    w.begin(1, 45, {fiber: 2, number: 101, name: 'a'});
    w.end(1, 55, {fiber: 2, number: 101, name: 'a'});
    w.begin(0, 60, {fiber: 1, number: 53, name: 'a'}); // of no submission
    w.end(0, 70, {fiber: 1, number: 53, name: 'a'});
    const a = analyse(w);
    const {tasks} = a;
    const byNumber = new Map([...tasks.number.subarray(0, 3)].map((number, i) => [number, i]));
    assert.equal(tasks.queued[byNumber.get(52)], 20);
    assert.equal(tasks.queued[byNumber.get(101)], 35);
    assert.ok(Number.isNaN(tasks.queued[byNumber.get(53)]));
});

test('wake and unpark: asleep, being woken, searching, nothing to do', () => {
    const w = new Writer({workers: 2});
    w.begin(0, 0, {fiber: 1, number: 1, name: 'a'});
    w.put(1, Kind.Park, 100, {fiber: 0xffffff});
    w.submit(0, 1000, {fiber: 1, first: 2, name: 'b'});
    w.put(0, Kind.Wake, 1200, {fiber: 1, other: 1});
    w.put(1, Kind.Unpark, 1500, {fiber: 0xffffff});
    w.begin(1, 1600, {fiber: 2, number: 2, name: 'b'});
    w.end(1, 2000, {fiber: 2, number: 2, name: 'b'});
    w.end(0, 3000, {fiber: 1, number: 1, name: 'a'});
    const a = analyse(w);
    checkInvariants(a);
    assert.deepEqual(
        [a.parks.begin[0], a.parks.woken[0], a.parks.end[0], a.parks.by[0]],
        [100, 1200, 1500, 0],
    );
    assert.deepEqual(a.idle(0, 3000), [
        {track: 0, busy: 3000, nothing: 0, searching: 0, waking: 0, asleep: 0, offCpu: 0},
        {track: 1, busy: 400, nothing: 2000, searching: 100, waking: 300, asleep: 200, offCpu: 0},
    ]);
});

test('a wait that ends with a deadline: the time until then is the task’s own', () => {
    const w = new Writer({workers: 1});
    w.begin(0, 100, {fiber: 1, number: 1, name: 'sleeper'});
    w.put(0, Kind.Wait, 200, {fiber: 1, a: 0x10, name: 'sleeper'});
    w.put(0, Kind.FiberSwitch, 210, {fiber: 1, other: NONE});
    w.put(0, Kind.Park, 300, {fiber: 0xffffff});
    w.put(0, Kind.Unpark, 5000, {fiber: 0xffffff});
    w.put(0, Kind.Deadline, 5010, {fiber: 0xffffff});
    w.put(0, Kind.Ready, 5020, {fiber: 0xffffff, other: 1, a: 0x10, name: 'sleeper'});
    w.put(0, Kind.FiberSwitch, 5100, {fiber: 0xffffff, other: 1});
    w.put(0, Kind.Resume, 5110, {fiber: 1, a: 0x10, name: 'sleeper'});
    w.put(0, Kind.Frame, 5200, {fiber: 1, other: 1});
    const a = analyse(w);
    checkInvariants(a);
    assert.deepEqual(stepsOf(a, a.criticalPath(0)), [
        ['sleeper', 0, 100, 200],
        ['timer', 0, 200, 5020],
        ['resume', 0, 5020, 5100],
        ['sleeper', 0, 5100, 5200],
    ]);
});

test('a yield has no resume event', () => {
    const w = new Writer({workers: 1});
    w.begin(0, 100, {fiber: 1, number: 1, name: 'a'});
    w.put(0, Kind.Yield, 200, {fiber: 1, name: 'a'});
    w.put(0, Kind.FiberSwitch, 210, {fiber: 1, other: 2});
    w.put(0, Kind.Ready, 220, {fiber: 2, other: 1, name: 'a'});
    w.begin(0, 230, {fiber: 2, number: 2, name: 'b'});
    w.end(0, 400, {fiber: 2, number: 2, name: 'b'});
    w.put(0, Kind.FiberSwitch, 420, {fiber: 2, other: 1});
    w.end(0, 500, {fiber: 1, number: 1, name: 'a'});
    const a = analyse(w);
    checkInvariants(a);
    assert.deepEqual(slicesOf(a, 0), [
        ['a', 100, 200],
        ['b', 230, 400],
        ['a', 420, 500],
    ]);
    assert.deepEqual([a.waits.isYield[0], a.waits.ready[0], a.waits.end[0]], [1, 220, 420]);
    assert.equal(rowOf(a.byName(), 'a').longestWait, 0);
    w.put(0, Kind.Resume, 470, {fiber: 1, name: 'a'}); // of a wait whose begin was lost
    assert.equal(analyse(w).waits.end[0], 420);
});

test('a task that was queued behind another one: its worker was busy', () => {
    const w = new Writer({workers: 1});
    w.begin(0, 0, {fiber: 1, number: 1, name: 'first'});
    w.submit(0, 100, {fiber: 1, first: 2, count: 2, name: 'long'});
    w.end(0, 200, {fiber: 1, number: 1, name: 'first'});
    w.begin(0, 250, {fiber: 1, number: 2, name: 'long'});
    w.end(0, 5000, {fiber: 1, number: 2, name: 'long'});
    w.begin(0, 5000, {fiber: 1, number: 3, name: 'long'});
    w.put(0, Kind.Frame, 5500, {fiber: 1, other: 1});
    const a = analyse(w);
    assert.deepEqual(stepsOf(a, a.criticalPath(0)), [
        ['first', 0, 0, 200],
        ['dispatch', 0, 200, 250],
        ['long', 0, 250, 5000],
        ['long', 0, 5000, 5500],
    ]);
});

test('a release whose time is later than that of the continuation: clocks differ a little', () => {
    const w = new Writer({workers: 2});
    w.begin(0, 100, {fiber: 1, number: 1, name: 'a'});
    w.put(0, Kind.Wait, 200, {fiber: 1, a: 0x10, name: 'a'});
    w.put(0, Kind.FiberSwitch, 210, {fiber: 1, other: NONE});
    w.begin(1, 300, {fiber: 2, number: 2, name: 'b'});
    w.put(1, Kind.Ready, 9000, {fiber: 2, other: 1, a: 0x10, name: 'a'});
    w.put(0, Kind.FiberSwitch, 8000, {fiber: 0xffffff, other: 1});
    w.put(0, Kind.Resume, 8100, {fiber: 1, a: 0x10, name: 'a'});
    w.end(0, 9500, {fiber: 1, number: 1, name: 'a'});
    const a = analyse(w);
    checkInvariants(a);
    assert.equal(a.waits.readyTrack[0], 1);
    assert.equal(a.waits.ready[0], 8000);
});

test('a blocked worker: a wait without a switch', () => {
    const w = new Writer({workers: 2});
    w.begin(0, 100, {fiber: 1, number: 1, name: 'a'});
    w.put(0, Kind.Wait, 200, {fiber: 1, a: 0x10, name: 'a'});
    w.put(0, Kind.Park, 220, {fiber: 1});
    w.begin(1, 250, {fiber: 2, number: 2, name: 'b'});
    w.put(1, Kind.Ready, 700, {fiber: 2, other: 1, a: 0x10, name: 'a'});
    w.put(1, Kind.Wake, 710, {fiber: 2, other: 0});
    w.put(0, Kind.Unpark, 800, {fiber: 1});
    w.put(0, Kind.Resume, 820, {fiber: 1, a: 0x10, name: 'a'});
    w.put(0, Kind.Frame, 900, {fiber: 1, other: 1});
    w.end(0, 950, {fiber: 1, number: 1, name: 'a'});
    w.end(1, 960, {fiber: 2, number: 2, name: 'b'});
    const a = analyse(w);
    checkInvariants(a);
    assert.deepEqual(slicesOf(a, 0), [
        ['a', 100, 200],
        ['a', 820, 950],
    ]);
    assert.deepEqual(stepsOf(a, a.criticalPath(0)).slice(-5), [
        ['b', 1, 250, 700],
        ['asleep', 0, 700, 710],
        ['waking', 0, 710, 800],
        ['resume', 0, 800, 820],
        ['a', 0, 820, 900],
    ]);
});

test('an external thread runs the frame loop', () => {
    const w = new Writer({workers: 1});
    for (let frame = 0; frame < 3; ++frame) {
        const t = frame * 10000;
        w.put(1, Kind.Frame, t + 100, {fiber: 7, other: frame});
        w.submit(1, t + 2000, {fiber: 7, first: frame + 1, name: 'work', counter: 0x30});
        w.put(1, Kind.Wait, t + 2100, {fiber: 7, a: 0x30});
        w.begin(0, t + 3000, {fiber: 1, number: frame + 1, name: 'work'});
        w.end(0, t + 8000, {fiber: 1, number: frame + 1, name: 'work'});
        w.put(0, Kind.Ready, t + 8100, {fiber: 1, other: NONE, a: 0x30});
        w.put(1, Kind.Resume, t + 8500, {fiber: 7, a: 0x30});
    }
    const a = analyse(w);
    checkInvariants(a);
    const thread = a.tracks.findIndex(track => track.kind === 'thread');
    assert.equal(a.tracks[thread].label, 'thread 7');
    assert.deepEqual(slicesOf(a, thread).slice(0, 2), [
        ['host code', 100, 2100],
        ['host code', 8500, 12100],
    ]);
    assert.deepEqual(stepsOf(a, a.criticalPath(1)), [
        ['host code', thread, 100, 2000],
        ['start', 0, 2000, 3000],
        ['work', 0, 3000, 8000],
        ['dispatch', 0, 8000, 8100],
        ['resume', thread, 8100, 8500],
        ['host code', thread, 8500, 10100],
    ]);
    assert.equal(rowOf(a.byName(), 'host code'), undefined);
    // no worker can do what the thread is to do
    assert.equal(a.idle(8000, 9000)[0].nothing, 1000);
});

test('host code can be what made a frame longer; it is no task with a usual time', () => {
    const w = new Writer({workers: 1});
    let t = 100;
    for (let frame = 0; frame < 20; ++frame) {
        w.put(1, Kind.Frame, t, {fiber: 7, other: frame});
        t += frame === 12 ? 5e6 : 20e3;
        w.submit(1, t, {fiber: 7, first: frame + 1, name: 'work', counter: 0x30});
        w.put(1, Kind.Wait, t + 100, {fiber: 7, a: 0x30});
        w.begin(0, t + 1000, {fiber: 1, number: frame + 1, name: 'work'});
        w.end(0, t + 50e3, {fiber: 1, number: frame + 1, name: 'work'});
        w.put(0, Kind.Ready, t + 50100, {fiber: 1, other: NONE, a: 0x30});
        w.put(1, Kind.Resume, (t += 52e3), {fiber: 7, a: 0x30});
    }
    const a = analyse(w);
    checkInvariants(a);
    const {cause} = a.explain(a.frames.findIndex(frame => frame.number === 13));
    assert.equal(cause.text, 'host code');
    assert.ok(Math.abs(cause.extra - 4980e3) < 1);
    assert.equal(cause.task, -1);
});

test('an attached thread runs host code, and tasks while it waits', () => {
    const w = new Writer({workers: 1, attached: 1});
    const host = w.ownStack;
    w.put(1, Kind.Attach, 100, {fiber: host});
    w.submit(1, 200, {fiber: host, first: 1, count: 2, name: 'work', counter: 0x30});
    w.begin(1, 300, {fiber: host, number: 2, name: 'work'});
    w.end(1, 500, {fiber: host, number: 2, name: 'work'});
    w.put(1, Kind.Wait, 550, {fiber: host, a: 0x30});
    w.put(1, Kind.FiberSwitch, 560, {fiber: host, other: 3});
    w.put(1, Kind.Park, 600, {fiber: 3});
    w.begin(0, 310, {fiber: 1, number: 1, name: 'work'});
    w.end(0, 900, {fiber: 1, number: 1, name: 'work'});
    w.put(0, Kind.Ready, 910, {fiber: 1, other: host, a: 0x30});
    w.put(0, Kind.Wake, 920, {fiber: 1, other: 1});
    w.put(1, Kind.Unpark, 950, {fiber: 3});
    w.put(1, Kind.FiberSwitch, 960, {fiber: 3, other: host});
    w.put(1, Kind.Resume, 970, {fiber: host, a: 0x30});
    w.put(1, Kind.Frame, 1100, {fiber: host, other: 0});
    w.put(1, Kind.Detach, 1200, {fiber: host});
    const a = analyse(w);
    checkInvariants(a);
    assert.deepEqual(slicesOf(a, 1), [
        ['host code', 100, 300],
        ['work', 300, 500],
        ['host code', 500, 550],
        ['host code', 960, 1200],
    ]);
    assert.deepEqual(
        stepsOf(a, a.criticalPath(0)).map(step => step[0]),
        ['host code', 'start', 'work', 'dispatch', 'asleep', 'waking', 'resume', 'host code'],
    );
});

test('the own stack of an attached thread is known without its Attach', () => {
    for (const below of [0, 1]) {
        const w = new Writer({workers: 1, attached: 1});
        const fiber = w.ownStack - below;
        w.lost[1] = 1;
        w.submit(1, 200, {fiber, first: 1, name: 'work'});
        w.put(1, Kind.Detach, 500, {fiber});
        const a = analyse(w);
        checkInvariants(a);
        assert.deepEqual(slicesOf(a, 1), below ? [] : [['host code', 200, 500]]);
    }
});

test('a blocking call is on the path of the task that waits for it', () => {
    const w = new Writer({workers: 1});
    w.begin(0, 100, {fiber: 1, number: 1, name: 'load'});
    w.put(0, Kind.Wait, 500, {fiber: 1, a: 0x40, name: 'load'});
    w.put(0, Kind.FiberSwitch, 510, {fiber: 1, other: NONE});
    w.put(0, Kind.Park, 520, {fiber: 0xffffff});
    w.put(1, Kind.CallBegin, 700, {fiber: 9, a: 0x1234, b: 0x402000, isFunction: true});
    w.put(1, Kind.CallEnd, 9000, {fiber: 9, a: 0x1234, b: 0x402000, isFunction: true});
    w.put(1, Kind.Ready, 9100, {fiber: 9, other: 1, a: 0x40, name: 'load'});
    w.put(1, Kind.Wake, 9150, {fiber: 9, other: 0});
    w.put(0, Kind.Unpark, 9300, {fiber: 0xffffff});
    w.put(0, Kind.FiberSwitch, 9350, {fiber: 0xffffff, other: 1});
    w.put(0, Kind.Resume, 9360, {fiber: 1, a: 0x40, name: 'load'});
    w.put(0, Kind.Frame, 9500, {fiber: 1, other: 0});
    const a = analyse(w);
    checkInvariants(a);
    const calls = a.tracks.findIndex(track => track.kind === 'calls');
    assert.deepEqual(slicesOf(a, calls), [['function 0x402000', 700, 9000]]);
    assert.deepEqual(
        stepsOf(a, a.criticalPath(0)).map(([what, track, begin, end]) => [what, end - begin]),
        [
            ['load', 400],
            ['call', 200],
            ['function 0x402000', 8300],
            ['dispatch', 100],
            ['asleep', 50],
            ['waking', 150],
            ['resume', 50],
            ['load', 150],
        ],
    );
    assert.equal(rowOf(a.byName(), 'function 0x402000').isCall, true);
});

test('without frame marks the whole recording is one frame', () => {
    const w = new Writer({workers: 1});
    w.submit(1, 50, {fiber: 7, first: 1, name: 'a'});
    w.begin(0, 100, {fiber: 1, number: 1, name: 'a'});
    w.end(0, 300, {fiber: 1, number: 1, name: 'a'});
    const a = analyse(w);
    assert.equal(a.frames.length, 1);
    assert.equal(a.frames[0].isAll, true);
    checkInvariants(a);
    assert.equal(a.explain(0).longest.end, 300);
});

test('a counter has the name that it got last', () => {
    const w = new Writer({workers: 1});
    w.put(0, Kind.CounterName, 100, {fiber: 1, a: 0x10, name: 'first'});
    w.put(0, Kind.CounterName, 300, {fiber: 1, a: 0x10, name: 'second'});
    w.put(0, Kind.CounterName, 400, {fiber: 1, a: 0x20, name: 'other'});
    const a = analyse(w);
    const [counter] = a.recording.counter;
    assert.deepEqual(
        [50, 100, 299, 300, 900].map(time => a.counterName(counter, time)),
        [`counter ${counter}`, 'first', 'first', 'second', 'second'],
    );
    assert.equal(a.counterName(0, 500), 'no counter');
});

// What each wait is for, in the order in which they began: [name of the task, what].
const waitsOf = a =>
    Array.from({length: a.waits.count}, (_, i) => [
        a.names[a.tasks.name[a.waits.task[i]]],
        a.waitName(i, a.waits.begin[i]),
    ]);
const LOCK = 0x80;

// Calls `act` with a document whose links are texts in brackets.
function withLinks(act) {
    const createElement = () => ({
        children: [],
        addEventListener() {},
        setAttribute() {},
        append(...children) {
            this.children.push(...children);
        },
        toString() {
            return `[${this.children.join('')}]`;
        },
    });
    global.document = {createElement};
    try {
        return act();
    } finally {
        delete global.document;
    }
}

test('locks: a wait names the lock and its holder, on this and on another worker', () => {
    const w = new Writer({workers: 2});
    const large = 0x7f0000000080n;
    w.put(0, Kind.CounterName, 50, {fiber: 1, a: 0x10, name: 'loads'});
    w.begin(0, 100, {fiber: 1, number: 1, name: 'importer'});
    w.put(0, Kind.LockWait, 110, {fiber: 1, a: LOCK, name: 'importer'});
    w.put(0, Kind.Lock, 120, {fiber: 1, a: LOCK, name: 'importer'});
    w.put(0, Kind.Wait, 200, {fiber: 1, a: 0x10, name: 'importer'}); // for no lock
    w.put(0, Kind.FiberSwitch, 210, {fiber: 1, other: 2});
    w.begin(0, 220, {fiber: 2, number: 2, name: 'editor'});
    w.put(0, Kind.LockWait, 230, {fiber: 2, a: LOCK, name: 'editor'});
    w.put(0, Kind.Wait, 240, {fiber: 2, a: 0x90, name: 'editor'});
    w.put(0, Kind.FiberSwitch, 250, {fiber: 2, other: 3});
    w.begin(1, 300, {fiber: 4, number: 3, name: 'saver'});
    w.put(1, Kind.Lock, 310, {fiber: 4, a: large, name: 'saver'}); // another one, without a wait
    w.put(1, Kind.LockWait, 320, {fiber: 4, a: LOCK, name: 'saver'});
    w.put(1, Kind.Wait, 330, {fiber: 4, a: 0x90, name: 'saver'});
    w.put(1, Kind.FiberSwitch, 340, {fiber: 4, other: 5});
    w.put(0, Kind.FiberSwitch, 400, {fiber: 3, other: 1});
    w.put(0, Kind.Resume, 410, {fiber: 1, a: 0x10, name: 'importer'});
    w.put(0, Kind.Unlock, 420, {fiber: 1, a: LOCK, name: 'importer'});
    w.put(0, Kind.Ready, 430, {fiber: 1, other: 2, a: 0x90, name: 'editor'});
    w.end(0, 440, {fiber: 1, number: 1, name: 'importer'});
    w.put(1, Kind.FiberSwitch, 500, {fiber: 5, other: 2});
    w.put(1, Kind.Resume, 510, {fiber: 2, a: 0x90, name: 'editor'});
    w.put(1, Kind.Lock, 520, {fiber: 2, a: LOCK, name: 'editor'});
    w.put(1, Kind.Wait, 530, {fiber: 2, a: 0x10, name: 'editor'}); // it has the lock now
    w.put(1, Kind.FiberSwitch, 540, {fiber: 2, other: 5});
    w.begin(0, 600, {fiber: 3, number: 4, name: 'cook'});
    w.put(0, Kind.LockWait, 610, {fiber: 3, a: LOCK, name: 'cook'});
    w.put(0, Kind.Wait, 620, {fiber: 3, a: 0x90, name: 'cook'});
    w.put(2, Kind.LockWait, 700, {fiber: 9, a: large});
    w.put(2, Kind.Wait, 710, {fiber: 9, a: 0x91});
    w.put(2, Kind.Resume, 800, {fiber: 9, a: 0x91});
    w.put(2, Kind.Lock, 810, {fiber: 9, a: large});
    w.put(2, Kind.Wait, 820, {fiber: 9, a: 0x10});
    w.put(2, Kind.Resume, 900, {fiber: 9, a: 0x10});
    const a = analyse(w);
    checkInvariants(a);
    assert.deepEqual(a.recording.problems, []);
    assert.deepEqual(waitsOf(a), [
        ['importer', 'loads'],
        ['editor', 'lock 0x80, held by importer'],
        ['saver', 'lock 0x80, held by importer'],
        ['editor', 'loads'],
        ['cook', 'lock 0x80, held by editor'],
        ['host code', 'lock 0x7f0000000080, held by saver'],
        ['host code', 'loads'],
    ]);
    assert.deepEqual(
        [...a.waits.holder.subarray(0, 7)].map(task => (task < 0 ? -1 : a.tasks.number[task])),
        [-1, 1, 1, -1, 2, 3, -1],
    );
    // what the page says: below the timeline, and beside the mouse
    const page = {
        analysis: a,
        frames: [{begin: 0}],
        chosen: 0,
        label: track => a.tracks[track].label,
        taskName: task => a.names[a.tasks.name[task]],
    };
    const details = withLinks(() => [0, 1, 4].map(wait => waitTexts(page, wait).join('')));
    assert.deepEqual(details, [
        'Waited for loads <= 0 at 200 ns for 210 ns.',
        'Waited for lock 0x80, held by [importer], at 240 ns for 270 ns; ' +
            'released at 430 ns on worker 0 after [importer], continued 80 ns later.',
        'Waited for lock 0x80, held by [editor], at 620 ns for 280 ns.',
    ]);
    const thread = a.tracks.findIndex(track => track.kind === 'thread');
    assert.equal(waitText(a, thread, 750), 'waits for lock 0x7f0000000080, held by saver');
    assert.equal(waitText(a, thread, 850), 'waits for loads');
});

test('locks: a try that gives up; the next wait is not for the lock', () => {
    const w = new Writer({workers: 2});
    w.begin(0, 100, {fiber: 1, number: 1, name: 'importer'});
    w.put(0, Kind.Lock, 120, {fiber: 1, a: LOCK, name: 'importer'});
    w.put(1, Kind.CounterName, 150, {fiber: 2, a: 0x10, name: 'loads'});
    w.begin(1, 200, {fiber: 2, number: 2, name: 'editor'});
    w.put(1, Kind.LockWait, 210, {fiber: 2, a: LOCK, name: 'editor'});
    w.put(1, Kind.Wait, 220, {fiber: 2, a: 0x90, name: 'editor'});
    w.put(1, Kind.FiberSwitch, 230, {fiber: 2, other: NONE});
    w.put(1, Kind.Deadline, 300, {fiber: 0xffffff});
    w.put(1, Kind.Ready, 310, {fiber: 0xffffff, other: 2, a: 0x90, name: 'editor'});
    w.put(1, Kind.FiberSwitch, 320, {fiber: 0xffffff, other: 2});
    w.put(1, Kind.Resume, 330, {fiber: 2, a: 0x90, name: 'editor'});
    w.put(1, Kind.LockWait, 340, {fiber: 2, name: 'editor'}); // has given up
    w.put(1, Kind.Wait, 400, {fiber: 2, a: 0x10, name: 'editor'});
    w.put(1, Kind.FiberSwitch, 410, {fiber: 2, other: 3});
    w.begin(1, 500, {fiber: 3, number: 3, name: 'saver'});
    w.put(1, Kind.LockWait, 510, {fiber: 3, a: LOCK, name: 'saver'});
    w.put(1, Kind.Yield, 520, {fiber: 3, name: 'saver'}); // waits for nothing
    w.put(1, Kind.FiberSwitch, 530, {fiber: 3, other: NONE});
    w.put(1, Kind.FiberSwitch, 540, {fiber: 0xffffff, other: 3});
    w.put(1, Kind.Wait, 550, {fiber: 3, a: 0x90, name: 'saver'});
    w.put(0, Kind.Frame, 900, {fiber: 1, other: 1});
    const a = analyse(w);
    checkInvariants(a);
    assert.deepEqual(waitsOf(a), [
        ['editor', 'lock 0x80, held by importer'],
        ['editor', 'loads'],
        ['saver', 'no counter'],
        ['saver', 'lock 0x80, held by importer'],
    ]);
    assert.deepEqual([...a.waits.byDeadline.subarray(0, 4)], [1, 0, 0, 0]);
});

test('locks: several holders, an unlock by another task, a holder whose begin was lost', () => {
    const w = new Writer({workers: 2});
    let t = 100;
    let waiters = 0;
    const put = (fiber, kind, name) => w.put(0, kind, (t += 10), {fiber, a: LOCK, name});
    const begin = (fiber, name) => {
        w.put(0, Kind.FiberSwitch, (t += 10), {fiber: 0xffffff, other: fiber});
        w.begin(0, (t += 10), {fiber, number: fiber, name});
    };
    const to = (from, fiber) => w.put(0, Kind.FiberSwitch, (t += 10), {fiber: from, other: fiber});
    // another task asks for the lock, which shows who has it
    const ask = () => {
        const [fiber, number] = [100 + ++waiters, 100 + waiters];
        w.begin(1, (t += 10), {fiber, number, name: 'asker'});
        w.put(1, Kind.LockWait, (t += 10), {fiber, a: LOCK, name: 'asker'});
        w.put(1, Kind.Wait, (t += 10), {fiber, a: 0x90, name: 'asker'});
        w.put(1, Kind.FiberSwitch, (t += 10), {fiber, other: fiber + 1});
    };
    put(7, Kind.Lock, 'lost'); // of a task whose begin was overwritten
    ask();
    put(7, Kind.Unlock, 'lost');
    ask();
    to(7, NONE);
    begin(1, 'first');
    put(1, Kind.Lock, 'first');
    to(1, NONE);
    begin(2, 'second');
    put(2, Kind.Lock, 'second');
    ask();
    put(2, Kind.Unlock, 'second'); // its own
    ask();
    put(2, Kind.Unlock, 'second'); // that of the first one
    ask();
    put(2, Kind.Unlock, 'second'); // of a lock whose begin was lost
    put(2, Kind.Lock, 'second');
    ask();
    const a = analyse(w);
    checkInvariants(a);
    assert.deepEqual(
        waitsOf(a).map(([, what]) => what),
        [
            'lock 0x80, held by lost',
            'lock 0x80',
            'lock 0x80, held by second',
            'lock 0x80, held by first',
            'lock 0x80',
            'lock 0x80, held by second',
        ],
    );
});

test('stacks: the most that the tasks of a name used, and advice', () => {
    const KiB = 1024;
    const w = new Writer({workers: 1, stackBytes: 64 * KiB});
    const list = [
        ['shallow', 2 * KiB],
        ['shallow', 3 * KiB],
        ['shallow', 0],
        ['three quarters', 48 * KiB],
        ['deep', 48 * KiB + 1],
        ['not measured', 0],
    ];
    list.forEach(([name, bytes], i) => {
        const [time, number, fiber] = [1000 * (i + 1), i + 1, 5];
        w.submit(1, time, {fiber: 9, first: number, name});
        w.begin(0, time + 100, {fiber, number, name});
        if (bytes) w.measuredEnd(0, time + 200, {fiber, number, name, bytes});
        else w.end(0, time + 200, {fiber, number, name});
    });
    const a = analyse(w);
    assert.deepEqual(a.recording.problems, []);
    checkInvariants(a);
    const found = Object.fromEntries(
        a.byName().map(row => [row.text, [row.stackBytes, a.stackAdvice(row)]]),
    );
    assert.deepEqual(found, {
        shallow: [3 * KiB, ''],
        'three quarters': [48 * KiB, ''],
        deep: [48 * KiB + 1, 'raise SchedulerOptions::stackBytes'],
        'not measured': [0, ''],
    });
    assert.equal(a.byName(1000, 2000)[0].stackBytes, 2 * KiB, 'of the tasks that begin then');
});

test('stacks: a measurement belongs to the innermost task of its fiber', () => {
    const w = new Writer({workers: 1});
    const fiber = 1;
    const measure = (time, number, bytes) =>
        w.put(0, Kind.StackUse, time, {fiber, other: bytes, a: number});
    measure(50, 1, 111); // no task runs
    w.begin(0, 100, {fiber, number: 1, name: 'outer'});
    w.begin(0, 200, {fiber, number: 2, name: 'inner'});
    measure(250, 1, 222); // of a task that does not end next
    w.end(0, 300, {fiber, number: 2, name: 'inner'});
    w.begin(0, 300, {fiber, number: 3, name: 'next'});
    w.measuredEnd(0, 400, {fiber, number: 3, name: 'next', bytes: 4000});
    w.measuredEnd(0, 500, {fiber, number: 1, name: 'outer', bytes: 5000});
    for (const a of [analyse(w), analyse(w.joinTasks())]) {
        checkInvariants(a);
        assert.equal(a.tasks.count, 3);
        const used = new Map();
        for (let i = 0; i < 3; ++i) used.set(a.tasks.number[i], a.tasks.stackBytes[i]);
        assert.deepEqual([1, 2, 3].map(number => used.get(number)), [5000, 0, 4000]);
    }
});

test('off the processor: the cause of a late frame, and not its task', () => {
    const w = new Writer({workers: 1});
    const us = 1000;
    let t = 100;
    for (let frame = 0; frame < 20; ++frame) {
        const [number, fiber, off] = [frame + 1, 1, frame === 7 ? 60 * us : 0];
        w.put(1, Kind.Frame, t, {fiber: 7, other: frame});
        w.submit(1, t + us, {fiber: 7, first: number, name: 'work', counter: 0x30});
        w.put(1, Kind.Wait, t + 2 * us, {fiber: 7, a: 0x30});
        w.begin(0, t + 3 * us, {fiber, number, name: 'work'});
        t += 33 * us + off;
        if (off) w.put(0, Kind.OffCpu, t, {fiber, other: off});
        w.end(0, t, {fiber, number, name: 'work'});
        w.put(0, Kind.Ready, t + us, {fiber, other: NONE, a: 0x30});
        w.put(1, Kind.Resume, t + 2 * us, {fiber: 7, a: 0x30});
        t += 3 * us;
    }
    const a = analyse(w);
    checkInvariants(a);
    const late = a.frames.findIndex(frame => frame.number === 8);
    const {cause, rows} = a.explain(late);
    assert.equal(cause.text, 'a thread was preempted, or blocked in the system');
    assert.deepEqual([cause.ns, cause.usual, cause.extra], [60 * us, 0, 60 * us]);
    assert.equal(rowOf(rows, 'work').ns, 30 * us);
    const [work] = a.byName();
    assert.deepEqual([work.p50, work.max, work.total], [30 * us, 30 * us, 600 * us]);
    const {begin, end} = a.frames[late];
    const [worker] = a.idle(begin, end);
    assert.deepEqual([worker.busy, worker.offCpu], [30 * us, 60 * us]);
    const task = a.tasks.number.indexOf(8);
    assert.equal(a.tasks.offCpu[task], 60 * us);
    assert.equal(a.tasks.offCpu.reduce((sum, ns) => sum + ns), 60 * us);
});

test('off the processor: in several parts, without a task, longer than known, at first', () => {
    const w = new Writer({workers: 2});
    w.put(2, Kind.Frame, 0, {fiber: 9, other: 1});
    w.submit(2, 1000, {fiber: 9, first: 10, name: 'a'});
    w.put(0, Kind.Unpark, 2000, {fiber: 5});
    w.put(0, Kind.OffCpu, 12000, {fiber: 5, other: 4000}); // while it looked for work
    w.begin(0, 12000, {fiber: 5, number: 10, name: 'a'});
    w.put(0, Kind.OffCpu, 20000, {fiber: 5, other: 5000});
    w.submit(0, 20000, {fiber: 5, first: 11, name: 'b'});
    w.put(0, Kind.OffCpu, 30000, {fiber: 5, other: 99000}); // at most since the event before
    w.end(0, 30000, {fiber: 5, number: 10, name: 'a'});
    w.put(0, Kind.OffCpu, 30000, {fiber: 5, other: 500}); // no time has passed
    w.put(0, Kind.Frame, 31000, {fiber: 5, other: 2});
    w.put(1, Kind.OffCpu, 3000, {fiber: 6, other: 99000}); // its first event
    w.put(1, Kind.Park, 3000, {fiber: 6});
    const a = analyse(w);
    checkInvariants(a);
    assert.deepEqual(slicesOf(a, 0), [['a', 12000, 15000]]);
    const thread = a.tracks.findIndex(track => track.kind === 'thread');
    assert.deepEqual(stepsOf(a, a.criticalPath(1)), [
        ['host code', thread, 0, 1000],
        ['start', 0, 1000, 8000],
        ['offCpu', 0, 8000, 12000],
        ['a', 0, 12000, 15000],
        ['offCpu', 0, 15000, 20000],
        ['offCpu', 0, 20000, 30000],
        ['dispatch', 0, 30000, 31000],
    ]);
    const offs = [0, 1, 2, 3].map(i => [a.offs.track[i], a.offs.begin[i], a.offs.task[i] >= 0]);
    assert.deepEqual(offs, [
        [0, 8000, false],
        [0, 15000, true],
        [0, 20000, true],
        [1, 0, false],
    ]);
    assert.equal(a.offs.count, 4);
    assert.deepEqual(
        a.idle(0, 31000).map(row => [row.busy, row.offCpu]),
        [
            [3000, 19000],
            [0, 3000],
        ],
    );
    assert.deepEqual([7999, 8000, 11999, 12000].map(time => a.offAt(0, time)), [-1, 0, 0, -1]);
});

test('off the processor: in a task on top of another one, and in a wait until a deadline', () => {
    const w = new Writer({workers: 1});
    const [fiber, outer, inner] = [1, {fiber: 1, number: 1, name: 'a'}, {fiber: 1, number: 2}];
    w.begin(0, 100, outer);
    w.begin(0, 200, inner);
    w.put(0, Kind.OffCpu, 300, {fiber, other: 40});
    w.end(0, 300, inner);
    w.put(0, Kind.OffCpu, 400, {fiber, other: 30});
    w.put(0, Kind.Wait, 400, {fiber, a: 0x10, name: 'a'});
    w.put(0, Kind.FiberSwitch, 410, {fiber, other: NONE});
    w.put(0, Kind.Deadline, 5010, {fiber: 0xffffff});
    w.put(0, Kind.OffCpu, 5020, {fiber: 0xffffff, other: 5});
    w.put(0, Kind.Ready, 5020, {fiber: 0xffffff, other: 1, a: 0x10, name: 'a'});
    w.put(0, Kind.FiberSwitch, 5100, {fiber: 0xffffff, other: 1});
    w.put(0, Kind.OffCpu, 5150, {fiber, other: 20});
    w.put(0, Kind.Resume, 5150, {fiber, a: 0x10, name: 'a'});
    w.put(0, Kind.Frame, 5200, {fiber, other: 1});
    w.end(0, 5200, outer);
    const a = analyse(w);
    checkInvariants(a);
    const run = [1, 2].map(number => a.tasks.run[a.tasks.number.indexOf(number)]);
    const off = [1, 2].map(number => a.tasks.offCpu[a.tasks.number.indexOf(number)]);
    // a: 100 + 70 before its wait, and 30 + 50 after it
    assert.deepEqual([run, off], [
        [250, 60],
        [50, 40],
    ]);
    assert.deepEqual(stepsOf(a, a.criticalPath(0)).slice(-5), [
        ['timer', 0, 400, 5020],
        ['resume', 0, 5020, 5100],
        ['a', 0, 5100, 5130],
        ['offCpu', 0, 5130, 5150],
        ['a', 0, 5150, 5200],
    ]);
});

test('simulated frames: what a thread was off its processor is no time of a task', () => {
    const plain = analyse(simulate({frames: 10, workers: 6}).writer);
    const cut = preempt(simulate({frames: 10, workers: 6}).writer, 1);
    const a = analyse(cut);
    checkInvariants(a);
    checkInvariants(analyse(cut.joinTasks()));
    assert.equal(a.tasks.count, plain.tasks.count);
    assert.ok(a.offs.count > 500, `${a.offs.count} times`);
    for (let i = 0; i < a.tasks.count; ++i)
        assert.ok(Math.abs(a.tasks.run[i] + a.tasks.offCpu[i] - plain.tasks.run[i]) < 1e-3);
    const {begin, end} = plain;
    a.idle(begin, end).forEach((row, track) => {
        let sum = 0;
        for (let i = a.offStart[track]; i < a.offStart[track + 1]; ++i)
            sum += a.offs.end[i] - a.offs.begin[i];
        assert.ok(sum > 0 && Math.abs(row.offCpu - sum) < 1e-3, `${row.offCpu}, ${sum}`);
        assert.ok(row.busy < plain.idle(begin, end)[track].busy);
    });
});

test('percentiles', () => {
    const sorted = Float64Array.from({length: 200}, (_, i) => i + 1);
    assert.equal(weft.percentile(sorted, 50), 100);
    assert.equal(weft.percentile(sorted, 99), 198);
    assert.equal(weft.percentile(sorted, 100), 200);
    assert.ok(Number.isNaN(weft.percentile([], 50)));
    assert.equal(weft.percentile([3], 1), 3);
});

test('simulated frames: counts, queue times and busy times are exact', () => {
    const {writer} = simulate({frames: 10, workers: 6});
    const a = analyse(writer);
    checkInvariants(a);
    const rows = a.byName();
    for (const spec of [...STAGES, SIDE]) {
        const row = rowOf(rows, spec.name);
        assert.equal(row.count, spec.count * 10, spec.name);
        let total = 0;
        for (let frame = 0; frame < 10; ++frame) {
            const stage = STAGES.indexOf(spec);
            for (let i = 0; i < spec.count; ++i)
                total += Math.round(spec.ns * (0.7 + 0.6 * chance(1, frame, stage + 7, i)));
        }
        assert.ok(
            Math.abs(row.total - total) < spec.count * 10 * 2,
            `${spec.name}: ${row.total} instead of ${total}`,
        );
        assert.ok(row.p50 <= row.p99 && row.p99 <= row.max && row.queuedP50 <= row.queuedP99);
    }
    assert.equal(a.frames.length, 11);
    assert.equal(a.frames[0].isPartial, true);
    assert.ok(a.frames.slice(1).every(frame => !frame.isPartial));
    const inFrame = rowOf(a.byName(a.frames[3].begin, a.frames[3].end), 'think');
    assert.equal(inFrame.count, 40);
});

test('an injected delay is named, with its cost, in each frame that it has lengthened', () => {
    let lengthened = 0;
    let worst = 0;
    for (const seed of [1, 2, 3]) {
        const delay = frame => {
            const stage = Math.floor(chance(seed, frame, 1) * (STAGES.length + 1)) - 1;
            const spec = stage < 0 ? SIDE : STAGES[stage];
            return {
                stage,
                index: Math.floor(chance(seed, frame, 2) * spec.count),
                ns: 500e3 + 1500e3 * chance(seed, frame, 3),
            };
        };
        const before = analyse(simulate({frames: 50, seed}).writer);
        const {writer, truth} = simulate({frames: 50, seed, delay});
        const after = analyse(writer);
        for (let i = 1; i <= 50; ++i) {
            if (after.frames[i].duration - before.frames[i].duration < 300e3) continue;
            ++lengthened;
            const {cause, longest} = after.explain(i);
            const wanted = truth[i - 1];
            assert.equal(cause.text, wanted.name, `seed ${seed}, frame ${i}`);
            assert.equal(after.tasks.number[cause.task], wanted.delayed);
            assert.equal(after.tasks.number[longest.task], wanted.delayed);
            worst = Math.max(worst, Math.abs(cause.taskExtra / wanted.ns - 1));
        }
    }
    assert.ok(lengthened >= 100, `${lengthened} frames are longer`);
    assert.ok(worst < 0.05, `the cost is wrong by ${(100 * worst).toFixed(1)} %`);
});

test('a task that is always long is not what made a frame longer', () => {
    const stages = [
        {name: 'long', count: 1, ns: 4e6},
        {name: 'short', count: 4, ns: 50e3},
    ];
    const delay = frame => (frame === 7 ? {stage: 1, index: 2, ns: 900e3} : null);
    const a = analyse(simulate({frames: 20, workers: 4, stages, delay, side: null}).writer);
    const {rows, cause} = a.explain(a.frames.findIndex(frame => frame.number === 7));
    assert.equal(rows[0].text, 'long');
    assert.equal(cause.text, 'short');
});

test('a delay beside the critical path is not blamed', () => {
    const quick = [
        {name: 'first', count: 4, ns: 100e3},
        {name: 'long', count: 1, ns: 3e6},
    ];
    const delay = frame => (frame % 5 === 2 ? {stage: -1, index: 0, ns: 800e3} : null);
    const {writer} = simulate({
        frames: 30,
        workers: 8,
        stages: quick,
        delay,
        side: {...SIDE, count: 3},
    });
    const a = analyse(writer);
    for (const frame of a.frames.slice(1)) {
        const rows = a.explain(frame.index).rows;
        assert.equal(rows[0].text, 'long');
        assert.equal(rowOf(rows, 'audio'), undefined);
    }
});

test('one record for the end of a task and the begin of the next one', () => {
    const {writer} = simulate({frames: 10});
    const apart = analyse(writer);
    const records = writer.rings.flat().length;
    const joined = analyse(writer.joinTasks());
    assert.ok(writer.rings.flat().length < records * 0.8);
    checkInvariants(joined);
    assert.equal(joined.tasks.count, apart.tasks.count);
    for (const row of apart.byName()) {
        const other = rowOf(joined.byName(), row.text);
        assert.equal(other.count, row.count);
        assert.equal(other.queuedP50 > 0, row.queuedP50 > 0);
        // a task begins a little earlier: at the end of the one before
        assert.ok(other.total >= row.total && other.total < row.total + 200 * row.count, row.text);
    }
    for (let i = 0; i < joined.tasks.count; ++i)
        assert.equal(joined.tasks.flags[i], apart.tasks.flags[i]);
});

test('the task that ends in such a record may be unknown', () => {
    const w = new Writer({workers: 1});
    w.end(0, 100, {fiber: 1, number: 1, name: 'a'});
    w.begin(0, 100, {fiber: 1, number: 2, name: 'b'});
    w.end(0, 300, {fiber: 1, number: 2, name: 'b'});
    const a = analyse(w.joinTasks());
    checkInvariants(a);
    assert.deepEqual(slicesOf(a, 0), [['b', 100, 300]]);
    assert.deepEqual(
        a.byName().map(row => row.text),
        ['b'],
    );
});

test('an overwritten beginning: what is left is analysed, and marked as not whole', () => {
    const whole = analyse(simulate({frames: 30}).writer);
    for (const capacity of [150, 400, 1000, 1500]) {
        const {writer} = simulate({frames: 30, capacity});
        const a = analyse(writer);
        checkInvariants(a);
        checkInvariants(analyse(writer.joinTasks()));
        assert.ok(a.completeFrom > a.begin);
        const exact = a.frames.filter(frame => !frame.isPartial);
        if (capacity >= 400)
            assert.ok(exact.length >= 3, `capacity ${capacity}: ${exact.length} whole frames`);
        for (const frame of exact) {
            const same = whole.frames.find(other => other.number === frame.number);
            assert.ok(Math.abs(frame.duration - same.duration) < 1);
            const rows = a.sumUp(a.criticalPath(frame.index));
            const expected = whole.sumUp(whole.criticalPath(same.index));
            for (const row of expected.values())
                assert.ok(
                    Math.abs([...rows.values()].find(r => r.text === row.text).ns - row.ns) < 1,
                    `frame ${frame.number}, ${row.text}`,
                );
        }
    }
});

test('lost ends: no task grows over another one', () => {
    // worker 0's ring lost everything in the middle: a task that ended there must not stay open
    const w = new Writer({workers: 2});
    w.begin(0, 100, {fiber: 1, number: 1, name: 'a'});
    w.put(0, Kind.Wait, 200, {fiber: 1, a: 0x10, name: 'a'});
    w.put(0, Kind.FiberSwitch, 210, {fiber: 1, other: 2});
    // its resume and its end are lost; fiber 1 runs something else
    w.begin(1, 5000, {fiber: 1, number: 9, name: 'b'});
    w.end(1, 6000, {fiber: 1, number: 9, name: 'b'});
    w.end(0, 7000, {fiber: 2, number: 30, name: 'c'});
    // the end of d is lost, and fiber 3 runs something else
    w.begin(1, 6500, {fiber: 3, number: 40, name: 'd'});
    w.begin(1, 6600, {fiber: 1, number: 41, name: 'e'});
    w.begin(1, 6700, {fiber: 3, number: 42, name: 'f'});
    w.end(1, 6800, {fiber: 3, number: 42, name: 'f'});
    const a = analyse(w);
    checkInvariants(a);
    assert.deepEqual(slicesOf(a, 1), [
        ['b', 5000, 6000],
        ['d', 6500, 6600],
        ['e', 6600, 6700],
        ['f', 6700, 6800],
    ]);
    assert.deepEqual(slicesOf(a, 0), [
        ['a', 100, 200],
        ['c', 210, 7000],
    ]);
    const flags = Object.fromEntries(
        [...Array(a.tasks.count).keys()].map(i => [a.names[a.tasks.name[i]], a.tasks.flags[i]]),
    );
    const {FLAG_CUT_BEGIN, FLAG_CUT_END} = weft;
    const expected = {
        a: FLAG_CUT_END,
        b: 0,
        c: FLAG_CUT_BEGIN,
        d: FLAG_CUT_END,
        e: FLAG_CUT_END,
        f: 0,
    };
    assert.deepEqual(flags, expected);
});

test('cut and damaged files are analysed without an exception', () => {
    const {writer} = simulate({workers: 4, frames: 6});
    const bytes = writer.bytes();
    for (let i = 0; i < 300; ++i) {
        let copy = bytes.slice();
        for (let n = 0; n < 1 + (i % 5); ++n) {
            const at = 64 + Math.floor(chance(21, i, n) * (copy.length - 64));
            copy[at] ^= 1 << Math.floor(chance(22, i, n) * 8);
        }
        if (i % 3 === 0)
            copy = copy.subarray(0, Math.floor(100 + chance(23, i) * (copy.length - 100)));
        checkInvariants(weft.analyse(weft.read(copy)));
    }
});

test('clocks of two processors that differ by 10 us', () => {
    const {writer} = simulate({frames: 10, workers: 4});
    const exact = analyse(writer);
    for (const record of writer.rings[2]) record.ticks -= 10000n;
    const a = analyse(writer);
    checkInvariants(a);
    let unmatched = 0;
    for (let i = 0; i < a.waits.count; ++i) unmatched += a.waits.readyTrack[i] < 0 ? 1 : 0;
    assert.ok(unmatched <= 1, `${unmatched} of ${a.waits.count} waits have no release`);
    // a fiber that two workers run one after the other seems to run on both for a moment
    assert.ok(Math.abs(a.tasks.count - exact.tasks.count) <= 3);
});
