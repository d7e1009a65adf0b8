"""perfcheck: run a guest under the real perf and read what perf prints. Used by the tests of this folder.

A recording lives in a temporary folder of its own, with the dump or image in it and perf's cache of build-ids too, so
that nothing of the machine's state is read or left behind but /tmp/perf-PID.map, which has one possible place.

The events are cpu-clock, a timer that every machine has. perf is called as a user would call it; the only liberty is a
field separator where its table is parsed.
"""
import contextlib
import dataclasses
import os
import pathlib
import re
import subprocess
import sys
import tempfile

GLASSBOX = os.environ.get("GLASSBOX", "glassbox")
GUESTS = pathlib.Path(os.environ.get("GLASSBOX_GUESTS", "guests"))

KIND_OF_DSO = {"map": r"/perf-\d+\.map$|^\[JIT\]", "jitdump": r"/jitted-\d+-\d+\.so$", "elf": r"glassbox-\d+[^/]*\.so$"}


class Failure(Exception):
    """What the test's reader is told."""


def check(condition, message):
    if not condition:
        raise Failure(message)


def main(test):
    """Runs a test that takes the command line's arguments; its Failure becomes one message and status 1."""
    try:
        test(*sys.argv[1:])
    except Failure as failure:
        sys.exit(f"FAILED: {failure}")


def run(command, **options):
    """Standard output of a command that must succeed."""
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, errors="replace", **options)
    check(done.returncode == 0, f"{' '.join(map(str, command))}: status {done.returncode}\n{done.stdout[-2000:]}"
                                f"\n{done.stderr[-2000:]}")
    return done.stdout


@dataclasses.dataclass
class Entry:
    """A line of a report's table: its share in percent, and what stands in the column of the first sort key."""
    share: float
    key: str


@dataclasses.dataclass
class Frame:
    symbol: str
    dso: str


class Recording:
    """perf.data of one run, injected where the mode needs it."""

    def __init__(self, folder, kind):
        self.folder = pathlib.Path(folder)
        self.kind = kind
        self.data = self.folder / "perf.data"

    def perf(self, *words, **options):
        return run(["perf", "--buildid-dir", self.folder / "debug", *words], **options)

    def record(self, command, options=(), **how):
        """What `command` prints."""
        clock = ["-k", "mono"] if "jitdump" in self.kind else []
        printed = self.perf("record", "-q", "-e", "cpu-clock:u", "-F", "5000", *clock, *options, "-o", self.data, "--",
                            *command, **how)
        self.finish()
        return printed

    def finish(self):
        """After perf record has ended."""
        if "jitdump" in self.kind:
            injected = self.folder / "perf.jit.data"
            self.perf("inject", "--jit", "-i", self.data, "-o", injected)
            self.data = injected

    def flat(self, key):
        """The flat report by `key` (one of perf's sort keys), without chains."""
        text = self.perf("report", "--stdio", "--no-children", "-g", "none", "-t", "\t", "-s", key, "-i", self.data)
        lines = [line for line in text.splitlines() if line.strip() and not line.startswith("#")]
        rows = [[column.strip() for column in line.split("\t")] for line in lines]
        return [Entry(float(row[0].rstrip("%")), row[1].removeprefix("[.] ")) for row in rows]

    def shares(self, key):
        """The flat report as a dictionary from what `key` gives to its share."""
        return {entry.key: entry.share for entry in self.flat(key)}

    def stacks(self):
        """Each sample's chain as Frames, outermost first."""
        text = self.perf("script", "-F", "ip,sym,dso", "-i", self.data)
        stacks = []
        for sample in text.split("\n\n"):
            frames = re.findall(r"^\s*[0-9a-f]+ (.*) \(([^()]*(?:\([^()]*\))?[^()]*)\)$", sample, flags=re.MULTILINE)
            if frames:
                stacks.append([Frame(*frame) for frame in reversed(frames)])
        return stacks


@contextlib.contextmanager
def recording(kind, guest, arguments, options=(), run_options=()):
    """A Recording of `glassbox run --perf=KIND GUEST ARGUMENTS`."""
    with recording_of(kind, lambda folder: [GLASSBOX, "run", f"--perf={kind}", f"--perf-dir={folder}", *run_options,
                                            GUESTS / f"{guest}.wasm", *arguments], options) as made:
        yield made


@contextlib.contextmanager
def recording_of(kind, command, options=()):
    """A Recording of what `command`, given the folder to write to, says."""
    with tempfile.TemporaryDirectory(prefix="glassbox-perf-") as folder:
        made = Recording(folder, kind)
        made.record(command(folder), options)
        yield made
