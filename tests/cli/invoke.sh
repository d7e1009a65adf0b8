#!/bin/sh
# --invoke: arguments by the function's types, results one a line, and mistakes refused before the guest is made.
# shellcheck source=tests/cli/lib.sh
. "${0%/*}/lib.sh"

module values <<'WAT'
(module
  (func (export "i32") (param i32) (result i32) (local.get 0))
  (func (export "i64") (param i64) (result i64) (local.get 0))
  (func (export "f32") (param f32) (result f32) (local.get 0))
  (func (export "f64") (param f64) (result f64) (local.get 0))
  (func (export "ref") (param externref) (result externref) (local.get 0))
  (func $own (export "own") (result funcref) (ref.func $own))
  (func (export "add") (param i32 i32) (result i32) (i32.add (local.get 0) (local.get 1)))
  (func (export "swap") (param i32 f64) (result f64 i32) (local.get 1) (local.get 0))
  (func (export "nothing"))
  (func (export "trap") (result i32) unreachable)
  (memory (export "memory") 1))
WAT
module reactor <<'WAT'
(module
  (global $value (mut i32) (i32.const 1))
  (func (export "_initialize") (global.set $value (i32.const 7)))
  (func (export "value") (result i32) (global.get $value)))
WAT

# gives RESULT FUNCTION ARGUMENT...
gives() {
    result=$1 function=$2
    shift 2
    run 0 "$GLASSBOX" run --invoke="$function" values.wasm "$@"
    prints "$result"
}
gives 5 add 2 3
gives -1 add 2 -3
gives 1 add 0xffffffff 2
gives -2147483648 i32 2147483648
gives 9223372036854775807 i64 0x7fffffffffffffff
gives -1 i64 18446744073709551615
gives 0.1 f32 0.1
gives 0.1 f64 0.1
gives 1.5 f64 0x1.8p0
gives inf f32 inf
gives -nan f32 -nan
gives nan:0x1 f64 nan:0x1
gives null ref null
gives funcref own
gives "1.5
3" swap 3 1.5
gives "" nothing
run 0 "$GLASSBOX" --invoke i32 values.wasm 7
prints 7

run 0 "$GLASSBOX" run --invoke=value reactor.wasm
prints 7
run 0 "$GLASSBOX" run --invoke=_initialize reactor.wasm
silent out

run 134 "$GLASSBOX" run --invoke=trap values.wasm
silent out
says err "^Error: wasm trap: unreachable"

# refused PATTERN FUNCTION ARGUMENT...
refused() {
    pattern=$1 function=$2
    shift 2
    run 2 "$GLASSBOX" run --invoke="$function" values.wasm "$@"
    silent out
    says err "$pattern"
}
refused "values.wasm exports no function of that name" missing
refused "values.wasm exports no function of that name" memory
refused "takes 2 arguments, 1 are given" add 1
refused "takes 2 arguments, 3 are given" add 1 2 3
refused "argument 2, x, is not of type i32" add 1 x
refused "argument 1, 4294967296, is not of type i32" i32 4294967296
refused "argument 1, 1, is not of type externref" ref 1

full() { "$@" >/dev/full; }
run 1 full "$GLASSBOX" run --invoke=i32 values.wasm 7
says err "standard output: No space left on device"
finish
