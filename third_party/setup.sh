#!/usr/bin/env bash
# Installs the toolchain and the packages that the caller names, and nothing that is there already.
# Prints the path of the premake5 to use on standard output, everything else on standard error:
#
#     "$(third_party/setup.sh)" gmake2           the toolchain alone: g++, make, Boost.Context, CLI11,
#                                                Premake. The library and most samples need no more.
#     third_party/setup.sh catch2 libpng-dev     these packages too
#     third_party/setup.sh freedoom              the levels of this package too: makes the link
#                                                build/freedoom1.wad
#     third_party/setup.sh --libraries=arm64     instead: Boost.Context, libpng and zlib of another
#                                                architecture of Debian, static; prints the folder
#                                                that has them in lib/
#     third_party/setup.sh --libraries=windows   the same for 64-bit Windows, built by mingw-w64 from
#                                                Debian's source packages; headers, those of Catch2
#                                                and CLI11 too, in include/
#     third_party/setup.sh --boost-sources       instead: the part of Boost's sources that weft needs,
#                                                from Debian's source package; prints the folder
#
# Packages come by apt (as root, or through sudo). Premake is the one on PATH, or else built from a
# Debian source package. The package `freedoom` depends on a game engine, SDL and a sound server. So
# it is not installed: its file is downloaded, and the levels are taken out of it. Premake, the
# levels, Boost's sources, and the libraries of other architectures are kept in
# ${WEFT_CACHE:-~/.cache/weft}. The system's own apt configuration is not touched.
set -euo pipefail

toolchain=(g++ make libcli11-dev)
cache=${WEFT_CACHE:-${XDG_CACHE_HOME:-~/.cache}/weft}
built=$cache/premake5-0ad
levels=/usr/share/games/doom  # of an installed Freedoom
root=$(cd "$(dirname "$0")/.." && pwd)

say() { echo "setup: $*" >&2; }
as_root() { if [ "$(id -u)" = 0 ]; then "$@"; else sudo "$@"; fi; }
installed() {
    dpkg-query -W -f='${db:Status-Status} ${Package}\n' "$@" 2>/dev/null | sed -n 's/^installed //p'
}

apt_update() {
    [ -z "${updated:-}" ] || return 0
    say "apt-get update"
    as_root apt-get -qq update >&2 ||
        say "apt-get update had errors, going on with the lists there are"
    updated=yes
}

install_packages() {
    local missing
    mkdir -p "$cache"
    exec 9> "$cache/lock"  # one script at a time
    flock 9
    missing=$(comm -23 <(printf '%s\n' "$@" | sort) <(installed "$@" | sort))
    if [ -z "$(installed 'libboost-context*-dev')" ]; then
        apt_update
        missing+=" $(apt-cache show libboost-context1.81-dev >/dev/null 2>&1 &&
            echo libboost-context1.81-dev || echo libboost-context-dev)"
    fi
    [ -n "$missing" ] || { exec 9>&-; return 0; }
    apt_update
    # shellcheck disable=SC2086
    say installing $missing
    # shellcheck disable=SC2086
    as_root env DEBIAN_FRONTEND=noninteractive apt-get -qq -o DPkg::Lock::Timeout=300 \
        install --no-install-recommends $missing >&2 9>&-  # a service that starts must not hold it
    exec 9>&-
}

# A folder $work that goes away with us.
make_work() {
    mkdir -p "$cache"
    work=$(mktemp -d "$cache/build.XXXXXX")
    # shellcheck disable=SC2064
    trap "rm -rf '$work'" EXIT
}

# $work, and an apt in it, with the machine's sources and lists of its own.
private_apt() { # deb or deb-src, options of apt
    local file type=$1
    shift
    make_work
    mkdir -p "$work"/{sources,lists/partial,archives/partial}
    for file in /etc/apt/sources.list /etc/apt/sources.list.d/*.list; do
        [ ! -f "$file" ] ||
            sed -n "s/^deb\s/$type /p" "$file" > "$work/sources/$(basename "$file" .list).list"
    done
    for file in /etc/apt/sources.list.d/*.sources; do
        [ ! -f "$file" ] ||
            sed "s/^Types:.*/Types: $type/" "$file" > "$work/sources/$(basename "$file")"
    done
    apt=(apt-get -qq -o APT::Sandbox::User=root
        -o Dir::State::lists="$work/lists" -o Dir::Cache="$work"
        -o Dir::Etc::sourcelist=/dev/null -o Dir::Etc::sourceparts="$work/sources" "$@")
    "${apt[@]}" update >&2 || say "some source lists could not be read, going on"
}

# Downloads Debian's source package of 0ad, and builds the Premake inside it.
build_premake() {
    local work apt
    install_packages g++ make xz-utils
    say "getting Premake's sources (Debian source package 0ad, about 80 MB)"
    private_apt deb-src
    (cd "$work" && "${apt[@]}" source --download-only --only-source 0ad >&2)
    tar -xf "$work"/0ad_*.orig.tar.* -C "$work" --wildcards --strip-components=1 \
        '*/build/premake/premake5'

    say "building Premake"
    # Without optimisation it builds in half the time, and makes our makefiles in a second.
    # shellcheck disable=SC2016
    make -C "$work/build/premake/premake5/build/gmake2.unix" -j"$(nproc)" config=release Premake5 \
        'ALL_CFLAGS=$(ALL_CPPFLAGS) -O0 -w' > "$work/log" 2>&1 ||
        { tail -n 30 "$work/log" >&2; say "Premake did not build"; exit 1; }
    mv "$work/build/premake/premake5/bin/release/premake5" "$built"
    rm -rf "$work"
}

# Makes build/freedoom1.wad, where all programs look: a link to the installed file, or else to the
# one in the cache.
link_levels() {
    local work file=$levels/freedoom1.wad
    if [ ! -f "$file" ]; then
        file=$cache/freedoom/freedoom1.wad
        [ -f "$file" ] || download_levels
    fi
    mkdir -p "$root/build"
    ln -sfn "$file" "$root/build/freedoom1.wad"
}

download_freedoom() {
    (cd "$work" && apt-get -qq -o APT::Sandbox::User=root download freedoom >&2)
}

download_levels() {
    say "getting the levels of Debian's package freedoom (16 MB)"
    make_work
    download_freedoom || { apt_update; download_freedoom; }
    dpkg -x "$work"/freedoom_*.deb "$work/unpacked"
    mkdir "$work/done"
    cp "$work/unpacked$levels/freedoom1.wad" "$work/unpacked/usr/share/doc/freedoom/copyright" \
        "$work/done/"
    rm -rf "$cache/freedoom"
    mv "$work/done" "$cache/freedoom"
    rm -rf "$work"
}

# The headers of these libraries are the same everywhere: those of this machine's packages will do.
foreign_libraries() { # architecture; sets folder
    local work apt boost package
    boost=$(installed 'libboost-context1*-dev' | tail -n 1)
    folder=$cache/$1-${boost%-dev}
    [ ! -d "$folder" ] || return 0
    say "getting $boost, libpng-dev and zlib1g-dev for $1"
    private_apt deb -o APT::Architecture="$1" -o APT::Architectures="$1" \
        -o Dir::State::status=/dev/null
    (cd "$work" && "${apt[@]}" download "$boost" libpng-dev zlib1g-dev >&2)
    mkdir -p "$work/done/lib"
    for package in "$work"/*.deb; do dpkg -x "$package" "$work/unpacked"; done
    cp -L "$work"/unpacked/usr/lib/*/lib{boost_context,png,z}.a "$work/done/lib/"
    mv "$work/done" "$folder"
    rm -rf "$work"
}

# As in a checkout of Boost: the header of Boost.Context with what it includes, and the assembly for
# all processors and systems.
boost_sources() { # sets sources
    local work apt boost
    install_packages xz-utils bzip2
    boost=$(installed 'libboost-context1*-dev' | tail -n 1)
    boost=boost${boost//[!0-9.]/}
    sources=$cache/$boost
    [ ! -d "$sources" ] || return 0
    say "getting Debian's source package of $boost (about 70 MB)"
    private_apt deb-src
    (cd "$work" && "${apt[@]}" source --tar-only --only-source "$boost" >&2)
    mkdir "$work/done"
    tar -xf "$work"/boost1*.orig.tar.* -C "$work/done" --wildcards --strip-components=1 \
        '*/libs/config/include/*' '*/libs/context/include/boost/context/detail/*' '*/libs/context/src/asm/*'
    mv "$work/done" "$sources"
    rm -rf "$work"
}

# Boost's assembly for this ABI, and libpng, which has no package for Windows; zlib has one.
windows_libraries() { # sets folder
    local work apt boost mingw=x86_64-w64-mingw32 file name sources
    install_packages libpng-dev catch2 libcli11-dev xz-utils g++-mingw-w64-x86-64-posix libz-mingw-w64-dev
    boost=$(installed 'libboost-context1*-dev' | tail -n 1)
    boost=${boost%-dev}
    folder=$cache/windows-$boost
    [ ! -d "$folder" ] || return 0
    boost_sources
    say "getting Debian's source package of libpng (about 1.5 MB)"
    private_apt deb-src
    (cd "$work" && "${apt[@]}" source --tar-only --only-source libpng1.6 >&2)
    mkdir -p "$work"/{png,objects,done/lib,done/include}
    tar -xf "$work"/libpng1.6_*.orig.tar.* -C "$work/png" --strip-components=1

    say "building Boost.Context and libpng for Windows"
    for file in "$sources"/libs/context/src/asm/*_x86_64_ms_pe_gas.asm; do
        name=$(basename "$file" _x86_64_ms_pe_gas.asm)
        $mingw-gcc-posix -x assembler-with-cpp -c "$file" -o "$work/objects/$name.o"
    done
    $mingw-ar rcs "$work/done/lib/libboost_context.a" "$work"/objects/{make,jump,ontop}.o
    rm "$work"/objects/*.o
    cp "$work/png/scripts/pnglibconf.h.prebuilt" "$work/png/pnglibconf.h"
    for file in "$work"/png/png*.c; do
        name=$(basename "$file" .c)
        [ "$name" = pngtest ] || $mingw-gcc-posix -O2 -c "$file" -o "$work/objects/$name.o"
    done
    $mingw-ar rcs "$work/done/lib/libpng.a" "$work"/objects/*.o
    cp "$work"/png/{png,pngconf,pnglibconf}.h "$work/done/include/"
    # The rest is the same everywhere.
    ln -s /usr/include/boost /usr/include/catch2 "$work/done/include/"
    mv "$work/done" "$folder"
    rm -rf "$work"
}

if [ "${1:-}" = --boost-sources ]; then
    boost_sources
    echo "$sources"
    exit
fi
if [ "${1:-}" = --libraries=windows ]; then
    windows_libraries
    ln -sfn /usr/include/CLI "$folder/include/CLI"  # a folder of an earlier version lacks it
    echo "$folder"
    exit
fi
if [[ ${1:-} = --libraries=* ]]; then
    install_packages libpng-dev
    foreign_libraries "${1#*=}"
    echo "$folder"
    exit
fi
packages=() freedoom=
for package in "$@"; do
    if [ "$package" = freedoom ]; then freedoom=yes; else packages+=("$package"); fi
done
install_packages "${toolchain[@]}" "${packages[@]}"
[ -z "$freedoom" ] || link_levels
works() { "$1" --version >/dev/null 2>&1; }
if works premake5; then
    premake=$(command -v premake5)
else
    premake=$built
    works "$premake" || build_premake
fi
echo "$premake"
