// The timeline: a row for each worker and thread. It must draw 100,000 slices 30 times a second. So
// it looks up the first visible slice of a row by a binary search. Where there are more slices than
// pixels, it adds up the colours of each pixel, and draws one row of pixels, stretched.
'use strict';

const {TaskKind, upperBound} = require('./analysis.js');
const {idlePatterns} = require('./palette.js');
const {timeText, fit, niceStep} = require('./drawing.js');

const LEFT = 84;
const TOP = 34; // above the rows: times, then a line for other texts
const LEAST_GAP = 200; // ns; shorter idle times are not drawn
const MOST_ARROWS = 2000;
const MOST_THREADS = 32;

// The idle times of each worker and attached thread, with their reasons.
function findGaps(analysis) {
    const {slices, sliceStart, supply, slots, tracks} = analysis;
    return Array.from({length: slots}, (_, track) => {
        const begins = [];
        const ends = [];
        const reasons = [];
        const add = (what, begin, end) => {
            if (end - begin < LEAST_GAP || what === 'offCpu') return; // see drawOffs
            const some = supply.within(begin, end) > 0.3 * (end - begin);
            if (what !== 'waking' && !some) return;
            begins.push(begin);
            ends.push(end);
            reasons.push(what);
        };
        let at = analysis.trackFirst[track];
        for (let i = sliceStart[track]; i < sliceStart[track + 1]; ++i) {
            if (slices.begin[i] - at >= LEAST_GAP)
                analysis.splitGap(track, at, slices.begin[i], 'searching', add);
            at = slices.end[i];
        }
        if (tracks[track].last > at)
            analysis.splitGap(track, at, tracks[track].last, 'searching', add);
        return {begin: Float64Array.from(begins), end: Float64Array.from(ends), reasons};
    });
}

class Timeline {
    constructor(canvas, analysis) {
        this.canvas = canvas;
        this.analysis = analysis;
        this.gaps = findGaps(analysis);
        this.from = analysis.begin;
        this.to = Math.max(analysis.end, analysis.begin + 1000);
        this.onPath = new Uint8Array(analysis.slices.count);
        this.path = [];
        this.matches = null; // which names the search has found; null: no search
        this.chosenTask = -1;
        this.selection = null; // {from, to}
        this.showPath = this.showArrows = true;
        this.makeRows();
        this.makeArrows();
        this.textWidth = new Map();
    }

    makeRows() {
        const {tracks, slots, sliceStart} = this.analysis;
        const shown = [];
        let threads = 0;
        this.hiddenThreads = 0;
        tracks.forEach((track, i) => {
            const isUsed = sliceStart[i] < sliceStart[i + 1]; // workers are shown in any case
            if (track.kind === 'worker' || isUsed) {
                if (i >= slots && ++threads > MOST_THREADS) ++this.hiddenThreads;
                else shown.push(i);
            }
        });
        const lane = Math.max(18, Math.min(34, 440 / Math.max(1, shown.length)));
        let y = TOP;
        this.rows = shown.map(track => {
            const height =
                tracks[track].kind === 'worker' || tracks[track].kind === 'attached'
                    ? lane
                    : Math.min(lane, 22);
            const row = {track, y, height: height - 4};
            y += height;
            return row;
        });
        this.rowOf = new Int32Array(tracks.length).fill(-1);
        this.rows.forEach((row, i) => {
            this.rowOf[row.track] = i;
        });
        this.height = y + 2;
    }

    // Arrows from a release to the continuation, by the time of the release.
    makeArrows() {
        const {waits} = this.analysis;
        const list = [];
        for (let i = 0; i < waits.count; ++i)
            if (waits.readyTrack[i] >= 0 && !waits.isYield[i]) list.push(i);
        list.sort((a, b) => waits.ready[a] - waits.ready[b]);
        this.arrows = list;
        this.arrowTimes = Float64Array.from(list, i => waits.ready[i]);
    }

    setPath(path) {
        for (const step of this.path) if (step.what === 'run') this.onPath[step.slice] = 0;
        this.path = path;
        for (const step of path) if (step.what === 'run') this.onPath[step.slice] = 1;
    }

    xOf(time) {
        return LEFT + (time - this.from) * this.scale;
    }
    timeAt(clientX) {
        const rectangle = this.canvas.getBoundingClientRect();
        return (
            this.from +
            ((clientX - rectangle.left - LEFT) / (rectangle.width - LEFT)) * (this.to - this.from)
        );
    }
    rowAt(clientY) {
        const y = clientY - this.canvas.getBoundingClientRect().top;
        return this.rows.find(row => y >= row.y && y < row.y + row.height + 4);
    }
    /// Returns the slice at a place of the window, or the next one within two pixels, or -1.
    sliceAt(clientX, clientY) {
        const row = this.rowAt(clientY);
        if (row === undefined) return -1;
        const {slices, sliceStart} = this.analysis;
        const time = this.timeAt(clientX);
        const slack = (2 * (this.to - this.from)) / (this.canvas.clientWidth - LEFT);
        const from = sliceStart[row.track];
        const to = sliceStart[row.track + 1];
        const next = upperBound(slices.end, time - slack, from, to);
        if (next === to || slices.begin[next] > time + slack) return -1;
        for (let i = next; i < to && slices.begin[i] <= time + slack; ++i)
            if (slices.begin[i] <= time && slices.end[i] > time) return i;
        return next;
    }

    /// Returns the time off the processor at a place of the window, or -1.
    offAt(clientX, clientY) {
        const row = this.rowAt(clientY);
        return row === undefined ? -1 : this.analysis.offAt(row.track, this.timeAt(clientX));
    }

    /// Draws all of it. Returns how many slices were looked at.
    draw(theme, frame, frames) {
        const {g, width, ratio} = fit(this.canvas, this.height);
        Object.assign(this, {g, width, ratio, theme});
        this.scale = (width - LEFT) / (this.to - this.from);
        this.drawAxis(frame);
        g.save();
        g.beginPath();
        g.rect(LEFT, 0, width - LEFT, this.height);
        g.clip();
        let count = 0;
        for (const row of this.rows) count += this.drawRow(row);
        if (this.analysis.completeFrom > Math.max(this.from, this.analysis.begin)) this.drawLost();
        if (this.showArrows) this.drawArrows();
        if (this.showPath) this.drawPath();
        this.drawTask();
        this.drawFrames(frames);
        this.drawSelection();
        g.restore();
        g.fillStyle = theme.colours.text;
        for (const row of this.rows)
            g.fillText(this.analysis.tracks[row.track].label, 2, row.y + row.height / 2, LEFT - 8);
        return count;
    }

    drawAxis(frame) {
        const {g, width, theme} = this;
        const zero = frame ? frame.begin : 0;
        const step = niceStep(this.to - this.from, Math.max(2, (width - LEFT) / 110));
        for (let n = Math.ceil((this.from - zero) / step); zero + n * step < this.to; ++n) {
            const x = this.xOf(zero + n * step);
            g.fillStyle = theme.colours.line;
            g.fillRect(x, TOP - 18, 1, this.height);
            g.fillStyle = theme.colours.dim;
            g.fillText(this.axisText(n * step, step), x + 3, 8);
        }
    }
    axisText(value, step) {
        if (value === 0) return '0';
        const [unit, name] =
            step >= 1e6
                ? [1e6, 'ms']
                : step >= 1e5
                  ? [1e6, 'ms']
                  : step >= 100
                    ? [1e3, 'µs']
                    : [1, 'ns'];
        const digits = Math.max(0, Math.ceil(-Math.log10(step / unit) - 1e-9));
        return `${(value / unit).toFixed(digits)} ${name}`;
    }

    drawRow(row) {
        const {g, theme, analysis, from, to} = this;
        const {slices, sliceStart, tracks} = analysis;
        g.fillStyle = theme.colours.lane;
        g.fillRect(LEFT, row.y, this.width - LEFT, row.height);
        const last = sliceStart[row.track + 1];
        const begin = upperBound(slices.end, from, sliceStart[row.track], last);
        let end = begin;
        {
            // the slices that begin before `to`
            let low = begin;
            let high = last;
            while (low < high) {
                const middle = (low + high) >> 1;
                if (slices.begin[middle] < to) low = middle + 1;
                else high = middle;
            }
            end = low;
        }
        const isDense = end - begin > (this.width - LEFT) / 2;
        if (!isDense && row.track < analysis.slots) this.drawGaps(row);
        if (tracks[row.track].kind === 'thread') this.drawThreadWaits(row, begin, end);
        if (isDense) this.drawDense(row, begin, end);
        else this.drawSlices(row, begin, end);
        this.drawOffs(row);
        return end - begin;
    }

    // Calls visit(i) for the times off the processor that can be seen in a row.
    eachOff(row, visit) {
        const {offs, offStart} = this.analysis;
        const last = offStart[row.track + 1];
        let i = upperBound(offs.end, this.from, offStart[row.track], last);
        for (; i < last && offs.begin[i] < this.to; ++i) visit(i);
    }
    // Where the thread of a worker was off its processor. If a task ran, its colour is an edge.
    drawOffs(row) {
        const {g, theme, analysis} = this;
        const {offs, tasks} = analysis;
        const {y, height} = row;
        this.eachOff(row, i => {
            const a = Math.max(LEFT, this.xOf(offs.begin[i]));
            const width = Math.min(this.width, this.xOf(offs.end[i])) - a;
            if (width < 0.5) return;
            const name = offs.task[i] < 0 ? -1 : tasks.name[offs.task[i]];
            if (this.matches !== null && !this.matches[name]) g.globalAlpha = 0.18;
            const {offCpu} = theme.colours;
            theme.fill(g, offCpu, idlePatterns.offCpu, a, y, width, height);
            if (name >= 0) {
                g.fillStyle = theme.colourOf(name);
                g.fillRect(a, y, width, 3);
                g.fillRect(a, y + height - 3, width, 3);
            }
            g.globalAlpha = 1;
            const text = 'off the processor';
            const wide = g.measureText(text).width;
            if (width < wide + 12) return;
            g.fillStyle = theme.colours.label;
            g.fillRect(a + 3, y + height / 2 - 7, wide + 8, 14);
            g.fillStyle = theme.colours.text;
            g.fillText(text, a + 7, y + height / 2 + 0.5);
        });
    }

    drawGaps(row) {
        const {g, theme} = this;
        const gaps = this.gaps[row.track];
        for (
            let i = upperBound(gaps.end, this.from);
            i < gaps.begin.length && gaps.begin[i] < this.to;
            ++i
        ) {
            const a = this.xOf(Math.max(gaps.begin[i], this.from));
            const b = this.xOf(Math.min(gaps.end[i], this.to));
            if (b - a < 0.5) continue;
            const reason = gaps.reasons[i];
            const inset = reason === 'waking' ? row.height * 0.5 : 0;
            theme.fill(
                g,
                theme.colours[reason],
                idlePatterns[reason],
                a,
                row.y + inset,
                b - a,
                row.height - inset,
            );
        }
    }

    // Where a thread is between two slices, it waits.
    drawThreadWaits(row, begin, end) {
        const {g, theme, analysis} = this;
        const {slices, sliceStart, tracks} = analysis;
        const last = sliceStart[row.track + 1];
        g.strokeStyle = g.fillStyle = theme.colours.dim;
        g.setLineDash([2, 3]);
        g.lineWidth = 1;
        const y = Math.round(row.y + row.height / 2) + 0.5;
        for (let i = Math.max(begin - 1, sliceStart[row.track]); i <= end && i < last; ++i) {
            if (!slices.waitsAtEnd[i]) continue;
            const a = this.xOf(slices.end[i]);
            const b = this.xOf(i + 1 < last ? slices.begin[i + 1] : tracks[row.track].last);
            if (b < LEFT || a > this.width || b - a < 2) continue;
            g.beginPath();
            g.moveTo(Math.max(a, LEFT), y);
            g.lineTo(Math.min(b, this.width), y);
            g.stroke();
        }
        g.setLineDash([]);
    }

    // Sets the opacity of a slice. What is not on the path, or not searched for, steps back.
    strength(slice, name) {
        if (this.matches !== null) return this.matches[name] ? 1 : 0.18;
        return this.showPath && this.path.length && !this.onPath[slice] ? 0.55 : 1;
    }

    drawSlices(row, begin, end) {
        const {g, theme, analysis} = this;
        const {slices, tasks} = analysis;
        let alpha = -1;
        let style = '';
        for (let i = begin; i < end; ++i) {
            const task = slices.task[i];
            const name = tasks.name[task];
            const a = Math.max(LEFT, this.xOf(slices.begin[i]));
            const b = Math.min(this.width, this.xOf(slices.end[i]));
            const isHost = tasks.kind[task] === TaskKind.Host;
            const strength = this.strength(i, name) * (isHost ? 0.8 : 1);
            if (strength !== alpha) g.globalAlpha = alpha = strength;
            const colour = isHost ? theme.colours.host : theme.colourOf(name);
            if (colour !== style) g.fillStyle = style = colour;
            const inset =
                tasks.depth[task] > 0 && !isHost
                    ? Math.min(2 * tasks.depth[task], row.height / 3)
                    : 0;
            const width = Math.max(0.7, b - a - (b - a > 4 ? 0.7 : 0));
            g.fillRect(a, row.y + inset, width, row.height - inset);
            if (width > 5 && !isHost && theme.patternOf(name) !== 'plain') {
                theme.fill(
                    g,
                    colour,
                    theme.patternOf(name),
                    a,
                    row.y + inset,
                    width,
                    row.height - inset,
                );
                style = '';
            }
            if (slices.waitsAtEnd[i] && width > 6) {
                // a notch: here the task begins to wait
                g.fillStyle = theme.colours.lane;
                style = '';
                g.beginPath();
                g.moveTo(b, row.y + inset);
                g.lineTo(b - 5, row.y + inset);
                g.lineTo(b, row.y + inset + 6);
                g.fill();
            }
        }
        g.globalAlpha = 1;
        this.drawNames(row, begin, end);
    }

    // A name once for neighbours that have it in common.
    drawNames(row, begin, end) {
        const {g, theme, analysis} = this;
        const {slices, tasks, names} = analysis;
        for (let i = begin; i < end;) {
            const name = tasks.name[slices.task[i]];
            const a = Math.max(LEFT, this.xOf(slices.begin[i]));
            let b = this.xOf(slices.end[i]);
            let j = i + 1;
            while (
                j < end &&
                tasks.name[slices.task[j]] === name &&
                this.xOf(slices.begin[j]) - b < 4
            )
                b = this.xOf(slices.end[j++]);
            i = j;
            b = Math.min(b, this.width);
            if (b - a < 24) continue;
            const text = names[name] || '(no name)';
            let wide = this.textWidth.get(name);
            if (wide === undefined) this.textWidth.set(name, (wide = g.measureText(text).width));
            if (b - a < wide + 12) continue;
            g.fillStyle = theme.colours.label;
            g.fillRect(a + 3, row.y + row.height / 2 - 7, wide + 8, 14);
            g.fillStyle = theme.colours.text;
            g.fillText(text, a + 7, row.y + row.height / 2 + 0.5);
        }
    }

    // More slices than pixels: the mixed colour of what covers each pixel.
    drawDense(row, begin, end) {
        const {g, theme, analysis, matches} = this;
        const {slices, tasks} = analysis;
        const n = Math.max(1, Math.round((this.width - LEFT) * this.ratio));
        if (this.strip === undefined || this.strip.width !== n) {
            this.strip = document.createElement('canvas');
            this.strip.width = n;
            this.strip.height = 1;
            this.stripContext = this.strip.getContext('2d');
            this.sums = new Float32Array(n * 4);
            this.pixels = this.stripContext.createImageData(n, 1);
        }
        const sums = this.sums.fill(0);
        const scale = this.scale * this.ratio;
        const from = this.from;
        const {begin: begins, end: ends, task} = slices;
        const {name: nameOf, kind} = tasks;
        const mix = ([red, green, blue], a, b) => {
            for (let x = a | 0; x < b; ++x) {
                const part = (b < x + 1 ? b : x + 1) - (a > x ? a : x);
                const at = x * 4;
                sums[at] += red * part;
                sums[at + 1] += green * part;
                sums[at + 2] += blue * part;
                sums[at + 3] += part;
            }
        };
        for (let i = begin; i < end; ++i) {
            const name = nameOf[task[i]];
            const colour =
                kind[task[i]] === TaskKind.Host
                    ? theme.hostRgb
                    : matches !== null && !matches[name]
                      ? theme.hostRgb
                      : theme.rgbOf(name);
            const a = Math.max(0, (begins[i] - from) * scale);
            const b = Math.min(n, (ends[i] - from) * scale);
            mix(colour, a, b);
        }
        const {offs} = analysis;
        this.eachOff(row, i => {
            const a = Math.max(0, (offs.begin[i] - from) * scale);
            mix(theme.offCpuRgb, a, Math.min(n, (offs.end[i] - from) * scale));
        });
        const data = this.pixels.data;
        for (let at = 0; at < n * 4; at += 4) {
            const part = sums[at + 3];
            data[at + 3] = 0;
            if (part === 0) continue;
            data[at] = sums[at] / part;
            data[at + 1] = sums[at + 1] / part;
            data[at + 2] = sums[at + 2] / part;
            data[at + 3] = Math.min(255, 255 * part);
        }
        this.stripContext.putImageData(this.pixels, 0, 0);
        g.imageSmoothingEnabled = false;
        g.drawImage(this.strip, 0, 0, n, 1, LEFT, row.y, this.width - LEFT, row.height);
    }

    // Before this time the events of some workers are lost.
    drawLost() {
        const {g, theme} = this;
        const to = Math.min(this.analysis.completeFrom, this.to);
        g.globalAlpha = 0.35;
        theme.fill(
            g,
            theme.colours.nothing,
            'cross',
            LEFT,
            TOP,
            this.xOf(to) - LEFT,
            this.height - TOP,
        );
        g.globalAlpha = 1;
        const text = 'events of some workers were overwritten';
        if (this.xOf(to) - LEFT > g.measureText(text).width + 12) {
            g.fillStyle = theme.colours.dim;
            g.fillText(text, LEFT + 6, TOP - 8);
        }
    }

    drawArrows() {
        const {g, theme, analysis} = this;
        const {waits} = analysis;
        const span = this.to - this.from;
        const first = upperBound(this.arrowTimes, this.from - span);
        const last = upperBound(this.arrowTimes, this.to);
        if (last - first > 2 * MOST_ARROWS) return;
        g.strokeStyle = g.fillStyle = theme.colours.arrow;
        g.lineWidth = 1;
        g.beginPath();
        const heads = [];
        for (let i = first; i < last; ++i) {
            const wait = this.arrows[i];
            if (waits.end[wait] < this.from) continue;
            const a = this.rows[this.rowOf[waits.readyTrack[wait]]];
            const b = this.rows[this.rowOf[waits.endTrack[wait]]];
            if (a === undefined || b === undefined) continue;
            const x0 = this.xOf(waits.ready[wait]);
            const x1 = this.xOf(waits.end[wait]);
            if (a === b && x1 - x0 < 3) continue;
            const y0 = a.y + a.height / 2;
            const y1 = b.y + b.height / 2;
            const middle = (x0 + x1) / 2;
            g.moveTo(x0, y0);
            g.bezierCurveTo(middle + 8, y0, middle - 8, y1, x1, y1);
            heads.push(x1, y1);
        }
        g.stroke();
        g.beginPath();
        for (let i = 0; i < heads.length; i += 2) {
            g.moveTo(heads[i], heads[i + 1]);
            g.lineTo(heads[i] - 5, heads[i + 1] - 3);
            g.lineTo(heads[i] - 5, heads[i + 1] + 3);
        }
        g.fill();
    }

    drawPath() {
        const {g, theme} = this;
        g.strokeStyle = theme.colours.accent;
        g.lineJoin = 'round';
        g.lineWidth = 2.5;
        g.beginPath();
        let isFirst = true;
        let box = null;
        const boxes = [];
        for (const step of this.path) {
            if (step.end < this.from || step.begin > this.to) continue;
            const row = this.rows[this.rowOf[step.track]];
            if (row === undefined) continue;
            const y = row.y + row.height - 1.5;
            const a = this.xOf(step.begin);
            const b = this.xOf(step.end);
            if (isFirst) {
                g.moveTo(a, y);
                isFirst = false;
            } else g.lineTo(a, y);
            g.lineTo(b, y);
            if (step.what !== 'run') continue;
            const isLong = b - a > 90;
            if (box !== null && box.row === row && a - box.b < 3 && !isLong && !box.isLong)
                box.b = b;
            else boxes.push((box = {row, a, b, isLong}));
        }
        g.stroke();
        g.lineWidth = 1.5;
        for (const {row, a, b} of boxes)
            if (b - a > 2.5) g.strokeRect(a + 0.75, row.y + 0.75, b - a - 1.5, row.height - 1.5);
    }

    // The chosen task: its slices, and between them its waits with the release.
    drawTask() {
        const task = this.chosenTask;
        if (task < 0) return;
        const {g, theme, analysis} = this;
        const {slices, sliceStart, waits, tasks, offs} = analysis;
        g.strokeStyle = theme.colours.text;
        g.lineWidth = 2;
        for (const row of this.rows) {
            const last = sliceStart[row.track + 1];
            const from = upperBound(
                slices.end,
                Math.max(this.from, tasks.begin[task]),
                sliceStart[row.track],
                last,
            );
            for (
                let i = from;
                i < last && slices.begin[i] < Math.min(this.to, tasks.end[task]);
                ++i
            ) {
                if (slices.task[i] !== task) continue;
                const a = this.xOf(slices.begin[i]);
                const b = this.xOf(slices.end[i]);
                g.strokeRect(a, row.y, Math.max(1, b - a), row.height);
            }
            this.eachOff(row, i => {
                if (offs.task[i] !== task) return;
                const a = this.xOf(offs.begin[i]);
                g.strokeRect(a, row.y, Math.max(1, this.xOf(offs.end[i]) - a), row.height);
            });
        }
        g.lineWidth = 1;
        for (let i = 0; i < waits.count; ++i) {
            if (waits.task[i] !== task || waits.end[i] < this.from || waits.begin[i] > this.to)
                continue;
            const a = this.rows[this.rowOf[waits.beginTrack[i]]];
            const b = this.rows[this.rowOf[waits.endTrack[i]]];
            if (a === undefined || b === undefined) continue;
            g.setLineDash([4, 3]);
            g.beginPath();
            g.moveTo(this.xOf(waits.begin[i]), a.y + a.height / 2);
            g.lineTo(this.xOf(waits.end[i]), b.y + b.height / 2);
            g.stroke();
            g.setLineDash([]);
            const by =
                waits.readyTrack[i] >= 0 ? this.rows[this.rowOf[waits.readyTrack[i]]] : undefined;
            if (by === undefined) continue;
            g.beginPath();
            g.arc(this.xOf(waits.ready[i]), by.y + by.height / 2, 4, 0, 2 * Math.PI);
            g.stroke();
        }
    }

    drawFrames(frames) {
        const {g, theme} = this;
        g.fillStyle = theme.colours.text;
        let shown = 0;
        for (const frame of frames) if (frame.end >= this.from && frame.end <= this.to) ++shown;
        if (shown > this.width / 8) return;
        for (const frame of frames) {
            if (frame.end < this.from || frame.end > this.to || frame.isAll) continue;
            const x = this.xOf(frame.end);
            g.globalAlpha = 0.6;
            g.fillRect(x - 0.5, TOP - 8, 1, this.height);
            g.globalAlpha = 1;
        }
    }

    drawSelection() {
        if (this.selection === null) return;
        const {g, theme} = this;
        const a = this.xOf(this.selection.from);
        const b = this.xOf(this.selection.to);
        g.fillStyle = theme.colours.selection;
        g.fillRect(a, TOP, b - a, this.height - TOP);
        g.strokeStyle = theme.colours.text;
        g.lineWidth = 1;
        g.strokeRect(a + 0.5, TOP - 0.5, Math.max(1, b - a - 1), this.height - TOP);
        const text = timeText(this.selection.to - this.selection.from);
        const wide = g.measureText(text).width;
        const x = Math.max(LEFT + 2, Math.min(this.width - wide - 10, (a + b) / 2 - wide / 2 - 4));
        g.fillStyle = theme.colours.text;
        g.fillRect(x, TOP - 16, wide + 8, 14);
        g.fillStyle = theme.colours.background;
        g.fillText(text, x + 4, TOP - 8.5);
    }
}

Timeline.LEFT = LEFT;
module.exports = {Timeline};
