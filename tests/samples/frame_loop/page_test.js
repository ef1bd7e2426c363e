// The sample frame_loop as a page in headless Chromium, which samples/frame_loop/page.sh builds and
// serves. Its pictures are compared with those of the native program, build/Release/frame_loop.
// Screenshots go to build/page/.
'use strict';
const test = require('node:test');
const assert = require('node:assert');
const fs = require('fs');
const path = require('path');
const {execFileSync, spawn} = require('child_process');
const {Browser} = require('../../trace_page/browser.js');

const root = path.join(__dirname, '../../..');
const out = path.join(root, 'build/page');
fs.rmSync(out, {recursive: true, force: true});
fs.mkdirSync(out, {recursive: true});
const native = (...options) =>
    execFileSync('build/Release/frame_loop', options, {cwd: root, encoding: 'utf8'});

let server, address, browser;
test.before(async () => {
    server = spawn('samples/frame_loop/page.sh', ['0'], {cwd: root, stdio: ['ignore', 'pipe', 'ignore']});
    address = await new Promise((resolve, reject) => {
        let text = '';
        server.stdout.on('data', data => {
            const found = /\((http:.*?)\)/.exec((text += data));
            if (found) resolve(found[1]);
        });
        server.on('exit', code => reject(new Error(`page.sh ended with ${code}`)));
    });
    browser = new Browser();
});
test.after(async () => {
    await browser?.close();
    server.kill();
});

// Opens the page with options of the program. In the end the program has reported nothing, and no
// other server was asked.
async function withPage(options, act) {
    const tab = await browser.open(`${address}?${encodeURI(options)}`, {width: 1100, height: 760});
    try {
        await act(tab);
        assert.deepEqual(tab.errors, []);
        for (const request of tab.requests) assert.ok(/^data:/.test(request) || request.startsWith(address));
    } finally {
        await tab.close();
    }
}

// Waits until the condition is true. Returns its value.
async function until(tab, condition) {
    const limit = Number(process.env.WEFT_LIMIT || 60);
    const end = Date.now() + 1000 * limit;
    for (;;) {
        const value = await condition();
        if (value) return value;
        assert.deepEqual(tab.errors, []);
        assert.ok(Date.now() < end, `no success in ${limit} s: ${condition}`);
        await tab.frame();
    }
}
const output = tab => tab.evaluate("document.querySelector('pre').textContent");
// Waits until the program has printed a line. Returns what the pattern finds in it.
const line = (tab, pattern) =>
    until(tab, async () => new RegExp(pattern.source, 'm').exec(await output(tab)));
// Waits until the viewer has stopped for the n-th time. Returns x, y and the angle in degrees.
const stop = (tab, n) =>
    until(tab, async () => {
        const all = [...(await output(tab)).matchAll(/^still (.*) (.*) (.*)$/gm)];
        return all.length >= n && all[n - 1].slice(1).map(Number);
    });
const press = (tab, code) => tab.send('Input.dispatchKeyEvent', {type: 'keyDown', code});
const release = (tab, code) => tab.send('Input.dispatchKeyEvent', {type: 'keyUp', code});
async function pressAndRelease(tab, code) {
    await press(tab, code);
    await release(tab, code);
}
// How many pixels of the canvas have the colour of the graph's border.
const border = tab =>
    tab.call(() => {
        const canvas = document.querySelector('canvas');
        const {data} = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
        let count = 0;
        for (let i = 0; i < data.length; i += 4)
            count += data[i] === 255 && data[i + 1] === 140 && data[i + 2] === 0;
        return count;
    });

test('120 frames have the pictures of the native program', async () => {
    const [hash] = /^hash .*$/m.exec(native('--frames', '120', '--out', ''));
    await withPage('--frames 120 --out ', async tab => {
        assert.equal((await line(tab, /^hash .*$/))[0], hash);
    });
});

test('the canvas shows the picture', async () => {
    native('--frames', '1', '--out', out);
    const file = fs.readFileSync(path.join(out, 'frame_000000.png')).toString('base64');
    await withPage('--window --frames 1', async tab => {
        await line(tab, /^frames +1 of 640x400$/);
        const differing = await tab.call(async data => {
            const image = new Image();
            image.src = 'data:image/png;base64,' + data;
            await image.decode();
            const canvas = document.querySelector('canvas');
            const {width, height} = canvas;
            const other = new OffscreenCanvas(image.width, image.height).getContext('2d');
            other.drawImage(image, 0, 0);
            const shown = canvas.getContext('2d').getImageData(0, 0, width, height).data;
            const expected = other.getImageData(0, 0, width, height).data;
            return shown.reduce((sum, value, i) => sum + (value !== expected[i]), 0);
        }, file);
        assert.equal(differing, 0);
    });
});

test('keys walk and turn, F1 shows the graph, Escape ends the run', async () => {
    await withPage('--window --window-log', async tab => {
        const from = await stop(tab, 1);
        assert.equal(await border(tab), 0);
        await press(tab, 'KeyW');
        await line(tab, /^steps 2$/);
        await release(tab, 'KeyW');
        const to = await stop(tab, 2);
        assert.ok(to[0] > from[0] + 150, `walked east, from ${from} to ${to}`);
        assert.deepEqual(to.slice(1), from.slice(1));
        await tab.screenshot(path.join(out, 'walked.png'), false);

        await pressAndRelease(tab, 'F1');
        await until(tab, async () => (await border(tab)) > 800);
        await tab.screenshot(path.join(out, 'graph.png'), false);
        await pressAndRelease(tab, 'F1');
        await until(tab, async () => (await border(tab)) === 0);

        await press(tab, 'ArrowLeft');
        await line(tab, /^at .* (4[5-9]|[5-9][0-9])$/);
        await release(tab, 'ArrowLeft');
        assert.deepEqual((await stop(tab, 3)).slice(0, 2), to.slice(0, 2));

        await press(tab, 'KeyW');
        await press(tab, 'KeyD');
        await stop(tab, 4);  // at a wall
        assert.doesNotMatch(await output(tab), /^up [WD]$[^]*^still[^]*^up [WD]$/m);
        await release(tab, 'KeyW');
        await release(tab, 'KeyD');
        await line(tab, /^up D$/);

        await pressAndRelease(tab, 'Escape');
        const last = Number((await line(tab, /^stop (.*)$/))[1]);
        const frames = Number((await line(tab, /^frames +(.*) of 640x400$/))[1]);
        assert.ok(frames > last, `stopped at frame ${last}, ${frames} frames`);
    });
});

test('frames a second', async t => {
    await withPage('--window', async tab => {
        await until(tab, () => tab.evaluate('Module.keys !== undefined'));
        await pressAndRelease(tab, 'F1');
        await until(tab, async () => (await border(tab)) > 800);
        await press(tab, 'ArrowRight');
        const rate = await tab.call(async () => {
            let frames = 0;
            const draw = CanvasRenderingContext2D.prototype.putImageData;
            CanvasRenderingContext2D.prototype.putImageData = function (...values) {
                ++frames;
                return draw.apply(this, values);
            };
            const start = performance.now();
            await new Promise(resolve => setTimeout(resolve, 5000));
            return (1000 * frames) / (performance.now() - start);
        });
        assert.ok(rate > 0);
        await pressAndRelease(tab, 'Escape');
        const [times] = await line(tab, /^frame time.*$/);
        t.diagnostic(`${rate.toFixed(1)} frames a second; ${times}`);
    });
});
