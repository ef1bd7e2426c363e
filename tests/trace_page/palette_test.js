// The colours of the page can be told apart, also by the colour-blind, and can be read.
'use strict';
const test = require('node:test'), assert = require('node:assert');
const {palettes, patterns, idlePatterns} = require('../../bench/trace/page/palette.js');

const linear = c => (c /= 255) <= .04045 ? c / 12.92 : Math.pow((c + .055) / 1.055, 2.4);
const rgb = colour => [1, 3, 5].map(at => linear(parseInt(colour.slice(at, at + 2), 16)));

// How colours look to people without one kind of cones (Machado, Oliveira, Fernandes 2009).
const sights = {
    normal: [[1, 0, 0], [0, 1, 0], [0, 0, 1]],
    protanopia: [[.152286, 1.052583, -.204868], [.114503, .786281, .099216], [-.003882, -.048116, 1.051998]],
    deuteranopia: [[.367322, .860646, -.227968], [.280085, .672501, .047413], [-.01182, .04294, .968881]],
    tritanopia: [[1.255528, -.076749, -.178779], [-.078411, .930809, .147602], [.004733, .691367, .3039]],
};
const seen = (colour, sight) => sights[sight].map(row =>
    Math.min(1, Math.max(0, row[0] * colour[0] + row[1] * colour[1] + row[2] * colour[2])));

function lab([r, g, b]) {
    const f = t => t > 216 / 24389 ? Math.cbrt(t) : (24389 / 27 * t + 16) / 116;
    const x = f((.4124564 * r + .3575761 * g + .1804375 * b) / .95047), y = f(.2126729 * r + .7151522 * g + .072175 * b),
          z = f((.0193339 * r + .119192 * g + .9503041 * b) / 1.08883);
    return [116 * y - 16, 500 * (x - y), 200 * (y - z)];
}
// CIEDE2000
function difference([l1, a1, b1], [l2, a2, b2]) {
    const rad = Math.PI / 180, mean = (Math.hypot(a1, b1) + Math.hypot(a2, b2)) / 2;
    const g = .5 * (1 - Math.sqrt(mean ** 7 / (mean ** 7 + 25 ** 7)));
    const c1 = Math.hypot(a1 * (1 + g), b1), c2 = Math.hypot(a2 * (1 + g), b2);
    const hue = (a, b) => (Math.atan2(b, a * (1 + g)) / rad + 360) % 360;
    const h1 = hue(a1, b1), h2 = hue(a2, b2);
    let dh = h2 - h1;
    if (Math.abs(dh) > 180) dh -= 360 * Math.sign(dh);
    let h = (h1 + h2) / 2;
    if (Math.abs(h1 - h2) > 180) h = (h + 180) % 360;
    const dl = l2 - l1, dc = c2 - c1, dH = 2 * Math.sqrt(c1 * c2) * Math.sin(dh * rad / 2), l = (l1 + l2) / 2, c = (c1 + c2) / 2;
    const t = 1 - .17 * Math.cos((h - 30) * rad) + .24 * Math.cos(2 * h * rad) + .32 * Math.cos((3 * h + 6) * rad) -
        .2 * Math.cos((4 * h - 63) * rad);
    const sl = 1 + .015 * (l - 50) ** 2 / Math.sqrt(20 + (l - 50) ** 2), sc = 1 + .045 * c, sh = 1 + .015 * c * t;
    const rt = -2 * Math.sqrt(c ** 7 / (c ** 7 + 25 ** 7)) * Math.sin(60 * Math.exp(-(((h - 275) / 25) ** 2)) * rad);
    return Math.sqrt((dl / sl) ** 2 + (dc / sc) ** 2 + (dH / sh) ** 2 + rt * (dc / sc) * (dH / sh));
}
const luminance = ([r, g, b]) => .2126 * r + .7152 * g + .0722 * b;
function contrast(a, b) {
    const [x, y] = [luminance(rgb(a)), luminance(rgb(b))];
    return (Math.max(x, y) + .05) / (Math.min(x, y) + .05);
}

test('the measure of differences agrees with published values', () => {
    // rows of the test data of Sharma, Wu, Dalal 2005
    for (const [a, b, expected] of [[[50, 2.6772, -79.7751], [50, 0, -82.7485], 2.0425],
                                    [[50, 2.5, 0], [73, 25, -18], 27.1492], [[22.7233, 20.0904, -46.694], [23.0331, 14.973, -42.5619], 2.0373]])
        assert.ok(Math.abs(difference(a, b) - expected) < 1e-3, `${difference(a, b)} instead of ${expected}`);
});

for (const theme of ['dark', 'light']) {
    const {tasks, ...colours} = palettes[theme];
    for (const sight in sights) {
        test(`${theme}: any two colours of tasks differ, ${sight}`, () => {
            for (const one of tasks)
                for (const other of tasks) {
                    if (one <= other) continue;
                    const d = difference(lab(seen(rgb(one), sight)), lab(seen(rgb(other), sight)));
                    assert.ok(d >= 12, `${one} and ${other}: ${d.toFixed(1)}`);
                }
        });
    }
    test(`${theme}: text can be read, and colours stand out from their ground`, () => {
        for (const ground of ['background', 'panel', 'lane']) {
            assert.ok(contrast(colours.text, colours[ground]) >= 7, `text on ${ground}`);
            assert.ok(contrast(colours.dim, colours[ground]) >= 4.5, `dim text on ${ground}: ${contrast(colours.dim, colours[ground])}`);
            assert.ok(contrast(colours.accent, colours[ground]) >= 3, `the path on ${ground}: ${contrast(colours.accent, colours[ground])}`);
        }
        for (const colour of tasks) assert.ok(contrast(colour, colours.lane) >= 2.5, `${colour}: ${contrast(colour, colours.lane)}`);
    });
    test(`${theme}: what is told by colour differs in something else, too`, () => {
        const ways = Object.keys(idlePatterns).filter(reason => reason !== 'busy' && reason !== 'nothing').map(reason => idlePatterns[reason]);
        assert.equal(new Set(ways).size, ways.length, 'two kinds of idleness have the same pattern');
        assert.ok(Math.abs(luminance(rgb(colours.busy)) - luminance(rgb(colours.nothing))) > .1);
        assert.equal(new Set(patterns).size, patterns.length);
    });
}
