#!/bin/sh
# What --dir, --env and arguments become for the guest. world.wasm prints its arguments and its environment, one a line.
# shellcheck source=tests/cli/lib.sh
. "${0%/*}/lib.sh"

module world <<'WAT'
(module
  (import "wasi_snapshot_preview1" "args_sizes_get" (func $args_sizes (param i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "args_get" (func $args (param i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "environ_sizes_get" (func $environ_sizes (param i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "environ_get" (func $environ (param i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "fd_write" (func $write (param i32 i32 i32 i32) (result i32)))
  (memory (export "memory") 2)
  ;; Strings come to 4096, pointers to 65536. Their NULs become newlines.
  (func $print (param $bytes i32) (local $at i32)
    (block $done
      (loop $next
        (br_if $done (i32.ge_u (local.get $at) (local.get $bytes)))
        (if (i32.eqz (i32.load8_u offset=4096 (local.get $at)))
          (then (i32.store8 offset=4096 (local.get $at) (i32.const 10))))
        (local.set $at (i32.add (local.get $at) (i32.const 1)))
        (br $next)))
    (i32.store (i32.const 16) (i32.const 4096))
    (i32.store (i32.const 20) (local.get $bytes))
    (drop (call $write (i32.const 1) (i32.const 16) (i32.const 1) (i32.const 24))))
  (func (export "_start")
    (drop (call $args_sizes (i32.const 0) (i32.const 4)))
    (drop (call $args (i32.const 65536) (i32.const 4096)))
    (call $print (i32.load (i32.const 4)))
    (drop (call $environ_sizes (i32.const 0) (i32.const 4)))
    (drop (call $environ (i32.const 65536) (i32.const 4096)))
    (call $print (i32.load (i32.const 4)))))
WAT
module preopen <<'WAT'
(module
  (import "wasi_snapshot_preview1" "fd_prestat_dir_name" (func $name (param i32 i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "fd_write" (func $write (param i32 i32 i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "proc_exit" (func $exit (param i32)))
  (memory (export "memory") 1)
  (data (i32.const 0) "\64\00\00\00\04\00\00\00")
  (func (export "_start")
    (call $exit (i32.or (call $name (i32.const 3) (i32.const 100) (i32.const 4))
                        (call $write (i32.const 1) (i32.const 0) (i32.const 1) (i32.const 8))))))
WAT

run 0 env -i HOME=/x "$GLASSBOX" ./world.wasm one "two words" --help --
prints "world.wasm
one
two words
--help
--"
run 0 env -i HERE=1 OTHER=2 "$GLASSBOX" run --env HERE --env=MISSING --env A=1 --env=A=2 --env B= world.wasm
prints "world.wasm
HERE=1
A=2
B="

mkdir data
run 0 "$GLASSBOX" run --dir=data preopen.wasm
prints data
run 0 "$GLASSBOX" run --dir "$folder::/abc" preopen.wasm
prints /abc
run 1 "$GLASSBOX" run --dir=missing preopen.wasm
says err "^glassbox: .*missing.*No such file or directory"
run 1 "$GLASSBOX" run --dir=world.wasm preopen.wasm
says err "^glassbox: .*world.wasm.*Not a directory"
finish
