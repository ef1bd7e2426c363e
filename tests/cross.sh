# shellcheck shell=bash
# Functions for the scripts of other platforms (aarch64.sh, windows.sh). These scripts set `triplet`
# and `full`, and include runs.sh. Emulated test cases have four times as long (tests/case_limit.h).
export WEFT_SLOWDOWN=4

# Runs unit_tests with the arguments or, without arguments, the chosen tests of short_tests or, with
# --full, of unit_tests.
run_tests() { # how programs end there, chosen tests, arguments
    local suffix=$1 chosen=$2 program=short_tests configuration
    shift 2
    if [ -n "$full" ] || [ $# != 0 ]; then program=unit_tests; fi
    [ $# != 0 ] || set -- "$chosen"
    for configuration in ${WEFT_CONFIGS:-Release}; do
        build "$configuration" $program && run "$configuration" "$program$suffix" "$@"
    done
}

# Runs the sample and sets $hash to the hash of its pictures.
draw() { # program, arguments
    local log=$logs/${variant:+$variant-}Release-frame_loop.log launcher
    read -ra launcher <<< "$under"
    hash=
    timeout --kill-after=10 "$seconds" "${launcher[@]}" "build/$variant/Release/$1" --out "$logs/pictures" "${@:2}" \
        < /dev/null > "$log" 2>&1 && hash=$(sed -n 's/^hash \([0-9a-f]*\).*/\1/p' "$log")
    [ -n "$hash" ] || { show "$log"; fail "$variant Release $1"; return 1; }
}

compare_pictures() { # how programs end there, arguments of frame_loop
    local start=$SECONDS suffix=$1 there
    shift
    build Release frame_loop && draw "frame_loop$suffix" "$@" && there=$hash || return
    variant='' under=''
    unset CC CXX
    configure "" && build Release frame_loop && draw frame_loop "$@" || return
    if [ "$hash" = "$there" ]; then
        passed=$((passed + 1))
        echo "[$SECONDS s] $triplet Release frame_loop: 1 passed in $((SECONDS - start)) s: hash $hash, here too"
    else
        fail "$triplet Release frame_loop: hash $there, here $hash"
    fi
}

run_sample_and_models() { # how programs end there
    local pictures=(--frames 20 --size 320x200 --workers 2)
    # shellcheck disable=SC2154
    if [ -n "$full" ]; then
        build Release simulator && run Release "simulator$1" --schedules 3000
        pictures=(--frames 200 --size 320x200 --workers 3)
    fi
    compare_pictures "$1" "${pictures[@]}"
}
