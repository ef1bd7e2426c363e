#!/usr/bin/env bash
# Explores all states of models of the protocols (tests/spin/*.pml) with Spin, and shows that each
# model finds seeded bugs.
#
#     tests/spin.sh                  all models within small bounds, and all seeded bugs
#     tests/spin.sh --quick          without ltl formulas that hold, without rows marked `big`, and with
#                                    fewer recorded runs, none of which is of code with a seeded bug
#     tests/spin.sh --full           also larger bounds
#     tests/spin.sh [--full] wait    one model, or several
#
# A row has model, claim, bounds, states, depth, result and seconds.
#
#     safety     no assertion is violated, and no process is stuck (invalid end state)
#     follow     recorded runs of the code (tests/spin/*_trace.cpp) are possible in the model
#     others     an ltl formula of the model, checked with weak fairness
#
# A row fails if the search was not exhaustive: a limit of depth or memory, hashed states, no state.
# It also fails if a formula was never evaluated. A model fails if no row reaches some line of a
# process. Each seeded bug (-DBUG_...) must be caught. The last line but one has the sum of the
# states, and the last line the numbers of rows that passed and failed.
set -uo pipefail
cd "$(dirname "$0")/.." || exit

form=
case ${1:-} in --full | --quick) form=$1; shift ;; esac
only="$*"
cache=build/spin
passed=0 failed=0 states=0

third_party/setup.sh spin gcc patch > /dev/null || { echo "third_party/setup.sh failed"; echo "0 passed, 1 failed"; exit 1; }
mkdir -p "$cache"

row() { printf '%-8s | %-8s | %-52s | %9s | %5s | %-66s | %s\n' "$@"; }

# Runs several models at once, each with a run of this script. The slowest models begin first.
if [ $# != 1 ]; then
    [ $# != 0 ] || set -- sleep wait deque
    row model claim bounds states depth result seconds
    export form cache
    # shellcheck disable=SC2016
    printf '%s\n' "$@" | xargs -P "${WEFT_JOBS:-$(nproc)}" -I '{}' sh -c \
        'tests/spin.sh $form "$1" > "$cache/rows-$1" 2>&1; grep -vE "^[0-9]+ (states|passed)" "$cache/rows-$1"' - '{}'
    for only in "$@"; do
        tail -n 2 "$cache/rows-$only"
    done | awk -v models=$# -v seconds="$SECONDS" '
        / states without a finding/ { states += $1 }
        / passed, / { passed += $1; failed += $3; models-- }
        END { failed += models
              printf "%.0f states without a finding, in %d s\n%d passed, %d failed\n", states, seconds, passed, failed; exit failed != 0 }'
    exit
fi

fail() { # what; the row's model, claim and bounds are in variables
    failed=$((failed + 1))
    row "$model" "$claim" "$bounds" "${stored:--}" "${depth:--}" "FAILED: $1" "$((SECONDS - start))"
    [ ! -s "${2:-}" ] || tail -n 20 "$2"
}

# Makes $pan, the verifier of a model with these definitions. The checksum of its sources is the
# name under which it is kept.
build() { # definitions
    local source=tests/spin/$model.pml work traces=/dev/null options=(-O2 -w -DMEMLIM=12000)
    [ "${bounds#BUG_}" = "$bounds" ] || options=(-O0 -w -DMEMLIM=12000)  # it is found quickly
    case $claim in
        safety) options+=(-DSAFETY -DNOCLAIM) ;;
        follow) options+=(-DSAFETY) traces=$cache/$model-traces.h ;;
        *) options+=(-DNFAIR=3) ;;
    esac
    [ "${bounds#full: }" = "$bounds" ] || options+=(-DCOLLAPSE)  # exact, and needs less memory
    work=$cache/$( (cat "$source" tests/spin/follow.pml "$traces"; spin -V; echo "$* ${options[*]}") | md5sum | cut -c1-32)
    pan=$work/pan
    [ ! -x "$pan" ] || return 0
    mkdir -p "$work"
    cp "$traces" "$work/traces.h"
    (cd "$work" && spin -a "$@" "../../../$source" && gcc "${options[@]}" -o pan.new pan.c && mv pan.new pan && rm -f pan.?) \
        > "$work/log" 2>&1 || { cat "$work/log"; return 1; }
}

# Runs $pan. Sets errors, stored and depth. Sets problem if the search was not exhaustive.
explore() {
    local arguments=(-m100000)
    [ "$claim" = safety ] || [ "$claim" = follow ] || arguments+=(-a -f -N "$claim")
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

# Prints what the log lists as not reached in processes or claims, as "name line". Of processes it
# prints only lines of the process itself. The steps of an inline may occur in several places, and
# some of these need larger bounds.
unreached() { # proctype|claim
    local inside
    inside=$(awk '/^(proctype|init) /, /^}/ { printf " %d ", NR }' "tests/spin/$model.pml")
    awk -v kind="$1" -v file="/$model.pml:" -v inside="$inside" '
        /^unreached in/ { name = ($3 == kind || (kind == "proctype" && $3 == "init")) ? $NF : "" }
        name != "" && / state / && !/"-end-"/ && match($0, /:[0-9]+, state/) {
            line = substr($0, RSTART + 1, RLENGTH - 8)
            if (kind == "claim" || (index($0, file) && index(inside, " " line " "))) print name, line }' "$log" | sort -u
}

selected() { [ "$only" = "$model" ]; }

check() { # [big] model claim definitions...
    if [ "$1" = big ]; then  # more than ten million states
        shift
        [ "$form" != --quick ] || return
    fi
    model=$1 claim=$2
    shift 2
    selected || return
    [ "$form" != --quick ] || [ "$claim" = safety ] || return
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

# Checks that at least one row reached each line of the model.
covered() {
    local rows
    model=$only claim=safety bounds="all lines" stored='' depth='' start=$SECONDS
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

# Makes $program from production sources, with the patch of a mutant if there is one. It prints the
# traces of a model. The checksum of its sources is the name under which an object is kept.
trace_program() { # mutant
    local mutant=$1 tree=$cache/tree-$model${1:+-$1} headers object objects=() missing=() sources file
    local options=(-std=c++17 -O1 -DNDEBUG -DWEFT_SIMULATOR=1 -include tests/simulator/env_simulator.h -Iinclude -Isource -Itests)
    rm -rf "$tree"
    mkdir -p "$tree" "$cache/objects"
    cp -r source include tests "$tree"
    [ -z "$mutant" ] || patch -s -F0 -p1 -d "$tree" < "$(find tests/mutants -name "$mutant.patch")" || return 1
    case $model in  # by itself, or the whole scheduler
        wait) sources='source/core/counters.cpp source/platform/memory.cpp' ;;
        deque) sources='source/platform/memory.cpp' ;;
        *) sources=$(cd "$tree" && ls tests/simulator/stack_memory.cpp tests/support/pages_posix.cpp source/*/*.cpp source/*/*/*.cpp | grep -vE \
            '/platform/(env_production|parker|(parker|thread|fork_mark|cpu_quota|off_cpu|signal_stack|stack_memory)_[a-z_]*)\.cpp|_(windows|pthread|emscripten)\.cpp|source/(topology|io)/')
            # Without mutants, one file takes less time. The first line is for the object's name.
            if [ "$form" = --quick ]; then
                # shellcheck disable=SC2086
                (cd "$tree" && echo "// $(cat $sources | md5sum)" && printf '#include "%s"\n' $sources) \
                    > "$tree/scheduler.cpp"
                sources=scheduler.cpp
            fi ;;
    esac
    sources+=" tests/spin/traces.cpp tests/spin/${model}_trace.cpp tests/simulator/virtual_threads.cpp"
    headers=$(cd "$tree" && find source include tests/simulator -name '*.h' | sort | xargs cat | md5sum; g++ --version)
    for file in $sources; do
        object=$PWD/$cache/objects/$( (cd "$tree" && { cat "$file"; [ "${file#tests/spin}" = "$file" ] || cat tests/spin/*.h; }
            echo "$file $headers ${options[*]}") | md5sum | cut -c1-32).o
        objects+=("$object")
        [ -e "$object" ] || missing+=("$file" "$object")
    done
    [ "${#missing[@]}" = 0 ] || (cd "$tree" && printf '%s\n' "${missing[@]}" | xargs -P2 -n2 \
        sh -c 'g++ '"${options[*]}"' -c "$0" -o "$1.$$" && mv "$1.$$" "$1"') || return 1
    program=$PWD/$tree/trace
    g++ -o "$program" "${objects[@]}" -lboost_context
}

# Conformance: each of the runs of the real code must be a run of the model (follow.pml). With a
# mutant (NAME.patch in tests/mutants/) at least one run must not be. The definitions of the model
# are the arguments of the program.
follow() { # model runs mutant definitions...
    model=$1 claim=follow
    local runs=$2 mutant=$3 log=$PWD/$cache/$model-follow.log accepted refused
    shift 3
    selected || return
    if [ "$form" = --quick ]; then
        [ -z "$mutant" ] || return
        runs=$((runs / 4))
    fi
    bounds="$runs runs${mutant:+ of mutant $mutant}${*:+ ${*//-D/}}"
    errors='' stored='' depth=''
    start=$SECONDS
    { trace_program "$mutant" && timeout 60 "$program" "$runs" "$mutant" "$@" > "$cache/$model-traces.h"; } > "$log" 2>&1 ||
        { fail "does not build, or a run failed" "$log"; return; }
    [ "$(sed -n 's/^#define TRACE_COUNT //p' "$cache/$model-traces.h")" = "$runs" ] || { fail "not so many different runs"; return; }
    build "-DTRACES=$runs" "$@" || { fail "does not build"; return; }
    explore
    if [ -n "$problem" ] || [ "$errors" != 0 ]; then fail "${problem:-$(sed -n 's/^pan:1: //p' "$log")}" "$log"; return; fi
    read -r accepted refused < <(sed -n 's/^traces: \([0-9]*\) accepted, \([0-9]*\) refused$/\1 \2/p' "$log")
    if [ $((${accepted:-0} + ${refused:-0})) != "$runs" ]; then fail "not all runs were followed" "$log"; return; fi
    if [ -z "$mutant" ] && [ "$refused" != 0 ]; then fail "$refused runs of the code are none of the model"; return; fi
    if [ -n "$mutant" ] && [ "$refused" = 0 ]; then fail "ESCAPED"; return; fi
    passed=$((passed + 1))
    row "$model" "$claim" "$bounds" "$stored" "$depth" "${mutant:+caught: }$accepted accepted, $refused refused" "$((SECONDS - start))"
}

reached=$(mktemp -d)
trap 'rm -rf "$reached"' EXIT

larger=
check wait safety
check wait safety -DHOLDER=1
check wait goes_on
bug wait safety REGISTER_BEFORE_LEAVING
bug wait safety PUSH_WHILE_LOCKED
bug wait safety LOWER_WHILE_LOCKED
bug wait safety UNLOCK_STORES
bug wait safety EAGER_FORGOTTEN -DHOLDER=1
bug wait safety FINISHER_LOOKS_AGAIN
follow wait 300 ''
follow wait 300 push_locked
follow wait 300 lower_unlocked

check deque safety -DITEMS=4 -DBURST=2 -DTHIEVES=2
bug deque safety POP_WITHOUT_CAS
bug deque safety POP_ONLY_WITHOUT_CAS
bug deque safety POP_READS_TOP_FIRST
bug deque safety STEAL_READS_BOTTOM_FIRST
bug deque safety RESERVE_ONE_SHORT
bug deque safety GROW_LOSES_ONE
follow deque 300 ''
follow deque 1000 deque_pop_without_cas
follow deque 30 deque_grow_loses_one

check big sleep safety -DPOSTERS=2 -DCHILDREN=0
check sleep safety -DPOSTERS=2 -DCHILDREN=0 -DRENDEZVOUS=1
check sleep safety -DPOSTERS=1 -DCHILDREN=1
check sleep safety -DPOSTERS=1 -DCHILDREN=1 -DRENDEZVOUS=1
check sleep all_run -DPOSTERS=1 -DCHILDREN=1
check sleep all_run -DPOSTERS=2 -DCHILDREN=0 -DRENDEZVOUS=1
bug sleep safety NO_LAST_LOOK
bug sleep all_run NO_LAST_LOOK -DPOSTERS=1
bug sleep safety BIT_FIRST
bug sleep safety WAKE_BEFORE_PUBLISH
bug sleep safety LAST_SEARCHER_SILENT -DRENDEZVOUS=1 -DCHILDREN=0
follow sleep 300 ''
follow sleep 1000 sleep_unchecked
follow sleep 30 idle_bit_first

if [ "$form" = --full ]; then
    larger=yes
    check wait safety -DFIBERS=3 -DDECREMENTS=1
    check sleep safety -DPOSTERS=2 -DCHILDREN=1
    check sleep safety -DWORKERS=3 -DPOSTERS=1 -DCHILDREN=1
    check sleep all_run -DPOSTERS=2 -DCHILDREN=0
fi

covered
echo "$states states without a finding, in $SECONDS s"
echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
