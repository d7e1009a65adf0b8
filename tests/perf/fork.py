#!/usr/bin/env python3
"""fork.py KIND EMBEDDER: a process forks in mid-run, and perf sees both halves.

Parent and child each run a function that only they run, and that was not translated before the fork; and one that both
inherited. Each has to have about a quarter of all samples, under its own name, in the process that ran it.
"""
import re

from perfcheck import GUESTS, check, main, recording_of


def test(kind, embedder):
    command = [GUESTS / "guest_embedded.wasm", "run_forked", "8000"]
    with recording_of(kind, lambda folder: [embedder, kind, folder, *command]) as made:
        text = made.perf("report", "--stdio", "--no-children", "-g", "none", "-s", "pid,symbol", "-i", made.data)
        rows = re.findall(r"^\s*([\d.]+)%\s+(\d+):\S+\s+\[\.\]\s+(.*?)(?:\s+-\s+-)?\s*$", text, re.MULTILINE)
        shares = {(pid, symbol): float(share) for share, pid, symbol in rows}
        print(shares)
        pids = {symbol: {pid for pid, other in shares if other == symbol}
                for symbol in ("only_in_parent", "only_in_child", "spin")}
        check(len(pids["only_in_parent"]) == 1 and len(pids["only_in_child"]) == 1 and len(pids["spin"]) == 2,
              f"functions and the processes that they were seen in: {pids}\n{text}")
        check(pids["only_in_parent"] != pids["only_in_child"], f"one process ran both halves: {shares}")
        check(all(20 < share < 30 for share in list(shares.values())[:4]), f"not a quarter each: {shares}")


main(test)
