#!/usr/bin/env python3
"""together.py: a run is counted and announced to perf at once; both say what they say alone."""
import pathlib
import subprocess

from counting import GUESTS, check, count, equal, scratch

EVENTS = "--count=wasm-instructions"


def symbols(image):
    printed = subprocess.run(["nm", "--demangle", image], capture_output=True, text=True, check=True).stdout
    return {line.split(None, 2)[2] for line in printed.splitlines()}


def test(folder):
    guest = GUESTS / "shares.wasm"
    alone, stdout, _ = count(folder, [EVENTS], guest, ["20"])
    both, also_stdout, _ = count(folder, [EVENTS, "--perf=elf,jitdump", f"--perf-dir={folder}"], guest, ["20"])
    equal(also_stdout, stdout, "what the guest prints")
    equal(both.json["contexts"], alone.json["contexts"], "contexts")
    images = list(folder.glob("glassbox-*.so"))
    equal(len(images), 1, "ELF images")
    missing = {name for name in both.functions if not name.startswith("(")} - symbols(images[0])
    missing = {name for name in missing if "." not in name}  # host functions may be called by the VM itself
    equal(missing, set(), "functions that were counted and not announced")
    equal(len(list(folder.glob("jit-*.dump"))), 1, "dumps")
    for name, times in (("heavy", 6), ("middling", 3)):
        work, light = both.functions[name]["inclusive"], both.functions["light"]["inclusive"]
        ratio = work["wasm-instructions"] / light["wasm-instructions"]
        check(abs(ratio - times) < 0.01 * times, f"{name} has {ratio} times the count of light, should have {times}")


with scratch() as name:
    test(pathlib.Path(name))
