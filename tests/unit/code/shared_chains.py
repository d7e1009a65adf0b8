#!/usr/bin/env python3
"""shared_chains.py PERF_FOLDER: in shared dispatch, too, perf's frame-pointer chains have one entry a guest call.

No function has code of its own there: a sample falls on a handler, and each guest call shows as the handler that
called. But every call makes the same native frame as in a region, so a chain goes whole from the handler through as
many callers as the guest has to the VM, main and libc. Which functions they were, perf cannot know.
"""
import collections
import re
import sys

sys.path.insert(0, sys.argv[1])
from perfcheck import GLASSBOX, GUESTS, check, main, recording_of  # noqa: E402

DEPTH = 100
CHAIN = re.compile(r"(?:\S+ )*main (?:(?!run_op)\S+ )+(?:run_op_call\S* )+(?:run_op\S* |run_next )")


def test(_):
    command = [GLASSBOX, "run", "--dispatch=shared", GUESTS / "chains.wasm", "deep", "1500"]
    with recording_of("shared", lambda folder: command, ["-g"]) as made:
        chains = collections.Counter("".join(frame.symbol.split("+")[0] + " " for frame in stack)
                                     for stack in made.stacks())
    deep = collections.Counter({chain: count for chain, count in chains.items()
                                if chain.count("run_op_call") >= DEPTH})
    wrong = collections.Counter({chain: count for chain, count in deep.items() if not CHAIN.fullmatch(chain)})
    print(f"{chains.total()} chains, {deep.total()} deep, {wrong.total()} of these wrong: {wrong.most_common(2)}")
    check(deep.total() > 0.9 * chains.total(), "most samples fall below the recursion")
    check(wrong.total() < 0.05 * deep.total(), "chains in shared dispatch")


main(test)
