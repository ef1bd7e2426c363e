// Makes elements of the page.
'use strict';

const $ = id => document.getElementById(id);
const numberText = n => n.toLocaleString('en');
const percentText = part => (100 * part).toFixed(1) + ' %';

/// Returns how much of a stack was used: "9.8 of 512 KiB".
const stackText = (bytes, size) =>
    `${(bytes / 1024).toFixed(1)} of ${(size / 1024).toFixed(0)} KiB`;

/// Makes an element. Properties that are functions become listeners.
function make(tag, properties, ...children) {
    const element = document.createElement(tag);
    for (const key in properties) {
        const value = properties[key];
        if (typeof value === 'function') element.addEventListener(key, value);
        else if (key in element) element[key] = value;
        else element.setAttribute(key, value);
    }
    element.append(...children);
    return element;
}

/// Replaces what an element contains.
const put = (element, ...children) => element.replaceChildren(...children);

/// A button that looks like a link.
const link = (text, click) => make('button', {className: 'link', click}, text);

/// A row of a table. Each cell is a text, an element, or a list of these.
function row(properties, ...cells) {
    return make('tr', properties, ...cells.map(cell => make('td', {}, ...[cell].flat())));
}

/// Fills a table. The heads are texts or elements.
function fillTable(table, heads, rows, caption = '') {
    const cells = heads.map(head => (head instanceof Element ? head : make('th', {}, head)));
    put(
        table,
        make('thead', {}, make('tr', {}, ...cells)),
        make('tbody', {}, ...rows),
        make('caption', {}, caption),
    );
}

module.exports = {$, numberText, percentText, stackText, make, put, link, row, fillTable};
