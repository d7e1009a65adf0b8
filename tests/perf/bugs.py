#!/usr/bin/env python3
"""bugs.py BUILD_FOLDER: what bugs.md says is so.

Every bug from 1 to 43 has a row with an existing test or a reason, and every test function perf_bug_NN_... stands
there.
"""
import fnmatch
import pathlib
import re

from perfcheck import check, main

TABLE = pathlib.Path(__file__).with_name("bugs.md")
TESTS = pathlib.Path(__file__).parents[1]
BUGS = range(1, 44)


def test(build_folder):
    # Not `ctest -N`: it would overwrite the log of the ctest that runs this.
    listed = "".join(path.read_text() for path in pathlib.Path(build_folder).rglob("CTestTestfile.cmake"))
    in_ctest = re.findall(r"^add_test\(\[=\[(.*?)\]=\]", listed, re.MULTILINE)
    sources = "".join(path.read_text() for path in TESTS.rglob("*.c"))
    functions = set(re.findall(r"^static void (\w+)\(void \*\*state\)", sources, re.MULTILINE))
    rows = re.findall(r"^\| (\d+) \|.*\| ([^|]*) \|$", TABLE.read_text(), re.MULTILINE)
    check([int(number) for number, _ in rows] == list(BUGS), f"the rows are {[number for number, _ in rows]}")
    named = set()
    for number, answer in rows:
        reason, tests = answer.startswith("cannot occur: "), re.findall(r"`([\w/*,-]+)`", answer)
        check(reason or tests, f"bug {number} has neither a test nor a reason")
        for name in [] if reason else tests:
            known = fnmatch.filter(in_ctest, name) if "/" in name else name in functions
            check(known, f"bug {number}: there is no test {name}")
        named |= set(tests)
    missing = sorted(name for name in functions if re.match(r"perf_bug_\d", name) and name not in named)
    check(not missing, f"not in {TABLE.name}: {missing}")
    print(f"{len(rows)} bugs, {len(named)} tests named")


main(test)
