// What all drawings of the page share: colours of names, patterns, texts for times, and the
// canvases of the frames (bars and histogram).
'use strict';
const {palettes, patterns} = require('./palette.js');

/// Returns a time as a text: "6.43 ms".
function timeText(ns) {
    if (!Number.isFinite(ns)) return '–';
    const size = Math.abs(ns);
    if (size >= 1e9) return (ns / 1e9).toFixed(2) + ' s';
    if (size >= 1e6) return (ns / 1e6).toFixed(2) + ' ms';
    if (size >= 1e4) return (ns / 1e3).toFixed(0) + ' µs';
    if (size >= 1e3) return (ns / 1e3).toFixed(1) + ' µs';
    return ns.toFixed(0) + ' ns';
}

// A small canvas with a pattern, for fillStyle and for the background of an element.
function patternTile(pattern, colour) {
    const tile = document.createElement('canvas');
    tile.width = tile.height = 8;
    const g = tile.getContext('2d');
    g.strokeStyle = g.fillStyle = colour;
    g.lineWidth = 1.6;
    g.beginPath();
    if (pattern === 'stripes' || pattern === 'cross') {
        for (const x of [-8, 0, 8]) {
            g.moveTo(x, 8);
            g.lineTo(x + 8, 0);
        }
    }
    if (pattern === 'cross')
        for (const x of [-8, 0, 8]) {
            g.moveTo(x, 0);
            g.lineTo(x + 8, 8);
        }
    if (pattern === 'lines')
        for (const y of [1, 5]) {
            g.moveTo(0, y);
            g.lineTo(8, y);
        }
    g.stroke();
    if (pattern === 'dots')
        for (const [x, y] of [
            [2, 2],
            [6, 6],
        ])
            g.fillRect(x - 1, y - 1, 2, 2);
    return tile;
}

const channels = colour => [1, 3, 5].map(at => parseInt(colour.slice(at, at + 2), 16));

/// The colours of a theme, and those of each name of a recording.
class Theme {
    /// `ranked`: numbers of names, the most important first.
    constructor(isDark, ranked) {
        this.isDark = isDark;
        this.colours = palettes[isDark ? 'dark' : 'light'];
        this.tiles = {};
        this.tileUrls = {};
        const on = isDark ? 'rgba(10,12,16,.6)' : 'rgba(255,255,255,.6)';
        for (const pattern of ['stripes', 'dots', 'cross', 'lines']) {
            this.tiles[pattern] = patternTile(pattern, on);
            this.tileUrls[pattern] = `url(${this.tiles[pattern].toDataURL()})`;
        }
        this.rank = new Map();
        ranked.forEach((name, i) => this.rank.set(name, i));
        this.rgb = this.colours.tasks.map(channels);
        this.hostRgb = channels(this.colours.host);
        this.offCpuRgb = channels(this.colours.offCpu);
    }
    /// Sets the variables that page.css uses.
    apply(root) {
        for (const key in this.colours)
            if (key !== 'tasks') root.style.setProperty('--' + key, this.colours[key]);
        root.style.colorScheme = this.isDark ? 'dark' : 'light';
    }
    colourOf(name) {
        const rank = this.rank.get(name);
        return rank === undefined
            ? this.colours.host
            : this.colours.tasks[rank % this.colours.tasks.length];
    }
    rgbOf(name) {
        const rank = this.rank.get(name);
        return rank === undefined ? this.hostRgb : this.rgb[rank % this.rgb.length];
    }
    patternOf(name) {
        const rank = this.rank.get(name);
        if (rank === undefined) return 'plain';
        return patterns[Math.floor(rank / this.colours.tasks.length) % patterns.length];
    }
    /// Fills the background of an element.
    paint(element, colour, pattern) {
        element.style.backgroundColor = colour;
        element.style.backgroundImage = pattern === 'plain' ? '' : this.tileUrls[pattern];
    }
    fill(g, colour, pattern, x, y, width, height) {
        g.fillStyle = colour;
        g.fillRect(x, y, width, height);
        if (pattern === 'plain' || width < 3) return;
        g.fillStyle = g.createPattern(this.tiles[pattern], 'repeat');
        g.fillRect(x, y, width, height);
    }
}

/// Makes the canvas as large as its element, and returns a context in which 1 is a pixel of CSS.
function fit(canvas, height) {
    const ratio = globalThis.devicePixelRatio || 1;
    const width = canvas.clientWidth;
    const w = Math.round(width * ratio);
    const h = Math.round(height * ratio);
    if (canvas.width !== w || canvas.height !== h) {
        canvas.width = w;
        canvas.height = h;
        canvas.style.height = height + 'px';
    }
    const g = canvas.getContext('2d');
    g.setTransform(ratio, 0, 0, ratio, 0, 0);
    g.clearRect(0, 0, width, height);
    g.font = '11px "DejaVu Sans", "Segoe UI", sans-serif';
    g.textBaseline = 'middle';
    g.textAlign = 'left';
    return {g, width, ratio};
}

/// Returns a step of 1, 2 or 5 times a power of ten, so that `span` has about `count` of them.
function niceStep(span, count) {
    const power = Math.pow(10, Math.floor(Math.log10(span / count)));
    for (const factor of [1, 2, 5]) if (span / (power * factor) <= count) return power * factor;
    return power * 10;
}

/// The bars of the frames.
class FrameBars {
    constructor(canvas, analysis, budget) {
        Object.assign(this, {canvas, frames: analysis.frames, budget});
        this.left = 58;
        this.height = 118;
        const durations = analysis.frameDurations();
        this.most = Math.max(durations[durations.length - 1] || 1, budget * 1.1 || 0);
    }
    // With too many frames for the width, a bar shows the longest one of several.
    layout(width) {
        const room = width - this.left;
        this.perBar = Math.max(1, Math.ceil(this.frames.length / Math.max(1, room / 3)));
        this.bars = Math.ceil(this.frames.length / this.perBar);
        this.barWidth = Math.min(60, room / Math.max(1, this.bars));
    }
    longestOf(bar) {
        const from = bar * this.perBar;
        const to = Math.min(this.frames.length, from + this.perBar);
        let longest = from;
        for (let i = from; i < to; ++i)
            if (this.frames[i].duration > this.frames[longest].duration) longest = i;
        return longest;
    }
    /// Returns the index of the frame at a place of the window, or -1.
    frameAt(clientX) {
        const bar = Math.floor(
            (clientX - this.canvas.getBoundingClientRect().left - this.left) / this.barWidth,
        );
        return bar >= 0 && bar < this.bars ? this.longestOf(bar) : -1;
    }
    xOf(index) {
        return this.left + (Math.floor(index / this.perBar) + 0.5) * this.barWidth;
    }

    draw(theme, chosen) {
        const {g, width} = fit(this.canvas, this.height);
        const {colours} = theme;
        this.layout(width);
        const bottom = this.height - 12;
        const scale = (bottom - 12) / this.most;
        const step = niceStep(this.most, 4);
        for (let value = step; value <= this.most; value += step) {
            const y = bottom - value * scale;
            g.fillStyle = colours.line;
            g.fillRect(this.left, y, width - this.left, 1);
            g.fillStyle = colours.dim;
            g.fillText(timeText(value).replace(/\.0+ /, ' '), 0, y);
        }
        for (let bar = 0; bar < this.bars; ++bar) {
            const index = this.longestOf(bar);
            const frame = this.frames[index];
            const x = this.left + bar * this.barWidth;
            const w = Math.max(1, this.barWidth - (this.barWidth > 4 ? 1 : 0));
            const h = Math.max(1, Math.min(frame.duration, this.most) * scale);
            const isOver = this.budget > 0 && frame.duration > this.budget && !frame.isPartial;
            theme.fill(
                g,
                isOver ? colours.over : colours.bar,
                frame.isPartial ? 'stripes' : 'plain',
                x,
                bottom - h,
                w,
                h,
            );
            if (isOver && this.barWidth >= 3) {
                // a mark that needs no colour
                g.beginPath();
                g.moveTo(x + w / 2, bottom - h - 2);
                g.lineTo(x + w / 2 - 3, bottom - h - 7);
                g.lineTo(x + w / 2 + 3, bottom - h - 7);
                g.fill();
            }
            if (Math.floor(chosen / this.perBar) === bar) {
                g.fillStyle = g.strokeStyle = colours.accent;
                g.lineWidth = 2;
                g.strokeRect(x - 1, bottom - h - 1, w + 2, h + 2);
                g.beginPath();
                g.moveTo(x + w / 2, bottom + 3);
                g.lineTo(x + w / 2 - 5, bottom + 11);
                g.lineTo(x + w / 2 + 5, bottom + 11);
                g.fill();
            }
        }
        if (this.budget > 0) {
            const y = Math.round(bottom - this.budget * scale) + 0.5;
            g.strokeStyle = colours.text;
            g.lineWidth = 1;
            g.setLineDash([6, 4]);
            g.beginPath();
            g.moveTo(this.left, y);
            g.lineTo(width, y);
            g.stroke();
            g.setLineDash([]);
            const text = `budget ${timeText(this.budget)}`;
            const wide = g.measureText(text).width;
            g.fillStyle = colours.label;
            g.fillRect(width - wide - 8, y - 15, wide + 8, 14);
            g.fillStyle = colours.text;
            g.fillText(text, width - wide - 4, y - 8);
        }
    }
}

/// Draws how many frames took how long.
function drawHistogram(canvas, theme, durations, budget, chosen) {
    const height = 118;
    const {g, width} = fit(canvas, height);
    const {colours} = theme;
    if (durations.length === 0) return;
    const low = durations[0];
    const high = durations[durations.length - 1];
    const span = high - low || 1;
    const bins = Math.max(8, Math.min(30, Math.ceil(Math.sqrt(durations.length) * 2)));
    const counts = new Array(bins).fill(0);
    const binOf = d => Math.min(bins - 1, Math.floor(((d - low) / span) * bins));
    for (const duration of durations) ++counts[binOf(duration)];
    const most = Math.max(...counts);
    const bottom = height - 18;
    const w = width / bins;
    counts.forEach((count, i) => {
        const h = count ? Math.max(1.5, (count / most) * (bottom - 16)) : 0;
        const isOver = budget > 0 && low + (span * i) / bins >= budget;
        theme.fill(
            g,
            isOver ? colours.over : colours.bar,
            isOver ? 'stripes' : 'plain',
            i * w + 0.5,
            bottom - h,
            Math.max(1, w - 1),
            h,
        );
    });
    const x = d => Math.max(0, Math.min(width - 1, ((d - low) / span) * width));
    const line = (d, dash, colour) => {
        g.strokeStyle = colour;
        g.setLineDash(dash);
        g.beginPath();
        g.moveTo(x(d), 12);
        g.lineTo(x(d), bottom);
        g.stroke();
        g.setLineDash([]);
    };
    g.lineWidth = 1;
    if (budget >= low && budget <= high) line(budget, [6, 4], colours.text);
    if (chosen >= low && chosen <= high) {
        g.lineWidth = 2;
        line(chosen, [], colours.accent);
    }
    g.fillStyle = colours.dim;
    g.fillText(timeText(low), 0, height - 7);
    g.textAlign = 'center';
    g.fillText(`${durations.length} frames`, width / 2, height - 7);
    g.textAlign = 'right';
    g.fillText(timeText(high), width, height - 7);
    g.textAlign = 'left';
    g.fillText(`most: ${most}`, 0, 6);
}

module.exports = {timeText, Theme, fit, niceStep, FrameBars, drawHistogram};
