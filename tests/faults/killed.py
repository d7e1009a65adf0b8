#!/usr/bin/env python3
"""killed.py KIND: a guest is killed in mid-run by SIGKILL, and perf reads what --perf=KIND had written until then."""
import os
import pathlib
import re
import signal
import subprocess
import tempfile
import time

from perfcheck import GLASSBOX, GUESTS, Recording, check, main

SECONDS = 2


def child_of(pid):
    """The one child of perf record; waits for it to become glassbox."""
    for _ in range(100):
        children = pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        if children and "glassbox" in pathlib.Path(f"/proc/{children[0]}/comm").read_text():
            return int(children[0])
        time.sleep(0.05)
    check(False, "perf record does not start glassbox")


def test(kind):
    with tempfile.TemporaryDirectory(prefix="glassbox-perf-") as folder:
        made = Recording(folder, kind)
        perf = subprocess.Popen(
            ["perf", "--buildid-dir", f"{folder}/debug", "record", "-q", "-e", "cpu-clock:u", "-F", "1000",
             "-k", "mono", "-o", made.data, "--",
             GLASSBOX, "run", f"--perf={kind}", f"--perf-dir={folder}", GUESTS / "shares.wasm", "10000000"],
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        guest = child_of(perf.pid)
        time.sleep(SECONDS)
        os.kill(guest, signal.SIGKILL)
        perf.communicate(timeout=60)
        made.finish()
        shares = made.shares("symbol")
        print(shares)
        check(abs(shares.get("heavy", 0) - 60) < 5, f"heavy should have about 60 %: {shares}")
        if kind == "map":
            text = pathlib.Path(f"/tmp/perf-{guest}.map").read_text()
            check(re.fullmatch(r"(?:[0-9a-f]+ [0-9a-f]+ [^\n]+\n)+", text), "the map has a torn line")


main(test)
