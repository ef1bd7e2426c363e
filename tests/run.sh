#!/usr/bin/env bash
# Builds and runs all tests; the last line is the sum of the test cases of all runs.
#
#     tests/run.sh                                everything: g++ in five configurations
#     WEFT_CONFIGS="Debug Tsan" tests/run.sh      these configurations only
#     tests/run.sh "deque*"                       arguments go to Catch2, and only unit_tests runs
#     tests/run.sh --all                          also clang, Valgrind, the shared library, the library without
#                                                 exceptions, and the programs that use an installed weft
#
# WEFT_TIMEOUT is how many seconds one program may take (600). A program's output is shown when it fails, and kept
# in build/test-logs/. The last line but one says how long all of it took.
set -uo pipefail
cd "$(dirname "$0")/.." || exit

all=
if [ "${1:-}" = --all ]; then all=yes; shift; fi
configurations=${WEFT_CONFIGS:-Debug Release Asan Tsan Ubsan}
seconds=${WEFT_TIMEOUT:-600}
logs=build/test-logs
passed=0 failed=0 child='' variant='' under=''

asan=detect_stack_use_after_return=1:detect_leaks=1:check_initialization_order=1
export ASAN_OPTIONS=$asan${ASAN_OPTIONS:+:$ASAN_OPTIONS}
export TSAN_OPTIONS=halt_on_error=1:second_deadlock_stack=1${TSAN_OPTIONS:+:$TSAN_OPTIONS}
export UBSAN_OPTIONS=print_stacktrace=1:halt_on_error=1${UBSAN_OPTIONS:+:$UBSAN_OPTIONS}
export WEFT_ANNOUNCE_TESTS=1

finish() {
    echo "took $SECONDS s"
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

# What comes next is built with these options of Premake, in build/VARIANT/; without a variant, in build/.
configure() { # variant, options
    variant=$1
    shift
    "$premake" gmake2 "$@" > "$logs/premake.log" 2>&1 && return
    show "$logs/premake.log"
    fail "premake5 gmake2 $*"
    return 1
}

build() { # configuration, program
    local log=$logs/${variant:+$variant-}$1-$2-build.log
    make -C "build/$variant/premake" --no-print-directory -j"$(nproc)" "config=${1,,}" "$2" > "$log" 2>&1 && return
    show "$log"
    fail "${variant:+$variant }$1 $2 does not build"
    return 1
}

run() { # configuration, program, arguments
    local name="${variant:+$variant }$1 $2" log=$logs/${variant:+$variant-}$1-${2//\//-}.log
    local start=$SECONDS status counts test launcher=()
    local program=build/$variant/$1/$2
    [ -x "$program" ] || program=tests/$2.sh
    # TSan, g++'s and clang's, cannot start under some kernels' address space randomisation.
    [ "$1" != Tsan ] || ! setarch "$(uname -m)" -R true 2>/dev/null || launcher=(setarch "$(uname -m)" -R)
    if [ -n "$under" ]; then
        # shellcheck disable=SC2206
        launcher=($under) name+=" under ${under%% *}" log=${log%.log}-${under%% *}.log
    fi
    shift 2
    timeout --kill-after=10 "$seconds" "${launcher[@]}" "$program" "$@" < /dev/null > "$log" 2>&1 &
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

# A sample counts as one test, by its exit code.
run_sample() { # configuration, program
    local name="$variant $1 $2" log=$logs/$variant-$1-$2.log
    timeout --kill-after=10 60 "build/$variant/$1/$2" < /dev/null > "$log" 2>&1 || { show "$log"; fail "$name"; return; }
    passed=$((passed + 1))
    echo "[$SECONDS s] $name: 1 passed"
}

trap '[ -z "$child" ] || kill "$child"; exit 130' INT TERM
mkdir -p "$logs"

packages=()
[ -z "$all" ] || packages=(valgrind cmake pkg-config)
valgrind_header=/usr/include/valgrind/valgrind.h
absent=
[ -e "$valgrind_header" ] || absent=yes
premake=$(third_party/setup.sh "${packages[@]}") || { fail "third_party/setup.sh"; finish; }
# Objects made before the header came do not tell Valgrind of stacks, and do not know that they depend on it.
[ -z "$absent" ] || [ ! -e "$valgrind_header" ] || find build -name fiber_context.o -delete

has() { grep -q "^$1:" "build/$variant/premake/Makefile"; }

# Each of the configurations with what is to be run in it.
test_all() { # programs in Release beside unit_tests
    for configuration in $configurations; do
        programs=unit_tests
        [ "$configuration" != Release ] || programs+=" $1"
        for program in $programs; do
            if has "$program" && build "$configuration" "$program"; then run "$configuration" "$program" "${arguments[@]}"; fi
        done
    done
}

arguments=("$@")
if [ $# = 0 ]; then more="simulator allocation_gate"; else more=; fi
configure "" || finish
test_all "$more"
if [[ " $configurations " = *" Release "* ]] && [ $# = 0 ] && has simulator; then
    # What tasks cost in atomic operations and cache line transfers has not changed unnoticed.
    if build Release machine; then run Release machine counts --check bench/machine/counts.csv; fi
    # shellcheck disable=SC2046
    run Release mutants $(grep -l 'program: simulator' tests/mutants/*.patch | xargs -n 1 basename -s .patch)
fi

if [ -n "$all" ]; then
    # Memcheck sees what AddressSanitizer does not: memory that was never written. It runs one thread at a time and does
    # not know all of the floating-point control words; what is left out waits for minutes, or tests just those.
    if build Debug unit_tests; then
        under="valgrind --quiet --error-exitcode=99 --fair-sched=yes --child-silent-after-fork=yes"
        under+=" --soname-synonyms=somalloc=nouserintercepts"  # the tests have an operator new of their own
        if [ $# = 0 ]; then
            arguments=("~[foreign]~[single]~[pinned]~[idle_set]~[frame_loop]~[floating_point]~[overflow]~[signal_stack]~fault: rounding mode*")
        fi
        run Debug unit_tests "${arguments[@]}"
        under='' arguments=("$@")
    fi

    configure clang --cc=clang && test_all "$more"

    if configure shared --shared; then
        build Release public_api && run Release public_api
        build Release frame_loop
        build Release triangle_number && run_sample Release triangle_number
    fi

    if configure no-exceptions --no-exceptions; then
        for configuration in Debug Release; do
            if build "$configuration" unit_tests; then run "$configuration" unit_tests "${arguments[@]}"; fi
        done
    fi

    variant=
    run Release install/run
fi

[ $((passed + failed)) != 0 ] || fail "no test ran"
finish
