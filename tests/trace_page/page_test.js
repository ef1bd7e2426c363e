// The page in headless Chromium, opened from disk. Screenshots and figures go to build/trace_page/.
//
// WEFT_TRACE_PAGE names the program of main.cpp, and WEFT_TRACE the program weft_trace.
// WEFT_RECORDING may name a recording to look at, too.
'use strict';
const test = require('node:test');
const assert = require('node:assert');
const fs = require('fs');
const path = require('path');
const {execFileSync, spawnSync} = require('child_process');
const {pathToFileURL} = require('url');
const {Browser} = require('./browser.js');
const {Writer, Kind} = require('./writer.js');
const {simulate, STAGES} = require('./simulate.js');
const {page, template} = require('../../bench/trace/page/build.js');

const out = path.join(__dirname, '../../build/trace_page');
fs.mkdirSync(out, {recursive: true});
const program = process.env.WEFT_TRACE_PAGE;
const weftTrace = process.env.WEFT_TRACE;
const CELL =
    'data:image/svg+xml;utf8,' +
    encodeURIComponent(
        '<svg xmlns="http://www.w3.org/2000/svg" width="96" height="54">' +
            '<rect width="96" height="54" fill="#345"/>' +
            '<circle cx="48" cy="27" r="16" fill="#da6"/></svg>',
    );

let browser;
test.before(() => {
    browser = new Browser();
});
test.after(() => browser.close());

function save(name, recording, options) {
    const file = path.join(out, name);
    fs.writeFileSync(file, page(recording, options));
    return pathToFileURL(file).href;
}
// Opens a page, and in the end expects no error and no request over a network.
async function withPage(url, options, act) {
    const tab = await browser.open(url, options);
    try {
        await act(tab);
        assert.deepEqual(tab.errors, []);
        for (const request of tab.requests) assert.match(request, /^(file|data):/);
    } finally {
        await tab.close();
    }
}
const slow = frame => (frame % 7 === 3 ? {stage: 5, index: 4, ns: 1.2e6} : null);
const simulated = simulate({frames: 40, seed: 3, delay: slow}).writer.bytes();
const title = 'Simulated <frames> & "delays"';
const usual = save('simulated.html', simulated, {title, budget: 1.8e6});
const text = (tab, id) => tab.evaluate(`document.getElementById('${id}').textContent`);
const rowsOf = (tab, id) =>
    tab.call(table => {
        const rows = [...document.querySelectorAll(`#${table} tbody tr`)];
        return rows.map(row => [...row.cells].map(cell => cell.textContent));
    }, id);
// Where an element is in the window.
const placeOf = (tab, id) =>
    tab.call(element => {
        const {left, top, width} = document.getElementById(element).getBoundingClientRect();
        return {left, top, width};
    }, id);
// How many pixels of a canvas have which colour: [colour, count].
const coloursOf = (tab, id) =>
    tab.call(element => {
        const canvas = document.getElementById(element);
        const context = canvas.getContext('2d');
        const {data} = context.getImageData(0, 0, canvas.width, canvas.height);
        const seen = new Map();
        for (let i = 0; i < data.length; i += 4) {
            const key = (data[i] << 16) | (data[i + 1] << 8) | data[i + 2];
            if (data[i + 3] > 200) seen.set(key, (seen.get(key) || 0) + 1);
        }
        return [...seen];
    }, id);
const view = tab => tab.evaluate('({from: weft.page.timeline.from, to: weft.page.timeline.to})');
const frameNumber = tab => tab.evaluate('weft.page.frames[weft.page.chosen].number');

test('the page names nothing on a network, and no part ends its script', () => {
    const html = template();
    assert.doesNotMatch(
        html.replace(/http-equiv/g, ''),
        /https?:\/\/|src=|href=|@import|fetch\(|XMLHttpRequest/,
    );
    assert.equal(html.match(/<script/g).length, html.match(/<\/script/g).length);
    assert.doesNotMatch(html, /@include/);
});

test('title, figures, frames, path, idle times and tasks are there', () =>
    withPage(usual, {}, async tab => {
        assert.equal(await tab.evaluate('document.title'), title);
        assert.equal(await text(tab, 'title'), title);
        assert.match(await text(tab, 'figures'), /8 workers.*9,401 tasks.*41 frames/);
        assert.match(await text(tab, 'frame-figures'), /p50.*p95.*p99.*longest.*6 over 1\.80 ms/);
        assert.equal(await tab.evaluate(`document.getElementById('problems').hidden`), true);
        // the longest frame is chosen, and its delay is named
        assert.match(await text(tab, 'frame-title'), /^Frame \d+: 2\.\d\d ms, \d+ µs over budget$/);
        assert.match(await text(tab, 'cause'), /The largest difference: attach, 1\.\d\d ms more/);
        const steps = await rowsOf(tab, 'path');
        assert.match(steps[0][0], /^attach/);
        assert.ok(steps.length >= 10);
        const idle = await rowsOf(tab, 'idle-sums');
        assert.deepEqual(
            idle.map(row => row[0]),
            [
                'busy',
                'nothing could begin',
                'searching, something could begin',
                'being woken',
                'asleep, something could begin',
                'off CPU: preempted, or blocked in the system',
            ],
        );
        const parts = idle.reduce((sum, row) => sum + parseFloat(row[2]), 0);
        assert.ok(Math.abs(parts - 100) < 0.5, `${parts} %`);
        assert.equal(await tab.evaluate(`document.querySelectorAll('#idle .parts').length`), 8);
        const tasks = await rowsOf(tab, 'tasks');
        assert.equal(tasks.length, STAGES.length + 2);
        const animate = tasks.find(row => row[0] === 'animate');
        assert.equal(animate[1], '2,000');
        for (const cell of animate.slice(4, 7)) assert.match(cell, /^\d+(\.\d+)? (ns|µs|ms)$/);
        assert.match(tasks.find(row => row[0] === 'frames')[7], /ms$/); // the longest wait
        assert.equal(animate.length, 10, 'no column for stacks: none was measured');
    }));

test('bars, histogram and timeline are drawn', () =>
    withPage(usual, {}, async tab => {
        const bars = await coloursOf(tab, 'frames');
        const histogram = await coloursOf(tab, 'histogram');
        const timeline = await coloursOf(tab, 'timeline');
        const palette = require('../../bench/trace/page/palette.js').palettes.dark;
        const count = (list, colour) =>
            (list.find(([key]) => key === parseInt(colour.slice(1), 16)) || [0, 0])[1];
        assert.ok(count(bars, palette.bar) > 10000);
        assert.ok(count(bars, palette.over) > 2000);
        assert.ok(count(bars, palette.accent) > 100);
        assert.ok(count(histogram, palette.bar) > 500);
        assert.ok(count(timeline, palette.accent) > 500, 'the critical path');
        assert.ok(timeline.length > 100);
        const {left, top} = await placeOf(tab, 'frames');
        const x = left + (await tab.evaluate('weft.page.bars.xOf(11)'));
        await tab.drag(x, x, top + 90);
        assert.equal(await frameNumber(tab), 10);
    }));

test('keys', () =>
    withPage(usual, {}, async tab => {
        const longest = await frameNumber(tab);
        await tab.key('ArrowLeft');
        assert.equal(await frameNumber(tab), longest - 1);
        assert.match(await text(tab, 'frame-title'), new RegExp(`^Frame ${longest - 1}: `));
        assert.match(await text(tab, 'path-title'), new RegExp(`why frame ${longest - 1} took`));
        await tab.key('ArrowRight');
        assert.equal(await frameNumber(tab), longest);
        await tab.key('End');
        assert.equal(await frameNumber(tab), 39);
        await tab.key('Home');
        await tab.key('n');
        assert.equal(await frameNumber(tab), 3, 'the next frame over budget');
        await tab.key('l');
        assert.equal(await frameNumber(tab), longest);
        const before = await view(tab);
        await tab.key('+');
        const near = await view(tab);
        assert.ok(near.to - near.from < (before.to - before.from) * 0.7);
        await tab.key('ArrowRight', {shift: true});
        assert.ok((await view(tab)).from > near.from);
        await tab.key('-');
        await tab.key('-');
        assert.ok((await view(tab)).to - (await view(tab)).from > before.to - before.from);
        await tab.key('0');
        assert.deepEqual(await view(tab), before);
        await tab.key('a');
        assert.ok((await view(tab)).to > 40e6);
        await tab.key('p');
        assert.equal(await tab.evaluate(`document.getElementById('show-path').checked`), false);
        await tab.key('r');
        assert.equal(await tab.evaluate(`document.getElementById('show-arrows').checked`), false);
        await tab.key('?');
        assert.equal(await tab.evaluate(`document.getElementById('help').open`), true);
        assert.match(await text(tab, 'help'), /next frame over budget/);
        await tab.key('ArrowLeft');
        assert.equal(await frameNumber(tab), longest, 'keys do nothing behind the help');
        await tab.key('Escape');
        assert.equal(await tab.evaluate(`document.getElementById('help').open`), false);
        await tab.key('t');
        assert.equal(await tab.evaluate('weft.page.theme.isDark'), false);
        await tab.evaluate('localStorage.clear()');
    }));

test('search', () =>
    withPage(usual, {}, async tab => {
        await tab.key('/');
        assert.equal(await tab.evaluate('document.activeElement.id'), 'search');
        await tab.type('AtT');
        assert.deepEqual(
            (await rowsOf(tab, 'tasks')).map(row => row[0]),
            ['attach'],
        );
        assert.equal(await text(tab, 'found'), '640 found');
        await tab.key('Enter');
        const first = await tab.evaluate('weft.page.timeline.chosenTask');
        assert.match(
            await text(tab, 'details'),
            /attach task \d+.*Ran .*Queued .*Submitted at .* by frames/s,
        );
        await tab.key('Enter');
        assert.notEqual(await tab.evaluate('weft.page.timeline.chosenTask'), first);
        await tab.screenshot(path.join(out, 'search_dark.png'));
        await tab.key('Escape');
        assert.equal(await text(tab, 'found'), '');
        assert.equal((await rowsOf(tab, 'tasks')).length, STAGES.length + 2);
    }));

test('mouse: wheel, drag, select, click, sort', () =>
    withPage(usual, {}, async tab => {
        const place = await placeOf(tab, 'timeline');
        const y = place.top + 50;
        const middle = place.left + place.width / 2;
        const before = await view(tab);
        await tab.mouse('mouseWheel', middle, y, {deltaX: 0, deltaY: -400});
        await tab.frame();
        const near = await view(tab);
        assert.ok(near.to - near.from < (before.to - before.from) * 0.8, 'the wheel zooms in');
        await tab.drag(middle, middle + 200, y);
        const moved = await view(tab);
        assert.ok(
            moved.from < near.from && Math.abs(moved.to - moved.from - (near.to - near.from)) < 1,
            'a drag moves',
        );
        await tab.drag(middle, middle + 200, y, 8);
        const {from, to} = await tab.evaluate('weft.page.timeline.selection');
        assert.ok(
            Math.abs((to - from) / (moved.to - moved.from) - 200 / (place.width - 84)) < 0.01,
            'Shift and drag selects',
        );
        assert.match(await tab.evaluate('location.hash'), /^#frame=\d+&from=[\d.]+&to=[\d.]+$/);
        assert.match(await text(tab, 'idle-title'), /the selection/);
        await tab.evaluate(`document.querySelector('input[value=selection]').click()`);
        const chosen = (await rowsOf(tab, 'tasks')).reduce(
            (sum, row) => sum + Number(row[1].replace(',', '')),
            0,
        );
        assert.ok(chosen > 0 && chosen < 500, `${chosen} tasks in the selection`);
        await tab.evaluate(`document.querySelector('input[value=frame]').click()`);
        assert.equal((await rowsOf(tab, 'tasks')).find(row => row[0] === 'animate')[1], '50');
        await tab.evaluate(`document.querySelector('input[value=all]').click()`);

        // a click on a slice shows the task, a click beside it hides it again
        await tab.key('0');
        await tab.frame();
        const slice = await tab.call(() => {
            const {timeline, analysis} = globalThis.weft.page;
            const row = timeline.rows[3];
            const i = analysis.sliceBefore(row.track, (timeline.from + timeline.to) / 2);
            const {begin, end, task} = analysis.slices;
            return {x: timeline.xOf((begin[i] + end[i]) / 2), y: row.y + 8, task: task[i]};
        });
        await tab.drag(place.left + slice.x, place.left + slice.x, place.top + slice.y);
        assert.equal(await tab.evaluate('weft.page.timeline.chosenTask'), slice.task);
        assert.equal(await tab.evaluate(`document.getElementById('details').hidden`), false);
        assert.match(await text(tab, 'tip'), /this part .*ran .*worker 3/s);
        await tab.screenshot(path.join(out, 'details_dark.png'));

        const columns = {
            count: 1,
            total: 2,
            p50: 4,
            p99: 5,
            max: 6,
            longestWait: 7,
            queuedP50: 8,
            queuedP99: 9,
        };
        const value = cell =>
            cell === '–'
                ? -1
                : parseFloat(cell.replace(/,/g, '')) *
                  (/ ms$/.test(cell) ? 1e6 : / µs$/.test(cell) ? 1e3 : 1);
        for (const [key, column] of Object.entries(columns)) {
            if (key === 'total') continue; // sorted by it already
            await tab.evaluate(`document.querySelector('#tasks button[data-sort=${key}]').click()`);
            const down = (await rowsOf(tab, 'tasks')).map(row => value(row[column]));
            assert.deepEqual(
                down,
                [...down].sort((a, b) => b - a),
                key,
            );
        }
        await tab.evaluate(`document.querySelector('#tasks button[data-sort=text]').click()`);
        const names = (await rowsOf(tab, 'tasks')).map(row => row[0]);
        assert.deepEqual(names, [...names].sort());
        await tab.key('Escape');
        assert.equal(await tab.evaluate('weft.page.timeline.selection'), null);
    }));

test('a link to a frame and a selection', () =>
    withPage(usual + '#frame=12&from=17000.5&to=17400.25', {}, async tab => {
        assert.equal(await frameNumber(tab), 12);
        assert.deepEqual(await tab.evaluate('weft.page.timeline.selection'), {
            from: 17000500,
            to: 17400250,
        });
        assert.equal(await tab.evaluate('location.hash'), '#frame=12&from=17000.500&to=17400.250');
        const {from, to} = await view(tab);
        assert.ok(from < 17000500 && to > 17400250 && to - from < 800000);
        await tab.screenshot(path.join(out, 'selection_dark.png'));
        await tab.evaluate(`location.hash = '#frame=20'`);
        await tab.frame();
        assert.equal(await frameNumber(tab), 20);
    }));

test('screenshots in dark and light; the switch wins over the system', async () => {
    for (const scheme of ['dark', 'light']) {
        await withPage(usual, {scheme}, async tab => {
            assert.equal(await tab.evaluate('weft.page.theme.isDark'), scheme === 'dark');
            await tab.screenshot(path.join(out, `simulated_${scheme}.png`));
        });
    }
    await withPage(usual, {scheme: 'dark'}, async tab => {
        await tab.setScheme('light');
        await tab.frame();
        assert.equal(
            await tab.evaluate('weft.page.theme.isDark'),
            false,
            'the page follows the system',
        );
        await tab.key('t');
        await tab.setScheme('dark');
        await tab.frame();
        await tab.setScheme('light');
        await tab.frame();
        assert.equal(await tab.evaluate('weft.page.theme.isDark'), true, 'the choice stays');
        await tab.evaluate('localStorage.clear()');
    });
});

test('a narrow window', () =>
    withPage(usual, {width: 700, height: 900}, async tab => {
        const wide = await tab.evaluate('document.documentElement.scrollWidth');
        assert.ok(wide <= 700, `the page is ${wide} wide`);
        await tab.screenshot(path.join(out, 'narrow_dark.png'));
    }));

test('pictures and the what-if table', async () => {
    const times = (ns, gain = 12e4, isNoise = false) => ({
        ns,
        gain,
        isNoise,
        least: gain - 2e4,
        most: gain + 2e4,
    });
    const url = save('options.html', simulated, {
        title: 'With pictures',
        budget: 2e6,
        pictures: Array.from({length: 40}, (_, i) => ({frame: i, url: CELL})),
        whatIf: {
            note: 'Frames run again on virtual cores, 20 orders.',
            rows: [
                {change: 'no change', middle: times(1.22e6, 0), slow: times(2.43e6, 0)},
                {change: 'attach 20 % faster', middle: times(1.1e6), slow: times(2.5e6, -7e4)},
                {change: '12 workers', middle: times(1.21e6, 1e4, true), slow: times(2.43e6, 0)},
            ],
        },
    });
    await withPage(url, {scheme: 'light'}, async tab => {
        assert.ok((await tab.evaluate(`document.querySelectorAll('#pictures img').length`)) >= 5);
        const rows = await rowsOf(tab, 'what-if');
        assert.deepEqual(rows[0].slice(0, 3), ['no change', '1.22 ms', '']);
        const gains = ['attach 20 % faster', '1.10 ms', '120 µs', '100 µs, 140 µs', '2.50 ms'];
        assert.deepEqual(rows[1], [...gains, '−70 µs']);
        assert.equal(rows[2][2], 'within noise');
        await tab.screenshot(path.join(out, 'options_light.png'));
    });
});

// A picture of a frame that says its number.
const pictureOf = frame => ({frame, url: `${CELL}<!--${frame}-->`});
const imageOf = (tab, where, what) =>
    tab.evaluate(`document.querySelector('${where} img')?.${what} || 'none'`);

test('pictures belong to the numbers of frames, not to their places', async () => {
    // the first frames have been overwritten; every third frame has no picture
    const recording = simulate({frames: 40, capacity: 1500}).writer.bytes();
    const pictures = [];
    for (let frame = 0; frame < 40; ++frame) if (frame % 3 !== 0) pictures.push(pictureOf(frame));
    await withPage(save('numbers.html', recording, {pictures}), {}, async tab => {
        const numbers = await tab.evaluate('weft.page.frames.map(frame => frame.number)');
        assert.ok(numbers[0] > 0 && numbers.length > 10, `frames from ${numbers[0]} on`);
        const {left, top} = await placeOf(tab, 'frames');
        for (let i = 0; i < numbers.length; ++i) {
            await tab.call(index => weft.page.choose(index), i);
            const text = numbers[i] % 3 === 0 ? 'none' : `frame ${numbers[i]}`;
            assert.equal(await imageOf(tab, '#picture', 'alt'), text);
            const strip = `document.querySelector('#pictures .chosen')?.alt || 'none'`;
            assert.equal(await tab.evaluate(strip), text);
            const x = left + (await tab.call(index => weft.page.bars.xOf(index), i));
            await tab.mouse('mouseMoved', x, top + 90);
            const [, number] = /<!--(.*)-->$/.exec(await imageOf(tab, '#tip', 'src')) || [];
            assert.equal(number === undefined ? 'none' : `frame ${number}`, text);
        }
        await tab.call(index => weft.page.choose(index), numbers.length - 2);
        await tab.screenshot(path.join(out, 'numbers_dark.png'));
    });
    await withPage(usual, {}, async tab => {
        assert.equal(await imageOf(tab, '#picture', 'alt'), 'none');
        assert.equal(await tab.evaluate(`document.getElementById('picture').hidden`), true);
        assert.equal(await tab.evaluate(`document.getElementById('pictures').hidden`), true);
    });
});

test('a recording without frames has no picture', async () => {
    const w = new Writer({workers: 1});
    w.begin(0, 100, {fiber: 1, number: 1, name: 'a'});
    w.end(0, 5000, {fiber: 1, number: 1, name: 'a'});
    const url = save('no_frames.html', w.bytes(), {pictures: [pictureOf(0)]});
    await withPage(url, {}, async tab => {
        assert.equal(await tab.evaluate(`document.querySelectorAll('img').length`), 0);
    });
});

test('weft_trace reads the pictures of a folder', {skip: !weftTrace}, async () => {
    const folder = path.join(out, 'pictures');
    fs.rmSync(folder, {recursive: true, force: true});
    fs.mkdirSync(folder);
    const names = [
        'frame_000003.png', '7.jpg', 'a.12.jpeg', 'shot9.webp', // of recorded frames
        'frame_000040.png', 'frame.png', '5.txt', 'x99999999999.png', // others
    ];
    for (const name of names) fs.writeFileSync(path.join(folder, name), name);
    const file = path.join(out, 'simulated_for_weft_trace.weft');
    fs.writeFileSync(file, simulated);
    const show = (...options) => {
        const result = spawnSync(weftTrace, [file, '--to', 'html', ...options], {
            maxBuffer: 1 << 28,
            encoding: 'utf8',
        });
        const json = />({.*})<\/script>/.exec(result.stdout);
        return {...result, options: json && JSON.parse(json[1])};
    };
    const {options} = show('--pictures', folder, '--title', 'A title', '--budget', '2');
    const url = (type, name) => `data:image/${type};base64,${Buffer.from(name).toString('base64')}`;
    assert.deepEqual(options.pictures, [
        {frame: 3, url: url('png', names[0])},
        {frame: 7, url: url('jpeg', names[1])},
        {frame: 9, url: url('webp', names[3])},
        {frame: 12, url: url('jpeg', names[2])},
    ]);
    assert.equal(options.title, 'A title');
    assert.equal(options.budget, 2e6);
    const plain = show();
    assert.deepEqual(plain.options.pictures, []);
    assert.equal(plain.options.title, file);
    assert.equal(plain.stderr, '');
    const missing = show('--pictures', folder + '/missing');
    assert.equal(missing.status, 2);
    assert.match(missing.stderr, /missing: No such file/);
    // the notes are those of the other formats
    fs.writeFileSync(file, simulated.subarray(0, Math.floor(simulated.length * 0.6)));
    assert.match(show().stderr, /^note: The file was cut off/);
    fs.writeFileSync(file, 'not a recording');
    assert.equal(show().status, 2);
});

test('a picture from a network is not shown', async () => {
    const pictures = [{frame: 5, url: 'https://example.invalid/a.png'}];
    await withPage(save('network.html', simulated, {pictures}) + '#frame=5', {}, async tab => {
        assert.equal(await tab.evaluate(`document.querySelectorAll('img').length`), 0);
    });
});

test('names of functions from the options', async () => {
    const w = new Writer({workers: 1});
    w.put(1, Kind.CallBegin, 100, {fiber: 9, b: 0x402000, isFunction: true});
    w.put(1, Kind.CallEnd, 900, {fiber: 9, b: 0x402000, isFunction: true});
    await withPage(
        save('functions.html', w.bytes(), {functions: {'0x402000': 'LoadFile'}}),
        {},
        async tab => {
            assert.match((await rowsOf(tab, 'tasks'))[0][0], /^LoadFile \(blocking call\)$/);
        },
    );
});

test('stacks: a column, advice, and the details of a task', async () => {
    const w = new Writer({workers: 1, stackBytes: 65536});
    const list = [['deep', 51200], ['roomy', 10035], ['none', 0], ['deep', 2048]];
    list.forEach(([name, bytes], i) => {
        const [time, number] = [1e4 * (i + 1), i + 1];
        w.submit(1, time, {fiber: 9, first: number, name});
        w.begin(0, time + 100, {fiber: 5, number, name});
        if (bytes) w.measuredEnd(0, time + 900, {fiber: 5, number, name, bytes});
        else w.end(0, time + 900, {fiber: 5, number, name});
    });
    w.put(0, Kind.Frame, 39e3, {fiber: 5, other: 0});
    w.put(0, Kind.Frame, 49e3, {fiber: 5, other: 1});
    await withPage(save('stacks.html', w.bytes(), {}), {}, async tab => {
        const stacks = async () => (await rowsOf(tab, 'tasks')).map(row => [row[0], row[10]]);
        const sort = () =>
            tab.evaluate(`document.querySelector('#tasks button[data-sort=stackBytes]').click()`);
        await sort();
        const down = [
            ['deep', '50.0 of 64 KiBraise SchedulerOptions::stackBytes'],
            ['roomy', '9.8 of 64 KiB'],
            ['none', '–'],
        ];
        assert.deepEqual(await stacks(), down);
        await sort();
        assert.deepEqual(await stacks(), down.reverse());
        const details = async task => {
            await tab.call(number => weft.page.chooseTask(number), task);
            return text(tab, 'details');
        };
        const at = await tab.evaluate('[...weft.page.analysis.tasks.number]');
        assert.match(await details(at.indexOf(2)), /Used 9\.8 of 64 KiB of stack\./);
        assert.match(await details(at.indexOf(4)), /Used 2\.0 of 64 KiB of stack\./);
        assert.doesNotMatch(await details(at.indexOf(3)), /stack/);
        // of the tasks of one frame: their stacks, but no advice
        await tab.call(() => weft.page.choose(0));
        await tab.evaluate(`document.querySelector('input[value=frame]').click()`);
        const first = [['none', '–'], ['roomy', '9.8 of 64 KiB'], ['deep', '50.0 of 64 KiB']];
        assert.deepEqual(await stacks(), first);
        await tab.call(() => weft.page.choose(1));
        assert.deepEqual(await stacks(), [['deep', '2.0 of 64 KiB']]);
    });
});

test('off the processor: timeline, what the mouse says, details, sums, legend, help', async () => {
    const w = new Writer({workers: 2});
    const fiber = 5;
    const ms = 1e6;
    w.submit(2, 0.1 * ms, {fiber: 9, first: 1, count: 2, name: 'show', counter: 0x10});
    w.begin(0, 0.2 * ms, {fiber, number: 1, name: 'show'});
    w.put(0, Kind.OffCpu, 12 * ms, {fiber, other: 9.95 * ms});
    w.end(0, 14 * ms, {fiber, number: 1, name: 'show'});
    w.put(0, Kind.OffCpu, 18 * ms, {fiber, other: 3 * ms}); // between two tasks
    w.put(0, Kind.Frame, 20 * ms, {fiber, other: 0});
    w.begin(1, 0.2 * ms, {fiber: 6, number: 2, name: 'show'});
    w.end(1, 5 * ms, {fiber: 6, number: 2, name: 'show'});
    const url = save('off_cpu.html', w.bytes(), {title: 'Off the processor'});
    const offCpu = theme => require('../../bench/trace/page/palette.js').palettes[theme].offCpu;
    for (const scheme of ['dark', 'light']) {
        await withPage(url, {scheme, height: 1000}, async tab => {
            const countOf = async () => {
                const seen = await coloursOf(tab, 'timeline');
                return new Map(seen).get(parseInt(offCpu(scheme).slice(1), 16)) || 0;
            };
            assert.ok((await countOf()) > 5000, 'pixels of times off the processor');
            // also where there are more slices than pixels
            const dense = await tab.call(() => {
                const {timeline, theme} = weft.page;
                const {offs} = weft.page.analysis;
                const g = timeline.g;
                g.clearRect(0, 0, timeline.width, timeline.height);
                const {sliceStart} = weft.page.analysis;
                timeline.drawDense(timeline.rows[0], sliceStart[0], sliceStart[1]);
                const x = timeline.xOf((offs.begin[0] + offs.end[0]) / 2) * timeline.ratio;
                const y = (timeline.rows[0].y + 5) * timeline.ratio;
                return {seen: [...g.getImageData(x, y, 1, 1).data], rgb: theme.offCpuRgb};
            });
            assert.deepEqual(dense.seen.slice(0, 3), dense.rgb);
            await tab.call(() => weft.page.drawAll());
            await tab.screenshot(path.join(out, `off_cpu_${scheme}.png`));
            if (scheme === 'light') return;

            const place = await placeOf(tab, 'timeline');
            const at = async (row, time) => {
                const {x, y} = await tab.call(
                    (index, ns) => {
                        const {timeline} = weft.page;
                        return {x: timeline.xOf(ns), y: timeline.rows[index].y + 8};
                    },
                    row,
                    time,
                );
                await tab.drag(place.left + x, place.left + x, place.top + y); // a click
                return [await text(tab, 'tip'), await text(tab, 'details')];
            };
            const [tip, details] = await at(0, 8 * ms);
            assert.equal(
                tip,
                'show\noff the processor 9.95 ms\nran 3.85 ms\nworker 0\n' +
                    'preempted, or blocked in the system',
            );
            assert.match(details, /Ran 3\.85 ms; from begin to end 13\.80 ms\./);
            assert.match(details, /Off the processor 9\.95 ms\./);
            assert.match((await at(0, 13 * ms))[0], /^show\n.*\noff the processor 9\.95 ms\n/s);
            const [between] = await at(0, 17 * ms);
            assert.match(between, /^off the processor 3\.00 ms\nworker 0\n/);
            assert.equal(await tab.evaluate('weft.page.timeline.chosenTask'), -1);
            const [other, otherDetails] = await at(1, 3 * ms);
            assert.match(other, /^show\n/);
            assert.doesNotMatch(other + otherDetails, /off the processor/i);

            const sums = await rowsOf(tab, 'idle-sums');
            const name = 'off CPU: preempted, or blocked in the system';
            assert.deepEqual(sums[5].slice(0, 2), [name, '12.95 ms']);
            const workers = await tab.call(() =>
                [...document.querySelectorAll('#idle .account')].map(row =>
                    [...row.children].map(cell => cell.textContent),
                ),
            );
            // the frame is the recording: 19.9 ms
            assert.deepEqual(workers, [
                ['', '', 'busy', 'off CPU'],
                ['worker 0', '', '19.3 %', '65.1 %'],
                ['worker 1', '', '24.1 %', '0.0 %'],
            ]);
            assert.match(await text(tab, 'legend'), /off CPU: preempted/);
            const [longest] = await rowsOf(tab, 'path');
            const lost = 'a thread was preempted, or blocked in the system';
            assert.deepEqual(longest.slice(0, 2), [lost, '12.95 ms']);
            await tab.key('?');
            assert.match(await text(tab, 'help'), /“Off CPU”: the system took the processor/);
        });
    }
});

test('recordings that are cut, overwritten, empty or none say so', async () => {
    const cut = simulated.subarray(0, Math.floor(simulated.length * 0.6));
    await withPage(save('cut.html', cut, {}), {}, async tab => {
        assert.match(await text(tab, 'problems'), /The file was cut off/);
        assert.ok((await rowsOf(tab, 'tasks')).length > 5);
    });
    const old = simulate({frames: 40, capacity: 500}).writer.bytes();
    await withPage(save('overwritten.html', old, {budget: 1.4e6}), {}, async tab => {
        assert.match(await text(tab, 'problems'), /oldest events of some workers were overwritten/);
        await tab.key('a');
        await tab.screenshot(path.join(out, 'overwritten_dark.png'));
    });
    await withPage(save('empty.html', new Writer().bytes(), {}), {}, async tab => {
        assert.match(await text(tab, 'problems'), /no events/);
        await tab.key('ArrowRight');
        await tab.key('+');
    });
    await withPage(save('none.html', Buffer.from('not a recording'), {}), {}, async tab => {
        assert.match(await text(tab, 'problems'), /This is no recording/);
    });
    const marks = new Writer({workers: 1});
    marks.begin(0, 100, {fiber: 1, number: 1, name: 'a'});
    marks.end(0, 5000, {fiber: 1, number: 1, name: 'a'});
    await withPage(save('no_marks.html', marks.bytes(), {}), {}, async tab => {
        assert.match(await text(tab, 'problems'), /no frame marks/);
        assert.match(await text(tab, 'frame-title'), /^The recording: /);
        await tab.key('ArrowRight');
    });
});

test('a name with markup is shown as text', async () => {
    const w = new Writer({workers: 1});
    w.submit(1, 50, {fiber: 7, first: 1, name: '</script><img src=x onerror="document.title=1">'});
    w.begin(0, 100, {fiber: 1, number: 1, name: '</script><img src=x onerror="document.title=1">'});
    w.end(0, 5000, {fiber: 1, number: 1, name: '</script><img src=x onerror="document.title=1">'});
    await withPage(
        save('markup.html', w.bytes(), {title: '</script><b>title</b>'}),
        {},
        async tab => {
            assert.equal(await tab.evaluate('document.title'), '</script><b>title</b>');
            assert.equal(await tab.evaluate(`document.querySelectorAll('img').length`), 0);
            assert.match((await rowsOf(tab, 'tasks'))[0][0], /^<\/script><img/);
        },
    );
});

test('100,000 slices at 30 redraws a second', async () => {
    const {writer} = simulate({frames: 420, workers: 8});
    await withPage(save('large.html', writer.bytes(), {title: '420 frames'}), {}, async tab => {
        const all = await tab.evaluate('weft.page.analysis.slices.count');
        assert.ok(all >= 100000, `${all} slices`);
        const measure = (from, to) => tab.evaluate(`weft.page.measureRedraws(100, ${from}, ${to})`);
        const {begin, end} = await tab.evaluate(
            '({begin: weft.page.analysis.begin, end: weft.page.analysis.end})',
        );
        // all of it; a part in which each row has just fewer slices than the page mixes; one frame
        const views = {
            'the whole recording': [begin, end],
            '20 frames': [begin, begin + (end - begin) / 21],
            '2 frames': [begin, begin + (end - begin) / 210],
        };
        const lines = [];
        for (const [name, [from, to]] of Object.entries(views)) {
            const {slices, milliseconds} = await measure(from, to);
            const [median, longest] = [50, 99].map(at => milliseconds[at].toFixed(1));
            const times = `median ${median} ms a redraw, longest ${longest} ms`;
            lines.push(`${name}: ${slices} slices, ${times}`);
            assert.ok(milliseconds[50] < 1000 / 30, lines[lines.length - 1]);
        }
        fs.writeFileSync(path.join(out, 'redraws.txt'), lines.join('\n') + '\n');
        console.log(lines.join('\n'));
        await tab.key('a');
        await tab.screenshot(path.join(out, 'large_dark.png'));
    });
});

test('the page that C++ writes is the one that node writes', {skip: !program}, async () => {
    const file = path.join(out, 'simulated.weft');
    const name = 'A "title" with </script> and \\ and \u00fc';
    fs.writeFileSync(file, simulated);
    const html = execFileSync(program, ['html', file, name, '1800000'], {
        maxBuffer: 1 << 28,
    }).toString();
    const json = />({.*})<\/script>/.exec(html)[1];
    const options = JSON.parse(json);
    assert.equal(options.title, name);
    assert.equal(options.budget, 1800000);
    assert.deepEqual(options.pictures, [
        {frame: 3, url: 'data:image/gif;base64,R0lGODlhAQABAAAAACw='},
    ]);
    assert.deepEqual(options.functions, {'0x402000': 'Load<File>'});
    assert.equal(options.whatIf.note, '<b>');
    assert.doesNotMatch(json, /</);
    const place = '/*@json*/';
    assert.equal(
        html.replace(json, place),
        page(simulated, {}).replace('>{}<', `>${place}<`),
        'all but the options',
    );
    for (const length of [0, 1, 2, 3, 4, 100]) {
        // each way in which base64 can end
        fs.writeFileSync(file, simulated.subarray(0, length));
        const part = execFileSync(program, ['html', file, name, '0']).toString();
        assert.ok(
            part.includes(
                `>${Buffer.from(simulated.subarray(0, length)).toString('base64')}</script>`,
            ),
        );
    }
    fs.writeFileSync(path.join(out, 'from_cpp.html'), html);
    await withPage(pathToFileURL(path.join(out, 'from_cpp.html')).href, {}, async tab => {
        assert.equal(await text(tab, 'title'), name);
        assert.ok((await rowsOf(tab, 'tasks')).length > 5);
    });
});

test('a recording of the library', {skip: !program}, async () => {
    let file = process.env.WEFT_RECORDING;
    if (!file) execFileSync(program, ['record', (file = path.join(out, 'library.weft')), '60']);
    const url = save('library.html', fs.readFileSync(file), {
        title: 'A recording of the library',
        budget: 4e6,
    });
    for (const scheme of ['dark', 'light']) {
        await withPage(url, {scheme}, async tab => {
            assert.ok((await rowsOf(tab, 'tasks')).length >= 2);
            assert.ok((await rowsOf(tab, 'path')).length >= 1);
            const [wide, room] = await tab.evaluate(
                `['#tasks', '.scroll:has(#tasks)'].map(` +
                    `name => document.querySelector(name).clientWidth)`,
            );
            assert.ok(wide <= room, `the table of tasks is ${wide} wide, and has ${room}`);
            await tab.screenshot(path.join(out, `library_${scheme}.png`));
        });
    }
});
