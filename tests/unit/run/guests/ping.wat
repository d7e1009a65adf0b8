;; Two instances of this module, each given the other's functions through the host's table, tail call one another.
(module $ping
  (import "host" "table" (table 4 funcref))
  (import "host" "me" (global $me i32))
  (type $step (func (param i32) (result i32)))
  (func $ping (export "ping") (param i32) (result i32)
    (if (i32.eqz (local.get 0)) (then (return (global.get $me))))
    (return_call_indirect (type $step) (i32.sub (local.get 0) (i32.const 1))
      (i32.sub (i32.const 1) (global.get $me))))

  ;; the same, and at 0 recursion without end
  (func $sink (export "sink") (param i32) (result i32)
    (if (i32.eqz (local.get 0)) (then (return (i32.add (i32.const 1) (call $sink (i32.const 0))))))
    (return_call_indirect (type $step) (i32.sub (local.get 0) (i32.const 1))
      (i32.sub (i32.const 3) (global.get $me))))

  (func $place (export "place")
    (table.set 0 (global.get $me) (ref.func $ping))
    (table.set 0 (i32.add (i32.const 2) (global.get $me)) (ref.func $sink)))
  (elem declare func $ping $sink))
