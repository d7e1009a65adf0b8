#!/bin/sh
# `glassbox dump`: sections, index spaces and bytecode, and no name that reaches the terminal as it is.
# shellcheck source=tests/cli/lib.sh
. "${0%/*}/lib.sh"

module parts <<'WAT'
(module
  (import "wasi_snapshot_preview1" "fd_close" (func $close (param i32) (result i32)))
  (import "env" "\1b[31mred" (global i64))
  (memory (export "memory") 1 2)
  (table 3 funcref)
  (global (mut f32) (f32.const 1))
  (func $first (export "one") (param i32) (result i32) (local i64 i64 f64)
    (block (result i32)
      (if (result i32) (local.get 0) (then (i32.const 1)) (else (i32.const 2)))))
  (func $second (export "two\0a\e2\80\ae"))
  (start $second))
WAT
run 0 "$GLASSBOX" dump parts.wasm
silent err
says out '^parts.wasm: [0-9]+ bytes$'
says out '^  0x[0-9a-f]{6} +[0-9]+  code$'
says out '^  0x[0-9a-f]{6} +[0-9]+  name \(custom\)$'
says out '^Types \(2\)$'
says out '^ +0  \(i32\) -> \(i32\)$'
says out '^  func +0  wasi_snapshot_preview1.fd_close  \(i32\) -> \(i32\)$'
says out '^  global +0  env.\\x1b\[31mred  i64$'
says out '^ +1  0x[0-9a-f]{6} +[0-9]+  first  \(i32\) -> \(i32\)$'
says out '^ +0  1 to 2 pages of 64 KiB$'
says out '^ +0  funcref, 3 elements$'
says out '^ +1  mutable f32$'
says out '^  func +1  one$'
says out '^  func +2  two\\x0a\\xe2\\x80\\xae$'
says out '^Start: function 2$'

for name in first one 1; do
    run 0 "$GLASSBOX" dump --func=$name parts.wasm
    sed 's/^  0x[0-9a-f]*/  OFFSET/' out >listing
    cat >wanted <<'TEXT'
func 1 first  (i32) -> (i32)
  local 1 to 2: i64
  local 3: f64
  OFFSET    block (result i32)
  OFFSET      local.get 0
  OFFSET      if (result i32)
  OFFSET        i32.const 1
  OFFSET      else
  OFFSET        i32.const 2
  OFFSET      end
  OFFSET    end
  OFFSET  end
TEXT
    diff wanted listing >differences || fail "--func=$name: $(cat differences)"
done
run 0 "$GLASSBOX" dump --func=first --func second parts.wasm
says out '^func 2 second '
run 1 "$GLASSBOX" dump --func=missing parts.wasm
says err '^glassbox: parts.wasm: has no function missing$'
run 1 "$GLASSBOX" dump --func=3 parts.wasm
run 1 "$GLASSBOX" dump --func=close parts.wasm
says err 'imported'

# The operand stream is printed whole, and the region is disassembled to its end.
run 0 "$GLASSBOX" dump --code --func=first parts.wasm
silent err
total=$(sed -n 's/^  operand stream \([0-9]*\) bytes, region [0-9]* bytes$/\1/p' out)
shown=$(sed -n 's/^    +0x[0-9a-f]\{4\}  \(\([0-9a-f]\{2\} \{0,1\}\)*\).*/\1/p' out | wc -w)
[ "${total:-none}" = "$shown" ] || fail "--code: $shown bytes shown of an operand stream of ${total:-unknown}"
says out '^  0x[0-9a-f]{6}        i32.const 2$'
if ! grep -q 'region 0 bytes' out; then
    says out ' \+0x0000  [a-z]+ '
    says out ' +\+0x[0-9a-f]{4}  (ret|retq|b|br|jmp|jmpq)( |$)'
fi
run 0 "$GLASSBOX" dump --code parts.wasm
says out '^func 1 first '
says out '^func 2 second '

full() { "$@" >/dev/full; }
run 1 full "$GLASSBOX" dump parts.wasm
says err "standard output: No space left on device"
printf '\0asm\1\0\0\0' >least.wasm
run 0 "$GLASSBOX" dump least.wasm
finish
