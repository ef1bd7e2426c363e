#!/usr/bin/env bash
# Explores models of the protocols (tests/spin/*.pml) exhaustively with Spin, and shows that each finds seeded bugs.
#
#     tests/spin.sh                  all models within small bounds, and all seeded bugs
#     tests/spin.sh --full           larger bounds too
#     tests/spin.sh [--full] wait    one model
#
# The rows say model, claim, bounds, states, depth, result and seconds. Claim `safety`: no assertion is violated and nobody
# is left behind (invalid end state). Other claims are the model's ltl formulas, checked under weak fairness. A row fails if
# the search was not exhaustive: a limit of depth or memory, states that were hashed away, no state at all. It fails too if a
# formula is never put to the test, and a model fails if no row reaches some line of a process. A seeded bug (-DBUG_...) has to be
# caught. Claim `follow`: what happened to the counter in runs of the real code (tests/spin/trace.cpp) can happen in the model.
# The last line but one is the sum of states, and the last how many rows passed.
set -uo pipefail
cd "$(dirname "$0")/.." || exit

full=
if [ "${1:-}" = --full ]; then full=yes; shift; fi
only="$*"
cache=build/spin
passed=0 failed=0 states=0

row() { printf '%-8s | %-8s | %-52s | %9s | %5s | %-66s | %s\n' "$@"; }

fail() { # what; the row's model, claim and bounds are in variables
    failed=$((failed + 1))
    row "$model" "$claim" "$bounds" "${stored:--}" "${depth:--}" "FAILED: $1" "$((SECONDS - start))"
    [ ! -s "${2:-}" ] || tail -n 20 "$2"
}

# Makes $pan, the verifier of a model with these definitions. It is kept under the checksum of what it is made of.
build() { # definitions
    local source=tests/spin/$model.pml work options=(-O2 -w -DMEMLIM=12000)
    [ "${bounds#BUG_}" = "$bounds" ] || options=(-O0 -w -DMEMLIM=12000)  # it is found quickly
    if [ "$claim" = safety ]; then options+=(-DSAFETY -DNOCLAIM); else options+=(-DNFAIR=3); fi
    [ "${bounds#full: }" = "$bounds" ] || options+=(-DCOLLAPSE)  # exact, and needs less memory
    work=$cache/$( (cat "$source"; spin -V; echo "$* ${options[*]}") | md5sum | cut -c1-32)
    pan=$work/pan
    [ ! -x "$pan" ] || return 0
    mkdir -p "$work"
    (cd "$work" && spin -a "$@" "../../../$source" && gcc "${options[@]}" -o pan.new pan.c && mv pan.new pan && rm -f pan.?) \
        > "$work/log" 2>&1 || { cat "$work/log"; return 1; }
}

# Runs $pan. Sets errors, stored, depth, and problem if the search was not exhaustive.
explore() {
    local arguments=(-m100000)
    [ "$claim" = safety ] || arguments+=(-a -f -N "$claim")
    log=$(dirname "$pan")/out
    (cd "$(dirname "$pan")" && ./pan "${arguments[@]}") > "$log" 2>&1 < /dev/null
    errors=$(sed -n 's/.*State-vector .* errors: \([0-9]*\).*/\1/p' "$log")
    depth=$(sed -n 's/.*depth reached \([0-9]*\),.*/\1/p' "$log")
    stored=$(awk '/ states, stored/ { printf "%.0f", $1 }' "$log")
    problem=
    if [ -z "$errors" ]; then problem="the verifier did not finish"
    elif ! grep -q '^Full statespace search for:' "$log"; then problem="not every state was stored"
    elif grep -qiE 'max search depth too small|out of memory|memlim|hash.?compact|bit statespace' "$log"; then
        problem="the search was truncated"
    elif [ "${stored:-0}" = 0 ]; then problem="no state"
    fi
}

# What the log says was not reached in processes or claims, as "name line"; without the lines of an inline, which may stand
# in several places, some of which need larger bounds.
unreached() { # proctype|claim
    local inlined
    inlined=$(awk '/^inline /, /^}/ { printf " %d ", NR }' "tests/spin/$model.pml")
    awk -v kind="$1" -v inlined="$inlined" '/^unreached in/ { name = ($3 == kind || (kind == "proctype" && $3 == "init")) ? $NF : "" }
        name != "" && / state / && !/"-end-"/ && match($0, /:[0-9]+, state/) {
            line = substr($0, RSTART + 1, RLENGTH - 8)
            if (kind == "claim" || !index(inlined, " " line " ")) print name, line }' "$log" | sort -u
}

selected() { [ -z "$only" ] || [[ " $only " = *" $model "* ]]; }

check() { # model claim definitions...
    model=$1 claim=$2
    shift 2
    selected || return
    bounds=${*//-D/}
    [ -z "$larger" ] || bounds="full: $bounds"
    errors='' stored='' depth=''
    start=$SECONDS
    build "$@" || { fail "does not build"; return; }
    explore
    if [ -n "$problem" ]; then fail "$problem" "$log"; return; fi
    if [ "$errors" != 0 ]; then fail "$(sed -n 's/^pan:1: //p' "$log")" "$log"; return; fi
    if [ "$claim" = safety ]; then
        unreached proctype > "$reached/$model-$((passed + failed))"
    elif [ -n "$(unreached claim)" ]; then
        fail "the formula was never put to the test" "$log"
        return
    fi
    passed=$((passed + 1)) states=$((states + stored))
    row "$model" "$claim" "$bounds" "$stored" "$depth" ok "$((SECONDS - start))"
}

bug() { # model claim name definitions...
    model=$1 claim=$2
    local name=$3
    shift 3
    selected || return
    bounds="BUG_$name${*:+ ${*//-D/}}"
    errors='' stored='' depth=''
    start=$SECONDS
    grep -q "BUG_$name\b" "tests/spin/$model.pml" || { fail "no such bug"; return; }
    build "-DBUG_$name" "$@" || { fail "does not build"; return; }
    explore
    found=$(sed -n 's/^pan:1: \(.*\) (at depth.*/\1/p' "$log")
    if [ -z "$found" ]; then fail "ESCAPED" "$log"; return; fi
    passed=$((passed + 1))
    row "$model" "$claim" "$bounds" "$stored" "$depth" "caught: ${found:0:58}" "$((SECONDS - start))"
}

# Every line of a model was reached in one row at least.
covered() {
    local rows
    model=$1 claim=safety bounds="all lines" stored='' depth='' start=$SECONDS
    selected || return
    rows=("$reached/$model-"*)
    [ -e "${rows[0]}" ] || { fail "no row"; return; }
    sort "${rows[@]}" | uniq -c | awk -v rows="${#rows[@]}" '$1 == rows { print $2, $3 }' > "$reached/never"
    if [ -s "$reached/never" ]; then
        fail "never reached: $(tr '\n' ',' < "$reached/never")"
    else
        passed=$((passed + 1))
        row "$model" "$claim" "$bounds" - - "ok: each reached in some row" 0
    fi
}

# Conformance: each of the runs of the real code in build/.../traces.h is a run of the model (the names are in wait.pml).
# With a mutant (tests/mutants/NAME.patch) at least one must not be.
follow() { # runs, mutant
    local runs=$1 mutant=${2:-} source work i accepted=0 rejected=0
    model=wait claim=follow stored='' depth=''
    selected || return
    bounds="$runs runs${mutant:+ of mutant $mutant}"
    start=$SECONDS work=$PWD/$cache/follow${mutant:+-$mutant} log=$PWD/$cache/follow.log
    rm -rf "$work"
    mkdir -p "$work"
    cp -r source include tests "$work"
    source=tests/spin/wait.pml
    (cd "$work" && { [ -z "$mutant" ] || patch -s -F0 -p1 < "tests/mutants/$mutant.patch"; } &&
        g++ -std=c++17 -O1 -DNDEBUG -DWEFT_SIMULATOR=1 -include tests/simulator/env_simulator.h -Iinclude -Isource -Itests \
            -o trace tests/spin/trace.cpp tests/simulator/virtual_threads.cpp source/mechanisms/counter_waiting.cpp \
            source/platform/memory.cpp -lboost_context &&
        timeout 60 ./trace "$runs" > traces.h && spin -a -DTRACES=1 "$source" &&
        gcc -O1 -w -DSAFETY -I. -o pan pan.c) > "$log" 2>&1 || { fail "does not build, or a run failed" "$log"; return; }
    for ((i = 0; i < runs; i++)); do
        (cd "$work" && TRACE=$i ./pan -m100000) > "$log" 2>&1
        if grep -q '^pan:1: end state in claim reached' "$log"; then accepted=$((accepted + 1))
        elif grep -q 'errors: 0' "$log" && ! grep -q 'max search depth too small' "$log"; then rejected=$((rejected + 1))
        else fail "run $i ends otherwise" "$log"; return
        fi
    done
    if [ -z "$mutant" ] && [ "$rejected" != 0 ]; then fail "$rejected runs of the code are none of the model"; return; fi
    if [ -n "$mutant" ] && [ "$rejected" = 0 ]; then fail "ESCAPED"; return; fi
    passed=$((passed + 1))
    row "$model" "$claim" "$bounds" - - "${mutant:+caught: }$accepted accepted, $rejected rejected" "$((SECONDS - start))"
}

third_party/setup.sh spin gcc patch > /dev/null || { echo "third_party/setup.sh failed"; echo "0 passed, 1 failed"; exit 1; }
reached=$(mktemp -d)
trap 'rm -rf "$reached"' EXIT
mkdir -p "$cache"

row model claim bounds states depth result seconds

larger=
check wait safety -DFIBERS=2 -DDECREMENTS=2 -DADDERS=1
check wait safety -DFIBERS=2 -DDECREMENTS=2 -DADDERS=1 -DHOLDER=1
check wait goes_on -DFIBERS=2 -DDECREMENTS=1 -DADDERS=1
bug wait safety REGISTER_BEFORE_LEAVING
bug wait safety ZERO_WHILE_SORTING
bug wait safety FINISHER_LOOKS_AGAIN
bug wait goes_on SORTER_FORGETS_NEW
bug wait safety ADD_WITHOUT_NOTE -DHOLDER=1
follow 100
follow 40 counter_without_notes
follow 40 sorter_forgets_new_waiters

check reuse safety -DROUNDS=3 -DTASKS=3 -DWORKERS=2
check reuse ends -DROUNDS=3 -DTASKS=2 -DWORKERS=2
bug reuse safety NEXT_AFTER_READY
bug reuse safety ZERO_WHILE_SORTING
bug reuse safety FINISHER_LOOKS_AGAIN
bug reuse safety LIST_TAKEN_LATER

check deque safety -DITEMS=4 -DBURST=2 -DTHIEVES=2
bug deque safety POP_WITHOUT_CAS
bug deque safety POP_READS_TOP_FIRST
bug deque safety STEAL_READS_BOTTOM_FIRST
bug deque safety RESERVE_ONE_SHORT
bug deque safety GROW_LOSES_ONE

check sleep safety -DWORKERS=2 -DPOSTERS=2 -DCHILDREN=1
check sleep safety -DWORKERS=2 -DPOSTERS=2 -DCHILDREN=0 -DRENDEZVOUS=1
check sleep safety -DWORKERS=2 -DPOSTERS=1 -DCHILDREN=1 -DRENDEZVOUS=1
check sleep safety -DWORKERS=2 -DPOSTERS=2 -DCHILDREN=1 -DEAGER=1
check sleep all_run -DWORKERS=2 -DPOSTERS=2 -DCHILDREN=1
check sleep all_run -DWORKERS=2 -DPOSTERS=2 -DCHILDREN=0 -DRENDEZVOUS=1
check sleep all_run -DWORKERS=2 -DPOSTERS=2 -DCHILDREN=0 -DEAGER=1
bug sleep safety NO_LAST_LOOK
bug sleep all_run NO_LAST_LOOK
bug sleep safety WAKE_BEFORE_PUBLISH
bug sleep safety LAST_SEARCHER_SILENT -DRENDEZVOUS=1 -DCHILDREN=0

check pool safety -DWORKERS=2 -DFIBERS=1 -DTASKS=1 -DPINNED=1
check pool safety -DWORKERS=2 -DFIBERS=1 -DTASKS=2 -DPOSTED=1 -DPINNED=0
check pool safety -DWORKERS=2 -DFIBERS=2 -DTASKS=3 -DPINNED=0
check pool safety -DWORKERS=2 -DFIBERS=2 -DTASKS=2 -DPINNED=0 -DCACHES=1
check pool all_run -DWORKERS=2 -DFIBERS=1 -DTASKS=1 -DPINNED=1
check pool all_run -DWORKERS=2 -DFIBERS=1 -DTASKS=2 -DPOSTED=1 -DPINNED=0
bug pool safety FREE_WAKES_NOBODY
bug pool all_run FREE_WAKES_NOBODY
bug pool safety NO_LOOK_AFTER_STARVED
bug pool safety STARVED_COUNTS_AS_SEARCHER
bug pool safety SLOT_TAKEN_WITHOUT_EXCHANGE -DFIBERS=2 -DTASKS=2 -DPINNED=0 -DCACHES=1

check shutdown safety -DWORKERS=2 -DVISITORS=1 -DCHILDREN=0
check shutdown safety -DWORKERS=2 -DVISITORS=1 -DCHILDREN=1 -DMAIN=1
check shutdown all_home -DWORKERS=2 -DVISITORS=1 -DCHILDREN=1 -DMAIN=1
bug shutdown safety CLOSE_WITHOUT_SECOND_LOOK
bug shutdown safety GUESTS_IGNORED
bug shutdown safety GUEST_LEAVES_SILENTLY
bug shutdown all_home WAKES_ONLY_ITSELF
bug shutdown safety SUBMITTED_SUMMED_FIRST -DCHILDREN=3 -DMAIN=1

if [ -n "$full" ]; then
    larger=yes
    check wait safety -DFIBERS=3 -DDECREMENTS=1 -DADDERS=1
    check wait goes_on -DFIBERS=2 -DDECREMENTS=2 -DADDERS=1
    check reuse safety -DROUNDS=4 -DTASKS=3 -DWORKERS=3
    check pool safety -DWORKERS=2 -DFIBERS=2 -DTASKS=2 -DPINNED=1
    check shutdown safety -DWORKERS=2 -DVISITORS=1 -DCHILDREN=3 -DMAIN=1
    check shutdown all_home -DWORKERS=2 -DVISITORS=1 -DCHILDREN=0
fi

for model in wait reuse deque sleep pool shutdown; do covered "$model"; done
[ $((passed + failed)) != 0 ] || { echo "no model is called $only"; failed=1; }
echo "$states states without a finding, in $SECONDS s"
echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
