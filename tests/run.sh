#!/usr/bin/env bash
# Builds and runs all tests; the last line is the sum of the test cases of all runs.
#
#     tests/run.sh                                everything: g++ in five configurations
#     WEFT_CONFIGS="Debug Tsan" tests/run.sh      these configurations only
#     tests/run.sh "deque*"                       arguments go to Catch2, and only unit_tests runs
#
# WEFT_TIMEOUT is how many seconds one program may take (600). A program's output is shown when it fails, and kept
# in build/test-logs/.
set -uo pipefail
cd "$(dirname "$0")/.." || exit

configurations=${WEFT_CONFIGS:-Debug Release Asan Tsan Ubsan}
seconds=${WEFT_TIMEOUT:-600}
logs=build/test-logs
passed=0 failed=0 child=

asan=detect_stack_use_after_return=1:detect_leaks=1:check_initialization_order=1
export ASAN_OPTIONS=$asan${ASAN_OPTIONS:+:$ASAN_OPTIONS}
export TSAN_OPTIONS=halt_on_error=1:second_deadlock_stack=1${TSAN_OPTIONS:+:$TSAN_OPTIONS}
export UBSAN_OPTIONS=print_stacktrace=1:halt_on_error=1${UBSAN_OPTIONS:+:$UBSAN_OPTIONS}
export WEFT_ANNOUNCE_TESTS=1

finish() {
    echo "$passed passed, $failed failed"
    [ "$failed" = 0 ]
    exit
}

# A summary line counts only as the last line of the whole run, so none is let through from a log.
show() { grep -vxE '[0-9]+ passed, [0-9]+ failed|running: .*' "$1" | tail -n 200; }

fail() {
    failed=$((failed + 1))
    echo "[$SECONDS s] FAILED: $*"
}

build() { # configuration, program
    make -C build/premake --no-print-directory -j"$(nproc)" "config=${1,,}" "$2" > "$logs/$1-$2-build.log" 2>&1
}

run() { # configuration, program, arguments
    local name="$1 $2" log=$logs/$1-$2.log start=$SECONDS status counts test no_aslr=()
    local program=build/$1/$2
    [ -x "$program" ] || program=tests/$2.sh
    # g++ 12's TSan cannot start under some kernels' address space randomisation.
    [ "$1" != Tsan ] || ! setarch "$(uname -m)" -R true 2>/dev/null || no_aslr=(setarch "$(uname -m)" -R)
    shift 2
    timeout --kill-after=10 "$seconds" "${no_aslr[@]}" "$program" "$@" < /dev/null > "$log" 2>&1 &
    child=$!
    wait "$child" 2>/dev/null
    status=$?
    child=

    counts=$(grep -xE '[0-9]+ passed, [0-9]+ failed' "$log" | tail -n 1)
    counts=${counts//[!0-9 ]/}
    read -r run_passed run_failed <<< "${counts:-0 0}"
    passed=$((passed + run_passed)) failed=$((failed + run_failed))
    if [ "$status" = 0 ] && [ "$run_failed" = 0 ] && [ "$run_passed" != 0 ]; then
        echo "[$SECONDS s] $name: $run_passed passed in $((SECONDS - start)) s"
        grep -E ' distinct | \| ' "$log"  # the tables of the simulator and of the mutants
        return
    fi

    show "$log"
    test=$(sed -n 's/^running: \(.*\)/ in test case "\1"/p' "$log" | tail -n 1)
    if [ "$status" = 124 ] || [ "$((SECONDS - start))" -ge "$seconds" ]; then
        fail "$name hung$test: stopped after $seconds s"
    elif [ -z "$counts" ]; then
        fail "$name ended$test with exit code $status"
    elif [ "$run_failed" != 0 ]; then
        echo "[$SECONDS s] FAILED: $name: $run_passed passed and $run_failed failed"
    elif [ "$status" != 0 ]; then
        fail "$name ended with exit code $status although no test failed"
    else
        fail "$name ran no test"
    fi
}

trap '[ -z "$child" ] || kill "$child"; exit 130' INT TERM
mkdir -p "$logs"

premake=$(third_party/setup.sh) || { fail "third_party/setup.sh"; finish; }
"$premake" gmake2 > "$logs/premake.log" 2>&1 || { show "$logs/premake.log"; fail "premake5 gmake2"; finish; }

for configuration in $configurations; do
    programs=unit_tests
    if [ "$configuration" = Release ] && [ $# = 0 ]; then programs+=" simulator allocation_gate"; fi
    for program in $programs; do
        grep -q "^$program:" build/premake/Makefile || continue
        if build "$configuration" "$program"; then
            run "$configuration" "$program" "$@"
        else
            show "$logs/$configuration-$program-build.log"
            fail "$configuration $program does not build"
        fi
    done
    if [[ $programs = *simulator* ]]; then
        # shellcheck disable=SC2046
        run "$configuration" mutants $(grep -l 'program: simulator' tests/mutants/*.patch | xargs -n 1 basename -s .patch)
    fi
done

[ $((passed + failed)) != 0 ] || fail "no test ran"
finish
