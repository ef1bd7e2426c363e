#!/usr/bin/env bash
# Tests the race finder (samples/race_finder). It has to find a race of two tasks that ran on one
# worker, and one with a cached address of a thread_local variable. If there is no race, it must
# find none.
#
#     tests/race.sh [--full]
#
# With --full it also must find no race in the unit tests that use weft only through its interface.
# The promises of weft alone order these tests. Other unit tests look into weft, and in this build
# the synchronisation inside of weft orders nothing. --full builds with clang, which can leave the
# code of weft out of the instrumentation.
set -uo pipefail
cd "$(dirname "$0")/.." || exit

# Here all tasks lie in chunks of one task. So the task that is due needs the pool whose memory the
# test holds back.
left_out='~"deadlines do not wait for a thread that stays inside a call"'
needs=()
[ "${1:-}" != --full ] || needs=(clang libclang-rt-dev catch2 libpng-dev libhwloc-dev liburing-dev freedoom)
premake=$(third_party/setup.sh "${needs[@]}") || exit
mkdir -p build/test-logs
log=build/test-logs/race.log
{ "$premake" --race-finder gmake2 &&
    make -C "build/race-finder/premake" -j"$(nproc)" config=tsan race_finder; } > "$log" 2>&1 || { tail -n 30 "$log"; exit 1; }

sample=(setarch "$(uname -m)" -R "build/race-finder/Tsan/race_finder")
failed=0
if ! "${sample[@]}" --no-race > "$log" 2>&1; then cat "$log"; failed=$((failed + 1)); fi
expect() { # functions, options of the sample; one of the functions has to have a race
    ! "${sample[@]}" "${@:2}" > "$log" 2>&1 &&
        grep -q "SUMMARY: ThreadSanitizer: data race .* in \\($1\\)" "$log" && return
    cat "$log"
    failed=$((failed + 1))
}
expect 'Burn\|Bite'
expect 'Walk\|Count' --cached
passed=$((3 - failed))

if [ "${1:-}" = --full ]; then
    # Leaves out tests whose tasks share plain data because one worker runs them all: the race
    # finder reports these. Leaves out a test of nested waits, because each wait takes a fiber in
    # this build.
    tests=
    for tag in active_workers attach blocking cancel claim closure coroutine deferred exhaustion fiber_local find_work external frame \
        hooks idle parallel_for parallel_reduce pinned placement post ready reporting exception_collector single start submit sync \
        task_entry task_scheduler time wait wait_any wait_idle worker_local worker_loop; do
        tests="${tests:+$tests,}[$tag]~[one_worker]~[helps]$left_out"
    done
    { "$premake" --race-finder --cc=clang gmake2 &&
        make -C "build/clang-race-finder/premake" -j"$(nproc)" config=tsan unit_tests; } > "$log" 2>&1 ||
        { tail -n 30 "$log"; exit 1; }
    TSAN_OPTIONS=halt_on_error=0:exitcode=66 timeout --kill-after=10 600 \
        setarch "$(uname -m)" -R "build/clang-race-finder/Tsan/unit_tests" "$tests" > "$log" 2>&1 < /dev/null
    status=$?
    read -r more less <<< "$(sed -nE 's/^([0-9]+) passed, ([0-9]+) failed$/\1 \2/p' "$log" | tail -n 1)"
    [ "$status" = 0 ] || [ "${less:-0}" != 0 ] || less=1
    [ "$status" = 0 ] || tail -n 100 "$log"
    passed=$((passed + ${more:-0})) failed=$((failed + ${less:-1}))
fi
echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
