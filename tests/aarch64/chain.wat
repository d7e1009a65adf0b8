(module
  (type $i32 (func (param i32) (result i32)))
  (import "host" "host" (func $host (type $i32)))
  (table funcref (elem $tail))
  (func $outer (export "outer") (type $i32) (call $middle (local.get 0)))
  (func $middle (type $i32) (call $inner (local.get 0)))
  (func $inner (type $i32) (call_indirect (type $i32) (local.get 0) (i32.const 0)))
  (func $tail (type $i32) (return_call $leaf (local.get 0)))
  (func $leaf (type $i32) (call $host (local.get 0))))
