// The colours of the page can be told apart, also by the colour-blind, and can be read.
'use strict';
const test = require('node:test');
const assert = require('node:assert');
const {palettes, patterns, idlePatterns} = require('../../bench/trace/page/palette.js');

const linear = c => ((c /= 255) <= 0.04045 ? c / 12.92 : Math.pow((c + 0.055) / 1.055, 2.4));
const rgb = colour => [1, 3, 5].map(at => linear(parseInt(colour.slice(at, at + 2), 16)));

// How colours look to people without one kind of cones (Machado, Oliveira, Fernandes 2009).
const sights = {
    normal: [
        [1, 0, 0],
        [0, 1, 0],
        [0, 0, 1],
    ],
    protanopia: [
        [0.152286, 1.052583, -0.204868],
        [0.114503, 0.786281, 0.099216],
        [-0.003882, -0.048116, 1.051998],
    ],
    deuteranopia: [
        [0.367322, 0.860646, -0.227968],
        [0.280085, 0.672501, 0.047413],
        [-0.01182, 0.04294, 0.968881],
    ],
    tritanopia: [
        [1.255528, -0.076749, -0.178779],
        [-0.078411, 0.930809, 0.147602],
        [0.004733, 0.691367, 0.3039],
    ],
};
const seen = (colour, sight) =>
    sights[sight].map(row =>
        Math.min(1, Math.max(0, row[0] * colour[0] + row[1] * colour[1] + row[2] * colour[2])),
    );

function lab([r, g, b]) {
    const f = t => (t > 216 / 24389 ? Math.cbrt(t) : ((24389 / 27) * t + 16) / 116);
    const x = f((0.4124564 * r + 0.3575761 * g + 0.1804375 * b) / 0.95047);
    const y = f(0.2126729 * r + 0.7151522 * g + 0.072175 * b);
    const z = f((0.0193339 * r + 0.119192 * g + 0.9503041 * b) / 1.08883);
    return [116 * y - 16, 500 * (x - y), 200 * (y - z)];
}
// CIEDE2000
function difference([l1, a1, b1], [l2, a2, b2]) {
    const rad = Math.PI / 180;
    const mean = (Math.hypot(a1, b1) + Math.hypot(a2, b2)) / 2;
    const g = 0.5 * (1 - Math.sqrt(mean ** 7 / (mean ** 7 + 25 ** 7)));
    const c1 = Math.hypot(a1 * (1 + g), b1);
    const c2 = Math.hypot(a2 * (1 + g), b2);
    const hue = (a, b) => (Math.atan2(b, a * (1 + g)) / rad + 360) % 360;
    const h1 = hue(a1, b1);
    const h2 = hue(a2, b2);
    let dh = h2 - h1;
    if (Math.abs(dh) > 180) dh -= 360 * Math.sign(dh);
    let h = (h1 + h2) / 2;
    if (Math.abs(h1 - h2) > 180) h = (h + 180) % 360;
    const dl = l2 - l1;
    const dc = c2 - c1;
    const dH = 2 * Math.sqrt(c1 * c2) * Math.sin((dh * rad) / 2);
    const l = (l1 + l2) / 2;
    const c = (c1 + c2) / 2;
    const t =
        1 -
        0.17 * Math.cos((h - 30) * rad) +
        0.24 * Math.cos(2 * h * rad) +
        0.32 * Math.cos((3 * h + 6) * rad) -
        0.2 * Math.cos((4 * h - 63) * rad);
    const sl = 1 + (0.015 * (l - 50) ** 2) / Math.sqrt(20 + (l - 50) ** 2);
    const sc = 1 + 0.045 * c;
    const sh = 1 + 0.015 * c * t;
    const rt =
        -2 *
        Math.sqrt(c ** 7 / (c ** 7 + 25 ** 7)) *
        Math.sin(60 * Math.exp(-(((h - 275) / 25) ** 2)) * rad);
    return Math.sqrt((dl / sl) ** 2 + (dc / sc) ** 2 + (dH / sh) ** 2 + rt * (dc / sc) * (dH / sh));
}
const luminance = ([r, g, b]) => 0.2126 * r + 0.7152 * g + 0.0722 * b;
function contrast(a, b) {
    const [x, y] = [luminance(rgb(a)), luminance(rgb(b))];
    return (Math.max(x, y) + 0.05) / (Math.min(x, y) + 0.05);
}

test('the measure of differences agrees with published values', () => {
    // rows of the test data of Sharma, Wu, Dalal 2005
    for (const [a, b, expected] of [
        [[50, 2.6772, -79.7751], [50, 0, -82.7485], 2.0425],
        [[50, 2.5, 0], [73, 25, -18], 27.1492],
        [[22.7233, 20.0904, -46.694], [23.0331, 14.973, -42.5619], 2.0373],
    ])
        assert.ok(
            Math.abs(difference(a, b) - expected) < 1e-3,
            `${difference(a, b)} instead of ${expected}`,
        );
});

for (const theme of ['dark', 'light']) {
    const {tasks, ...colours} = palettes[theme];
    for (const sight in sights) {
        test(`${theme}: any two colours in bars of tasks differ, ${sight}`, () => {
            const inBars = [...tasks, colours.offCpu];
            for (const one of inBars)
                for (const other of inBars) {
                    if (one <= other) continue;
                    const d = difference(lab(seen(rgb(one), sight)), lab(seen(rgb(other), sight)));
                    assert.ok(d >= 12, `${one} and ${other}: ${d.toFixed(1)}`);
                }
        });
    }
    test(`${theme}: text can be read, and colours stand out from their ground`, () => {
        for (const ground of ['background', 'panel', 'lane']) {
            assert.ok(contrast(colours.text, colours[ground]) >= 7, `text on ${ground}`);
            assert.ok(
                contrast(colours.dim, colours[ground]) >= 4.5,
                `dim text on ${ground}: ${contrast(colours.dim, colours[ground])}`,
            );
            assert.ok(
                contrast(colours.accent, colours[ground]) >= 3,
                `the path on ${ground}: ${contrast(colours.accent, colours[ground])}`,
            );
        }
        assert.ok(contrast(colours.offCpu, colours.lane) >= 4.5, 'off the processor');
        for (const colour of tasks)
            assert.ok(
                contrast(colour, colours.lane) >= 2.5,
                `${colour}: ${contrast(colour, colours.lane)}`,
            );
    });
    test(`${theme}: what is told by colour differs in something else, too`, () => {
        const ways = Object.keys(idlePatterns)
            .filter(reason => reason !== 'busy' && reason !== 'nothing')
            .map(reason => idlePatterns[reason]);
        assert.equal(
            new Set(ways).size,
            ways.length,
            'two kinds of idleness have the same pattern',
        );
        assert.ok(Math.abs(luminance(rgb(colours.busy)) - luminance(rgb(colours.nothing))) > 0.1);
        assert.equal(new Set(patterns).size, patterns.length);
        assert.ok(!patterns.includes(idlePatterns.offCpu), 'it may lie in a task');
    });
}
