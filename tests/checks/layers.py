#!/usr/bin/env python3
"""A room includes itself, the C library, and what rooms.py allows it."""

import re
import sys

from rooms import LIBRARIES, ROOMS, TREE, report, sources

INCLUDE = re.compile(r'^\s*#\s*include\s+([<"])([^>"]+)[>"]')


def why_not(name, room, quoted, path, header):
    """What is wrong with this #include, or None."""
    if not quoted:
        if header.startswith(LIBRARIES) and header not in room.libraries:
            return f"{name} may not use <{header}>"
        return None
    if header.startswith(name + "/") or (path.parent / header).exists() or room.includes(header):
        return None
    return f'{name} may not include "{header}"'


def main():
    problems, count = [], 0
    for name, room in ROOMS.items():
        for path in sources(name, ".c", ".h", ".def", ".S"):
            for number, line in enumerate(path.read_text().splitlines(), 1):
                found = INCLUDE.match(line)
                if not found:
                    continue
                count += 1
                why = why_not(name, room, found[1] == '"', path, found[2])
                if why:
                    problems.append(f"{path.relative_to(TREE)}:{number}: {why}")
    if not count:
        problems.append("no #include was found at all")
    return report(problems)


sys.exit(main())
