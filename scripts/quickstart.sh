#!/bin/sh
# quickstart.sh: from a fresh Debian 12 to a profile of a WebAssembly program by native perf, in five minutes.
#
# Installs what is missing, builds Glassbox and one guest, records the guest with perf, and prints three reports of the
# recording. Each command is shown as it is run. Everything it writes is in build/.

set -eu
cd "$(dirname "$0")/.."

say() {
    printf '\n== %s\n' "$*"
}

run() {
    printf '$ %s\n' "$*"
    "$@"
}

# Reports go to pipes and files here, never to a pager.
report() {
    printf '$ %s\n' "$*"
    "$@" 2>build/quickstart/perf.log | grep -v -e '^#' -e '^[[:space:]]*$' | head -n "$lines"
}

say "Packages that are missing (scripts/install-deps.sh)"
scripts/install-deps.sh

say "Glassbox, and a guest: examples/guests/shares.c, compiled to WebAssembly with -g"
run cmake --preset release --log-level=WARNING
run cmake --build --preset release --target glassbox guest_shares

say "perf records the guest. --perf=elf: its code lies in a mapped ELF file, so perf needs no further step"
mkdir -p build/quickstart
run perf record -q -e cpu-clock -F 2000 -g -o build/quickstart/perf.data \
    build/release/bin/glassbox run --perf=elf --perf-dir=build/quickstart build/release/guests/shares.wasm

say "Where the time goes: the guest's functions; by construction heavy : middling : light is 60 : 30 : 10"
lines=12
report perf report -i build/quickstart/perf.data --stdio --no-children -g none -s symbol

say "The same by source line of the guest"
report perf report -i build/quickstart/perf.data --stdio --no-children -g none -s srcline

say "heavy(), each source line above the machine code that ran for it"
lines=40
report perf annotate -i build/quickstart/perf.data --stdio -s heavy

say "Done. More: perf report -i build/quickstart/perf.data; README.md; scripts/test.sh"
