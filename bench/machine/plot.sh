#!/usr/bin/env bash
# bench/machine/plot.sh CURVES.csv PLOT.svg: efficiency on 2 to 128 cores, one panel for each price of a cache line.
set -euo pipefail

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
workloads=(0.5us 2us 10us 64_of_200us 16_of_1ms)
for transfer in 40 80 160; do
    for workload in "${workloads[@]}"; do
        awk -F, -v w="$workload" -v t="$transfer" '$1 == w && $2 == t { print $3, $4 }' "$1" > "$work/$workload-$transfer"
    done
done

gnuplot <<PLOT
set terminal svg size 1200,420 font 'sans,13' background rgb 'white'
set output '$2'
set multiplot layout 1,3
set logscale x 2
set xrange [1.8:140]
set yrange [0:1.05]
set xtics (2, 4, 8, 16, 32, 64, 128)
set grid lc rgb '#dddddd'
set xlabel 'workers'
set key bottom left noenhanced
do for [transfer in '40 80 160'] {
    set title 'a cache line in '.transfer.' ns'
    set ylabel (transfer eq '40' ? 'ideal time / time' : '')
    plot for [workload in '${workloads[*]}'] '$work/'.workload.'-'.transfer using 1:2 with linespoints lw 2 pt 7 ps 0.5 title workload
}
unset multiplot
PLOT
