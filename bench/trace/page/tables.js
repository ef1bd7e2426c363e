// The tables of the page: the critical path, idle times, tasks by name.
'use strict';
const {percentile, GAPS, IDLE} = require('./analysis.js');
const dom = require('./dom.js');
const {timeText} = require('./drawing.js');
const {idlePatterns} = require('./palette.js');
const {$, numberText, percentText, stackText, make, put, link, row, fillTable} = dom;

const MOST_NAMES = 400; // rows of the table of tasks
const MOST_STEPS = 500;
const MOST_ON_PATH = 14;
const MOST_WORKERS = 64;

const idleTexts = {
    busy: 'busy',
    nothing: 'nothing could begin',
    searching: 'searching, something could begin',
    waking: 'being woken',
    asleep: 'asleep, something could begin',
    offCpu: 'off CPU: preempted, or blocked in the system',
};

const small = text => make('span', {className: 'figures'}, text);

// A bar that shows a part of a whole.
function bar(page, part, colour, pattern) {
    const filled = make('i', {});
    page.theme.paint(filled, colour, pattern);
    filled.style.width = 100 * part + '%';
    return make('div', {className: 'bar'}, filled);
}

// ---- the critical path

/// Shows why the chosen frame took as long as it did.
function showPath(page) {
    const frame = page.frames[page.chosen];
    const {rows, path} = page.explained;
    const what = frame.isAll ? 'the recording' : `frame ${frame.number}`;
    $('path-title').textContent = `Critical path: why ${what} took ${timeText(frame.duration)}`;
    put($('cause'), ...causeTexts(page, frame));
    const lines = rows.slice(0, MOST_ON_PATH).map(one => pathRow(page, one, frame));
    const rest = rows.slice(MOST_ON_PATH);
    if (rest.length) {
        const sum = rest.reduce((total, one) => total + one.ns, 0);
        const part = percentText(sum / Math.max(1, frame.duration));
        lines.push(row({}, `${rest.length} more`, timeText(sum), part));
    }
    fillTable($('path'), ['on the critical path', 'time', 'part', 'usual', 'extra', ''], lines);
    showSteps(page, path, frame);
}

function causeTexts(page, frame) {
    const {cause, longest, knowsUsual} = page.explained;
    const texts = [];
    if (knowsUsual && !frame.isPartial && cause !== null) {
        const more = frame.duration - percentile(page.durations, 50);
        const direction = more >= 0 ? 'more' : 'less';
        texts.push(`It took ${timeText(Math.abs(more))} ${direction} than the median frame. `);
        if (cause.extra > 0) {
            const extra = timeText(cause.extra);
            texts.push('The largest difference: ', make('b', {}, cause.text));
            texts.push(`, ${extra} more on the critical path than usual. `);
            if (cause.task >= 0 && cause.taskExtra > cause.extra / 2) {
                texts.push(link('One task', () => page.showTask(cause.task)));
                texts.push(` took ${timeText(cause.taskExtra)} more than the median of its name. `);
            }
        }
    }
    if (longest !== null) {
        const time = timeText(longest.end - longest.begin);
        texts.push('Longest step: ');
        texts.push(link(page.taskName(longest.task), () => page.showStep(longest)));
        texts.push(`, ${time} on ${page.label(longest.track)}.`);
    }
    return texts;
}

function pathRow(page, one, frame) {
    const {cause, knowsUsual} = page.explained;
    const isGap = one.gap !== null;
    const gapColour = one.gap === 'offCpu' ? 'offCpu' : 'waking';
    const colour = isGap ? page.theme.colours[gapColour] : page.theme.colourOf(one.name);
    const gapPattern = one.gap === 'offCpu' ? idlePatterns.offCpu : 'stripes';
    const pattern = isGap ? gapPattern : page.theme.patternOf(one.name);
    const part = one.ns / Math.max(1, frame.duration);
    const sign = one.extra >= 0 ? '+' : '−';
    const isCause = one === cause && knowsUsual && one.extra > 0;
    const line = row(
        {className: isCause ? 'cause' : ''},
        [page.chip(colour, pattern), one.text, one.tasks > 1 ? small(` × ${one.tasks}`) : ''],
        timeText(one.ns),
        percentText(part),
        knowsUsual ? timeText(one.usual) : '–',
        knowsUsual ? sign + timeText(Math.abs(one.extra)) : '–',
        bar(page, part, colour, pattern),
    );
    if (!isGap) {
        line.dataset.name = one.text;
        line.addEventListener('click', () => page.search(one.text));
    }
    return line;
}

function showSteps(page, path, frame) {
    const steps = []; // neighbours of the same task and track are one
    for (const step of path) {
        const last = steps[steps.length - 1];
        const isSame =
            last && last.what === step.what && last.task === step.task && last.track === step.track;
        if (isSame) last.end = step.end;
        else steps.push({...step});
    }
    const lines = steps.slice(0, MOST_STEPS).map(step => {
        const text = step.what === 'run' ? page.taskName(step.task) : GAPS[step.what];
        return row(
            {},
            link(text, () => page.showStep(step)),
            timeText(step.begin - frame.begin),
            page.label(step.track),
            timeText(step.end - step.begin),
        );
    });
    const isCut = steps.length > MOST_STEPS;
    const caption = isCut ? `the first ${MOST_STEPS} of ${steps.length} steps` : '';
    fillTable($('steps'), ['step', 'at', 'on', 'time'], lines, caption);
}

// ---- idle times

/// Shows what each worker did in the selection, or in the chosen frame.
function showIdle(page) {
    const frame = page.frames[page.chosen];
    const range = page.timeline.selection;
    const from = range ? range.from : frame.begin;
    const to = range ? range.to : frame.end;
    const length = Math.max(1, to - from);
    const isShown = one => one.track < page.recording.workers || one.busy > 0;
    const rows = page.analysis.idle(from, to).filter(isShown);
    let when = frame.isAll ? 'the recording' : `frame ${frame.number}`;
    if (range) when = `the selection (${timeText(to - from)})`;
    $('idle-title').textContent = `What each worker did in ${when}`;
    const head = ['', '', 'busy', 'off CPU'].map(text => make('span', {}, text));
    const bars = rows.slice(0, MOST_WORKERS).map(one => idleBar(page, one, length));
    put($('idle'), make('div', {className: 'account heads'}, ...head), ...bars);
    const all = length * Math.max(1, rows.length);
    const lines = IDLE.map(reason => {
        const sum = rows.reduce((total, one) => total + one[reason], 0);
        const chip = page.idleChip(reason);
        return row({}, [chip, idleTexts[reason]], timeText(sum), percentText(sum / all));
    });
    fillTable($('idle-sums'), ['all workers', 'time', 'part'], lines);
}

function idleBar(page, one, length) {
    const texts = IDLE.map(reason => `${idleTexts[reason]} ${percentText(one[reason] / length)}`);
    const parts = make('div', {className: 'parts', role: 'img', 'aria-label': texts.join(', ')});
    for (const reason of IDLE) {
        const part = make('i', {title: `${idleTexts[reason]}: ${timeText(one[reason])}`});
        part.style.width = (100 * one[reason]) / length + '%';
        page.theme.paint(part, page.theme.colours[reason], idlePatterns[reason]);
        parts.append(part);
    }
    const label = make('span', {}, page.label(one.track));
    const percents = ['busy', 'offCpu'].map(reason =>
        make('span', {title: idleTexts[reason]}, percentText(one[reason] / length)),
    );
    return make('div', {className: 'account'}, label, parts, ...percents);
}

// ---- tasks by name

const columns = [
    ['text', 'task'],
    ['count', 'count'],
    ['total', 'total'],
    ['', ''],
    ['p50', 'p50'],
    ['p99', 'p99'],
    ['max', 'max'],
    ['longestWait', 'longest wait'],
    ['queuedP50', 'queued p50'],
    ['queuedP99', 'queued p99'],
];
const stackColumn = ['stackBytes', 'stack']; // if a task of the recording was measured

/// Shows the tasks by name: all, or those of the chosen frame or of the selection.
function showTasks(page) {
    const rows = sorted(page, chosenRows(page));
    const most = rows.reduce((m, one) => Math.max(m, one.total), 1);
    const hasStacks = page.allRows.some(one => one.stackBytes > 0);
    const shown = hasStacks ? [...columns, stackColumn] : columns;
    const heads = shown.map(([key, text]) => (key ? sortHead(page, key, text) : ''));
    const lines = rows.slice(0, MOST_NAMES).map(one => taskRow(page, one, most, hasStacks));
    let caption = rows.length === 0 ? 'no task' : '';
    if (rows.length > MOST_NAMES) caption = `the first ${MOST_NAMES} of ${rows.length} names`;
    fillTable($('tasks'), heads, lines, caption);
}

function chosenRows(page) {
    const frame = page.frames[page.chosen];
    const range = page.timeline.selection;
    const {analysis, scope} = page;
    let rows = page.allRows;
    if (scope === 'frame' && frame) rows = analysis.byName(frame.begin, frame.end);
    if (scope === 'selection' && range) rows = analysis.byName(range.from, range.to, true);
    const wanted = $('search').value.trim().toLowerCase();
    return wanted ? rows.filter(one => one.text.toLowerCase().includes(wanted)) : rows;
}

function sorted(page, rows) {
    const {sortKey} = page;
    const sign = page.sortUp ? 1 : -1;
    const value = one => {
        if (sortKey === 'text') return one.text.toLowerCase();
        return Number.isFinite(one[sortKey]) ? one[sortKey] : -Infinity;
    };
    return [...rows].sort((a, b) => {
        if (value(a) === value(b)) return 0;
        return value(a) < value(b) ? -sign : sign;
    });
}

function sortHead(page, key, text) {
    const isSorted = key === page.sortKey;
    const arrow = page.sortUp ? ' ▴' : ' ▾';
    const click = () => {
        page.sortUp = isSorted ? !page.sortUp : key === 'text';
        page.sortKey = key;
        showTasks(page);
        $('tasks').querySelector(`button[data-sort=${key}]`).focus();
    };
    const button = make('button', {'data-sort': key, click}, text + (isSorted ? arrow : ''));
    const head = make('th', {}, button);
    if (isSorted) head.setAttribute('aria-sort', page.sortUp ? 'ascending' : 'descending');
    return head;
}

function taskRow(page, one, most, hasStacks) {
    const colour = page.theme.colourOf(one.name);
    const pattern = page.theme.patternOf(one.name);
    const search = () => page.search(one.text);
    const keydown = event => {
        if (event.key === 'Enter') search();
    };
    return row(
        {'data-name': one.text, tabIndex: 0, click: search, keydown},
        [page.chip(colour, pattern), one.text, one.isCall ? small(' (blocking call)') : ''],
        numberText(one.count),
        timeText(one.total),
        bar(page, one.total / most, colour, pattern),
        timeText(one.p50),
        timeText(one.p99),
        timeText(one.max),
        one.longestWait > 0 ? timeText(one.longestWait) : '–',
        timeText(one.queuedP50),
        timeText(one.queuedP99),
        ...(hasStacks ? [stackTexts(page, one)] : []),
    );
}

// The advice is about all tasks of the name, so it is not there for a part of the recording.
function stackTexts(page, one) {
    if (one.stackBytes === 0) return '–';
    const advice = page.scope === 'all' ? page.analysis.stackAdvice(one) : '';
    const text = stackText(one.stackBytes, page.recording.stackBytes);
    return advice ? [text, make('div', {className: 'advice'}, advice)] : text;
}

module.exports = {showPath, showIdle, showTasks, idleTexts};
