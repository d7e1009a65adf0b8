#!/usr/bin/env python3
"""annotate.py LINES: on the ELF image, with no inject, perf puts the hot line first, of the source or of the bytecode.

source    `perf report -s srcline` begins with a line of heavy()'s loop in shares.c, and `perf annotate` shows that line
bytecode  both begin with the one slow instruction of guest_hot's loop, in the listing that Glassbox writes
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
    check(instruction == "i64.div_u" and share > 60, f"the hottest instruction is {instruction} ({share} %)")
    annotated = made.perf("annotate", "--stdio", "-l", "-s", "divide", "-i", made.data)
    check(re.search(rf"^\s*\d\d\.\d+\s+{re.escape(listings[0].name)}:{number}\b", annotated, re.MULTILINE) and
          "i64.div_u" in annotated, f"perf annotate does not show the hot instruction:\n{annotated[:3000]}")


def test(lines):
    guest, arguments, look = {"source": ("shares", ["5000"], test_source),
                              "bytecode": ("guest_hot", ["50000000"], test_bytecode)}[lines]
    with recording("elf", guest, arguments, run_options=[f"--lines={lines}"]) as made:
        look(made)


main(test)
