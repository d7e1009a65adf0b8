#!/usr/bin/env python3
"""annotate.py LINES: on the ELF image, with no inject, perf puts the hot line first, of the source or of the bytecode.

source    `perf report -s srcline` begins with a line of heavy()'s loop in shares.c, and `perf annotate` shows that line
bytecode  both show an instruction of heavy()'s loop from the listing that Glassbox writes
"""
import pathlib
import re

from perfcheck import check, main, recording

SOURCE = pathlib.Path(__file__).parents[2] / "examples" / "guests" / "shares.c"


def loop_of_heavy():
    """The numbers of the lines that heavy()'s loop spends its time on: the loop's, and the macro's step in it."""
    lines = SOURCE.read_text().splitlines()
    start = next(number for number, line in enumerate(lines, 1) if "uint32_t heavy(" in line)
    return range(start, start + 6)


def hottest_lines(made):
    """(file, line number, share), hottest first."""
    found = []
    for entry in made.flat("srcline"):
        match = re.fullmatch(r"(.*):(\d+)", entry.key)
        if match:
            found.append((match.group(1), int(match.group(2)), entry.share))
    return found


def test_source(made):
    lines = hottest_lines(made)
    print(lines[:5])
    check(lines, "perf report -s srcline knows no line")
    file, number, share = lines[0]
    check(file.endswith("shares.c") and number in loop_of_heavy(), f"the hottest line is {file}:{number} ({share} %)")
    annotated = made.perf("annotate", "--stdio", "-l", "-s", "heavy", "-i", made.data)
    check(re.search(rf"^\s*\d+\.\d+\s+\S*shares\.c:{number}\b", annotated, re.MULTILINE),
          f"perf annotate does not show shares.c:{number}:\n{annotated[:3000]}")
    check("STEP(value, 0x600u)" in annotated, f"perf annotate does not print the source:\n{annotated[:3000]}")


def test_bytecode(made):
    lines = hottest_lines(made)
    print(lines[:5])
    check(lines, "perf report -s srcline knows no line")
    file, number, share = lines[0]
    listings = list(made.folder.glob("*.wat"))
    check(len(listings) == 1, f"listings: {listings}")
    check(file.endswith(listings[0].name), f"the hottest line is {file}:{number} ({share} %), not of {listings[0]}")
    instruction = listings[0].read_text().splitlines()[number - 1].strip()
    print(f"hottest: {instruction}")
    check(re.match(r"i32\.|local\.|br_if", instruction), f"{file}:{number} is not of the loop: {instruction}")
    annotated = made.perf("annotate", "--stdio", "-l", "-s", "heavy", "-i", made.data)
    check("i32.mul" in annotated, f"perf annotate does not print the bytecode:\n{annotated[:3000]}")


def test(lines):
    with recording("elf", "shares", ["5000"], run_options=[f"--lines={lines}"]) as made:
        {"source": test_source, "bytecode": test_bytecode}[lines](made)


main(test)
