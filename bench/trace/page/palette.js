// The colours of the page, for dark and light. Colours of tasks were chosen so that any two of them
// differ for normal sight and for the three kinds of colour blindness, and from the colour of times
// off the processor (tests/trace_page checks it). There are more names than colours, so names that
// come later have a pattern, too. Nothing on the page is told by colour alone.
'use strict';

const palettes = {
    dark: {
        tasks: [
            '#48a3b6',
            '#efc972',
            '#b36687',
            '#b3ddb8',
            '#676ed2',
            '#99a033',
            '#4be5fe',
            '#86a47c',
        ],
        background: '#14171c',
        panel: '#1b1f26',
        line: '#2f3641',
        text: '#dfe4ec',
        dim: '#9aa4b3',
        lane: '#22272f',
        host: '#4a5362',
        accent: '#ff9f1c',
        bar: '#5b86d6',
        over: '#ff7b6b',
        busy: '#4cc38a',
        nothing: '#343b47',
        searching: '#e5695b',
        waking: '#ff9f1c',
        asleep: '#b489e0',
        offCpu: '#f4f4f4',
        arrow: 'rgba(205,218,240,.55)',
        label: 'rgba(13,16,20,.72)',
        selection: 'rgba(120,170,255,.16)',
    },
    light: {
        tasks: [
            '#389494',
            '#ad8c60',
            '#7156cb',
            '#055f52',
            '#957ef1',
            '#627701',
            '#453192',
            '#55451a',
        ],
        background: '#f4f5f7',
        panel: '#ffffff',
        line: '#d3d8e0',
        text: '#1c2128',
        dim: '#56606e',
        lane: '#eceff3',
        host: '#b4bcc8',
        accent: '#c2410c',
        bar: '#3f6fc4',
        over: '#c02b1d',
        busy: '#2f8f60',
        nothing: '#d7dce4',
        searching: '#cf4a3b',
        waking: '#d97706',
        asleep: '#8250c4',
        offCpu: '#1c1c1c',
        arrow: 'rgba(40,55,80,.5)',
        label: 'rgba(255,255,255,.8)',
        selection: 'rgba(40,100,220,.14)',
    },
};

/// Patterns that tell names of the same colour apart, in the order in which they are used.
const patterns = ['plain', 'stripes', 'dots'];

/// The pattern of each kind of idleness. No name has that of `offCpu`, which may lie in a task.
const idlePatterns = {
    busy: 'plain',
    nothing: 'plain',
    searching: 'stripes',
    waking: 'dots',
    asleep: 'cross',
    offCpu: 'lines',
};

module.exports = {palettes, patterns, idlePatterns};
