#!/usr/bin/env bash
# Builds and runs tests. The last line has the sum of the test cases of all programs.
#
#     tests/run.sh                  less than four minutes on two cores: short_tests, a quarter of
#                                   the unit tests (premake5.lua), in Release and Tsan, and a short
#                                   form of the simulator
#     tests/run.sh "deque*"         runs only unit_tests; the arguments go to Catch2
#     tests/run.sh --more           what takes longer: all unit tests in Release, all that are not
#                                   [long] in Asan (with UBSan, by clang), and short_tests in
#                                   Debug, the last two with the checks of debug builds. Also the
#                                   allocation gate, the counts, bounds and predictions of
#                                   `machine`, more schedules of the simulator, and the checks of
#                                   the documents
#     tests/run.sh --sanitizers     both
#     tests/run.sh --extras         all of that, all unit tests in Debug, Tsan and Asan (which also
#                                   looks for uses of stack frames that have returned), and clang,
#                                   Valgrind, the shared library, the library without exceptions,
#                                   programs that use an installed weft, packages, strict hosts
#                                   and warnings (tests/strict.sh), a build that uses only POSIX
#                                   calls (tests/posix.sh), the window of a sample, and browsers. Each source file is compiled alone.
#     WEFT_CONFIGS="Debug Tsan" tests/run.sh      unit_tests in these configurations only
#
# The script installs what it needs (third_party/setup.sh). Before each step it prints the number of
# the step, and afterwards the time of building and running. WEFT_TIMEOUT is the time limit of a
# program in seconds (1200). The output of a program is in build/test-logs/. The script shows it if
# the program fails. The last line but one has the total time.
set -uo pipefail
cd "$(dirname "$0")/.." || exit

mode=quick packages=(catch2 libpng-dev libhwloc-dev liburing-dev freedoom)
case ${1:-} in
    --more | --sanitizers) mode=${1#--}; shift ;;
    --extras)
        mode=extras packages+=(clang libclang-rt-dev valgrind cmake pkg-config)
        export WEFT_UNITY=
        shift ;;
esac
case $mode in
    quick) configurations=Release figures=' models, ' ;;  # the simulator's sum
    more | sanitizers) configurations="Release Asan" packages+=(clang libclang-rt-dev) ;;
    extras) configurations="Release Debug Asan Tsan" ;;
esac
chosen=${WEFT_CONFIGS:-}
configurations=${chosen:-$configurations}
arguments=("$@")
. tests/runs.sh

asan=detect_leaks=1:check_initialization_order=1
# Uses of stack frames that have returned. The check doubles the time; tests/soak.sh and
# tests/faults.sh have it, too.
[ "$mode" != extras ] || asan+=:detect_stack_use_after_return=1
export ASAN_OPTIONS=$asan${ASAN_OPTIONS:+:$ASAN_OPTIONS}
export TSAN_OPTIONS=halt_on_error=1:second_deadlock_stack=1${TSAN_OPTIONS:+:$TSAN_OPTIONS}
export UBSAN_OPTIONS=print_stacktrace=1:halt_on_error=1${UBSAN_OPTIONS:+:$UBSAN_OPTIONS}

# A sample is one test. Its exit code is the result.
# shellcheck disable=SC2317
run_sample() { # configuration, program
    local name="$variant $1 $2" log=$logs/$variant-$1-$2.log
    timeout --kill-after=10 60 "build/$variant/$1/$2" < /dev/null > "$log" 2>&1 ||
        { show "$log"; fail "$name"; return; }
    passed=$((passed + 1))
    echo "[$SECONDS s] $name: 1 passed"
}

# Sets the variant in which the next steps are built. Makes the makefiles only if it changes.
declare -A options=([clang]=--cc=clang [shared]=--shared [no-exceptions]=--no-exceptions)
configured=none
use() { # variant
    [ "$1" != "$configured" ] || return 0
    configured=none
    # shellcheck disable=SC2086
    configure "$1" ${options[${1:-none}]:-} && configured=$1
}

# Builds a program and then does what the first argument says: `run`, `run_sample`, or `:` for
# nothing. A script in tests/ builds what it needs itself. While `steps` is empty, steps are only
# counted.
step() { # what to do, variant, configuration, program, arguments
    number=$((number + 1))
    [ -n "$steps" ] || return 0
    echo "[$number/$steps] ${2:+$2 }$3 ${*:4}${under:+ under ${under%% *}}"
    use "$2" || return
    [ -e "tests/$4.sh" ] || build "$3" "$4" || return
    "$1" "${@:3}"
}

# Runs unit_tests in each of these configurations.
unit_tests() { # variant, configurations
    local configuration
    for configuration in $2; do
        case "$mode $configuration ${arguments[*]}" in
            # clang compiles these tests in a third of the time that g++ takes.
            "more Asan " | "sanitizers Asan ") step run clang Asan unit_tests "~[long]" ;;
            *) step run "$1" "$configuration" unit_tests "${arguments[@]}" ;;
        esac
    done
}

# Whether other programs run, too: not if tests or configurations are chosen.
all() { [ "${#arguments[@]}" = 0 ] && [ -z "$chosen" ]; }

quick() {
    all || return
    step run "" Release short_tests
    step run "" Tsan short_tests
    step run "" Release simulate 150
    step run "" Release simulate --weak 40  # where a load may give an older value
}

more() {
    all || return
    step run "" Release allocation_gate
    # The numbers of atomic operations and cache line transfers of a task must not change unnoticed.
    step run "" Release machine counts --check bench/machine/counts.csv
    step run "" Release machine bounds  # wake-ups and efficiency on many virtual cores
    step run "" Release machine check-what-if bench/frame/spiky.frame
    step run "" Release simulate 150 151  # after those of the quick form
    step run "" Release simulate --weak 60 41
    step run "" Release readme/run      # its blocks of code compile
    step run "" Release readme/coming_from  # the calls in these tables compile
    step run "" Debug short_tests
    unit_tests "" "Release Asan"
}

# Memcheck finds reads of memory that was never written, which AddressSanitizer does not find. It
# runs one thread at a time, and does not support all floating-point control words. Left out are
# tests that then take minutes, tests of control words, tests that leave no address space to
# Memcheck, tests with io_uring (a thread that waits for it stops all others), and a test that reads
# all words of a stack.
memcheck() {
    local under="valgrind --quiet --error-exitcode=98 --fair-sched=yes"
    under+=" --child-silent-after-fork=yes"
    under+=" --soname-synonyms=somalloc=nouserintercepts"  # the tests have an operator new
    local left_out="~[external]~[single]~[pinned]~[sleepers]~[frame_loop]~[floating_point]"
    left_out+="~[overflow]~[signal_stack]~[address_space]~[case_limit]~[io]~fault: rounding mode*"
    left_out+="~debug root: the stack of a suspended fiber*"
    if [ ${#arguments[@]} = 0 ]; then set -- "$left_out"; else set -- "${arguments[@]}"; fi
    WEFT_SLOWDOWN=4 step run "" Debug unit_tests "$@"
}

extras() {
    memcheck
    ! all || unit_tests "" "Debug Tsan"
    unit_tests clang "$configurations"
    step run no-exceptions Debug unit_tests "${arguments[@]}"
    step run no-exceptions Release unit_tests "${arguments[@]}"
    all || return
    step run clang Release simulator
    step run clang Release allocation_gate
    step run shared Release public_api
    step : shared Release frame_loop
    step run_sample shared Release triangle_number
    step run "" Release install/run
    step run "" Release packages
    step run "" Release strict
    step run "" Release posix
    step run "" Release window
    step run "" Release emscripten
}

plan() {
    all || unit_tests "" "$configurations"
    case $mode in
        quick) quick ;;
        more) more ;;
        sanitizers) quick; more ;;
        extras) quick; more; extras ;;
    esac
}

valgrind_header=/usr/include/valgrind/valgrind.h
absent=
[ -e "$valgrind_header" ] || absent=yes
premake=$(third_party/setup.sh "${packages[@]}") || { fail "third_party/setup.sh"; finish; }
# Objects from the time before the header was installed do not inform Valgrind of stacks. The build
# does not know that they depend on the header.
[ -z "$absent" ] || [ ! -e "$valgrind_header" ] || find build -name fiber_context_boost.o -delete

steps='' number=0
plan
steps=$number number=0
plan
[ $((passed + failed)) != 0 ] || fail "no test ran"
finish
