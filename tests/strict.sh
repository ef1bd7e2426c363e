#!/usr/bin/env bash
# Checks what hosts with strict rules ask for (samples/host_threads): builds weft and that sample
# without exceptions and RTTI, runs the sample, and looks into the library: no dynamic initialisers,
# no exceptions, no type information, no memory but that of operator new, which hooks replace. The
# last line has the sum.
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

premake=$(third_party/setup.sh) || { fail "third_party/setup.sh"; finish; }
configure no-exceptions --no-exceptions || finish
build Release host_threads || finish
folder=build/no-exceptions/Release
if "$folder/host_threads"; then passed=$((passed + 1)); else fail "host_threads"; fi
library=$folder/libweft.a
symbols=$(nm "$library" 2> /dev/null)
[ "$(grep -c ' T _ZN4weft13TaskScheduler' <<< "$symbols")" -gt 10 ] || fail "nm finds the library's functions"
check "dynamic initialisers" "$(objdump -h "$library" | grep -E '\.(init_array|ctors)')"
check "exceptions" "$(grep -E '__cxa_(throw|rethrow|begin_catch|allocate_exception)|__gxx_personality' <<< "$symbols")"
check "type information" "$(grep -E ' [VDR] _ZT[IS]|__dynamic_cast' <<< "$symbols")"
check "memory of malloc" "$(grep -E ' U (malloc|calloc|realloc|free|_Znwm|_Znam)$' <<< "$symbols")"
finish
