#!/usr/bin/env python3
"""tinyvm.py BUILD_FOLDER SOURCE_FOLDER COMPILER: the libraries serve an interpreter that is not Glassbox.

Installs the three libraries, each alone, to a folder; builds examples/tinyvm against it by find_package, and once more
by pkg-config and shared libraries; and looks at its functions with the real perf in each of the three ways.
"""
import os
import pathlib
import subprocess
import tempfile

from perfcheck import Recording, check, main, run

LIBRARIES = ["perfmap", "jitdump", "elfimage"]
EXPECTED = {"hot": 60, "warm": 30, "cold": 10}


def install(build_folder, prefix):
    for library in LIBRARIES:
        run(["cmake", "--install", build_folder, "--prefix", prefix, "--component", library])
        check((prefix / "include" / library / f"{library}.h").exists(), f"{library} has installed no header")


def build(source_folder, compiler, prefix, folder):
    """By find_package alone."""
    run(["cmake", "-G", "Ninja", "-S", source_folder / "examples/tinyvm", "-B", folder, f"-DCMAKE_PREFIX_PATH={prefix}",
         f"-DCMAKE_C_COMPILER={compiler}"])
    run(["cmake", "--build", folder])
    return folder / "tinyvm"


def build_by_pkg_config(source_folder, compiler, prefix, folder):
    paths = ":".join(str(path.parent) for path in prefix.rglob("*.pc"))
    flags = run(["pkg-config", "--cflags", "--libs", *LIBRARIES], env={**os.environ, "PKG_CONFIG_PATH": paths}).split()
    program = folder / "tinyvm-shared"
    library_folder = next(prefix.rglob("libperfmap.so")).parent
    run([compiler, "-O2", "-fno-omit-frame-pointer", "-fno-jump-tables", "-fno-stack-protector",
         source_folder / "examples/tinyvm/tinyvm.c", "-o", program, *flags, f"-Wl,-rpath,{library_folder}"])
    return program


def look(program, mode, folder):
    made = Recording(folder, mode)
    made.record([program, mode], ["-g"])
    shares = made.shares("sym")
    print(mode, shares)
    for name, percent in EXPECTED.items():
        check(abs(shares.get(name, 0) - percent) < 4, f"{mode}: {name} has {shares.get(name)} %, not {percent} %")
    check(shares.get("interpret", 0) == 0, f"{mode}: the interpreter has {shares.get('interpret')} %")
    chains = made.stacks()
    stacks = [[frame.symbol.split("+")[0] for frame in chain] for chain in chains]
    whole = [stack for stack in stacks if stack[-3:] == ["main", "program", "hot"]]
    in_hot = [stack for stack in stacks if stack[-1] == "hot"]
    check(len(whole) >= 0.98 * len(in_hot) > 0, f"{mode}: {len(whole)} of {len(in_hot)} chains are whole")
    for dso in {frame.dso for chain in chains for frame in chain if frame.dso.startswith("/tmp/perf-")}:
        pathlib.Path(dso).unlink()


def run_alone(program, mode):
    process = subprocess.Popen([program, mode, "0.1"], stdout=subprocess.PIPE, text=True)
    output, _ = process.communicate()
    check(process.returncode == 0 and output == "ok\n", f"{program} {mode}: {process.returncode}, {output}")
    pathlib.Path(f"/tmp/perf-{process.pid}.map").unlink(missing_ok=True)


def test(build_folder, source_folder, compiler):
    with tempfile.TemporaryDirectory(prefix="glassbox-tinyvm-") as name:
        folder = pathlib.Path(name)
        install(build_folder, folder / "prefix")
        program = build(pathlib.Path(source_folder), compiler, folder / "prefix", folder / "build")
        shared = build_by_pkg_config(pathlib.Path(source_folder), compiler, folder / "prefix", folder)
        os.chdir(folder)  # dump and image go to the working directory
        for mode in "map", "jitdump", "elf":
            look(program, mode, folder)
            run_alone(shared, mode)


main(test)
