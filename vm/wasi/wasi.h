/* wasi: WASI preview 1 for guests of Glassbox: arguments, environment, files beneath preopened directories, clocks,
 * random bytes, polling, inherited sockets. Specification: WASI snapshot_preview1 (witx); what this implementation
 * chose where the specification is silent stands in docs/wasi.md.
 *
 *     struct wasi *wasi = wasi_create(&err);
 *     wasi_add_arg(wasi, "program", &err);
 *     wasi_preopen_dir(wasi, "/srv/data", "/data", &err);
 *     struct vm_func *func = wasi_func(wasi, store, "fd_write", 8, &type, &err);   // for each import
 *     ... vm_instance_create(), vm_call(_start) ...
 *     vm_store_destroy(store);
 *     wasi_destroy(wasi);
 *
 * A struct wasi is one guest process: its descriptors, arguments and environment. It outlives the stores that hold its
 * functions, and is used by one thread at a time. Nothing here prints, exits or changes how the host process treats
 * signals; a host that wants its guest to see EPIPE instead of dying with it ignores SIGPIPE.
 *
 * A host function of this room needs up to 40 KiB of native stack.
 */
#ifndef GLASSBOX_VM_WASI_WASI_H
#define GLASSBOX_VM_WASI_WASI_H

#include <stddef.h>

#include "base/err.h"
#include "vm/glassbox.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The module name under which guests import these functions. */
#define WASI_MODULE "wasi_snapshot_preview1"

struct wasi;

/* A guest without arguments, environment or directories, whose descriptors 0, 1 and 2 are duplicates of the process's
 * own (one that the process does not have, the guest does not have either). NULL: `err` says why. */
struct wasi *wasi_create(struct err *err);

/* Closes every descriptor of the guest. Flags that the guest changed on an inherited open file (O_NONBLOCK, O_APPEND,
 * which every process that shares it sees) are put back. NULL is allowed. */
void wasi_destroy(struct wasi *wasi);

/* Appends one argument; the first is the program's name. Copied. */
int wasi_add_arg(struct wasi *wasi, const char *arg, struct err *err) __attribute__((warn_unused_result));

/* Appends one "NAME=VALUE". Copied; a name given twice stands there twice. */
int wasi_add_env(struct wasi *wasi, const char *variable, struct err *err) __attribute__((warn_unused_result));

/* Gives the guest the directory `host_path` and all beneath it, under the name `guest_path` (copied), as the next free
 * descriptor. */
int wasi_preopen_dir(struct wasi *wasi, const char *host_path, const char *guest_path, struct err *err)
    __attribute__((warn_unused_result));

/* Gives the guest a duplicate of `host_fd`, such as a listening socket, as the next free descriptor. */
int wasi_inherit_fd(struct wasi *wasi, int host_fd, struct err *err) __attribute__((warn_unused_result));

/* The host function for one import of WASI_MODULE. NULL: `err` says why, unlinkable where there is no function of that
 * name or it has another type, resource where memory is exhausted. */
struct vm_func *wasi_func(struct wasi *wasi, struct vm_store *store, const char *name, size_t name_bytes,
                          const struct vm_functype *type, struct err *err);

#ifdef __cplusplus
}
#endif
#endif
