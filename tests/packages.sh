#!/usr/bin/env bash
# Builds the Debian packages of the last commit (third_party/packaging), checks them with lintian,
# installs libweft-dev, builds and runs the complete program of README.md with it, and removes it
# again. The last line has the sum.
#
# It installs and removes a package, so it needs root.
set -uo pipefail
cd "$(dirname "$0")/.." || exit
. tests/runs.sh
work=$(mktemp -d)
trap 'dpkg --remove libweft-dev > /dev/null 2>&1; rm -rf "$work"' EXIT

# Runs a command. Shows its output if it fails.
step() { # what, command
    local name=$1
    shift
    if "$@" > "$work/log" 2>&1; then
        passed=$((passed + 1))
        echo "[$SECONDS s] $name: 1 passed"
    else
        tail -n 60 "$work/log"
        fail "$name"
        return 1
    fi
}

with_pkg_config() {
    # shellcheck disable=SC2046
    g++ -std=c++17 -o "$work/by-pkg-config" "$work/main.cpp" $(pkg-config --cflags --libs weft) &&
        [ "$("$work/by-pkg-config")" = 4501500 ]
}

with_cmake() {
    cat > "$work/CMakeLists.txt" <<CMAKE
cmake_minimum_required(VERSION 3.16)
project(game LANGUAGES CXX)
find_package(weft REQUIRED)
add_executable(game main.cpp)
target_link_libraries(game PRIVATE weft::weft)
CMAKE
    cmake -S "$work" -B "$work/cmake" && cmake --build "$work/cmake" && [ "$("$work/cmake/game")" = 4501500 ]
}

third_party/setup.sh cmake pkg-config dpkg-dev debhelper lintian > /dev/null || { fail "third_party/setup.sh"; finish; }
# The first block with a main function.
awk '/^```cpp/ { block = ""; inside = 1; next }
    /^```/ && inside { inside = 0; if (block ~ /int main/) { printf "%s", block; exit } }
    inside { block = block $0 "\n" }' README.md > "$work/main.cpp"
step "dpkg-buildpackage" third_party/packaging/debian.sh "$work/packages" || finish
step "lintian" lintian --fail-on error,warning "$work"/packages/*.dsc "$work"/packages/*.deb
step "installation" dpkg --install "$work"/packages/libweft-dev_*.deb || finish
step "README's program, pkg-config" with_pkg_config
step "README's program, find_package" with_cmake
step "removal" dpkg --remove libweft-dev
finish
