#!/usr/bin/env bash
# Tests the adapters for other libraries (third_party/adapters/), with the libraries that Debian has:
# libjxl, OpenEXR, ODE and Asio. On weft the first three must reach the same results as on their own
# threads, and Asio's handlers must run as tasks. Also tests waits in loops of oneTBB, for which there
# is no adapter, and compiles the code of the adapters' pages. The last line has the sum.
#
#     tests/adapters.sh               all adapters
#     tests/adapters.sh "[ode]"       the arguments go to Catch2
#     tests/adapters.sh "[.figures]"  measures each library on weft and on its own threads
#
# WEFT_CONFIGS has the configurations (Release). WEFT_TIMEOUT is the time limit of a program in
# seconds (1200).
set -uo pipefail
cd "$(dirname "$0")/.." || exit
figures=' \| |limit of descriptors'  # tables, and what a test says that has left something out
. tests/runs.sh

premake=$(third_party/setup.sh catch2 libjxl-dev libopenexr-dev libode-dev libasio-dev libtbb-dev) || { fail "third_party/setup.sh"; finish; }
configure "" || finish
for configuration in ${WEFT_CONFIGS:-Release}; do
    build "$configuration" adapter_tests && run "$configuration" adapter_tests "$@"
done
[ $# != 0 ] || run Release readme/run --pages third_party/adapters/{asio,libjxl,ode,openexr}/README.md \
    --headers tests/readme/adapters.h --options -isystem /usr/include/OpenEXR -isystem /usr/include/Imath
finish
