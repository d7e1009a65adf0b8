/* jitdump.h: tell Linux perf all about the code that a process makes while it runs: names, machine code, source
 * lines, unwinding. The one header of libjitdump. Serves any interpreter or JIT compiler; needs libc only. The
 * format: docs/formats/jitdump.md.
 *
 *     struct jitdump *dump;
 *     struct jitdump_error error;
 *     if (jitdump_open(".", &dump, &error) != 0)
 *         return warn(error.message);                              // dump is NULL, and every call takes that
 *     ...
 *     struct jitdump_code code = {.address = start, .size_bytes = size, .name = "fib", .name_bytes = 3};
 *     if (jitdump_load(dump, &code, NULL, &error) != 0)
 *         warn(error.message);                                     // at most once for each open
 *     ...
 *     jitdump_close(dump);
 *
 * And the person who measures runs
 *
 *     perf record -k mono PROGRAM
 *     perf inject --jit -i perf.data -o perf.jit.data
 *     perf report -i perf.jit.data
 *
 * Several users. All opens of one directory in one process share one dump and one count of functions, also after the
 * last close. A dump that another copy of this library or another engine in this process has open is refused
 * (-EBUSY).
 *
 * Threads. Every function may be called from any thread at any time; a handle must not be used after its close. None
 * may be called from a signal handler.
 *
 * fork. The child's first record opens a dump of the child's own (perf knows the parent's code for the child too);
 * neither ever writes to the other's. No lock is held across a fork, and a child never waits for a thread that it
 * does not have.
 *
 * Crashes. The records of one load are one write: after kill -9 the file is whole records, up to the last
 * jitdump_load that returned.
 *
 * SIGXFSZ. Where RLIMIT_FSIZE may be reached the process must ignore that signal; the library leaves signals alone.
 */
#ifndef JITDUMP_H
#define JITDUMP_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

struct jitdump;

/* One line of text for a person, NUL-terminated: the file, what failed, and how to mend it where that is known. */
struct jitdump_error {
    char message[512];
};

/* The longest name in a dump, in bytes after escaping. A longer one is cut between characters and ends in "...". */
#define JITDUMP_NAME_BYTES 4000

/* One row of a line table: from this byte of the code on, it belongs to this line. Rows ascend in offset_bytes. */
struct jitdump_line {
    size_t offset_bytes; /* from the code's first byte */
    uint32_t line;
    uint32_t discriminator; /* tells apart several places of one line; else 0 */
    const char *file;       /* NUL-terminated path */
};

/* How to unwind through a piece of code: the contents of two ELF sections. perf places .eh_frame at the first
 * multiple of 8 after the code (counted from the code's first byte) and .eh_frame_hdr right behind it; addresses
 * inside them are relative to where they stand.
 *
 * perf takes the addresses where it places them for part of the code, so leave them free: the next code must begin no
 * sooner than align8(size_bytes) + eh_frame_bytes + eh_frame_hdr_bytes after this one's first byte. Where it does
 * not, whichever was loaded later wins: perf does not unwind through the one, or does not know the beginning of the
 * other. */
struct jitdump_unwinding {
    const void *eh_frame; /* complete, with its terminator */
    size_t eh_frame_bytes;
    const void *eh_frame_hdr;
    size_t eh_frame_hdr_bytes; /* not 0 */
};

/* A piece of code that is about to run. Everything is borrowed for the call. */
struct jitdump_code {
    const void *address; /* where it runs; its bytes are read there */
    size_t size_bytes;
    const char *name; /* arbitrary bytes, escaped as perfmap.h says except that short names stay as they are */
    size_t name_bytes;
    const struct jitdump_line *lines; /* may be NULL where line_count is 0 */
    size_t line_count;
    const struct jitdump_unwinding *unwinding; /* NULL: none */
};

/* Opens `directory`/jit-PID.dump (NULL means the working directory), truncating what an earlier process has left,
 * writes its header and maps it executable, which is how perf learns of it: do this before the code that it shall
 * describe is mapped. PID is the process's, as its own pid namespace counts. The file's mode is 0600: it holds the
 * code.
 *
 * Returns 0 with *dump set, which jitdump_close frees. Or a negative errno with *dump NULL and `error` filled (it may
 * be NULL): -EPERM the directory is mounted noexec, or the file is another user's or has other hard links; -ELOOP a
 * symbolic link; -EINVAL not a regular file; -EBUSY as above; -ENAMETOOLONG, -ENOMEM, or what open(2), write(2) or
 * mmap(2) says. */
int jitdump_open(const char *directory, struct jitdump **dump, struct jitdump_error *error)
    __attribute__((warn_unused_result));

/* Records a piece of code, now: perf knows it for samples taken later, until a later load of the same addresses. The
 * memory's final protection must be set, since perf takes a later mprotect or mmap of a file there for other code.
 * Where `index` is not NULL it receives the number that jitdump_move takes.
 *
 * Returns 0, or a negative errno with `error` filled (it may be NULL) where the file cannot be written or a child
 * cannot open its own: once for each handle. From then on the dump is off, and loading and moving do nothing and
 * return 0. `dump` may be NULL: nothing happens. */
int jitdump_load(struct jitdump *dump, const struct jitdump_code *code, uint64_t *index, struct jitdump_error *error);

/* Records that code of an earlier load of this process, `index`, runs at `to` from now on. Returns as jitdump_load
 * does. */
int jitdump_move(struct jitdump *dump, uint64_t index, const void *from, const void *to, size_t size_bytes,
                 struct jitdump_error *error);

/* Frees the handle. The last one of a dump writes the record that ends it. The file stays, and so does one page of
 * address space, so that perf meets the dump once in the life of a process. NULL: nothing happens. */
void jitdump_close(struct jitdump *dump);

/* Room for what jitdump_unwinding_frame_pointer makes, and so the distance that is enough between two pieces of code.
 * */
#define JITDUMP_FRAME_POINTER_BYTES 96

/* Makes the unwinding of code that sets up a frame pointer first and keeps it to its end. One rule holds for all of it:
 *
 *     x86-64     CFA = rbp + 16    return address at CFA - 8    caller's rbp at CFA - 16
 *     aarch64    CFA = x29 + 16    return address at CFA - 8    caller's x29 at CFA - 16
 *
 * `size_bytes` is the code's. The result points into `buffer` and does not depend on the code's address. */
struct jitdump_unwinding jitdump_unwinding_frame_pointer(size_t size_bytes,
                                                         unsigned char buffer[JITDUMP_FRAME_POINTER_BYTES]);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
