#!/usr/bin/env bash
# Plots the efficiency on 2 to 128 cores, one panel for each cost of a cache line transfer.
#
#     bench/machine/plot.sh CURVES.csv PLOT.svg
set -euo pipefail

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
workloads=(0.5us 2us 10us 64_of_200us 16_of_1ms frame frame_greedy)
for transfer in 40 80 160; do
    for workload in "${workloads[@]}"; do
        awk -F, -v w="$workload" -v t="$transfer" '$1 == w && $2 == t { print $3, $4 }' "$1" > "$work/$workload-$transfer"
    done
done

gnuplot <<PLOT
set terminal svg size 1200,440 font 'sans,13' background rgb 'white'
set output '$2'
set multiplot layout 1,3
set logscale x 2
set xrange [1.8:142]
set yrange [0:1.03]
set xtics (2, 4, 8, 16, 32, 64, 128)
set ytics 0.1 format '%.1f'
set grid xtics ytics back lt 1 lc rgb '#dddddd'
set xlabel 'workers'
titles = "'128 tasks of 0.5 µs a worker' '128 of 2 µs a worker' '128 of 10 µs a worker' '64 of 200 µs' '16 of 1 ms' 'AAA frame, 1,000 tasks' 'the frame, scheduled at no cost'"
colours = '#cc3311 #ee9900 #009e73 #56b4e9 #0055aa'
do for [i = 1:5] { set linetype i lw 2 pt 7 ps 0.5 lc rgb word(colours, i) }
set linetype 6 lw 2.5 dt 2 pt 7 ps 0.5 lc rgb 'black'
set linetype 7 lw 2 dt 3 pt 0 lc rgb '#555555'
do for [transfer in '40 80 160'] {
    set title 'a cache line in '.transfer.' ns'
    set ylabel (transfer eq '40' ? 'ideal time / time' : '')
    if (transfer eq '40') { set key bottom left Left reverse samplen 2 } else { unset key }
    plot for [i = 1:7] '$work/'.word('${workloads[*]}', i).'-'.transfer using 1:2 with linespoints \
        lt i title word(titles, i)
}
unset multiplot
PLOT
