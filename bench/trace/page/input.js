// Mouse, keys and buttons of the page.
'use strict';
const {$, make, put, row} = require('./dom.js');
const {sliceText, offText} = require('./details.js');
const {idleTexts} = require('./tables.js');
const {Timeline} = require('./timeline.js');

const ZOOM = 0.6; // what one step shows of the time before
const PAN = 0.25;
const CLICK = 3; // a drag that moves at most so many pixels is a click

const keyTexts = [
    ['left, right', 'previous, next frame'],
    ['Home, End', 'first, last frame'],
    ['L', 'longest frame'],
    ['N', 'next frame over budget'],
    ['+, -', 'zoom in, out'],
    ['Shift and left, right', 'move the timeline'],
    ['0', 'show the whole frame'],
    ['A', 'show the whole recording'],
    ['/', 'search a task; Enter: next one found'],
    ['P', 'critical path on, off'],
    ['R', 'arrows on, off'],
    ['C', 'copy a link to this frame and selection'],
    ['T', 'dark, light'],
    ['Esc', 'clear the search, the chosen task, the selection'],
    ['?', 'this help'],
];

const explanations = [
    'A frame lasts from one frame mark to the next one. The critical path goes back from the end ' +
        'of the frame. Each part of it began after the later of two things: what it depends on ' +
        '(its submission, or what released its wait), and what its worker did before. So the ' +
        'times on the path add up to the whole frame.',
    '“Usual” is the median over all frames. “Could begin” counts tasks that were submitted and ' +
        'have not begun, and fibers that were released and have not continued, also if they are ' +
        'bound to another worker.',
    '“Off CPU”: the system took the processor away from a thread, to run another thread or ' +
        'because the thread was blocked in a call of the system. This is no part of the time that ' +
        'a task ran. The recording says for how long, but not when between two events: it is ' +
        'shown before the second one. Only Linux with glibc tells it.',
];

/// Connects the page to the mouse, the keys and its buttons.
function listen(page) {
    listenToTimeline(page, $('timeline'));
    listenToFrames(page, $('frames'));
    listenToControls(page);
    addEventListener('keydown', event => pressKey(page, event));
    addEventListener('resize', () => page.drawAll());
    addEventListener('hashchange', () => page.readAddress());
    const scheme = matchMedia('(prefers-color-scheme: dark)');
    scheme.addEventListener('change', () => page.setTheme(page.storedTheme()));
}

// ---- mouse

function listenToTimeline(page, canvas) {
    const {timeline} = page;
    const wheel = event => {
        event.preventDefault();
        const isSideways = event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY);
        if (isSideways) page.pan((event.deltaX || event.deltaY) * 0.0012);
        else page.zoom(Math.exp(event.deltaY * 0.0015), timeline.timeAt(event.clientX));
    };
    canvas.addEventListener('wheel', wheel, {passive: false});

    let drag = null;
    canvas.addEventListener('pointerdown', event => {
        if (event.button !== 0) return;
        const {from, to} = timeline;
        const anchor = event.shiftKey ? timeline.timeAt(event.clientX) : null;
        drag = {x: event.clientX, from, to, anchor, hasMoved: false};
        canvas.setPointerCapture(event.pointerId);
    });
    canvas.addEventListener('pointermove', event => {
        if (drag === null) return showTimelineTip(page, event);
        const moved = event.clientX - drag.x;
        drag.hasMoved = drag.hasMoved || Math.abs(moved) > CLICK;
        if (!drag.hasMoved) return;
        if (drag.anchor !== null) return page.select(drag.anchor, timeline.timeAt(event.clientX));
        const by = (moved / (canvas.clientWidth - Timeline.LEFT)) * (drag.to - drag.from);
        page.view(drag.from - by, drag.to - by);
    });
    canvas.addEventListener('pointerup', event => {
        const isClick = drag !== null && !drag.hasMoved;
        drag = null;
        if (!isClick) return;
        const off = timeline.offAt(event.clientX, event.clientY);
        if (off >= 0) return page.chooseTask(page.analysis.offs.task[off]);
        const slice = timeline.sliceAt(event.clientX, event.clientY);
        page.chooseTask(slice >= 0 ? page.analysis.slices.task[slice] : -1);
    });
    canvas.addEventListener('pointercancel', () => (drag = null));
    canvas.addEventListener('pointerleave', hideTip);
    canvas.addEventListener('dblclick', () => page.choose(page.chosen));
}

function listenToFrames(page, canvas) {
    canvas.addEventListener('click', event => {
        const index = page.bars.frameAt(event.clientX);
        if (index >= 0) page.choose(index);
    });
    canvas.addEventListener('pointermove', event => {
        const index = page.bars.frameAt(event.clientX);
        if (index < 0) return hideTip();
        const frame = page.frames[index];
        const note = frame.isPartial ? '\nnot recorded from begin to end' : '';
        showTip(event, page.frameText(frame) + note, page.pictureOf(index));
    });
    canvas.addEventListener('pointerleave', hideTip);
}

function hideTip() {
    $('tip').hidden = true;
}
function showTip(event, text, picture) {
    const tip = $('tip');
    tip.hidden = false;
    put(tip, text, picture ? make('img', {src: picture.url, alt: ''}) : '');
    const right = innerWidth - tip.offsetWidth - 8;
    const bottom = innerHeight - tip.offsetHeight - 8;
    tip.style.left = Math.max(4, Math.min(event.clientX + 14, right)) + 'px';
    tip.style.top = Math.max(4, Math.min(event.clientY + 14, bottom)) + 'px';
}

function showTimelineTip(page, event) {
    const off = page.timeline.offAt(event.clientX, event.clientY);
    if (off >= 0) return showTip(event, offText(page, off));
    const slice = page.timeline.sliceAt(event.clientX, event.clientY);
    const text = slice >= 0 ? sliceText(page, slice) : gapText(page, event);
    if (text) showTip(event, text);
    else hideTip();
}
// What a place without a slice says.
function gapText(page, event) {
    const {analysis, timeline} = page;
    const place = timeline.rowAt(event.clientY);
    const time = timeline.timeAt(event.clientX);
    if (place === undefined || time < timeline.from) return '';
    const isWorker = place.track < analysis.slots;
    const text = isWorker
        ? idleText(analysis, place.track, time)
        : waitText(analysis, place.track, time);
    return `${page.label(place.track)}\n${text}`;
}
function idleText(analysis, track, time) {
    let what = '';
    analysis.splitGap(track, time - 1, time + 1, 'searching', part => (what = part));
    if (what === 'waking') return idleTexts.waking;
    const count = analysis.supply.at(time);
    if (count > 0) return `${idleTexts[what]} (${count} tasks and fibers)`;
    return what === 'asleep' ? `asleep, ${idleTexts.nothing}` : idleTexts.nothing;
}
function waitText(analysis, track, time) {
    const {beginTrack, begin, end, count} = analysis.waits;
    for (let i = 0; i < count; ++i) {
        if (beginTrack[i] === track && begin[i] <= time && end[i] > time)
            return `waits for ${analysis.waitName(i, time)}`;
    }
    return '';
}

// ---- buttons

function listenToControls(page) {
    const click = (id, act) => $(id).addEventListener('click', act);
    click('previous', () => page.choose(page.chosen - 1));
    click('next', () => page.choose(page.chosen + 1));
    click('longest', () => page.choose(page.longestFrame()));
    click('zoom-in', () => page.zoom(ZOOM));
    click('zoom-out', () => page.zoom(1 / ZOOM));
    click('whole', () => page.choose(page.chosen));
    click('theme', () => page.switchTheme());
    click('copy', () => page.copyLink());
    click('help-button', showHelp);
    click('show-path', () => show(page, 'showPath', $('show-path').checked));
    click('show-arrows', () => show(page, 'showArrows', $('show-arrows').checked));
    const search = $('search');
    search.addEventListener('input', () => page.search(search.value));
    search.addEventListener('keydown', event => {
        event.stopPropagation();
        if (event.key === 'Enter') page.showNextFound();
        if (event.key !== 'Escape') return;
        page.search('');
        search.blur();
    });
    for (const radio of document.querySelectorAll('input[name=scope]'))
        radio.addEventListener('change', () => page.setScope(radio.value));
}

function show(page, what, isShown) {
    page.timeline[what] = isShown;
    $('show-path').checked = page.timeline.showPath;
    $('show-arrows').checked = page.timeline.showArrows;
    page.drawSoon();
}

function showHelp() {
    const help = $('help');
    const lines = keyTexts.map(([key, text]) => row({}, make('kbd', {}, key), text));
    put(
        help,
        make('h2', {}, 'Keys'),
        make('table', {}, make('tbody', {}, ...lines)),
        make('h2', {}, 'How to read it'),
        ...explanations.map(text => make('p', {}, text)),
        make('button', {click: () => help.close(), autofocus: true}, 'Close'),
    );
    if (!help.open) help.showModal();
}

// ---- keys

const acts = {
    ArrowLeft: (page, event) => (event.shiftKey ? page.pan(-PAN) : page.choose(page.chosen - 1)),
    ArrowRight: (page, event) => (event.shiftKey ? page.pan(PAN) : page.choose(page.chosen + 1)),
    Home: page => page.choose(0),
    End: page => page.choose(page.frames.length - 1),
    l: page => page.choose(page.longestFrame()),
    n: page => page.chooseNextOverBudget(),
    '+': page => page.zoom(ZOOM),
    '=': page => page.zoom(ZOOM),
    '-': page => page.zoom(1 / ZOOM),
    0: page => page.choose(page.chosen),
    a: page => page.view(page.analysis.begin, page.analysis.end),
    p: page => show(page, 'showPath', !page.timeline.showPath),
    r: page => show(page, 'showArrows', !page.timeline.showArrows),
    c: page => page.copyLink(),
    t: page => page.switchTheme(),
    '?': showHelp,
    '/': () => {
        $('search').focus();
        $('search').select();
    },
    Escape: page => {
        page.search('');
        page.chooseTask(-1);
        page.clearSelection();
    },
};

function pressKey(page, event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if ($('help').open) {
        if (event.key === '?') $('help').close();
        return;
    }
    const {target, key} = event;
    if (target.type === 'radio' && key.startsWith('Arrow')) return; // moves between the buttons
    const act = acts[key] || acts[key.toLowerCase()];
    if (act === undefined) return;
    event.preventDefault();
    act(page, event);
}

module.exports = {listen, waitText};
