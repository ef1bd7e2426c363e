// What the library records (trace_page record, main.cpp) is what the reader and the analysis say.
// WEFT_TRACE_PAGE names the program.
'use strict';
const test = require('node:test');
const assert = require('node:assert');
const fs = require('fs');
const os = require('os');
const path = require('path');
const {execFileSync} = require('child_process');
const weft = {
    ...require('../../bench/trace/page/reader.js'),
    ...require('../../bench/trace/page/analysis.js'),
};
const {Writer, Kind, NONE} = require('./writer.js');
const {simulate, preempt} = require('./simulate.js');
const program = process.env.WEFT_TRACE_PAGE;
const weftTrace = process.env.WEFT_TRACE;
const FRAMES = 30;

const record = () => {
    const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'weft-trace-page-'));
    try {
        const file = path.join(folder, 'run.weft');
        execFileSync(program, ['record', file, String(FRAMES)]);
        return fs.readFileSync(file);
    } finally {
        fs.rmSync(folder, {recursive: true});
    }
};

test('a run of the library: each task, wait and frame', {skip: !program}, () => {
    const recording = weft.read(record());
    assert.deepEqual(recording.problems, []);
    assert.equal(recording.isWhole, true);
    const a = weft.analyse(recording);
    const {tasks, waits} = a;
    const rows = a.byName();
    const count = name => rows.find(row => row.text === name)?.count;
    assert.equal(count('frames'), 1);
    assert.equal(count('work'), 16 * FRAMES);
    assert.equal(count('short'), 200 * FRAMES);
    assert.equal(count('group'), 2 * FRAMES);
    assert.equal(count('part'), 6 * FRAMES);
    assert.equal(count('sleep'), FRAMES);
    const calls = rows.filter(row => row.isCall);
    assert.equal(calls.length, 1);
    assert.equal(calls[0].count, FRAMES);
    assert.ok(calls[0].p50 > 0.9e6, 'the call sleeps for 1 ms');
    assert.ok(rows.find(row => row.text === 'work').p50 > 19e3, 'a task spins for 20 us');
    for (let i = 0; i < tasks.count; ++i) {
        if (tasks.kind[i] !== weft.TaskKind.Task) continue;
        assert.equal(tasks.flags[i], 0, 'begin and end of each task');
        assert.ok(tasks.submit[i] >= 0, 'the submission of each task');
        assert.ok(tasks.queued[i] >= 0);
        const submitter = a.submissions.submitter.get(tasks.submit[i]);
        const by = a.names[tasks.name[submitter]];
        const name = a.names[tasks.name[i]];
        assert.ok(
            name === 'part' ? by === 'group' : by === 'frames' || by === 'host code',
            `${by} submitted ${name}`,
        );
    }
    let due = 0;
    let released = 0;
    for (let i = 0; i < waits.count; ++i) {
        if (waits.task[i] < 0) continue;
        if (waits.readyTrack[i] >= 0) ++released;
        if (waits.byDeadline[i]) ++due;
    }
    assert.equal(due, FRAMES, 'each sleep ends with a deadline');
    assert.ok(released > waits.count * 0.95, `${released} of ${waits.count} waits have a release`);

    assert.equal(a.frames.length, FRAMES);
    assert.deepEqual(
        a.frames.map(frame => frame.number),
        Array.from({length: FRAMES}, (_, i) => i),
    );
    for (const frame of a.frames) {
        const path = a.criticalPath(frame.index);
        const covered = path.reduce((sum, step) => sum + step.end - step.begin, 0);
        assert.ok(Math.abs(covered - frame.duration) < 1);
        for (const row of a.idle(frame.begin, frame.end))
            assert.ok(
                Math.abs(weft.IDLE.reduce((sum, reason) => sum + row[reason], 0) - frame.duration) <
                    1,
            );
        if (frame.isPartial) continue;
        // the sleep of 1 ms comes after the other stages, and is on each path
        const timer = path
            .filter(step => step.what === 'timer')
            .reduce((sum, step) => sum + step.end - step.begin, 0);
        const call = path.some(
            step => step.what === 'run' && tasks.kind[step.task] === weft.TaskKind.Call,
        );
        assert.ok(call || timer > 0.8e6, `frame ${frame.number}: ${timer} ns until a deadline`);
    }
    const kinds = new Set(
        a.tracks.filter((_, i) => a.sliceStart[i] < a.sliceStart[i + 1]).map(track => track.kind),
    );
    assert.deepEqual([...kinds].sort(), ['attached', 'calls', 'thread', 'worker']);
    // the external thread cannot run tasks, so it waits for the sleeps
    const waited = {};
    for (let i = 0; i < waits.count; ++i) {
        if (a.tracks[waits.beginTrack[i]].kind !== 'thread') continue;
        const name = a.counterName(waits.counter[i], waits.begin[i]);
        waited[name] = (waited[name] || 0) + 1;
    }
    assert.ok(waited.sleep > 0, JSON.stringify(waited));
    const named = ['work', 'short', 'group', 'sleep', 'loaded'];
    const others = Object.keys(waited).filter(name => !named.includes(name));
    assert.ok(others.length <= 1, `${others}`); // the counter of the task "frames" has no name
});

// What `weft_trace` prints of a recording.
function printed(bytes) {
    const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'weft-trace-page-'));
    try {
        const file = path.join(folder, 'run.weft');
        fs.writeFileSync(file, bytes);
        return execFileSync(weftTrace, [file], {encoding: 'utf8'});
    } finally {
        fs.rmSync(folder, {recursive: true});
    }
}

// What it prints of stacks, by names without spaces: {bytes, size, advice}.
function stacksOf(bytes) {
    const text = printed(bytes);
    const stacks = {};
    const table = /^tasks \(us\).*\n((?:.+\n)*)/m.exec(text)[1];
    for (const [, name, used, size] of table.matchAll(
        // the name, eight figures, then perhaps those of the stack
        /^(\S+)(?: +[\d.?]+){8}(?: +([\d.]+) of (\d+))?$/gm,
    ))
        stacks[name] = {used: used || '0.0', size, advice: ''};
    for (const [, name, advice] of table.matchAll(/^advice: tasks `(.*)` use .* of stack: (.*)$/gm))
        stacks[name].advice = advice;
    return stacks;
}

test('stacks: the page knows what weft_trace prints', {skip: !program || !weftTrace}, () => {
    const w = new Writer({workers: 1, stackBytes: 65536});
    Object.entries({deep: 60, fine: 30, none: 0}).forEach(([name, KiB], i) => {
        const [time, number] = [1000 * (i + 1), i + 1];
        w.submit(1, time, {fiber: 9, first: number, name});
        w.begin(0, time + 100, {fiber: 5, number, name});
        const end = {fiber: 5, number, name, bytes: KiB * 1024};
        KiB ? w.measuredEnd(0, time + 200, end) : w.end(0, time + 200, end);
    });
    const recordings = {library: record(), written: w.bytes()};
    for (const [what, bytes] of Object.entries(recordings)) {
        const a = weft.analyse(weft.read(bytes));
        const stacks = stacksOf(bytes);
        const rows = a.byName().filter(row => !row.isCall);
        for (const row of rows) {
            const text = `${what}, ${row.text}`;
            const {used, size, advice} = stacks[row.text];
            assert.ok(Math.abs(used - row.stackBytes / 1024) < 0.051, text); // it is rounded
            if (row.stackBytes > 0) assert.equal(size * 1024, a.recording.stackBytes, text);
            assert.equal(a.stackAdvice(row), advice, text);
        }
        const measured = rows.filter(row => row.stackBytes > 0).length;
        assert.equal(measured, what === 'library' ? rows.length : 2, what);
        const advised = rows.filter(row => a.stackAdvice(row)).length;
        assert.equal(advised > 0, what === 'written', what);
    }
});

// A frame in which a thread sleeps. Its worker is off its processor between the deadline and the
// release, and just before it parks, after it was woken.
function sleepingFrame() {
    const w = new Writer({workers: 2});
    w.put(0, Kind.Unpark, 50, {fiber: 0xffffff});
    w.begin(0, 100, {fiber: 1, number: 1, name: 'sleeper'});
    w.put(0, Kind.Frame, 1000, {fiber: 1, other: 0});
    w.put(0, Kind.Wait, 200e3, {fiber: 1, a: 0x10, name: 'sleeper'});
    w.put(0, Kind.FiberSwitch, 210e3, {fiber: 1, other: NONE});
    w.put(0, Kind.Deadline, 900e3, {fiber: 0xffffff});
    w.put(0, Kind.OffCpu, 950e3, {fiber: 0xffffff, other: 50e3});
    w.put(0, Kind.Ready, 950e3, {fiber: 0xffffff, other: 1, a: 0x10, name: 'sleeper'});
    w.put(0, Kind.FiberSwitch, 960e3, {fiber: 0xffffff, other: 1});
    w.put(0, Kind.Resume, 970e3, {fiber: 1, a: 0x10, name: 'sleeper'});
    w.put(0, Kind.Frame, 1000e3, {fiber: 1, other: 1});
    w.submit(0, 1010e3, {fiber: 1, first: 2, name: 'work', counter: 0x20});
    w.put(1, Kind.Satisfied, 1005e3, {fiber: 0xffffff});
    w.put(0, Kind.Wake, 1020e3, {fiber: 1, other: 1});
    w.put(1, Kind.OffCpu, 1030e3, {fiber: 0xffffff, other: 5e3});
    w.put(1, Kind.Park, 1030e3, {fiber: 0xffffff});
    w.put(0, Kind.Wait, 1040e3, {fiber: 1, a: 0x20, name: 'sleeper'});
    w.put(0, Kind.FiberSwitch, 1050e3, {fiber: 1, other: NONE});
    w.put(1, Kind.Unpark, 1300e3, {fiber: 0xffffff});
    w.begin(1, 1310e3, {fiber: 3, number: 2, name: 'work'});
    w.put(1, Kind.OffCpu, 1400e3, {fiber: 3, other: 60e3});
    w.end(1, 1400e3, {fiber: 3, number: 2, name: 'work'});
    w.put(1, Kind.Ready, 1410e3, {fiber: 3, other: 1, a: 0x20, name: 'sleeper'});
    w.put(0, Kind.FiberSwitch, 1420e3, {fiber: 0xffffff, other: 1});
    w.put(0, Kind.Resume, 1430e3, {fiber: 1, a: 0x20, name: 'sleeper'});
    w.put(0, Kind.Frame, 1500e3, {fiber: 1, other: 2});
    w.end(0, 1510e3, {fiber: 1, number: 1, name: 'sleeper'});
    return w.bytes();
}

const near = (a, b, most, text) => assert.ok(Math.abs(a - b) <= most, `${text}: ${a} and ${b}`);
const sumOf = (list, value) => list.reduce((sum, one) => sum + value(one), 0);

test('off the processor: the page says what weft_trace prints', {skip: !weftTrace}, () => {
    const frames = {frames: 12, workers: 3};
    const recordings = {
        'simulated frames': preempt(simulate(frames).writer, 5).bytes(),
        'the same in fewer records': preempt(simulate(frames).writer.joinTasks(), 6).bytes(),
        'a frame that sleeps': sleepingFrame(),
    };
    if (program) recordings['a run of weft'] = record();
    if (process.env.WEFT_RECORDING)
        recordings.WEFT_RECORDING = fs.readFileSync(process.env.WEFT_RECORDING);
    for (const [what, bytes] of Object.entries(recordings)) {
        const text = printed(bytes);
        const a = weft.analyse(weft.read(bytes));
        assert.deepEqual(a.recording.problems, []);

        // workers: shares of the time since the start of the run
        const percent = ns => (100 * ns) / a.end;
        const idle = a.idle(0, a.end);
        const workers = [...text.matchAll(/^worker (\d+)((?: +[\d.]+%){5})$/gm)];
        assert.equal(workers.length, a.recording.workers);
        for (const [, worker, values] of workers) {
            const [busy, searching, asleep, , offCpu] = values.match(/[\d.]+/g).map(Number);
            const row = idle[worker];
            const of = `${what}, worker ${worker}`;
            near(busy, percent(row.busy), 0.11, `${of}, busy`);
            near(offCpu, percent(row.offCpu), 0.11, `${of}, off CPU`);
            const rest = percent(row.nothing + row.searching + row.waking + row.asleep);
            near(searching + asleep, rest, 0.21, `${of}, not busy`);
            assert.ok(what === 'a run of weft' || offCpu > 0, of);
        }

        // tasks: microseconds
        const row = /^(\S+) +(\d+) +([\d.]+) +([\d.]+) +([\d.]+) +([\d.]+) .*$/gm;
        const table = /^tasks \(us\).*\n((?:.+\n)*)/m.exec(text)[1];
        for (const [, name, count, ...times] of table.matchAll(row)) {
            const one = a.byName().find(other => other.text === name && !other.isCall);
            const of = `${what}, ${name}`;
            assert.equal(one.count, Number(count), of);
            near(times[0], one.total / 1e3, 0.06 + 0.001 * one.count, `${of}, total`);
            ['p50', 'p99', 'max'].forEach((key, i) =>
                near(times[i + 1], one[key] / 1e3, 0.1, `${of}, ${key}`),
            );
        }

        // the longest frames: milliseconds of a cause on the critical path
        const gaps = {
            'a thread was preempted, or blocked in the system': 'offCpu',
            'a worker slept although there was work': 'asleep',
            'a worker was being woken': 'waking', // also other threads, unlike the page
            'a deadline': 'timer',
        };
        const late =
            /^ +frame (\d+) took ([\d.]+) ms: (.*?), ([\d.]+) ms(?: \(usually ([\d.]+)\))?/gm;
        const causes = [];
        for (const [, number, ms, cause, onPath, usual] of text.matchAll(late)) {
            const {index} = a.frames.find(frame => frame.number === Number(number));
            near(ms, a.frames[index].duration / 1e6, 6e-4, `${what}, frame ${number}`);
            if (gaps[cause] === undefined || (what === 'a run of weft' && cause !== weft.GAPS.offCpu))
                continue;
            causes.push(gaps[cause]);
            const found = a.explain(index).rows.find(other => other.gap === gaps[cause]);
            near(onPath, found.ns / 1e6, 6e-4, `${what}, frame ${number}, ${cause}`);
            if (!usual) continue;
            if (what !== 'a run of weft') {
                near(usual, found.usual / 1e6, 6e-4, `${what}, frame ${number}, usual`);
                continue;
            }
            // In real frames the two times around the median can be far apart, such as 0 and 1 ms.
            // If page and program differ in one frame, their medians can be neighbours.
            const times = a.frames
                .filter(frame => !frame.isPartial)
                .map(frame => {
                    const row = a.explain(frame.index).rows.find(other => other.gap === found.gap);
                    return row === undefined ? 0 : row.ns;
                })
                .sort((x, y) => x - y);
            const at = times.indexOf(found.usual);
            assert.ok(at >= 0, `${what}, frame ${number}: the median is one of the times`);
            const same = times.lastIndexOf(found.usual);
            assert.ok(Number(usual) >= times[Math.max(at - 1, 0)] / 1e6 - 6e-4, `${what}, usual`);
            const next = times[Math.min(same + 1, times.length - 1)];
            assert.ok(Number(usual) <= next / 1e6 + 6e-4, `${what}, usual`);
        }
        if (what === 'simulated frames') assert.ok(causes.includes('offCpu'), text);
        if (what === 'a frame that sleeps') assert.deepEqual(causes, ['timer', 'waking'], text);
    }
});
