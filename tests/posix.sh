#!/usr/bin/env bash
# Tests the files for systems that have only the calls of POSIX (source/platform/*_pthread.cpp), on
# Linux: builds weft with --pthread, runs all unit tests in Release, and short_tests under
# ThreadSanitizer. The last line has the sum.
#
#     tests/posix.sh              or with arguments for Catch2, such as "[parker]"
set -uo pipefail
cd "$(dirname "$0")/.." || exit
. tests/runs.sh

premake=$(third_party/setup.sh catch2 libpng-dev freedoom) || { fail "third_party/setup.sh"; finish; }
configure pthread --pthread || finish
build Release unit_tests && run Release unit_tests "$@"
build Tsan short_tests && run Tsan short_tests "$@"
finish
