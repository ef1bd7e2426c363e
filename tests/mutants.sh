#!/usr/bin/env bash
# Shows that the tests see seeded bugs: applies each patch in tests/mutants/ to a copy of the tree, builds what its test
# needs, and expects that test to fail (to crash, or to take longer than a minute, counts too).
#
#     tests/mutants.sh [NAME...]        all, or those named (without .patch)
#
# The first line of a patch says how it is caught. `tests` are the files built with tests/main.cpp, `case` is what Catch2 is
# given to select from them; the simulator and faults take their own arguments there.
#
#     # config: Tsan  tests: containers/task_slab_test.cpp  case: [slab]
#     # config: Release  program: simulator  case: --model pool_empty
#     # config: Release  program: faults  case: --only pthread_create
#
# The simulator has to find a bug within WEFT_SCHEDULES seeds (5,000), or as many as the patch says.
set -uo pipefail
cd "$(dirname "$0")/.."

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cp -r include source tests "$work"

cat > "$work/Makefile" <<'MAKE'
FLAGS_Debug := -DWEFT_DEBUG=1
FLAGS_Release := -DNDEBUG -O2
FLAGS_Asan := -DWEFT_DEBUG=1 -O1 -fno-omit-frame-pointer -fsanitize=address
FLAGS_Tsan := -DWEFT_DEBUG=1 -O1 -fno-omit-frame-pointer -fsanitize=thread
FLAGS_Ubsan := -DWEFT_DEBUG=1 -O1 -fsanitize=undefined -fno-sanitize-recover=all
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
SOURCES := $(filter-out $(UNUSED),$(wildcard source/*/*.cpp)) $(T)
OBJECTS := $(SOURCES:%.cpp=$(C)-$(P)/%.o)
$(C)-$(P)/program: $(OBJECTS)
	@g++ $(FLAGS_$(C)) -o $@ $(OBJECTS) -lboost_context -pthread -ldl $(WRAP_$(P)) $(if $(filter %failing_allocation.o,$(OBJECTS)),$(WRAP))
$(C)-$(P)/tests/main.o: FLAGS += -O0
$(C)-$(P)/%.o: %.cpp
	@mkdir -p $(@D)
	@g++ $(FLAGS) -MMD -c $< -o $@
-include $(shell find $(C)-$(P) -name '*.d' 2>/dev/null)
MAKE

export ASAN_OPTIONS=detect_stack_use_after_return=1 TSAN_OPTIONS=halt_on_error=1 UBSAN_OPTIONS=halt_on_error=1
field() { sed -n "1s/.*$1: *\(.*\)/\1/p" "$2" | sed 's/  *\(config\|program\|tests\|case\): .*//'; }

build() {
    rm -f "$work/$config-$program/program"
    make -s -C "$work" -j"$(nproc)" C="$config" P="$program" T="$files" "$config-$program/program" > "$work/log" 2>&1
}

run() {
    local no_aslr=()
    [ "$config" != Tsan ] || no_aslr=(setarch "$(uname -m)" -R)
    # shellcheck disable=SC2086
    case $program in
        simulator) set -- --schedules "${WEFT_SCHEDULES:-5000}" $case ;;
        faults) set -- $case ;;
        *) set -- "$case" ;;
    esac
    timeout --kill-after=5 60 "${no_aslr[@]}" "$work/$config-$program/program" "$@" < /dev/null > "$work/log" 2>&1
}

passed=0 failed=0
row() { printf '%-32s | %-74s | %s\n' "$@"; }
escaped() { failed=$((failed + 1)); row "$name" "$1" "$((SECONDS - start))"; }

row mutant "caught by" seconds
[ $# != 0 ] || set -- $(cd tests/mutants && ls -- *.patch | sed 's/\.patch$//')
for name in "$@"; do
    patch=tests/mutants/$name.patch start=$SECONDS
    config=$(field config "$patch") program=$(field program "$patch") case=$(field case "$patch") files=
    program=${program:-unit_tests}
    case $program in
        simulator) files=$(cd "$work" && echo tests/simulator/*.cpp) ;;
        faults) files="$(cd "$work" && echo tests/faults/*.cpp tests/support/{report_log,scheduler_run,threads}.cpp)" ;;
        allocation_gate) files="tests/main.cpp $(cd "$work" && echo tests/allocation/*.cpp)" ;;
        *) files="tests/main.cpp $(cd "$work" && echo tests/support/*.cpp)"
           for file in $(field tests "$patch"); do files+=" tests/$file"; done ;;
    esac

    # Without the patch the test must pass, once for all patches with the same test.
    key=$(echo "$config $program $files $case" | md5sum | cut -c1-32)
    if [ ! -e "$work/ok-$key" ]; then
        if ! build || ! run; then tail -n 20 "$work/log"; escaped "NOT SHOWN: fails without the patch too"; continue; fi
        touch "$work/ok-$key"
        start=$SECONDS
    fi
    if ! patch -s -F0 -p1 -d "$work" < "$patch" > "$work/log" 2>&1; then
        cat "$work/log"
        escaped "NOT SHOWN: the patch does not apply"
        rm -rf "$work/source" && cp -r source "$work"
        continue
    fi
    if ! build; then
        tail -n 20 "$work/log"
        escaped "NOT SHOWN: does not build"
    elif run; then
        escaped "ESCAPED: $config $case"
    else
        status=$?
        [ "$status" != 124 ] || status="hang"
        passed=$((passed + 1))
        found=$(sed -n 's/.* FAILED after \(.* schedules\): seed [0-9]*: \(.*\)/after \1: \2/p' "$work/log")
        row "$name" "$config $case (${found:-exit $status})" "$((SECONDS - start))"
    fi
    patch -s -R -p1 -d "$work" < "$patch"
done

echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
