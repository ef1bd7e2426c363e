// A small scheduler in virtual time that writes recordings: a main task runs frames of stages, each
// stage is a batch of tasks that the main task waits for, and some tasks run beside them. The
// durations come from a seed. A delay can be put into one task of each frame, so the tests know
// what made a frame longer.
'use strict';
const {Writer, Kind, NONE} = require('./writer.js');

// A number in [0, 1) from integers.
function chance(...values) {
    let h = 2166136261;
    for (const value of values) {
        h = Math.imul(h ^ value, 16777619);
        h ^= h >>> 13;
        h = Math.imul(h, 0x5bd1e995);
        h ^= h >>> 15;
    }
    return (h >>> 0) / 4294967296;
}

const STAGES = [
    {name: 'input', count: 2, ns: 20e3},
    {name: 'scripts', count: 12, ns: 30e3},
    {name: 'think', count: 40, ns: 30e3},
    {name: 'physics', count: 30, ns: 35e3},
    {name: 'animate', count: 50, ns: 28e3},
    {name: 'attach', count: 16, ns: 12e3},
    {name: 'visibility', count: 24, ns: 40e3},
    {name: 'skin', count: 30, ns: 26e3},
    {name: 'lists', count: 24, ns: 36e3},
    {name: 'submit', count: 1, ns: 60e3},
];
const SIDE = {name: 'audio', count: 6, ns: 180e3}; // waited for only at the end of the frame

/// Returns {writer, truth}. truth[i] = {delayed: number of the task, name, ns, stage, begin, end}.
/// `delay(frame)` returns {stage, index, ns} or null; stage -1 is the side work.
function simulate({
    workers = 8,
    frames = 20,
    seed = 1,
    delay = () => null,
    capacity = Infinity,
    stages = STAGES,
    side = SIDE,
    wakeLatency = 6000,
} = {}) {
    const writer = new Writer({workers, capacity, fibers: 136});
    const MAIN_THREAD = 7;
    const MAIN_COUNTER = 0x9000;
    const MAIN_FIBER = 0;
    const state = Array.from({length: workers}, () => ({fiber: NONE, parked: true, woken: false}));
    const events = [];
    const queue = [];
    const truth = [];
    let sequence = 0;
    let nextNumber = 1;
    let now = 0;
    const free = Array.from({length: 127}, (_, i) => i + 1);
    const at = (time, act) => {
        // sorted insertion: there are few events at a time
        let i = events.length;
        while (i > 0 && events[i - 1].time > time) --i;
        events.splice(i, 0, {time, sequence: sequence++, act});
    };
    const put = (w, kind, time, fields) =>
        writer.put(w, kind, time, {
            fiber: state[w].fiber === NONE ? 0xffffff : state[w].fiber,
            ...fields,
        });

    const wake = (by, time) => {
        const sleeper = state.findIndex(s => s.parked && !s.woken);
        if (sleeper < 0) return false;
        state[sleeper].woken = true;
        if (by >= 0) put(by, Kind.Wake, time, {other: sleeper});
        else writer.put(writer.external, Kind.Wake, time, {fiber: MAIN_THREAD, other: sleeper});
        at(time + wakeLatency, t => {
            put(sleeper, Kind.Unpark, t, {});
            Object.assign(state[sleeper], {parked: false, woken: false});
            takeNext(sleeper, t + 100);
        });
        return true;
    };

    function takeNext(w, time) {
        const entry = queue.shift();
        if (entry === undefined) {
            if (state[w].fiber !== NONE) switchTo(w, time, NONE);
            put(w, Kind.Park, time + 200, {});
            state[w].parked = true;
            return;
        }
        if (entry.fiber !== undefined) {
            switchTo(w, time, entry.fiber);
            put(w, Kind.Resume, time + 80, {other: 0, a: entry.counter, name: 'frames'});
            return entry.go(w, time + 80);
        }
        if (state[w].fiber === NONE) switchTo(w, time, free.pop());
        const started = w;
        writer.begin(w, time + 60, {fiber: state[w].fiber, number: entry.number, name: entry.name});
        entry.run(w, time + 60, (end, w = started) => {
            writer.end(w, end, {fiber: state[w].fiber, number: entry.number, name: entry.name});
            const counter = entry.counter;
            if (counter !== null && --counter.left === 0 && counter.waiter) {
                put(w, Kind.Ready, end + 40, {
                    other: counter.waiter.fiber,
                    a: counter.address,
                    name: 'frames',
                });
                queue.unshift({...counter.waiter, counter: counter.address});
                counter.waiter = null;
            }
            takeNext(w, end + 90);
        });
    }
    function switchTo(w, time, fiber) {
        put(w, Kind.FiberSwitch, time, {other: fiber});
        if (state[w].fiber !== NONE && state[w].fiber !== MAIN_FIBER) free.push(state[w].fiber);
        state[w].fiber = fiber;
    }

    function submitStage(w, time, frame, stage, spec) {
        const counter = {left: spec.count, address: 0x1000 + (stage + 2) * 16, waiter: null};
        const first = nextNumber;
        nextNumber += spec.count;
        writer.submit(w, time, {
            fiber: MAIN_FIBER,
            first,
            count: spec.count,
            name: spec.name,
            counter: counter.address,
        });
        const extra = delay(frame);
        for (let i = 0; i < spec.count; ++i) {
            let ns = spec.ns * (0.7 + 0.6 * chance(seed, frame, stage + 7, i));
            if (extra !== null && extra.stage === stage && extra.index === i) {
                ns += extra.ns;
                truth[frame] = {delayed: first + i, name: spec.name, ns: extra.ns, stage};
            }
            queue.push({
                number: first + i,
                name: spec.name,
                counter,
                run: (worker, begin, done) => at(begin + ns, end => done(end)),
            });
        }
        for (let i = 0; i < spec.count && wake(w, time + 20 + i * 30); ++i);
        return counter;
    }
    // The main task waits on fiber 0; its worker goes on with another fiber.
    function waitFor(w, time, counter, go) {
        if (counter.left === 0) {
            put(w, Kind.Satisfied, time, {a: counter.address, name: 'frames'});
            return go(w, time + 50);
        }
        put(w, Kind.Wait, time, {a: counter.address, name: 'frames'});
        counter.waiter = {fiber: MAIN_FIBER, go};
        switchTo(w, time + 60, free.pop());
        takeNext(w, time + 120);
    }

    const main = {
        number: nextNumber++,
        name: 'frames',
        counter: null,
        run: (w, begin, done) => {
            const frameFrom = (frame, w2, t) => {
                if (frame === frames) return endMain(w2, t, done);
                truth[frame] = truth[frame] || {delayed: -1, name: '', ns: 0, stage: -2};
                const beside = side ? submitStage(w2, t, frame, -1, side) : {left: 0};
                const stageFrom = (stage, w3, t3) => {
                    if (stage < stages.length) {
                        const counter = submitStage(w3, t3 + 1500, frame, stage, stages[stage]);
                        return at(t3 + 4000, t4 =>
                            waitFor(w3, t4, counter, (w5, t5) => stageFrom(stage + 1, w5, t5)),
                        );
                    }
                    at(t3 + 500, t4 =>
                        waitFor(w3, t4, beside, (w5, t5) => {
                            put(w5, Kind.Frame, t5 + 200, {other: frame});
                            truth[frame].end = t5 + 200;
                            frameFrom(frame + 1, w5, t5 + 400);
                        }),
                    );
                };
                stageFrom(0, w2, t + 300);
            };
            writer.put(w, Kind.Frame, begin + 100, {fiber: MAIN_FIBER, other: 0xfffff});
            frameFrom(0, w, begin + 200);
        },
    };
    function endMain(w, time, done) {
        put(w, Kind.Ready, time + 10, {other: NONE, a: MAIN_COUNTER});
        writer.put(writer.external, Kind.Resume, time + 9000, {
            fiber: MAIN_THREAD,
            a: MAIN_COUNTER,
        });
        done(time + 50, w);
    }

    // an external thread submits the main task, and waits for it
    writer.submit(writer.external, 1000, {
        fiber: MAIN_THREAD,
        first: main.number,
        name: 'frames',
        counter: MAIN_COUNTER,
    });
    writer.put(writer.external, Kind.Wait, 3000, {fiber: MAIN_THREAD, a: MAIN_COUNTER});
    for (let w = 0; w < workers; ++w) put(w, Kind.Park, 500 + w, {});
    // takeNext gives each task a fiber; the main task must have fiber 0
    const freeLater = free.splice(0);
    free.push(MAIN_FIBER);
    queue.push(main);
    wake(-1, 1500);
    for (let guard = 0; events.length && guard < 5e6; ++guard) {
        const event = events.shift();
        now = event.time;
        event.act(event.time);
        if (freeLater.length) free.push(...freeLater.splice(0));
    }
    return {writer, truth, end: now};
}

/// Says of the workers of a recording that they were off their processors, before about each fifth
/// event: for a part of the time since the event before, or for longer than this. `most`: at most
/// so many nanoseconds are told.
function preempt(writer, seed, most = Infinity) {
    for (let ring = 0; ring < writer.workers; ++ring) {
        const records = [];
        writer.rings[ring].forEach((record, i, all) => {
            const since = i > 0 ? Number(record.ticks - all[i - 1].ticks) : 0; // a tick is 1 ns
            const isTold = since > 2 && chance(seed, ring, i) < 0.2;
            // its own sleep does not count; CONTINUES belongs to the record before it
            if (isTold && record.kind !== Kind.Unpark && record.kind !== 64) {
                const ns = Math.floor(Math.min(most, since * 1.1 * chance(seed, ring, i, 1)));
                records.push({...record, kind: Kind.OffCpu, other: ns, a: 0n, b: 0n});
            }
            records.push(record);
        });
        writer.rings[ring] = records;
    }
    return writer;
}

module.exports = {simulate, preempt, chance, STAGES, SIDE};
