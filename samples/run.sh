#!/usr/bin/env bash
# Builds samples (Release) and runs them in the root folder of the repository.
#
#     samples/run.sh [NAME|all] [ARGUMENTS...]     the default is frame_loop
#     samples/run.sh frame_loop --report FILE.html [ARGUMENTS...]
#     samples/run.sh frame_loop --window [ARGUMENTS...]
#
# `--report` records the frames, and makes a page that shows what each frame did. The recording and
# small pictures of the frames are beside it: FILE.weft and FILE.weft.pictures/.
# `--window` opens a window, for which SDL2 is installed.
# `all` runs each sample, and says at the end which ones failed.
# It installs the toolchain, for frame_loop libpng and a level, and for async_io liburing
# (third_party/setup.sh). The output of the build is in build/samples-build.log. The script shows it
# if a sample does not build.
set -euo pipefail
cd "$(dirname "$0")/.."

all=$(cd samples && dirname ./*/main.c* | sed 's|^./||')
case ${1:-} in
    "" | -*) names=(frame_loop) ;;
    all) mapfile -t names <<< "$all"; shift ;;
    *) names=("$1"); shift ;;
esac
for name in "${names[@]}"; do
    [ -f "samples/$name/main.cpp" ] || [ -f "samples/$name/main.c" ] ||
        { echo "no sample $name; there are: ${all//$'\n'/ }" >&2; exit 2; }
done

report=
if [ "${names[*]}" = frame_loop ]; then
    arguments=()
    while [ $# != 0 ]; do
        case $1 in
            --report) report=${2:?--report needs the name of a file}; shift ;;
            --report=*) report=${1#*=} ;;
            *) arguments+=("$1") ;;
        esac
        shift
    done
    set -- "${arguments[@]}"
fi
targets=("${names[@]}")
[ -z "$report" ] || targets+=(weft_trace)

needs=()
[[ " ${names[*]} " != *" frame_loop "* ]] || needs=(libpng-dev freedoom)
[[ " ${names[*]} " != *" async_io "* ]] || needs+=(liburing-dev)
[[ " ${names[*]} $* " != *" frame_loop "*" --window "* ]] || needs+=(libsdl2-dev)
premake=$(third_party/setup.sh "${needs[@]}")
export WEFT_UNITY=${WEFT_UNITY-1}  # a shorter build: third_party/unity/unity.lua
mkdir -p build
log=build/samples-build.log
echo "building ${targets[*]}" >&2
{ "$premake" gmake2 && make -C build/premake -j"$(nproc)" config=release "${targets[@]}"; } \
    > "$log" 2>&1 || { cat "$log" >&2; exit 1; }

if [ -n "$report" ]; then
    recording=${report%.html}.weft
    build/Release/frame_loop --record "$recording" "$@"
    build/Release/weft_trace "$recording" --to html --title "weft: samples/frame_loop" \
        --pictures "$recording.pictures" --out "$report"
    echo "report       $report"
    exit
fi
if [ "${#names[@]}" = 1 ]; then exec "build/Release/${names[0]}" "$@"; fi
failed=()
for name in "${names[@]}"; do
    echo "== $name"
    "build/Release/$name" "$@" || failed+=("$name")
done
[ "${#failed[@]}" = 0 ] || { echo "failed: ${failed[*]}" >&2; exit 1; }
