/* Calls on an open file: reading, writing, seeking, its size, times and status.
 *
 * Data moves by readv and writev straight from and to guest memory; there is no buffer in between. The kernel moves at
 * most 2 GiB a call, so every count fits the guest's 32 bits. A call that a signal interrupts (a profiler's timer,
 * usually) is made again: preview 1 has no signals, and guests do not expect EINTR.
 *
 * Offsets and sizes of 2^63 and more are what the kernel sees as negative and refuses.
 */
#include "vm/wasi/internal.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

/* ---- conversions ---- */

enum wasi_filetype wasi_filetype_from_mode(mode_t mode)
{
    switch (mode & S_IFMT) {
    case S_IFBLK:
        return WASI_FILETYPE_BLOCK_DEVICE;
    case S_IFCHR:
        return WASI_FILETYPE_CHARACTER_DEVICE;
    case S_IFDIR:
        return WASI_FILETYPE_DIRECTORY;
    case S_IFREG:
        return WASI_FILETYPE_REGULAR_FILE;
    case S_IFSOCK:
        return WASI_FILETYPE_SOCKET_STREAM;
    case S_IFLNK:
        return WASI_FILETYPE_SYMBOLIC_LINK;
    default: /* a FIFO has no number in preview 1 */
        return WASI_FILETYPE_UNKNOWN;
    }
}

int wasi_fdflags_to_host(uint32_t fdflags)
{
    int flags = 0;
    if (fdflags & WASI_FDFLAG_APPEND)
        flags |= O_APPEND;
    if (fdflags & WASI_FDFLAG_DSYNC)
        flags |= O_DSYNC;
    if (fdflags & WASI_FDFLAG_NONBLOCK)
        flags |= O_NONBLOCK;
    if (fdflags & (WASI_FDFLAG_RSYNC | WASI_FDFLAG_SYNC))
        flags |= O_SYNC;
    return flags;
}

struct wasi_abi_filestat wasi_filestat_from_host(const struct stat *status)
{
    return (struct wasi_abi_filestat){
        .dev = status->st_dev,
        .ino = status->st_ino,
        .filetype = wasi_filetype_from_mode(status->st_mode),
        .nlink = status->st_nlink,
        .size = (uint64_t)status->st_size,
        .atim = wasi_timestamp_from_host(status->st_atim),
        .mtim = wasi_timestamp_from_host(status->st_mtim),
        .ctim = wasi_timestamp_from_host(status->st_ctim),
    };
}

static enum wasi_errno time_to_host(uint64_t when_ns, bool is_set, bool is_now, struct timespec *time)
{
    if (is_set && is_now)
        return WASI_EINVAL;
    if (is_set)
        *time = wasi_timestamp_to_host(when_ns);
    else
        *time = (struct timespec){.tv_nsec = is_now ? UTIME_NOW : UTIME_OMIT};
    return WASI_SUCCESS;
}

enum wasi_errno wasi_times_to_host(uint64_t atim_ns, uint64_t mtim_ns, uint32_t fstflags, struct timespec times[2])
{
    if (fstflags & ~(uint32_t)WASI_FST_ALL)
        return WASI_EINVAL;
    enum wasi_errno error = time_to_host(atim_ns, fstflags & WASI_FST_ATIM, fstflags & WASI_FST_ATIM_NOW, &times[0]);
    if (error)
        return error;
    return time_to_host(mtim_ns, fstflags & WASI_FST_MTIM, fstflags & WASI_FST_MTIM_NOW, &times[1]);
}

/* ---- reading and writing ---- */

/* -1: at the descriptor's own position. */
typedef ssize_t (*transfer_fn)(int host, const struct iovec *iovecs, int count, off_t offset);

static ssize_t read_here(int host, const struct iovec *iovecs, int count, off_t offset)
{
    return readv(host, iovecs, count);
}

static ssize_t write_here(int host, const struct iovec *iovecs, int count, off_t offset)
{
    return writev(host, iovecs, count);
}

/* fd_read and fd_write (fd, iovs, iovs_len, nwritten), and fd_pread and fd_pwrite (fd, iovs, iovs_len, offset,
 * nwritten). */
static enum wasi_errno transfer(struct wasi_call *call, uint64_t rights, transfer_fn run, uint64_t offset,
                                uint32_t count_address)
{
    struct wasi_fd *fd;
    enum wasi_errno error = wasi_fds_find(call->wasi, call->args[0].i32, rights, &fd);
    if (error)
        return error;
    struct iovec iovecs[WASI_IOVECS_MAX];
    uint32_t count = call->args[2].i32;
    error = wasi_guest_iovecs(call, call->args[1].i32, count, iovecs);
    if (error)
        return error;
    void *count_out = wasi_guest_range(call, count_address, sizeof(uint32_t));
    if (!count_out)
        return WASI_EFAULT;
    ssize_t moved = TEMP_FAILURE_RETRY(run(fd->host, iovecs, (int)count, (off_t)offset));
    if (moved < 0)
        return wasi_errno_from_host(errno);
    uint32_t moved_bytes = (uint32_t)moved;
    memcpy(count_out, &moved_bytes, sizeof moved_bytes);
    return WASI_SUCCESS;
}

enum wasi_errno wasi_fd_read(struct wasi_call *call)
{
    return transfer(call, WASI_RIGHT_FD_READ, read_here, 0, call->args[3].i32);
}

enum wasi_errno wasi_fd_write(struct wasi_call *call)
{
    return transfer(call, WASI_RIGHT_FD_WRITE, write_here, 0, call->args[3].i32);
}

enum wasi_errno wasi_fd_pread(struct wasi_call *call)
{
    return transfer(call, WASI_RIGHT_FD_READ | WASI_RIGHT_FD_SEEK, preadv, call->args[3].i64, call->args[4].i32);
}

enum wasi_errno wasi_fd_pwrite(struct wasi_call *call)
{
    return transfer(call, WASI_RIGHT_FD_WRITE | WASI_RIGHT_FD_SEEK, pwritev, call->args[3].i64, call->args[4].i32);
}

/* ---- position ---- */

/* The right to seek implies the right to tell. */
static enum wasi_errno seek(struct wasi_call *call, uint64_t offset, int whence, uint32_t address)
{
    struct wasi_fd *fd;
    enum wasi_errno error = wasi_fds_find(call->wasi, call->args[0].i32, 0, &fd);
    if (error)
        return error;
    bool only_tells = offset == 0 && whence == SEEK_CUR;
    if (!(fd->rights_base & (WASI_RIGHT_FD_SEEK | (only_tells ? WASI_RIGHT_FD_TELL : 0))))
        return WASI_ENOTCAPABLE;
    void *out = wasi_guest_range(call, address, sizeof(uint64_t));
    if (!out)
        return WASI_EFAULT;
    off_t position = lseek(fd->host, (off_t)offset, whence);
    if (position < 0)
        return wasi_errno_from_host(errno);
    memcpy(out, &position, sizeof position);
    return WASI_SUCCESS;
}

enum wasi_errno wasi_fd_seek(struct wasi_call *call)
{
    static const int whences[] = {
        [WASI_WHENCE_SET] = SEEK_SET, [WASI_WHENCE_CUR] = SEEK_CUR, [WASI_WHENCE_END] = SEEK_END};
    uint32_t whence = call->args[2].i32;
    if (whence > WASI_WHENCE_END)
        return WASI_EINVAL;
    return seek(call, call->args[1].i64, whences[whence], call->args[3].i32);
}

enum wasi_errno wasi_fd_tell(struct wasi_call *call)
{
    return seek(call, 0, SEEK_CUR, call->args[1].i32);
}

/* ---- what a file is ---- */

enum wasi_errno wasi_fd_filestat_get(struct wasi_call *call)
{
    struct wasi_fd *fd;
    enum wasi_errno error = wasi_fds_find(call->wasi, call->args[0].i32, WASI_RIGHT_FD_FILESTAT_GET, &fd);
    if (error)
        return error;
    void *out = wasi_guest_range(call, call->args[1].i32, sizeof(struct wasi_abi_filestat));
    if (!out)
        return WASI_EFAULT;
    struct stat status;
    if (fstat(fd->host, &status) < 0)
        return wasi_errno_from_host(errno);
    struct wasi_abi_filestat filestat = wasi_filestat_from_host(&status);
    filestat.filetype = fd->filetype;
    memcpy(out, &filestat, sizeof filestat);
    return WASI_SUCCESS;
}

enum wasi_errno wasi_fd_filestat_set_size(struct wasi_call *call)
{
    struct wasi_fd *fd;
    enum wasi_errno error = wasi_fds_find(call->wasi, call->args[0].i32, WASI_RIGHT_FD_FILESTAT_SET_SIZE, &fd);
    return error ? error : wasi_errno_of(TEMP_FAILURE_RETRY(ftruncate(fd->host, (off_t)call->args[1].i64)));
}

enum wasi_errno wasi_fd_filestat_set_times(struct wasi_call *call)
{
    struct wasi_fd *fd;
    struct timespec times[2];
    enum wasi_errno error = wasi_fds_find(call->wasi, call->args[0].i32, WASI_RIGHT_FD_FILESTAT_SET_TIMES, &fd);
    if (!error)
        error = wasi_times_to_host(call->args[1].i64, call->args[2].i64, call->args[3].i32, times);
    return error ? error : wasi_errno_of(futimens(fd->host, times));
}

/* ---- storage ---- */

enum wasi_errno wasi_fd_advise(struct wasi_call *call)
{
    static const int advices[] = {POSIX_FADV_NORMAL,   POSIX_FADV_SEQUENTIAL, POSIX_FADV_RANDOM,
                                  POSIX_FADV_WILLNEED, POSIX_FADV_DONTNEED,   POSIX_FADV_NOREUSE};
    struct wasi_fd *fd;
    enum wasi_errno error = wasi_fds_find(call->wasi, call->args[0].i32, WASI_RIGHT_FD_ADVISE, &fd);
    if (error)
        return error;
    uint64_t offset = call->args[1].i64;
    uint64_t size_bytes = call->args[2].i64;
    uint32_t advice = call->args[3].i32;
    if (advice >= sizeof advices / sizeof advices[0] || offset > INT64_MAX || size_bytes > INT64_MAX)
        return WASI_EINVAL;
    int host_error = posix_fadvise(fd->host, (off_t)offset, (off_t)size_bytes, advices[advice]);
    return host_error ? wasi_errno_from_host(host_error) : WASI_SUCCESS;
}

enum wasi_errno wasi_fd_allocate(struct wasi_call *call)
{
    struct wasi_fd *fd;
    enum wasi_errno error = wasi_fds_find(call->wasi, call->args[0].i32, WASI_RIGHT_FD_ALLOCATE, &fd);
    if (error)
        return error;
    off_t offset = (off_t)call->args[1].i64;
    off_t size_bytes = (off_t)call->args[2].i64;
    return wasi_errno_of(TEMP_FAILURE_RETRY(fallocate(fd->host, 0, offset, size_bytes)));
}

enum wasi_errno wasi_fd_datasync(struct wasi_call *call)
{
    struct wasi_fd *fd;
    enum wasi_errno error = wasi_fds_find(call->wasi, call->args[0].i32, WASI_RIGHT_FD_DATASYNC, &fd);
    return error ? error : wasi_errno_of(TEMP_FAILURE_RETRY(fdatasync(fd->host)));
}

enum wasi_errno wasi_fd_sync(struct wasi_call *call)
{
    struct wasi_fd *fd;
    enum wasi_errno error = wasi_fds_find(call->wasi, call->args[0].i32, WASI_RIGHT_FD_SYNC, &fd);
    return error ? error : wasi_errno_of(TEMP_FAILURE_RETRY(fsync(fd->host)));
}
