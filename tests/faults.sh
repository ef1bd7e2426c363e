#!/usr/bin/env bash
# Lets the first call of a function of the system fail, then the second, and so on, until a run in
# which no call is left to fail. Does this for each function that weft calls. Also runs weft with
# each limit at its smallest value. The last line has the figures. The exit code is not 0 if there
# are findings.
#
#     tests/faults.sh                      in Debug
#     tests/faults.sh --full               all scenarios, all errors, all configurations
#     tests/faults.sh --only "run-3 mmap"  one scenario and function (see tests/faults/main.cpp)
#
# WEFT_CONFIGS names other configurations.
set -uo pipefail
cd "$(dirname "$0")/.." || exit

configurations=Debug
[[ " $* " != *" --full "* ]] || configurations="Debug Release Asan Tsan"
configurations=${WEFT_CONFIGS:-$configurations}
mkdir -p build/test-logs
log=build/test-logs/faults
export ASAN_OPTIONS=detect_stack_use_after_return=1:detect_leaks=0${ASAN_OPTIONS:+:$ASAN_OPTIONS}  # the program counts itself
export TSAN_OPTIONS=halt_on_error=1${TSAN_OPTIONS:+:$TSAN_OPTIONS}
export UBSAN_OPTIONS=print_stacktrace=1:halt_on_error=1${UBSAN_OPTIONS:+:$UBSAN_OPTIONS}

limits=0 trials=0 calls=0 findings=0
premake=$(third_party/setup.sh) || exit
"$premake" gmake2 > "$log-build.log" 2>&1 || { cat "$log-build.log"; exit 1; }
for configuration in $configurations; do
    make -C build/premake --no-print-directory -j"$(nproc)" "config=${configuration,,}" faults > "$log-build.log" 2>&1 ||
        { tail -n 40 "$log-build.log"; exit 1; }
    launcher=()
    [ "$configuration" != Tsan ] || ! setarch "$(uname -m)" -R true 2>/dev/null || launcher=(setarch "$(uname -m)" -R)
    echo "$configuration:"
    "${launcher[@]}" "build/$configuration/faults" "$@" < /dev/null 2>&1 | tee "$log-$configuration.log"
    status=${PIPESTATUS[0]}
    pattern='([0-9]+) limits, ([0-9]+) trials, ([0-9]+) failed calls, ([0-9]+) findings'
    if [[ "$(tail -n 1 "$log-$configuration.log")" =~ $pattern ]]; then
        limits=$((limits + BASH_REMATCH[1])) trials=$((trials + BASH_REMATCH[2]))
        calls=$((calls + BASH_REMATCH[3])) findings=$((findings + BASH_REMATCH[4]))
        [ "$status" = 0 ] || [ "${BASH_REMATCH[4]}" != 0 ] || findings=$((findings + 1))
    else
        echo "FINDING: the program ended with exit code $status"
        findings=$((findings + 1))
    fi
done

if [ $((limits + trials)) = 0 ]; then echo "FINDING: nothing was tried"; findings=$((findings + 1)); fi
echo "$limits limits, $trials trials, $calls failed calls, $findings findings in $SECONDS s"
[ "$findings" = 0 ]
