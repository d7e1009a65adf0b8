#!/bin/sh
# lib.sh: what the scripts of this folder share. Sourced; $GLASSBOX is the command, from ctest. Each script works in a
# folder of its own, $folder, which goes when it ends, and ends in `finish`.

set -u
failures=0
checks=0
folder=$(mktemp -d "${TMPDIR:-/tmp}/glassbox-cli.XXXXXX") || exit 1
trap 'rm -rf "$folder"' EXIT
cd "$folder" || exit 1

fail() {
    echo "FAIL: $*"
    failures=$((failures + 1))
}

# run STATUS COMMAND...: COMMAND must exit with STATUS; its output goes to the files `out` and `err`.
run() {
    wanted=$1
    shift
    checks=$((checks + 1))
    "$@" >out 2>err </dev/null
    status=$?
    [ $status = "$wanted" ] || fail "status $status, not $wanted: $* ($(head -n 3 err))"
}

# says FILE PATTERN: the file `out` or `err` has a line that matches the extended regular expression.
says() {
    checks=$((checks + 1))
    grep -Eq -e "$2" "$1" || fail "no '$2' in $1 of the last command: $(head -n 5 "$1")"
}

# silent FILE: nothing was written to it.
silent() {
    checks=$((checks + 1))
    [ ! -s "$1" ] || fail "$1 of the last command is not empty: $(head -n 3 "$1")"
}

# prints TEXT: standard output was TEXT, whole.
prints() {
    checks=$((checks + 1))
    [ "$(cat out)" = "$1" ] || fail "the last command printed '$(cat out)', not '$1'"
}

# module NAME < TEXT: makes NAME.wasm of the text format, with names for its functions.
module() {
    cat >"$1.wat"
    wat2wasm --debug-names -o "$1.wasm" "$1.wat" || exit 1
}

finish() {
    echo "$checks checks, $failures failed"
    [ $failures = 0 ]
    exit
}
