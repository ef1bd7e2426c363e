// The page: reads the recording and the options that lie in it, and connects the drawings, tables,
// keys and the address.
//
// Options (JSON): `title`; `budget`, the nanoseconds that a frame may take; `pictures`, a list of
// {frame, url} with data addresses; `functions`, names of functions by address ("0x401136");
// `whatIf`, {note, base: {p50, p99}, rows: [{change, p50, p99, low, high, isNoise}]} in nanoseconds.
// Each of them may be absent.
'use strict';
(function (weft) {

const {timeText, TaskKind, GAPS, IDLE, NONE} = weft;
const $ = id => document.getElementById(id);
const numberText = n => n.toLocaleString('en');
const percentText = part => (100 * part).toFixed(1) + ' %';
const MOST_ROWS = 400, MOST_STEPS = 500;

// Makes an element. Properties that are functions become listeners.
function make(tag, properties, ...children) {
    const element = document.createElement(tag);
    for (const key in properties) {
        const value = properties[key];
        if (typeof value === 'function') element.addEventListener(key, value);
        else if (key in element) element[key] = value;
        else element.setAttribute(key, value);
    }
    element.append(...children.filter(child => child !== null && child !== undefined));
    return element;
}
const put = (element, ...children) => element.replaceChildren(...children);

function bytesOf(base64) {
    const text = atob(base64.trim()), bytes = new Uint8Array(text.length);
    for (let i = 0; i < text.length; ++i) bytes[i] = text.charCodeAt(i);
    return bytes;
}

function readOptions() {
    const text = $('weft-options').textContent.trim();
    return text ? JSON.parse(text) : {};
}

const idleTexts = {
    busy: 'busy', nothing: 'nothing could begin', searching: 'searching, something could begin',
    waking: 'being woken', asleep: 'asleep, something could begin',
};

const keys = [
    ['left, right', 'previous, next frame'], ['Home, End', 'first, last frame'], ['L', 'longest frame'],
    ['N', 'next frame over budget'], ['+, -', 'zoom in, out'], ['Shift and left, right', 'move the timeline'],
    ['0', 'show the whole frame'], ['A', 'show the whole recording'], ['/', 'search a task; Enter: next one found'],
    ['P', 'critical path on, off'], ['R', 'arrows on, off'], ['C', 'copy a link to this frame and selection'],
    ['T', 'dark, light'], ['Esc', 'clear the search, the chosen task, the selection'], ['?', 'this help'],
];

class Page {
    constructor(recording, options) {
        this.recording = recording;
        this.options = options;
        this.useFunctionNames(options.functions || {});
        this.analysis = weft.analyse(recording);
        this.frames = this.analysis.frames;
        this.durations = this.analysis.frameDurations();
        this.budget = options.budget > 0 ? options.budget : 0;
        this.allRows = this.analysis.byName();
        this.ranked = [...new Set(this.allRows.map(row => row.name))];
        this.pictures = (options.pictures || []).filter(picture => /^data:image\//.test(picture.url));
        this.timeline = new weft.Timeline($('timeline'), this.analysis);
        this.bars = new weft.FrameBars($('frames'), this.analysis, this.budget);
        this.sortKey = 'total';
        this.sortUp = false;
        this.scope = 'all';
        this.chosen = this.longestFrame();
        this.isPending = false;
    }

    useFunctionNames(functions) {
        for (const [name, address] of this.recording.functions)
            if (functions[address]) this.recording.names[name] = String(functions[address]);
    }

    start() {
        document.title = this.options.title || document.title;
        $('title').textContent = this.options.title || 'weft: frame report';
        const {analysis, recording} = this;
        const tasks = this.allRows.reduce((sum, row) => sum + row.count, 0);
        put($('figures'), ...this.figures([
            [numberText(recording.workers), 'workers'], [numberText(tasks), 'tasks'],
            [numberText(analysis.slices.count), 'slices'],
            [numberText(this.frames.filter(frame => !frame.isAll).length), 'frames'],
            [timeText(analysis.end - analysis.begin), 'recorded']]));
        const over = this.durations.filter(d => this.budget > 0 && d > this.budget).length;
        put($('frame-figures'), ...this.figures([
            ...[50, 95, 99].map(p => [timeText(weft.percentile(this.durations, p)), '', `p${p}`]),
            [timeText(this.durations[this.durations.length - 1]), '', 'longest'],
            ...(this.budget ? [[numberText(over), `over ${timeText(this.budget)}`]] : [])]));
        this.showProblems();
        this.showWhatIf();
        this.listen();
        this.setTheme(this.storedTheme());
        this.readAddress() || this.choose(this.chosen);
    }
    figures(list) {
        return list.map(([value, after, before]) => make('span', {},
            before ? before + ' ' : '', make('b', {}, value), after ? ' ' + after : ''));
    }

    showProblems() {
        const list = [...this.recording.problems], {completeFrom} = this.analysis;
        if (completeFrom > this.analysis.begin + 1000)
            list.push(`The oldest events of some workers were overwritten. All is there from ` +
                      `${timeText(completeFrom - this.analysis.begin)} after the first event on.`);
        if (this.frames.length === 1 && this.frames[0].isAll)
            list.push('There are no frame marks (weft::MarkFrame), so the whole recording is one frame.');
        if (this.timeline.hiddenThreads)
            list.push(`${this.timeline.hiddenThreads} more external threads are not shown.`);
        $('problems').hidden = list.length === 0;
        put($('problems'), make('strong', {}, 'About this recording'),
            make('ul', {}, ...list.map(text => make('li', {}, text))));
    }

    // ---- theme

    storedTheme() {
        let stored = null;
        try { stored = localStorage.getItem('weft-theme'); } catch { /* not for this page */ }
        const prefersDark = matchMedia('(prefers-color-scheme: dark)').matches;
        return stored === 'dark' || stored === 'light' ? stored === 'dark' : prefersDark;
    }
    setTheme(isDark) {
        this.theme = new weft.Theme(isDark, this.ranked);
        this.theme.apply(document.documentElement);
        $('theme').textContent = isDark ? 'Light' : 'Dark';
        this.showLegend();
        if (this.explained) this.showFrame();
        this.showTasks();
        this.drawAll();
    }
    switchTheme() {
        const isDark = !this.theme.isDark;
        try { localStorage.setItem('weft-theme', isDark ? 'dark' : 'light'); } catch { /* not stored */ }
        this.setTheme(isDark);
    }
    chip(colour, pattern) {
        const chip = make('i', {className: 'chip'});
        this.theme.paint(chip, colour, pattern);
        return chip;
    }
    nameChip(name) { return this.chip(this.theme.colourOf(name), this.theme.patternOf(name)); }
    idleChip(reason) { return this.chip(this.theme.colours[reason], weft.idlePatterns[reason]); }

    showLegend() {
        const {colours} = this.theme, path = this.chip('transparent', 'plain');
        path.style.border = `2px solid ${colours.accent}`;
        const item = (chip, text) => make('span', {}, chip, text);
        put($('legend'), item(path, 'critical path'),
            ...IDLE.slice(2).map(reason => item(this.idleChip(reason), idleTexts[reason])),
            item(this.chip(colours.lane, 'plain'), 'nothing could begin'),
            item(this.chip(colours.host, 'plain'), 'host code'),
            make('span', {}, 'wheel: zoom · drag: move · Shift and drag: select · click: details · ?: keys'));
    }

    // ---- drawing

    drawAll() {
        this.bars.draw(this.theme, this.chosen);
        const frame = this.frames[this.chosen];
        weft.drawHistogram($('histogram'), this.theme, this.durations, this.budget, frame ? frame.duration : -1);
        this.placePictures();
        this.drawTimeline();
    }
    drawTimeline() { return this.timeline.draw(this.theme, this.frames[this.chosen], this.frames); }
    drawSoon() {
        if (this.isPending) return;
        this.isPending = true;
        requestAnimationFrame(() => { this.isPending = false; this.drawTimeline(); });
    }
    /// Draws the timeline `times` times, each time moved a little, and returns the milliseconds that
    /// each took, until the pixels were there, sorted.
    measureRedraws(times, from, to) {
        const took = [], g = $('timeline').getContext('2d');
        Object.assign(this.timeline, {from, to});
        let slices = 0;
        for (let i = 0; i < times; ++i) {
            this.timeline.from += 1;
            const begin = performance.now();
            slices = this.drawTimeline();
            g.getImageData(0, 0, 1, 1);
            took.push(performance.now() - begin);
        }
        this.choose(this.chosen);
        return {slices, milliseconds: took.sort((a, b) => a - b)};
    }

    // ---- frames

    longestFrame() {
        let longest = -1;
        this.frames.forEach((frame, i) => {
            if (frame.isPartial) return;
            if (longest < 0 || frame.duration > this.frames[longest].duration) longest = i;
        });
        return longest >= 0 ? longest : 0;
    }
    choose(index, keepView = false) {
        if (this.frames.length === 0) { this.drawAll(); return; }
        this.chosen = Math.max(0, Math.min(this.frames.length - 1, index));
        const frame = this.frames[this.chosen];
        this.explained = this.analysis.explain(this.chosen);
        this.timeline.setPath(this.explained.path);
        if (!keepView) this.view(frame.begin - frame.duration * .01, frame.end + frame.duration * .01);
        this.showFrame();
        if (this.scope !== 'all') this.showTasks();
        this.drawAll();
        this.writeAddress();
    }
    chooseByNumber(number) {
        const index = this.frames.findIndex(frame => frame.number === number);
        if (index >= 0) this.choose(index, true);
        return index >= 0;
    }
    nextOverBudget() {
        for (let n = 1; n <= this.frames.length; ++n) {
            const index = (this.chosen + n) % this.frames.length, frame = this.frames[index];
            if (!frame.isPartial && this.budget > 0 && frame.duration > this.budget) return this.choose(index);
        }
    }
    frameName(frame) { return frame.isAll ? 'The recording' : `Frame ${frame.number}`; }

    showFrame() {
        const frame = this.frames[this.chosen];
        const over = this.budget > 0 ? frame.duration - this.budget : 0;
        $('frame-title').textContent = `${this.frameName(frame)}: ${timeText(frame.duration)}` +
            (over > 0 ? `, ${timeText(over)} over budget` : '') +
            (frame.isPartial ? ' (not recorded from begin to end)' : '');
        this.showPath();
        this.showIdle();
    }

    showPath() {
        const frame = this.frames[this.chosen], {rows, cause, longest, knowsUsual, path} = this.explained;
        $('path-title').textContent = `Critical path: why ${frame.isAll ? 'the recording' :
            `frame ${frame.number}`} took ${timeText(frame.duration)}`;
        const median = weft.percentile(this.durations, 50), more = frame.duration - median;
        const parts = [];
        if (knowsUsual && !frame.isPartial && cause !== null) {
            parts.push(`It took ${timeText(Math.abs(more))} ${more >= 0 ? 'more' : 'less'} than the median frame. `);
            if (cause.extra > 0)
                parts.push('The largest difference: ', make('b', {}, cause.text),
                           `, ${timeText(cause.extra)} more on the critical path than usual. `);
            if (cause.extra > 0 && cause.task >= 0 && cause.taskExtra > cause.extra / 2) {
                parts.push(make('button', {className: 'link', click: () => this.showTask(cause.task)}, 'One task'),
                           ` took ${timeText(cause.taskExtra)} more than the median of its name. `);
            }
        }
        if (longest !== null) {
            const name = this.taskName(longest.task);
            parts.push('Longest step: ', make('button', {className: 'link', click: () => this.showStep(longest)}, name),
                       `, ${timeText(longest.end - longest.begin)} on ${this.analysis.tracks[longest.track].label}.`);
        }
        put($('cause'), ...parts);
        const shown = rows.slice(0, 14), rest = rows.slice(14);
        const most = Math.max(1, frame.duration);
        const body = shown.map(row => {
            const bar = make('i', {}), colour = row.gap ? this.theme.colours.waking : this.theme.colourOf(row.name);
            this.theme.paint(bar, colour, row.gap ? 'stripes' : this.theme.patternOf(row.name));
            bar.style.width = 100 * row.ns / most + '%';
            const chip = row.gap ? this.chip(colour, 'stripes') : this.nameChip(row.name);
            const line = make('tr', {className: row === cause && knowsUsual && row.extra > 0 ? 'cause' : ''},
                make('td', {}, chip, row.text, row.tasks > 1 ?
                    make('span', {className: 'figures'}, ` × ${row.tasks}`) : ''),
                make('td', {}, timeText(row.ns)), make('td', {}, percentText(row.ns / most)),
                make('td', {}, knowsUsual ? timeText(row.usual) : '–'),
                make('td', {}, knowsUsual ? (row.extra >= 0 ? '+' : '−') + timeText(Math.abs(row.extra)) : '–'),
                make('td', {}, make('div', {className: 'bar'}, bar)));
            if (!row.gap) {
                line.dataset.name = row.text;
                line.addEventListener('click', () => this.search(row.text));
            }
            return line;
        });
        if (rest.length) {
            const sum = rest.reduce((total, row) => total + row.ns, 0);
            body.push(make('tr', {}, make('td', {}, `${rest.length} more`), make('td', {}, timeText(sum)),
                           make('td', {}, percentText(sum / most))));
        }
        put($('path'), make('thead', {}, make('tr', {}, ...['on the critical path', 'time', 'part', 'usual', 'extra', '']
            .map(text => make('th', {}, text)))), make('tbody', {}, ...body));
        this.showSteps(path, frame);
    }
    showSteps(path, frame) {
        // neighbours of the same task and track are one line
        const lines = [];
        for (const step of path) {
            const last = lines[lines.length - 1];
            if (last && last.what === step.what && last.task === step.task && last.track === step.track) last.end = step.end;
            else lines.push({...step});
        }
        put($('steps'), make('thead', {}, make('tr', {}, ...['step', 'at', 'on', 'time'].map(text => make('th', {}, text)))),
            make('tbody', {}, ...lines.slice(0, MOST_STEPS).map(step => make('tr', {},
                make('td', {}, make('button', {className: 'link', click: () => this.showStep(step)},
                                    step.what === 'run' ? this.taskName(step.task) : GAPS[step.what])),
                make('td', {}, timeText(step.begin - frame.begin)),
                make('td', {}, this.analysis.tracks[step.track].label),
                make('td', {}, timeText(step.end - step.begin))))),
            make('caption', {}, lines.length > MOST_STEPS ? `the first ${MOST_STEPS} of ${lines.length} steps` : ''));
    }
    showStep(step) {
        const pad = Math.max(step.end - step.begin, 1000);
        this.view(step.begin - pad, step.end + pad);
        this.chooseTask(step.what === 'run' ? step.task : -1);
        $('timeline').scrollIntoView({block: 'nearest'});
    }

    showIdle() {
        const frame = this.frames[this.chosen], range = this.timeline.selection;
        const from = range ? range.from : frame.begin, to = range ? range.to : frame.end;
        const rows = this.analysis.idle(from, to).filter(row =>
            row.track < this.recording.workers || row.busy > 0), length = Math.max(1, to - from);
        $('idle-title').textContent = 'What each worker did in ' +
            (range ? `the selection (${timeText(to - from)})` : frame.isAll ? 'the recording' : `frame ${frame.number}`);
        put($('idle'), ...rows.slice(0, 64).map(row => {
            const parts = make('div', {className: 'parts', role: 'img',
                'aria-label': IDLE.map(reason => `${idleTexts[reason]} ${percentText(row[reason] / length)}`).join(', ')});
            for (const reason of IDLE) {
                const part = make('i', {title: `${idleTexts[reason]}: ${timeText(row[reason])}`});
                part.style.width = 100 * row[reason] / length + '%';
                this.theme.paint(part, this.theme.colours[reason], weft.idlePatterns[reason]);
                parts.append(part);
            }
            return make('div', {className: 'account'}, make('span', {}, this.analysis.tracks[row.track].label),
                        parts, make('span', {title: 'busy'}, percentText(row.busy / length)));
        }));
        const all = length * Math.max(1, rows.length);
        put($('idle-sums'), make('thead', {}, make('tr', {}, ...['all workers', 'time', 'part'].map(text => make('th', {}, text)))),
            make('tbody', {}, ...IDLE.map(reason => {
                const sum = rows.reduce((total, row) => total + row[reason], 0);
                return make('tr', {}, make('td', {}, this.idleChip(reason), idleTexts[reason]),
                            make('td', {}, timeText(sum)), make('td', {}, percentText(sum / all)));
            })));
    }

    showWhatIf() {
        const {whatIf} = this.options;
        if (!whatIf || !Array.isArray(whatIf.rows)) return;
        $('what-if-panel').hidden = false;
        const base = whatIf.base || {};
        $('what-if-note').textContent = (whatIf.note || '') +
            (base.p50 ? ` As recorded: p50 ${timeText(base.p50)}, p99 ${timeText(base.p99)}.` : '');
        put($('what-if'), make('thead', {}, make('tr', {}, ...['change', 'p50', 'gain', 'least, most', 'p99']
            .map(text => make('th', {}, text)))),
            make('tbody', {}, ...whatIf.rows.map(row => make('tr', {},
                make('td', {}, row.change), make('td', {}, timeText(row.p50)),
                make('td', {}, row.isNoise ? 'within noise' : timeText(base.p50 - row.p50)),
                make('td', {}, `${timeText(row.low)}, ${timeText(row.high)}`), make('td', {}, timeText(row.p99))))));
    }

    // ---- tasks by name

    showTasks() {
        const frame = this.frames[this.chosen], range = this.timeline.selection;
        let rows = this.allRows;
        if (this.scope === 'frame' && frame) rows = this.analysis.byName(frame.begin, frame.end);
        if (this.scope === 'selection' && range) rows = this.analysis.byName(range.from, range.to, true);
        const wanted = $('search').value.trim().toLowerCase();
        if (wanted) rows = rows.filter(row => row.text.toLowerCase().includes(wanted));
        const {sortKey} = this, sign = this.sortUp ? 1 : -1;
        const value = row => sortKey === 'text' ? row.text.toLowerCase() :
            Number.isFinite(row[sortKey]) ? row[sortKey] : -Infinity;
        rows = [...rows].sort((a, b) => value(a) < value(b) ? -sign : value(a) > value(b) ? sign : 0);
        const columns = [['text', 'task'], ['count', 'count'], ['total', 'total'], ['', ''], ['p50', 'p50'],
                         ['p99', 'p99'], ['max', 'max'], ['longestWait', 'longest wait'],
                         ['queuedP50', 'queued p50'], ['queuedP99', 'queued p99']];
        const most = rows.reduce((m, row) => Math.max(m, row.total), 1);
        const head = columns.map(([key, text]) => {
            if (!key) return make('th', {});
            const th = make('th', {}, make('button', {'data-sort': key, click: () => {
                this.sortUp = this.sortKey === key ? !this.sortUp : key === 'text';
                this.sortKey = key;
                this.showTasks();
                $('tasks').querySelector(`button[data-sort=${key}]`).focus();
            }}, text + (key === sortKey ? (this.sortUp ? ' ▴' : ' ▾') : '')));
            if (key === sortKey) th.setAttribute('aria-sort', this.sortUp ? 'ascending' : 'descending');
            return th;
        });
        const body = rows.slice(0, MOST_ROWS).map(row => {
            const bar = make('i', {});
            this.theme.paint(bar, this.theme.colourOf(row.name), this.theme.patternOf(row.name));
            bar.style.width = 100 * row.total / most + '%';
            const line = make('tr', {'data-name': row.text, tabIndex: 0},
                make('td', {}, this.nameChip(row.name), row.text, row.isCall ? make('span', {className: 'figures'}, ' (blocking call)') : ''),
                make('td', {}, numberText(row.count)), make('td', {}, timeText(row.total)),
                make('td', {}, make('div', {className: 'bar'}, bar)),
                make('td', {}, timeText(row.p50)), make('td', {}, timeText(row.p99)), make('td', {}, timeText(row.max)),
                make('td', {}, row.longestWait > 0 ? timeText(row.longestWait) : '–'),
                make('td', {}, timeText(row.queuedP50)), make('td', {}, timeText(row.queuedP99)));
            line.addEventListener('click', () => this.search(row.text));
            line.addEventListener('keydown', event => { if (event.key === 'Enter') this.search(row.text); });
            return line;
        });
        put($('tasks'), make('thead', {}, make('tr', {}, ...head)), make('tbody', {}, ...body),
            make('caption', {}, rows.length > MOST_ROWS ? `the first ${MOST_ROWS} of ${rows.length} names` :
                 rows.length === 0 ? 'no task' : ''));
    }

    search(text) {
        $('search').value = text;
        const wanted = text.trim().toLowerCase(), {names} = this.analysis;
        this.timeline.matches = wanted ?
            Uint8Array.from(names, name => name.toLowerCase().includes(wanted) ? 1 : 0) : null;
        let found = 0;
        if (wanted) {
            const {tasks} = this.analysis;
            for (let i = 0; i < tasks.count; ++i)
                found += this.timeline.matches[tasks.name[i]] && tasks.kind[i] !== TaskKind.Host ? 1 : 0;
        }
        $('found').textContent = wanted ? `${numberText(found)} found` : '';
        this.showTasks();
        this.drawSoon();
    }
    // Shows the next task that the search has found, after the chosen one or the middle of the view.
    showNextFound() {
        const {timeline, analysis} = this, {tasks} = analysis;
        if (timeline.matches === null) return;
        const after = timeline.chosenTask >= 0 ? tasks.begin[timeline.chosenTask] : timeline.from;
        let next = -1, first = -1;
        for (let i = 0; i < tasks.count; ++i) {
            if (!timeline.matches[tasks.name[i]] || tasks.kind[i] === TaskKind.Host) continue;
            if (first < 0 || tasks.begin[i] < tasks.begin[first]) first = i;
            if (tasks.begin[i] > after && (next < 0 || tasks.begin[i] < tasks.begin[next])) next = i;
        }
        const task = next >= 0 ? next : first;
        if (task < 0) return;
        this.showTask(task);
    }

    // ---- one task

    taskName(task) { return this.analysis.names[this.analysis.tasks.name[task]] || '(no name)'; }
    chooseTask(task) {
        this.timeline.chosenTask = task;
        this.showDetails(task);
        this.drawSoon();
    }
    showTask(task) {
        const {tasks} = this.analysis, pad = Math.max(2000, (tasks.end[task] - tasks.begin[task]) * .5);
        const frame = this.frames.findIndex(f => f.end >= tasks.begin[task]);
        if (frame >= 0 && frame !== this.chosen) this.choose(frame, true);
        this.view(tasks.begin[task] - pad, tasks.end[task] + pad);
        this.chooseTask(task);
    }
    showDetails(task) {
        $('details').hidden = task < 0;
        if (task < 0) return;
        const {analysis, recording} = this, {tasks, waits, tracks, submissions} = analysis;
        const items = [], frame = this.frames[this.chosen];
        const at = time => timeText(time - frame.begin);
        const link = other => make('button', {className: 'link', click: () => this.showTask(other)}, this.taskName(other));
        items.push(make('li', {}, `Ran ${timeText(tasks.run[task])}; from begin to end ${timeText(tasks.end[task] - tasks.begin[task])}. ` +
            `Began at ${at(tasks.begin[task])} on ${tracks[tasks.beginTrack[task]].label}, ended on ${tracks[tasks.endTrack[task]].label}.` +
            (tasks.stolenFrom[task] !== NONE && tasks.stolenFrom[task] < tracks.length ? ` Stolen from ${tracks[tasks.stolenFrom[task]].label}.` : '') +
            (tasks.flags[task] & weft.FLAG_CUT_BEGIN ? ' Its begin was not recorded.' : '') +
            (tasks.flags[task] & weft.FLAG_CUT_END ? ' Its end was not recorded.' : '')));
        const submit = tasks.submit[task];
        if (submit >= 0) {
            const by = submissions.submitter.get(submit);
            const priority = ['High', 'Normal', 'Low'][recording.priority[submit] & 3] || '';
            items.push(make('li', {}, `Queued ${timeText(tasks.queued[task])}. Submitted at ${at(recording.time[submit])} on ` +
                tracks[analysis.trackOf[submit]].label + (by === undefined ? '' : ' by '), by === undefined ? '' : link(by),
                ` (${numberText(recording.other[submit])} tasks, priority ${priority}, ${analysis.counterName(recording.counter[submit], recording.time[submit])}).`));
        }
        let shown = 0;
        for (let i = 0; i < waits.count; ++i) {
            if (waits.task[i] !== task || ++shown > 20) continue;
            const by = waits.readyTrack[i] >= 0 ? analysis.sliceBefore(waits.readyTrack[i], waits.ready[i] + 1) : -1;
            items.push(make('li', {}, waits.isYield[i] ? 'Yielded' : `Waited for ${analysis.counterName(waits.counter[i], waits.begin[i])} <= ${waits.target[i]}`,
                ` at ${at(waits.begin[i])} for ${timeText(waits.end[i] - waits.begin[i])}`,
                waits.isYield[i] || waits.readyTrack[i] < 0 ? '.' : waits.byDeadline[i] ? ', until a deadline.' :
                    `; released at ${at(waits.ready[i])} on ${tracks[waits.readyTrack[i]].label}${by >= 0 ? ' after ' : ''}`,
                by >= 0 && !waits.isYield[i] && !waits.byDeadline[i] ? link(analysis.slices.task[by]) : '',
                waits.readyTrack[i] >= 0 && !waits.isYield[i] && !waits.byDeadline[i] ?
                    `, continued ${timeText(waits.end[i] - waits.ready[i])} later.` : ''));
        }
        if (shown > 20) items.push(make('li', {}, `${shown - 20} more waits`));
        put($('details'), this.nameChip(tasks.name[task]), make('b', {}, this.taskName(task)),
            tasks.number[task] > 0 ? ` task ${tasks.number[task]}` : '', make('ul', {}, ...items));
    }

    // ---- view, selection and address

    view(from, to) {
        const {analysis} = this, least = 50;
        const most = Math.max(analysis.end - analysis.begin, 1000) * 1.1;
        let span = Math.min(most, Math.max(least, to - from)), middle = (from + to) / 2;
        if (!Number.isFinite(span) || !Number.isFinite(middle)) return;
        middle = Math.max(analysis.begin, Math.min(analysis.end, middle));
        Object.assign(this.timeline, {from: middle - span / 2, to: middle + span / 2});
        this.drawSoon();
    }
    zoom(factor, around = (this.timeline.from + this.timeline.to) / 2) {
        const {from, to} = this.timeline;
        this.view(around - (around - from) * factor, around + (to - around) * factor);
    }
    pan(part) {
        const {from, to} = this.timeline, by = (to - from) * part;
        this.view(from + by, to + by);
    }
    select(from, to) {
        this.timeline.selection = from === null ? null : {from: Math.min(from, to), to: Math.max(from, to)};
        const radio = document.querySelector('input[name=scope][value=selection]');
        radio.disabled = from === null;
        if (from === null && this.scope === 'selection') this.setScope('all');
        if (this.explained) this.showIdle();
        if (this.scope === 'selection') this.showTasks();
        this.writeAddress();
        this.drawSoon();
    }
    setScope(scope) {
        this.scope = scope;
        document.querySelector(`input[name=scope][value=${scope}]`).checked = true;
        this.showTasks();
    }
    // Microseconds since the start of the run. A selection is part of the address.
    address() {
        const frame = this.frames[this.chosen], {selection} = this.timeline;
        let text = frame && !frame.isAll ? `#frame=${frame.number}` : '#';
        if (selection) {
            text += (text === '#' ? '' : '&') +
                `from=${(selection.from / 1e3).toFixed(3)}&to=${(selection.to / 1e3).toFixed(3)}`;
        }
        return text;
    }
    writeAddress() {
        try { history.replaceState(null, '', this.address()); } catch { /* a browser may forbid it */ }
    }
    readAddress() {
        const words = new URLSearchParams(location.hash.slice(1));
        let known = false;
        if (words.has('frame')) {
            const index = this.frames.findIndex(frame => frame.number === Number(words.get('frame')));
            if (index >= 0) { this.choose(index); known = true; }
        }
        const from = Number(words.get('from')) * 1e3, to = Number(words.get('to')) * 1e3;
        if (words.has('from') && words.has('to') && to > from) {
            if (!known) this.choose(Math.max(0, this.frames.findIndex(frame => frame.end >= from)));
            this.select(from, to);
            const pad = (to - from) * .2;
            this.view(from - pad, to + pad);
            known = true;
        }
        return known;
    }
    copyLink() {
        const link = location.href.split('#')[0] + this.address(), button = $('copy');
        const done = text => {
            button.textContent = text;
            setTimeout(() => { button.textContent = 'Copy link'; }, 1500);
        };
        if (!navigator.clipboard) return done('in the address bar');
        navigator.clipboard.writeText(link).then(() => done('copied'), () => done('in the address bar'));
    }

    // ---- pictures

    placePictures() {
        const strip = $('pictures');
        strip.hidden = this.pictures.length === 0;
        if (strip.hidden) return;
        const images = [];
        let free = -Infinity;
        const wanted = this.frames[this.chosen].number;
        const placed = this.pictures.map(picture => ({
            picture, index: this.frames.findIndex(frame => frame.number === picture.frame)}))
            .filter(item => item.index >= 0);
        const add = ({picture, index}, isChosen) => {
            const image = make('img', {src: picture.url, alt: `frame ${picture.frame}`, title: `frame ${picture.frame}`,
                                       className: isChosen ? 'chosen' : '', click: () => this.choose(index)});
            image.style.left = Math.max(0, Math.min(strip.clientWidth - 100, this.bars.xOf(index) - 50)) + 'px';
            images.push(image);
        };
        const chosen = placed.find(item => item.picture.frame === wanted);
        const chosenX = chosen ? this.bars.xOf(chosen.index) : -Infinity;
        for (const item of placed) {
            const x = this.bars.xOf(item.index);
            if (item === chosen || x < free || Math.abs(x - chosenX) < 104) continue;
            add(item, false);
            free = x + 104;
        }
        if (chosen) add(chosen, true);
        put(strip, ...images);
    }

    // ---- mouse and keys

    showTip(event, text, picture) {
        const tip = $('tip');
        tip.hidden = text === '';
        if (text === '') return;
        put(tip, text, picture ? make('img', {src: picture.url, alt: ''}) : '');
        tip.style.left = Math.max(4, Math.min(event.clientX + 14, innerWidth - tip.offsetWidth - 8)) + 'px';
        tip.style.top = Math.max(4, Math.min(event.clientY + 14, innerHeight - tip.offsetHeight - 8)) + 'px';
    }
    sliceText(slice) {
        const {slices, tasks, tracks} = this.analysis, task = slices.task[slice];
        const lines = [this.taskName(task) + (tasks.kind[task] === TaskKind.Call ? ' (blocking call)' : '')];
        lines.push(`this part ${timeText(slices.end[slice] - slices.begin[slice])}, ran ${timeText(tasks.run[task])}, ` +
                   `from begin to end ${timeText(tasks.end[task] - tasks.begin[task])}`);
        if (tasks.waited[task] > 0) lines.push(`waited ${timeText(tasks.waited[task])}`);
        if (tasks.queued[task] >= 0) lines.push(`queued ${timeText(tasks.queued[task])}`);
        lines.push(`${tracks[slices.track[slice]].label}` + (slices.track[slice] < this.analysis.slots ? `, fiber ${tasks.fiber[task]}` : ''));
        if (this.timeline.onPath[slice]) lines.push('on the critical path');
        return lines.join('\n');
    }
    threadText(track, time) {
        const {waits, tracks} = this.analysis;
        for (let i = 0; i < waits.count; ++i) {
            if (waits.beginTrack[i] === track && waits.begin[i] <= time && waits.end[i] > time)
                return `${tracks[track].label}\nwaits for ${this.analysis.counterName(waits.counter[i], time)}`;
        }
        return tracks[track].label;
    }
    // What a place of the timeline without a slice says.
    idleText(event) {
        const row = this.timeline.rowAt(event.clientY), time = this.timeline.timeAt(event.clientX);
        if (row === undefined || time < this.timeline.from) return '';
        if (row.track >= this.analysis.slots) return this.threadText(row.track, time);
        let found = '';
        this.analysis.splitGap(row.track, time - 1, time + 1, 'searching', what => { found = what; });
        const some = this.analysis.supply.at(time);
        return `${this.analysis.tracks[row.track].label}\n` + (found === 'waking' ? idleTexts.waking :
            some > 0 ? `${idleTexts[found]} (${some} tasks and fibers)` :
            `${found === 'asleep' ? 'asleep, ' : ''}${idleTexts.nothing}`);
    }

    listen() {
        const timeline = $('timeline'), frames = $('frames');
        timeline.addEventListener('wheel', event => {
            event.preventDefault();
            if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY))
                this.pan((event.deltaX || event.deltaY) * .0012);
            else this.zoom(Math.exp(event.deltaY * .0015), this.timeline.timeAt(event.clientX));
        }, {passive: false});
        let drag = null;
        timeline.addEventListener('pointerdown', event => {
            if (event.button !== 0) return;
            drag = {x: event.clientX, from: this.timeline.from, to: this.timeline.to, moved: false,
                    anchor: event.shiftKey ? this.timeline.timeAt(event.clientX) : null};
            timeline.setPointerCapture(event.pointerId);
        });
        timeline.addEventListener('pointermove', event => {
            if (drag !== null) {
                drag.moved = drag.moved || Math.abs(event.clientX - drag.x) > 3;
                if (!drag.moved) return;
                if (drag.anchor !== null) return this.select(drag.anchor, this.timeline.timeAt(event.clientX));
                const by = (event.clientX - drag.x) / (timeline.clientWidth - weft.Timeline.LEFT) * (drag.to - drag.from);
                return this.view(drag.from - by, drag.to - by);
            }
            const slice = this.timeline.sliceAt(event.clientX, event.clientY);
            this.showTip(event, slice >= 0 ? this.sliceText(slice) : this.idleText(event));
        });
        timeline.addEventListener('pointerup', event => {
            const isClick = drag !== null && !drag.moved;
            drag = null;
            if (!isClick) return;
            const slice = this.timeline.sliceAt(event.clientX, event.clientY);
            this.chooseTask(slice >= 0 ? this.analysis.slices.task[slice] : -1);
        });
        timeline.addEventListener('pointercancel', () => { drag = null; });
        timeline.addEventListener('pointerleave', event => this.showTip(event, ''));
        timeline.addEventListener('dblclick', () => this.choose(this.chosen));

        frames.addEventListener('click', event => {
            const index = this.bars.frameAt(event.clientX);
            if (index >= 0) this.choose(index);
        });
        frames.addEventListener('pointermove', event => {
            const index = this.bars.frameAt(event.clientX);
            if (index < 0) return this.showTip(event, '');
            const frame = this.frames[index];
            this.showTip(event, `${this.frameName(frame)}: ${timeText(frame.duration)}` +
                         (frame.isPartial ? '\nnot recorded from begin to end' : ''),
                         this.pictures.find(picture => picture.frame === frame.number));
        });
        frames.addEventListener('pointerleave', event => this.showTip(event, ''));

        const click = (id, act) => $(id).addEventListener('click', act);
        click('previous', () => this.choose(this.chosen - 1));
        click('next', () => this.choose(this.chosen + 1));
        click('longest', () => this.choose(this.longestFrame()));
        click('zoom-in', () => this.zoom(.6));
        click('zoom-out', () => this.zoom(1 / .6));
        click('whole', () => this.choose(this.chosen));
        click('theme', () => this.switchTheme());
        click('copy', () => this.copyLink());
        click('help-button', () => this.showHelp());
        $('show-path').addEventListener('change', () => this.toggle('showPath', $('show-path').checked));
        $('show-arrows').addEventListener('change', () => this.toggle('showArrows', $('show-arrows').checked));
        $('search').addEventListener('input', () => this.search($('search').value));
        $('search').addEventListener('keydown', event => {
            if (event.key === 'Enter') this.showNextFound();
            if (event.key === 'Escape') { this.search(''); $('search').blur(); }
            event.stopPropagation();
        });
        for (const radio of document.querySelectorAll('input[name=scope]'))
            radio.addEventListener('change', () => this.setScope(radio.value));
        addEventListener('resize', () => this.drawAll());
        addEventListener('hashchange', () => this.readAddress());
        matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => this.setTheme(this.storedTheme()));
        addEventListener('keydown', event => this.key(event));
    }
    toggle(option, value) {
        this.timeline[option] = value;
        $('show-path').checked = this.timeline.showPath;
        $('show-arrows').checked = this.timeline.showArrows;
        this.drawSoon();
    }
    showHelp() {
        const help = $('help');
        put(help, make('h2', {}, 'Keys'), make('table', {}, make('tbody', {}, ...keys.map(([key, text]) =>
            make('tr', {}, make('td', {}, make('kbd', {}, key)), make('td', {}, text))))),
            make('h2', {}, 'How to read it'),
            make('p', {}, 'A frame lasts from one frame mark to the next one. The critical path goes back from the end of ' +
                 'the frame. Each part of it began after the later of two things: what it depends on (its submission, or what ' +
                 'released its wait), and what its worker did before. So the times on the path add up to the whole frame.'),
            make('p', {}, '“Usual” is the median over all frames. “Could begin” counts tasks that were submitted and have not ' +
                 'begun, and fibers that were released and have not continued, also if they are bound to another worker.'),
            make('button', {click: () => help.close(), autofocus: true}, 'Close'));
        if (!help.open) help.showModal();
    }
    key(event) {
        if (event.ctrlKey || event.metaKey || event.altKey) return;
        if ($('help').open) { if (event.key === '?') $('help').close(); return; }
        if (event.target.tagName === 'INPUT' && event.target.type === 'radio' && event.key.startsWith('Arrow')) return;
        const acts = {
            ArrowLeft: () => event.shiftKey ? this.pan(-.25) : this.choose(this.chosen - 1),
            ArrowRight: () => event.shiftKey ? this.pan(.25) : this.choose(this.chosen + 1),
            Home: () => this.choose(0), End: () => this.choose(this.frames.length - 1),
            '+': () => this.zoom(.6), '=': () => this.zoom(.6), '-': () => this.zoom(1 / .6),
            0: () => this.choose(this.chosen), '?': () => this.showHelp(),
            '/': () => { $('search').focus(); $('search').select(); },
            a: () => this.view(this.analysis.begin, this.analysis.end), l: () => this.choose(this.longestFrame()),
            n: () => this.nextOverBudget(), p: () => this.toggle('showPath', !this.timeline.showPath),
            r: () => this.toggle('showArrows', !this.timeline.showArrows), c: () => this.copyLink(),
            t: () => this.switchTheme(),
            Escape: () => { this.search(''); this.chooseTask(-1); this.select(null); },
        };
        const act = acts[event.key] || acts[event.key.toLowerCase()];
        if (act === undefined) return;
        event.preventDefault();
        act();
    }
}

// Says on the page why there is nothing to see.
function fail(error) {
    const theme = weft.palettes[matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light'];
    for (const key in theme) if (key !== 'tasks') document.documentElement.style.setProperty('--' + key, theme[key]);
    put($('main'), make('section', {className: 'notice', id: 'problems'}, make('strong', {}, 'Nothing to show'),
                        make('ul', {}, make('li', {}, error.message))));
}

let recording = null, options = null;
try {
    options = readOptions();
    recording = weft.read(bytesOf($('weft-recording').textContent));
} catch (error) {
    fail(error);
}
if (recording !== null) {
    weft.page = new Page(recording, options);
    weft.page.start();
}

})(globalThis.weft = globalThis.weft || {});
