#!/usr/bin/env bash
# Compiles weft for 64-bit Windows with mingw-w64 on x86-64, and runs tests under wine. The last
# line has the sum.
#
#     tests/windows.sh                short_tests (premake5.lua), and the sample frame_loop, which
#                                     must draw the same pictures as on Linux
#     tests/windows.sh --full         all unit tests for Windows, 3,000 schedules of each model of
#                                     the simulator, more pictures
#     tests/windows.sh "[deque]"      runs only unit_tests; the arguments go to Catch2
#
# WEFT_CONFIGS has the configurations of the tests (Release). WEFT_TIMEOUT is the time limit of a
# program in seconds (1200). Compiler, wine and zlib are Debian packages. Boost.Context and libpng
# are built from the source packages of Debian, and are not installed into the system
# (third_party/setup.sh). They and the folder of wine are in ${WEFT_CACHE:-~/.cache/weft}.
#
# wine replaces the system part of Windows, and threads are scheduled by Linux. So the tests cannot
# show how Windows itself behaves. Compilers other than mingw are untested.
set -uo pipefail
cd "$(dirname "$0")/.." || exit

full=
if [ "${1:-}" = --full ]; then full=yes; shift; fi
. tests/runs.sh
. tests/cross.sh
. tests/wine.sh

triplet=x86_64-w64-mingw32
[ "$(uname -m)" = x86_64 ] || { fail "this is for x86-64"; finish; }
premake=$(third_party/setup.sh catch2 freedoom g++-mingw-w64-x86-64 wine wine64) || { fail "third_party/setup.sh"; finish; }
libraries=$(third_party/setup.sh --libraries=windows) || { fail "third_party/setup.sh --libraries=windows"; finish; }

prepare_wine "$logs/wineboot.log" || { show "$logs/wineboot.log"; fail "wineboot"; finish; }

export CC=$triplet-gcc-posix CXX=$triplet-g++-posix  # std::thread and std::mutex are those of winpthreads
configure $triplet --os=windows --cross=$triplet --boost="$libraries" || finish
under=wine64
run_tests .exe "*" "$@"
[ $# != 0 ] || run_sample_and_models .exe
finish
