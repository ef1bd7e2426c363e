#!/usr/bin/env bash
# Plots the time of a task in each system, with one worker and with two.
#
#     bench/plot.sh RESULTS.csv PLOT.svg
set -euo pipefail

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
workloads=(bulk_1 bulk_8 bulk_64 bulk_1000 bulk_65536 one_by_one fork_join fork_join_fused tree producers_consumers sum)
systems=(weft onetbb openmp mutex_pool)

for workers in 1 2; do
    {
        echo "workload ${systems[*]}"
        for workload in "${workloads[@]}"; do
            printf '%s' "${workload//_/-}"
            for system in "${systems[@]}"; do
                awk -F, -v w="$workload" -v s="$system" -v n="$workers" \
                    '$1 == w && $2 == s && $3 == n { print " " $5; found = 1 } END { if (!found) print " -" }' "$1" |
                    tr -d '\n'
            done
            echo
        done
    } > "$work/$workers.dat"
done

gnuplot <<PLOT
set terminal svg size 1000,900 font 'sans,13' background rgb 'white'
set output '$2'
set multiplot layout 2,1
set datafile missing '-'
set style data histogram
set style histogram clustered gap 1
set style fill solid 0.9 border rgb 'white'
set boxwidth 1
set logscale y
set yrange [1:*]
set grid ytics lc rgb '#dddddd'
set ylabel 'nanoseconds per task, lower is better'
set xtics rotate by -25 noenhanced
set key top left horizontal noenhanced
set linetype 1 lc rgb '#c0392b'
set linetype 2 lc rgb '#2e6da4'
set linetype 3 lc rgb '#8e9aa6'
set linetype 4 lc rgb '#d5b25c'
set title 'One worker'
# OpenMP has no task for others with one thread.
plot for [i in '2 3 5'] '$work/1.dat' using int(i):xtic(1) title columnheader(int(i)) lt int(i) - 1
set title 'Two workers'
plot for [i = 2:${#systems[@]} + 1] '$work/2.dat' using i:xtic(1) title columnheader(i) lt i - 1
unset multiplot
PLOT
