#!/bin/sh
# An option that is unknown, misplaced, incomplete or at odds with another is refused: exit status 2, nothing on
# standard output, and one line that names it and says where help is.
# shellcheck source=tests/cli/lib.sh
. "${0%/*}/lib.sh"

module empty <<'WAT'
(module (func (export "_start")))
WAT

# refused PATTERN ARGUMENT...
refused() {
    pattern=$1
    shift
    run 2 "$GLASSBOX" "$@"
    silent out
    says err "^glassbox: .*$pattern.*\(try glassbox( run| dump| doctor)? --help\)\$"
    [ "$(wc -l <err)" = 1 ] || fail "more than one line: $*"
}

refused "unknown option --frob" run --frob empty.wasm
refused "unknown option --frob=1" --frob=1 empty.wasm
refused "unknown option -x" run -x empty.wasm
refused "unknown option --" dump --invoke=f empty.wasm
refused "unknown option --line" run --perf=elf --line=auto empty.wasm
refused "unknown option --version" run --version
refused "no MODULE" run
refused "no MODULE" run --invoke=f
refused "no MODULE" dump
refused "--perf=map after MODULE" run empty.wasm --perf=map
refused "--perf=elf,map after MODULE" empty.wasm one --perf=elf,map
refused "--dispatch=shared after MODULE" run empty.wasm --dispatch=shared
refused "--lines=source after MODULE" run --perf=elf empty.wasm --lines=source
run 0 "$GLASSBOX" run -- empty.wasm --perf=map
run 0 "$GLASSBOX" run empty.wasm --perf=other --perf --dir=. --help
refused "--func.*come before MODULE" dump empty.wasm --func=1
refused "more.wasm" dump empty.wasm more.wasm
refused "empty.wasm: doctor takes no operands" doctor empty.wasm
refused "--version stands alone" --version run
refused "--invoke is given twice" run --invoke=f --invoke=g empty.wasm
refused "--dispatch is given twice" run --dispatch=shared --dispatch=shared empty.wasm
refused "--invoke needs an argument, NAME" run --invoke
refused "--json takes no argument" doctor --json=yes
refused "--help takes no argument" run --help=me

refused "--dispatch=fast: not among region\|shared" run --dispatch=fast empty.wasm
refused "--perf=perfmap: not among" run --perf=perfmap empty.wasm
refused "--perf=map,: not among" run --perf=map, empty.wasm
refused "--perf=: not among" run --perf= empty.wasm
refused "--lines=dwarf: not among" run --perf=elf --lines=dwarf empty.wasm
for size in 0 -1 x 1x 1KB 99999999999999999999 99999999999999G "" " 1"; do
    refused "--max-wasm-stack=$size: not a size" run "--max-wasm-stack=$size" empty.wasm
done
refused "--env==1: no name" run --env==1 empty.wasm
refused "--env=: no name" run --env= empty.wasm

refused "--perf-dir needs --perf" run --perf-dir=. empty.wasm
refused "--lines needs --perf" run --lines=source empty.wasm
refused "--lines is for jitdump and elf" run --perf=map --lines=source empty.wasm
refused "--perf" run --dispatch=shared --perf=map empty.wasm
refused "--perf" run --perf=elf --dispatch shared empty.wasm

# No abbreviations: an option added later must not change what an old script means.
refused "unknown option --disp=shared" run --disp=shared empty.wasm
# What is printed of the command line cannot command a terminal.
refused 'unknown option --\\x1b\[31m' run "$(printf -- '--\033[31m')" empty.wasm

# After MODULE everything is the guest's, and so it is after --.
run 0 "$GLASSBOX" run empty.wasm --frob --help
silent out
run 0 "$GLASSBOX" run -- empty.wasm
run 0 "$GLASSBOX" run --dispatch=shared empty.wasm
run 0 "$GLASSBOX" --dispatch shared empty.wasm

# No arguments at all: the help, but on standard error.
run 2 "$GLASSBOX"
silent out
says err "^Usage: glassbox "
finish
