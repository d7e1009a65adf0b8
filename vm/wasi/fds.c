/* The guest's descriptors.
 *
 * A guest never sees a host descriptor's number: its numbers index a table, lowest free first, as POSIX programs expect
 * (preview 1 only suggests random numbers, and no runtime does that). The table grows only when a descriptor is opened,
 * so the host's RLIMIT_NOFILE bounds it; fd_renumber goes to numbers that are open, so it cannot be made to grow it.
 *
 * Rights are preview 1's, kept though later WASI dropped them: they are what a guest can give up before it runs code
 * that it does not trust, and wasi-libc reads a file's access mode and a terminal's nature out of them. They only ever
 * shrink: path_open takes no more than what the directory lets through, fdstat_set_rights only removes.
 *
 * Standard input, output and error are duplicates, so that a guest that closes them cannot take them from the
 * profiler's messages. A duplicate shares its file status flags with every process that has the file open, the user's
 * shell included: they are put back when the guest closes it.
 */
#include "vm/wasi/internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum wasi_errno wasi_fds_find(struct wasi *wasi, uint32_t number, uint64_t rights, struct wasi_fd **found)
{
    if (number >= wasi->fds.count)
        return WASI_EBADF;
    struct wasi_fd *fd = vec_at(&wasi->fds, number);
    if (fd->host < 0)
        return WASI_EBADF;
    if ((fd->rights_base & rights) != rights)
        return WASI_ENOTCAPABLE;
    *found = fd;
    return WASI_SUCCESS;
}

/* A mode does not tell one kind of socket from another; a descriptor does. */
static enum wasi_filetype filetype_of(int host, mode_t mode)
{
    int type;
    socklen_t size = sizeof type;
    if (S_ISSOCK(mode) && getsockopt(host, SOL_SOCKET, SO_TYPE, &type, &size) == 0 && type == SOCK_DGRAM)
        return WASI_FILETYPE_SOCKET_DGRAM;
    return wasi_filetype_from_mode(mode);
}

/* Which rights mean anything for this file. wasi-libc takes a character device without seek and tell for a terminal. */
static uint64_t rights_that_apply(int host, mode_t mode)
{
    if (S_ISDIR(mode))
        return WASI_RIGHTS_DIRECTORY;
    uint64_t rights = S_ISSOCK(mode) ? WASI_RIGHTS_SOCKET : WASI_RIGHTS_FILE;
    if (isatty(host))
        rights &= ~(WASI_RIGHT_FD_SEEK | WASI_RIGHT_FD_TELL);
    int access = fcntl(host, F_GETFL) & O_ACCMODE;
    if (access == O_RDONLY)
        rights &= ~(WASI_RIGHT_FD_WRITE | WASI_RIGHT_FD_ALLOCATE | WASI_RIGHT_FD_FILESTAT_SET_SIZE);
    else if (access == O_WRONLY)
        rights &= ~WASI_RIGHT_FD_READ;
    return rights;
}

static struct wasi_fd *lowest_free(struct vec *fds, uint32_t *number)
{
    for (size_t i = 0; i < fds->count; i++) {
        struct wasi_fd *fd = vec_at(fds, i);
        if (fd->host < 0) {
            *number = (uint32_t)i;
            return fd;
        }
    }
    *number = (uint32_t)fds->count;
    return vec_push(fds);
}

enum wasi_errno wasi_fds_insert(struct wasi *wasi, int host, uint64_t rights_base, uint64_t rights_inheriting,
                                uint32_t *number)
{
    struct stat status;
    if (fstat(host, &status) < 0) {
        enum wasi_errno error = wasi_errno_from_host(errno);
        close(host);
        return error;
    }
    struct wasi_fd *fd = lowest_free(&wasi->fds, number);
    if (!fd) {
        close(host);
        return WASI_ENOMEM;
    }
    *fd = (struct wasi_fd){
        .host = host,
        .restore_flags = -1,
        .rights_base = rights_base & rights_that_apply(host, status.st_mode),
        .rights_inheriting = rights_inheriting,
        .filetype = (uint8_t)filetype_of(host, status.st_mode),
    };
    return WASI_SUCCESS;
}

void wasi_fds_close(struct wasi_fd *fd)
{
    if (fd->host < 0)
        return;
    if (fd->restore_flags >= 0)
        (void)fcntl(fd->host, F_SETFL, fd->restore_flags);
    close(fd->host);
    free(fd->preopen);
    wasi_readdir_destroy(fd->readdir);
    *fd = (struct wasi_fd){.host = -1};
}

enum wasi_errno wasi_fd_close(struct wasi_call *call)
{
    struct wasi_fd *fd;
    enum wasi_errno error = wasi_fds_find(call->wasi, call->args[0].i32, 0, &fd);
    if (!error)
        wasi_fds_close(fd);
    return error;
}

/* Both numbers must be open: `from` becomes free, and what `to` was is closed. A preopened directory is no exception: a
 * guest may give up or rename its own. */
enum wasi_errno wasi_fd_renumber(struct wasi_call *call)
{
    struct wasi_fd *from;
    struct wasi_fd *to;
    enum wasi_errno error = wasi_fds_find(call->wasi, call->args[0].i32, 0, &from);
    if (!error)
        error = wasi_fds_find(call->wasi, call->args[1].i32, 0, &to);
    if (error || from == to)
        return error;
    wasi_fds_close(to);
    *to = *from;
    *from = (struct wasi_fd){.host = -1};
    return WASI_SUCCESS;
}

static uint32_t fdflags_from_host(int flags)
{
    uint32_t fdflags = 0;
    if (flags & O_APPEND)
        fdflags |= WASI_FDFLAG_APPEND;
    if (flags & O_NONBLOCK)
        fdflags |= WASI_FDFLAG_NONBLOCK;
    if ((flags & O_SYNC) == O_SYNC) /* Linux has no O_RSYNC of its own */
        fdflags |= WASI_FDFLAG_SYNC | WASI_FDFLAG_RSYNC;
    if (flags & O_DSYNC)
        fdflags |= WASI_FDFLAG_DSYNC;
    return fdflags;
}

enum wasi_errno wasi_fd_fdstat_get(struct wasi_call *call)
{
    struct wasi_fd *fd;
    enum wasi_errno error = wasi_fds_find(call->wasi, call->args[0].i32, 0, &fd);
    if (error)
        return error;
    void *out = wasi_guest_range(call, call->args[1].i32, sizeof(struct wasi_abi_fdstat));
    if (!out)
        return WASI_EFAULT;
    int flags = fcntl(fd->host, F_GETFL);
    if (flags < 0)
        return wasi_errno_from_host(errno);
    struct wasi_abi_fdstat fdstat = {
        .filetype = fd->filetype,
        .flags = (uint16_t)fdflags_from_host(flags),
        .rights_base = fd->rights_base,
        .rights_inheriting = fd->rights_inheriting,
    };
    memcpy(out, &fdstat, sizeof fdstat);
    return WASI_SUCCESS;
}

/* Linux changes O_APPEND and O_NONBLOCK of an open file and silently ignores the sync flags, so a wish to change those
 * is refused here. */
enum wasi_errno wasi_fd_fdstat_set_flags(struct wasi_call *call)
{
    struct wasi_fd *fd;
    uint32_t wanted = call->args[1].i32;
    enum wasi_errno error = wasi_fds_find(call->wasi, call->args[0].i32, WASI_RIGHT_FD_FDSTAT_SET_FLAGS, &fd);
    if (error)
        return error;
    if (wanted & ~(uint32_t)WASI_FDFLAG_ALL)
        return WASI_EINVAL;
    int flags = fcntl(fd->host, F_GETFL);
    if (flags < 0)
        return wasi_errno_from_host(errno);
    uint32_t changeable = WASI_FDFLAG_APPEND | WASI_FDFLAG_NONBLOCK;
    if ((wanted ^ fdflags_from_host(flags)) & ~changeable)
        return WASI_ENOTSUP;
    flags &= ~(O_APPEND | O_NONBLOCK);
    return wasi_errno_of(fcntl(fd->host, F_SETFL, flags | wasi_fdflags_to_host(wanted & changeable)));
}

enum wasi_errno wasi_fd_fdstat_set_rights(struct wasi_call *call)
{
    struct wasi_fd *fd;
    enum wasi_errno error = wasi_fds_find(call->wasi, call->args[0].i32, 0, &fd);
    if (error)
        return error;
    uint64_t base = call->args[1].i64;
    uint64_t inheriting = call->args[2].i64;
    if ((base & ~fd->rights_base) || (inheriting & ~fd->rights_inheriting))
        return WASI_ENOTCAPABLE;
    fd->rights_base = base;
    fd->rights_inheriting = inheriting;
    return WASI_SUCCESS;
}

enum wasi_errno wasi_fd_prestat_get(struct wasi_call *call)
{
    struct wasi_fd *fd;
    enum wasi_errno error = wasi_fds_find(call->wasi, call->args[0].i32, 0, &fd);
    if (error)
        return error;
    if (!fd->preopen)
        return WASI_EBADF;
    void *out = wasi_guest_range(call, call->args[1].i32, sizeof(struct wasi_abi_prestat));
    if (!out)
        return WASI_EFAULT;
    struct wasi_abi_prestat prestat = {.tag = 0, .name_len = (uint32_t)strlen(fd->preopen)};
    memcpy(out, &prestat, sizeof prestat);
    return WASI_SUCCESS;
}

enum wasi_errno wasi_fd_prestat_dir_name(struct wasi_call *call)
{
    struct wasi_fd *fd;
    enum wasi_errno error = wasi_fds_find(call->wasi, call->args[0].i32, 0, &fd);
    if (error)
        return error;
    if (!fd->preopen)
        return WASI_EBADF;
    uint32_t capacity = call->args[2].i32;
    size_t name_bytes = strlen(fd->preopen);
    void *out = wasi_guest_range(call, call->args[1].i32, capacity);
    if (!out)
        return WASI_EFAULT;
    if (name_bytes > capacity)
        return WASI_ENAMETOOLONG;
    memcpy(out, fd->preopen, name_bytes);
    return WASI_SUCCESS;
}
