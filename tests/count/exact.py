#!/usr/bin/env python3
"""exact.py: wasm-instructions equal a hand count, function by function, in both dispatch modes, whatever ends a call;
a function that does k times the work has k times the count; both modes write the same report."""
import pathlib

from counting import DISPATCHES, build, check, count, equal, has_regions, scratch


def fib_calls(n):
    return 1 if n < 2 else 1 + fib_calls(n - 1) + fib_calls(n - 2)


def fib_leaves(n):
    return 1 if n < 2 else fib_leaves(n - 1) + fib_leaves(n - 2)


FIB = 5 * fib_leaves(12) + 13 * (fib_calls(12) - fib_leaves(12))

# (export, arguments, status, {function: (calls, self, inclusive)})
CASES = [
    ("count_down", ["10"], 0, {"count_down": (1, 51, 51)}),
    ("thrice", [], 0, {"thrice": (1, 3, 3 + 1501 + 2 + 501), "once": (1, 2, 2 + 501),
                       "count_down": (2, 1501 + 501, 1501 + 501)}),
    ("both", [], 0, {"both": (1, 4, 4 + 150001 + 50001), "heavy": (1, 150001, 150001), "light": (1, 50001, 50001)}),
    ("calls_empty", ["1000000"], 0, {"calls_empty": (1, 6000001, 6000001), "empty": (1000000, 0, 0)}),
    ("fib", ["12"], 0, {"fib": (fib_calls(12), FIB, FIB)}),
    ("even", ["3"], 0, {"even": (2, 14, 14), "odd": (2, 11, 11)}),
    ("traps", [], 134, {"traps": (1, 2, 4), "loads": (1, 2, 2)}),
    (None, [], 7, {"leaves": (1, 4, 4), "wasi_snapshot_preview1.proc_exit": (1, 0, 0),
                   "wasi_snapshot_preview1.sched_yield": (1, 0, 0)}),
    ("deep", ["1000"], 0, {"deep": (1001, 1000 * 7 + 4, 1000 * 7 + 4)}),
]


def test(folder):
    module = build(folder)
    for export, arguments, status, expected in CASES:
        invoke = [f"--invoke={export}"] if export else []
        texts = []
        for dispatch in DISPATCHES:
            if dispatch == "region" and not has_regions():
                continue
            report, _, _ = count(folder, ["--count=wasm-instructions", f"--dispatch={dispatch}", *invoke], module,
                                 arguments, status=status)
            for name, wanted in expected.items():
                row = report.functions.get(name)
                check(row, f"{export}: {name} is not among {list(report.functions)}")
                found = (row["calls"], row["self"]["wasm-instructions"], row["inclusive"]["wasm-instructions"])
                equal(found, wanted, f"{export}, {dispatch}: calls, self, inclusive of {name}")
            equal(report.functions["(outside)"]["self"]["wasm-instructions"], 0, "outside of functions")
            texts.append((folder / "report.json").read_text())
        equal(len(set(texts)), 1, f"{export}: different reports of both dispatch modes")


with scratch() as name:
    test(pathlib.Path(name))
