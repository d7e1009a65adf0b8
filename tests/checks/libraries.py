#!/usr/bin/env python3
"""libraries.py ROOM ARCHIVE...: what a room's static libraries define and need.

External symbols bear the room's prefix; writable data is in rooms.py's list; nothing prints, exits or aborts (assert,
which is compiled out of a release, excepted).
"""

import subprocess
import sys

from rooms import ROOMS, report

FORBIDDEN = {"exit", "_exit", "_Exit", "quick_exit", "abort", "printf", "vprintf", "puts", "putchar", "perror",
             "stdout", "stderr", "err", "errx", "warn", "warnx", "error"}


def symbols(archive):
    """(object, name, class, section) of each symbol, as nm classes them."""
    text = subprocess.run(["nm", "-f", "sysv", archive], check=True, capture_output=True, text=True).stdout
    member = "?"
    for line in text.splitlines():
        fields = [field.strip() for field in line.split("|")]
        if len(fields) == 7 and fields[0] != "Name":
            yield member, fields[0], fields[2], fields[6]
        elif line.startswith(("Symbols from ", "Undefined symbols from ")):
            member = line.split("[")[-1].rstrip("]:")


def main():
    room, problems, count = ROOMS[sys.argv[1]], [], 0
    for archive in sys.argv[2:]:
        for member, name, kind, section in symbols(archive):
            count += 1
            if kind == "U":
                if name.split("@")[0] in FORBIDDEN:
                    problems.append(f"{member}: uses {name}")
                continue
            if kind.isupper() and not name.startswith(room.prefixes):
                problems.append(f"{member}: {name} lacks the prefix {' or '.join(room.prefixes)}")
            is_writable = section.startswith((".data", ".bss", ".tdata", ".tbss", "*COM*"))
            if is_writable and not section.startswith(".data.rel.ro") and name not in room.writable:
                problems.append(f"{member}: {name} is writable data ({section})")
    if not count:
        problems.append("no symbols were found at all")
    return report(problems)


sys.exit(main())
