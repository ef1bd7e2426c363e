#!/usr/bin/env bash
# Runs libFuzzer on sequences of valid and invalid calls, with AddressSanitizer and
# UndefinedBehaviorSanitizer. It begins with the inputs in tests/fuzz/corpus/. It keeps new inputs
# in build/fuzz/corpus/, and an input that fails in build/fuzz/. The last line has the figures.
#
#     tests/fuzz.sh [SECONDS] [ARGUMENTS...]       60 seconds by default; arguments go to libFuzzer
#     tests/fuzz.sh FILE                           runs one input again
#     tests/fuzz.sh --minimise                     makes tests/fuzz/corpus/ from both corpora
#     tests/fuzz.sh wad ...                        the same for the WAD reader of the sample
#                                                  frame_loop, with damaged levels
#     tests/fuzz.sh trace ...                      the same for the reader of recordings, with
#                                                  tests/fuzz/trace/corpus/
set -euo pipefail
cd "$(dirname "$0")/.."

target=fuzz work=build/fuzz corpus=tests/fuzz/corpus what=
needs=(clang libclang-rt-dev)
# An input takes less than a second, unless something hangs.
limits=(-timeout=25 -max_len=256 -rss_limit_mb=4096)
case ${1:-} in
    wad)
        target=fuzz_wad work=build/fuzz-wad corpus=  # there is nothing small to begin with
        needs+=(libpng-dev freedoom)
        limits+=(-len_control=0)
        ;;
    trace)
        target=fuzz_trace work=build/fuzz-trace corpus=tests/fuzz/trace/corpus
        limits+=(-max_len=8192)
        ;;
esac
if [ "$target" != fuzz ]; then
    what="$1 "
    shift
fi
program=build/clang/Asan/$target
export ASAN_OPTIONS=detect_leaks=1${ASAN_OPTIONS:+:$ASAN_OPTIONS}
export UBSAN_OPTIONS=print_stacktrace=1:halt_on_error=1${UBSAN_OPTIONS:+:$UBSAN_OPTIONS}

mkdir -p build/test-logs "$work/corpus"
log=build/test-logs/fuzz-build.log
"$(third_party/setup.sh "${needs[@]}")" gmake2 --cc=clang > "$log"
if ! make -C build/clang/premake --no-print-directory -j"$(nproc)" config=asan "$target" > "$log" 2>&1; then
    tail -n 100 "$log"
    exit 1
fi

if [ "${1:-}" = --minimise ] && [ -n "$corpus" ]; then
    rm -rf "$work/merged"
    mkdir "$work/merged"
    "$program" -merge=1 "${limits[@]}" "$work/merged" $corpus "$work/corpus"
    rm -f "$corpus"/*
    # At most 60 inputs, of all sizes.
    find "$work/merged" -type f -printf '%s %p\n' | sort -n | awk '{ files[NR] = $2 } END {
        step = NR > 60 ? NR / 60 : 1
        for (i = NR; i >= 1; i -= step) print files[int(i + 0.5)]
    }' | xargs -I{} cp {} "$corpus"/
    find "$corpus" -type f | wc -l
    exit
fi
if [ -f "${1:-}" ]; then exec "$program" "${limits[@]}" "$1"; fi

seconds=60
if [[ ${1:-} =~ ^[0-9]+$ ]]; then seconds=$1; shift; fi
log=build/test-logs/fuzz.log status=0
"$program" "-max_total_time=$seconds" "${limits[@]}" "-artifact_prefix=$work/" -print_final_stats=1 "$@" \
    "$work/corpus" $corpus > "$log" 2>&1 || status=$?
figure() { sed -n "s/^stat::$1: *//p" "$log" | tail -n 1; }
if [ "$status" != 0 ]; then
    tail -n 60 "$log"
    input=$(sed -n 's/.*Test unit written to //p' "$log" | tail -n 1)
    echo "FAILED; again: tests/fuzz.sh $what${input:-FILE}"
fi
echo "$(figure number_of_executed_units) inputs, $(figure average_exec_per_sec) a second," \
    "$(find "$work/corpus" -type f | wc -l) kept, coverage $(grep -o 'cov: [0-9]*' "$log" | tail -n 1 | cut -c6-)," \
    "exit code $status"
exit "$status"
