#!/usr/bin/env bash
# Cross-compiles weft for aarch64 and runs it under qemu's user emulation, on x86-64; the last line is the sum.
#
#     tests/aarch64.sh                some of the unit tests, 300 schedules of each of the simulator's models, and the sample
#                                     frame_loop, whose pictures must be those of x86-64
#     tests/aarch64.sh --full         all unit tests but those that are named below, 3,000 schedules, more pictures
#     tests/aarch64.sh "[deque]"      arguments go to Catch2, and only unit_tests runs
#
# WEFT_CONFIGS is what unit_tests is built as (Release), WEFT_TIMEOUT how many seconds one program may take (600). Compiler
# and emulator are Debian packages; so are the libraries, which stay out of the system (third_party/setup.sh).
#
# What this cannot show: qemu carries out memory accesses in the order of the machine it runs on, so a memory order that is
# too weak for aarch64 is not seen here.
set -uo pipefail
cd "$(dirname "$0")/.." || exit

full=
if [ "${1:-}" = --full ]; then full=yes; shift; fi
. tests/runs.sh
. tests/cross.sh

# What does not work under qemu: it accepts MADV_WIPEONFORK and does not do it, so children do not know that they are, and
# it aborts ("cpu == current_cpu") in a child that was forked beside other threads and makes new ones; it accepts RLIMIT_AS and
# does not set it; and it lets a seq_cst load go before a seq_cst store to another place (tests/README.md).
excluded="~[fork_mark]~[address_space]"
store_then_load="~scheduler tags: Release waits*"

triplet=aarch64-linux-gnu
[ "$(uname -m)" = x86_64 ] || { fail "this is for x86-64; on aarch64 there is tests/run.sh"; finish; }
premake=$(third_party/setup.sh catch2 freedoom g++-$triplet qemu-user) || { fail "third_party/setup.sh"; finish; }
libraries=$(third_party/setup.sh --libraries=arm64) || { fail "third_party/setup.sh --libraries=arm64"; finish; }
emulated="qemu-aarch64 -L /usr/$triplet"

configure $triplet --cross=$triplet --boost="$libraries" || finish
under=$emulated
for configuration in ${WEFT_CONFIGS:-Release}; do
    build "$configuration" unit_tests || continue
    if [ $# != 0 ]; then run "$configuration" unit_tests "$@"
    elif [ -n "$full" ]; then run "$configuration" unit_tests "$excluded$store_then_load"
    else run "$configuration" unit_tests "$excluded$slow$store_then_load"
    fi
done
[ $# != 0 ] || run_models_and_sample ""
finish
