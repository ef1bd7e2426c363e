#!/usr/bin/env bash
# Compiles weft for WebAssembly with Emscripten, and runs browser_tests (premake5.lua) in node. Then
# it builds weft with CMake, and tests the page of the sample frame_loop in headless Chromium. The
# last line sums the results.
#
#     tests/emscripten.sh                or with arguments for Catch2, such as "[graph]": only these
#     tests/emscripten.sh --page         only the page; screenshots are in build/page/
#     tests/emscripten.sh --cmake        only the build with CMake
#     tests/emscripten.sh --bench        instead: the time of a switch, natively and in node
#
# The program has one thread, and cannot start threads or child processes. If a start is refused and
# the test case then fails, the test case counts as left out (tests/main.cpp).
set -uo pipefail
cd "$(dirname "$0")/.." || exit
. tests/runs.sh

only=
case ${1:-} in --bench | --page | --cmake) only=$1; shift ;; esac

# Left out by name:
# - The test's code needs more of the engine's own stack than node gives to a program.
# - The start of a thread is refused while tasks are pending, and the test destroys what they use.
# - weft reports that there are no signals.
excluded='~"waits within waits*"~"wait: inline tasks nest*"~"Result: tasks and threads wait*"'
excluded+='~"no workers: Stop runs pending tasks*"'

premake=$(third_party/setup.sh catch2 emscripten nodejs) || { fail "third_party/setup.sh"; finish; }
export NODE_PATH=/usr/share/nodejs  # for emcc, if node does not come from Debian

# The compiler must not see /usr/include, which has another C library.
mkdir -p build/emscripten/include
for folder in catch2 CLI; do ln -sfn /usr/include/$folder build/emscripten/include/$folder; done
configure emscripten --emscripten || finish

under="node --no-experimental-fetch"  # with fetch, Emscripten 3.1.6 takes node for a browser

# Five rounds, in turns. Prints the medians, and the median of the ratios within a round.
measure() {
    local round there=build/emscripten/Release/switches
    build Release switches && configure "" && build Release switches || return
    for round in 1 2 3 4 5; do
        # shellcheck disable=SC2086
        paste -d' ' <(build/Release/switches) <($under $there.js) | sed "s/^/$round /"
    done | sort -k2,2 -k1,1n | awk '
        function median(values, count,    i, j, t) {
            for (i = 2; i <= count; ++i)
                for (j = i; j > 1 && values[j - 1] > values[j]; --j) {
                    t = values[j]; values[j] = values[j - 1]; values[j - 1] = t
                }
            return values[int((count + 1) / 2)]
        }
        function show() { printf "%-24s%12.0f%12.0f%10.1f\n", name, median(a, n), median(b, n), median(r, n) }
        BEGIN { printf "%-24s%12s%12s%10s\n", "", "native, ns", "node, ns", "ratio" }
        $2 != name { if (n) show(); name = $2; n = 0 }
        { ++n; a[n] = $3; b[n] = $5; r[n] = $5 / $3 }
        END { if (n) show() }'
    echo "$there.wasm: $(stat -c %s $there.wasm) bytes, $(gzip -9 < $there.wasm | wc -c) with gzip"
}

if [ "$only" = --bench ]; then
    measure && passed=1
    finish
fi

# Runs each test case in a process of its own: one that was refused a thread may leave a scheduler
# that still runs.
run_cases() { # arguments of Catch2
    local program=build/emscripten/Release/browser_tests.js log=$logs/emscripten-browser_tests.log
    local case left_out=0 start=$SECONDS names
    # shellcheck disable=SC2086
    names=$($under $program --list-test-names-only "$@")  # its exit code is the number of names
    while IFS= read -r case; do
        # shellcheck disable=SC2001
        case=$(sed 's/[][,\\]/\\&/g' <<< "$case")
        # shellcheck disable=SC2086
        if ! timeout --kill-after=10 120 $under $program "$case" < /dev/null > "$log" 2>&1; then
            show "$log" | cut -c1-300
            fail "$case"
        elif grep -q '^1 left out' "$log"; then
            left_out=$((left_out + 1))
        elif grep -qx '1 passed, 0 failed' "$log"; then
            passed=$((passed + 1))
        else
            fail "$case ran no test"
        fi
    done <<< "$names"
    echo "[$SECONDS s] browser_tests in node: $passed passed in $((SECONDS - start)) s; $left_out need threads"
}

# The page makes the pictures of the native program.
test_page() {
    third_party/setup.sh libpng-dev freedoom chromium fonts-dejavu-core > /dev/null ||
        { fail "third_party/setup.sh"; return; }
    configure emscripten --emscripten && build Release frame_loop && configure "" &&
        build Release frame_loop && figures='[0-9] frames a second' run_js page tests/samples/frame_loop/page_test.js
}

# Builds the complete program of README.md and weft with CMake, and runs it in node.
test_cmake() {
    local work=build/emscripten/cmake log=$logs/emscripten-cmake.log
    third_party/setup.sh cmake > /dev/null || { fail "third_party/setup.sh"; return; }
    rm -rf "$work"
    mkdir -p "$work"
    awk '/^```/ { inside = /cpp/; next } inside' README.md | sed '/^int main/q' > "$work/main.cpp"
    cat > "$work/CMakeLists.txt" << END
cmake_minimum_required(VERSION 3.16)
project(game LANGUAGES CXX)
add_subdirectory($PWD/third_party/cmake weft)
add_executable(game main.cpp)
target_link_libraries(game PRIVATE weft::weft)
END
    if emcmake cmake -S "$work" -B "$work/build" -DCMAKE_BUILD_TYPE=Release \
        -DCMAKE_UNITY_BUILD=ON > "$log" 2>&1 &&
        cmake --build "$work/build" -j "$(nproc)" >> "$log" 2>&1 &&
        [ "$($under "$work/build/game.js")" = 4501500 ]; then
        passed=$((passed + 1))
        echo "[$SECONDS s] CMake: the complete program of README.md runs in node"
    else
        show "$log"
        fail "CMake"
    fi
}

if [ $# != 0 ]; then
    build Release browser_tests && run_cases "$@"
    finish
fi
[ -n "$only" ] || { build Release browser_tests && run_cases "$excluded"; }
[ "$only" = --page ] || test_cmake
[ "$only" = --cmake ] || test_page
finish
