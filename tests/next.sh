#!/usr/bin/env bash
# Builds the library with the scheduler of source/next/ and runs the test files that are listed in
# tests/next.txt, in Release and in Tsan. The last line has the sum of the test cases.
#
#     tests/next.sh                 all listed tests
#     tests/next.sh "wait*"         the arguments go to Catch2
#     WEFT_CONFIGS=Debug tests/next.sh
set -uo pipefail
cd "$(dirname "$0")/.." || exit
. tests/runs.sh
export TSAN_OPTIONS=halt_on_error=1:second_deadlock_stack=1${TSAN_OPTIONS:+:$TSAN_OPTIONS}

# shellcheck disable=SC2034
premake=$(third_party/setup.sh catch2) || { fail "third_party/setup.sh"; finish; }
configure next --core=next || finish
for configuration in ${WEFT_CONFIGS:-Release Tsan}; do
    # If a thread is preempted for a millisecond, a fair pick comes before the wait ends.
    [ $# != 0 ] || set -- "~wait: returns at once*"
    build "$configuration" unit_tests && run "$configuration" unit_tests "$@"
done
finish
