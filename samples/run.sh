#!/usr/bin/env bash
# Builds and runs samples (Release), in the repository's root folder.
#
#     samples/run.sh [NAME|all] [ARGUMENTS...]     the default is frame_loop
set -euo pipefail
cd "$(dirname "$0")/.."

all=$(cd samples && dirname ./*/main.cpp | sed 's|^./||')
case ${1:-} in
    "" | -*) names=(frame_loop) ;;
    all) mapfile -t names <<< "$all"; shift ;;
    *) names=("$1"); shift ;;
esac
for name in "${names[@]}"; do
    [ -f "samples/$name/main.cpp" ] || { echo "no sample $name; there are: ${all//$'\n'/ }" >&2; exit 2; }
done

premake=$(third_party/setup.sh)
mkdir -p build
log=build/samples-build.log
{ "$premake" gmake2 && make -C build/premake -j"$(nproc)" config=release "${names[@]}"; } > "$log" 2>&1 ||
    { cat "$log" >&2; exit 1; }

for name in "${names[@]}"; do
    [ "${#names[@]}" = 1 ] || echo "== $name"
    "build/Release/$name" "$@"
done
