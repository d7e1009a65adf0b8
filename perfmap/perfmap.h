/* perfmap.h: name the code that a process makes while it runs, in the file where Linux perf looks: /tmp/perf-PID.map.
 * The one header of libperfmap. Serves any interpreter or JIT compiler; needs libc only. The format:
 * docs/formats/perf-map.md.
 *
 *     struct perfmap *map;
 *     struct perfmap_error error;
 *     if (perfmap_open(NULL, &map, &error) != 0)
 *         return warn(error.message);                                  // map is NULL, and every call takes that
 *     ...
 *     if (perfmap_add(map, code, code_bytes, "fib", 3, &error) != 0)
 *         warn(error.message);                                         // at most once for each open
 *     ...
 *     perfmap_close(map);
 *
 * Several users. All opens of one directory in one process share one file. The first truncates what an earlier process
 * with the same pid has left; every later one appends, also after the last close, and also where the first was another
 * copy of this library or another engine that still has the file open.
 *
 * Threads. Every function may be called from any thread at any time; a handle must not be used after its close. None
 * may be called from a signal handler.
 *
 * fork. The child's first perfmap_add makes a map of the child's own (perf shows the parent's names for code that the
 * child inherited); neither ever writes to the other's. No lock is held across a fork, and a child never waits for a
 * thread that it does not have.
 *
 * Crashes. A record is one write(2): after kill -9 the file is whole lines, up to the last perfmap_add that returned.
 *
 * Addresses. A map knows no time: perf believes any of several records for one address. Do not put new code where old
 * code was while the process is watched.
 *
 * SIGXFSZ. Where RLIMIT_FSIZE may be reached the process must ignore that signal; the library leaves signals alone.
 */
#ifndef PERFMAP_H
#define PERFMAP_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

struct perfmap;

/* One line of text for a person, NUL-terminated: the file, what failed, and how to mend it where that is known. */
struct perfmap_error {
    char message[512];
};

/* The longest name in a map, in bytes after escaping. A longer one is cut between characters and ends in "...". */
#define PERFMAP_NAME_BYTES 4000

/* Opens `directory`/perf-PID.map; NULL means /tmp, the only place where perf looks. PID is the process's, as its own
 * pid namespace counts. The file's mode is 0644 less the umask, since readers may be other users.
 *
 * Returns 0 with *map set, which perfmap_close frees. Or a negative errno with *map NULL and `error` filled (it may be
 * NULL): -ELOOP a symbolic link, -EPERM a file of another user or with other hard links, -EINVAL not a regular file,
 * -ENAMETOOLONG, -ENOMEM, or what open(2) says. */
int perfmap_open(const char *directory, struct perfmap **map, struct perfmap_error *error)
    __attribute__((warn_unused_result));

/* Records that the `size_bytes` bytes at `address` are the function `name`, which is `name_bytes` arbitrary bytes
 * (not NUL-terminated; UTF-8 is what readers expect). A name that could break a line, a folded stack or a terminal is
 * escaped:
 *
 *     control characters (C0, DEL, C1), `;`, bytes that are not UTF-8, characters that change
 *     the direction of writing, and a blank at either end                 each byte as \xNN
 *     the empty name                                                      [unnamed]
 *     1 or 2 bytes, which perf would drop                                 () appended
 *     more than PERFMAP_NAME_BYTES                                        cut
 *
 * A backslash stands for itself, so an escaped name is left as it is when escaped again. Size 0 is recorded as 1:
 * perf never finds an entry of size 0.
 *
 * Returns 0, or a negative errno with `error` filled (it may be NULL) where the file cannot be written or a child
 * cannot open its own: once for each handle. From then on the map is off, and adding does nothing and returns 0.
 * `map` may be NULL: nothing happens. */
int perfmap_add(struct perfmap *map, const void *address, size_t size_bytes, const char *name, size_t name_bytes,
                struct perfmap_error *error);

/* Frees the handle; the file stays, since perf reads it after the process has ended. NULL: nothing happens. */
void perfmap_close(struct perfmap *map);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
