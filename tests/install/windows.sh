# shellcheck shell=bash
# The part of run.sh that builds the program for 64-bit Windows with mingw-w64, and runs it under wine.
# shellcheck disable=SC2154

triplet=x86_64-w64-mingw32
mingw=(-DCMAKE_SYSTEM_NAME=Windows -DCMAKE_SYSTEM_PROCESSOR=x86_64 "-DCMAKE_CXX_COMPILER=$triplet-g++-posix"
    -DCMAKE_EXE_LINKER_FLAGS=-static)
for_windows=("$sources"/libs/context/src/asm/{make,jump,ontop}_x86_64_ms_pe_gas.*)

# Links with the options of the installed weft.pc.
with_pkg_config_for_windows() { # prefix
    export PKG_CONFIG_PATH=$work/$1/lib/pkgconfig
    # shellcheck disable=SC2046
    $triplet-g++-posix -std=c++17 -static -o "$1-consumer" "$root/tests/install/consumer.cpp" \
        $(pkg-config --cflags --libs weft)
    run_program "./$1-consumer"
}

# Shows that the sources for Windows use no extension of g++ where the macros of Visual C++ are defined. The headers of
# mingw-w64 need the other macros, so they come first, in one header.
as_visual_cpp() {
    local name
    {
        for name in $(grep -hoE '^ *# *include <[a-z0-9_/.]+>' "$root/$from"/weft_all.* | grep -o '<.*>' | sort -u) '<intrin.h>'; do
            printf '#if __has_include(%s)\n#include %s\n#endif\n' "$name" "$name"
        done
        # shellcheck disable=SC2013
        for name in $(grep -hoE '\<__(builtin|sync|atomic)_[a-z0-9_]+' "$root/$from"/weft_all.*) __attribute__ __asm__ __int128; do
            echo "#pragma GCC poison $name"
        done
        printf '#undef %s\n' __GNUC__ __clang__ __MINGW32__ __MINGW64__ __x86_64__ __forceinline PrefetchForWrite
        printf '#define %s\n' '_MSC_VER 1930' '_M_X64 100'
    } > visual_cpp.h
    # shellcheck disable=SC2046
    clang++ --target=x86_64-w64-windows-gnu -std=c++17 -fsyntax-only -fms-extensions -Wall -Wextra -Wpedantic -Werror \
        -Wno-invalid-offsetof -Wno-unused-private-field -nostdlibinc -isystem release \
        $($triplet-g++-posix -E -x c++ -v - < /dev/null 2>&1 | sed -nE 's/^ (.*(include\/c\+\+.*|mingw32\/include))$/-isystem \1/p') \
        -include visual_cpp.h "$root/$from/weft_all.cpp"
}

if third_party/setup.sh g++-mingw-w64-x86-64 wine wine64 > /dev/null &&
    libraries=$(third_party/setup.sh --libraries=windows) && prepare_wine "$work/wineboot.log"; then
    attempt "mingw, two files and Boost's assembly" with_two_files $triplet-g++-posix -static "${two[@]}" \
        -isystem release -x assembler-with-cpp "${for_windows[@]}" -x none -lsynchronization
    attempt "mingw, CMake, add_subdirectory, a checkout of Boost" \
        with_cmake add-mingw "$add_weft" "${mingw[@]}" -DWEFT_BOOST="$sources"
    attempt "mingw, installed by CMake, a prefix of Boost" \
        install_with_cmake by-cmake-mingw "${mingw[@]}" -DCMAKE_BUILD_TYPE=Debug -DWEFT_BOOST="$libraries"
    attempt "mingw, installed by CMake, find_package" with_cmake find-mingw "find_package(weft REQUIRED)" \
        "${mingw[@]}" -DCMAKE_PREFIX_PATH="$work/by-cmake-mingw" -DWEFT_BOOST="$libraries"
    attempt "mingw, installed by CMake, pkg-config" with_pkg_config_for_windows by-cmake-mingw
    attempt "clang with the macros of Visual C++" as_visual_cpp
else
    failed=$((failed + 1))
    echo "FAILED: the tools for Windows"
fi
