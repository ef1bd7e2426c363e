#!/usr/bin/env bash
# Checks the documents:
#
#     tests/readme/run.sh
#     tests/readme/run.sh --pages DOCUMENT... --headers HEADER... --options OPTION...
#
# The second form compiles the blocks of other pages, which need these headers and options of g++.
# It checks nothing else. tests/adapters.sh and tests/engines.sh use it.
#
#     blocks    Each ```cpp block of README.md and of the pages in samples/, include/weft/ and
#               bench/ compiles on its own, after blocks.h, which declares what its surroundings
#               provide. A block must consist of declarations: statements go into a function. Each
#               ```c block compiles as C99, after stdio.h and weft/weft.h.
#     links     The target of each relative link exists, in all documents. If the link names a
#               heading, the heading exists, too.
#     lines     The documents that are read first are not longer than a limit.
#
# An error names the file and the line. All output is in a temporary folder.
set -uo pipefail
cd "$(dirname "$0")/../.." || exit

passed=0 failed=0
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fail() { # what
    failed=$((failed + 1))
    echo "FAILED: $1"
}

with_blocks=() headers=() options=() list=with_blocks
for argument in "$@"; do
    case $argument in
        --pages) list=with_blocks ;;
        --headers) list=headers ;;
        --options) list=options ;;
        *) declare -n to=$list; to+=("$argument") ;;
    esac
done

finish() {
    echo "$passed passed, $failed failed"
    [ "$failed" = 0 ]
    exit
}

mapfile -t documents < <(find . -name '*.md' -not -path './.*' -not -path './build/*' | sed 's|^\./||' | sort)
[ "$#" != 0 ] || mapfile -t with_blocks < <(printf '%s\n' "${documents[@]}" | grep -E '^((include/weft/(trace/)?|bench/)?README\.md|samples/.*)$')

# ---- blocks

# A block may have an unused argument or result.
check=(g++ -std=c++20 -Wall -Wextra -Werror -Wno-unused-parameter -Wno-unused-variable -Wno-unused-function
    -Iinclude -I. "${options[@]}")

check_c=(gcc -std=c99 -Wall -Wextra -Wpedantic -Werror -Wno-unused-parameter -Wno-unused-variable -Wno-unused-function
    -Iinclude -include stdio.h -include weft/weft.h)

# Compiles once what all C++ blocks include.
printf '#include "%s"\n' tests/readme/blocks.h "${headers[@]}" > "$work/before.h"
if ! "${check[@]}" -x c++-header -o "$work/before.h.gch" "$work/before.h"; then
    echo "0 passed, 1 failed"
    exit 1
fi

# Writes each block into WORK/FILE:LINE.cpp or .c, with a comma for each slash. LINE is the first
# line of the block.
awk -v work="$work" '
    FNR == 1 { file = ""; flat = FILENAME; gsub("/", ",", flat) }
    /^ *```/ && file { close(file); file = ""; next }
    /^ *```cpp *$/ { file = sprintf("%s/%s:%d.cpp", work, flat, FNR + 1)
                     printf "#include \"before.h\"\n#line %d \"%s\"\n", FNR + 1, FILENAME > file; next }
    /^ *```c *$/ { file = sprintf("%s/%s:%d.c", work, flat, FNR + 1)
                   printf "#line %d \"%s\"\n", FNR + 1, FILENAME > file; next }
    file { print > file }' "${with_blocks[@]}"

compile() { # pattern of the blocks' names, compiler with options
    # shellcheck disable=SC2016
    find "$work" -name "$1" -print0 | xargs -0 -P "${WEFT_JOBS:-$(nproc)}" -I '{}' \
        sh -c 'block=$1; shift; "$@" "$block" > "$block.log" 2>&1 && : > "$block.passed"' - '{}' \
        "${@:2}" -fsyntax-only
}
compile '*.cpp' "${check[@]}"
compile '*.c' "${check_c[@]}"

for document in "${with_blocks[@]}"; do
    case $document in README.md | samples/*/README.md | third_party/adapters/*) ;; *) continue ;; esac
    compgen -G "$work/${document//\//,}:*.c*" > "$work/found" ||
        fail "$document: there is no \`\`\`cpp or \`\`\`c block"
done
shopt -s nullglob
for block in "$work"/*.cpp "$work"/*.c; do
    place=${block##*/} place=${place%.c*} place=${place//,//}
    if [ -e "$block.passed" ]; then
        passed=$((passed + 1))
    else
        tail -n 60 "$block.log"
        fail "$place: the block does not compile"
    fi
done

[ "$#" = 0 ] || finish

# ---- links

# Prints the headings of a document in the form of GitHub anchors, one on a line.
anchors_of() { # document
    awk '/^ *```/ { inside = !inside }
         !inside && /^#+ / { sub(/^#+ */, ""); text = tolower($0); gsub(/[^a-z0-9 _-]/, "", text); gsub(/ /, "-", text)
                             print text (seen[text]++ ? "-" seen[text] - 1 : "") }' "$1"
}

# Writes FILE:LINE TARGET for each link outside of code.
awk 'FNR == 1 { inside = 0 }
     /^ *```/ { inside = !inside; next }
     inside || /^    / { next }
     { gsub(/`[^`]*`/, "")
       while (match($0, /\]\([^) ]+\)/)) {
           print FILENAME ":" FNR " " substr($0, RSTART + 2, RLENGTH - 3)
           $0 = substr($0, RSTART + RLENGTH) } }' "${documents[@]}" > "$work/links"

while read -r place target; do
    case $target in http://* | https://* | mailto:*) continue ;; esac
    document=${place%:*} anchor=
    [[ $target != *#* ]] || anchor=${target#*#}
    target=${target%%#*}
    path=$document
    [ -z "$target" ] || path=$(dirname "$document")/$target
    if [ ! -e "$path" ]; then
        fail "$place: there is no $target"
    elif [ -z "$anchor" ] || anchors_of "$path" | grep -qxF -- "$anchor"; then
        passed=$((passed + 1))
    else
        fail "$place: there is no heading #$anchor in $path"
    fi
done < "$work/links"

# ---- lines

while read -r document most; do
    lines=$(wc -l < "$document")
    if [ "$lines" -le "$most" ]; then
        passed=$((passed + 1))
    else
        fail "$document:$lines: has $lines lines, and may have $most"
    fi
done << 'LIMITS'
README.md 200
source/README.md 150
tests/README.md 150
LIMITS

finish
