#!/usr/bin/env bash
# Builds the library with the scheduler of source/next/ and runs the tests that tests/next.txt lists,
# in Release, the allocation gate, and 200 schedules of each model of the simulator. The last line
# has the sum of the test cases and models.
#
#     tests/next.sh                              all listed tests, and the models
#     tests/next.sh "wait*"                      only tests: the arguments go to Catch2
#     WEFT_CONFIGS="Debug Tsan" tests/next.sh    in these configurations (Tsan: 10 minutes)
set -uo pipefail
cd "$(dirname "$0")/.." || exit
. tests/runs.sh
export TSAN_OPTIONS=halt_on_error=1:second_deadlock_stack=1${TSAN_OPTIONS:+:$TSAN_OPTIONS}

# shellcheck disable=SC2034
premake=$(third_party/setup.sh catch2) || { fail "third_party/setup.sh"; finish; }
left_out=$(sed -n '/^~model /d; s/[\\",]/\\&/g; s/^~\(.*\)/~"\1"/p' tests/next.txt | tr -d '\n')
models=$#
configure next --core=next || finish
for configuration in ${WEFT_CONFIGS:-Release}; do
    [ $# != 0 ] || set -- "$left_out"
    build "$configuration" unit_tests && run "$configuration" unit_tests "$@"
done
[ "$models" != 0 ] || { build Release allocation_gate && run Release allocation_gate; }
[ "$models" != 0 ] || run Release simulate --next 200
finish
