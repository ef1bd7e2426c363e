#!/usr/bin/env bash
# Each ```cpp block of README.md compiles on its own, after blocks.h, which has what it takes from around it.
#
# A block has to be declarations: statements go into a function, in the README too. Errors name the line of README.md.
# Nothing is built but in a temporary folder.
set -uo pipefail
cd "$(dirname "$0")/../.." || exit

passed=0 failed=0
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# A block may have an argument or a result that it does not use.
check=(g++ -std=c++20 -Wall -Wextra -Werror -Wno-unused-parameter -Wno-unused-variable -Wno-unused-function
    "-I$work" -Iinclude -Itests/readme)

# What all blocks include, compiled once.
if ! "${check[@]}" -x c++-header -o "$work/blocks.h.gch" tests/readme/blocks.h; then
    echo "0 passed, 1 failed"
    exit 1
fi

# Block by block into WORK/LINE.cpp; the line is that of the block's first one.
awk -v work="$work" '
    /^ *```/ && file { close(file); file = ""; next }
    /^ *```cpp *$/ { file = sprintf("%s/%05d.cpp", work, NR + 1)
                     printf "#include \"blocks.h\"\n#line %d \"README.md\"\n", NR + 1 > file; next }
    file { print > file }' README.md

# shellcheck disable=SC2016
find "$work" -name '*.cpp' -print0 | xargs -0 -P "${WEFT_JOBS:-$(nproc)}" -I '{}' \
    sh -c 'block=$1; shift; "$@" "$block" > "$block.log" 2>&1 && : > "$block.passed"' - '{}' \
    "${check[@]}" -fsyntax-only

for block in "$work"/*.cpp; do
    if [ ! -e "$block" ]; then
        failed=1
        echo "FAILED: there is no \`\`\`cpp block in README.md"
    elif [ -e "$block.passed" ]; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        tail -n 60 "$block.log"
        line=${block##*/}
        echo "FAILED: README.md, the block at line $((10#${line%.cpp}))"
    fi
done

echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
