#!/usr/bin/env bash
# Builds the sample frame_loop as a page, and serves it on this machine alone: open the printed
# address in a browser. Ctrl+C ends it.
#
#     samples/frame_loop/page.sh [PORT]      the default is 8000; 0 takes a free one
#
# Installs Emscripten, node, Python and a level (third_party/setup.sh). The page is in
# build/emscripten/Release/; any web server can serve this folder.
set -euo pipefail
cd "$(dirname "$0")/../.."
premake=$(third_party/setup.sh emscripten nodejs python3 freedoom)
export NODE_PATH=/usr/share/nodejs  # for emcc, if node does not come from Debian
page=build/emscripten/Release log=build/page-build.log
mkdir -p "$page" build/emscripten/include
ln -sfn /usr/include/CLI build/emscripten/include/CLI  # without the C library of /usr/include
echo "building the page" >&2
{ "$premake" gmake2 --emscripten &&
    make -C build/emscripten/premake -j"$(nproc)" config=release frame_loop; } \
    > "$log" 2>&1 || { cat "$log" >&2; exit 1; }
cp samples/frame_loop/page.html "$page/index.html"
ln -sfn "$(realpath build/freedoom1.wad)" "$page/freedoom1.wad"
exec python3 -u -m http.server --bind 127.0.0.1 --directory "$page" "${1:-8000}"
