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

# Left out without --full: what takes most of the time.
slow="~[foreign]~[pinned]~[low_limit]~[frame_loop]~[start]~[active_workers]~[wait_idle]~[attach]"

triplet=x86_64-w64-mingw32
[ "$(uname -m)" = x86_64 ] || { fail "this is for x86-64"; finish; }
premake=$(third_party/setup.sh g++-mingw-w64-x86-64 wine wine64) || { fail "third_party/setup.sh"; finish; }
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

# The hash of the sample's pictures, in $hash.
draw() { # configuration, program, arguments
    local log=$logs/${variant:+$variant-}$1-frame_loop.log launcher
    read -ra launcher <<< "$under"
    hash=
    timeout --kill-after=10 "$seconds" "${launcher[@]}" "build/$variant/$1/$2" --out "$logs/pictures" "${@:3}" \
        < /dev/null > "$log" 2>&1 && hash=$(sed -n 's/^hash \([0-9a-f]*\).*/\1/p' "$log")
    [ -n "$hash" ] || { show "$log"; fail "$variant $1 $2"; return 1; }
}

compare_pictures() { # arguments of frame_loop
    local start=$SECONDS there
    build Release frame_loop && draw Release frame_loop.exe "$@" && there=$hash || return
    variant='' under=''
    unset CC CXX
    configure "" && build Release frame_loop && draw Release frame_loop "$@" || return
    if [ "$hash" = "$there" ]; then
        passed=$((passed + 1))
        echo "[$SECONDS s] $triplet Release frame_loop: 1 passed in $((SECONDS - start)) s: hash $hash, on Linux too"
    else
        fail "$triplet Release frame_loop: hash $there, on Linux $hash"
    fi
}

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
if [ $# = 0 ]; then
    if [ -n "$full" ]; then schedules=3000 pictures=(--frames 200 --size 320x200 --workers 3)
    else schedules=300 pictures=(--frames 60 --size 320x200 --workers 2)
    fi
    build Release simulator && run Release simulator.exe --schedules $schedules
    compare_pictures "${pictures[@]}"
fi
finish
