#!/usr/bin/env bash
# Checks the tables "their call | weft's call" of samples/coming_from/: each code in the column of
# weft must compile, with what coming_from.h declares around it, or name something of weft.
#
#     tests/readme/coming_from.sh
#
#     code in the table                      how it is checked
#     scheduler.Stop(), weft::Counter c      compiles as a statement
#     Type::Call(...), Type::member = ...    compiles for an object of this type
#     Stop()                                 compiles as a call of `scheduler`
#     Type::member                           the type has this member, or the enumeration this value
#     weft::Name                             there is this name
#     Name                                   a public header has this word
#
# An error names the page and the line. The last line has the sum. Output is in a temporary folder.
set -uo pipefail
cd "$(dirname "$0")/../.." || exit
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
passed=0 failed=0
fail() { # what
    failed=$((failed + 1))
    echo "FAILED: $1"
}

# Prints FILE:LINE CODE for each code in the second column of a page's first table.
codes_of() { # page
    awk -F ' [|] ' '/^\| .* \| weft \|$/ && !seen { inside = seen = 1; next }
        !/^\|/ { inside = 0 }
        inside && !/^\|---/ {
            while (match($2, /`[^`]*`/)) {
                print FILENAME ":" FNR " " substr($2, RSTART + 1, RLENGTH - 2)
                $2 = substr($2, RSTART + RLENGTH) } }' "$1"
}

# Prints the statement that checks a code. Prints nothing if the code is a word for the search in
# the headers.
statement_of() { # code
    local code=${1%;}
    code=${code//\{ ... \}/\{\}} code=${code//filters.../filters()}
    case $code in *', time)') code="${code%'time)'}time_)" ;; esac
    local call='^(weft::)?([A-Z][A-Za-z]*)::([A-Za-z]+(\(| = ).*)$'
    local member='^(weft::)?([A-Z][A-Za-z]*)::([A-Za-z]+)$'
    if [[ $code =~ $call ]]; then
        echo "Of<weft::${BASH_REMATCH[2]}>().${BASH_REMATCH[3]};"
    elif [[ $code =~ $member ]]; then
        local type=weft::${BASH_REMATCH[2]} name=${BASH_REMATCH[3]}
        case $type in
            weft::IdlePolicy | weft::Meanwhile | weft::Priority | weft::ResumeOn) echo "(void)$type::$name;" ;;
            *) echo "struct Has : $type { using $type::$name; };" ;;
        esac
    elif [[ $code =~ ^weft::[A-Za-z0-9]+$ ]]; then
        echo "using $code;"
    elif [[ $code =~ ^weft::[A-Za-z]+\<T\>$ ]]; then
        echo "using Type = $code;"
    elif [[ $code =~ ^[A-Z][A-Za-z]*\( ]]; then
        echo "scheduler.$code;"
    elif [[ $code == *[\(\ ]* ]]; then
        echo "$code;"
    fi
}

for page in samples/coming_from/[!R]*.md; do
    file=$work/$(basename "$page").cpp count=0
    echo '#include "coming_from.h"' > "$file"
    echo 'void Calls() {' >> "$file"
    while read -r at code; do
        case $code in std::* | */*.h | weft.h | weft_trace | f) continue ;; esac
        statement=$(statement_of "$code")
        word=${code##*[>:.]}
        if [ -n "$statement" ]; then
            printf '#line %d "%s"\n{ %s }\n' "${at##*:}" "$page" "$statement" >> "$file"
            count=$((count + 1))
        elif grep -rqw --include='*.h' -- "$word" include; then
            passed=$((passed + 1))
        else
            fail "$at: no public header has the word $word"
        fi
    done < <(codes_of "$page")
    echo '}' >> "$file"
    if [ "$count" = 0 ]; then
        fail "$page: no call was found in its first table"
    elif g++ -std=c++20 -Wall -Wextra -Werror -Wno-unused -Wno-unused-result -Iinclude -Itests/readme -fsyntax-only \
        "$file" > "$work/log" 2>&1; then
        passed=$((passed + count))
    else
        cat "$work/log"
        fail "$page: a call of weft in its table does not compile"
    fi
done
echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
