#!/usr/bin/env bash
# Makes an animation of the sample frame_loop: four seconds of the walk, with the graph of the frames.
#
#     samples/frame_loop/film.sh FILE.gif
#
# Installs ImageMagick (third_party/setup.sh). The machine should have nothing else to do, since the
# graph shows how long the frames took.
set -euo pipefail
file=$(realpath "${1:?the name of the file}")
cd "$(dirname "$0")/../.."
third_party/setup.sh imagemagick > /dev/null
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
samples/run.sh frame_loop --film --frames 240 --size 512x320 --out "$folder"
# A picture stands for 8 frames of 1/60 s. The same palette for all, and only what changes is stored.
convert -delay 13 -loop 0 "$folder"/frame_*.png +dither -colors 48 -fuzz 4% \
    -layers OptimizeTransparency "$file"
ls -l "$file"
