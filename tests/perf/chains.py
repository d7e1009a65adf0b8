#!/usr/bin/env python3
"""chains.py KIND MODE [dwarf]: call chains of the guest `chains` are whole and in order.

Every chain has to be libc's start, glassbox's main, the VM's own functions, the guest's _start and main, and then exactly
the functions of MODE: nothing missing, nothing twice, nothing unknown. By frame pointers (-g), or by unwinding with the
regions' CFI (dwarf). A sample that falls on a function's first or last instruction, where the frame is not complete, may
miss its caller; so 95 % of the chains have to be right, and the first wrong one is shown where they are not.
"""
import re

from perfcheck import Failure, KIND_OF_DSO, check, main, recording

# Guest functions below main, outermost first; the chain of `host` goes on through the import's stub into the host.
EXPECTED = {
    "plain": ["outer", "middle", "inner", "spin"],
    "deep": ["descend"] * 100 + ["spin"],
    "callback": ["callback", "...", "compare", "spin"],
    "tail": ["before_tail", "spin"],
    "host": ["outer_host", "random_bytes", "..."],
}
ROUNDS = {"plain": 8000, "deep": 8000, "callback": 500, "tail": 8000, "host": 8000}
GUEST_MAIN = ["main", "__main_argc_argv", "__original_main"]


def matches(names, pattern):
    """`...` stands for one name or more."""
    if not pattern:
        return not names
    if pattern[0] == "...":
        return any(matches(names[count:], pattern[1:]) for count in range(1, len(names) + 1))
    return bool(names) and names[0] == pattern[0] and matches(names[1:], pattern[1:])


def problem(stack, kind, mode):
    """What is wrong with a chain, or None."""
    is_guest = [bool(re.search(KIND_OF_DSO[kind], frame.dso)) for frame in stack]
    names = [frame.symbol for frame in stack]
    if any("unknown" in frame.symbol for frame in stack if "libc" not in frame.dso):
        return "a frame is unknown"
    if True not in is_guest:
        return "no guest frame"
    first, last = is_guest.index(True), len(stack) - is_guest[::-1].index(True)
    if not all(is_guest[first:last]):
        return "a host frame between the guest's"
    if "main" not in names[:first] or not any("libc" in frame.dso for frame in stack[:names.index("main")]):
        return "does not begin with libc's start and main"
    guest = names[first:last]
    mains = [position for position, name in enumerate(guest) if name in GUEST_MAIN]
    if guest[0] != "_start" or not mains:
        return "the guest does not begin with _start and main"
    if not matches(guest[mains[-1] + 1:], EXPECTED[mode]):
        return "other guest functions than expected"
    if mode == "host" and last == len(stack):
        return "does not reach the host function"
    return None


def test(kind, mode, unwinder="fp"):
    options = ["--call-graph", "dwarf,16384"] if unwinder == "dwarf" else ["-g"]
    frequency = ["-F", "500"] if unwinder == "dwarf" else []
    with recording(kind, "chains", [mode, ROUNDS[mode]], options + frequency) as made:
        leaf = "random_bytes" if mode == "host" else "spin"
        stacks = [stack for stack in made.stacks() if any(frame.symbol == leaf for frame in stack[-12:])]
        wrong = [(what, stack) for stack in stacks if (what := problem(stack, kind, mode))]
        print(f"{len(stacks)} chains with {leaf}, {len(wrong)} of them wrong")
        check(len(stacks) >= 50, f"only {len(stacks)} chains with {leaf}")
        if len(wrong) > 0.05 * len(stacks):
            what, stack = wrong[0]
            raise Failure(f"{len(wrong)} of {len(stacks)} chains are wrong; {what}:\n" +
                          "\n".join(f"  {frame.symbol} ({frame.dso})" for frame in stack))


main(test)
