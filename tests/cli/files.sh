#!/bin/sh
# What is wrong with a module's file is said in one line, with exit status 1; a pipe is as good as a file.
# shellcheck source=tests/cli/lib.sh
. "${0%/*}/lib.sh"

# bad PATTERN FILE
bad() {
    for command in run dump; do
        run 1 "$GLASSBOX" $command "$2"
        silent out
        says err "^glassbox: $2: $1"
        [ "$(wc -l <err)" = 1 ] || fail "more than one line for $2"
    done
}

module empty <<'WAT'
(module (func (export "_start")))
WAT
mkdir directory
: >nothing
truncate -s 2147483648 large
truncate -s 4294967297 larger
printf 'hello, world\n' >text
head -c 20 empty.wasm >short
printf '\0asm\1\0\0\0\12\4\1\2\0\13' >orphan
printf '\0asm\1\0\0\0\1\4\1\140\0\0\3\2\1\0\12\5\1\3\0\152\13' >invalid

bad "No such file or directory" missing.wasm
bad "Is a directory" directory
bad "is empty" nothing
bad "larger than a module can be" large
bad "larger than a module can be" larger
bad "offset 0x[0-9a-f]+: malformed: " text
bad "offset 0x[0-9a-f]+: malformed: " short
bad "offset 0x[0-9a-f]+: malformed: " orphan
bad "offset 0x[0-9a-f]+: invalid: " invalid
bad "" ""

# A first word that is neither a command nor a file.
run 1 "$GLASSBOX" dmup
says err "^glassbox: dmup: No such file or directory"

# A hostile file name.
name=$(printf 'x\033[31m\ny')
run 1 "$GLASSBOX" "$name"
says err '^glassbox: x\\x1b\[31m\\x0ay: No such file'

mkfifo pipe
cat empty.wasm >pipe &
run 0 "$GLASSBOX" pipe
wait

module import <<'WAT'
(module
  (import "env" "missing" (func))
  (import "wasi_snapshot_preview1" "no_such" (func))
  (import "wasi_snapshot_preview1" "fd_close" (func (param i64)))
  (import "env" "memory" (memory 1))
  (func (export "_start")))
WAT
run 1 "$GLASSBOX" import.wasm
says err '^glassbox: import.wasm: unlinkable: import "env" "missing": nothing provides this func$'
says err '^glassbox: import.wasm: unlinkable: import "wasi_snapshot_preview1" "no_such"'
says err '^glassbox: import.wasm: unlinkable: import "wasi_snapshot_preview1" "fd_close"'
says err '^glassbox: import.wasm: unlinkable: import "env" "memory": nothing provides this memory$'
finish
