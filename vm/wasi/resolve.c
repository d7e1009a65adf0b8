/* Where a guest's path leads: beneath the directory it was given, or nowhere.
 *
 * The kernel resolves: openat2(RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS) follows `..` and symbolic links, refuses what
 * leads out, and cannot be raced, since it holds the directories that it walks. It only opens, so everything else is
 * done in two steps:
 *
 *   - what concerns a file (its status, its times, where a link points) opens it with O_PATH and works on the
 *     descriptor;
 *   - what concerns a name (create, remove, rename, link) opens the directory that holds the name, and uses the *at
 *     call with that one component. Such calls never follow a last component; nor may that be `..`.
 *
 * Where the kernel has no openat2 (before 5.6, under emulators and filters that do not know it), walk.c resolves one
 * component at a time with the same guarantee and more system calls. Refusing would be simpler, but would leave arm64
 * under qemu-user and gVisor without files.
 *
 * Rejected: comparing realpath() with the directory's, which any rename defeats.
 */
#include "vm/wasi/internal.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* openat2 gives EAGAIN when a rename anywhere happened while it followed `..`. */
#define ATTEMPTS 64

static int open_beneath(int directory, const char *path, int flags, mode_t mode)
{
    struct open_how how = {
        .flags = (uint64_t)flags,
        .mode = mode,
        .resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS,
    };
    for (int attempt = 0; attempt < ATTEMPTS; attempt++) {
        long host = TEMP_FAILURE_RETRY(syscall(SYS_openat2, directory, path, &how, sizeof how));
        if (host >= 0)
            return (int)host;
        if (errno != EAGAIN)
            break;
    }
    return errno == EXDEV ? -EPERM : -errno; /* EXDEV: the path leads out */
}

int wasi_resolve_open(struct wasi *wasi, int directory, const char *path, int flags, mode_t mode)
{
    flags |= O_CLOEXEC | (flags & O_PATH ? 0 : O_NOCTTY);
    if (!wasi->openat2_is_missing) {
        int host = open_beneath(directory, path, flags, mode);
        if (host != -ENOSYS)
            return host;
        wasi->openat2_is_missing = true;
    }
    return wasi_walk_open(directory, path, flags, mode);
}

/* Cuts `path` in front of its last component, which it returns; what is before it stays in `path` ("" for none). Of
 * several slashes at the end one is kept, since it asks for a directory. */
static char *split(char *path)
{
    size_t length = strlen(path);
    while (length > 1 && path[length - 1] == '/' && path[length - 2] == '/')
        path[--length] = 0;
    size_t begin = length - 1; /* a slash at the end does not separate */
    while (begin > 0 && path[begin - 1] != '/')
        begin--;
    if (begin > 0)
        path[begin - 1] = 0;
    return path + begin;
}

enum wasi_errno wasi_resolve_place(const struct wasi_call *call, uint32_t number, uint64_t rights, uint32_t address,
                                   uint32_t size_bytes, struct wasi_place *place)
{
    struct wasi_fd *fd;
    enum wasi_errno error = wasi_fds_find(call->wasi, number, rights, &fd);
    if (!error)
        error = wasi_guest_path(call, address, size_bytes, place->path);
    if (error)
        return error;
    place->name = split(place->path);
    if (strcmp(place->name, "..") == 0 || strcmp(place->name, "../") == 0)
        return WASI_EINVAL;
    const char *parent = place->name == place->path ? "." : place->path;
    place->directory = wasi_resolve_open(call->wasi, fd->host, parent, O_PATH | O_DIRECTORY, 0);
    return place->directory < 0 ? wasi_errno_from_host(-place->directory) : WASI_SUCCESS;
}
