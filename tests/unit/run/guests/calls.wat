;; What call_test.c calls. `again` is the host's; it calls back into the guest.
(module $calls
  (import "host" "again" (func $again (param i32) (result i32)))
  (memory (export "memory") 1)
  (table 2 funcref)
  (type $binary (func (param i32 i32) (result i32)))
  (elem (i32.const 0) $add)

  (func $add (export "add") (param i32 i32) (result i32)
    (i32.add (local.get 0) (local.get 1)))

  ;; the host calls $down with n - 1, which calls the host ...; at 0 it traps
  (func $down (export "down") (param i32) (result i32)
    (if (i32.eqz (local.get 0)) (then unreachable))
    (i32.add (i32.const 1) (call $again (i32.sub (local.get 0) (i32.const 1)))))

  (func $forever (export "forever") (param i32) (result i32)
    (i32.add (i32.const 1) (call $forever (local.get 0))))

  (func $load (export "load") (param i32) (result i32)
    (i32.load offset=65532 (local.get 0)))
  (func $deep_load (export "deep_load") (param i32) (result i32)
    (i32.add (i32.const 1) (call $load (local.get 0))))

  (func (export "indirect") (param i32) (result i32)
    (call_indirect (type $binary) (i32.const 40) (i32.const 2) (local.get 0)))

  (func (export "swap") (param i32 i64) (result i64 i32)
    (local.get 1) (local.get 0))
  (func (export "third") (param f32) (result f32)
    (f32.div (local.get 0) (f32.const 3)))

  (func $odd (param i32) (result i32)
    (if (result i32) (i32.eqz (local.get 0)) (then (i32.const 0))
      (else (return_call $even (i32.sub (local.get 0) (i32.const 1))))))
  (func $even (export "even") (param i32) (result i32)
    (if (result i32) (i32.eqz (local.get 0)) (then (i32.const 1))
      (else (return_call $odd (i32.sub (local.get 0) (i32.const 1))))))

  ;; the first instruction is a call, which traps
  (func $boom (result i32) (unreachable))
  (func (export "first") (param i32) (result i32)
    (call $boom) (local.get 0) (i32.add))
  (func (export "hop") (param i32) (result i32)
    (return_call_indirect (type $binary) (i32.const 40) (i32.const 2) (local.get 0))))
