#!/usr/bin/env bash
# Installs what building, testing and the samples need, and nothing that is there already.
# Prints the path of the premake5 to use on standard output, everything else on standard error:
#
#     "$(third_party/setup.sh)" gmake2
#     third_party/setup.sh cmake valgrind        these packages too
#
# Packages come by apt (as root, or through sudo). Premake is the one on PATH, or else built from a Debian source
# package and kept in ${WEFT_CACHE:-~/.cache/weft}; the system's own apt configuration is not touched.
set -euo pipefail

packages=(g++ make clang libclang-rt-dev clang-format catch2 libpng-dev freedoom)
cache=${WEFT_CACHE:-${XDG_CACHE_HOME:-~/.cache}/weft}
built=$cache/premake5-0ad

say() { echo "setup: $*" >&2; }
as_root() { if [ "$(id -u)" = 0 ]; then "$@"; else sudo "$@"; fi; }
installed() { dpkg-query -W -f='${db:Status-Status} ${Package}\n' "$@" 2>/dev/null | sed -n 's/^installed //p'; }

apt_update() {
    [ -z "${updated:-}" ] || return 0
    say "apt-get update"
    as_root apt-get -qq update >&2 || say "apt-get update had errors, going on with the lists there are"
    updated=yes
}

install_packages() {
    local missing
    missing=$(comm -23 <(printf '%s\n' "$@" | sort) <(installed "$@" | sort))
    if [ -z "$(installed 'libboost-context*-dev')" ]; then
        apt_update
        missing+=" $(apt-cache show libboost-context1.81-dev >/dev/null 2>&1 &&
            echo libboost-context1.81-dev || echo libboost-context-dev)"
    fi
    [ -n "$missing" ] || return 0
    apt_update
    # shellcheck disable=SC2086
    say installing $missing
    # shellcheck disable=SC2086
    as_root env DEBIAN_FRONTEND=noninteractive apt-get -qq -o DPkg::Lock::Timeout=300 \
        install --no-install-recommends $missing >&2
}

# Downloads Debian's source package of 0ad with a private apt configuration, and builds the Premake inside it.
build_premake() {
    local work apt file
    install_packages g++ make xz-utils
    mkdir -p "$cache"
    work=$(mktemp -d "$cache/build.XXXXXX")
    # shellcheck disable=SC2064
    trap "rm -rf '$work'" EXIT

    mkdir -p "$work"/{sources,lists/partial,archives/partial}
    for file in /etc/apt/sources.list /etc/apt/sources.list.d/*.list; do
        [ ! -f "$file" ] || sed -n 's/^deb\s/deb-src /p' "$file" > "$work/sources/$(basename "$file" .list).list"
    done
    for file in /etc/apt/sources.list.d/*.sources; do
        [ ! -f "$file" ] || sed 's/^Types:.*/Types: deb-src/' "$file" > "$work/sources/$(basename "$file")"
    done
    apt=(apt-get -qq -o APT::Sandbox::User=root -o Dir::State::lists="$work/lists" -o Dir::Cache="$work"
        -o Dir::Etc::sourcelist=/dev/null -o Dir::Etc::sourceparts="$work/sources")

    say "getting Premake's sources (Debian source package 0ad, about 80 MB)"
    "${apt[@]}" update >&2 || say "some source lists could not be read, going on"
    (cd "$work" && "${apt[@]}" source --download-only --only-source 0ad >&2)
    tar -xf "$work"/0ad_*.orig.tar.* -C "$work" --wildcards --strip-components=1 '*/build/premake/premake5'

    say "building Premake"
    make -C "$work/build/premake/premake5/build/gmake2.unix" -j"$(nproc)" config=release > "$work/log" 2>&1 ||
        { tail -n 30 "$work/log" >&2; say "Premake did not build"; exit 1; }
    mv "$work/build/premake/premake5/bin/release/premake5" "$built"
    rm -rf "$work"
}

install_packages "${packages[@]}" "$@"
works() { "$1" --version >/dev/null 2>&1; }
if works premake5; then
    premake=$(command -v premake5)
else
    premake=$built
    works "$premake" || build_premake
fi
echo "$premake"
