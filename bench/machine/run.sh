#!/usr/bin/env bash
# Writes the results of the machine in virtual time again. They are the same on every machine. It
# takes some minutes of one core.
#
#     bench/machine/run.sh [RESULTS.csv]
#
# It writes these files in bench/results/: virtual_time.csv and .svg, core_layouts.csv, and
# calibration.txt, which compares the model with RESULTS.csv.
set -euo pipefail
cd "$(dirname "$0")/../.."
measured=${1:-bench/results/AMD-EPYC.csv}

"$(third_party/setup.sh gnuplot-nox)" gmake2 > /dev/null
make -C build/premake --no-print-directory -j"$(nproc)" config=release machine > build/machine.log 2>&1 ||
    { tail -n 30 build/machine.log; exit 1; }

machine=build/Release/machine
$machine calibrate "$measured" | tee bench/results/calibration.txt
$machine curves --frame bench/frame/aaa.frame > build/virtual_time.csv
mv build/virtual_time.csv bench/results/virtual_time.csv
$machine layouts bench/frame/aaa.frame > bench/results/core_layouts.csv
bench/machine/plot.sh bench/results/virtual_time.csv bench/results/virtual_time.svg
