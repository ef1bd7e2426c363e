#!/usr/bin/env bash
# Makes the pictures of the documents: frame.png, report.png, window.png and film.gif.
#
#     samples/frame_loop/pictures.sh [FOLDER]      the default is samples/frame_loop
#
# frame.png: frame 300. report.png: the page of a recording (samples/run.sh frame_loop --report), in
# headless Chromium, with frame 314 chosen. window.png: the window with the graph (tests/window.sh).
# film.gif: film.sh. It installs ImageMagick, Node.js, Chromium and a font (third_party/setup.sh).
# The machine should have nothing else to do, since all but frame.png show times. If it has, root
# may give the command real-time priority: chrt -f 5 samples/frame_loop/pictures.sh
set -euo pipefail
folder=$(realpath "${1:-"$(dirname "$0")"}")
cd "$(dirname "$0")/../.."
third_party/setup.sh imagemagick nodejs chromium fonts-dejavu-core > /dev/null
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

samples/run.sh frame_loop --out "$work/frames" --report "$work/frame.html"
cp "$work/frames/frame_000300.png" "$folder/frame.png"
node - "file://$work/frame.html#frame=314" "$work/report.png" << 'SCRIPT'
const {Browser} = require(process.cwd() + '/tests/trace_page/browser.js');
const [address, file] = process.argv.slice(2);
(async () => {
    const browser = new Browser();
    try {
        const tab = await browser.open(address, {width: 1600, height: 1000});
        await tab.screenshot(file);
    } finally {
        await browser.close();
    }
})();
SCRIPT
convert "$work/report.png" -colors 200 +dither "png8:$folder/report.png"

tests/window.sh --picture "$folder/window.png"
samples/frame_loop/film.sh "$folder/film.gif"
ls -l "$folder"/{frame,report,window}.png "$folder/film.gif"
