#!/bin/sh
# install-deps.sh: installs the Debian packages that the tree is built and tested with, where they are missing.
#
# This is the one list of them; README.md's table, which says what each is for, is checked against it. All of them are
# in Debian 12 itself. Does nothing, and needs no network, where all are there.

set -eu

packages="
cmake ninja-build pkg-config
clang-19 lld-19 llvm-19
libelf-dev libdw-dev libiberty-dev libjansson-dev libcapstone-dev libpfm4-dev
wasi-libc libclang-rt-19-dev-wasm32
linux-perf binutils python3
libcmocka-dev libclang-rt-19-dev elfutils wabt binaryen nodejs shellcheck
qemu-system-arm ipxe-qemu gcc-aarch64-linux-gnu libc6-dev-arm64-cross cpio
qemu-user-static
"

missing=
for package in $packages; do
    status=$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null) || status=absent
    [ "$status" = installed ] || missing="$missing $package"
done
[ -n "$missing" ] || exit 0

if [ "$(id -u)" != 0 ]; then
    echo "install-deps.sh: not root; as root: apt-get install --no-install-recommends$missing" >&2
    exit 1
fi
echo "Installing$missing"
export DEBIAN_FRONTEND=noninteractive
apt-get -qq update
# shellcheck disable=SC2086  # a list of words
apt-get -qq -y install --no-install-recommends $missing
