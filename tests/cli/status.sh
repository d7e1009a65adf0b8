#!/bin/sh
# What the guest does is what `glassbox run` exits with, in both dispatch modes.
# shellcheck source=tests/cli/lib.sh
. "${0%/*}/lib.sh"

for status in 0 1 42 255 256; do
    module exit$status <<WAT
(module
  (import "wasi_snapshot_preview1" "proc_exit" (func \$exit (param i32)))
  (memory (export "memory") 1)
  (func (export "_start") (call \$exit (i32.const $status)) unreachable))
WAT
done
module trap <<'WAT'
(module
  (memory (export "memory") 1)
  (func $inner (param i32) (result i32) (i32.load (local.get 0)))
  (func $middle (drop (call $inner (i32.const -1))))
  (func (export "_start") (call $middle)))
WAT
module divide <<'WAT'
(module (func (export "_start") (drop (i32.div_s (i32.const 1) (i32.const 0)))))
WAT
module deep <<'WAT'
(module (func $deep (export "_start") (call $deep)))
WAT
module start <<'WAT'
(module (func $begin unreachable) (start $begin))
WAT
module quiet <<'WAT'
(module (func $begin) (start $begin))
WAT
module segment <<'WAT'
(module (memory 1) (data (i32.const 65536) "x") (func (export "_start")))
WAT
module library <<'WAT'
(module (func (export "f")))
WAT
module odd <<'WAT'
(module (func (export "_start") (param i32)))
WAT
module hello <<'WAT'
(module
  (import "wasi_snapshot_preview1" "fd_write" (func $write (param i32 i32 i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "proc_exit" (func $exit (param i32)))
  (memory (export "memory") 1)
  (data (i32.const 0) "\10\00\00\00\06\00\00\00")
  (data (i32.const 16) "hello\n")
  (func (export "_start") (call $exit (call $write (i32.const 1) (i32.const 0) (i32.const 1) (i32.const 8)))))
WAT

for mode in region shared; do
    # A sanitizer's build has no regions, and refuses to be asked for them.
    if [ $mode = region ] && "$GLASSBOX" run --dispatch=region quiet.wasm 2>&1 | grep -q 'no code regions'; then
        continue
    fi
    glassbox() { "$GLASSBOX" run --dispatch="$mode" "$@"; }
    for status in 0 1 42 255; do
        run $status glassbox exit$status.wasm
    done
    run 0 glassbox exit256.wasm # as a native program's
    silent err

    run 134 glassbox trap.wasm
    silent out
    says err '^Error: wasm trap: out of bounds memory access$'
    says err '^ +0: 0x[0-9a-f]+ inner$'
    says err '^ +1: 0x[0-9a-f]+ middle$'
    says err '^ +2: 0x[0-9a-f]+ '
    [ "$(wc -l <err)" = 4 ] || fail "the backtrace has another depth: $(cat err)"
    run 134 glassbox divide.wasm
    says err '^Error: wasm trap: integer divide by zero$'
    run 134 glassbox deep.wasm
    says err '^Error: wasm trap: call stack exhausted$'
    says err '^  \.\.\. and [0-9]+ more$'
    run 134 glassbox --max-wasm-stack=64K deep.wasm
    says err '^Error: wasm trap: call stack exhausted$'
    run 134 glassbox start.wasm
    says err '^Error: wasm trap: unreachable$'
    run 134 glassbox segment.wasm
    says err '^Error: wasm trap: out of bounds memory access$'
    run 0 glassbox quiet.wasm

    run 0 glassbox hello.wasm
    prints hello
done

# A smaller stack holds fewer frames.
depth() { run 134 "$GLASSBOX" run --max-wasm-stack="$1" deep.wasm; sed -n 's/^  \.\.\. and \([0-9]*\) more$/\1/p' err; }
small=$(depth 32K)
large=$(depth 512K)
[ "${small:-0}" -lt "${large:-0}" ] || fail "--max-wasm-stack: 32K gave ${small:-no} frames, 512K ${large:-no}"

run 1 "$GLASSBOX" library.wasm
says err '^glassbox: library.wasm: is a library, it has no _start: name a function to call with --invoke$'
run 1 "$GLASSBOX" odd.wasm
says err '_start takes arguments'

# WASI has an errno where the system has a signal: 64 is EPIPE. /dev/full gives 51, ENOSPC.
broken() { (trap - PIPE; { sleep 0.2; "$@"; echo $? >status; } | true); return "$(cat status)"; }
full() { "$@" >/dev/full; }
run 64 broken "$GLASSBOX" hello.wasm
run 51 full "$GLASSBOX" hello.wasm
finish
