#!/usr/bin/env bash
# Builds and runs the benchmarks, and prints the table; the machine should have nothing else to do.
#
#     bench/run.sh                            11 rounds of every row; bench/results/<processor>.csv and the plots anew
#     bench/run.sh --quick [--csv FILE]       3 rounds, under 4 minutes; nothing in bench/results/ changes
#     bench/run.sh --only TEXT [--csv FILE]   11 rounds of the rows in whose "workload/system/workers" TEXT occurs
#
# It installs what it needs: the systems that weft is measured beside (oneTBB, Boost.Fiber; OpenMP is
# part of g++), and gnuplot (third_party/setup.sh).
set -euo pipefail
cd "$(dirname "$0")/.."

quick= only= csv= rounds=11
while [ $# != 0 ]; do
    case $1 in
        --quick) quick=yes rounds=3 ;;
        --only) only=$2; shift ;;
        --csv) csv=$(realpath "$2"); shift ;;
        *) sed -n '2,6s/^# \{0,1\}//p' "$0"; exit 2 ;;
    esac
    shift
done

# The peers, in the version of Boost that is there already.
third_party/setup.sh > /dev/null
boost=$(dpkg-query -W -f='${Package}\n' 'libboost-context*-dev' | sed -n 's/libboost-context\(.*\)-dev/\1/p' | tail -n 1)
premake=$(third_party/setup.sh libtbb-dev "libboost-fiber$boost-dev" gnuplot-nox)
"$premake" gmake2 > /dev/null
make -C build/premake --no-print-directory -j"$(nproc)" config=release bench > build/bench.log 2>&1 ||
    { tail -n 30 build/bench.log; exit 1; }

results=bench/results/$(build/Release/bench --processor)
if [ -z "$quick$only" ] && [ -z "$csv" ]; then csv=$results.csv; fi
build/Release/bench --rounds "$rounds" ${only:+--only "$only"} ${csv:+--csv "$csv"}
if [ "$csv" = "$results.csv" ]; then bench/plot.sh "$csv" "$results.svg"; fi
