#!/usr/bin/env python3
"""Modules that are valid and mean ill: each asks as much of the translator as the format's limits let it.

    hostile.py GLASSBOX [--only=NAME] [--seconds=N] [--verbose]

Each case is one function near the largest body there may be (7,654,321 bytes), whose translation would be quadratic, or
take gigabytes, if every instruction were done literally: a br_if of three bytes that moves 1,000 values, a br_table of
65,520 targets that moves as many each, and so on. It is run in both dispatch modes; what it takes beyond reading and
validating the same module (which a call of an empty function shows) must stay below a limit of processor time that a
quadratic step cannot keep, and of memory. The guest's result must be right, too.
"""
import argparse
import os
import pathlib
import resource
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "fuzz"))
from generate import section, signed, unsigned, vector  # noqa: E402

I32, VOID = b"\x7f", b"\x40"
BLOCK, LOOP, IF, ELSE, END, BR, BR_IF, BR_TABLE, RETURN, CALL = (bytes([code]) for code in
    (0x02, 0x03, 0x04, 0x05, 0x0B, 0x0C, 0x0D, 0x0E, 0x0F, 0x10))
RETURN_CALL, DROP, GET, SET, TEE, ADD = (bytes([code]) for code in (0x12, 0x1A, 0x20, 0x21, 0x22, 0x6A))
BODY_BYTES, VALUES, TARGETS, LOCALS = 7654321, 1000, 65520, 50000
OPERANDS = 500000  # that many fit the value stack; validation lets twice as many through
SECONDS, MEGABYTES = 6.0, 1000
EXHAUSTED = "call stack exhausted"

# Type 0 is that of every function called; 1 gives VALUES results, 2 takes them, 3 does both.
TYPES = vector([
    b"\x60" + vector([I32]) + vector([I32]),
    b"\x60" + vector([]) + vector([I32] * VALUES),
    b"\x60" + vector([I32] * VALUES) + vector([]),
    b"\x60" + vector([I32] * VALUES) + vector([I32] * VALUES),
])


def const(value):
    return b"\x41" + signed(value)


def get(index):
    return GET + unsigned(index)


def body(code, locals=0):
    declared = vector([unsigned(locals) + I32] if locals else [])
    contents = declared + code + END
    assert len(contents) <= BODY_BYTES, len(contents)
    return unsigned(len(contents)) + contents


def module(code, locals=0, others=()):
    """Exports `f`, the hostile one, and `empty`; `others` are (type, code) of functions from number 2."""
    types = [b"\x00", b"\x00"] + [unsigned(kind) for kind, _ in others]
    bodies = [body(code, locals), body(get(0))] + [body(other) for _, other in others]
    exports = [b"\x01f\x00\x00", b"\x05empty\x00\x01"]
    return (b"\x00asm\x01\x00\x00\x00" + section(1, TYPES) + section(3, vector(types)) + section(7, vector(exports)) +
            section(10, vector(bodies)))


def fill(piece, before=b"", after=b""):
    """As many of the piece as a body has room for."""
    return before + piece * ((BODY_BYTES - len(before) - len(after) - 16) // len(piece)) + after


def br_if_in_place():
    return module(fill(get(0) + BR_IF + b"\x00", BLOCK + b"\x01" + const(7) * VALUES, END + DROP * (VALUES - 1))), 7


def br_if_moves():
    """A value lies below those that the branch takes along."""
    return module(fill(get(0) + BR_IF + b"\x00", BLOCK + b"\x01" + const(1) + const(7) * VALUES,
                       BR + b"\x00" + END + DROP * (VALUES - 1))), 7


def br_if_moves_calculated():
    return module(fill(get(0) + BR_IF + b"\x00",
                       BLOCK + b"\x01" + const(1) + (get(0) + const(6) + ADD) * VALUES,
                       BR + b"\x00" + END + DROP * (VALUES - 1))), 7


def loops_with_parameters():
    """Backward branches: each takes VALUES parameters along."""
    piece = const(0) + BR_IF + b"\x00"
    return module(fill(piece, const(7) * VALUES + LOOP + b"\x03", END + DROP * (VALUES - 1))), 7


def br_table_moves():
    """Nested in blocks that all take the values, and never in place."""
    table = const(0) + BR_TABLE + unsigned(TARGETS) + b"\x00" * (TARGETS + 1)
    block = BLOCK + b"\x01" + const(1) + const(7) * VALUES + table + END + DROP * VALUES
    count = (BODY_BYTES - 100) // len(block)
    return module(block * count + get(0)), 1


def br_table_many_labels():
    """Each target another label."""
    depth = 10000
    table = const(depth - 1) + BR_TABLE + vector(unsigned(i) for i in range(depth)) + unsigned(depth - 1)
    inner = (BLOCK + b"\x01") * depth + const(1) + const(7) * VALUES + table + END
    return module(inner + (DROP + const(7) + END) * (depth - 1) + DROP * (VALUES - 1)), 7


def blocks():
    count = (BODY_BYTES - 100) // 3
    return module((BLOCK + VOID) * count + END * count + get(0)), 1


def loops():
    count = (BODY_BYTES - 100) // 3
    return module((LOOP + VOID) * count + END * count + get(0)), 1


def ifs():
    count = (BODY_BYTES - 100) // 6
    return module((get(0) + IF + VOID) * count + (ELSE + END) * count + get(0)), 1


def many_operands():
    return module(get(0) * (OPERANDS - 2) + ADD * (OPERANDS - 3)), OPERANDS - 2


def many_operands_pending():
    """Each local.set changes a local that stands on the stack a million times over."""
    gets = get(0) * (OPERANDS - 8)
    sets = (get(1) + const(1) + ADD + SET + unsigned(1)) * 100000
    return module(gets + sets + (get(0) + get(1) + SET + b"\x00" + DROP) * 100000 + DROP * (OPERANDS - 9), locals=1), 1


def many_locals():
    pieces = b"".join(get(i) + const(1) + ADD + TEE + unsigned(i) + DROP for i in range(LOCALS - 1))
    count = (BODY_BYTES - 100) // len(pieces)
    return module(pieces * count + get(0), locals=LOCALS - 1), 1 + count


def calls_with_many_values():
    """Two bytes that take and give VALUES values."""
    same = (3, b"".join(get(i) for i in range(VALUES)))
    code = const(7) * VALUES + (CALL + b"\x02") * 200000 + DROP * (VALUES - 1)
    return module(code, others=[same]), 7


def returns_with_many_values():
    """A br_if to the function's own label is a return."""
    giver = fill(const(0) + BR_IF + b"\x00", const(1) + const(7) * VALUES, RETURN)
    return module(CALL + b"\x02" + DROP * (VALUES - 1), others=[(1, giver)]), 7


def tail_calls_with_many_values():
    """Each has its arguments moved to the frame's first slots; only the last is carried out."""
    piece = const(0) + IF + b"\x03" + RETURN_CALL + b"\x03" + END
    taker = fill(piece, b"".join(get(i) for i in range(VALUES)), RETURN_CALL + b"\x03")
    same = b"".join(get(i) for i in range(VALUES))
    return module(const(7) * VALUES + CALL + b"\x02" + DROP * (VALUES - 1), others=[(3, taker), (3, same)]), 7


def many_functions():
    count = 200000
    code = b"".join(CALL + unsigned(2 + i) for i in range(count))
    return module(get(0) + code, others=[(0, get(0))] * count), 1


def unwinding():
    """A trap takes 130,000 observed frames away, each of which has to be found among as many functions."""
    count = 60000
    code = b"".join(CALL + unsigned(2 + i) for i in range(count + 1))
    endless = get(0) + CALL + unsigned(2 + count) + const(1) + ADD
    return module(get(0) + code, others=[(0, get(0))] * count + [(0, endless)]), EXHAUSTED


CASES = [br_if_in_place, br_if_moves, br_if_moves_calculated, loops_with_parameters, br_table_moves,
         br_table_many_labels, blocks, loops, ifs, many_operands, many_operands_pending, many_locals,
         calls_with_many_values, returns_with_many_values,
         tail_calls_with_many_values, many_functions, unwinding]


def run(glassbox, options, path, name):
    """(exit status, output, processor seconds, megabytes)"""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.dup2(write, 1)
        os.dup2(write, 2)
        resource.setrlimit(resource.RLIMIT_CPU, (60, 60))
        os.execv(glassbox, [glassbox, "run", *options, f"--invoke={name}", path, "1"])
    os.close(write)
    with os.fdopen(read) as pipe:
        output = pipe.read().strip()
    _, status, usage = os.wait4(child, 0)
    return os.waitstatus_to_exitcode(status), output, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def main():
    options = argparse.ArgumentParser()
    options.add_argument("glassbox")
    options.add_argument("--only")
    options.add_argument("--seconds", type=float, default=SECONDS)
    options.add_argument("--verbose", action="store_true")
    options = options.parse_args()
    failed = 0
    for case in CASES:
        if options.only and case.__name__ != options.only:
            continue
        contents, expected = case()
        with tempfile.NamedTemporaryFile(suffix=".wasm") as file:
            file.write(contents)
            file.flush()
            _, _, reading, _ = run(options.glassbox, [], file.name, "empty")
            for dispatch in "region", "shared":
                how = [f"--dispatch={dispatch}"] + ["--count=wasm-instructions"] * (expected is EXHAUSTED)
                status, output, seconds, megabytes = run(options.glassbox, how, file.name, "f")
                seconds -= reading
                right = expected in output if expected is EXHAUSTED else (status, output) == (0, str(expected))
                bounded = seconds < options.seconds and megabytes < MEGABYTES
                if options.verbose or not right or not bounded:
                    print(f"{case.__name__} {dispatch}: {seconds:.2f} s after {reading:.2f} s of reading, "
                          f"{megabytes:.0f} MB, exit {status}, {output[:200]!r}, {expected} expected", flush=True)
                failed += not right or not bounded
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
