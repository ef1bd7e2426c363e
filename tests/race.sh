#!/usr/bin/env bash
# The race finder finds a race of two tasks that ran on one worker, and none where there is none (samples/race_finder).
set -uo pipefail
cd "$(dirname "$0")/.." || exit

premake=$(third_party/setup.sh) || exit
mkdir -p build/test-logs
log=build/test-logs/race.log
{ "$premake" --race-finder gmake2 &&
    make -C build/race-finder/premake -j"$(nproc)" config=tsan race_finder; } > "$log" 2>&1 || { tail -n 30 "$log"; exit 1; }

sample=(setarch "$(uname -m)" -R build/race-finder/Tsan/race_finder)
failed=0
if ! "${sample[@]}" --no-race > "$log" 2>&1; then cat "$log"; failed=$((failed + 1)); fi
if "${sample[@]}" > "$log" 2>&1 || ! grep -q 'SUMMARY: ThreadSanitizer: data race .* in \(Burn\|Bite\)' "$log"; then
    cat "$log"
    failed=$((failed + 1))
fi
echo "$((2 - failed)) passed, $failed failed"
[ "$failed" = 0 ]
