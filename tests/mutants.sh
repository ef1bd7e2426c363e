#!/usr/bin/env bash
# Shows that the tests see seeded bugs: applies each patch in tests/mutants/ to a copy of the tree, builds what its test
# needs, and expects that test to fail (to crash, or to take longer than a minute, counts too).
#
#     tests/mutants.sh                  a sample: one of each kind
#     tests/mutants.sh --full           all
#     tests/mutants.sh NAME...          those (without .patch)
#     tests/mutants.sh --list           the names
#
# Besides the patches in tests/mutants/ there are generated ones: a line of source/ that ends with [re-check] is deleted, and
# one that ends with [order] changes places with the next. Those that survive stand in tests/mutants/survivors.md, with the
# reason. (tests/relacy.sh weakens the memory orders.)
#
# The first line of a patch says how it is caught. `tests` are the files built with tests/main.cpp, `case` is what Catch2 is
# given to select from them; the simulator and faults take their own arguments there.
#
#     # config: Tsan  tests: containers/task_slab_test.cpp  case: [slab]
#     # config: Release  program: simulator  case: --model pool_empty
#     # config: Release  program: faults  case: --only pthread_create
#
# The simulator has to find a bug within WEFT_SCHEDULES seeds (5,000), or as many as the patch says. WEFT_JOBS is how many run at
# once (as many as there are processors).
set -uo pipefail
cd "$(dirname "$0")/.." || exit
jobs=${WEFT_JOBS:-$(nproc)}

root=$PWD/build/mutants
mkdir -p "$root"
rm -rf "$root"/patches "$root"/taken "$root"/ok-*
mkdir "$root/patches" "$root/taken"

# Makes $work a copy of the tree. It is kept with what was built of it: only files that differ are copied, so that they are newer.
prepare() {
    mkdir -p "$work"
    find include source tests -type f | LC_ALL=C sort > "$work/files"
    (cd "$work" && find include source tests -type f 2> /dev/null | LC_ALL=C sort | comm -23 - files | xargs -r rm)
    while IFS= read -r file; do
        cmp -s "$file" "$work/$file" || { mkdir -p "$work/${file%/*}" && cp "$file" "$work/$file"; }
    done < "$work/files"
    cp "$root/Makefile" "$work/Makefile"
}

cat > "$root/Makefile" <<'MAKE'
FLAGS_Debug := -DWEFT_DEBUG=1
FLAGS_Release := -DNDEBUG -O2
FLAGS_Asan := -DWEFT_DEBUG=1 -O1 -fno-omit-frame-pointer -fsanitize=address
FLAGS_Tsan := -DWEFT_DEBUG=1 -O1 -fno-omit-frame-pointer -fsanitize=thread
FLAGS := -std=c++17 -w $(FLAGS_$(C)) -Iinclude -Isource -Itests
WRAP := -Wl,--wrap=_ZnwmSt11align_val_tRKSt9nothrow_t,--wrap=_ZdlPvSt11align_val_t
UNUSED := %_windows.cpp %_pthread.cpp
ifeq ($(P),simulator)
FLAGS += -DWEFT_SIMULATOR=1 -include tests/simulator/env_simulator.h
UNUSED += $(foreach f,env_production parker_% thread_% fork_mark_% signal_stack_% stack_memory_%,source/platform/$(f).cpp)
endif
ifeq ($(P),faults)
WRAP_faults := @tests/faults/wrap.options
endif
ifneq ($(filter tests/topology/%,$(T)),)
LIBRARIES := -lhwloc
else
UNUSED += source/topology/%
endif
SOURCES := $(filter-out $(UNUSED),$(wildcard source/*/*.cpp) $(T))
OBJECTS := $(SOURCES:%.cpp=$(C)-$(P)/%.o)
$(C)-$(P)/program: $(OBJECTS)
	@g++ $(FLAGS_$(C)) -o $@ $(OBJECTS) -lboost_context -pthread -ldl $(LIBRARIES) $(WRAP_$(P)) $(if $(filter %failing_allocation.o,$(OBJECTS)),$(WRAP))
$(C)-$(P)/tests/main.o: FLAGS += -O0
$(C)-$(P)/%/coroutine_models.o $(C)-$(P)/%/coroutine_test.o: FLAGS += -std=c++20
$(C)-$(P)/%.o: %.cpp
	@mkdir -p $(@D)
	@g++ $(FLAGS) -MMD -MP -c $< -o $@
-include $(shell find $(C)-$(P) -name '*.d' 2>/dev/null)
MAKE

export ASAN_OPTIONS=detect_stack_use_after_return=1 TSAN_OPTIONS=halt_on_error=1

# Each tag makes a patch. All models have to let it through before it counts as escaped.
generate() {
    local kind tag file line name
    for kind in recheck order; do
        case $kind in recheck) tag='\[re-check\]$' ;; order) tag='\[order\]$' ;; esac
        grep -rn -- "$tag" source | sort -t: -k1,1 -k2,2n | cut -d: -f1,2 > "$root/tags"
        while IFS=: read -r file line; do
            name=${kind}_$(basename "${file%.*}")_$(grep -c -- "$tag" <(head -n "$line" "$file"))
            if [ $kind = recheck ]; then
                sed "${line}d" "$file" > "$root/mutated"
            else
                sed "${line}{h;d};$((line + 1)){G}" "$file" > "$root/mutated"
            fi
            {
                echo "# config: Release  program: simulator  case: --until-failure --schedules 20000"
                echo "# Generated: $file, line $line."
                diff -u --label "a/$file" --label "b/$file" "$file" "$root/mutated"
            } > "$root/patches/$name.patch"
        done < "$root/tags"
    done
}
cp tests/mutants/*.patch "$root/patches"
generate

field() { sed -n "1s/.*$1: *\(.*\)/\1/p" "$2" | sed 's/  *\(config\|program\|tests\|case\): .*//'; }

build() {
    rm -f "$work/$config-$program/program"
    make -s -C "$work" -j"$(nproc)" C="$config" P="$program" T="$files" "$config-$program/program" > "$work/log" 2>&1
}

run() {
    local no_aslr=() limit=60
    [ "$config" != Tsan ] || no_aslr=(setarch "$(uname -m)" -R)
    # shellcheck disable=SC2086
    case $program in
        simulator) set -- --schedules "${WEFT_SCHEDULES:-5000}" $case ;;
        faults) set -- $case ;;
        *) set -- "$case" ;;
    esac
    # The simulator ends by itself, after minutes if it goes through all models: a schedule that does not end is one that fails.
    [ "$program" != simulator ] || limit=900
    timeout --kill-after=5 "$limit" "${no_aslr[@]}" "$work/$config-$program/program" "$@" < /dev/null > "$work/log" 2>&1
}

passed=0 failed=0 survived=0
row() { printf '%-32s | %-74s | %s\n' "$@"; }
escaped() { failed=$((failed + 1)); row "$name" "$1" "$((SECONDS - start))"; }

list() { (cd "$root/patches" && ls -- *.patch | sed 's/\.patch$//'); }
# The second of each kind: configuration and program; and one of each kind that is generated.
sample() {
    for name in $(list); do
        case $name in
            recheck_claim_1 | order_notices_1) echo "$name generated ${name%%_*}" ;;  # found soon
            recheck_* | order_*) ;;
            *) echo "$name $(field config "$root/patches/$name.patch") $(field program "$root/patches/$name.patch")" ;;
        esac
    done | awk '{ kind = $2 " " $3; if (++count[kind] <= 2) names[kind] = $1 } END { for (kind in names) print names[kind] }' | sort
}
if [ "${1:-}" = --list ]; then list; exit; fi
row mutant "caught by" seconds
# shellcheck disable=SC2046
case ${1:-} in
    --full) set -- $(list) ;;
    '') set -- $(sample) ;;
esac

# Whether the model that has failed in $work passes on the tree as it is.
passes_without() {
    local model
    model=$(sed -n 's/^\([a-z0-9_]*\) *FAILED after .*/\1/p' "$work/log")
    [ -n "$model" ] || return 0  # it did not end, or crashed
    patch -s -R -p1 -d "$work" < "$patch"
    build && case="--model $model --schedules 20000" run
    local passed=$?
    patch -s -F0 -p1 -d "$work" < "$patch" > /dev/null
    return "$passed"
}

# Shows one mutant: $name, in $work.
try() {
    patch=$root/patches/$name.patch start=$SECONDS
    config=$(field config "$patch") program=$(field program "$patch") case=$(field case "$patch") files=
    program=${program:-unit_tests} kind=chosen
    ! sed -n 2p "$patch" | grep -q '^# Generated' || kind=generated
    case $program in
        simulator) files="$(cd "$work" && echo tests/simulator/*.cpp) tests/support/pages_posix.cpp" ;;
        faults) files="$(cd "$work" && echo tests/faults/*.cpp tests/support/{report_log,scheduler_run,threads}.cpp)" ;;
        allocation_gate) files="tests/main.cpp $(cd "$work" && echo tests/allocation/*.cpp)" ;;
        *) files="tests/main.cpp $(cd "$work" && echo tests/support/*.cpp)"
           for file in $(field tests "$patch"); do files+=" tests/$file"; done ;;
    esac

    # Without the patch the test must pass, once for all patches with the same test. A generated one has no test of its own: see below.
    key=$(echo "$config $program $files $case" | md5sum | cut -c1-32)
    if [ ! -e "$root/ok-$key" ] && [ "$kind" != generated ]; then
        if ! build || ! run; then tail -n 20 "$work/log"; escaped "NOT SHOWN: fails without the patch too"; return; fi
        touch "$root/ok-$key"
        start=$SECONDS
    fi
    if ! patch -s -F0 -p1 -d "$work" < "$patch" > "$work/log" 2>&1; then
        cat "$work/log"
        escaped "NOT SHOWN: the patch does not apply"
        rm -rf "$work/source" && cp -r source "$work"
        return
    fi
    if ! build; then
        tail -n 20 "$work/log"
        escaped "NOT SHOWN: does not build"
    else
        run
        status=$?
        found=$(sed -n 's/.* FAILED after \(.* schedules\): seed [0-9]*: \(.*\)/after \1: \2/p' "$work/log")
        known=$(grep -c "^| .*\`$name\`" tests/mutants/survivors.md)
        if [ "$status" = 0 ] && [ "$known" != 0 ]; then
            survived=$((survived + 1))
            row "$name" "survives, for the reason in tests/mutants/survivors.md" "$((SECONDS - start))"
        elif [ "$status" = 0 ]; then
            escaped "ESCAPED: $config $case"
        elif [ "$kind" = generated ] && ! passes_without; then
            escaped "NOT SHOWN: ${found:-exit $status}, but without the patch too"
        elif [ "$known" != 0 ]; then
            escaped "CAUGHT, but tests/mutants/survivors.md says that it survives"
        else
            [ "$status" != 124 ] || status="hang"
            passed=$((passed + 1))
            row "$name" "$config $case (${found:-exit $status})" "$((SECONDS - start))"
        fi
    fi
    patch -s -R -p1 -d "$work" < "$patch"
}

# Each lane takes the next mutant that no other has taken.
lane() { # number, names
    work=$root/$1
    shift
    prepare
    for name in "$@"; do
        ! mkdir "$root/taken/$name" 2> /dev/null || try
    done
    echo "$passed $failed $survived" > "$work/sum"
}

trap 'kill $(jobs -p) 2> /dev/null' EXIT
rm -f "$root"/*/sum
for ((i = 1; i <= jobs; ++i)); do lane "$i" "$@" & done
wait
read -r passed failed survived missing <<< "$(cat "$root"/*/sum | awk -v names=$# '
    { passed += $1; failed += $2; survived += $3 }
    END { print passed + 0, failed + 0, survived + 0, names - passed - failed - survived }')"
[ "$missing" = 0 ] || { echo "$missing not tried"; failed=$((failed + missing)); }

echo "$survived survive and are documented, $SECONDS s"
echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
