#!/usr/bin/env bash
# Tests the page that shows a recording (bench/trace/page/). The last line has the sum.
#
#     tests/trace_page.sh              all tests
#     tests/trace_page.sh reader       only tests/trace_page/reader_test.js
#
# reader, analysis: recordings that the tests write, also cut and damaged ones. library: a recording
# of the library. palette: whether colours can be told apart. page: the page in headless Chromium,
# opened from disk. Screenshots, pages and the times of redraws are in build/trace_page/.
#
# WEFT_RECORDING names a recording for the screenshots (the tests record one otherwise).
# WEFT_TIMEOUT is the time limit of a file of tests in seconds (1200). node and Chromium are Debian
# packages.
set -uo pipefail
cd "$(dirname "$0")/.." || exit
. tests/runs.sh

files=(reader analysis palette library page)
[ $# = 0 ] || files=("$@")
packages=(nodejs)
[[ " ${files[*]} " != *" page "* ]] || packages+=(chromium fonts-dejavu-core)
premake=$(third_party/setup.sh "${packages[@]}") || { fail "third_party/setup.sh"; finish; }
configure "" || finish
build Release trace_page || finish
build Release weft_trace || finish
export WEFT_TRACE_PAGE=$PWD/build/Release/trace_page WEFT_TRACE=$PWD/build/Release/weft_trace

figures=' a redraw, '
for name in "${files[@]}"; do run_js "trace-page-$name" "tests/trace_page/${name}_test.js"; done
finish
