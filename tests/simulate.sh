#!/usr/bin/env bash
# Explores schedules of the production sources on virtual threads, for each model of
# tests/simulator/. If a seed fails, the script prints the command that replays it. The last line
# but one has the figures.
#
#     tests/simulate.sh [SCHEDULES [SEED]]   schedules of each model (60,000), from this seed on
#                                            (1); all models, on all cores
#     tests/simulate.sh --full               5,000,000 schedules of each model
#     tests/simulate.sh --weak ...           loads may return older values, see
#                                            simulator/weak_memory.h (15,000; --full: 1,000,000)
#     tests/simulate.sh [--weak] --replay MODEL SEED
#                                            one schedule, step by step: the thread, its access, the
#                                            place in the source
#
# Slow models explore a part of the schedules. The figure `distinct` counts schedules that differ
# within one model.
set -euo pipefail
cd "$(dirname "$0")/.."

case ${1:-} in
    '' | --full | --weak | --replay | [0-9]*) ;;
    *) sed -n '6,13s/^# \{0,1\}//p' tests/simulate.sh >&2; exit 2 ;;
esac
mkdir -p build/test-logs
"$(third_party/setup.sh catch2)" gmake2 > build/test-logs/premake.log
log=build/test-logs/simulator-build.log
make -C build/premake --no-print-directory -j"$(nproc)" config=release simulator > "$log" 2>&1 ||
    { tail -n 100 "$log"; exit 1; }
simulator=build/Release/simulator

weak="" schedules=60000 full=5000000
if [ "${1:-}" = --weak ]; then shift; weak=--weak schedules=15000 full=1000000; fi

if [ "${1:-}" = --replay ]; then
    steps=$(mktemp) places=$(mktemp)
    trap 'rm -f "$steps" "$places"' EXIT
    "$simulator" $weak --model "$2" --seed "$3" --schedules 1 --steps > "$steps" || true
    # For each place prints the innermost function that does not belong to the simulated atomic, and
    # the function into which it is inlined.
    awk '$2 == "thread" {print $5}' "$steps" | sort -u > "$places.raw"
    addr2line -aifCe "$simulator" < "$places.raw" | awk '
        function finish() { if (place != "") print place "\t" name (outer != name ? " in " outer : "") "\t" file }
        /^0x/ { finish(); place = $1; sub(/^0x0*/, "0x", place); name = ""; next }
        { outer = $0; gsub(/weft::internal::|\(anonymous namespace\)::|\(.*/, "", outer); getline line
          if (name != "" || line ~ /env_simulator\.h/) next
          name = outer; sub(/ \(discriminator.*/, "", line); n = split(line, parts, "/"); file = parts[n-1] "/" parts[n] }
        END { finish() }' > "$places"
    rm "$places.raw"
    awk -F'\t' 'NR == FNR { text[$1] = $2 "  (" $3 ")"; next }
                match($0, /0x[0-9a-f]+$/) { place = substr($0, RSTART); print substr($0, 1, RSTART - 1) text[place]; next } { print }' \
        "$places" "$steps"
    exit
fi

[ "${1:-}" != --full ] || schedules=$full
[[ ! ${1:-} =~ ^[0-9]+$ ]] || schedules=$1
begin=$SECONDS status=0
models=$("$simulator" $weak --list)
results=$(xargs -P "$(nproc)" -I '{}' \
    "$simulator" $weak --schedules "$schedules" --seed "${2:-1}" --model '{}' <<< "$models" | grep -vE '^[0-9]+ (passed|distinct)') || status=1
echo "$results"
echo "$results" | awk -v seconds=$((SECONDS - begin)) '/FAILED/ {failed++} / distinct of / {models++; distinct += $2; all += $5}
    / of [0-9]+ cells$/ {explored += $(NF - 3); cells += $(NF - 1)}
    END {printf "%d models, %d schedules, %d distinct, %d of %d cells, %d failing, %d s\n", models + failed, all, distinct, explored, cells, failed, seconds
         printf "%d passed, %d failed\n", models, failed
         exit failed != 0 || models == 0}' || status=1
exit "$status"
