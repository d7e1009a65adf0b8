"""What the checks know of each room: whom it may include, what its symbols are called, what it may write to.

`may_include` holds headers or folders (with a slash) of other rooms; a room always includes itself. `libraries` are the
system's headers beyond the C library and Linux. `prefixes` begin the names of external symbols. `writable` are the only
variables that a library may have; each is documented where it stands.
"""

import dataclasses
import pathlib

TREE = pathlib.Path(__file__).resolve().parents[2]


@dataclasses.dataclass(frozen=True)
class Room:
    may_include: tuple = ()
    libraries: tuple = ()
    public: tuple = ()
    prefixes: tuple = ()
    writable: tuple = ()

    def includes(self, name):
        return any(name == allowed or allowed.endswith("/") and name.startswith(allowed)
                   for allowed in self.may_include)


ROOMS = {
    "base": Room(public=("err.h",), prefixes=("err_", "vec_")),
    "perfmap": Room(public=("perfmap.h",), prefixes=("perfmap_",), writable=("process",)),
    "jitdump": Room(public=("jitdump.h",), prefixes=("jitdump_",), writable=("process",)),
    "elfimage": Room(libraries=("libelf.h", "gelf.h", "dwarf.h"), public=("elfimage.h",), prefixes=("elfimage_",)),
    "counters": Room(libraries=("perfmon/pfmlib_perf_event.h",), public=("counters.h",), prefixes=("counters_",)),
    # libelf is for stencil_tool.c, which runs when Glassbox is built.
    "vm": Room(may_include=("base/",), libraries=("libelf.h", "gelf.h"),
               public=("glassbox.h", "hooks.h", "wasi/wasi.h"),
               prefixes=("vm_", "wasm_", "code_", "run_", "thread_", "wasi_"),
               writable=("current", "previous", "installing", "native_bottom.bottom")),
    "profile": Room(
        may_include=("vm/hooks.h", "perfmap/perfmap.h", "jitdump/jitdump.h", "elfimage/elfimage.h",
                     "counters/counters.h", "base/"),
        libraries=("libelf.h", "gelf.h", "dwarf.h", "elfutils/libdw.h", "libiberty/demangle.h"),
        public=("profile.h", "frames.h"), prefixes=("profile_",)),
    # module.h and program.h are not public; `dump` shows what the VM has inside.
    "cli": Room(
        may_include=("vm/glassbox.h", "vm/hooks.h", "vm/traps.def", "vm/wasi/wasi.h", "vm/wasm/module.h",
                     "vm/code/program.h", "profile/profile.h", "profile/frames.h", "base/"),
        libraries=("capstone/capstone.h", "jansson.h")),
}

# Every header that a room must be allowed before it includes it.
LIBRARIES = ("libelf.h", "gelf.h", "dwarf.h", "elfutils/", "libiberty/", "demangle.h", "ansidecl.h", "capstone/",
             "jansson.h", "perfmon/")


def sources(room, *suffixes):
    """The room's files of these suffixes, in order."""
    return sorted(path for path in (TREE / room).rglob("*") if path.suffix in suffixes)


def everything():
    """Every file of the tree, without what builds and git keep in it."""
    for top in sorted(TREE.iterdir()):
        if top.is_dir() and top.name not in ("build", ".git"):
            yield from sorted(path for path in top.rglob("*") if path.is_file() and "__pycache__" not in path.parts)
        elif top.is_file():
            yield top


def report(problems):
    """Prints them, one a line, and returns the exit status."""
    for problem in problems:
        print(problem)
    return 1 if problems else 0
