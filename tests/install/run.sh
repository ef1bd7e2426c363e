#!/usr/bin/env bash
# Builds and runs a small program (consumer.cpp) in each way in which a user can build with weft:
# CMake with the sources of weft (FetchContent takes them from the last commit), CMake with an
# installed weft, pkg-config, a Premake script, and the two files of `premake5 amalgamate`; with an
# installed Boost.Context, Boost in a prefix, and Boost's sources; for Windows with mingw-w64, under
# wine; and a program in C (consumer.c).
#
#     tests/install/run.sh              all attempts
#     tests/install/run.sh "mingw*"     those whose names match; some need earlier ones
#
# All files are in a temporary folder. If a way fails, the script shows the output of its commands.
# With WEFT_UNITY=1, Premake and CMake join the sources of weft: a faster build.
set -uo pipefail
cd "$(dirname "$0")/../.." || exit
root=$PWD
. tests/wine.sh

passed=0 failed=0
work=$(mktemp -d)
only=${1:-*}
unity=${WEFT_UNITY:+-DCMAKE_UNITY_BUILD=ON}
trap 'rm -rf "$work"' EXIT

attempt() { # name, function, arguments
    local name=$1 start=$SECONDS status
    shift
    # shellcheck disable=SC2053
    [[ $name = $only ]] || return 0
    # A shell of its own, so that -e holds in the function.
    (set -e; cd "$work"; "$@") < /dev/null > "$work/log" 2>&1
    status=$?
    if [ "$status" = 0 ]; then
        passed=$((passed + 1))
        echo "$name: $((SECONDS - start)) s"
    else
        failed=$((failed + 1))
        tail -n 60 "$work/log"
        echo "FAILED: $name"
    fi
}

under=() # words before the program

run_program() { # path without the ending for Windows
    if [ -f "$1.exe" ]; then timeout 60 wine64 "$1.exe"; else timeout 60 "${under[@]}" "$1"; fi
}

# Builds the program with CMake. `line` is what its CMakeLists.txt has for weft.
with_cmake() { # folder, line of CMakeLists.txt, options
    local folder=$1 line=$2
    shift 2
    mkdir -p "$folder"
    cp "$root/tests/install/consumer.cpp" "$folder"
    cat > "$folder/CMakeLists.txt" <<CMAKE
cmake_minimum_required(VERSION 3.18)
project(consumer LANGUAGES CXX)
$line
add_executable(consumer consumer.cpp)
target_link_libraries(consumer PRIVATE weft::weft)
CMAKE
    cmake -S "$folder" -B "$folder/build" ${unity:+"$unity"} "$@"
    cmake --build "$folder/build" --target consumer
    run_program "$folder/build/consumer"
}

# The library has the assembly of Boost.Context.
has_assembly() { # library
    local table=()
    [[ $1 != *.so ]] || table=(-D)
    [ "$(nm "${table[@]}" --defined-only "$1" | grep -cE ' T (make|jump|ontop)_fcontext$')" = 3 ]
}

needs_no_boost() { # program or shared library
    ldd "$1" > needed
    grep libc needed
    ! grep boost needed
}

with_pkg_config() { # prefix
    export PKG_CONFIG_PATH=$work/$1/lib/pkgconfig
    [ "$(pkg-config --variable=prefix weft)" = "$work/$1" ]
    # shellcheck disable=SC2046
    g++ -std=c++17 -o "$1-consumer" "$root/tests/install/consumer.cpp" $(pkg-config --cflags --libs weft)
    LD_LIBRARY_PATH=$work/$1/lib timeout 60 "./$1-consumer"
}

# Builds the program in C with C tools only, which is possible if the library is shared. The library
# must export each function that weft.h declares.
in_c() { # prefix
    export PKG_CONFIG_PATH=$work/$1/lib/pkgconfig
    # shellcheck disable=SC2046
    gcc -std=c99 -Wall -Wextra -Wpedantic -Werror -o "$1-in-c" "$root/tests/install/consumer.c" \
        $(pkg-config --cflags --libs weft)
    LD_LIBRARY_PATH=$work/$1/lib timeout 60 "./$1-in-c"
    grep -v '^ *//' "$1/include/weft/weft.h" | grep -oE '\<weft_[a-z_]+\(' | tr -d '(' | sort -u > declared
    [ -s declared ]
    nm -D --defined-only "$1/lib/libweft.so" | awk '$2 == "T" && $3 ~ /^weft_/ { print $3 }' | sort | diff declared -
}

with_premake() { # folder, options
    local folder=premake-$1
    shift
    mkdir -p "$folder"
    cp "$root/tests/install/consumer.cpp" "$folder"
    cat > "$folder/premake5.lua" <<LUA
workspace "game"
    configurations { "Debug", "Release" }
    location "build"
include "$root/source/weft.lua"
project "consumer"
    kind "ConsoleApp"
    language "C++"
    files { "consumer.cpp" }
    targetdir "bin"
    weft.use()
LUA
    (cd "$folder" && "$premake" gmake2 "$@")
    make -C "$folder/build" config=release
    timeout 60 "$folder/bin/consumer"
}

write_two_files() {
    rm -rf "$root/build/amalgamated"
    (cd "$root" && "$premake" amalgamate)
    sed 's|<weft/task_scheduler.h>|"weft_all.h"|' "$root/tests/install/consumer.cpp" > two_files.cpp
    echo '#include "weft_coroutine.h"' > coroutine.cpp
    g++ -std=c++20 -Wall -Wextra -Werror -I"$root/build/amalgamated" -fsyntax-only coroutine.cpp
    printf '%s\n' '#include <weft/task_scheduler.h>' 'bool IsTask() { return weft::TaskScheduler::Current() != nullptr; }' > mixed.cpp
}

# Compiles the program together with the library in one file.
with_two_files() { # compiler, options, files and libraries
    rm -f two_files two_files.exe
    "$@" -std=c++17 -Wall -Wextra -Wpedantic -Werror -o two_files -pthread
    run_program ./two_files
}

install_with_cmake() { # prefix, options
    local prefix=$1
    shift
    cmake -S "$root/third_party/cmake" -B "$prefix-build" -DCMAKE_INSTALL_PREFIX="$work/$prefix" \
        -DCMAKE_INSTALL_LIBDIR=lib ${unity:+"$unity"} "$@"
    cmake --build "$prefix-build"
    cmake --install "$prefix-build"
}

install_with_premake() { # prefix, options
    (cd "$root" && "$premake" install --prefix="$work/$1" "${@:2}")
    (cd "$root/include" && find weft -name '*.h' | sort) > headers
    (cd "$1/include" && find weft -name '*.h' | sort) | cmp headers -
}

# Installs as a packager does: the files are below another root, and no file contains its path.
install_with_destdir() {
    (cd "$root" && "$premake" install --prefix=/opt/weft --destdir="$work/package")
    [ -f package/opt/weft/lib/libweft.a ]
    grep -x prefix=/opt/weft package/opt/weft/lib/pkgconfig/weft.pc
    ! grep -r "$work" package
}

# Moves CMake's files as vcpkg does: to share/weft, one folder less deep.
move_config() { # from prefix, to prefix
    cp -r "$1" "$2"
    mkdir -p "$2/share/weft"
    mv "$2"/lib/cmake/weft/* "$2/share/weft"
    rm -r "$2/lib/cmake"
    # shellcheck disable=SC2016
    local up='get_filename_component(_IMPORT_PREFIX "${_IMPORT_PREFIX}" PATH)'
    [ "$(grep -cF "$up" "$2/share/weft/weftTargets.cmake")" = 3 ]
    sed -i "0,/^get_filename_component(_IMPORT_PREFIX \"\${_IMPORT_PREFIX}\" PATH)/{//d}" "$2/share/weft/weftTargets.cmake"
}

# Boost's sources as in a release, which has all headers in one folder. Those of Debian's source
# package are as in a checkout.
make_release() {
    mkdir -p release/libs
    ln -s "$sources/libs/context" release/libs/
    cp -r "$sources"/libs/{config,context}/include/boost release/
}

# An installation prefix of Boost that has the static library alone.
make_prefix() {
    mkdir -p prefix/include prefix/lib
    ln -s /usr/include/boost prefix/include/
    ln -s "$(g++ -print-file-name=libboost_context.a)" prefix/lib/
}

build_release() { # folder, options of Premake
    (cd "$root" && "$premake" gmake2 "${@:2}" && make -C "$1/premake" -j"$(nproc)" config=release weft)
}

if ! premake=$(third_party/setup.sh cmake pkg-config clang) || ! sources=$(third_party/setup.sh --boost-sources); then
    echo "0 passed, 1 failed"
    exit 1
fi
abi=x86_64_sysv_elf
[ "$(uname -m)" = x86_64 ] || abi=arm64_aapcs_elf
assembly=("$sources"/libs/context/src/asm/{make,jump,ontop}_"${abi}_gas.S")
add_weft="add_subdirectory($root/third_party/cmake weft)"

attempt "CMake, FetchContent" \
    with_cmake fetch "include(FetchContent)
        FetchContent_Declare(weft GIT_REPOSITORY file://$root GIT_TAG $(git rev-parse HEAD)
            SOURCE_SUBDIR third_party/cmake)
        FetchContent_MakeAvailable(weft)"
attempt "CMake, add_subdirectory" with_cmake add "$add_weft" -DCMAKE_BUILD_TYPE=Release
attempt "CMake, add_subdirectory, shared" with_cmake add-shared "$add_weft" -DBUILD_SHARED_LIBS=ON
attempt "CMake, add_subdirectory, Boost's library found by name, no exceptions" \
    with_cmake add-no-exceptions "$add_weft" -DCMAKE_DISABLE_FIND_PACKAGE_Boost=ON -DWEFT_NO_EXCEPTIONS=ON
attempt "CMake, add_subdirectory, the files for POSIX alone" with_cmake add-pthread "$add_weft" -DWEFT_PTHREAD=ON

# ThreadSanitizer needs a fixed layout of the address space.
under=(setarch "$(uname -m)" -R)
attempt "CMake, add_subdirectory, race finder" with_cmake race-finder "$add_weft" \
    -DCMAKE_BUILD_TYPE=RelWithDebInfo -DCMAKE_CXX_FLAGS=-fsanitize=thread -DWEFT_RACE_FINDER=ON
under=()

attempt "installed by CMake" install_with_cmake by-cmake
attempt "installed by CMake, find_package" \
    with_cmake find-cmake "find_package(weft 0.7 REQUIRED CONFIG)" -DCMAKE_PREFIX_PATH="$work/by-cmake"
attempt "installed by CMake, pkg-config" with_pkg_config by-cmake
attempt "installed by CMake, CMake's files moved as vcpkg does" move_config by-cmake moved
attempt "installed by CMake, CMake's files moved, find_package" \
    with_cmake find-moved "find_package(weft REQUIRED CONFIG)" -DCMAKE_PREFIX_PATH="$work/moved"
attempt "installed by CMake, shared" install_with_cmake by-cmake-shared -DBUILD_SHARED_LIBS=ON
attempt "installed by CMake, shared, find_package" \
    with_cmake find-cmake-shared "find_package(weft REQUIRED)" -DCMAKE_PREFIX_PATH="$work/by-cmake-shared"
attempt "installed by CMake, shared, pkg-config" with_pkg_config by-cmake-shared
attempt "installed by CMake, shared, in C" in_c by-cmake-shared

attempt "built by Premake" build_release build
rm -rf build/shared/Release/libweft.so
attempt "installed by Premake" install_with_premake by-premake
attempt "installed by Premake, find_package" \
    with_cmake find-premake "find_package(weft REQUIRED)" -DCMAKE_PREFIX_PATH="$work/by-premake"
attempt "installed by Premake, pkg-config" with_pkg_config by-premake
attempt "installed by Premake below another root" install_with_destdir
attempt "built by Premake, shared" build_release build/shared --shared
attempt "installed by Premake, both" install_with_premake by-premake-both
attempt "installed by Premake, both, find_package" \
    with_cmake find-premake-both "find_package(weft REQUIRED)" -DCMAKE_PREFIX_PATH="$work/by-premake-both"
attempt "installed by Premake, both, find_package of the shared one" \
    with_cmake find-premake-shared "find_package(weft REQUIRED)" -DCMAKE_PREFIX_PATH="$work/by-premake-both" \
    -DBUILD_SHARED_LIBS=ON
attempt "installed by Premake, both, pkg-config" with_pkg_config by-premake-both

attempt "Premake script" with_premake static
attempt "Premake script, shared" with_premake shared --shared

from=build/amalgamated
two=(two_files.cpp "$root/$from/weft_all.cpp" "-I$root/$from")
attempt "two files, written" write_two_files
attempt "two files, g++" with_two_files g++ -O2 "${two[@]}" -lboost_context
attempt "two files, g++, no exceptions" \
    with_two_files g++ -O1 -fno-exceptions -fno-rtti "${two[@]}" -lboost_context
attempt "two files, clang" with_two_files clang++ -O1 "${two[@]}" -lboost_context
attempt "two files, and a file that includes the headers of weft" \
    with_two_files g++ "${two[@]}" -I"$root/include" mixed.cpp -lboost_context

# Boost in other places.
attempt "a release of Boost" make_release
attempt "installed by CMake, a release of Boost" \
    install_with_cmake by-cmake-sources -DCMAKE_BUILD_TYPE=Debug -DWEFT_BOOST="$work/release"
attempt "installed by CMake, a release of Boost, symbols" has_assembly by-cmake-sources/lib/libweft.a
attempt "installed by CMake, a release of Boost, find_package" with_cmake find-sources "find_package(weft REQUIRED)" \
    -DCMAKE_PREFIX_PATH="$work/by-cmake-sources" -DWEFT_BOOST=/nowhere
attempt "installed by CMake, a release of Boost, program" needs_no_boost find-sources/build/consumer
attempt "installed by CMake, a release of Boost, pkg-config" with_pkg_config by-cmake-sources
attempt "Premake script, a release of Boost, shared" with_premake release --shared --boost="$work/release"
attempt "Premake script, a release of Boost, shared, symbols" \
    has_assembly premake-release/build/bin/Release/libweft.so
attempt "Premake script, a release of Boost, shared, program" needs_no_boost premake-release/bin/consumer
attempt "built by Premake, a checkout of Boost, no exceptions" \
    build_release build/no-exceptions --no-exceptions --boost="$sources"
attempt "installed by Premake, a checkout of Boost, no exceptions" \
    install_with_premake by-premake-sources --no-exceptions --boost="$sources"
attempt "installed by Premake, a checkout of Boost, symbols" has_assembly by-premake-sources/lib/libweft.a
attempt "installed by Premake, a checkout of Boost, find_package" with_cmake find-premake-sources \
    "find_package(weft REQUIRED)" -DCMAKE_PREFIX_PATH="$work/by-premake-sources" -DWEFT_BOOST=/nowhere
attempt "installed by Premake, a checkout of Boost, pkg-config" with_pkg_config by-premake-sources
attempt "two files and the assembly of a release of Boost" \
    with_two_files g++ "${two[@]}" -isystem release "${assembly[@]}"

attempt "a prefix of Boost" make_prefix
attempt "installed by CMake, find_package, a prefix of Boost" with_cmake find-prefix "find_package(weft REQUIRED)" \
    -DCMAKE_PREFIX_PATH="$work/by-cmake" -DWEFT_BOOST="$work/prefix"
attempt "installed by CMake, find_package, a prefix of Boost, program" needs_no_boost find-prefix/build/consumer
attempt "Premake script, a prefix of Boost" with_premake static --boost="$work/prefix"
attempt "Premake script, a prefix of Boost, program" needs_no_boost premake-static/bin/consumer

[ "$(uname -m)" != x86_64 ] || . tests/install/windows.sh

echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
