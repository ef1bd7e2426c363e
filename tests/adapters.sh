#!/usr/bin/env bash
# Tests the adapters for other libraries (third_party/adapters/), with the libraries that Debian has:
# libjxl, OpenEXR and ODE. On weft they must reach the same results as on their own threads. The
# last line has the sum.
#
#     tests/adapters.sh               all adapters
#     tests/adapters.sh "[ode]"       the arguments go to Catch2
#
# WEFT_CONFIGS has the configurations (Release). WEFT_TIMEOUT is the time limit of a program in
# seconds (1200).
set -uo pipefail
cd "$(dirname "$0")/.." || exit
. tests/runs.sh

premake=$(third_party/setup.sh catch2 libjxl-dev libopenexr-dev libode-dev) || { fail "third_party/setup.sh"; finish; }
configure "" || finish
for configuration in ${WEFT_CONFIGS:-Release}; do
    build "$configuration" adapter_tests && run "$configuration" adapter_tests "$@"
done
finish
