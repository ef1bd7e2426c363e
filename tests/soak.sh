#!/usr/bin/env bash
# Runs random graphs of tasks under signals, changing CPU masks and load. Accounts for each task,
# counter and fiber. If a seed fails, the script prints the command that tries it again. The last
# line has the figures.
#
#     tests/soak.sh [SECONDS] [ARGUMENTS...]   each configuration, 60 seconds by default
#     tests/soak.sh 600 --hooks                also counts fiber switches, and checks each task with
#                                              the trace hooks
#     tests/soak.sh 60 --seed 17               repeats this seed
#     tests/soak.sh 60 --grid                  instead measures how late work begins: with few CPUs,
#                                              quotas, SIGSTOP and SCHED_FIFO
#     WEFT_CONFIGS="Release Asan Tsan" tests/soak.sh 30
#
# The default of WEFT_CONFIGS is Release.
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
    # ThreadSanitizer cannot start with the address space randomisation of some kernels.
    [ "$configuration" != Tsan ] || ! setarch "$(uname -m)" -R true 2> /dev/null || launcher=(setarch "$(uname -m)" -R)
    "${launcher[@]}" "build/$configuration/soak" --seconds "$seconds" "$@" < /dev/null | tee build/test-logs/soak.log ||
        failed=1
    figures+="${figures:+; }$configuration: $(tail -n 1 build/test-logs/soak.log)"
done
echo "$figures"
exit "$failed"
