#!/usr/bin/env bash
# Builds and runs the benchmarks, and prints the table. The machine should have nothing else to do.
#
#     bench/run.sh                            11 rounds of every row; writes bench/results/
#     bench/run.sh --quick [--csv FILE]       3 rounds, under 4 minutes; keeps bench/results/
#     bench/run.sh --only TEXT [--csv FILE]   11 rounds of the rows whose name contains TEXT
#
# The name of a row is workload/system/workers. Without options the script writes
# bench/results/<processor>.csv and the plots.
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

# Installs the other systems, for the version of Boost that is installed.
third_party/setup.sh > /dev/null
boost=$(dpkg-query -W -f='${Package}\n' 'libboost-context*-dev' | sed -n 's/libboost-context\(.*\)-dev/\1/p' | tail -n 1)
premake=$(third_party/setup.sh libtbb-dev "libboost-fiber$boost-dev" liburing-dev gnuplot-nox)
"$premake" gmake2 > /dev/null
make -C build/premake --no-print-directory -j"$(nproc)" config=release bench > build/bench.log 2>&1 ||
    { tail -n 30 build/bench.log; exit 1; }

results=bench/results/$(build/Release/bench --processor)
if [ -z "$quick$only" ] && [ -z "$csv" ]; then csv=$results.csv; fi
build/Release/bench --rounds "$rounds" ${only:+--only "$only"} ${csv:+--csv "$csv"}
if [ "$csv" = "$results.csv" ]; then bench/plot.sh "$csv" "$results.svg"; fi
