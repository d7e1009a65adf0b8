#!/bin/sh
# needs.sh [NEED...] -- COMMAND...
#
# Runs COMMAND on a machine that has every NEED; on another prints which one is lacking and why, and exits 77 (skipped).
# Where the needs are met, COMMAND may not skip by itself: 77 from it becomes 1, since a test that quietly stops running
# is worse than one that fails. A test that names no need may skip by its own judgement.
#
# Each need is one function below, which prints why it is lacking and returns 1.
# shellcheck disable=SC2317  # the functions are called by name

need_root() {
    [ "$(id -u)" = 0 ] || { echo "not root"; return 1; }
}

# Software events on oneself: enough for every test here.
need_perf() {
    command -v perf >/dev/null || { echo "perf is not on the PATH (Debian: linux-perf)"; return 1; }
    probe=$(perf record -q -e cpu-clock -o /dev/null -- true 2>&1) || { echo "perf record fails: $probe"; return 1; }
}

# Hardware counters on the machine itself.
need_pmu() {
    need_perf || return 1
    perf stat -x, -e instructions:u true 2>&1 | grep -q '^[0-9]' ||
        { echo "perf counts no instructions: no PMU"; return 1; }
}

# A machine with hardware counters, emulated. It is not part of this tree.
need_arm64_pmu() {
    [ -x "$GLASSBOX_SHARED/tools/arm64-pmu" ] ||
        { echo "no tools/arm64-pmu in GLASSBOX_SHARED=$GLASSBOX_SHARED"; return 1; }
    for tool in qemu-system-aarch64 aarch64-linux-gnu-gcc cpio; do
        command -v "$tool" >/dev/null || { echo "$tool is not on the PATH (scripts/install-deps.sh)"; return 1; }
    done
}

# A mount namespace of one's own, where a test may mount small, read-only or noexec file systems.
need_mounts() {
    command -v unshare >/dev/null || { echo "unshare is not on the PATH (Debian: util-linux)"; return 1; }
    probe=$(unshare -m sh -c 'mount -t tmpfs none /mnt' 2>&1) || { echo "no mount namespace: $probe"; return 1; }
}

# The specification's tests, which are not part of this tree.
need_spec() {
    [ -d "$GLASSBOX_SHARED/spec/core" ] || { echo "no spec/core in GLASSBOX_SHARED=$GLASSBOX_SHARED"; return 1; }
}

need_wasm_opt() {
    "${WASM_OPT:-wasm-opt}" --version >/dev/null 2>&1 ||
        { echo "no wasm-opt (Debian: binaryen; configure with -DGLASSBOX_WASM_OPT=)"; return 1; }
}

need_node() {
    node -e 'process.exit(0)' 2>/dev/null || { echo "node is not on the PATH"; return 1; }
}

# What the preset aarch64 is built with and run by.
need_aarch64() {
    command -v qemu-aarch64-static >/dev/null ||
        { echo "qemu-aarch64-static is not on the PATH (Debian: qemu-user-static)"; return 1; }
    clang-19 --version >/dev/null 2>&1 || { echo "no clang-19"; return 1; }
    [ -f "${0%/*}/../build/aarch64-sysroot/packages" ] ||
        { echo "no libraries for aarch64: run scripts/aarch64-sysroot"; return 1; }
}

# CRuby as a WASI command that evaluates its standard input.
need_ruby() {
    [ -r "${RUBY_WASM:-}" ] || { echo "RUBY_WASM names no readable file"; return 1; }
}

named=0
while [ "$1" != -- ]; do
    [ $# -gt 0 ] || { echo "needs.sh: no -- COMMAND" >&2; exit 1; }
    command -v "need_$1" >/dev/null || { echo "needs.sh: unknown need $1" >&2; exit 1; }
    why=$("need_$1") || { echo "skip: needs $1: $why"; exit 77; }
    named=1
    shift
done
shift

"$@"
status=$?
if [ $status = 77 ] && [ $named = 1 ]; then
    echo "needs.sh: the command skipped although all that it needs is here" >&2
    exit 1
fi
exit $status
