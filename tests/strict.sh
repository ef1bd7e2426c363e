#!/usr/bin/env bash
# Checks what hosts with strict rules ask for (samples/host_threads): builds weft and that sample
# without exceptions and RTTI, runs the sample, and looks into the library: no dynamic initialisers,
# no exceptions, no type information, no memory but that of operator new, which hooks replace.
#
# Then checks that weft compiles without a warning as a part of a game with strict flags, such as
# -Wconversion, and clang's -Weverything: each source file, each public header and each adapter's
# header alone, and what samples and tests make of the templates in headers. Nothing is built. The
# last line has the sum.
#
#     tests/strict.sh                    the adapters for libraries that Debian has
#     tests/strict.sh -isystem DIR...    also those that find the headers of their library there:
#                                        the checkout of Jolt, the folder include of box2d
set -uo pipefail
cd "$(dirname "$0")/.." || exit
export WEFT_UNITY=  # an object for each source file
. tests/runs.sh

check() { # what must not be there, the lines that are
    if [ -n "$2" ]; then
        echo "$2" | head -n 20
        fail "$1"
    else
        passed=$((passed + 1))
        echo "no $1"
    fi
}

libraries=(libjxl-dev libopenexr-dev libode-dev libasio-dev libtbb-dev)
premake=$(third_party/setup.sh clang catch2 liburing-dev libhwloc-dev "${libraries[@]}") || { fail "third_party/setup.sh"; finish; }

rules() {
    configure no-exceptions --no-exceptions && build Release host_threads || return
    local folder=build/no-exceptions/Release symbols
    local library=$folder/libweft.a
    if "$folder/host_threads"; then passed=$((passed + 1)); else fail "host_threads"; fi
    symbols=$(nm "$library" 2> /dev/null)
    [ "$(grep -c ' T _ZN4weft13TaskScheduler' <<< "$symbols")" -gt 10 ] || fail "nm finds the library's functions"
    check "dynamic initialisers but that of the process's CPUs (thread_linux.cpp)" "$(objdump -h "$library" |
        awk '/file format/ { file = $1 } /\.(init_array|ctors)/ && file != "thread_linux.o:" { print file, $2 }')"
    check "exceptions" "$(grep -E '__cxa_(throw|rethrow|begin_catch|allocate_exception)|__gxx_personality' <<< "$symbols")"
    check "type information" "$(grep -E ' [VDR] _ZT[IS]|__dynamic_cast' <<< "$symbols")"
    check "memory of malloc" "$(grep -E ' U (malloc|calloc|realloc|free|_Znwm|_Znam)$' <<< "$symbols")"
}

common="-fsyntax-only -Iinclude -Isource -Ithird_party -isystem /usr/include/OpenEXR -isystem /usr/include/Imath $*"
gcc="-Wall -Wextra -Wpedantic -Wconversion -Wsign-conversion -Wcast-align=strict -Wold-style-cast"
gcc+=" -Wshadow -Wnon-virtual-dtor -Wundef"
everything="-Weverything -Wno-unknown-warning-option"
everything+=" -Wno-c++98-compat -Wno-c++98-compat-pedantic" # weft is C++17
everything+=" -Wno-padded"                                  # a remark about the layout of a struct
everything+=" -Wno-switch-enum -Wno-switch-default"         # -Wcovered-switch-default asks for the opposite
everything+=" -Wno-disabled-macro-expansion"                # sa_handler and others of the C library
everything+=" -Wno-unsafe-buffer-usage"                     # newer clang: all arithmetic with pointers

# Prints the warnings of both compilers about weft's own files, and all errors.
# shellcheck disable=SC2317
warnings() { # what: file, header or user; a file
    local standard=c++17 input=$2 filter='^(include|source|third_party)/[^ ]* warning:|error:'
    case $2 in *coroutine*) standard=c++20 ;; esac
    local options="-std=$standard $common"
    if [ "$1" = user ]; then options+=" -Itests -Isamples"; fi
    if [ "$1" = header ]; then
        input="-x c++ -"
        # shellcheck disable=SC2086
        case $2 in */jolt/*|*/box2d/*|*/tracy.h)  # only if their library is there
            g++ $options $input <<< "#include \"$2\"" 2>&1 | grep -q "No such file" && return ;;
        esac
    fi
    # shellcheck disable=SC2086
    {
        g++ $gcc $options $input <<< "#include \"$2\""
        clang++ $everything $options $input <<< "#include \"$2\""
    } 2>&1 | grep -E "$filter"
}
export -f warnings
export common gcc everything

all_warnings() { # what, the files as lines
    check "warnings of $(wc -l <<< "$2") ${1}s" \
        "$(xargs -P "$(nproc)" -I{} bash -c "warnings $1 {}" <<< "$2" | sort -u)"
}

rules
all_warnings file "$(find source -name '*.cpp' | grep -vE '_(windows|emscripten|pthread)\.cpp$')"
all_warnings header "$(cd include && find weft -name '*.h'; cd ../third_party && find adapters -name '*.h')"
all_warnings user "$(ls samples/*/main.cpp tests/adapters/*_test.cpp tests/{algorithms,data}/*_test.cpp tests/scheduler/{coroutine,closure,poll}_test.cpp)"
finish
