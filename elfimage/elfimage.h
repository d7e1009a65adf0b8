/* libelfimage: code memory that is an ELF file, so that perf reads it as it reads any shared library.
 *
 * An image is one file, DIRECTORY/STEM-PID.so, mapped twice: a view that is readable and writable, through which
 * machine code is written, and a view that is readable and executable, in which it runs. Each function that is added
 * gets a symbol and, if wished, line numbers; one unwinding rule covers all of the code. Plain `perf record`,
 * `perf report`, `perf annotate`, `perf report -s srcline` and `perf record --call-graph dwarf` then resolve it, with
 * no `perf inject`, no perf-PID.map and no `-k mono`; so do gdb, objdump and addr2line.
 *
 *     struct elfimage *image;
 *     struct elfimage_code code;
 *     int status = elfimage_create(".", "tinyvm", 64 << 20, &image);   // ./tinyvm-4711.so
 *     status = elfimage_reserve(image, 4096, &code);
 *     memcpy(code.write, bytes, size);                           // aarch64: then __builtin___clear_cache(execute, ...)
 *     status = elfimage_add(image, code.execute, size, "fib", lines, line_count);
 *     ((void (*)(void))code.execute)();
 *     elfimage_destroy(image);                                         // the file stays, for perf to read
 *
 * The file is a complete ELF file at every moment: a process that is killed leaves one that reads as well as any other.
 *
 * Unwinding. All code of an image shares one CFI rule, that of a function after its prologue: on x86-64 after
 * `push %rbp; mov %rsp,%rbp`, on aarch64 after `stp x29, x30, [sp, #-N]!; mov x29, sp` (CFA = frame pointer + 16: the
 * frame record is the frame's top). Code that keeps another frame runs as well, but is not unwound through.
 *
 * Threads. Any function may be called from any thread at any time, but for elfimage_destroy, which must be the last.
 * Other threads may run in the image's code meanwhile. None is safe in a signal handler.
 *
 * Fork. A child runs the code it inherited and changes nothing: it has no writable view (an access faults, rather than
 * write into its parent's code), elfimage_reserve, elfimage_add and elfimage_finish return -ECHILD, and
 * elfimage_destroy frees only what the child has. A child that wants to go on makes an image of its own.
 *
 * Errors. Fallible functions return 0 or a negative errno, which elfimage_status_text() puts into words. After an error
 * the image is as it was before the call.
 */
#ifndef ELFIMAGE_H
#define ELFIMAGE_H

#include <stddef.h>
#include <stdint.h>

#pragma GCC visibility push(default)

#ifdef __cplusplus
extern "C" {
#endif

#define ELFIMAGE_CAPACITY_MAX ((size_t)1 << 30)

struct elfimage;

/* A piece of code memory: two views of the same bytes. Both begin on a page and last until elfimage_destroy. */
struct elfimage_code {
    void *write;         /* readable and writable */
    const void *execute; /* readable and executable */
    size_t size_bytes;   /* as asked for, rounded up to pages */
};

/* From `offset` on (bytes from the function's first one), up to the next entry or the function's end, the code comes
 * from line `line` of `file`. A path that is not absolute is taken by tools as relative to where they run. Line 0: from
 * no line. Entries that bear the same pointer share one name in the file, so intern paths if you can. */
struct elfimage_line {
    uint32_t offset;
    uint32_t line;
    const char *file;
};

/* Creates DIRECTORY/STEM-PID.so, or STEM-PID-1.so, STEM-PID-2.so, ... where that name is taken (an earlier image of
 * this process, or of a dead process of the same number, is never overwritten), mode 0600, and maps both views.
 * `capacity_bytes` bounds the code; it costs address space, neither disk nor memory before it is reserved.
 *
 * -EINVAL        no code capacity, more than ELFIMAGE_CAPACITY_MAX, or a stem that is empty or contains a '/'
 * -ENAMETOOLONG  the path
 * -ENOENT, -ENOTDIR, -EACCES, -EROFS, ...  as open(2) says of the directory
 * -EPERM         the directory is mounted noexec, or a security module refuses executable memory
 * -EMFILE, -ENFILE  no descriptor left (an image holds one)
 * -EFBIG         the file-size limit (ulimit -f) is below the capacity
 * -ENOSPC        the disk is full
 * -ENOMEM        address space or memory */
int elfimage_create(const char *directory, const char *stem, size_t capacity_bytes, struct elfimage **image)
    __attribute__((warn_unused_result));

/* Hands out the next `size_bytes` (rounded up to pages) of code memory. Its disk blocks are allocated here, so that
 * writing to it cannot fail later (a full disk would else be a SIGBUS): ask for what is needed soon, a MiB rather than
 * the whole capacity. It is never given back: what ran there must stay readable for perf.
 *
 * -ENOBUFS  the capacity is used up: create another image
 * -ENOSPC, -EDQUOT  the disk is full
 * -ECHILD   forked; -ESHUTDOWN after elfimage_finish; -EINVAL size 0 */
int elfimage_reserve(struct elfimage *image, size_t size_bytes, struct elfimage_code *code)
    __attribute__((warn_unused_result));

/* Publishes code that is complete and will not change: a function's symbol and its lines. `address` is in the
 * executable view, [address, address + size_bytes) in reserved memory. `name` and all of `lines` are copied; `lines`
 * ascends in offset (of equal offsets the last counts) and may be NULL with a count of 0. The cost grows with the name
 * and the lines only, never with what was added before.
 *
 * Names are written as they are: C++ and Rust mangled names are demangled by perf; control characters reach the
 * terminal of whoever reads the report.
 *
 * -EINVAL   not inside this image's reserved code, size 0, empty name, lines not ascending or beyond the function
 * -ENOSPC, -EDQUOT, -EFBIG, -ENOMEM  no room for symbol or lines
 * -ECHILD   forked; -ESHUTDOWN after elfimage_finish */
int elfimage_add(struct elfimage *image, const void *address, size_t size_bytes, const char *name,
                 const struct elfimage_line *lines, size_t line_count) __attribute__((warn_unused_result));

/* Makes the file compact: its length and its disk use become what its contents need. Not needed for the file to be
 * readable. Code already written stays executable, and may be running; nothing may be written to the image any more. A
 * second call does nothing and returns 0.
 *
 * -ENOSPC, -EDQUOT, -EIO  the file stays as it was: sparse, and just as readable
 * -ECHILD   forked */
int elfimage_finish(struct elfimage *image);

/* Finishes the image, unmaps both views and frees it. The file stays. NULL is ignored. */
void elfimage_destroy(struct elfimage *image);

/* The file's path, as DIRECTORY was given; lasts as long as the image. */
const char *elfimage_path(const struct elfimage *image);

/* What a status returned by one of these functions means and how to mend it: a static string, no newline. */
const char *elfimage_status_text(int status);

#ifdef __cplusplus
}
#endif

#pragma GCC visibility pop

#endif
