#!/usr/bin/env bash
# Runs the two commands of README.md as a newcomer does: on a bare Debian, in a fresh clone. Checks
# what they made. The last line has the sum.
#
#     tests/fresh.sh              takes Premake and the level from the cache of third_party/setup.sh
#     tests/fresh.sh --no-cache   builds Premake and downloads the level there, too
#
# The clone has what is committed. The system is in build/fresh/, with the apt settings of this
# machine; afterwards it is removed. It needs root, or sudo. The logs are in build/test-logs/. The
# times include the installation of packages.
set -uo pipefail
cd "$(dirname "$0")/.." || exit
. tests/runs.sh

system=$PWD/build/fresh home=/home/weft
as_root() { if [ "$(id -u)" = 0 ]; then "$@"; else sudo "$@"; fi; }

check() { # what, command
    if "${@:2}"; then
        passed=$((passed + 1))
        echo "[$SECONDS s] $1"
    else
        fail "$1"
    fi
}

# Runs a command in the system, which sees its own processes only.
inside() { # command
    # shellcheck disable=SC2016
    as_root unshare --mount --pid --fork --kill-child bash -c '
        mount -t proc proc "$0/proc" && mount --rbind /dev "$0/dev" && mount --rbind /sys "$0/sys" &&
        exec chroot "$0" env -i HOME=/home TERM=dumb PATH=/usr/sbin:/usr/bin:/sbin:/bin \
            sh -c "cd '"$home"' && $1"' "$system" "$1"
}

remove_system() { as_root rm -rf --one-file-system "$system"; }

make_system() {
    local start=$SECONDS sources=(/etc/apt/sources.list.d/debian.sources)
    [ -e "${sources[0]}" ] || sources=(/etc/apt/sources.list)
    remove_system
    # shellcheck disable=SC2016
    as_root mmdebstrap --quiet --variant=apt --include=git,ca-certificates \
        --setup-hook='mkdir -p "$1/etc/apt" && cp -rL /etc/apt/apt.conf.d "$1/etc/apt/"' \
        "$(. /etc/os-release && echo "$VERSION_CODENAME")" "$system" "${sources[@]}" > "$logs/fresh-system.log" 2>&1 ||
        { show "$logs/fresh-system.log"; return 1; }
    echo "[$SECONDS s] a bare Debian: made in $((SECONDS - start)) s"
    as_root git clone --quiet --no-hardlinks "$PWD" "$system$home" || return 1
    [ -n "$no_cache" ] || {
        as_root mkdir -p "$system/home/.cache"
        as_root cp -r "$cache" "$system/home/.cache/weft"
    }
}

# The commands in the first block after the heading "Two commands", without their comments.
commands() {
    awk '/^## / { here = /Two commands/ } here && /^```/ { if (inside) exit; inside = 1; next }
        inside { sub(/ *#.*/, ""); print }' README.md
}

no_cache=
[ "${1:-}" != --no-cache ] || no_cache=yes
shown=2000  # of a log: the log of the tests has that of a failed test inside
cache=${WEFT_CACHE:-${XDG_CACHE_HOME:-~/.cache}/weft}
packages=(mmdebstrap)
[ -n "$no_cache" ] || packages+=(freedoom)
third_party/setup.sh "${packages[@]}" > /dev/null || { fail "third_party/setup.sh"; finish; }
make_system || { fail "a bare Debian"; finish; }
trap remove_system EXIT
mapfile -t commands < <(commands)
check "README has two commands: ${commands[*]}" [ "${#commands[@]}" = 2 ]

for number in 0 1; do
    start=$SECONDS log=$logs/fresh-$number.log
    inside "${commands[number]}" > "$log" 2>&1 < /dev/null
    status=$?
    [ "$status" = 0 ] || show "$log"
    check "${commands[number]}: ended after $((SECONDS - start)) s with exit code $status" [ "$status" = 0 ]
done

# The sample: a picture of every 60th frame, and the hash of a plain loop without tasks.
sample=$logs/fresh-0.log log=$logs/fresh-1.log
pictures=$(find "$system$home/out" -name 'frame_*.png' -size +10k | wc -l)
check "$pictures of 10 pictures" [ "$pictures" = 10 ]
hash=$(sed -n 's/^hash //p' "$sample")
plain=$(inside 'build/Release/frame_loop --serial --out ""' | sed -n 's/^hash //p')
check "hash ${hash:-missing}, without tasks ${plain:-missing}" [ -n "$hash" -a "$hash" = "$plain" ]

# The tests: each program that was built has run, with all its tests.
grep -E '^\[[0-9]+ s\]|^took' "$log"
count=$(sed -n 's/.* Release short_tests: \([0-9]*\) passed.*/\1/p' "$log")
listed=$(inside 'build/Release/short_tests --list-test-names-only "~[.]"' | wc -l)
check "${count:-0} of $listed tests of short_tests" [ "${count:-0}" = "$listed" ]
built=$(grep -c ': built in' "$log") ran=$(grep -cE ': [0-9]+ passed in' "$log")
check "$built programs built, $ran run" [ "$ran" -ge "$built" -a "$built" != 0 ]
sum=$(tail -n 1 "$log")
check "the sum: $sum" grep -qxE '[1-9][0-9]* passed, 0 failed' <<< "$sum"
finish
