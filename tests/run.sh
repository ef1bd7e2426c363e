#!/usr/bin/env bash
# Builds and runs all tests; the last line is the sum of the test cases of all runs.
#
#     tests/run.sh                                everything: g++ in Release, Asan (with UBSan) and Tsan; the last two with
#                                                 the checks of debug builds
#     WEFT_CONFIGS="Debug Tsan" tests/run.sh      these configurations only
#     tests/run.sh "deque*"                       arguments go to Catch2, and only unit_tests runs
#     tests/run.sh --all                          also Debug, clang, Valgrind, the shared library, the library without
#                                                 exceptions, and the programs that use an installed weft
#
# WEFT_TIMEOUT is how many seconds one program may take (600). A program's output is shown when it fails, and kept
# in build/test-logs/. The last line but one says how long all of it took.
set -uo pipefail
cd "$(dirname "$0")/.." || exit

all=
if [ "${1:-}" = --all ]; then all=yes; shift; fi
configurations=${WEFT_CONFIGS:-${all:+Debug }Release Asan Tsan}
. tests/runs.sh

asan=detect_stack_use_after_return=1:detect_leaks=1:check_initialization_order=1
export ASAN_OPTIONS=$asan${ASAN_OPTIONS:+:$ASAN_OPTIONS}
export TSAN_OPTIONS=halt_on_error=1:second_deadlock_stack=1${TSAN_OPTIONS:+:$TSAN_OPTIONS}
export UBSAN_OPTIONS=print_stacktrace=1:halt_on_error=1${UBSAN_OPTIONS:+:$UBSAN_OPTIONS}

# A sample counts as one test, by its exit code.
run_sample() { # configuration, program
    local name="$variant $1 $2" log=$logs/$variant-$1-$2.log
    timeout --kill-after=10 60 "build/$variant/$1/$2" < /dev/null > "$log" 2>&1 || { show "$log"; fail "$name"; return; }
    passed=$((passed + 1))
    echo "[$SECONDS s] $name: 1 passed"
}

packages=()
[ -z "$all" ] || packages=(valgrind cmake pkg-config)
valgrind_header=/usr/include/valgrind/valgrind.h
absent=
[ -e "$valgrind_header" ] || absent=yes
premake=$(third_party/setup.sh "${packages[@]}") || { fail "third_party/setup.sh"; finish; }
# Objects made before the header came do not tell Valgrind of stacks, and do not know that they depend on it.
[ -z "$absent" ] || [ ! -e "$valgrind_header" ] || find build -name fiber_context.o -delete

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
if [ $# = 0 ]; then more=allocation_gate; else more=; fi
configure "" || finish
test_all "$more"
if [[ " $configurations " = *" Release "* ]] && [ $# = 0 ]; then
    # What tasks cost in atomic operations and cache line transfers has not changed unnoticed.
    if build Release machine; then
        run Release machine counts --check bench/machine/counts.csv
        run Release machine bounds  # wake-ups and efficiency on many virtual cores
    fi
    run Release simulate 3000
    run Release simulate --weak 1500  # where a load may give an older value
    run Release readme/run            # its blocks of code compile
fi

if [ -n "$all" ]; then
    # Memcheck sees what AddressSanitizer does not: memory that was never written. It runs one thread at a time and does
    # not know all of the floating-point control words; what is left out waits for minutes, tests just those, or leaves Memcheck
    # no address space.
    if build Debug unit_tests; then
        under="valgrind --quiet --error-exitcode=99 --fair-sched=yes --child-silent-after-fork=yes"
        under+=" --soname-synonyms=somalloc=nouserintercepts"  # the tests have an operator new of their own
        if [ $# = 0 ]; then
            arguments=("~[external]~[single]~[pinned]~[idle_set]~[frame_loop]~[floating_point]~[overflow]~[signal_stack]~[address_space]~fault: rounding mode*")
        fi
        run Debug unit_tests "${arguments[@]}"
        under='' arguments=("$@")
    fi

    configure clang --cc=clang && test_all "${more:+simulator }$more"

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
