#!/usr/bin/env bash
# Looks at a deadlock with the commands of third_party/debugger, in gdb and in lldb: in a live
# process, in a core dump, and in a program without symbols. The last line has the sum.
#
#     tests/debuggers.sh [--full]
#
# The program is tests/debuggers/deadlock.cpp. The commands have to name the circle of five tasks,
# the counter that nobody will lower, and the tasks and locks of two more circles. They have to show
# the right functions in the stacks. weft.natvis, for Visual Studio, may name only what exists. --full
# also looks at the Debug build, at clang's, at a shared library as weft builds it, and at a program
# for aarch64 in the emulator qemu.
#
# If lldb 14 cannot be installed, its part is skipped. So is the core dump of the kernel where the
# kernel gives core dumps to a program (/proc/sys/kernel/core_pattern).
# shellcheck disable=SC2317
set -uo pipefail
cd "$(dirname "$0")/.." || exit

. tests/runs.sh
premake=$(third_party/setup.sh gdb binutils) || { fail "third_party/setup.sh gdb"; finish; }
work=$(mktemp -d)
process=
trap 'stop; rm -rf "$work"' EXIT

check() { # name, command...: passes if the command succeeds
    local name=$1
    shift
    if "$@"; then
        passed=$((passed + 1))
    else
        fail "$session: $name"
        [ -n "${shown:-}" ] || sed 's/^/    /' "$output" | tail -n 100
        shown=yes  # the output of a session is shown once
    fi
}

# Starts the program and waits until all its tasks wait.
start() { # program, arguments
    local turn
    "$@" > "$work/stdout" &
    process=$!
    for turn in {1..300}; do
        if grep -q stuck "$work/stdout"; then return 0; fi
        sleep 0.1
    done
    fail "$* did not get stuck within $((turn / 10)) s"
    stop
    return 1
}
stop() {
    [ -z "$process" ] || { kill -9 "$process"; wait "$process"; } 2> "$work/killed"
    process=
}

# Runs the commands in a debugger, and writes its output to $output. Each command is printed
# before its output, after a prompt.
in_gdb() { # arguments of gdb, "--", commands
    local arguments=() command
    while [ "$1" != -- ]; do arguments+=("$1"); shift; done
    shift
    for command; do arguments+=(-ex "echo \\n(gdb) $command\\n" -ex "$command"); done
    timeout 120 "$gdb" -q -nx -batch -iex "set debuginfod enabled off" "${arguments[@]}" \
        > "$output" 2>&1 < /dev/null
}
in_lldb() {
    local arguments=() command
    while [ "$1" != -- ]; do arguments+=("$1"); shift; done
    shift
    for command; do arguments+=(-o "$command"); done
    PYTHONPATH=$lldb_python timeout 120 "$lldb" --no-lldbinit -b "${arguments[@]}" \
        > "$output" 2>&1 < /dev/null
}

# Prints the output of one command.
answer() { # command
    awk -v command="$1" '/^\((gdb|lldb)\) / { on = $0 ~ "\\) " command "$"; next } on' "$output"
}

# Returns whether the output of a command has a line for each of the patterns.
says() { # command, patterns
    local pattern
    answer "$1" > "$work/answer"
    shift
    for pattern; do
        grep -qE -- "$pattern" "$work/answer" || { echo "    missing: $pattern"; return 1; }
    done
}

# Prints the functions of the stack that a command has shown, in one line. Without symbols the stack
# has places such as stripped+0x1234; then the program with symbols tells the functions.
functions() { # command
    local place
    answer "$1" | sed -nE 's/^ *#[0-9]+ +0x[0-9a-f]+ in ([^ ]+).*/\1/p' | while read -r place; do
        if [[ $place = *-stripped+0x* ]]; then
            # A return address may already belong to the next function.
            place=0x$(printf %x $((${place##*+} - 1)))
            place=$(addr2line -C -f -e "$program" "$place" | head -n 1)
        fi
        echo "${place%%(*}"
    done | tr '\n' ' '
}
has_functions() { # command, functions
    local found
    found=$(functions "$1")
    [[ $found = *"$2"* ]] || { echo "    the stack is: $found"; return 1; }
}

# Commands and checks for the deadlock.
commands=("weft fibers" "weft why" "weft workers" "weft bt eater0" "weft bt loader" "weft bt all")
check_deadlock() { # session, pattern for the name of a counter; without: that of the variable
    session=$1
    shown=
    local counter=${2:-} eater next
    local never=${counter:-g_never} loaded=${counter:-g_loaded} later=${counter:-g_later}
    for eater in 0 1 2 3 4; do
        next=$(((eater + 1) % 5))
        check "fibers: eater$eater" says "weft fibers" \
            "waiting +eater$eater .*for ${counter:-g_done}.* = 1$"
        check "why: eater$eater waits for eater$next" says "weft why" \
            "fiber [0-9]+ 'eater$eater' waits for .* = 1, which fiber [0-9]+ 'eater$next' lowers"
    done
    check "why: one cycle" [ "$(answer "weft why" | grep -c '^cycle of 5:')" = 1 ]
    check "why: the loader is the root" says "weft why" \
        "fiber [0-9]+ 'loader'( in Load)? waits for $never = 1, which no task lowers"
    check "why: the only root" [ "$(answer "weft why" | grep -c '^root:')" = 1 ]
    check "why: the deferred task" says "weft why" \
        "task 'saver' .* waits for $loaded = 1, lowered by fiber [0-9]+ 'loader' \(waiting\)"
    check "why: all deferred tasks" says "weft why" "and 98 more like the last one"
    check "why: the external thread" says "weft why" \
        "an external thread waits for $later = 100, lowered by 100 tasks 'saver' \(deferred\)"
    check "workers" says "weft workers" '^ +0 +[0-9]+ \(.* asleep' '^ +1 +[0-9]+ \(.* asleep' \
        '^ +2 +[0-9]+ \(.* asleep'
    check_locks "${counter:-g_traced}" "${counter:+0x[0-9a-f]+}"
    check "stack of eater0" has_functions "weft bt eater0" \
        "WaitForNeighbour WaitForNeighbour WaitForNeighbour Eat "
    check "stack of the loader" has_functions "weft bt loader" "Load "
    check "all stacks" says "weft bt all" "[0-9] fibers? waiting: .*'eater0'" "'loader'"
}

check_locks() { # patterns: of a counter, and of any lock; empty: the names of the variables
    local traced=$1 textures=${2:-g_textures} meshes=${2:-g_meshes} lightmap=${2:-g_lightmap}
    check "fibers: a lock" says "weft fibers" "waiting +previewer .*for lock $textures$"
    check "why: two cycles with locks" [ "$(answer "weft why" | grep -c '^cycle of 2:')" = 2 ]
    check "why: a cycle of locks" says "weft why" \
        "^  fiber [0-9]+ 'importer' waits for lock $meshes held by fiber [0-9]+ 'exporter'$" \
        "^  fiber [0-9]+ 'exporter' waits for lock $textures held by fiber [0-9]+ 'importer'$"
    check "why: a cycle of a lock and a counter" says "weft why" \
        "^  fiber [0-9]+ 'baker' waits for $traced = 1, which fiber [0-9]+ 'tracer' lowers$" \
        "^  fiber [0-9]+ 'tracer' waits for lock $lightmap held by fiber [0-9]+ 'baker'$"
    check "why: behind a cycle of locks" says "weft why" \
        "'previewer'.* waits for lock $textures held by fiber [0-9]+ 'importer' \(waiting\)$"
}

check_selected() { # session
    session=$1
    check "the selected fiber" has_frames bt WaitForNeighbour WaitForNeighbour WaitForNeighbour Eat
}
has_frames() { # command, functions
    local command=$1 found
    shift
    found=$(answer "$command" | grep -oE '(WaitForNeighbour|Eat)\(' | tr -d '(' | tr '\n' ' ')
    [ "$found" = "$* " ] || { echo "    the stack is: $found"; return 1; }
}

check_busy() { # session
    session=$1
    shown=
    check "fibers: a task runs" says "weft fibers" "running +spinner \(\+1\) +Spin +on worker 0"
    check "fibers: a lock" says "weft fibers" \
        "waiting +locker .*for a counter on the stack of fiber [0-9]+ = 1"
    check "fibers: a deadline" says "weft fibers" \
        "waiting +sleeper .*for the first of: g_never = 1, a deadline"
    check "fibers: a time" says "weft fibers" "waiting +napper .*for a deadline$"
    check "fibers: several counters" says "weft fibers" \
        "waiting +chooser .*for the first of: g_never = 1, g_staged = 8$"
    check "why: no cycle" [ "$(answer "weft why" | grep -c '^cycle')" = 0 ]
    check "why: queued tasks" says "weft why" \
        "g_crumbs = 40, lowered by 40 tasks 'crumb' \(queued on worker 0\)"
    check "why: pinned tasks" says "weft why" \
        "g_pinned = 2, lowered by 2 tasks 'pinned' \(pinned to worker 0\)"
    check "why: a task for later" says "weft why" \
        "g_timed = 1, lowered by task 'timed' \(begins later\)"
    check "why: deferred tasks for values" [ "$(answer "weft why" |
        grep -cE "task 'stage' \(deferred\) waits for g_staged = 8 \(until it is [1-7]\),")" = 7 ]
    check "why: the end of all tasks" says "weft why" \
        "an external thread waits for the end of all other tasks"
    check "workers" says "weft workers" "^ +0 .*running +fiber [0-9]+ 'spinner' +0/40/0 +0 +2 "
    check "stack of a running task" has_functions "weft bt spinner" "Spin Busy "
}

# ---- all that is looked at in one debugger ----

look_with() { # in_gdb or in_lldb, the command that loads the script
    local debugger=$1 load=$2 name=${1#in_} core
    start "$program" || return
    "$debugger" -p "$process" -- "$load" "${commands[@]}" "weft fiber eater0" bt
    check_deadlock "$name, live"
    check_selected "$name, live"
    stop
    start "$program" busy || return
    "$debugger" -p "$process" -- "$load" "weft fibers" "weft why" "weft workers" \
        "weft bt spinner"
    check_busy "$name, live, busy"
    stop
    start "$program-stripped" || return
    "$debugger" -p "$process" -- "$load" "${commands[@]}"
    check_deadlock "$name, live, stripped" "counter 0x[0-9a-f]+"
    stop
    if [ ! -f "$work/core" ]; then
        echo "[$SECONDS s] $name, core dump: skipped, the kernel wrote none"
        return
    fi
    case $name in
        gdb) core=("$work/core") ;;
        lldb) core=(-c "$work/core") ;;
    esac
    "$debugger" "$program" "${core[@]}" -- "$load" "${commands[@]}" "weft fiber eater0" bt
    check_deadlock "$name, core dump"
    check_selected "$name, core dump"
    "$debugger" "$program-stripped" "${core[@]}" -- "$load" "${commands[@]}"
    check_deadlock "$name, core dump, stripped" "counter 0x[0-9a-f]+"
}

look() { # variant, configuration
    local start=$SECONDS before=$passed
    program=$PWD/build/$1/$2/deadlock
    # Without any symbol: not even weft_debug_root.
    strip -s -o "$program-stripped" "$program"
    rm -f "$work"/core*
    (cd "$work" && ulimit -c unlimited && "$program" abort; true) > "$work/stdout" 2>&1
    [ -f "$work/core" ] || mv "$work"/core.* "$work/core" 2> "$work/none"
    look_with in_gdb "source third_party/debugger/weft_gdb.py"
    [ -z "$lldb" ] || look_with in_lldb "command script import third_party/debugger/weft_lldb.py"
    echo "[$SECONDS s] ${1:+$1 }$2: $((passed - before)) passed in $((SECONDS - start)) s"
}

# gdb's own core dumps lose stacks beside guards (third_party/debugger/README.md). The commands
# have to say so, or to show the stacks.
look_at_gcore() {
    start "$program" || return
    output=$work/gcore.log
    in_gdb -p "$process" -- "generate-core-file $work/gcore"
    stop
    output=$work/gcore-look.log session="gdb, core dump by gdb" shown=
    in_gdb "$program" "$work/gcore" -- "source third_party/debugger/weft_gdb.py" "${commands[@]}"
    check "why: the cycle" says "weft why" "^cycle of 5:" \
        "'loader'.* waits for g_never = 1, which no task lowers"
    check_locks g_traced ""
    if answer "weft why" | grep -q "The stacks of 1[12] fibers are zeros"; then
        check "fibers: no stack" says "weft fibers" "waiting +eater0 +\(no stack\)"
    else
        check "stack of eater0" has_functions "weft bt eater0" "WaitForNeighbour Eat "
    fi
}

look_at_natvis() {
    session="Visual Studio" shown=
    output=$work/natvis.log
    tests/debuggers/natvis.py third_party/debugger/weft.natvis > "$work/natvis.cpp"
    g++ -std=c++17 -fsyntax-only -fno-access-control -Iinclude -Isource "$work/natvis.cpp" \
        > "$output" 2>&1
    check "weft.natvis names what exists" [ $? = 0 ]
}

# gdb finds the commands by itself beside an installed shared library.
look_at_auto_load() {
    local prefix=$work/prefix
    session="gdb, auto-load" shown=
    output=$work/auto-load.log
    mkdir -p "$prefix/lib" "$prefix/share/weft/debugger"
    { g++ -shared -o "$prefix/lib/libweft.so" -Wl,--whole-archive build/Release/libweft.a \
        -Wl,--no-whole-archive -lboost_context -pthread &&
        g++ -std=c++17 -O1 -g -Iinclude -o "$work/shared" tests/debuggers/deadlock.cpp \
            -L"$prefix/lib" -lweft "-Wl,-rpath,$prefix/lib" -pthread; } > "$output" 2>&1 ||
        { check "the program is linked" false; return; }
    cp third_party/debugger/libweft.so-gdb.py "$prefix/lib"
    cp third_party/debugger/weft_*.py "$prefix/share/weft/debugger"
    start "$work/shared" || return
    in_gdb -iex "add-auto-load-safe-path $prefix" -p "$process" -- "weft why"
    check "why: the cycle" says "weft why" "^cycle of 5:"
    in_gdb -p "$process" -- "weft why"
    check "not without the safe path" says "weft why" "Undefined .*command"
    stop
}

# qemu waits for gdb at a port, and lets gdb read memory and registers of the emulated program.
look_at_aarch64() {
    local triplet=aarch64-linux-gnu port=$((20000 + RANDOM % 20000)) libraries
    if ! third_party/setup.sh gdb-multiarch qemu-user g++-$triplet > "$work/setup.log" 2>&1 ||
        ! libraries=$(third_party/setup.sh --libraries=arm64 2> "$work/setup.log"); then
        fail "third_party/setup.sh for aarch64"
        return
    fi
    configure $triplet --cross=$triplet --boost="$libraries" && build Release deadlock || return
    program=$PWD/build/$triplet/Release/deadlock
    qemu-aarch64 -L /usr/$triplet -g "$port" "$program" > "$work/stdout" &
    process=$!
    sleep 2
    output=$work/aarch64.log
    gdb="gdb-multiarch"
    in_gdb -iex "set sysroot /usr/$triplet" "$program" -- "target remote :$port" "break puts" \
        continue "source third_party/debugger/weft_gdb.py" "${commands[@]}" "weft fiber eater0" bt
    check_deadlock "gdb, aarch64"
    check_selected "gdb, aarch64"
    stop
}

gdb=gdb lldb='' lldb_python=''
if third_party/setup.sh lldb-14 python3-lldb-14 > "$work/setup.log" 2>&1; then
    lldb=$(command -v lldb-14)
    # Debian's lldb 14 looks for its own module in a folder that is not there.
    lldb_python=$(dirname "$(dpkg -L python3-lldb-14 | grep -m 1 '/lldb/__init__.py$')")/..
else
    echo "lldb 14: skipped, it cannot be installed"
fi
output=$work/output

configure "" && build Release deadlock && look "" Release && look_at_gcore && look_at_auto_load
look_at_natvis
if [ "${1:-}" = --full ]; then
    build Debug deadlock && look "" Debug
    if third_party/setup.sh clang > "$work/setup.log" 2>&1; then
        configure clang --cc=clang && build Release deadlock && look clang Release
    fi
    configure shared --shared && build Release deadlock && look shared Release
    look_at_aarch64
fi
[ "$passed" != 0 ] || fail "nothing was looked at"
finish
