;; Small functions whose instructions can be counted by hand; exact.py has the counts.
(module
  (import "wasi_snapshot_preview1" "proc_exit" (func $proc_exit (param i32)))
  (import "wasi_snapshot_preview1" "sched_yield" (func $sched_yield (result i32)))
  (memory (export "memory") 1)
  (table 1 funcref)

  ;; 1 for loop, 5 a round
  (func $count_down (export "count_down") (param $n i32)
    (loop $again
      (br_if $again (local.tee $n (i32.sub (local.get $n) (i32.const 1))))))

  ;; 4, and 300 or 100 rounds
  (func $thrice (export "thrice") (call $count_down (i32.const 300)) (call $once))
  (func $once (call $count_down (i32.const 100)))

  ;; the same loop, three times as often in one as in the other
  (func $both (export "both") (call $heavy (i32.const 30000)) (call $light (i32.const 10000)))
  (func $heavy (param $n i32)
    (loop $again
      (br_if $again (local.tee $n (i32.sub (local.get $n) (i32.const 1))))))
  (func $light (param $n i32)
    (loop $again
      (br_if $again (local.tee $n (i32.sub (local.get $n) (i32.const 1))))))

  (func $empty)
  ;; 1 for loop, 6 a round
  (func $calls_empty (export "calls_empty") (param $n i32)
    (loop $again
      (call $empty)
      (br_if $again (local.tee $n (i32.sub (local.get $n) (i32.const 1))))))

  ;; n < 2: get const lt if get; else: get const lt if get const sub call get const sub call add
  (func $fib (export "fib") (param $n i32) (result i32)
    (if (result i32) (i32.lt_u (local.get $n) (i32.const 2))
      (then (local.get $n))
      (else (i32.add (call $fib (i32.sub (local.get $n) (i32.const 1)))
                     (call $fib (i32.sub (local.get $n) (i32.const 2)))))))

  ;; a step: get eqz if get const sub return_call; the last: get eqz if const
  (func $even (export "even") (param $n i32) (result i32)
    (if (result i32) (i32.eqz (local.get $n))
      (then (i32.const 1))
      (else (return_call $odd (i32.sub (local.get $n) (i32.const 1))))))
  (func $odd (param $n i32) (result i32)
    (if (result i32) (i32.eqz (local.get $n))
      (then (i32.const 0))
      (else (return_call $even (i32.sub (local.get $n) (i32.const 1))))))

  ;; const call and not the drop behind it; const load, which traps
  (func $traps (export "traps") (drop (call $loads (i32.const -4))))
  (func $loads (param $at i32) (result i32) (i32.load (local.get $at)))

  ;; call drop const call
  (func $leaves (drop (call $sched_yield)) (call $proc_exit (i32.const 7)))
  ;; call and not the nop behind it
  (func (export "_start") (call $leaves) (nop))

  ;; get eqz if return; else get eqz if get const sub call
  (func $deep (export "deep") (param $n i32)
    (if (i32.eqz (local.get $n)) (then (return)))
    (call $deep (i32.sub (local.get $n) (i32.const 1)))))
