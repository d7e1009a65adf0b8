#!/usr/bin/env python3
"""seen_by_perf.py GUEST TOPIC: what the real perf shows of guest.c's dump after `perf inject --jit`.

plain     hot, warm and cold have 60, 30 and 10 percent of a flat report; the multiplication's line of hot comes first
          by srcline; perf annotate shows each line of the source above its instructions
unwind    --call-graph dwarf reaches from hot through outer to main
frames    --call-graph fp does the same
killed    the process is killed: the same
users     the dump is closed and taken up again by another user: the same
fork      a child's inherited and own functions bear their names, beside the parent's
move      after a function has moved, its new address bears its name
"""
import pathlib
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "perf"))

from perfcheck import Recording, check, main  # noqa: E402

EXPECTED = {"hot": 60, "warm": 30, "cold": 10}
HOT_LINE = 2


def record(guest, folder, mode, options=()):
    """An injected Recording. perf ends as its command does, by SIGKILL too."""
    made = Recording(folder, "jitdump")
    command = ["perf", "--buildid-dir", made.folder / "debug", "record", "-q", "-k", "mono", "-e", "cpu-clock:u",
               "-F", 5000, *options, "-o", made.data, "--", guest, folder, mode]
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    check(done.returncode == (-9 if mode == "kill" else 0), f"perf record: {done.returncode}\n{done.stderr}")
    made.finish()
    return made


def check_shares(made, expected):
    shares = made.shares("sym")
    print(shares)
    for name, percent in expected.items():
        check(abs(shares.get(name, 0) - percent) < 3, f"{name} has {shares.get(name)} %, not {percent} %")


def check_report(made):
    check_shares(made, EXPECTED)


def check_moved(made):
    """A move cannot be interleaved with what was there before, so the machine's speed may change between the halves;
    what matters is that each half bears its own name, and no other name has a part in them."""
    shares = made.shares("sym")
    print(shares)
    check(min(shares.get("hot", 0), shares.get("warm", 0)) > 30, "hot and warm do not have a half each")
    check(shares.get("hot", 0) + shares.get("warm", 0) > 97, "time without their names")


def check_srcline(made):
    lines = made.flat("srcline")
    print(lines[:4])
    check(lines[0].key.endswith(f"loop.txt:{HOT_LINE}"), f"the first line is {lines[0].key}")


def check_annotate(made):
    text = made.perf("annotate", "--stdio", "-s", "hot", "-i", made.data)
    check(re.search(r"multiply four times in hot\n.*\bi?mul\b", text), f"no source above its code:\n{text}")


def check_all(made):
    check_report(made)
    check_srcline(made)
    check_annotate(made)


def check_chains(made):
    stacks = [[frame.symbol.split("+")[0] for frame in stack] for stack in made.stacks()]
    in_hot = [stack for stack in stacks if stack[-1] == "hot"]
    whole = [stack for stack in in_hot if stack[-3:] == ["main", "outer", "hot"]]
    print(f"{len(whole)} of {len(in_hot)} chains in hot are whole, such as {whole[:1]}")
    check(len(in_hot) > 100, "too few samples in hot")
    check(len(whole) >= 0.99 * len(in_hot), "chains that end early: " + str([s for s in in_hot if s not in whole][:3]))


TOPICS = {
    "plain": ("plain", [], check_all),
    "unwind": ("plain", ["--call-graph", "dwarf,4096"], check_chains),
    "frames": ("plain", ["--call-graph", "fp"], check_chains),
    "killed": ("kill", [], check_all),
    "users": ("users", [], check_all),
    "fork": ("fork", [], lambda made: check_shares(made, {"hot": 55, "warm": 15, "cold": 5, "of_child": 25})),
    "move": ("move", [], check_moved),
}


def test(guest, topic):
    mode, options, what = TOPICS[topic]
    with tempfile.TemporaryDirectory(prefix="jitdump-perf-") as folder:
        what(record(guest, folder, mode, options))


main(test)
