#!/bin/bash
# bash's completion, driven as bash drives it: it splits the line into words at blanks and at `=`.
#
#     completion.sh SCRIPT
# shellcheck source=tests/cli/lib.sh
. "${0%/*}/lib.sh"
# shellcheck disable=SC1090  # made at build time
. "$1"
mkdir directory
: >module.wasm

# completes "WANTED..." WORD...: what the last word is completed to.
completes() {
    wanted=$1
    shift
    checks=$((checks + 1))
    COMP_WORDS=("$@")
    COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
    _glassbox
    [ "${COMPREPLY[*]}" = "$wanted" ] || fail "$*: '${COMPREPLY[*]}', not '$wanted'"
}
completes "directory dump doctor" glassbox d
completes "run" glassbox ru
completes "module.wasm" glassbox run m
completes "--dir= --dispatch=" glassbox run --d
completes "--dir= --dispatch=" glassbox --d
completes "--func= --code --help" glassbox dump --
completes "region shared" glassbox run --dispatch =
completes "shared" glassbox run --dispatch = s
completes "shared" glassbox --dispatch s
completes "map,elf" glassbox run --perf = map,el
completes "directory" glassbox run --perf-dir = d
completes "directory" glassbox doctor --perf-dir d
completes "" glassbox run --invoke = f
finish
