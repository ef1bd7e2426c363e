# shellcheck shell=bash
# The part of run.sh that builds the program for 64-bit Windows with mingw-w64, and runs it under wine.
# shellcheck disable=SC2154

triplet=x86_64-w64-mingw32
mingw=(-DCMAKE_SYSTEM_NAME=Windows -DCMAKE_SYSTEM_PROCESSOR=x86_64 -DCMAKE_CXX_COMPILER=$triplet-g++-posix
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
else
    failed=$((failed + 1))
    echo "FAILED: the tools for Windows"
fi
