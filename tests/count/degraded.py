#!/usr/bin/env python3
"""degraded.py REFUSE_PERF_EVENT: what cannot be counted or written costs one message and changes nothing for the guest;
what the command line has wrong is refused."""
import errno
import pathlib
import sys

from counting import build, check, count, equal, run, scratch

EVENTS = "instructions:u,page-faults,wasm-instructions"


def messages(stderr):
    return [line for line in stderr.splitlines() if line.startswith("glassbox:")]


def check_refused(folder, module, what, prefix):
    """The run under `prefix` counts what it can, says once what it cannot, and prints what it would."""
    report, stdout, stderr = count(folder, [f"--count={EVENTS}", "--invoke=fib"], module, ["10"], prefix=prefix)
    equal(stdout, "55\n", f"{what}: the guest's result")
    equal(len(messages(stderr)), 1, f"{what}: messages in {stderr}")
    check("instructions:u" in messages(stderr)[0], f"{what}: {stderr}")
    equal(report.events["instructions:u"]["status"], "unavailable", what)
    equal(report.functions["fib"]["self"]["instructions:u"], None, f"{what}: not counted is not zero")
    equal(report.events["wasm-instructions"]["status"], "exact", what)
    check(report.functions["fib"]["self"]["wasm-instructions"] > 0, f"{what}: nothing was counted")


def check_files(folder, module):
    """A file that cannot be written; a full disk is a file that may not grow."""
    for path, prefix in ((f"{folder}/nowhere/out.json", ()), ("/proc/out.csv", ()),
                         (f"{folder}/full.json", ("sh", "-c", 'ulimit -f 0; exec "$@"', "sh"))):
        stdout, stderr = run(["--count=wasm-instructions", f"--count-output={path}", "--invoke=fib"], module, ["10"],
                             prefix=prefix)
        equal(stdout, "55\n", f"{path}: the guest's result")
        equal(len(messages(stderr)), 1, f"{path}: messages in {stderr}")
        check(path in stderr and "Counted:" in stderr, f"{path}: {stderr}")
    equal([path.name for path in folder.glob("full*")], [], "what is left of a file")


def check_usage(module):
    for options in (["--count="], ["--count=no-such-event"], ["--count=wall-clock,wall-clock"],
                    ["--count-every=4"], ["--count-output=a.json"], ["--count-threads"],
                    ["--count=wall-clock", "--count-output=a.txt"], ["--count=wall-clock", "--count-every=0"],
                    ["--count=wall-clock", "--count-every=x"], ["--count=wall-clock", "--count-limit=-1"],
                    ["--count=wall-clock", "--count-weight=page-faults"]):
        stdout, stderr = run([*options, "--invoke=fib"], module, ["10"], status=2)
        equal(stdout, "", f"{options}: the guest has run")
        equal(len(messages(stderr)), 1, f"{options}: {stderr}")


def check_limit(folder, module):
    report, _, stderr = count(folder, ["--count=wasm-instructions", "--count-limit=10", "--invoke=deep"], module,
                              ["100"])
    equal(report.events["wasm-instructions"]["total"], 704, "the total")
    deep = report.functions["deep"]
    equal((deep["calls"], deep["self"]["wasm-instructions"]), (101, 704), "calls and self past the limit")
    equal(deep["inclusive"]["wasm-instructions"], 704, "inclusive past the limit")
    equal(report.functions["(merged)"]["inclusive"]["wasm-instructions"], 704 - 10 * 7, "in contexts past the limit")
    check("more than 10 contexts" in stderr, stderr)


def check_pattern(folder, module):
    report, _, _ = count(folder, ["--count=wasm-instructions", "--count-functions=thr*", "--invoke=thrice"], module)
    equal(report.functions["thrice"]["self"]["wasm-instructions"], 2007, "what belongs to the only function counted")
    equal(len(report.functions), 2, "functions")


def check_thinned(folder, module):
    report, _, stderr = count(folder, ["--count=wasm-instructions", "--count-every=10", "--invoke=fib"], module, ["20"])
    equal(report.functions["fib"]["calls"], 21891, "calls, of which not each is measured")
    check("one call in 10 was measured" in stderr, stderr)


def test(folder, refuse):
    module = build(folder)
    for error in (errno.EACCES, errno.EPERM, errno.ENOSYS, errno.ENOENT):
        check_refused(folder, module, errno.errorcode[error], (refuse, error))
    check_refused(folder, module, "EMFILE", ("sh", "-c", 'ulimit -n 6; exec "$@"', "sh"))
    check_files(folder, module)
    check_usage(module)
    check_limit(folder, module)
    check_pattern(folder, module)
    check_thinned(folder, module)


with scratch() as name:
    test(pathlib.Path(name), sys.argv[1])
