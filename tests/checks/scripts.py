#!/usr/bin/env python3
"""Every shell script of the tree, as its first line tells, is clean to shellcheck."""

import shutil
import subprocess
import sys

from rooms import TREE, everything


def is_shell(path):
    with open(path, "rb") as file:
        return file.readline().strip() in (b"#!/bin/sh", b"#!/bin/bash")


def main():
    if not shutil.which("shellcheck"):
        print("skip: shellcheck is not on the PATH")
        return 77
    # SC2317: a function that is called by a name in a variable looks unreachable to it.
    scripts = [path for path in everything() if is_shell(path)]
    return subprocess.run(["shellcheck", "--exclude=SC2317", *scripts], cwd=TREE).returncode or not scripts


sys.exit(main())
