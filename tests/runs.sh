# shellcheck shell=bash
# Functions that configure, build and run test programs, and add up their results. They are for
# scripts that run in the root folder. These scripts set `premake`, and may set `under`: the words
# before a program, and `figures`: a pattern of the lines that are shown of a program that passed.
# Each result begins with the seconds since the start of the script.

export WEFT_ANNOUNCE_TESTS=1
# A full build takes less time (third_party/unity/unity.lua). With WEFT_UNITY= a small change does.
export WEFT_UNITY=${WEFT_UNITY-1}
seconds=${WEFT_TIMEOUT:-1200}
logs=build/test-logs
passed=0 failed=0 child='' variant='' under=''
figures=${figures:- distinct | \\| }  # the tables of the simulator and of the mutants

finish() {
    echo "took $SECONDS s"
    echo "$passed passed, $failed failed"
    [ "$failed" = 0 ]
    exit
}

# A summary line counts only as the last line of the whole run, so none is let through from a log.
show() { grep -vxE '[0-9]+ passed, [0-9]+ failed|running: .*' "$1" | tail -n "${shown:-200}"; }

fail() {
    failed=$((failed + 1))
    echo "[$SECONDS s] FAILED: $*"
}

# Builds what follows with these options of Premake, in build/VARIANT/, or in build/ without a
# variant.
configure() { # variant, options
    variant=$1
    shift
    # shellcheck disable=SC2154
    "$premake" gmake2 "$@" > "$logs/premake.log" 2>&1 && return
    show "$logs/premake.log"
    fail "premake5 gmake2 $*"
    return 1
}

build() { # configuration, program
    local log=$logs/${variant:+$variant-}$1-$2-build.log start=$SECONDS
    if make -C "build/$variant/premake" --no-print-directory -j"$(nproc)" "config=${1,,}" "$2" \
        > "$log" 2>&1; then
        echo "[$SECONDS s] ${variant:+$variant }$1 $2: built in $((SECONDS - start)) s"
        return
    fi
    show "$log"
    fail "${variant:+$variant }$1 $2 does not build"
    return 1
}

run() { # configuration, program, arguments
    local name="${variant:+$variant }$1 $2" log=$logs/${variant:+$variant-}$1-${2//\//-}.log
    local start=$SECONDS status counts test launcher=()
    local program=build/$variant/$1/$2
    [ -x "$program" ] || program=tests/$2.sh
    # ThreadSanitizer of g++ and clang cannot start with the address space randomisation of some
    # kernels.
    local no_aslr=(setarch "$(uname -m)" -R)
    [ "$1" != Tsan ] || ! "${no_aslr[@]}" true 2>/dev/null || launcher=("${no_aslr[@]}")
    if [ -n "$under" ]; then
        # shellcheck disable=SC2206
        launcher=($under) name+=" under ${under%% *}" log=${log%.log}-${under%% *}.log
    fi
    shift 2
    local tests=("$@") rest=$logs/rest attempt run_passed=0 run_failed=0
    : > "$log"
    for attempt in 1 2 3 4 5 6; do
        timeout --kill-after=10 "$seconds" "${launcher[@]}" "$program" "$@" < /dev/null > "$log.part" 2>&1 &
        child=$!
        wait "$child" 2>/dev/null
        status=$?
        child=
        [ -z "$under" ] || sed -i 's/\r$//' "$log.part"  # lines of a program for Windows
        counts=$(grep -xE '[0-9]+ passed, [0-9]+ failed' "$log.part" | tail -n 1)
        counts=${counts//[!0-9 ]/}
        read -r passed_now failed_now <<< "${counts:-0 0}"
        run_passed=$((run_passed + passed_now)) run_failed=$((run_failed + failed_now))
        cat "$log.part" >> "$log"
        # A test case was given up (tests/case_limit.h). Those after it have not run.
        if [ "$status" != 99 ] || [ "$attempt" = 6 ] || ! grep -q '^given up: ' "$log.part"; then break; fi
        "${launcher[@]}" "$program" --list-test-names-only "${tests[@]:-~[.]}" < /dev/null |
            tr -d '\r' | grep -vxFf <(sed -n 's/^running: //p' "$log") |
            sed 's/[\\",]/\\&/g' > "$rest"
        [ -s "$rest" ] || break
        set -- --input-file "$rest"
    done
    rm "$log.part"
    passed=$((passed + run_passed)) failed=$((failed + run_failed))
    if [ "$status" = 0 ] && [ "$run_failed" = 0 ] && [ "$run_passed" != 0 ]; then
        echo "[$SECONDS s] $name: $run_passed passed in $((SECONDS - start)) s"
        grep -E "$figures" "$log"
        return
    fi

    show "$log"
    test=$(sed -n 's/^running: \(.*\)/ in test case "\1"/p' "$log" | tail -n 1)
    if [ "$status" = 124 ] || [ "$((SECONDS - start))" -ge "$seconds" ]; then
        fail "$name hung$test: stopped after $seconds s"
    elif [ -z "$counts" ]; then
        fail "$name ended$test with exit code $status"
    elif [ "$run_failed" != 0 ]; then
        echo "[$SECONDS s] FAILED: $name: $run_passed passed and $run_failed failed"
    elif [ "$status" != 0 ]; then
        fail "$name ended with exit code $status although no test failed"
    else
        fail "$name ran no test"
    fi
}

# Runs a file of tests in node.
run_js() { # name, file
    local log=$logs/$1.log start=$SECONDS status
    timeout --kill-after=10 "$seconds" node --test --test-reporter=tap "$2" \
        > "$log" 2>&1 < /dev/null &
    child=$!
    wait "$child"
    status=$?
    child=
    run_passed=$(sed -n 's/^# pass //p' "$log" | tail -n 1)
    run_failed=$(sed -n 's/^# fail //p' "$log" | tail -n 1)
    passed=$((passed + ${run_passed:-0})) failed=$((failed + ${run_failed:-0}))
    if [ "$status" = 0 ] && [ "${run_passed:-0}" != 0 ]; then
        echo "[$SECONDS s] $1: $run_passed passed in $((SECONDS - start)) s"
        sed -n 's/^# /    /p' "$log" | grep -E "$figures"
        return
    fi
    show "$log"
    if [ "$status" = 124 ]; then fail "$1 hung: stopped after $seconds s"
    elif [ "${run_failed:-0}" != 0 ]; then echo "[$SECONDS s] FAILED: $1"
    elif [ "${run_passed:-0}" = 0 ]; then fail "$1 ran no test"
    else fail "$1 ended with exit code $status"
    fi
}

trap '[ -z "$child" ] || kill "$child"; exit 130' INT TERM
mkdir -p "$logs"
