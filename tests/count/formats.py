#!/usr/bin/env python3
"""formats.py: each format says what the JSON report says, in its readers' own terms; files appear whole."""
import csv
import os
import pathlib
import shutil
import subprocess

from counting import GUESTS, build, check, count, equal, run, scratch

EVENTS = ["wasm-instructions", "wall-clock"]


def check_csv(report, path):
    with open(path, newline="") as file:
        rows = list(csv.DictReader(file))
    equal([row["function"] for row in rows], [row["name"] for row in report.json["functions"]], "functions in CSV")
    for row in rows:
        function = report.functions[row["function"]]
        equal(int(row["calls"]), function["calls"], "calls in CSV")
        for event in EVENTS:
            for which in ("self", "inclusive"):
                equal(int(row[f"{event} {which}"]), function[which][event], f"{which} of {event} in CSV")


def check_folded(report, path, event):
    stacks = dict(line.rsplit(" ", 1) for line in path.read_text().splitlines())
    total = sum(map(int, stacks.values()))
    equal(total, report.events[event]["total"], f"sum of stacks by {event}")
    leaf = [int(weight) for stack, weight in stacks.items() if stack.endswith("once;count_down")]
    equal(len(leaf), 1, "stacks that end in once;count_down")


def check_callgrind(report, path):
    text = path.read_text()
    check(text.startswith("# callgrind format\nversion: 1\n"), "callgrind's head")
    costs, skips = [0, 0], False
    for line in text.splitlines():
        if line[:1].isdigit() and not skips:
            costs = [a + int(b) for a, b in zip(costs, line.split()[1:])]
        skips = line.startswith("calls=")
    equal(costs, [report.events[event]["total"] for event in EVENTS], "sum of own costs in callgrind's format")
    check("\nevents: wasm_instructions wall_clock\n" in text, "callgrind's events")
    if shutil.which("callgrind_annotate"):
        done = subprocess.run(["callgrind_annotate", "--inclusive=yes", "--show=wasm_instructions", str(path)],
                              capture_output=True, text=True)
        equal(done.returncode, 0, f"callgrind_annotate: {done.stderr}")
        check(any(line.lstrip().startswith("2,007 (100.0%)") and line.endswith("thrice")
                  for line in done.stdout.replace(" [", "\n").splitlines()), done.stdout)


def check_deep_stacks(folder, module):
    run(["--count=wasm-instructions", f"--count-output={folder}/deep.folded", "--invoke=deep"], module, ["5000"])
    lines = (folder / "deep.folded").read_text().splitlines()
    check(len(lines) < 300, f"{len(lines)} stacks")
    equal(sum(int(line.rsplit(" ", 1)[1]) for line in lines), 5000 * 7 + 4, "sum of deep stacks")
    check(any(";[deeper] " in line for line in lines), "what is deeper is not among the stacks")


def check_lines(folder):
    """With DWARF, callgrind's format names source files and lines."""
    run(["--count=wasm-instructions", f"--count-output={folder}/lines.callgrind"], GUESTS / "shares.wasm", ["1"])
    text = (folder / "lines.callgrind").read_text()
    at = text.index("heavy\n")
    check("shares.c" in text[:at].rsplit("fl=", 1)[1] or "shares.c" in text[:at].rsplit("cfi=", 1)[1],
          "heavy is not in shares.c")
    check(int(text[at:].splitlines()[1].split()[0].replace("calls=", "")) > 0, "heavy has no line")


def test(folder):
    module = build(folder)
    outputs = [f"--count-output={folder}/out.{suffix}" for suffix in ("csv", "callgrind", "folded")]
    for event in EVENTS:
        report, _, _ = count(folder, [f"--count={','.join(EVENTS)}", *outputs, f"--count-weight={event}",
                                      "--invoke=thrice"], module)
        check_folded(report, folder / "out.folded", event)
    check_csv(report, folder / "out.csv")
    check_callgrind(report, folder / "out.callgrind")
    check_deep_stacks(folder, module)
    check_lines(folder)
    left = [name for name in os.listdir(folder) if not name.endswith(("json", "csv", "callgrind", "folded", "wasm"))]
    equal(left, [], "files that were left over")


with scratch() as name:
    test(pathlib.Path(name))
