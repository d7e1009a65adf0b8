#!/usr/bin/env python3
"""faults.py CASE KIND: something that --perf=KIND needs is refused, and the guest does not notice.

The guest must print the same and exit with the same status as without --perf, and one line on standard error must say
what was lost and how to mend it. Where what is refused is not needed after all, there must be no line. The cases need
mounts, so the script runs itself again in a mount namespace of its own; /tmp and /mnt in it are private. The tree may
itself be in either, so the program and its guest are copied first.
"""
import ctypes
import os
import pathlib
import platform
import re
import resource
import struct
import subprocess
import sys

from perfcheck import Failure, GLASSBOX, GUESTS, check, main

BASE = pathlib.Path("/mnt")
FOLDER = BASE / "perf"
PROGRAM, GUEST = BASE / "glassbox", BASE / "shares.wasm"
ROUNDS = "20"
NOBODY = 65534
EXACTLY_ONE, AT_MOST_ONE, NONE = "exactly one", "at most one", "no"


def where(kind):
    """The folder that KIND writes to."""
    return pathlib.Path("/tmp") if kind == "map" else FOLDER


def mount(folder, options):
    subprocess.run(["mount", "-t", "tmpfs", "-o", options, "none", folder], check=True)


def remount(folder, options):
    subprocess.run(["mount", "-o", f"remount,{options}", folder], check=True)


def fill(folder, free_bytes):
    """Leaves `free_bytes` of the file system at `folder`."""
    with open(folder / "filler", "wb") as filler:
        status = os.statvfs(folder)
        available = status.f_bavail * status.f_frsize - free_bytes
        os.posix_fallocate(filler.fileno(), 0, available)


def glassbox(options, prefix=(), **how):
    done = subprocess.run([*prefix, PROGRAM, "run", *options, GUEST, ROUNDS], capture_output=True, text=True, **how)
    return done.returncode, done.stdout, done.stderr


def compare(kind, messages, mend, prefix=(), plain=None, perf_dir=FOLDER, **how):
    """Runs the guest as it is and with --perf=KIND. `mend`: what a message must match."""
    plain = plain or glassbox([], prefix, **how)
    seen = glassbox([f"--perf={kind}", f"--perf-dir={perf_dir}"], prefix, **how)
    lines = seen[2].splitlines()
    print(f"{kind}: status {seen[0]}, {seen[1].strip()}; {lines}")
    check(plain[0] == 0, f"the guest fails by itself: {plain}")
    check(seen[:2] == plain[:2], f"the guest's result changed from {plain} to {seen}")
    if messages == NONE or (messages == AT_MOST_ONE and not lines):
        check(not lines, f"there should be no message: {lines}")
    else:
        check(len(lines) == 1, f"there should be {messages} message: {lines}")
        check(re.search(mend, lines[0]), f"the message does not say how to mend it ({mend}): {lines[0]}")


def full_disk(kind):
    for free_bytes in (0, 4096, 65536, 524288):
        mount(where(kind), "size=2m,mode=1777")
        fill(where(kind), free_bytes)
        compare(kind, AT_MOST_ONE if free_bytes else EXACTLY_ONE, r"space|full")
        subprocess.run(["umount", where(kind)], check=True)


def read_only(kind):
    remount(where(kind), "ro")
    compare(kind, EXACTLY_ONE, r"--perf-dir|/tmp")


def unwritable(kind):
    where(kind).chmod(0o555)
    prefix = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"]
    compare(kind, EXACTLY_ONE, r"--perf-dir|/tmp", prefix)


def missing(kind):
    compare(kind, NONE if kind == "map" else EXACTLY_ONE, r"--perf-dir", perf_dir=FOLDER / "missing")


def noexec(kind):
    remount(where(kind), "noexec")
    compare(kind, NONE if kind == "map" else EXACTLY_ONE, r"noexec.*--perf-dir|--perf-dir.*noexec")


def descriptors(kind):
    """With every number of descriptors that suffices for the guest; with few of them something must be lost."""
    lost = False
    for limit in range(3, 24):
        def apply(limit=limit):
            resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limit))
        plain = glassbox([], preexec_fn=apply)
        if plain[0] == 0:
            try:
                compare(kind, NONE, "", plain=plain, preexec_fn=apply)
            except Failure:
                compare(kind, EXACTLY_ONE, r"ulimit -n|RLIMIT_NOFILE", plain=plain, preexec_fn=apply)
                lost = True
    check(lost, "no limit was too low: the case tests nothing")


# struct sock_filter, and what the program below needs of <linux/bpf_common.h> and <linux/seccomp.h>.
LOAD_WORD, JUMP_EQUAL, RETURN = 0x20, 0x15, 0x06
ALLOW, REFUSE_EPERM = 0x7FFF0000, 0x00050001
PERF_EVENT_OPEN = {"x86_64": 298, "aarch64": 241}
PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP, SECCOMP_MODE_FILTER = 38, 22, 2


def refuse_perf_event_open():
    program = b"".join(struct.pack("HBBI", *line) for line in (
        (LOAD_WORD, 0, 0, 0),
        (JUMP_EQUAL, 0, 1, PERF_EVENT_OPEN[platform.machine()]),
        (RETURN, 0, 0, REFUSE_EPERM),
        (RETURN, 0, 0, ALLOW),
    ))
    text = ctypes.create_string_buffer(program)
    filter_program = struct.pack("HxxxxxxQ", 4, ctypes.addressof(text))
    libc = ctypes.CDLL(None, use_errno=True)
    check(libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0, "prctl PR_SET_NO_NEW_PRIVS")
    check(libc.prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, filter_program) == 0, "prctl PR_SET_SECCOMP")


def no_perf_event(kind):
    """perf_event_open refused, as containers do (moby#43163): announcing does not need it."""
    compare(kind, NONE, "", preexec_fn=refuse_perf_event_open)


CASES = {function.__name__.replace("_", "-"): function
         for function in (full_disk, read_only, unwritable, missing, noexec, descriptors, no_perf_event)}


def test(case, kind):
    if os.environ.get("GLASSBOX_FAULTS") != "mounted":
        os.environ["GLASSBOX_FAULTS"] = "mounted"
        os.execvp("unshare", ["unshare", "-m", sys.executable, *sys.argv])
    files = [(PROGRAM, pathlib.Path(GLASSBOX).read_bytes()), (GUEST, (GUESTS / "shares.wasm").read_bytes())]
    mount(BASE, "size=256m,mode=755")
    for path, contents in files:
        path.write_bytes(contents)
        path.chmod(0o755)
    FOLDER.mkdir()
    mount(FOLDER, "size=256m,mode=1777")  # an image reserves 64 MiB at a time
    mount(pathlib.Path("/tmp"), "size=64m,mode=1777")
    CASES[case](kind)


main(test)
