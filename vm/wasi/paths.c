/* The path_ functions. resolve.c says how a path is kept beneath its directory.
 *
 * A new file's mode is 0666 and a new directory's 0777, less the umask, as for any program: preview 1 has no modes, and
 * these are the guest's files, not Glassbox's.
 */
#include "vm/wasi/internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* ---- open ---- */

#define RIGHTS_THAT_READ (WASI_RIGHT_FD_READ | WASI_RIGHT_FD_READDIR)
#define RIGHTS_THAT_WRITE (WASI_RIGHT_FD_WRITE | WASI_RIGHT_FD_ALLOCATE | WASI_RIGHT_FD_FILESTAT_SET_SIZE)

static int open_flags(uint32_t lookupflags, uint32_t oflags, uint64_t rights, uint32_t fdflags)
{
    int flags = wasi_fdflags_to_host(fdflags);
    if (!(rights & RIGHTS_THAT_WRITE))
        flags |= O_RDONLY;
    else
        flags |= rights & RIGHTS_THAT_READ ? O_RDWR : O_WRONLY;
    if (!(lookupflags & WASI_LOOKUP_SYMLINK_FOLLOW))
        flags |= O_NOFOLLOW;
    if (oflags & WASI_OFLAG_CREAT)
        flags |= O_CREAT;
    if (oflags & WASI_OFLAG_DIRECTORY)
        flags |= O_DIRECTORY;
    if (oflags & WASI_OFLAG_EXCL)
        flags |= O_EXCL;
    if (oflags & WASI_OFLAG_TRUNC)
        flags |= O_TRUNC;
    return flags;
}

/* What the directory must allow for an open with these flags. */
static uint64_t rights_to_open(uint32_t oflags)
{
    return WASI_RIGHT_PATH_OPEN | (oflags & WASI_OFLAG_CREAT ? WASI_RIGHT_PATH_CREATE_FILE : 0) |
           (oflags & WASI_OFLAG_TRUNC ? WASI_RIGHT_PATH_FILESTAT_SET_SIZE : 0);
}

/* (fd, dirflags, path, path_len, oflags, rights_base, rights_inheriting, fdflags, opened) */
enum wasi_errno wasi_path_open(struct wasi_call *call)
{
    uint32_t lookupflags = call->args[1].i32;
    uint32_t oflags = call->args[4].i32;
    uint64_t base = call->args[5].i64;
    uint64_t inheriting = call->args[6].i64;
    uint32_t fdflags = call->args[7].i32;

    struct wasi_fd *directory;
    enum wasi_errno error = wasi_fds_find(call->wasi, call->args[0].i32, rights_to_open(oflags), &directory);
    if (error)
        return error;
    if ((base | inheriting) & ~directory->rights_inheriting)
        return WASI_ENOTCAPABLE;
    if (lookupflags & ~(uint32_t)WASI_LOOKUP_SYMLINK_FOLLOW || oflags & ~(uint32_t)WASI_OFLAG_ALL ||
        fdflags & ~(uint32_t)WASI_FDFLAG_ALL || (oflags & WASI_OFLAG_CREAT && oflags & WASI_OFLAG_DIRECTORY))
        return WASI_EINVAL;
    char path[PATH_MAX];
    error = wasi_guest_path(call, call->args[2].i32, call->args[3].i32, path);
    if (error)
        return error;
    void *number_out = wasi_guest_range(call, call->args[8].i32, sizeof(uint32_t));
    if (!number_out)
        return WASI_EFAULT;

    int host = wasi_resolve_open(call->wasi, directory->host, path, open_flags(lookupflags, oflags, base, fdflags),
                                 oflags & WASI_OFLAG_CREAT ? 0666 : 0);
    if (host < 0)
        return wasi_errno_from_host(-host);
    uint32_t number;
    error = wasi_fds_insert(call->wasi, host, base, inheriting, &number);
    if (!error)
        memcpy(number_out, &number, sizeof number);
    return error;
}

/* ---- what a file is ---- */

/* Opens the file itself, without reading or writing it. Returns a host descriptor, or -1 with `error`. */
static int open_file(struct wasi_call *call, uint32_t number, uint64_t rights, uint32_t lookupflags, uint32_t address,
                     uint32_t size_bytes, enum wasi_errno *error)
{
    struct wasi_fd *directory;
    char path[PATH_MAX];
    *error = wasi_fds_find(call->wasi, number, rights, &directory);
    if (!*error && lookupflags & ~(uint32_t)WASI_LOOKUP_SYMLINK_FOLLOW)
        *error = WASI_EINVAL;
    if (!*error)
        *error = wasi_guest_path(call, address, size_bytes, path);
    if (*error)
        return -1;
    int flags = O_PATH | (lookupflags & WASI_LOOKUP_SYMLINK_FOLLOW ? 0 : O_NOFOLLOW);
    int host = wasi_resolve_open(call->wasi, directory->host, path, flags, 0);
    if (host >= 0)
        return host;
    *error = wasi_errno_from_host(-host);
    return -1;
}

/* (fd, flags, path, path_len, filestat) */
enum wasi_errno wasi_path_filestat_get(struct wasi_call *call)
{
    enum wasi_errno error;
    void *out = wasi_guest_range(call, call->args[4].i32, sizeof(struct wasi_abi_filestat));
    if (!out)
        return WASI_EFAULT;
    int host = open_file(call, call->args[0].i32, WASI_RIGHT_PATH_FILESTAT_GET, call->args[1].i32, call->args[2].i32,
                         call->args[3].i32, &error);
    if (host < 0)
        return error;
    struct stat status;
    error = wasi_errno_of(fstat(host, &status));
    close(host);
    if (!error) {
        struct wasi_abi_filestat filestat = wasi_filestat_from_host(&status);
        memcpy(out, &filestat, sizeof filestat);
    }
    return error;
}

/* (fd, flags, path, path_len, atim, mtim, fst_flags) */
enum wasi_errno wasi_path_filestat_set_times(struct wasi_call *call)
{
    struct timespec times[2];
    enum wasi_errno error = wasi_times_to_host(call->args[4].i64, call->args[5].i64, call->args[6].i32, times);
    if (error)
        return error;
    int host = open_file(call, call->args[0].i32, WASI_RIGHT_PATH_FILESTAT_SET_TIMES, call->args[1].i32,
                         call->args[2].i32, call->args[3].i32, &error);
    if (host < 0)
        return error;
    error = wasi_errno_of(utimensat(host, "", times, AT_EMPTY_PATH));
    close(host);
    return error;
}

/* (fd, path, path_len, buf, buf_len, bufused): a link that is longer than the buffer is cut, as by readlink. */
enum wasi_errno wasi_path_readlink(struct wasi_call *call)
{
    enum wasi_errno error;
    uint32_t capacity = call->args[4].i32;
    char *out = wasi_guest_range(call, call->args[3].i32, capacity);
    void *used_out = wasi_guest_range(call, call->args[5].i32, sizeof(uint32_t));
    if (!out || !used_out)
        return WASI_EFAULT;
    int host =
        open_file(call, call->args[0].i32, WASI_RIGHT_PATH_READLINK, 0, call->args[1].i32, call->args[2].i32, &error);
    if (host < 0)
        return error;
    char target[PATH_MAX];
    ssize_t target_bytes = readlinkat(host, "", target, sizeof target);
    if (target_bytes < 0) /* ENOENT is how readlinkat says "not a link" of an empty path */
        error = errno == ENOENT ? WASI_EINVAL : wasi_errno_from_host(errno);
    close(host);
    if (error)
        return error;
    uint32_t used = (uint32_t)target_bytes < capacity ? (uint32_t)target_bytes : capacity;
    memcpy(out, target, used);
    memcpy(used_out, &used, sizeof used);
    return WASI_SUCCESS;
}

/* ---- names ---- */

static enum wasi_errno remove_name(struct wasi_call *call, uint64_t rights, int flags)
{
    struct wasi_place place;
    enum wasi_errno error =
        wasi_resolve_place(call, call->args[0].i32, rights, call->args[1].i32, call->args[2].i32, &place);
    if (error)
        return error;
    error = wasi_errno_of(unlinkat(place.directory, place.name, flags));
    close(place.directory);
    return error;
}

/* (fd, path, path_len) */
enum wasi_errno wasi_path_unlink_file(struct wasi_call *call)
{
    return remove_name(call, WASI_RIGHT_PATH_UNLINK_FILE, 0);
}

/* (fd, path, path_len) */
enum wasi_errno wasi_path_remove_directory(struct wasi_call *call)
{
    return remove_name(call, WASI_RIGHT_PATH_REMOVE_DIRECTORY, AT_REMOVEDIR);
}

/* (fd, path, path_len) */
enum wasi_errno wasi_path_create_directory(struct wasi_call *call)
{
    struct wasi_place place;
    enum wasi_errno error = wasi_resolve_place(call, call->args[0].i32, WASI_RIGHT_PATH_CREATE_DIRECTORY,
                                               call->args[1].i32, call->args[2].i32, &place);
    if (error)
        return error;
    error = wasi_errno_of(mkdirat(place.directory, place.name, 0777));
    close(place.directory);
    return error;
}

/* (old_path, old_path_len, fd, new_path, new_path_len). An absolute target could only lead outside: refused. A relative
 * one that leads outside is refused when it is followed, since where it leads depends on where it then is. */
enum wasi_errno wasi_path_symlink(struct wasi_call *call)
{
    struct wasi_place place;
    char target[PATH_MAX];
    enum wasi_errno error = wasi_guest_path(call, call->args[0].i32, call->args[1].i32, target);
    if (!error)
        error = wasi_resolve_place(call, call->args[2].i32, WASI_RIGHT_PATH_SYMLINK, call->args[3].i32,
                                   call->args[4].i32, &place);
    if (error)
        return error;
    error = wasi_errno_of(symlinkat(target, place.directory, place.name));
    close(place.directory);
    return error;
}

/* (fd, old_path, old_path_len, new_fd, new_path, new_path_len). The two directories may differ. */
enum wasi_errno wasi_path_rename(struct wasi_call *call)
{
    struct wasi_place from;
    struct wasi_place to;
    enum wasi_errno error = wasi_resolve_place(call, call->args[0].i32, WASI_RIGHT_PATH_RENAME_SOURCE,
                                               call->args[1].i32, call->args[2].i32, &from);
    if (error)
        return error;
    error = wasi_resolve_place(call, call->args[3].i32, WASI_RIGHT_PATH_RENAME_TARGET, call->args[4].i32,
                               call->args[5].i32, &to);
    if (!error) {
        error = wasi_errno_of(renameat(from.directory, from.name, to.directory, to.name));
        close(to.directory);
    }
    close(from.directory);
    return error;
}

/* (old_fd, old_flags, old_path, old_path_len, new_fd, new_path, new_path_len)
 *
 * The old file is opened and the descriptor linked through its name in /proc, because linking a descriptor directly
 * asks for a privilege. Giving linkat the old name instead would follow a link behind a slash at its end. */
enum wasi_errno wasi_path_link(struct wasi_call *call)
{
    enum wasi_errno error;
    int old = open_file(call, call->args[0].i32, WASI_RIGHT_PATH_LINK_SOURCE, call->args[1].i32, call->args[2].i32,
                        call->args[3].i32, &error);
    if (old < 0)
        return error;
    struct wasi_place place;
    error = wasi_resolve_place(call, call->args[4].i32, WASI_RIGHT_PATH_LINK_TARGET, call->args[5].i32,
                               call->args[6].i32, &place);
    if (!error) {
        char old_name[sizeof "/proc/self/fd/" + 10];
        snprintf(old_name, sizeof old_name, "/proc/self/fd/%d", old);
        error = wasi_errno_of(linkat(AT_FDCWD, old_name, place.directory, place.name, AT_SYMLINK_FOLLOW));
        close(place.directory);
    }
    close(old);
    return error;
}
