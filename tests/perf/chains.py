#!/usr/bin/env python3
"""chains.py KIND MODE [dwarf]: call chains of the guest `chains` are whole and in order.
   chains.py KIND reentry PROGRAM [dwarf]: the same through a host function that calls the guest back (embedder.c).

A chain is libc's start, the program's main, the VM's own functions, and then exactly the guest functions of MODE:
nothing missing, nothing twice, nothing unknown. It is written as one line of words, outermost first, and has to match a
pattern:

    libc main vm vm guest:_start guest:__main_argc_argv guest:outer guest:middle guest:inner guest:spin

By frame pointers (-g), or by unwinding with the regions' CFI (dwarf). A sample that falls on a function's first or last
instruction, where the frame is not complete, may miss its caller; so 95 % of the chains have to be right.
"""
import collections
import re

from perfcheck import GLASSBOX, GUESTS, KIND_OF_DSO, check, main, recording, recording_of

START = r"(?:(?:vm|libc) )*libc main (?:vm )+"
GUEST_MAIN = r"guest:_start\S* (?:guest:_\S+ )*guest:main "  # between them, what wasi-libc and the linker put there
PATTERNS = {
    "plain": START + GUEST_MAIN + r"guest:outer guest:middle guest:inner guest:spin ",
    "deep": START + GUEST_MAIN + r"(?:guest:descend ){100}guest:spin ",
    "callback": START + GUEST_MAIN + r"guest:callback (?:guest:\S+ )+guest:compare guest:spin ",
    "tail": START + GUEST_MAIN + r"guest:before_tail guest:spin ",
    "host": START + GUEST_MAIN + r"guest:outer_host guest:random_bytes guest:__getentropy guest:__wasi_random_get "
            r"guest:wasi_snapshot_preview1\.random_get (?:(?:vm|libc) )*",
    "reentry": START + r"guest:run\.command_export guest:run guest:outer guest:call_back (?:vm )+"
               r"guest:called_back\.command_export guest:called_back guest:spin ",
}
LEAF = collections.defaultdict(lambda: "guest:spin ", host="guest:wasi_snapshot_preview1.random_get ")
ROUNDS = collections.defaultdict(lambda: "8000", callback="500")


def word(frame, kind, program):
    if re.search(KIND_OF_DSO[kind], frame.dso):
        return "guest:" + frame.symbol.replace(" ", "_")
    if "libc" in frame.dso or (frame.dso == "inlined" and frame.symbol.startswith("__libc_")):
        return "libc"
    if frame.dso.endswith(program) and frame.symbol != "[unknown]":
        return "main" if frame.symbol == "main" else "vm"
    return f"other:{frame.symbol}({frame.dso})".replace(" ", "_")


def record(kind, mode, program, options):
    if mode == "reentry":
        command = [GUESTS / "guest_embedded.wasm", "run", ROUNDS[mode]]
        return recording_of(kind, lambda folder: [program, kind, folder, *command], options)
    return recording(kind, "chains", [mode, ROUNDS[mode]], options)


def test(kind, mode, *rest):
    options = ["--call-graph", "dwarf,16384", "-F", "1000"] if rest[-1:] == ("dwarf",) else ["-g"]
    program = rest[0] if mode == "reentry" else GLASSBOX
    with record(kind, mode, program, options) as made:
        chains = ["".join(word(frame, kind, program) + " " for frame in stack) for stack in made.stacks()]
    chains = collections.Counter(chain for chain in chains if LEAF[mode] in chain)
    wrong = collections.Counter({chain: count for chain, count in chains.items()
                                 if not re.fullmatch(PATTERNS[mode], chain)})
    print(f"{chains.total()} chains with {LEAF[mode]}, {wrong.total()} of them wrong: {wrong.most_common(3)}; "
          f"most often: {chains.most_common(4)}")
    check(chains.total() >= 50, f"only {chains.total()} chains with {LEAF[mode]}")
    check(wrong.total() <= 0.05 * chains.total(), f"{wrong.total()} of {chains.total()} chains do not match "
                                                  f"{PATTERNS[mode]}")


main(test)
