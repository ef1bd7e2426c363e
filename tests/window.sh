#!/usr/bin/env bash
# Tests the window of the sample frame_loop (samples/frame_loop/window.h) on a screen in memory: keys
# move the viewer and sound steps, a door opens in front of it, F1 draws the graph of the frames, and the run
# ends in the middle of a frame by Escape, and by the window manager. The last line has the sum.
#
#     tests/window.sh                     all tests; screenshots and logs are in build/window/
#     tests/window.sh --picture FILE      also writes the screenshot with the graph, in 200 colours
#
# The sample writes a line for each event that it handled. The tests wait for these lines, at most
# WEFT_LIMIT seconds (60). The screen, the window manager and the tools are Debian packages.
# shellcheck disable=SC2317  # `check` and `await` call functions by name
set -uo pipefail
cd "$(dirname "$0")/.." || exit
. tests/runs.sh
picture=
[ "${1:-}" != --picture ] || picture=${2:?--picture needs the name of a file}
limit=${WEFT_LIMIT:-60}
folder=$PWD/build/window
mkdir -p "$folder"
rm -f "$folder"/*
servers=()
cleanup() { [ ${#servers[@]} = 0 ] || kill "${servers[@]}" 2> /dev/null; }
trap cleanup EXIT

check() { # what, command
    local what=$1
    shift
    if "$@"; then
        passed=$((passed + 1))
        echo "[$SECONDS s] $what"
    else
        fail "$what"
    fi
}

# Waits until the command succeeds.
await() { # command
    local end=$((SECONDS + limit))
    until "$@" > /dev/null 2>&1; do
        [ "$SECONDS" -lt "$end" ] || { echo "no success in $limit s: $*"; return 1; }
        sleep 0.05
    done
    true
}
logged() { grep -qE "$1" "$folder/$name.log"; }
await_line() { await logged "$1"; }
ended() { ! kill -0 "$child" 2> /dev/null; }

# Starts the sample, and waits until keys reach it.
start() { # name, arguments
    name=$1
    shift
    "${program[@]}" --window --window-log "$@" > "$folder/$name.log" 2> "$folder/$name.errors" &
    child=$!
    await_line '^focus$' && await_line '^still' || return
    window=$(xdotool search --name 'weft: frame_loop' | tail -n 1)
}

# The sample ended by itself, showed all frames that it had begun, and weft reported nothing.
ends_well() { # how
    local status frames stop
    await ended || { kill "$child"; return 1; }
    wait "$child"
    status=$?
    child=
    stop=$(sed -n 's/^stop //p' "$folder/$name.log" | head -n 1)
    frames=$(sed -n 's/^frames *\([0-9]*\) of .*/\1/p' "$folder/$name.log")
    grep -vx 'building frame_loop' "$folder/$name.errors" > "$folder/$name.reports"  # a line of samples/run.sh
    [ "$status" = 0 ] && [ ! -s "$folder/$name.reports" ] && [ -n "$stop" ] && [ -n "$frames" ] &&
        [ "$frames" -gt "$stop" ] && return
    echo "exit code $status, stopped at frame ${stop:-?}, ${frames:-?} frames"
    cat "$folder/$name.errors"
    return 1
}

shoot() { import -window "$window" "$folder/$1.png"; }  # name of the screenshot
# How many pixels of a part of a screenshot have a colour.
pixels() { # screenshot, part, colour
    stream -map rgb -storage-type char -extract "$2" "$folder/$1.png" - 2> /dev/null |
        od -An -v -tx1 -w3 | tr -d ' ' | grep -cix "$3"
}
# How many pixels of a part differ in two screenshots.
difference() { # screenshot, screenshot, part
    compare -metric AE "$folder/$1.png[$3]" "$folder/$2.png[$3]" null: 2>&1
}
border=ff8c00 graph=500x170+8+8 below=640x190+0+210
graph_is_there() { shoot "$1" && [ "$(pixels "$1" "$graph" "$border")" -gt 800 ]; }
graph_is_away() { shoot "$1" && [ "$(pixels "$1" "$graph" "$border")" = 0 ]; }
most_differs() { # screenshot, screenshot, part
    local pixels
    pixels=$(difference "$@")
    [ "$pixels" -gt 40000 ] || { echo "only $pixels pixels differ"; return 1; }
}
place() { sed -n 's/^still //p' "$folder/$name.log" | tail -n 1; }  # x, y, degrees

third_party/setup.sh libpng-dev freedoom libsdl2-dev xvfb xdotool openbox imagemagick > "$folder/premake" ||
    { fail "third_party/setup.sh"; finish; }
premake=$(cat "$folder/premake")
configure "" || finish
build Release frame_loop || finish

# A screen of which the sample's picture fills most, so that its pixels are those of the screen.
Xvfb -displayfd 3 -screen 0 900x600x24 -nolisten tcp 3> "$folder/display" 2> "$folder/xvfb.errors" &
servers+=($!)
await test -s "$folder/display" || { fail "Xvfb"; finish; }
DISPLAY=:$(cat "$folder/display")
export DISPLAY SDL_AUDIODRIVER=dummy SDL_RENDER_DRIVER=software SDL_VIDEODRIVER=x11
openbox > "$folder/openbox.log" 2>&1 &
servers+=($!)

program=(samples/run.sh frame_loop)  # which becomes the sample: $! is its process
check "samples/run.sh opens a window" start escape || finish
program=(build/Release/frame_loop)
check "a dummy device plays" logged '^audio dummy$'
check "no graph before F1" graph_is_away before
from=$(place)
xdotool keydown w
check "W walks: two steps are heard" await_line '^steps 2$'
xdotool keyup w
check "the viewer stands when the key is released" await_line '^up W$'
count() { [ "$(grep -c '^still' "$folder/$name.log")" = "$1" ]; }
check "it stands still" await count 2
to=$(place)
read -r x y degrees <<< "$from"
check "it walked east" test "${to% * *}" -gt $((x + 150))
check "it did not turn" test "${to#* }" = "$y $degrees"
check "no graph while it walked" graph_is_away walked
check "the picture is another one" most_differs before walked "$below"

xdotool key F1
check "F1 draws the graph" await graph_is_there graph
# Each screenshot delays a frame. The graph of the picture should not show that: 240 frames take 4 s.
[ -z "$picture" ] || { sleep 5; import -window "$window" -colors 200 +dither "png8:$picture" && ls -l "$picture"; }
xdotool key F1
check "F1 again takes it away" await graph_is_away after

xdotool keydown Left
check "Left turns" await_line '^at .* (4[5-9]|[5-9][0-9])$'
xdotool keyup Left
check "it turned only" await count 3
check "at the same place" test "$(place | cut -d' ' -f1,2)" = "${to% *}"

xdotool keydown w
xdotool keydown d
check "a wall stops it while the keys are held" await count 4
check "no key was released before" test "$(grep -c '^up [WD]$' "$folder/$name.log")" = 1
xdotool keyup w
xdotool keyup d
check "the keys are released" await_line '^up D$'

xdotool key Escape
check "Escape ends the run" await_line '^down Escape$'
check "the run ended well after Escape" ends_well

check "a second window opens" start close --level E1M7  # a door is before the viewer
xdotool keydown w
check "it walks" await_line '^steps 1$'
check "a door opens" await_line '^door$'
xdotool key alt+F4  # openbox asks the window to close
check "closing the window ends the run" await_line '^closed$'
xdotool keyup w
check "the run ended well after the window was closed" ends_well

name=none
SDL_AUDIODRIVER=nothing build/Release/frame_loop --window --window-log --frames 20 \
    > "$folder/$name.log" 2> "$folder/$name.errors"
check "without an audio device it runs" test "$?" = 0
check "it says that there is no sound" grep -q 'frame_loop: no sound: ' "$folder/$name.errors"
SDL_VIDEODRIVER=nothing build/Release/frame_loop --window > /dev/null 2> "$folder/screen.errors"
check "without a screen it ends with exit code 1" test "$?" = 1
check "it says that there is no screen" grep -q 'frame_loop: there is no screen: ' "$folder/screen.errors"
finish
