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

# Runs a command, shows it, and keeps what it says for when it fails.
run() {
    printf '$ %s\n' "$*"
    "$@" >build/quickstart/log 2>&1 || { cat build/quickstart/log; exit 1; }
}

# Shows the first lines that `run` kept, without perf's remarks.
show() {
    grep -v -e '^#' -e '^[[:space:]]*$' build/quickstart/log | head -n "$1"
}

say "Packages that are missing (scripts/install-deps.sh)"
scripts/install-deps.sh

say "Glassbox, and a guest: examples/guests/shares.c, compiled to WebAssembly with -g"
mkdir -p build/quickstart
run cmake --preset release
run cmake --build --preset release --target glassbox guest_shares

say "perf records the guest; with --perf=elf its code is a mapped ELF file, so perf needs no further step"
run perf record -e cpu-clock -F 1999 -o build/quickstart/perf.data \
    build/release/bin/glassbox run --perf=elf --perf-dir=build/quickstart build/release/guests/shares.wasm 20000
show 1

say "Where the time goes, by function: heavy, middling and light do 60, 30 and 10 % of the work"
run perf report -i build/quickstart/perf.data --stdio -F overhead,symbol
show 6

say "The same by line of the guest's source"
run perf report -i build/quickstart/perf.data --stdio -F overhead,srcline
show 6

say "heavy(): the guest's source, and beneath each line the machine code that runs for it; the hot part"
run perf annotate -i build/quickstart/perf.data --stdio -s heavy
grep -v -e '^ *: *$' build/quickstart/log |
    awk '{ line[NR] = $0 } !hot && $1 >= 1 && $2 == ":" { hot = NR }
         END { for (i = hot - 6; i < hot + 30 && i <= NR; i++) print line[i] }'

say "Done. Look further with: perf report -i build/quickstart/perf.data"
