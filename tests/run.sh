#!/usr/bin/env bash
# Builds and runs tests; the last line is the sum of the test cases of all programs.
#
#     tests/run.sh                  less than four minutes on two cores: all unit tests in Debug, those
#                                   that are for ThreadSanitizer again under it, and the simulator's
#                                   quick form
#     tests/run.sh "deque*"         arguments go to Catch2, and only unit_tests runs
#     tests/run.sh --sanitizers     all unit tests in Release, Asan (with UBSan) and Tsan; the last
#                                   two with the checks of debug builds. Also the allocation gate,
#                                   the counts and bounds of `machine`, more schedules of the
#                                   simulator, and the blocks of code in README.md
#     tests/run.sh --extras         all of that, and Debug, clang, Valgrind, the shared library, the
#                                   library without exceptions, and programs that use an installed
#                                   weft
#     WEFT_CONFIGS="Debug Tsan" tests/run.sh      unit_tests in these configurations only
#
# It installs what it needs (third_party/setup.sh). Before each step it prints which one of how many
# it is, and after it how long building and running took. WEFT_TIMEOUT is how many seconds one
# program may run (600). A program's output is shown when it fails, and kept in build/test-logs/.
# The last line but one says how long all of it took.
set -uo pipefail
cd "$(dirname "$0")/.." || exit

mode=quick packages=(catch2 libpng-dev libhwloc-dev freedoom)
case ${1:-} in
    --sanitizers) mode=sanitizers; shift ;;
    --extras) mode=extras packages+=(clang libclang-rt-dev valgrind cmake pkg-config); shift ;;
esac
case $mode in
    quick) configurations=Debug figures=' models, ' ;;  # the simulator's sum
    sanitizers) configurations="Release Asan Tsan" ;;
    extras) configurations="Debug Release Asan Tsan" ;;
esac
chosen=${WEFT_CONFIGS:-}
configurations=${chosen:-$configurations}
arguments=("$@")
. tests/runs.sh

asan=detect_stack_use_after_return=1:detect_leaks=1:check_initialization_order=1
export ASAN_OPTIONS=$asan${ASAN_OPTIONS:+:$ASAN_OPTIONS}
export TSAN_OPTIONS=halt_on_error=1:second_deadlock_stack=1${TSAN_OPTIONS:+:$TSAN_OPTIONS}
export UBSAN_OPTIONS=print_stacktrace=1:halt_on_error=1${UBSAN_OPTIONS:+:$UBSAN_OPTIONS}

# A sample counts as one test, by its exit code.
# shellcheck disable=SC2317
run_sample() { # configuration, program
    local name="$variant $1 $2" log=$logs/$variant-$1-$2.log
    timeout --kill-after=10 60 "build/$variant/$1/$2" < /dev/null > "$log" 2>&1 ||
        { show "$log"; fail "$name"; return; }
    passed=$((passed + 1))
    echo "[$SECONDS s] $name: 1 passed"
}

# The next steps are built in this variant. Its makefiles are made only when it changes.
declare -A options=([clang]=--cc=clang [shared]=--shared [no-exceptions]=--no-exceptions)
configured=none
use() { # variant
    [ "$1" != "$configured" ] || return 0
    configured=none
    # shellcheck disable=SC2086
    configure "$1" ${options[${1:-none}]:-} && configured=$1
}

# Builds a program and does something with it: `run`, `run_sample` or `:`, nothing. A script in
# tests/ builds what it needs itself. As long as `steps` is empty, a step is only counted.
step() { # what to do, variant, configuration, program, arguments
    number=$((number + 1))
    [ -n "$steps" ] || return 0
    echo "[$number/$steps] ${2:+$2 }$3 ${*:4}${under:+ under ${under%% *}}"
    use "$2" || return
    [ -e "tests/$4.sh" ] || build "$3" "$4" || return
    "$1" "${@:3}"
}

# unit_tests in each configuration; in Release other programs, too, if no tests are selected.
unit_tests() { # variant, other programs
    local configuration program
    for configuration in $configurations; do
        step run "$1" "$configuration" unit_tests "${arguments[@]}"
        if [ "$configuration" = Release ] && [ ${#arguments[@]} = 0 ]; then
            for program in "${@:2}"; do step run "$1" Release "$program"; done
        fi
    done
}

quick() {
    unit_tests ""
    [ "${#arguments[@]}" = 0 ] && [ -z "$chosen" ] || return
    step run "" Tsan tsan_tests
    step run "" Release simulate 500
    step run "" Release simulate --weak 100  # where a load may give an older value
}

sanitizers() {
    unit_tests "" allocation_gate
    [ "${#arguments[@]}" = 0 ] && [[ " $configurations " = *" Release "* ]] || return
    # What tasks cost in atomic operations and cache line transfers has not changed unnoticed.
    step run "" Release machine counts --check bench/machine/counts.csv
    step run "" Release machine bounds  # wake-ups and efficiency on many virtual cores
    step run "" Release simulate 3000
    step run "" Release simulate --weak 1500
    step run "" Release readme/run      # its blocks of code compile
}

# Memcheck sees what AddressSanitizer does not: memory that was never written. It runs one thread at
# a time and does not know all of the floating-point control words. What is left out waits for
# minutes, tests just those, or leaves Memcheck no address space.
memcheck() {
    local under="valgrind --quiet --error-exitcode=99 --fair-sched=yes"
    under+=" --child-silent-after-fork=yes"
    under+=" --soname-synonyms=somalloc=nouserintercepts"  # the tests have an operator new
    local left_out="~[foreign]~[single]~[pinned]~[idle_set]~[frame_loop]~[floating_point]"
    left_out+="~[overflow]~[signal_stack]~[address_space]~fault: rounding mode*"
    if [ ${#arguments[@]} = 0 ]; then set -- "$left_out"; else set -- "${arguments[@]}"; fi
    step run "" Debug unit_tests "$@"
}

extras() {
    memcheck
    unit_tests clang simulator allocation_gate
    step run no-exceptions Debug unit_tests "${arguments[@]}"
    step run no-exceptions Release unit_tests "${arguments[@]}"
    [ ${#arguments[@]} = 0 ] || return
    step run shared Release public_api
    step : shared Release frame_loop
    step run_sample shared Release triangle_number
    step run "" Release install/run
}

plan() {
    case $mode in
        quick) quick ;;
        sanitizers) sanitizers ;;
        extras) sanitizers; extras ;;
    esac
}

valgrind_header=/usr/include/valgrind/valgrind.h
absent=
[ -e "$valgrind_header" ] || absent=yes
premake=$(third_party/setup.sh "${packages[@]}") || { fail "third_party/setup.sh"; finish; }
# Objects made before the header came do not tell Valgrind of stacks, and do not know that they
# depend on it.
[ -z "$absent" ] || [ ! -e "$valgrind_header" ] || find build -name fiber_context.o -delete

steps='' number=0
plan
steps=$number number=0
plan
[ $((passed + failed)) != 0 ] || fail "no test ran"
finish
