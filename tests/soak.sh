#!/usr/bin/env bash
# Random graphs of tasks under signals, changing CPUs and a load, with an account of every task, counter and fiber.
# The last line has the figures; a seed that fails is printed with the command that tries it again.
#
#     tests/soak.sh [SECONDS] [ARGUMENTS...]       60 seconds of each configuration if nothing else is said
#     tests/soak.sh 600 --hooks                    counts fiber switches, and checks each task by the trace hooks as well
#     tests/soak.sh 60 --seed 17                   this seed again and again
#     WEFT_CONFIGS="Release Asan Tsan" tests/soak.sh 30
#
# WEFT_CONFIGS is Release if it is not set.
set -euo pipefail
cd "$(dirname "$0")/.."

seconds=60
if [[ ${1:-} =~ ^[0-9]+$ ]]; then seconds=$1; shift; fi
export ASAN_OPTIONS=detect_stack_use_after_return=1:detect_leaks=1${ASAN_OPTIONS:+:$ASAN_OPTIONS}
export TSAN_OPTIONS=halt_on_error=1:second_deadlock_stack=1${TSAN_OPTIONS:+:$TSAN_OPTIONS}
export UBSAN_OPTIONS=print_stacktrace=1:halt_on_error=1${UBSAN_OPTIONS:+:$UBSAN_OPTIONS}

mkdir -p build/test-logs
log=build/test-logs/soak-build.log
"$(third_party/setup.sh)" gmake2 > "$log"
failed=0 figures=
for configuration in ${WEFT_CONFIGS:-Release}; do
    if ! make -C build/premake --no-print-directory -j"$(nproc)" "config=${configuration,,}" soak > "$log" 2>&1; then
        tail -n 100 "$log"
        exit 1
    fi
    launcher=()
    # TSan cannot start under some kernels' address space randomisation.
    [ "$configuration" != Tsan ] || ! setarch "$(uname -m)" -R true 2> /dev/null || launcher=(setarch "$(uname -m)" -R)
    "${launcher[@]}" "build/$configuration/soak" --seconds "$seconds" "$@" < /dev/null | tee build/test-logs/soak.log ||
        failed=1
    figures+="${figures:+; }$configuration: $(tail -n 1 build/test-logs/soak.log)"
done
echo "$figures"
exit "$failed"
