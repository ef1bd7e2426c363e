// The table of what would help: `machine what-if` has computed it (bench/machine/what_if/). It is
// {note, rows}; the first row is the frames as they are. A row is {change, middle, slow}: frames of
// medium length and slow frames. Each of them is {ns, gain, least, most, isNoise}, in nanoseconds:
// the length of the frame, the median gain, and the least and the most gain of all orders.
'use strict';
const {$, row, fillTable} = require('./dom.js');
const {timeText} = require('./drawing.js');

const signedText = ns => (ns < 0 ? '−' : '') + timeText(Math.abs(ns));
const gainText = times => (times.isNoise ? 'within noise' : signedText(times.gain));

/// Shows the table, if there is one.
function showWhatIf(table) {
    if (!table || !Array.isArray(table.rows) || !table.rows.length) return;
    $('what-if-panel').hidden = false;
    $('what-if-note').textContent = table.note || '';
    const hasSlow = table.rows.some(one => one.slow && one.slow.ns > 0);
    const heads = ['change', 'frame', 'gain', 'least, most'];
    if (hasSlow) heads.push('slow frame', 'gain');
    const lines = table.rows.map((one, i) => {
        const {change, middle, slow} = one;
        const range = `${signedText(middle.least)}, ${signedText(middle.most)}`;
        const gains = i === 0 ? ['', ''] : [gainText(middle), range];
        const cells = [change, timeText(middle.ns), ...gains];
        if (hasSlow) cells.push(timeText(slow.ns), i === 0 ? '' : gainText(slow));
        return row({}, ...cells);
    });
    fillTable($('what-if'), heads, lines);
}

module.exports = {showWhatIf};
