#!/usr/bin/env python3
"""What of the house style a script can see: lengths of lines and files, blanks, the essay that opens a .c file."""

import sys

from rooms import TREE, everything, report

COLUMNS, LINES = 120, 1000
TEXT = (".c", ".h", ".def", ".S", ".py", ".sh", ".cmake", ".txt", ".rb")


def problems_of(path):
    name, text = path.relative_to(TREE), path.read_text()
    lines = text.split("\n")
    if len(lines) > LINES + 1:
        yield f"{name}: {len(lines) - 1} lines"
    if text and not text.endswith("\n"):
        yield f"{name}: no newline at its end"
    if path.suffix == ".c" and not text.startswith("/*"):
        yield f"{name}:1: opens without saying what it is"
    for number, line in enumerate(lines, 1):
        if len(line) > COLUMNS:
            yield f"{name}:{number}: {len(line)} columns"
        if line != line.rstrip():
            yield f"{name}:{number}: blanks at its end"
        if "\t" in line:
            yield f"{name}:{number}: a tab"


def main():
    return report([problem for path in everything() if path.suffix in TEXT for problem in problems_of(path)])


sys.exit(main())
