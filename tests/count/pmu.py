#!/usr/bin/env python3
"""pmu.py ARM64_PMU GLASSBOX: instructions of the CPU, charged to frames, on a machine that counts them without noise.

The machine runs one program and has no way to give back a file, so the table is read.
"""
import os
import pathlib
import re
import subprocess
import sys

from counting import build, check, equal, scratch

ROW = re.compile(r"^ *([\d,]*) +([\d,]+) +[\d.]+ % +[\d.]+ %  (\S+)\s*$")
CALLS = 100000


class Table:
    def __init__(self, machine, glassbox, module, options, arguments=()):
        command = [machine, glassbox, "run", "--count=instructions:u", *options, f"/{module.name}", *arguments]
        done = subprocess.run(list(map(str, command)), capture_output=True, text=True,
                              env={**os.environ, "ARM64_PMU_FILES": str(module)})
        text = done.stdout + done.stderr
        check(done.returncode == 0, f"{command}: status {done.returncode}\n{text}")
        print(text)
        self.total = int(re.search(r"instructions:u: ([\d,]+) instructions", text)[1].replace(",", ""))
        self.self = {row[3]: int(row[2].replace(",", "")) for row in map(ROW.match, text.splitlines()) if row}
        equal(sum(self.self.values()), self.total, "the sum of self costs")


def near(found, wanted, share, what):
    check(abs(found - wanted) <= share * wanted, f"{what}: {found}, should be {wanted} within {100 * share} %")


def test(folder, machine, glassbox):
    module = build(folder)
    first, second = (Table(machine, glassbox, module, ["--invoke=both"]) for _ in range(2))
    equal(first.self["heavy"], second.self["heavy"], "the same loop, counted again")
    near(first.self["heavy"], 3 * first.self["light"], 0.01, "three times the work")

    truth = Table(machine, glassbox, module, ["--count-functions=calls_empty", "--invoke=calls_empty"], [CALLS])
    observed = Table(machine, glassbox, module, ["--invoke=calls_empty"], [CALLS])
    near(observed.self["calls_empty"], truth.self["calls_empty"], 0.02, "a caller of empty functions")
    near(observed.total, truth.total, 0.001, "what all frames have, and what the thread counted without them")


with scratch() as name:
    test(pathlib.Path(name), *sys.argv[1:])
