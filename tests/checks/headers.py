#!/usr/bin/env python3
"""headers.py CC: every header compiles alone as C17, and the public ones as C++17 too, without a warning."""

import concurrent.futures
import subprocess
import sys

from rooms import ROOMS, TREE, report, sources


def problem(job):
    """What the compiler says of a file that consists of nothing but this #include, or None."""
    compiler, header, language, standard = job
    done = subprocess.run(
        [compiler, "-fsyntax-only", "-Wall", "-Wextra", "-Werror", "-Wno-unused-function", "-Wno-unused-parameter",
         f"-std={standard}", "-D_GNU_SOURCE", f"-I{TREE}", "-x", language, "-"],
        input=f'#include "{header}"\n', capture_output=True, text=True)
    return f"{header} as {language}: {done.stderr.strip()}" if done.returncode else None


def main():
    jobs = []
    for name, room in ROOMS.items():
        headers = [str(path.relative_to(TREE)) for path in sources(name, ".h")]
        public = [f"{name}/{header}" for header in room.public]
        jobs += [(sys.argv[1], header, "c", "gnu17") for header in headers]
        jobs += [(sys.argv[1], header, "c++", "gnu++17") for header in public]
    with concurrent.futures.ThreadPoolExecutor() as pool:
        return report([text for text in pool.map(problem, jobs) if text])


sys.exit(main())
