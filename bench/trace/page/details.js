// What is known of one task: below the timeline after a click, and beside the mouse.
'use strict';
const {TaskKind, FLAG_CUT_BEGIN, FLAG_CUT_END} = require('./analysis.js');
const {$, numberText, stackText, make, put, link} = require('./dom.js');
const {timeText} = require('./drawing.js');

const MOST_WAITS = 20;

/// Shows a task, or nothing if `task` is -1.
function showDetails(page, task) {
    $('details').hidden = task < 0;
    if (task < 0) return;
    const {tasks, waits} = page.analysis;
    const items = [runText(page, task)];
    if (tasks.submit[task] >= 0) items.push(submissionTexts(page, task));
    let count = 0;
    for (let i = 0; i < waits.count; ++i) {
        if (waits.task[i] === task && ++count <= MOST_WAITS) items.push(waitTexts(page, i));
    }
    if (count > MOST_WAITS) items.push(`${count - MOST_WAITS} more waits`);
    const name = tasks.name[task];
    put(
        $('details'),
        page.chip(page.theme.colourOf(name), page.theme.patternOf(name)),
        make('b', {}, page.taskName(task)),
        tasks.number[task] > 0 ? ` task ${tasks.number[task]}` : '',
        make('ul', {}, ...items.map(item => make('li', {}, ...[item].flat()))),
    );
}

const inFrame = (page, time) => timeText(time - page.frames[page.chosen].begin);
const taskLink = (page, task) => link(page.taskName(task), () => page.showTask(task));

function runText(page, task) {
    const {tasks, tracks} = page.analysis;
    const from = tasks.stolenFrom[task];
    const lasted = tasks.end[task] - tasks.begin[task];
    const begin = inFrame(page, tasks.begin[task]);
    const parts = [
        `Ran ${timeText(tasks.run[task])}; from begin to end ${timeText(lasted)}.`,
        `Began at ${begin} on ${page.label(tasks.beginTrack[task])},`,
        `ended on ${page.label(tasks.endTrack[task])}.`,
    ];
    if (tasks.offCpu[task] > 0) parts.push(`Off the processor ${timeText(tasks.offCpu[task])}.`);
    const used = tasks.stackBytes[task];
    if (used > 0) parts.push(`Used ${stackText(used, page.recording.stackBytes)} of stack.`);
    if (from < tracks.length) parts.push(`Stolen from ${page.label(from)}.`);
    if (tasks.flags[task] & FLAG_CUT_BEGIN) parts.push('Its begin was not recorded.');
    if (tasks.flags[task] & FLAG_CUT_END) parts.push('Its end was not recorded.');
    return parts.join(' ');
}

function submissionTexts(page, task) {
    const {analysis, recording} = page;
    const submit = analysis.tasks.submit[task];
    const time = recording.time[submit];
    const by = analysis.submissions.submitter.get(submit);
    const priority = ['High', 'Normal', 'Low'][recording.priority[submit]] || 'unknown';
    const counter = analysis.counterName(recording.counter[submit], time);
    return [
        `Queued ${timeText(analysis.tasks.queued[task])}. `,
        `Submitted at ${inFrame(page, time)} on ${page.label(analysis.trackOf[submit])}`,
        ...(by === undefined ? [] : [' by ', taskLink(page, by)]),
        ` (${numberText(recording.other[submit])} tasks, priority ${priority}, ${counter}).`,
    ];
}

function waitTexts(page, wait) {
    const {analysis} = page;
    const {waits} = analysis;
    const begin = waits.begin[wait];
    const lasted = `at ${inFrame(page, begin)} for ${timeText(waits.end[wait] - begin)}`;
    if (waits.isYield[wait]) return `Yielded ${lasted}.`;
    const texts = [...awaitedTexts(page, wait), ` ${lasted}`];
    const track = waits.readyTrack[wait];
    if (track < 0) return [...texts, '.'];
    if (waits.byDeadline[wait]) return [...texts, ', until a deadline.'];
    const ready = waits.ready[wait];
    const slice = analysis.sliceBefore(track, ready + 1);
    return [
        ...texts,
        `; released at ${inFrame(page, ready)} on ${page.label(track)}`,
        ...(slice < 0 ? [] : [' after ', taskLink(page, analysis.slices.task[slice])]),
        `, continued ${timeText(waits.end[wait] - ready)} later.`,
    ];
}

// What it waited for. The words are those of Analysis.waitName, but the holder is a link.
function awaitedTexts(page, wait) {
    const {analysis} = page;
    const {lock, holder, begin, target} = analysis.waits;
    if (lock[wait] === 0)
        return [`Waited for ${analysis.waitName(wait, begin[wait])} <= ${target[wait]}`];
    const text = `Waited for ${analysis.lockName(lock[wait])}`;
    return holder[wait] < 0 ? [text] : [`${text}, held by `, taskLink(page, holder[wait]), ','];
}

/// Returns what a slice of the timeline says beside the mouse.
function sliceText(page, slice) {
    const {slices, tasks, slots} = page.analysis;
    const task = slices.task[slice];
    const track = slices.track[slice];
    const isCall = tasks.kind[task] === TaskKind.Call;
    const times = [
        `this part ${timeText(slices.end[slice] - slices.begin[slice])}`,
        `ran ${timeText(tasks.run[task])}`,
        `from begin to end ${timeText(tasks.end[task] - tasks.begin[task])}`,
    ];
    const lines = [page.taskName(task) + (isCall ? ' (blocking call)' : ''), times.join(', ')];
    if (tasks.waited[task] > 0) lines.push(`waited ${timeText(tasks.waited[task])}`);
    if (tasks.offCpu[task] > 0) lines.push(`off the processor ${timeText(tasks.offCpu[task])}`);
    if (tasks.queued[task] >= 0) lines.push(`queued ${timeText(tasks.queued[task])}`);
    lines.push(page.label(track) + (track < slots ? `, fiber ${tasks.fiber[task]}` : ''));
    if (page.timeline.onPath[slice]) lines.push('on the critical path');
    return lines.join('\n');
}

/// Returns what a time off the processor says beside the mouse.
function offText(page, off) {
    const {offs, tasks} = page.analysis;
    const task = offs.task[off];
    const lines = [`off the processor ${timeText(offs.end[off] - offs.begin[off])}`];
    if (task >= 0) {
        lines.unshift(page.taskName(task));
        lines.push(`ran ${timeText(tasks.run[task])}`);
    }
    lines.push(page.label(offs.track[off]), 'preempted, or blocked in the system');
    return lines.join('\n');
}

module.exports = {showDetails, sliceText, offText, waitTexts};
