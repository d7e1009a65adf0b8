#!/usr/bin/env python3
"""Random valid modules, run in both dispatch modes, and by node where it is there; all must agree.

    differential.py RUN_EXPORTS [--seed=N] [--modules=N | --seconds=N] [--keep=DIR]

Module N is made from seed N alone, so a number is all that is needed to make it again: every third by Binaryen
($WASM_OPT or the wasm-opt on the PATH; without it, none), the others by generate.py. In odd ones no NaN payload can
reach a result or the memory; those are compared with node too. Exits 1 where anything differs, was refused, crashed or
did not end; the module is then kept in DIR (default: the working directory). Prints how many modules and calls were
run.

Binaryen is given no reference types: its version 108 makes modules of a draft of them, which are not valid today.
"""
import argparse
import os
import pathlib
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time

import generate

WASM_OPT = os.environ.get("WASM_OPT") or "wasm-opt"
NODE_SCRIPT = pathlib.Path(__file__).with_name("node_exports.js")
FEATURES = ["--mvp-features", "--enable-sign-ext", "--enable-nontrapping-float-to-int", "--enable-bulk-memory",
            "--enable-mutable-globals", "--enable-multivalue", "--enable-tail-call", "--enable-extended-const"]
OPTIMISE = [[], [], ["-O1"], ["-O3"]]
INPUT_BYTES = [300, 1000, 4000, 12000, 30000]
BATCH = 50


def is_denanned(seed):
    return seed % 2 == 1


def make_with_binaryen(seed, folder, module):
    source = random.Random(seed)
    data = folder / "input"
    data.write_bytes(source.randbytes(source.choice(INPUT_BYTES)))
    subprocess.run([WASM_OPT, data, "-ttf", *source.choice(OPTIMISE), *FEATURES, *(["--denan"] * is_denanned(seed)),
                    "-o", module], check=True, stderr=subprocess.DEVNULL)


def make_module(seed, folder):
    """The path of module `seed`."""
    module = folder / f"{seed}.wasm"
    if seed % 3 == 0 and shutil.which(WASM_OPT):
        make_with_binaryen(seed, folder, module)
    else:
        module.write_bytes(generate.module_bytes(seed, is_denanned(seed)))
    return module


def same_line(ours, nodes):
    """Node has one message for some pairs of traps: "traps A or B"."""
    if ours == nodes:
        return True
    return ours.startswith("traps ") and " or " in nodes and any(
        ours == f"traps {text}" for text in nodes.removeprefix("traps ").split(" or "))


def compare_with_node(run_exports, modules):
    """(lines that tell where node disagrees, number of modules that it could run)."""
    printed = subprocess.run(["node", NODE_SCRIPT, *modules], capture_output=True, text=True, check=True).stdout
    found = []
    parts = re.split(r"^module ", printed, flags=re.MULTILINE)[1:]
    for part in parts:
        path, *nodes = part.splitlines()
        ours = subprocess.run([run_exports, "--print=shared", path], capture_output=True, text=True).stdout.splitlines()
        for our_line, node_line in zip(ours + [""] * len(nodes), nodes + [""] * (len(ours) - len(nodes))):
            if not same_line(our_line, node_line):
                found.append(f"{path}: shared: {our_line} | node: {node_line}")
                break
    return found, len(parts)


def run_batch(options, seeds, folder):
    """(lines that tell what is wrong, number of calls, number of modules that node ran too)."""
    modules = [make_module(seed, folder) for seed in seeds]
    done = subprocess.run([options.run_exports, *modules], capture_output=True, text=True, errors="replace")
    *wrong, summary = done.stdout.splitlines() or ["run_exports says nothing: " + done.stderr, ""]
    calls = re.search(r"(\d+) calls", summary)
    in_node = 0
    if shutil.which("node"):
        denanned = [module for module, seed in zip(modules, seeds) if is_denanned(seed)]
        disagreements, in_node = compare_with_node(options.run_exports, denanned)
        wrong += disagreements
    for line in wrong:
        path = pathlib.Path(line.split(":")[0])
        if path.is_file():
            shutil.copy(path, options.keep)
    for module in modules:
        module.unlink()
    return wrong, int(calls.group(1)) if calls else 0, in_node


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("run_exports")
    parser.add_argument("--seed", type=int, default=1, help="of the first module")
    parser.add_argument("--modules", type=int, default=sys.maxsize)
    parser.add_argument("--seconds", type=float, default=float("inf"))
    parser.add_argument("--keep", type=pathlib.Path, default=pathlib.Path("."))
    options = parser.parse_args()
    end = time.monotonic() + options.seconds
    count = calls = bad = in_node = 0
    with tempfile.TemporaryDirectory() as folder:
        while count < options.modules and time.monotonic() < end:
            size = min(BATCH, options.modules - count)
            first = options.seed + count
            wrong, batch_calls, batch_in_node = run_batch(options, range(first, first + size), pathlib.Path(folder))
            count += size
            calls += batch_calls
            in_node += batch_in_node
            bad += len(wrong)
            for line in wrong:
                print(line, flush=True)
    print(f"{count} modules from seed {options.seed}, {calls} calls in each mode, {in_node} of the modules in node "
          f"too: {bad} disagreements")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
