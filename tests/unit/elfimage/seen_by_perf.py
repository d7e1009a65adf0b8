#!/usr/bin/env python3
"""seen_by_perf.py GUEST TOPIC: what the real perf shows of guest.c's image, with no inject, no map and no -k mono.

finished  hot, warm and cold have 60, 30 and 10 percent of a flat report; the multiplication in hot leads the report
          by lines; annotate prints each line of the source above its instructions, and the hot line leads its summary;
          eu-elflint and readelf have nothing to say about the image
left      the same where the process ends without elfimage_destroy
killed    the same where it is killed
live      the same where perf is attached, and reports while the process still runs
many      the same with 20,000 functions more, and none of perf's commands is slow
copied    the image is gone at the report: perf has it in its cache
unwind    --call-graph dwarf goes from hot through outer to main
frames    --call-graph fp does so too
"""
import pathlib
import re
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "perf"))

from perfcheck import Recording, check, main, run  # noqa: E402

EXPECTED = {"hot": 60, "warm": 30, "cold": 10}
HOT_LINE = 2


def record(guest, folder, mode, functions=0, options=(), frequency=5000):
    """A Recording, and the image's path. perf ends as its command does, by SIGKILL too."""
    made = Recording(folder, "elf")
    command = ["perf", "--buildid-dir", made.folder / "debug", "record", "-q", "-e", "cpu-clock:u", "-F", frequency,
               *options, "-o", made.data, "--", guest, folder, mode, functions]
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    check(done.returncode == (-9 if mode == "kill" else 0), f"perf record: {done.returncode}\n{done.stderr}")
    return made, pathlib.Path(done.stdout.strip())


def check_report(made, tolerance=3):
    shares = made.shares("sym")
    print(shares)
    for name, expected in EXPECTED.items():
        check(abs(shares.get(name, 0) - expected) < tolerance, f"{name} has {shares.get(name)} %, not {expected} %")


def check_srcline(made):
    lines = made.flat("srcline")
    print(lines[:4])
    check(lines[0].key.endswith(f"loop.txt:{HOT_LINE}"), f"the first line is {lines[0].key}")


def check_annotate(made):
    plain = made.perf("annotate", "--stdio", "-s", "hot", "-i", made.data)
    check(re.search(r"multiply four times in hot\n.*\n.*\bi?mul\b", plain), f"no source above its code:\n{plain}")
    with_lines = made.perf("annotate", "--stdio", "-l", "-s", "hot", "-i", made.data)
    summary = re.search(r"Sorted summary.*\n-*\n\n\s*([0-9.]+)\s+\S*loop\.txt:(\d+)", with_lines)
    check(summary, f"no summary by line:\n{with_lines}")
    check(int(summary[2]) == HOT_LINE and float(summary[1]) > 50, f"the summary begins with {summary[0]}")


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


def check_image(path):
    """Strict readers find nothing to say."""
    print(run(["eu-elflint", "--gnu-ld", path]).strip())
    done = subprocess.run(["readelf", "-aw", str(path)], capture_output=True, text=True)
    check(done.returncode == 0 and not done.stderr and "Warning" not in done.stdout, f"readelf: {done.stderr[:2000]}")


def ended(mode):
    def test(guest, folder):
        made, image = record(guest, folder, mode, functions=200)
        check_all(made)
        check_image(image)
    return test


def chains(*options):
    def test(guest, folder):
        made, _ = record(guest, folder, "finish", options=options)
        check_chains(made)
    return test


def live(guest, folder):
    process = subprocess.Popen([guest, folder, "forever"], stdout=subprocess.PIPE, text=True)
    try:
        process.stdout.readline()
        time.sleep(0.2)
        made = Recording(folder, "elf")
        made.perf("record", "-q", "-e", "cpu-clock:u", "-F", "5000", "-p", str(process.pid), "-o", made.data, "--",
                  "sleep", "2")
        check_all(made)
        check(process.poll() is None, "the process has ended")
    finally:
        process.kill()
        process.wait()


def many(guest, folder):
    # Few samples: for each one perf 6.1 asks addr2line about ",", which binutils 2.40 compares with every symbol.
    made, image = record(guest, folder, "finish", 20000, frequency=500)
    for what, words in (check_report, [8]), (check_srcline, []), (check_annotate, []):
        start = time.monotonic()
        what(made, *words)
        seconds = time.monotonic() - start
        print(f"{what.__name__}: {seconds:.2f} s")
        check(seconds < 30, f"{what.__name__} took {seconds:.1f} s")
    check_image(image)
    print(f"{image.stat().st_size} bytes, {image.stat().st_blocks * 512} on disk")


def copied(guest, folder):
    made, image = record(guest, folder, "finish")
    image.unlink()
    check_report(made)


TOPICS = {
    "finished": ended("finish"),
    "left": ended("leave"),
    "killed": ended("kill"),
    "live": live,
    "many": many,
    "copied": copied,
    "unwind": chains("--call-graph", "dwarf,4096"),
    "frames": chains("--call-graph", "fp"),
}


def test(guest, topic):
    with tempfile.TemporaryDirectory(prefix="elfimage-perf-") as folder:
        TOPICS[topic](guest, folder)


main(test)
