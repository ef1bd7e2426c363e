#!/usr/bin/env bash
# Builds the Debian packages of the last commit: weft_VERSION.dsc with its archive, and
# libweft-dev_VERSION_ARCHITECTURE.deb.
#
#     third_party/packaging/debian.sh FOLDER      writes them into FOLDER
#
# It needs dpkg-dev, debhelper, cmake and libboost-context-dev.
set -euo pipefail
cd "$(dirname "$0")/../.."
folder=$(realpath -m "${1:?a folder for the packages}")

version=$(sed -n 's/^#define WEFT_VERSION_[A-Z]* //p' include/weft/version.h | paste -sd.)
sources=$folder/weft-$version
mkdir -p "$folder"
rm -rf "$sources"
git archive --prefix="weft-$version/" HEAD | tar -x -C "$folder"
cp -r "$sources/third_party/packaging/debian" "$sources/debian"
maintainer=$(sed -n 's/^Maintainer: //p' "$sources/debian/control")
cat > "$sources/debian/changelog" <<CHANGELOG
weft ($version) unstable; urgency=medium

  * Version $version: include/weft/README.md lists the changes.

 -- $maintainer  $(git log -1 --format=%cD)
CHANGELOG
cd "$sources"
dpkg-buildpackage -us -uc
rm -rf "$sources"
ls "$folder"
