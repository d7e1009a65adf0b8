"""counting: run a guest under `glassbox run --count` and read what it writes. Used by the tests of this folder."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

GLASSBOX = os.environ.get("GLASSBOX", "glassbox")
GUESTS = pathlib.Path(os.environ.get("GLASSBOX_GUESTS", "guests"))
HERE = pathlib.Path(__file__).resolve().parent
DISPATCHES = ("region", "shared")


def check(condition, message):
    if not condition:
        sys.exit(f"FAILED: {message}")


def equal(found, wanted, what):
    check(found == wanted, f"{what}: {found}, should be {wanted}")


def build(folder, name="cases"):
    """The guest guests/NAME.wat, with names for its functions."""
    module = folder / f"{name}.wasm"
    subprocess.run(["wat2wasm", "--enable-tail-call", "--debug-names", "-o", module,
                    HERE / "guests" / f"{name}.wat"], check=True)
    return module


def run(options, module, arguments=(), prefix=(), status=0):
    """Runs the guest, which must end so; returns what it printed on either stream."""
    command = [*prefix, GLASSBOX, "run", *options, module, *arguments]
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, stdin=subprocess.DEVNULL)
    check(done.returncode == status, f"{command}: status {done.returncode}, should be {status}\n{done.stderr}")
    return done.stdout, done.stderr


def has_regions():
    """A sanitizer's build has none."""
    done = subprocess.run([GLASSBOX, "run", "--dispatch=region", "/nowhere"], capture_output=True, text=True)
    return "has no code regions" not in done.stderr


class Report:
    """A JSON report, by function."""

    def __init__(self, path):
        self.json = json.loads(path.read_text())
        self.events = {event["name"]: event for event in self.json["events"]}
        self.functions = {row["name"]: row for row in self.json["functions"]}
        self.contexts = {context["id"]: context for context in self.json["contexts"]}

    def check_sums(self):
        """Self costs of functions, of contexts and of each thread's functions add up to the totals."""
        for name, event in self.events.items():
            if "total" not in event:
                continue
            for rows in (self.json["functions"], self.json["contexts"]):
                equal(sum(row["self"][name] for row in rows), event["total"], f"sum of self of {name}")
            equal(sum(thread["total"][name] for thread in self.json["threads"]), event["total"], "sum of threads")
            for thread in self.json["threads"]:
                equal(sum(row["self"][name] for row in thread["functions"]), thread["total"][name], "sum of a thread")
            for context in self.json["contexts"]:
                check(context["self"][name] <= context["inclusive"][name], f"self is more than inclusive: {context}")


def count(folder, options, module, arguments=(), **how):
    """The report of a run, and what it printed."""
    path = folder / "report.json"
    path.unlink(missing_ok=True)
    printed = run([f"--count-output={path}", *options], module, arguments, **how)
    report = Report(path)
    report.check_sums()
    return report, *printed


def scratch():
    return tempfile.TemporaryDirectory(prefix="glassbox-count.")
