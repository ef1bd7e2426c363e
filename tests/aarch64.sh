#!/usr/bin/env bash
# Compiles weft for aarch64 on x86-64, and runs tests under the user emulation of qemu. The last
# line has the sum.
#
#     tests/aarch64.sh                short_tests (premake5.lua), and the sample frame_loop, which
#                                     must draw the same pictures as on x86-64
#     tests/aarch64.sh --full         all unit tests except those that the script names, 3,000
#                                     schedules of each model of the simulator, more pictures
#     tests/aarch64.sh "[deque]"      runs only unit_tests; the arguments go to Catch2
#
# WEFT_CONFIGS has the configurations of the tests (Release). WEFT_TIMEOUT is the time limit of a
# program in seconds (1200). Compiler, emulator and libraries are Debian packages. The libraries are
# not installed into the system (third_party/setup.sh).
#
# qemu executes memory accesses in the order of the machine that it runs on. So the tests cannot
# show a memory order that is too weak for aarch64.
set -uo pipefail
cd "$(dirname "$0")/.." || exit

full=
if [ "${1:-}" = --full ]; then full=yes; shift; fi
. tests/runs.sh
. tests/cross.sh

# Left out: what does not work under qemu (tests/README.md).
# - It accepts MADV_WIPEONFORK without effect. So a forked child does not know that it is a child.
# - It aborts ("cpu == current_cpu") in a child that was forked beside other threads, when the child
#   makes threads.
# - It accepts RLIMIT_AS without effect.
# - It lets a seq_cst load overtake a seq_cst store to another address.
excluded="~[fork_mark]~[address_space]~[case_limit]"
store_then_load="~scheduler tags: Release waits*"

triplet=aarch64-linux-gnu
[ "$(uname -m)" = x86_64 ] || { fail "this is for x86-64; on aarch64 there is tests/run.sh"; finish; }
premake=$(third_party/setup.sh catch2 freedoom g++-$triplet qemu-user) || { fail "third_party/setup.sh"; finish; }
libraries=$(third_party/setup.sh --libraries=arm64) || { fail "third_party/setup.sh --libraries=arm64"; finish; }
emulated="qemu-aarch64 -L /usr/$triplet"

configure $triplet --cross=$triplet --boost="$libraries" || finish
under=$emulated
run_tests "" "$excluded$store_then_load" "$@"
[ $# != 0 ] || run_sample_and_models ""
finish
