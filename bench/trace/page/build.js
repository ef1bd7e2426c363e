// Makes the page of a recording. The tests use it; bench/trace/export_html.cpp does the same.
//
//     node bench/trace/page/build.js RECORDING [OPTIONS.json] > report.html
//
// The options are those at the top of page.js.
'use strict';
const fs = require('fs');
const path = require('path');

/// Returns the page without its recording: page.html with the files that it includes.
function template() {
    const read = name => fs.readFileSync(path.join(__dirname, name), 'utf8');
    return read('page.html').replace(/\/\*@include (\S+?)\*\//g, (_, name) => read(name));
}

/// Returns the page of a recording.
function page(recording, options = {}) {
    const json = JSON.stringify(options).replace(/</g, '\\u003c');
    return template()
        .replace('/*@options*/', () => json)
        .replace('/*@recording*/', () => Buffer.from(recording).toString('base64'));
}

module.exports = {template, page};

if (require.main === module) {
    const [recording, options] = process.argv.slice(2);
    if (recording === undefined) {
        console.error('node build.js RECORDING [OPTIONS.json] > report.html');
        process.exit(2);
    }
    process.stdout.write(
        page(
            fs.readFileSync(recording),
            options ? JSON.parse(fs.readFileSync(options, 'utf8')) : {},
        ),
    );
}
