/* internal: what the files of vm/wasi/ share. A guest's call arrives in wasi.c as slots; the function that serves it
 * sees a struct wasi_call and answers with preview 1's error number.
 */
#ifndef GLASSBOX_VM_WASI_INTERNAL_H
#define GLASSBOX_VM_WASI_INTERNAL_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <time.h>

#include "base/vec.h"
#include "vm/glassbox.h"
#include "vm/wasi/abi.h"
#include "vm/wasi/wasi.h"

struct wasi_readdir; /* readdir.c */

/* One descriptor of the guest. */
struct wasi_fd {
    int host;                     /* -1: this number is free */
    int restore_flags;            /* of an inherited open file: what F_GETFL said at first; else -1 */
    uint64_t rights_base;         /* what may be done with this descriptor */
    uint64_t rights_inheriting;   /* what may be done with descriptors opened beneath it */
    char *preopen;                /* the guest's name of a preopened directory; else NULL */
    struct wasi_readdir *readdir; /* NULL until fd_readdir is first called */
    uint8_t filetype;             /* enum wasi_filetype */
};

enum wasi_function {
#define WASI(name, params, results) WASI_FUNCTION_##name,
#include "vm/wasi/wasi.def"
    WASI_FUNCTION_COUNT
};

/* What a host function's `user` points to. */
struct wasi_binding {
    struct wasi *wasi;
    enum wasi_function function;
};

struct wasi {
    struct vec args; /* NUL-terminated strings, one after another */
    struct vec env;
    uint32_t arg_count;
    uint32_t env_count;
    struct vec fds;          /* struct wasi_fd, indexed by the guest's number */
    bool openat2_is_missing; /* found out at the first path */
    struct wasi_binding bindings[WASI_FUNCTION_COUNT];
};

/* One call of the guest, for as long as it lasts. */
struct wasi_call {
    struct wasi *wasi;
    uint8_t *memory; /* NULL: the caller has none */
    size_t memory_bytes;
    const union vm_slot *args;
    bool exits; /* set: the guest ends with exit_status */
    int32_t exit_status;
};

#define WASI(name, params, results) enum wasi_errno wasi_##name(struct wasi_call *call);
#include "vm/wasi/wasi.def"

/* ---- guest.c: the guest's memory ---- */

/* More iovecs than the kernel takes in one call are refused, as the kernel does. */
#define WASI_IOVECS_MAX 1024

/* The `size_bytes` at `address`, or NULL where they are not all inside the memory. */
void *wasi_guest_range(const struct wasi_call *call, uint32_t address, uint64_t size_bytes);

/* Copies a path in and terminates it. Refuses one that is too long, holds a NUL, is absolute (EPERM: it points outside)
 * or empty. */
enum wasi_errno wasi_guest_path(const struct wasi_call *call, uint32_t address, uint32_t size_bytes,
                                char path[PATH_MAX]);

/* Copies `count` iovecs in and translates them: those of `iovecs` point into guest memory, each within bounds. */
enum wasi_errno wasi_guest_iovecs(const struct wasi_call *call, uint32_t address, uint32_t count,
                                  struct iovec iovecs[WASI_IOVECS_MAX]);

/* ---- errno.c ---- */

enum wasi_errno wasi_errno_from_host(int host_errno);
/* For the result of a system call: success, or what errno says. */
enum wasi_errno wasi_errno_of(long result);

/* ---- fds.c: the table of descriptors ---- */

#define WASI_RIGHTS_FILE                                                                                               \
    (WASI_RIGHT_FD_DATASYNC | WASI_RIGHT_FD_READ | WASI_RIGHT_FD_SEEK | WASI_RIGHT_FD_FDSTAT_SET_FLAGS |               \
     WASI_RIGHT_FD_SYNC | WASI_RIGHT_FD_TELL | WASI_RIGHT_FD_WRITE | WASI_RIGHT_FD_ADVISE | WASI_RIGHT_FD_ALLOCATE |   \
     WASI_RIGHT_FD_FILESTAT_GET | WASI_RIGHT_FD_FILESTAT_SET_SIZE | WASI_RIGHT_FD_FILESTAT_SET_TIMES |                 \
     WASI_RIGHT_POLL_FD_READWRITE)

#define WASI_RIGHTS_DIRECTORY                                                                                          \
    (WASI_RIGHT_FD_DATASYNC | WASI_RIGHT_FD_FDSTAT_SET_FLAGS | WASI_RIGHT_FD_SYNC | WASI_RIGHT_FD_ADVISE |             \
     WASI_RIGHT_PATH_CREATE_DIRECTORY | WASI_RIGHT_PATH_CREATE_FILE | WASI_RIGHT_PATH_LINK_SOURCE |                    \
     WASI_RIGHT_PATH_LINK_TARGET | WASI_RIGHT_PATH_OPEN | WASI_RIGHT_FD_READDIR | WASI_RIGHT_PATH_READLINK |           \
     WASI_RIGHT_PATH_RENAME_SOURCE | WASI_RIGHT_PATH_RENAME_TARGET | WASI_RIGHT_PATH_FILESTAT_GET |                    \
     WASI_RIGHT_PATH_FILESTAT_SET_SIZE | WASI_RIGHT_PATH_FILESTAT_SET_TIMES | WASI_RIGHT_FD_FILESTAT_GET |             \
     WASI_RIGHT_FD_FILESTAT_SET_TIMES | WASI_RIGHT_PATH_SYMLINK | WASI_RIGHT_PATH_REMOVE_DIRECTORY |                   \
     WASI_RIGHT_PATH_UNLINK_FILE | WASI_RIGHT_POLL_FD_READWRITE)

#define WASI_RIGHTS_SOCKET (WASI_RIGHTS_FILE | WASI_RIGHT_SOCK_SHUTDOWN | WASI_RIGHT_SOCK_ACCEPT)

/* The guest's descriptor `number` where it has all of `rights`, else EBADF or ENOTCAPABLE. Good until an insert. */
enum wasi_errno wasi_fds_find(struct wasi *wasi, uint32_t number, uint64_t rights, struct wasi_fd **found);

/* Takes `host` (on failure too: it is closed) as the lowest free number, with those of the rights that make sense for
 * what it is. */
enum wasi_errno wasi_fds_insert(struct wasi *wasi, int host, uint64_t rights_base, uint64_t rights_inheriting,
                                uint32_t *number);

void wasi_fds_close(struct wasi_fd *fd);

/* ---- files.c ---- */

enum wasi_filetype wasi_filetype_from_mode(mode_t mode);
int wasi_fdflags_to_host(uint32_t fdflags);
struct wasi_abi_filestat wasi_filestat_from_host(const struct stat *status);
/* The two times of a set_times call, as utimensat takes them; EINVAL where the flags contradict each other. */
enum wasi_errno wasi_times_to_host(uint64_t atim_ns, uint64_t mtim_ns, uint32_t fstflags, struct timespec times[2]);

/* ---- clocks.c ---- */

bool wasi_clock_to_host(uint32_t clockid, clockid_t *host);
uint64_t wasi_timestamp_from_host(struct timespec time);
struct timespec wasi_timestamp_to_host(uint64_t when_ns);

/* ---- readdir.c ---- */

void wasi_readdir_destroy(struct wasi_readdir *readdir);

/* ---- resolve.c, walk.c: paths ---- */

/* open(2) beneath `directory`: no component, link or race leads outside it. Returns a host descriptor or a negative
 * errno, -EPERM for a path that leads outside. */
int wasi_resolve_open(struct wasi *wasi, int directory, const char *path, int flags, mode_t mode);

/* The same by a walk of our own, one component at a time. */
int wasi_walk_open(int directory, const char *path, int flags, mode_t mode);

/* The directory that holds the last component of a path, and that component's name, with one slash after it where the
 * path ended so. Close `directory`. */
struct wasi_place {
    int directory;
    const char *name; /* points into `path` */
    char path[PATH_MAX];
};

/* Reads a path from the guest and finds its place beneath the guest's descriptor `number`, which must have `rights`. */
enum wasi_errno wasi_resolve_place(const struct wasi_call *call, uint32_t number, uint64_t rights, uint32_t address,
                                   uint32_t size_bytes, struct wasi_place *place);

#endif
