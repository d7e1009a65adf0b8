#!/usr/bin/env python3
"""Runs every script of the specification's suite in each mode, counts commands, and holds skip.txt to the truth.

    summary.py RUNNER MODE...

Nothing is skipped: a command that skip.txt names has to fail, any other has to pass, and where it names a whole script,
at least one command has to fail. A script, skipped or not, that crashes or does not end is a failure.
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
    """script: (feature, lines of the commands, or none for all of them)."""
    path = pathlib.Path(__file__).with_name("skip.txt")
    skip = {}
    for line in path.read_text().splitlines():
        if line and not line.startswith("#"):
            script, feature, *lines = line.split()
            skip.setdefault(script, (feature, set()))[1].update(map(int, lines))
    return skip


def run(runner, mode, script):
    """(counts: passed, failed, skipped, not applicable; lines of what failed), or a string: how it broke down."""
    try:
        done = subprocess.run([runner, f"--dispatch={mode}", script], capture_output=True, text=True,
                              errors="replace", timeout=SECONDS_A_SCRIPT)
    except subprocess.TimeoutExpired:
        return f"does not end within {SECONDS_A_SCRIPT} s"
    match = re.search(r"^(\d+) passed, (\d+) failed, (\d+) skipped, (\d+) not applicable$", done.stdout, re.MULTILINE)
    if done.returncode not in (0, 1) or not match:
        return f"breaks down with status {done.returncode}: {(done.stdout + done.stderr).strip()[-300:]}"
    failed = re.findall(rf"^{re.escape(str(script))}:(\d+):", done.stdout, re.MULTILINE)
    return tuple(int(count) for count in match.groups()), set(map(int, failed))


def judge(counts, failed, feature, lines):
    """What is wrong with a script's outcome, or None."""
    if feature is None or lines:
        if failed - lines:
            return f"fails at lines {sorted(failed - lines)}"
        if lines - failed:
            return f"passes at lines {sorted(lines - failed)}: take them out of skip.txt"
    elif counts[1] == 0:
        return "passes whole: take it out of skip.txt"
    return None


def main():
    runner, modes = sys.argv[1], sys.argv[2:]
    skip = read_skip_list()
    scripts = sorted(CORE.glob("*.json"))
    problems = [f"skip.txt names {name}, which is no script"
                for name in sorted(set(skip) - {script.stem for script in scripts})]
    for mode in modes:
        total, skipped = collections.Counter(), collections.defaultdict(collections.Counter)
        for script in scripts:
            outcome = run(runner, mode, script)
            if isinstance(outcome, str):
                problems.append(f"{mode} {script.stem} {outcome}")
                continue
            (passed, failed, _, not_applicable), failed_lines = outcome
            feature, lines = skip.get(script.stem, (None, set()))
            problem = judge((passed, failed), failed_lines, feature, lines)
            if problem:
                problems.append(f"{mode} {script.stem} {problem}")
            if feature and not lines:
                skipped[feature].update(scripts=1, commands=passed + failed + not_applicable)
                continue
            total.update(scripts=1, whole=failed == 0, passed=passed, not_applicable=not_applicable)
            if feature:
                skipped[feature].update(commands=failed)
            else:
                total.update(failed=failed)
        print(f"{mode}: {total['whole']} scripts whole, {total['scripts'] - total['whole']} but for commands of "
              f"skip.txt; commands: {total['passed']} passed, {total['failed']} failed, "
              f"{sum(counts['commands'] for counts in skipped.values())} skipped, "
              f"{total['not_applicable']} not applicable")
        for feature, counts in sorted(skipped.items()):
            print(f"  skipped for {feature}: {counts['scripts']} whole scripts, {counts['commands']} commands in all")
    for problem in problems:
        print(problem)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
