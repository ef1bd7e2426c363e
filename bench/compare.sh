#!/usr/bin/env bash
# Compares two states of weft, row by row. The machine should have nothing else to do.
#
#     bench/compare.sh OLD NEW [--only TEXT] [--rounds N] [--least K]
#     bench/compare.sh --quick
#
# OLD, NEW   git revisions; `.` is the working tree
# --only     the rows whose name (workload/system/workers) contains TEXT
# --rounds   at most this many rounds, 11 to 1000 (42)
# --least    a measurement is the least of K in one process (1)
# --quick    compares a few rows of the working tree with the commit in bench/landed; a row fails
#            if three measurements in sequence each take more than 1.1 times as long
#
# The rows are those that `bench` measures of weft. A commit is built once, and kept in
# build/compare/. A measurement of --quick has five rounds, with --least 3.
#
# In a round each row is measured in OLD and right after that in NEW. The next round has the
# opposite order. Each measurement is a process of its own. In all rows less is better, so a ratio
# NEW / OLD below 1 is a gain.
#
# If other programs use the processors, --least 3 decides far more rows. But it hides what happens
# only sometimes: two workers that contend for a cache line in one run and not in the next, or the
# slow one of a hundred wake-ups.
#
# The rule. Each measured ratio lies above or below the true median of the ratios with a chance of
# one half, whatever their distribution is. So the number of ratios below it is as random as the
# number of heads in as many tosses of a coin. The interval from the k-th smallest to the k-th
# greatest ratio misses the true median only if fewer than k ratios lie below it, or fewer than k
# above it. The script looks at a row after 13, 19, 28, 42 rounds and so on (each time half more),
# and after the last round. k is the greatest number for which the intervals of all looks at a row
# together miss with a chance of at most one in a thousand.
#
#     level     the interval lies in 0.97 to 1.03
#     faster    the interval lies below 1, and the median of the measured ratios is below 0.97
#     slower    the interval lies above 1, and the median of the measured ratios is above 1.03
#     open      none of these yet
#
# A row with another verdict than "open" is not measured again.
#
# It installs the toolchain and Boost.Fiber (third_party/setup.sh).
set -euo pipefail
cd "$(dirname "$0")/.."

usage() { sed -n '4,13s/^# \{0,1\}//p' bench/compare.sh >&2; exit 2; }
only='' most=42 least=1 quick= revisions=()
while [ $# != 0 ]; do
    case $1 in
        --only) only=${2-}; shift ;;
        --rounds) most=${2-}; shift ;;
        --least) least=${2-}; shift ;;
        --quick) quick=1 least=3 revisions=("$(cat bench/landed)" .) ;;
        -*) usage ;;
        *) revisions+=("$1") ;;
    esac
    shift || usage
done
if [[ ${#revisions[@]} != 2 || ! $most =~ ^[1-9][0-9]{0,3}$ || ! $least =~ ^[1-9][0-9]{0,2}$ ]]; then usage; fi
if ((most < 11 || most > 1000)); then usage; fi

# Boost's headers make the build link Boost.Fiber, which is a package of its own.
third_party/setup.sh > /dev/null
boost=$(dpkg-query -W -f='${Package}\n' 'libboost-context*-dev' | sed -n 's/libboost-context\(.*\)-dev/\1/p' | tail -n 1)
premake=$(third_party/setup.sh "libboost-fiber$boost-dev")

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

build() { # folder
    echo "building bench in ${1#"$PWD"/}" >&2
    cd "$1"
    "$premake" gmake2 > /dev/null
    make -C build/premake --no-print-directory -j"$(nproc)" config=release bench > build/bench.log 2>&1 ||
        { tail -n 30 build/bench.log >&2; exit 1; }
}

# Lists the rows. Measures them once only if this version of bench has no --list.
list_rows() { # folder with a bench; writes rows there
    cd "$1"
    build/Release/bench --list > all_rows 2> /dev/null || {
        echo "running the rows once, to see which there are" >&2
        build/Release/bench --rounds 1 --only /weft/ --csv rows.csv > /dev/null
        awk -F, 'NR > 1 { print $1 "/" $2 "/" $3 }' rows.csv > all_rows
    }
    grep /weft/ all_rows > rows
}

# Sets `folder` to a folder in which build/Release/bench can run. Its file `rows` has the names.
prepare() { # revision
    local id part=build/compare/part
    rm -rf "$part"
    mkdir -p "$part"
    if [ "$1" = . ]; then
        (build .)
        folder=$PWD/build/compare/tree
        mkdir -p "$part/build/Release" "$part/bench"
        cp build/Release/bench "$part/build/Release"
        cp -r bench/frame "$part/bench"
    else
        id=$(git rev-parse --verify --quiet "$1^{commit}") || { echo "bench/compare.sh: no revision $1" >&2; exit 1; }
        folder=$PWD/build/compare/$id
        if [ -d "$folder" ]; then return; fi
        git archive "$id" | tar -x -C "$part"
        (build "$part")
        rm -rf "$part/build/obj"
    fi
    (list_rows "$part")
    rm -rf "$folder"
    mv "$part" "$folder"
}
prepare "${revisions[0]}"
old=$folder
prepare "${revisions[1]}"
new=$folder

named() { grep -F -- "$only" "$1/rows" || true; }
while read -r row; do
    grep -Fxq "$row" "$new/rows" || echo "$row: only in ${revisions[0]}"
done < <(named "$old")
rows=()
while read -r row; do
    if grep -Fxq "$row" "$old/rows"; then rows+=("$row"); else echo "$row: only in ${revisions[1]}"; fi
done < <(named "$new")
[ ${#rows[@]} != 0 ] || { echo "bench/compare.sh: no row to compare" >&2; exit 1; }

# Prints one more measurement. `--only` may find several rows, so the row is looked up.
measure() { # folder, row
    (cd "$1" && build/Release/bench --rounds "$least" --only "$2" --csv "$work/csv" > /dev/null) &&
        awk -F, -v row="$2" '$1 "/" $2 "/" $3 == row { print $6; found = 1 } END { exit !found }' "$work/csv"
}

samples=build/compare/samples
rm -rf "$samples"
sample() { # row, round; adds the round, OLD's cost and NEW's to the row's file
    local of_old of_new
    if (($2 % 2)); then
        of_old=$(measure "$old" "$1") && of_new=$(measure "$new" "$1") || return
    else
        of_new=$(measure "$new" "$1") && of_old=$(measure "$old" "$1") || return
    fi
    mkdir -p "$samples/${1%/*}"
    echo "$2 $of_old $of_new" >> "$samples/$1"
}

# Prints both medians, the median of the ratios, its interval, and the verdict.
verdict() { # row, how often it is looked at in all
    awk -v looks="$2" '
        function sort(values, n,   i, j, value) {
            for (i = 2; i <= n; ++i) {
                value = values[i]
                for (j = i - 1; j >= 1 && values[j] > value; --j) values[j + 1] = values[j]
                values[j + 1] = value
            }
        }
        function median(values, n) { return (values[int((n + 1) / 2)] + values[int((n + 2) / 2)]) / 2 }
        # Returns the greatest k for which the chance of fewer than k heads, or fewer than k tails,
        # is at most `chance`. Returns 0 if there is none.
        function rank(n, chance,   k, exactly, fewer) {
            exactly = 0.5 ^ n
            for (k = 0; 2 * (fewer + exactly) <= chance; ++k) {
                fewer += exactly
                exactly *= (n - k) / (k + 1)
            }
            return k
        }
        function shown(ratio) { return ratio < 1e6 ? sprintf("%.3f", ratio) : "inf" }
        {
            old[NR] = $2 + 0
            new[NR] = $3 + 0
            ratio[NR] = $2 == $3 ? 1 : $2 > 0 ? $3 / $2 : 1e9  # shares and counts may be zero
        }
        END {
            sort(old, NR)
            sort(new, NR)
            sort(ratio, NR)
            middle = median(ratio, NR)
            k = rank(NR, 0.001 / looks)
            low = k ? ratio[k] : 0
            high = k ? ratio[NR + 1 - k] : 1e9
            verdict = low >= 0.97 && high <= 1.03 ? "level" : high < 1 && middle < 0.97 ? "faster" : \
                      low > 1 && middle > 1.03 ? "slower" : "open"
            printf "%.5g %.5g %s %s %s %s\n", median(old, NR), median(new, NR), shown(middle), shown(low), shown(high), verdict
        }' "$samples/$1"
}

if [ -n "$quick" ]; then
    passed=0 failed=0
    for row in bulk_1000/weft/1 one_by_one/weft/1 fork_join_fused/weft/1 tree/weft/1 hand_over/weft/1; do
        if [[ " ${rows[*]} " != *" $row "* ]]; then continue; fi
        for ((try = 1; try <= 3; ++try)); do
            rm -f "$samples/$row"
            for ((round = 1; round <= 5; ++round)); do sample "$row" "$round"; done
            read -r of_old of_new ratio _ < <(verdict "$row" 1)
            echo "$row: $of_old ns in ${revisions[0]:0:7}, $of_new now, ratio $ratio"
            if awk "BEGIN { exit !($ratio <= 1.1) }"; then break; fi
        done
        if [ "$try" -le 3 ]; then passed=$((passed + 1)); else failed=$((failed + 1)); echo "FAILED: $row"; fi
    done
    echo "$passed passed, $failed failed"
    [ "$failed" = 0 ]
    exit
fi

looks=()
for ((look = 13; look < most; look = look * 3 / 2)); do looks+=("$look"); done
looks+=("$most")

declare -A count=()
line() { printf '%-34s %10s %10s %7s  %15s  %-7s %6s\n' "$@"; }
echo "${revisions[0]} (old) and ${revisions[1]} (new)"
line workload/system/workers old new new/old interval verdict rounds
for ((round = 1; round <= most && ${#rows[@]} != 0; ++round)); do
    [ ! -t 2 ] || printf 'round %d of %d, %d rows \r' "$round" "$most" "${#rows[@]}" >&2
    undecided=()
    for row in "${rows[@]}"; do
        if ! sample "$row" "$round"; then
            echo "$row: cannot be measured"
            count[failed]=$((${count[failed]-0} + 1))
            continue
        fi
        if [[ " ${looks[*]} " = *" $round "* ]]; then
            read -r of_old of_new ratio low high verdict < <(verdict "$row" "${#looks[@]}")
            if [ "$verdict" != open ] || [ "$round" = "$most" ]; then
                line "$row" "$of_old" "$of_new" "$ratio" "$low to $high" "$verdict" "$round"
                count[$verdict]=$((${count[$verdict]-0} + 1))
                continue
            fi
        fi
        undecided+=("$row")
    done
    rows=("${undecided[@]}")
done
echo "${count[level]-0} level, ${count[faster]-0} faster, ${count[slower]-0} slower, ${count[open]-0} open, ${count[failed]-0} failed"
