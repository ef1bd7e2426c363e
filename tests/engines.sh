#!/usr/bin/env bash
# Tests and measures the adapters for physics engines that Debian does not have, with checkouts of
# yours: Jolt 5 and box2d 3. Nothing is downloaded, and nothing in a checkout is changed.
#
#     tests/engines.sh --jolt DIR --box2d DIR     one of them is enough
#
# Builds each engine in build/engines/, with CMake. Compiles the code of the adapter's page. Runs the
# engine's own tests on its own threads and on weft, and a program of ours that steps several worlds
# at the same time. Then measures scenes on both systems in interleaved rounds: the table has medians
# of steps a second, and the median of the rounds' ratios. Both systems must reach the same hash of
# all bodies. The last line has the sum.
#
# WEFT_ROUNDS is the number of rounds (9), WEFT_TIMEOUT the time limit of a program in seconds (1200),
# WEFT_JOBS the number of compilers at a time (one for each processor).
set -uo pipefail
cd "$(dirname "$0")/.." || exit
. tests/runs.sh

jolt='' box2d=''
while [ $# -gt 0 ]; do
    case $1 in
        --jolt) jolt=$(realpath -e "${2:-}") || exit ;;
        --box2d) box2d=$(realpath -e "${2:-}") || exit ;;
        *) jolt='' box2d=''; break ;;
    esac
    shift 2
done
if [ -z "$jolt$box2d" ]; then
    echo "usage: tests/engines.sh --jolt DIR --box2d DIR"
    echo "DIR is a checkout of github.com/jrouwe/JoltPhysics or github.com/erincatto/box2d."
    exit 2
fi
third_party/setup.sh cmake > /dev/null || { fail "third_party/setup.sh"; finish; }

rounds=${WEFT_ROUNDS:-9}
table=$logs/engines-table.txt
: > "$table"

build_engine() { # name, checkout
    local log=$logs/engines-$1-build.log start=$SECONDS
    rm -f "build/engines/$1"/{worlds,scenes,unit_tests_own,unit_tests_weft}  # of another checkout
    if { cmake -S "tests/engines/$1" -B "build/engines/$1" -DCMAKE_BUILD_TYPE=Release \
        "-D${1^^}=$2" && cmake --build "build/engines/$1" -j"${WEFT_JOBS:-$(nproc)}"; } \
        > "$log" 2>&1; then
        echo "[$SECONDS s] $1: built in $((SECONDS - start)) s"
        return
    fi
    show "$log"
    fail "$1 does not build"
    return 1
}

pass() {
    passed=$((passed + 1))
    echo "[$SECONDS s] $*"
}

# Runs a program and counts it as one test. `expected` must be in its output.
try() { # name, expected, program, arguments
    local name=$1 expected=$2 log=$logs/engines-${1//[ \/]/-}.log
    shift 2
    timeout --kill-after=10 "$seconds" "$@" < /dev/null > "$log" 2>&1 &
    child=$!
    if wait "$child" && grep -qE "$expected" "$log"; then
        pass "$name: $(grep -E "$expected" "$log" | tail -n 1)"
    else
        show "$log"
        fail "$name"
    fi
    child=
}

median() { sort -g | awk '{ v[NR] = $1 } END { print (v[int((NR + 1) / 2)] + v[int(NR / 2) + 1]) / 2 }'; }

# Measures both systems in turn. A function `step` runs one system and prints steps a second and a
# hash.
measure() { # engine, scene, threads
    local round system rate hash hashes='' order work
    work=$(mktemp -d)
    for ((round = 0; round < rounds; ++round)); do
        order='own weft'
        [ $((round % 2)) = 0 ] || order='weft own'
        for system in $order; do
            read -r rate hash <<< "$(step "$system" "$2" "$3")"
            echo "${rate:-0}" >> "$work/$system"
            hashes+="${hash:-none} "
        done
    done
    if [ "$(tr ' ' '\n' <<< "$hashes" | grep . | sort -u | wc -l)" = 1 ] && [ "${hashes%% *}" != none ]; then
        pass "$1 $2, $3 threads: $((2 * rounds)) runs reached hash ${hashes%% *}"
    else
        fail "$1 $2, $3 threads: hashes $hashes"
    fi
    printf '| %s | %s | %s | %.0f | %.0f | %.2f |\n' "$1" "$2" "$3" "$(median < "$work/own")" \
        "$(median < "$work/weft")" \
        "$(paste "$work/own" "$work/weft" | awk '{ print ($1 > 0 ? $2 / $1 : 0) }' | median)" >> "$table"
    rm -r "$work"
}

# Compiles the code of the adapter's page.
page() { # engine, its folder of headers, headers
    try "$1 page" '^[1-9][0-9]* passed, 0 failed$' tests/readme/run.sh --pages "third_party/adapters/$1/README.md" \
        --headers "${@:3}" --options -Ithird_party/adapters -isystem "$2"
}

if [ -n "$jolt" ] && build_engine jolt "$jolt"; then
    programs=build/engines/jolt
    page jolt "$jolt" jolt/jolt_job_system.h Jolt/Core/TempAllocator.h Jolt/Physics/PhysicsSystem.h
    try "jolt tests, own threads" 'test cases:.* 0 failed' "$programs/unit_tests_own"
    for threads in 1 2 4; do
        try "jolt tests on weft, $threads threads" 'test cases:.* 0 failed' \
            env "WEFT_THREADS=$threads" "$programs/unit_tests_weft"
    done
    try "jolt worlds" '^[1-9][0-9]* passed, 0 failed$' "$programs/worlds"
    step() { # system, scene, threads
        WEFT_THREADS=$3 timeout "$seconds" "build/engines/jolt/performance_$1" "-s=$2" -q=Discrete "-t=$3" -i=200 |
            sed -n 's/^Discrete, [0-9]*, \(.*\), \(0x.*\)/\1 \2/p'
    }
    for scene in ConvexVsMesh Pyramid CharacterVirtual; do
        for threads in 1 2; do measure Jolt "$scene" "$threads"; done
    done
fi

if [ -n "$box2d" ] && build_engine box2d "$box2d"; then
    programs=build/engines/box2d
    page box2d "$box2d/include" box2d/box2d_tasks.h box2d/box2d.h
    if [ -x "$programs/unit_tests_own" ]; then
        try "box2d tests, own threads" '^All Box2D tests passed' "$programs/unit_tests_own"
        for threads in 1 2 4; do
            try "box2d tests on weft, $threads threads" '^All Box2D tests passed' \
                env "WEFT_THREADS=$threads" "$programs/unit_tests_weft"
        done
    else
        echo "box2d before 3.2 has no threads of its own: its tests and two threads are left out"
    fi
    try "box2d worlds" '^[1-9][0-9]* passed, 0 failed$' "$programs/worlds"
    step() { # system, scene, threads
        timeout "$seconds" build/engines/box2d/worlds "$1" "$3" 300
    }
    for threads in 1 2; do
        [ -x "$programs/unit_tests_own" ] || [ "$threads" = 1 ] || continue
        measure box2d pyramids "$threads"
    done
    if [ -x "$programs/scenes" ]; then
        step() { # system, scene, threads
            timeout "$seconds" build/engines/box2d/scenes "$1" "$3" "$2" 200
        }
        for scene in joint_grid large_pyramid many_pyramids rain smash spinner tumbler; do
            for threads in 1 2; do measure box2d "$scene" "$threads"; done
        done
    else
        echo "box2d has no b2World_GetStateHash or no shared/benchmarks.h: its own scenes are left out"
    fi
fi

echo "| engine | scene | threads | own, steps a second | weft, steps a second | weft / own |"
echo "|---|---|---|---|---|---|"
cat "$table"
finish
