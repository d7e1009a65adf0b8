#!/usr/bin/env python3
"""ruby.py KIND: a flat report of CRuby in wasm ($RUBY_WASM) names Ruby's C functions.

The guest evaluates the Ruby program that it reads from standard input. What runs a Ruby method call has to be seen
(vm_exec_core), with what the program asks for (integers, strings, hashes), and nearly all samples have to fall on
functions that have a name.
"""
import os
import pathlib
import re
import tempfile

from perfcheck import GLASSBOX, Recording, check, main

PROGRAM = """
def fib(n) = n < 2 ? n : fib(n - 1) + fib(n - 2)
counts = Hash.new(0)
200_000.times { |i| counts["key #{i % 1000}"] += i }
puts fib(23) + counts.size
"""
RESULT = "29657"
SEEN = ("vm_exec_core", "rb_str_", "rb_hash|hash_", "rb_obj_|newobj|gc_")


def test(kind):
    with tempfile.TemporaryDirectory(prefix="glassbox-perf-") as folder:
        program = pathlib.Path(folder) / "program.rb"
        program.write_text(PROGRAM)
        made = Recording(folder, kind)
        with program.open() as source:
            printed = made.record([GLASSBOX, "run", f"--perf={kind}", f"--perf-dir={folder}", os.environ["RUBY_WASM"]],
                                  stdin=source)
        check(RESULT in printed, f"Ruby says {printed!r}")
        shares = made.shares("symbol")
    top = sorted(shares.items(), key=lambda item: -item[1])[:12]
    print(top)
    for pattern in SEEN:
        check(any(re.search(pattern, name) for name in shares), f"no function is called {pattern}: {top}")
    named = sum(share for name, share in shares.items() if re.match(r"[A-Za-z_]", name) and "!func[" not in name)
    check(named > 98, f"only {named} % of the samples have a name: {top}")


main(test)
