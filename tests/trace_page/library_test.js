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
const program = process.env.WEFT_TRACE_PAGE;
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
