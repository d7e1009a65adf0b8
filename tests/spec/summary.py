#!/usr/bin/env python3
"""Runs every script of the specification's suite in each mode, counts commands, and holds skip.txt to the truth.

    summary.py RUNNER MODE...

Fails where a script that is not in skip.txt fails, where one that is there passes whole (its line must go), where
skip.txt names a script that does not exist, and where a script, skipped or not, crashes or does not end.
"""
import collections
import os
import pathlib
import re
import subprocess
import sys

CORE = pathlib.Path(os.environ["GLASSBOX_SHARED"]) / "spec" / "core"
SECONDS_A_SCRIPT = 60


def read_skip_list():
    path = pathlib.Path(__file__).with_name("skip.txt")
    lines = (line.split() for line in path.read_text().splitlines() if line and not line.startswith("#"))
    return dict(lines)


def run(runner, mode, script):
    """(passed, failed, not applicable), or a string: how it broke down."""
    try:
        done = subprocess.run([runner, f"--dispatch={mode}", script], capture_output=True, text=True,
                              errors="replace", timeout=SECONDS_A_SCRIPT)
    except subprocess.TimeoutExpired:
        return f"does not end within {SECONDS_A_SCRIPT} s"
    match = re.search(r"^(\d+) passed, (\d+) failed, (\d+) not applicable$", done.stdout, re.MULTILINE)
    if done.returncode not in (0, 1) or not match:
        return f"breaks down with status {done.returncode}: {(done.stdout + done.stderr).strip()[-300:]}"
    return tuple(int(count) for count in match.groups())


def main():
    runner, modes = sys.argv[1], sys.argv[2:]
    skip = read_skip_list()
    scripts = sorted(CORE.glob("*.json"))
    problems = [f"skip.txt names {name}, which is no script"
                for name in sorted(set(skip) - {script.stem for script in scripts})]
    for mode in modes:
        whole = 0
        total = collections.Counter()
        skipped = collections.defaultdict(collections.Counter)
        for script in scripts:
            counts = run(runner, mode, script)
            if isinstance(counts, str):
                problems.append(f"{mode} {script.stem} {counts}")
                continue
            feature = skip.get(script.stem)
            into = skipped[feature] if feature else total
            into.update(scripts=1, passed=counts[0], failed=counts[1], not_applicable=counts[2])
            whole += not feature and counts[1] == 0
            if feature and counts[1] == 0:
                problems.append(f"{mode} {script.stem} passes whole: take it out of skip.txt")
            if not feature and counts[1] > 0:
                problems.append(f"{mode} {script.stem}: {counts[1]} commands failed")
        print(f"{mode}: {whole} of {total['scripts']} scripts whole; commands: {total['passed']} passed, "
              f"{total['failed']} failed, {sum(sum(c.values()) - c['scripts'] for c in skipped.values())} skipped, "
              f"{total['not_applicable']} not applicable")
        for feature, counts in sorted(skipped.items()):
            print(f"  skipped for {feature}: {counts['scripts']} scripts, "
                  f"{sum(counts.values()) - counts['scripts']} commands (of which {counts['passed']} would pass)")
    for problem in problems:
        print(problem)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
