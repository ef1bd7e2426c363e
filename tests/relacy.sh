#!/usr/bin/env bash
# Checks memory orders with Relacy (tests/relacy/). Compiles parts of the library against it, and
# runs the suites. There a load returns any value that its memory order
# allows. Then the script weakens memory orders by one step, one at a time. A suite has to fail each
# time, or tests/relacy/survivors.md has to give a reason.
#
#     tests/relacy.sh                 every suite, and a sample of weakenings
#     tests/relacy.sh --full          every suite with five times the iterations, every weakening
#     tests/relacy.sh deque gate      these suites, and no weakening
#
# WEFT_JOBS is the number of parallel jobs (one for each processor). All output is in build/relacy/,
# the table of weakenings in weakenings.txt there. The last line has the figures.
set -uo pipefail
cd "$(dirname "$0")/.." || exit

full=
if [ "${1:-}" = --full ]; then full=yes; shift; fi
jobs=${WEFT_JOBS:-$(nproc)}
out=build/relacy
percent=${full:+500}

third_party/setup.sh relacy-dev python3 > /dev/null || { echo "third_party/setup.sh failed"; exit 1; }

# Without -fno-lifetime-dse the compiler removes what Relacy writes to an object before its
# constructor begins.
export WEFT_RELACY_FLAGS="-std=c++17 -O1 -w -fno-lifetime-dse -DWEFT_RELACY=1 -include relacy/env_relacy.h"
mkdir -p "$out"
echo '#include "relacy/env_relacy.h"' > "$out/precompiled.h"  # most of what each suite takes to compile
cat > "$out/Makefile" <<'MAKE'
O := build/relacy
FLAGS := $(filter-out -include relacy/env_relacy.h,$(WEFT_RELACY_FLAGS)) -Iinclude -Isource -Itests
SUITES := $(patsubst tests/relacy/%.cpp,%,$(wildcard tests/relacy/*.cpp))
all: $(SUITES:%=$(O)/%)
$(O)/precompiled.h.gch: tests/relacy/env_relacy.h tests/relacy.sh
	@g++ $(FLAGS) -x c++-header $(O)/precompiled.h -o $@
$(O)/%: tests/relacy/%.cpp $(O)/precompiled.h.gch
	@g++ $(FLAGS) -include $(O)/precompiled.h -MMD -MP -MF $@.d $< -o $@
-include $(wildcard $(O)/*.d)
MAKE

if ! make -s -f "$out/Makefile" -j"$jobs" > "$out/build.log" 2>&1; then
    tail -n 40 "$out/build.log"
    echo "the suites do not build"
    exit 1
fi
built=$SECONDS

suites=("$@")
if [ $# = 0 ]; then
    for file in tests/relacy/*.cpp; do suites+=("$(basename "$file" .cpp)"); done
fi

# Prints the table of one suite, with its name before each line. xargs runs several suites at once.
run_suite() { # suite, percent
    local status
    timeout --kill-after=10 1200 "build/relacy/$1" --iterations "$2" > "build/relacy/$1.log" 2>&1
    status=$?
    sed "s/^/$1 /" "build/relacy/$1.log"
    [ "$status" = 0 ] || echo "$1 FAILED: exit $status"
}
export -f run_suite

failed=0
# shellcheck disable=SC2016
printf '%s\n' "${suites[@]}" | xargs -P "$jobs" -I '{}' bash -c 'run_suite "$1" "$2"' - '{}' "${percent:-100}" |
    tee "$out/suites.txt"
failed=$(grep -c 'FAILED: exit' "$out/suites.txt")
read -r tests iterations <<< "$(awk '/ tests, [0-9]+ iterations$/ { t += $2; i += $4 } END { print t + 0, i + 0 }' "$out/suites.txt")"
[ "$tests" != 0 ] || failed=$((failed + 1))

weakenings="no weakening tried"
if [ $# = 0 ]; then
    rm -rf "$out"/weakened
    options=(--work "$out/weakened" --jobs "$jobs")
    [ -n "$full" ] || options+=(--sample)
    python3 tests/relacy/weaken.py "${options[@]}" 2>&1 | tee "$out/weakenings.txt"
    [ "${PIPESTATUS[0]}" = 0 ] || failed=$((failed + 1))
    weakenings=$(tail -n 1 "$out/weakenings.txt")
    rm -rf "$out"/weakened
fi

echo "built in $built s; ${#suites[@]} suites, $tests tests, $iterations iterations; $weakenings; $failed failed; $SECONDS s in all"
[ "$failed" = 0 ]
