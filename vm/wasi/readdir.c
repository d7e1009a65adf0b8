/* fd_readdir: a directory's entries, from any cookie on.
 *
 * Behind a cookie stands the kernel's d_off, the position after an entry, which stays good while the directory changes
 * as far as the file system can do that. On ext4 it is a hash of 63 bits, and a guest's telldir returns a long of 32.
 * So a cookie is the number of the entry in the listing, and a table holds the position of each; a directory of more
 * than POSITIONS_MAX entries has cookies that hold the position itself from there on, marked by COOKIE_IS_POSITION.
 *
 * Going back to a position is what file systems do worst: tmpfs before Linux 6.6 counts entries, so a guest that reads
 * some, deletes them and goes on from its cookie would miss as many. And a guest does go back each time, for the entry
 * that did not fit its buffer. So what was read ahead is kept, and as long as the guest goes on where it stopped, the
 * kernel is never asked to seek. Cookie 0 always begins anew.
 *
 * The last entry is cut where the buffer ends; that the buffer is full is how the guest knows of more.
 */
#include "vm/wasi/internal.h"

#include <dirent.h>
#include <errno.h>
#include <stdalign.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define READ_AHEAD_BYTES 4096
#define POSITIONS_MAX 65536
#define COOKIE_IS_POSITION (UINT64_C(1) << 63)

struct wasi_readdir {
    uint64_t cookie;      /* of the entry at `begin`, or of the one that comes next where there is none */
    struct vec positions; /* of int64_t: where cookie 1 and the following ones lead */
    size_t begin;         /* what is left of `entries` */
    size_t end;
    alignas(struct dirent64) char entries[READ_AHEAD_BYTES];
};

void wasi_readdir_destroy(struct wasi_readdir *readdir)
{
    if (readdir)
        vec_fini(&readdir->positions);
    free(readdir);
}

static enum wasi_filetype filetype_from_dirent(unsigned char type)
{
    return wasi_filetype_from_mode(DTTOIF(type));
}

static enum wasi_errno find_position(const struct wasi_readdir *readdir, uint64_t cookie, int64_t *position)
{
    if (cookie == 0)
        *position = 0;
    else if (cookie & COOKIE_IS_POSITION)
        *position = (int64_t)(cookie & ~COOKIE_IS_POSITION);
    else if (cookie <= readdir->positions.count)
        *position = *(int64_t *)vec_at(&readdir->positions, cookie - 1);
    else
        return WASI_EINVAL;
    return WASI_SUCCESS;
}

/* The cookie of what comes after `entry`, which is the one at readdir->cookie. */
static enum wasi_errno make_cookie(struct wasi_readdir *readdir, const struct dirent64 *entry, uint64_t *cookie)
{
    uint64_t number = readdir->cookie;
    if (number >= POSITIONS_MAX) {
        *cookie = (uint64_t)entry->d_off | COOKIE_IS_POSITION;
        return WASI_SUCCESS;
    }
    if (number == readdir->positions.count && !vec_push(&readdir->positions))
        return WASI_ENOMEM;
    *(int64_t *)vec_at(&readdir->positions, number) = entry->d_off;
    *cookie = number + 1;
    return WASI_SUCCESS;
}

/* Makes the read-ahead begin at `cookie`. */
static enum wasi_errno go_to(struct wasi_fd *fd, uint64_t cookie)
{
    if (!fd->readdir) {
        fd->readdir = calloc(1, sizeof *fd->readdir);
        if (!fd->readdir)
            return WASI_ENOMEM;
        fd->readdir->positions = VEC_INIT(sizeof(int64_t));
    } else if (cookie != 0 && cookie == fd->readdir->cookie) {
        return WASI_SUCCESS;
    }
    int64_t position;
    enum wasi_errno error = find_position(fd->readdir, cookie, &position);
    if (error)
        return error;
    if (lseek(fd->host, position, SEEK_SET) < 0)
        return wasi_errno_from_host(errno);
    fd->readdir->begin = fd->readdir->end = 0;
    fd->readdir->cookie = cookie;
    return WASI_SUCCESS;
}

/* The next entry; NULL at the directory's end. */
static enum wasi_errno peek(struct wasi_fd *fd, const struct dirent64 **entry)
{
    struct wasi_readdir *readdir = fd->readdir;
    *entry = NULL;
    if (readdir->begin == readdir->end) {
        ssize_t got = getdents64(fd->host, readdir->entries, sizeof readdir->entries);
        if (got < 0)
            return wasi_errno_from_host(errno);
        readdir->begin = 0;
        readdir->end = (size_t)got;
    }
    if (readdir->begin < readdir->end)
        *entry = (const struct dirent64 *)(readdir->entries + readdir->begin);
    return WASI_SUCCESS;
}

/* As much of `source` as fits; returns how much did. */
static size_t append(uint8_t *out, size_t capacity, const void *source, size_t size_bytes)
{
    size_t fits = size_bytes < capacity ? size_bytes : capacity;
    memcpy(out, source, fits);
    return fits;
}

enum wasi_errno wasi_fd_readdir(struct wasi_call *call)
{
    struct wasi_fd *fd;
    enum wasi_errno error = wasi_fds_find(call->wasi, call->args[0].i32, WASI_RIGHT_FD_READDIR, &fd);
    if (error)
        return error;
    uint32_t capacity = call->args[2].i32;
    uint8_t *out = wasi_guest_range(call, call->args[1].i32, capacity);
    void *used_out = wasi_guest_range(call, call->args[4].i32, sizeof(uint32_t));
    if (!out || !used_out)
        return WASI_EFAULT;

    uint32_t used = 0;
    error = go_to(fd, call->args[3].i64);
    while (!error && used < capacity) {
        const struct dirent64 *entry;
        uint64_t next = 0;
        error = peek(fd, &entry);
        if (!error && entry)
            error = make_cookie(fd->readdir, entry, &next);
        if (error || !entry)
            break;
        size_t name_bytes = strlen(entry->d_name);
        struct wasi_abi_dirent dirent = {
            .d_next = next,
            .d_ino = entry->d_ino,
            .d_namlen = (uint32_t)name_bytes,
            .d_type = filetype_from_dirent(entry->d_type),
        };
        size_t written = append(out + used, capacity - used, &dirent, sizeof dirent);
        written += append(out + used + written, capacity - used - written, entry->d_name, name_bytes);
        used += (uint32_t)written;
        if (written < sizeof dirent + name_bytes)
            break;
        fd->readdir->begin += entry->d_reclen;
        fd->readdir->cookie = next;
    }
    if (!error)
        memcpy(used_out, &used, sizeof used);
    return error;
}
