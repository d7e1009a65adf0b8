#!/usr/bin/env python3
"""growth.py KIND: code that does not fit into the first piece of code memory is seen as well as what does.

A module of functions that are large enough to need a second piece: each runs equally long, so the flat report has to
give each its equal share, the first ones and the last ones alike. Announcing a later piece must not hide an earlier
one, nor the reverse (wasmtime#2018, coreclr#26897).
"""
import pathlib
import sys
import tempfile

from perfcheck import GLASSBOX, check, main, recording_of

sys.path.append(str(pathlib.Path(__file__).parents[1] / "fuzz"))
from generate import END, section, signed, unsigned, vector  # noqa: E402  (the folder is known only now)

FUNCTIONS, STEPS, TURNS = 64, 12000, 60
LOCAL_GET, LOCAL_SET, LOCAL_TEE, CONST, SUBTRACT, MAXIMUM, CALL, LOOP, BR_IF = \
    0x20, 0x21, 0x22, 0x41, 0x6B, 0xA5, 0x10, 0x03, 0x0D
PIECE_BYTES = 64 << 20  # as the VM asks for it; an image holds several
I32, F64, EMPTY = 0x7F, 0x7C, 0x40


def module():
    """_start calls work_0, work_1, ...: each goes TURNS times through STEPS times f64.max, whose code is long."""
    step = bytes([LOCAL_GET, 0, LOCAL_GET, 1, MAXIMUM, LOCAL_SET, 0])
    turn = bytes([LOCAL_GET, 2, CONST, 1, SUBTRACT, LOCAL_TEE, 2, BR_IF, 0])
    work = bytes([2, 2, F64, 1, I32, CONST]) + signed(TURNS) + bytes([LOCAL_SET, 2, LOOP, EMPTY]) + \
        step * STEPS + turn + bytes([END, END])
    start = bytes([0]) + b"".join(bytes([CALL]) + unsigned(index) for index in range(FUNCTIONS)) + bytes([END])
    bodies = [work] * FUNCTIONS + [start]

    def name(text):
        return unsigned(len(text)) + text.encode()

    names = vector(unsigned(index) + name(f"work_{index}") for index in range(FUNCTIONS))
    return b"\0asm\1\0\0\0" + b"".join([
        section(1, b"\1\x60\0\0"),
        section(3, vector([b"\0"] * len(bodies))),
        section(7, b"\1" + name("_start") + b"\0" + unsigned(FUNCTIONS)),
        section(10, vector(unsigned(len(body)) + body for body in bodies)),
        section(0, name("name") + section(1, names)),
    ])


def test(kind):
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "growth.wasm"
        path.write_bytes(module())
        lines = [] if kind == "map" else ["--lines=none"]
        with recording_of(kind, lambda folder: [GLASSBOX, "run", f"--perf={kind}", f"--perf-dir={folder}", *lines,
                                                path]) as made:
            shares = made.shares("symbol")
            events = made.perf("script", "--show-mmap-events", "-F", "comm,ip", "-i", made.folder / "perf.data")
            pieces = [line for line in events.splitlines() if "MMAP" in line and " r-xs " in line]
            image_bytes = sum(image.stat().st_size for image in made.folder.glob("glassbox-*.so"))
    work = [shares.get(f"work_{index}", 0) for index in range(FUNCTIONS)]
    print(f"{len(pieces)} pieces of code memory, {sum(work):.1f} % in the guest, {min(work)} to {max(work)} % each")
    check(len(pieces) >= 2 or image_bytes > PIECE_BYTES, f"the code fits into one piece: {pieces}, {image_bytes} bytes")
    check(all(share > 50 / FUNCTIONS for share in work), f"a function has lost samples: {shares}")


main(test)
