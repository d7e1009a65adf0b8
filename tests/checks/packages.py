#!/usr/bin/env python3
"""README.md's table of dependencies names exactly the packages that scripts/install-deps.sh installs."""

import re
import sys

from rooms import TREE, report


def main():
    script = (TREE / "scripts/install-deps.sh").read_text()
    installed = set(re.search(r'^packages="(.*?)"', script, re.M | re.S)[1].split())
    readme = (TREE / "README.md").read_text()
    table = re.search(r"^\| Package .*?(?=^\s*$)", readme, re.M | re.S)
    documented = set()
    for row in table[0].splitlines()[2:] if table else ():
        documented |= set(re.findall(r"`([^`]+)`", row.split("|")[1]))
    return report([f"{name} is installed and not in README.md's table" for name in sorted(installed - documented)]
                  + [f"{name} is in README.md's table and not installed" for name in sorted(documented - installed)])


sys.exit(main())
