#!/usr/bin/env bash
# Cross-compiles weft for 64-bit Windows with mingw-w64 and runs it under wine, on x86-64; the last line is the sum.
#
#     tests/windows.sh                some of the unit tests, 300 schedules of each of the simulator's models, and the sample
#                                     frame_loop, whose pictures must be those of Linux
#     tests/windows.sh --full         all unit tests that there are for Windows, 3,000 schedules, more pictures
#     tests/windows.sh "[deque]"      arguments go to Catch2, and only unit_tests runs
#
# WEFT_CONFIGS is what unit_tests is built as (Release), WEFT_TIMEOUT how many seconds one program may take (600). Compiler,
# wine and zlib are Debian packages; Boost.Context and libpng are built from Debian's source packages and stay out of the
# system (third_party/setup.sh). So does wine's own folder: all in ${WEFT_CACHE:-~/.cache/weft}.
#
# What this cannot show: wine stands for the system's part of Windows, its scheduler is that of Linux, and another compiler
# than mingw's has not been tried.
set -uo pipefail
cd "$(dirname "$0")/.." || exit

full=
if [ "${1:-}" = --full ]; then full=yes; shift; fi
. tests/runs.sh
. tests/cross.sh

triplet=x86_64-w64-mingw32
[ "$(uname -m)" = x86_64 ] || { fail "this is for x86-64"; finish; }
premake=$(third_party/setup.sh catch2 freedoom g++-mingw-w64-x86-64 wine wine64) || { fail "third_party/setup.sh"; finish; }
libraries=$(third_party/setup.sh --libraries=windows) || { fail "third_party/setup.sh --libraries=windows"; finish; }

# Debian's wine asks for its 32-bit half as well when it is called by that name.
PATH=/usr/lib/wine:$PATH
WINEPREFIX=$(dirname "$libraries")/wine
export WINEPREFIX WINEARCH=win64 WINEDEBUG=-all
export WINEDLLOVERRIDES="winedbg.exe=d;mscoree=d;mshtml=d"  # nobody looks at a child that is meant to die
if [ ! -d "$WINEPREFIX" ]; then
    timeout 120 wine64 wineboot -i > "$logs/wineboot.log" 2>&1 ||
        { show "$logs/wineboot.log"; fail "wineboot"; finish; }
fi

export CC=$triplet-gcc-posix CXX=$triplet-g++-posix  # std::thread and std::mutex are those of winpthreads
configure $triplet --os=windows --cross=$triplet --boost="$libraries" || finish
under=wine64
for configuration in ${WEFT_CONFIGS:-Release}; do
    build "$configuration" unit_tests || continue
    if [ $# != 0 ]; then run "$configuration" unit_tests.exe "$@"
    elif [ -n "$full" ]; then run "$configuration" unit_tests.exe
    else run "$configuration" unit_tests.exe "$slow"
    fi
done
[ $# != 0 ] || run_models_and_sample .exe
finish
