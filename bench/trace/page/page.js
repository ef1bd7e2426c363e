// The page: reads the recording and the options that lie in it, and keeps what is chosen: a frame,
// a task, a selection, a search. It connects the drawings and the tables.
//
// Options (JSON): `title`; `budget`, the nanoseconds that a frame may take; `pictures`, a list of
// {frame, url} with data addresses; `functions`, names of functions by address ("0x401136");
// `whatIf`, the table of `machine what-if` (what_if.js). Each of them may be absent.
'use strict';
const {read} = require('./reader.js');
const {analyse, percentile, TaskKind, IDLE} = require('./analysis.js');
const {palettes, idlePatterns} = require('./palette.js');
const {$, numberText, make, put} = require('./dom.js');
const {timeText, Theme, FrameBars, drawHistogram} = require('./drawing.js');
const {Timeline} = require('./timeline.js');
const {showPath, showIdle, showTasks, idleTexts} = require('./tables.js');
const {showWhatIf} = require('./what_if.js');
const {showDetails} = require('./details.js');
const {listen} = require('./input.js');

const PICTURE_WIDTH = 104; // with the space beside it
const prefersDark = () => matchMedia('(prefers-color-scheme: dark)').matches;

class Page {
    constructor(recording, options) {
        this.recording = recording;
        this.options = options;
        this.useFunctionNames(options.functions || {});
        this.analysis = analyse(recording);
        this.frames = this.analysis.frames;
        this.durations = this.analysis.frameDurations();
        this.budget = options.budget > 0 ? options.budget : 0;
        this.allRows = this.analysis.byName();
        this.ranked = [...new Set(this.allRows.map(row => row.name))];
        this.timeline = new Timeline($('timeline'), this.analysis);
        this.bars = new FrameBars($('frames'), this.analysis, this.budget);
        this.pictures = this.findPictures(options.pictures || []);
        this.sortKey = 'total'; // of the table of tasks
        this.sortUp = false;
        this.scope = 'all'; // all, frame, selection
        this.chosen = this.longestFrame();
        this.explained = null; // the chosen frame
        this.isDrawingSoon = false;
    }

    useFunctionNames(functions) {
        for (const [name, address] of this.recording.functions) {
            if (functions[address]) this.recording.names[name] = String(functions[address]);
        }
    }

    start() {
        document.title = this.options.title || document.title;
        $('title').textContent = this.options.title || 'weft: frame report';
        this.showFigures();
        this.showProblems();
        showWhatIf(this.options.whatIf);
        listen(this);
        this.setTheme(this.storedTheme());
        this.readAddress() || this.choose(this.chosen);
    }

    showFigures() {
        const {analysis, budget, durations} = this;
        const figure = (before, value, after) =>
            make('span', {}, before, make('b', {}, value), after);
        const tasks = this.allRows.reduce((sum, row) => sum + row.count, 0);
        const frames = this.frames.filter(frame => !frame.isAll).length;
        put(
            $('figures'),
            figure('', numberText(this.recording.workers), ' workers'),
            figure('', numberText(tasks), ' tasks'),
            figure('', numberText(analysis.slices.count), ' slices'),
            figure('', numberText(frames), ' frames'),
            figure('', timeText(analysis.end - analysis.begin), ' recorded'),
        );
        const over = durations.filter(duration => duration > budget).length;
        put(
            $('frame-figures'),
            ...[50, 95, 99].map(p => figure(`p${p} `, timeText(percentile(durations, p)), '')),
            figure('longest ', timeText(percentile(durations, 100)), ''),
            budget ? figure('', numberText(over), ` over ${timeText(budget)}`) : '',
        );
    }

    showProblems() {
        const {analysis} = this;
        const list = [...this.recording.problems];
        if (analysis.completeFrom > analysis.begin + 1000) {
            const from = timeText(analysis.completeFrom - analysis.begin);
            list.push(
                'The oldest events of some workers were overwritten. ' +
                    `All is there from ${from} after the first event on.`,
            );
        }
        if (this.frames.length === 1 && this.frames[0].isAll)
            list.push('There are no frame marks (weft::MarkFrame), so all of it is one frame.');
        if (this.timeline.hiddenThreads)
            list.push(`${this.timeline.hiddenThreads} more external threads are not shown.`);
        $('problems').hidden = list.length === 0;
        putNotice($('problems'), 'About this recording', list);
    }

    // ---- colours

    // A choice of the user wins over the system's.
    storedTheme() {
        let stored = null;
        try {
            stored = localStorage.getItem('weft-theme');
        } catch {
            // a browser may forbid it for files
        }
        return stored === 'dark' || stored === 'light' ? stored === 'dark' : prefersDark();
    }
    setTheme(isDark) {
        this.theme = new Theme(isDark, this.ranked);
        this.theme.apply(document.documentElement);
        $('theme').textContent = isDark ? 'Light' : 'Dark';
        this.showLegend();
        if (this.explained) this.showFrame();
        showTasks(this);
        showDetails(this, this.timeline.chosenTask);
        this.drawAll();
    }
    switchTheme() {
        const isDark = !this.theme.isDark;
        try {
            localStorage.setItem('weft-theme', isDark ? 'dark' : 'light');
        } catch {
            // then it holds until the page is closed
        }
        this.setTheme(isDark);
    }
    chip(colour, pattern) {
        const chip = make('i', {className: 'chip'});
        this.theme.paint(chip, colour, pattern);
        return chip;
    }
    idleChip(reason) {
        return this.chip(this.theme.colours[reason], idlePatterns[reason]);
    }
    showLegend() {
        const {colours} = this.theme;
        const path = this.chip('transparent', 'plain');
        path.style.border = `2px solid ${colours.accent}`;
        const item = (chip, text) => make('span', {}, chip, text);
        put(
            $('legend'),
            item(path, 'critical path'),
            ...IDLE.slice(2).map(reason => item(this.idleChip(reason), idleTexts[reason])),
            item(this.chip(colours.lane, 'plain'), 'nothing could begin'),
            item(this.chip(colours.host, 'plain'), 'host code'),
            item(
                '',
                'wheel: zoom · drag: move · Shift and drag: select · click: details · ?: keys',
            ),
        );
    }

    // ---- drawing

    drawAll() {
        const frame = this.frames[this.chosen];
        this.bars.draw(this.theme, this.chosen);
        const marked = frame ? frame.duration : -1;
        drawHistogram($('histogram'), this.theme, this.durations, this.budget, marked);
        this.placePictures();
        this.drawTimeline();
    }
    drawTimeline() {
        return this.timeline.draw(this.theme, this.frames[this.chosen], this.frames);
    }
    drawSoon() {
        if (this.isDrawingSoon) return;
        this.isDrawingSoon = true;
        requestAnimationFrame(() => {
            this.isDrawingSoon = false;
            this.drawTimeline();
        });
    }
    /// Draws the timeline `times` times, each time moved a little. Returns how many slices that
    /// are, and the milliseconds until the pixels were there, sorted.
    measureRedraws(times, from, to) {
        const context = $('timeline').getContext('2d');
        const milliseconds = [];
        let slices = 0;
        Object.assign(this.timeline, {from, to});
        for (let i = 0; i < times; ++i) {
            this.timeline.from += 1;
            const begin = performance.now();
            slices = this.drawTimeline();
            context.getImageData(0, 0, 1, 1); // waits for the pixels
            milliseconds.push(performance.now() - begin);
        }
        this.choose(this.chosen);
        return {slices, milliseconds: milliseconds.sort((a, b) => a - b)};
    }

    // ---- frames

    longestFrame() {
        let longest = -1;
        this.frames.forEach((frame, i) => {
            if (frame.isPartial) return;
            if (longest < 0 || frame.duration > this.frames[longest].duration) longest = i;
        });
        return Math.max(0, longest);
    }
    choose(index, keepView = false) {
        if (this.frames.length === 0) return this.drawAll();
        this.chosen = Math.max(0, Math.min(this.frames.length - 1, index));
        const frame = this.frames[this.chosen];
        const pad = frame.duration * 0.01;
        this.explained = this.analysis.explain(this.chosen);
        this.timeline.setPath(this.explained.path);
        if (!keepView) this.view(frame.begin - pad, frame.end + pad);
        this.showFrame();
        if (this.scope === 'frame') showTasks(this);
        this.drawAll();
        this.writeAddress();
    }
    isOverBudget(frame) {
        return !frame.isPartial && this.budget > 0 && frame.duration > this.budget;
    }
    chooseNextOverBudget() {
        for (let n = 1; n <= this.frames.length; ++n) {
            const index = (this.chosen + n) % this.frames.length;
            if (this.isOverBudget(this.frames[index])) return this.choose(index);
        }
    }
    frameText(frame) {
        const name = frame.isAll ? 'The recording' : `Frame ${frame.number}`;
        return `${name}: ${timeText(frame.duration)}`;
    }
    showFrame() {
        const frame = this.frames[this.chosen];
        const over = timeText(frame.duration - this.budget);
        $('frame-title').textContent =
            this.frameText(frame) +
            (this.isOverBudget(frame) ? `, ${over} over budget` : '') +
            (frame.isPartial ? ' (not recorded from begin to end)' : '');
        this.showPicture();
        showPath(this);
        showIdle(this);
    }
    showStep(step) {
        const pad = Math.max(step.end - step.begin, 1000);
        this.view(step.begin - pad, step.end + pad);
        this.chooseTask(step.what === 'run' ? step.task : -1);
        $('timeline').scrollIntoView({block: 'nearest'});
    }

    // ---- tasks

    taskName(task) {
        return this.analysis.names[this.analysis.tasks.name[task]] || '(no name)';
    }
    label(track) {
        return this.analysis.tracks[track].label;
    }
    chooseTask(task) {
        this.timeline.chosenTask = task;
        showDetails(this, task);
        this.drawSoon();
    }
    showTask(task) {
        const {tasks} = this.analysis;
        const pad = Math.max(2000, (tasks.end[task] - tasks.begin[task]) / 2);
        const frame = this.frames.findIndex(one => one.end >= tasks.begin[task]);
        if (frame >= 0 && frame !== this.chosen) this.choose(frame, true);
        this.view(tasks.begin[task] - pad, tasks.end[task] + pad);
        this.chooseTask(task);
    }
    isFound(task) {
        const {kind, name} = this.analysis.tasks;
        const {matches} = this.timeline;
        return matches !== null && matches[name[task]] === 1 && kind[task] !== TaskKind.Host;
    }
    search(text) {
        const {names, tasks} = this.analysis;
        const wanted = text.trim().toLowerCase();
        const matches = name => (name.toLowerCase().includes(wanted) ? 1 : 0);
        $('search').value = text;
        this.timeline.matches = wanted ? Uint8Array.from(names, matches) : null;
        let found = 0;
        for (let task = 0; task < tasks.count; ++task) if (this.isFound(task)) ++found;
        $('found').textContent = wanted ? `${numberText(found)} found` : '';
        showTasks(this);
        this.drawSoon();
    }
    // Shows the next task that the search has found: after the chosen one, or after the left edge.
    showNextFound() {
        const {begin, count} = this.analysis.tasks;
        const {chosenTask} = this.timeline;
        const after = chosenTask >= 0 ? begin[chosenTask] : this.timeline.from;
        let next = -1;
        let first = -1;
        for (let task = 0; task < count; ++task) {
            if (!this.isFound(task)) continue;
            if (first < 0 || begin[task] < begin[first]) first = task;
            if (begin[task] > after && (next < 0 || begin[task] < begin[next])) next = task;
        }
        if (first >= 0) this.showTask(next >= 0 ? next : first);
    }

    // ---- view, selection and address

    view(from, to) {
        const {analysis} = this;
        const most = Math.max(analysis.end - analysis.begin, 1000) * 1.1;
        const span = Math.min(most, Math.max(50, to - from));
        const middle = Math.max(analysis.begin, Math.min(analysis.end, (from + to) / 2));
        Object.assign(this.timeline, {from: middle - span / 2, to: middle + span / 2});
        this.drawSoon();
    }
    zoom(factor, around = (this.timeline.from + this.timeline.to) / 2) {
        const {from, to} = this.timeline;
        this.view(around - (around - from) * factor, around + (to - around) * factor);
    }
    pan(part) {
        const {from, to} = this.timeline;
        this.view(from + (to - from) * part, to + (to - from) * part);
    }
    select(a, b) {
        this.timeline.selection = {from: Math.min(a, b), to: Math.max(a, b)};
        this.selectionChanged();
    }
    clearSelection() {
        this.timeline.selection = null;
        if (this.scope === 'selection') this.setScope('all');
        this.selectionChanged();
    }
    selectionChanged() {
        const radio = document.querySelector('input[name=scope][value=selection]');
        radio.disabled = this.timeline.selection === null;
        if (this.explained) showIdle(this);
        if (this.scope === 'selection') showTasks(this);
        this.writeAddress();
        this.drawSoon();
    }
    setScope(scope) {
        this.scope = scope;
        document.querySelector(`input[name=scope][value=${scope}]`).checked = true;
        showTasks(this);
    }
    // The chosen frame, and the selection in microseconds since the start of the run.
    address() {
        const frame = this.frames[this.chosen];
        const {selection} = this.timeline;
        const words = frame && !frame.isAll ? [`frame=${frame.number}`] : [];
        if (selection) {
            words.push(`from=${(selection.from / 1e3).toFixed(3)}`);
            words.push(`to=${(selection.to / 1e3).toFixed(3)}`);
        }
        return '#' + words.join('&');
    }
    writeAddress() {
        try {
            history.replaceState(null, '', this.address());
        } catch {
            // a browser may forbid it for files
        }
    }
    /// Chooses what the address says. Returns false if it says nothing.
    readAddress() {
        const words = new URLSearchParams(location.hash.slice(1));
        const number = words.has('frame') ? Number(words.get('frame')) : NaN;
        const from = Number(words.get('from')) * 1e3;
        const to = Number(words.get('to')) * 1e3;
        let index = this.frames.findIndex(frame => frame.number === number);
        if (index < 0 && to > from) index = this.frames.findIndex(frame => frame.end >= from);
        if (index < 0) return false;
        this.choose(index);
        if (to > from) {
            this.select(from, to);
            this.view(from - (to - from) * 0.2, to + (to - from) * 0.2);
        }
        return true;
    }
    copyLink() {
        const button = $('copy');
        const done = text => {
            button.textContent = text;
            setTimeout(() => (button.textContent = 'Copy link'), 1500);
        };
        const failed = () => done('in the address bar');
        if (!navigator.clipboard) return failed();
        const address = location.href.split('#')[0] + this.address();
        navigator.clipboard.writeText(address).then(() => done('copied'), failed);
    }

    // ---- pictures

    findPictures(pictures) {
        return pictures
            .filter(({url}) => /^data:image\//.test(url))
            .map(({frame, url}) => ({
                url,
                index: this.frames.findIndex(one => one.number === frame && !one.isAll),
                text: `frame ${frame}`,
            }))
            .filter(({index}) => index >= 0);
    }
    /// Returns the picture of a frame, or undefined.
    pictureOf(index) {
        return this.pictures.find(one => one.index === index);
    }
    // Shows the picture of the chosen frame beside its critical path.
    showPicture() {
        const picture = this.pictureOf(this.chosen);
        $('picture').hidden = picture === undefined;
        if (picture === undefined) return put($('picture'));
        const {url, text} = picture;
        put($('picture'), make('img', {src: url, alt: text, title: text}));
    }
    // Places the pictures below their bars: that of the chosen frame, and as many others as fit.
    placePictures() {
        const strip = $('pictures');
        strip.hidden = this.pictures.length === 0;
        if (strip.hidden) return;
        const chosen = this.pictureOf(this.chosen);
        // the left edge of a picture
        const most = strip.clientWidth - PICTURE_WIDTH;
        const leftOf = index =>
            Math.max(0, Math.min(most, this.bars.xOf(index) - PICTURE_WIDTH / 2));
        const chosenLeft = chosen ? leftOf(chosen.index) : -Infinity;
        const images = [];
        const add = ({url, index, text}) => {
            const click = () => this.choose(index);
            const image = make('img', {src: url, alt: text, title: text, click});
            if (index === this.chosen) image.className = 'chosen';
            image.style.left = leftOf(index) + 'px';
            images.push(image);
        };
        let free = -Infinity;
        for (const picture of this.pictures) {
            const left = leftOf(picture.index);
            const isInTheWay = Math.abs(left - chosenLeft) < PICTURE_WIDTH;
            if (picture === chosen || left < free || isInTheWay) continue;
            add(picture);
            free = left + PICTURE_WIDTH;
        }
        if (chosen) add(chosen);
        put(strip, ...images);
    }
}

function putNotice(element, title, texts) {
    const list = make('ul', {}, ...texts.map(text => make('li', {}, text)));
    put(element, make('strong', {}, title), list);
}

function bytesOf(base64) {
    const text = atob(base64.trim());
    const bytes = new Uint8Array(text.length);
    for (let i = 0; i < text.length; ++i) bytes[i] = text.charCodeAt(i);
    return bytes;
}

// Says on the page why there is nothing to see.
function fail(error) {
    const colours = palettes[prefersDark() ? 'dark' : 'light'];
    for (const key in colours) {
        if (key !== 'tasks') document.documentElement.style.setProperty('--' + key, colours[key]);
    }
    const notice = make('section', {className: 'notice', id: 'problems'});
    putNotice(notice, 'Nothing to show', [error.message]);
    put($('main'), notice);
}

function begin() {
    let recording = null;
    let options = null;
    try {
        options = JSON.parse($('weft-options').textContent.trim() || '{}');
        recording = read(bytesOf($('weft-recording').textContent));
    } catch (error) {
        return fail(error);
    }
    const page = new Page(recording, options);
    globalThis.weft = {page}; // for the console of the browser
    page.start();
}

begin();
