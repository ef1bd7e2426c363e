#!/usr/bin/env bash
# Tests the tests: puts one small bug at a time (a mutant) into a copy of the tree, and expects a
# certain test to fail.
#
#     tests/mutants.sh                    a sample: one mutant of each program in
#                                         Release, without simulator and faults
#     tests/mutants.sh --full             all mutants; ends with a table by layer
#     tests/mutants.sh NAME...            these mutants; a folder, such as scheduler/wait, stands
#                                         for all mutants in it
#     tests/mutants.sh --list             the names
#     tests/mutants.sh --table [FOLDER]   what each mutant breaks and what catches it, as Markdown
#     tests/mutants.sh --random N SEED    N mutants that nobody has chosen: tests/mutants/draw.py
#     tests/mutants.sh --arrange          after source files or test files have moved: corrects
#                                         their paths in patches, moves each patch to its folder
#
# There are two sorts of mutants:
# - Patches, tests/mutants/LAYER/NAME.patch. LAYER is the folder of the first source file that the
#   patch changes: below source/, such as scheduler/wait, or below include/weft/, such as
#   include/data for include/weft/data/x.h. Names are unique. tests/mutants/README.md says how to
#   write a patch.
# - Generated ones. A statement of source/ that ends with the tag [re-check] is deleted. One that ends
#   with [order] changes places with the next. Then some model of the simulator has to fail.
# A mutant that no test catches must stand in tests/mutants/survivors.md, with the reason.
# (tests/relacy.sh weakens the memory orders.)
#
# A model of the simulator has to fail within WEFT_SCHEDULES schedules (5,000), or within as many as
# the patch says. A test that crashes, or takes longer than three minutes, has failed. WEFT_JOBS is
# the number of mutants that run at once (one for each processor). The last line counts the mutants
# that were caught, and those for which this could not be shown.
set -uo pipefail
cd "$(dirname "$0")/.." || exit
export LC_ALL=C
jobs=${WEFT_JOBS:-$(nproc)}
schedules=${WEFT_SCHEDULES:-5000}

mode=${1:-}
root=$PWD/build/mutants
if [ "$mode" = --random ]; then
    third_party/setup.sh catch2 python3-clang > /dev/null || exit
    exec /usr/bin/python3 tests/mutants/draw.py "${@:2}"
fi
case $mode in
    --list | --table | --arrange) patches=$root/listed ;;  # a run in another shell keeps its own
    *) patches=$root/patches ;;
esac
rm -rf "$patches"
mkdir -p "$patches"

give_up() {
    echo "$1"
    echo "0 passed, 1 failed"
    exit 1
}

# Prints a file with a mutant of the statement that ends in a certain line. The statement, and the
# one after it, may have several lines, but no block.
mutate() { # recheck|order, line, file
    awk -v kind="$1" -v at="$2" '
        { text[NR] = $0 }
        function code(i,    line) {
            line = text[i]
            sub(/ *\/\/.*/, "", line)
            return line
        }
        function goes_on(i) { return code(i) ~ /[^ ;{}:]$/ && code(i) !~ /^ *#/ }
        function put(from, to) { while (from <= to) print text[from++] }
        END {
            first = last = at
            while (goes_on(first - 1)) --first
            if (kind == "order") while (goes_on(++last)) {}
            put(1, first - 1)
            put(at + 1, last)
            if (kind == "order") put(first, at)
            put(last + 1, NR)
        }' "$3"
}

# Makes a patch for each tag.
generate() {
    local kind tag file line name
    for kind in recheck order; do
        case $kind in recheck) tag='\[re-check\]$' ;; order) tag='\[order\]$' ;; esac
        grep -rn --include='*.h' --include='*.cpp' -- "$tag" source | sort -t: -k1,1 -k2,2n |
            cut -d: -f1,2 > "$patches/tags"
        while IFS=: read -r file line; do
            name=${kind}_$(basename "${file%.*}")_$(grep -c -- "$tag" <(head -n "$line" "$file"))
            [ ! -e "$patches/$name.patch" ] || give_up "two files have a generated mutant $name"
            mutate "$kind" "$line" "$file" > "$patches/mutated"
            {
                echo "# config: Release  program: simulator  case: all models"
                echo "# Generated: $file, line $line."
                diff -u --label "a/$file" --label "b/$file" "$file" "$patches/mutated"
            } > "$patches/$name.patch"
        done < "$patches/tags"
    done
}

# Writes $patches/index, sorted by name: name, layer ("-" if there is none), path, and the first two
# lines of each patch.
index() {
    local twice
    # shellcheck disable=SC2016,SC2038
    find tests/mutants "$patches" -name '*.patch' | xargs awk -v OFS='\t' '
        function finish() { if (name != "") print name, layer, path, first, second }
        FNR == 1 {
            finish()
            path = name = FILENAME
            sub(/.*\//, "", name); sub(/\.patch$/, "", name)
            layer = "-"; first = substr($0, 3); second = "-"
        }
        FNR == 2 { second = substr($0, 3) }
        layer == "-" && /^\+\+\+ b\/(source\/.*|include\/weft)\// {
            layer = substr($2, 3)
            sub(/\/[^\/]*$/, "", layer)
            if (!sub(/^source\//, "", layer)) sub(/^include\/weft/, "include", layer)
        }
        END { finish() }' | sort -t "$(printf '\t')" -k 1,1 > "$patches/index"
    twice=$(cut -f 1 "$patches/index" | uniq -d)
    [ -z "$twice" ] || give_up "more than one patch has this name: ${twice//$'\n'/, }"
}

# Complains about patches that do not lie in the folder of their layer, and about test files and
# names in survivors.md that are not there.
complaints() {
    awk -F '\t' '
        $3 !~ /^tests\/mutants\// { next }  # generated
        $2 == "-" { print $3 ": changes no file of a layer"; next }
        $3 != "tests/mutants/" $2 "/" $1 ".patch" {
            print $3 ": belongs in tests/mutants/" $2 "/ (tests/mutants.sh --arrange)"
        }
        match($4, /tests: */) {
            files = substr($4, RSTART + RLENGTH)
            sub(/  *(config|program|case): .*/, "", files)
            count = split(files, file, " ")
            for (i = 1; i <= count; ++i) {
                name = "tests/" file[i]
                if ((getline line < name) < 0) print $3 ": " name " is not there"
                close(name)
            }
        }' "$patches/index"
    sed -n 's/^| \(`[^|]*\).*/\1/p' tests/mutants/survivors.md | grep -o '[a-z0-9_]*' | sort |
        comm -23 - <(list) | sed 's/.*/tests\/mutants\/survivors.md: there is no mutant &/'
}

# Prints the part of the index for a folder.
inside() { # folder, or nothing for all
    local folder=${1:-}
    awk -F '\t' -v folder="${folder%/}" '
        folder == "" || $2 == folder || index($2, folder "/") == 1' "$patches/index"
}

list() { inside "${1:-}" | cut -f 1; }

field() { sed -n "1s/.*$1: *\(.*\)/\1/p" "$2" | sed 's/  *\(config\|program\|tests\|case\): .*//'; }

# Prints a sample: the second mutant of each kind that builds in a short time.
sample() {
    awk -F '\t' '
        $3 !~ /^tests\/mutants\// { next }
        {
            kind = $4
            if (kind !~ /^config: Release/ || kind ~ /program: (simulator|faults)/) next
            sub(/ *(tests|case): .*/, "", kind)
            if (++count[kind] <= 2) names[kind] = $1
        }
        END { for (kind in names) print names[kind] }' "$patches/index" | sort
}

table() { # folder
    inside "${1:-}" | awk -F '\t' '
        function field(name,    rest) {
            if (!match($4, name ": *")) return ""
            rest = substr($4, RSTART + RLENGTH)
            sub(/  *(config|program|tests|case): .*/, "", rest)
            gsub(/\|/, "\\|", rest)
            return rest
        }
        {
            test = field("tests") != "" ? field("tests") : field("program")
            test = field("config") ", " test ": `" field("case") "`"
            gsub(/\|/, "\\|", $5)
            print "| " $2 " | `" $1 "` | " $5 " | " test " |"
        }' | sort > "$patches/rows"
    [ -s "$patches/rows" ] || give_up "no mutant in folder $1"
    echo "| layer | mutant | what it breaks | caught by |"
    echo "|---|---|---|---|"
    cat "$patches/rows"
}

# Finds a file that has moved: the only file of its name in these folders.
find_moved() { # file, folders
    local found
    mapfile -t found < <(find "${@:2}" -name "${1##*/}")
    [ "${#found[@]}" = 1 ] && echo "${found[0]}"
}

arrange() {
    local name layer patch file now patches_now problems=0
    while IFS= read -r patch; do
        # shellcheck disable=SC2013
        for file in $(sed -n 's#^+++ b/##p' "$patch"); do
            [ ! -e "$file" ] || continue
            if now=$(find_moved "$file" include source); then
                sed -i "s#^\(--- a\|+++ b\)/$file\$#\1/$now#" "$patch"
            else
                echo "$patch: $file is not there, nor one file of that name elsewhere"
                problems=$((problems + 1))
            fi
        done
        for file in $(field tests "$patch"); do
            [ ! -e "tests/$file" ] || continue
            if now=$(find_moved "$file" tests); then
                sed -i "1s#$file#${now#tests/}#" "$patch"
            else
                echo "$patch: tests/$file is not there, nor one file of that name elsewhere"
                problems=$((problems + 1))
            fi
        done
    done < <(find tests/mutants -name '*.patch' | sort)

    index
    while IFS=$'\t' read -r name layer patch _; do
        now=tests/mutants/$layer/$name.patch
        if [[ $patch = tests/mutants/* ]] && [ "$layer" != - ] && [ "$patch" != "$now" ]; then
            mkdir -p "${now%/*}"
            git mv "$patch" "$now" 2> /dev/null || mv "$patch" "$now"  # git may not know it yet
            echo "$patch -> $now"
        fi
    done < "$patches/index"
    find tests/mutants -mindepth 1 -type d -empty -delete

    while IFS= read -r patch; do
        patch --dry-run -s -F0 -p1 -i "$patch" > /dev/null && continue
        echo "$patch: does not apply"
        problems=$((problems + 1))
    done < <(find tests/mutants -name '*.patch' | sort)
    index
    complaints
    patches_now=$(find tests/mutants -name '*.patch' | wc -l)
    echo "$patches_now patches (at most 100), $problems problems"
    [ "$problems" = 0 ] && [ "$patches_now" -le 100 ] && [ -z "$(complaints)" ]
}

generate
index
case $mode in
    --list) list; exit ;;
    --table)
        table "${2:-}"
        complaints >&2
        [ -z "$(complaints)" ]
        exit
        ;;
esac
third_party/setup.sh patch ccache > /dev/null || give_up "third_party/setup.sh failed"
if [ "$mode" = --arrange ]; then
    arrange
    exit
fi

# The names of the mutants to try.
failed=0
case $mode in
    --full) mapfile -t names < <(list) ;;
    '') mapfile -t names < <(sample) ;;
    *)
        names=()
        for argument in "$@"; do
            if grep -q "^$argument$(printf '\t')" "$patches/index"; then
                names+=("$argument")
            else
                mapfile -t folder < <(list "$argument")
                [ "${#folder[@]}" != 0 ] || give_up "no mutant and no folder $argument"
                names+=("${folder[@]}")
            fi
        done
        ;;
esac
if { [ "$mode" = --full ] || [ -z "$mode" ]; } && [ -n "$(complaints)" ]; then
    complaints | tail -n 3
    echo "$(complaints | wc -l) complaints"
    failed=1
fi
cut -f 3 "$patches/index" | grep '^tests/mutants/' | xargs cp -t "$patches"

rm -rf "$root"/taken "$root"/*/took-* "$root"/ok-*
mkdir "$root/taken"

# Makes $work a copy of the tree. The copy and its build are kept. Only files that differ are
# copied, so that they are newer.
prepare() {
    mkdir -p "$work"
    find include source tests -type f | sort > "$work/files"
    (cd "$work" && find include source tests -type f 2> /dev/null | sort | comm -23 - files |
        xargs -r rm)
    while IFS= read -r file; do
        cmp -s "$file" "$work/$file" || { mkdir -p "$work/${file%/*}" && cp "$file" "$work/$file"; }
    done < "$work/files"
    cp "$root/Makefile" "$work/Makefile"
}

cat > "$root/Makefile" <<'MAKE'
D := $(C)-$(P)
FLAGS_Debug := -DWEFT_DEBUG=1
FLAGS_Release := -DNDEBUG $(or $(O),-O2)
FLAGS_Asan := -DWEFT_DEBUG=1 $(or $(O),-O1) -fno-omit-frame-pointer -fsanitize=address
FLAGS_Tsan := -DWEFT_DEBUG=1 $(or $(O),-O1) -fno-omit-frame-pointer -fsanitize=thread
FLAGS := -std=c++17 -w $(FLAGS_$(C)) -Iinclude -Isource -Itests
UNUSED := %_windows.cpp %_pthread.cpp %_emscripten.cpp
ifeq ($(P),simulator)
FLAGS += -DWEFT_SIMULATOR=1 -include tests/simulator/env_simulator.h
PLATFORM := env_production parker% thread_% fork_mark_% cpu_quota_% off_cpu_% signal_stack_% stack_memory_%
UNUSED += $(PLATFORM:%=source/platform/%.cpp)
endif
ifeq ($(P),faults)
WRAP := @tests/faults/wrap.options
endif
ifneq ($(filter tests/topology/%,$(T)),)
LIBRARIES := -lhwloc
else
UNUSED += source/topology/%
endif
ifneq ($(filter tests/io/%,$(T)),)
FLAGS += -DWEFT_IO_URING=1
LIBRARIES += -luring
else
UNUSED += source/io/%
endif
ifneq ($(filter %/failing_allocation.cpp,$(T)),)
WRAP := -Wl,--wrap=_ZnwmSt11align_val_tRKSt9nothrow_t,--wrap=_ZdlPvSt11align_val_t
endif
LIBRARIES += -lboost_context -pthread -ldl
# With U=1 the library is compiled as one file. That is faster if most of its files have changed.
LIBRARY := $(filter-out $(UNUSED),$(sort $(shell find source -name '*.cpp')))
OBJECTS := $(if $(U),$(D)/library.o,$(patsubst %,$(D)/%.o,$(basename $(LIBRARY))))
OBJECTS += $(patsubst %,$(D)/%.o,$(basename $(filter-out $(UNUSED),$(T))))
$(D)/program: $(OBJECTS)
	@g++ $(FLAGS_$(C)) -o $@ $(OBJECTS) $(LIBRARIES) $(WRAP)
$(D)/tests/main.o: FLAGS += -O0
$(D)/%/coroutine_models.o $(D)/%/coroutine_test.o: FLAGS += -std=c++20
$(D)/library.cpp: FORCE
	@mkdir -p $(@D)
	@printf '#include "%s"\n' $(LIBRARY) > $@.new
	@cmp -s $@.new $@ || mv $@.new $@
FORCE:
$(D)/library.o: $(D)/library.cpp
	@ccache g++ $(FLAGS) -I. -MMD -MP -c $< -o $@
$(D)/%.o: %.cpp
	@mkdir -p $(@D)
	@ccache g++ $(FLAGS) -MMD -MP -c $< -o $@
-include $(shell find $(D) -name '*.d' 2>/dev/null)
MAKE

# A source file that gets its old text back after a mutant is not compiled again. All its files have
# just been written, so their times say nothing.
export CCACHE_DIR=$root/ccache CCACHE_DEPEND=1 CCACHE_NOCOMPRESS=1 CCACHE_MAXSIZE=8G
export CCACHE_SLOPPINESS=include_file_mtime,include_file_ctime
export ASAN_OPTIONS=detect_stack_use_after_return=1 TSAN_OPTIONS=halt_on_error=1

build() {
    rm -f "$work/$config-$program/program"
    make -s -C "$work" -j"$(nproc)" C="$config" P="$program" T="$files" U="$unity" O="$optimise" \
        "$config-$program/program" > "$work/log" 2>&1
}

run() {
    local no_aslr=() limit=180
    [ "$config" != Tsan ] || no_aslr=(setarch "$(uname -m)" -R)
    # shellcheck disable=SC2086
    case $program in
        simulator) set -- --schedules "$schedules" $case ;;
        faults) set -- $case ;;
        *) set -- "$case" ;;
    esac
    # The simulator stops a schedule that does not end. It needs minutes for all models.
    [ "$program" != simulator ] || limit=7200
    timeout --kill-after=5 "$limit" "${no_aslr[@]}" "$work/$config-$program/program" "$@" \
        < /dev/null > "$work/log" 2>&1
}

row() { printf '%-32s | %-74s | %s\n' "$@"; }
result() { # caught|survives|failed, text
    printf '%s\t%s\t%s\n' "$name" "$1" "$((SECONDS - start))" >> "$work/results"
    row "$name" "$2" "$((SECONDS - start))"
}

# Checks that the model that has failed in $work passes without the mutant.
passes_without() {
    local model case most=20000
    model=$(sed -n 's/^\([a-z0-9_]*\) *FAILED after .*/\1/p' "$work/log")
    [ -n "$model" ] || return 0  # it did not end, or crashed
    patch -s -R -p1 -d "$work" < "$patch"
    case="--model $model --schedules $most"
    build && run
    local passed=$?
    patch -s -F0 -p1 -d "$work" < "$patch" > /dev/null
    return "$passed"
}

# Tries one mutant: $name, in $work.
try() {
    local key status found known label cases
    patch=$patches/$name.patch start=$SECONDS
    config=$(field config "$patch") program=$(field program "$patch") case=$(field case "$patch")
    program=${program:-unit_tests} kind=chosen
    ! sed -n 2p "$patch" | grep -q '^# Generated' || kind=generated
    case $program in
        simulator) files="$(echo tests/simulator/*.cpp) tests/support/pages_posix.cpp" ;;
        faults)
            files=$(echo tests/faults/*.cpp tests/support/{report_log,scheduler_run,threads}.cpp)
            ;;
        allocation_gate) files="tests/main.cpp tests/case_limit.cpp $(echo tests/allocation/*.cpp)" ;;
        *)
            files="tests/main.cpp tests/case_limit.cpp $(echo tests/support/*.cpp)"
            for file in $(field tests "$patch"); do files+=" tests/$file"; done
            ;;
    esac

    # A program has a few mutants in a sample. It spends most of the time in the compiler.
    unity='' optimise=''
    [ -n "$mode" ] || unity=1 optimise=-O0
    ! grep -q '^+++ .*\.h$' "$patch" || unity=1

    # Without the patch the test has to pass. Patches with the same test share this run. A generated
    # mutant has no test of its own: see passes_without.
    key=$(echo "$config $program $files $case" | md5sum | cut -c1-32)
    if [ ! -e "$root/ok-$key" ] && [ "$kind" != generated ]; then
        if ! build || ! run; then
            tail -n 20 "$work/log"
            result failed "NOT SHOWN: the test fails without the mutant too"
            return
        fi
        touch "$root/ok-$key"
        start=$SECONDS
    fi
    if ! patch -s -F0 -p1 -d "$work" < "$patch" > "$work/log" 2>&1; then
        cat "$work/log"
        result failed "NOT SHOWN: the patch does not apply"
        rm -rf "$work"/{source,include}
        cp -r source include "$work"
        return
    fi
    if ! build; then
        tail -n 20 "$work/log"
        result failed "NOT SHOWN: does not build"
    else
        # All models run with a generated mutant. For most of these mutants some model fails within
        # a few schedules. So each model first gets a few schedules.
        label="$config $case" cases=("$case")
        [ "$kind" = chosen ] || cases=("--until-failure --schedules 200"
            "--until-failure --seed 201 --schedules 1800"
            "--until-failure --seed 2001 --schedules 18000")
        for case in "${cases[@]}"; do
            run
            status=$?
            [ "$status" = 0 ] || break
        done
        found=$(sed -n 's/.* FAILED \(after .* schedules: \)seed [0-9]*: /\1/p' "$work/log")
        known=$(grep -c "^| .*\`$name\`" tests/mutants/survivors.md)
        if [ "$status" = 0 ] && [ "$known" != 0 ]; then
            result survives "survives, for the reason in tests/mutants/survivors.md"
        elif [ "$status" = 0 ]; then
            result failed "ESCAPED: $label"
        elif [ "$program" = simulator ] && [ "$status" = 124 ]; then
            result failed "NOT SHOWN: the simulator has not finished"
        elif [ "$kind" = generated ] && ! passes_without; then
            result failed "NOT SHOWN: ${found:-exit $status}, but without the mutant too"
        elif [ "$known" != 0 ]; then
            result failed "CAUGHT, but tests/mutants/survivors.md says that it survives"
        else
            [ "$status" != 124 ] || found="hang"
            result caught "$label (${found:-exit $status})"
        fi
    fi
    patch -s -R -p1 -d "$work" < "$patch"
}

# Each lane takes the next mutant that no other lane has taken.
lane() { # number, names
    work=$root/$1
    shift
    prepare
    for name in "$@"; do
        mkdir "$root/taken/$name" 2> /dev/null && try
    done
}

# Prints the results of each layer. The seconds are those of building and running with the mutant.
summary() { # results
    awk -F '\t' -v OFS='\t' '
        function add(key) {
            ++count[key, $2]; ++all[key]; seconds[key] += $3
            if ($3 >= longest[key] + 0) { longest[key] = $3; who[key] = $1 }
        }
        FNR == NR { layer[$1] = $2; next }
        { add(layer[$1]); add("all") }
        END {
            for (key in all) {
                print key == "all", key, all[key], count[key, "caught"] + 0,
                    count[key, "survives"] + 0, count[key, "failed"] + 0, seconds[key],
                    longest[key] " (" who[key] ")"
            }
        }' "$patches/index" "$1" | sort | cut -f 2- | {
        printf '\n'
        cells='%-20s | %7s | %6s | %8s | %6s | %7s | %s\n'
        # shellcheck disable=SC2059
        printf "$cells" layer mutants caught survives failed seconds longest
        while IFS=$'\t' read -ra columns; do
            # shellcheck disable=SC2059
            printf "$cells" "${columns[@]}"
        done
    }
}

trap 'kill $(jobs -p) 2> /dev/null' EXIT
rm -f "$root"/*/results "$root/results"
row mutant "caught by" seconds
for ((i = 1; i <= jobs; ++i)); do lane "$i" "${names[@]}" & done
wait
cat "$root"/*/results > "$root/results"
[ "$mode" != --full ] || summary "$root/results"
read -r passed survived tried <<< "$(awk -F '\t' '
    { ++count[$2] }
    END { print count["caught"] + 0, count["survives"] + 0, NR }' "$root/results")"
missing=$(($(printf '%s\n' "${names[@]}" | sort -u | wc -l) - tried))
[ "$missing" = 0 ] || echo "$missing not tried"
failed=$((failed + tried - passed - survived + missing))
echo "$survived survive and are documented, $SECONDS s"
echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
