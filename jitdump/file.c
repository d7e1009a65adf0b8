/* The file of a dump: opened with care, announced to perf, appended to in whole records.
 *
 * The name is known in advance, so whatever is there already may be a trap, or not ours: a symbolic link, a hard
 * link, another user's file, a pipe. Each is refused. Our own regular file is emptied, since it is what an earlier
 * process with the same pid left; unless another descriptor of this process writes to it, which means that another
 * engine (or another copy of this library) records there. A dump cannot be shared with somebody whose offsets and
 * code indices we do not know, so that is refused too, where others truncate it (wasmtime#6024, #11862).
 *
 * perf learns of a dump from its mapping, and only from one that is executable. The mapping is never undone: perf
 * takes a second one for a second dump and would read everything twice. PROT_READ belongs to it: without, some
 * kernels' perf events lack the file's name (WebKit#61710).
 *
 * Records are written at an offset that we keep, so what a full disk cut short is overwritten or cut off, and never
 * read.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "jitdump/internal.h"

int jitdump_fail(struct jitdump_error *error, int status, const char *format, ...)
{
    if (error) {
        va_list arguments;
        va_start(arguments, format);
        vsnprintf(error->message, sizeof error->message, format, arguments);
        va_end(arguments);
    }
    return status;
}

/* Without /proc nobody else is seen. */
static bool is_written_elsewhere(int fd, const struct stat *file)
{
    DIR *descriptors = opendir("/proc/self/fd");
    if (!descriptors)
        return false;
    bool found = false;
    for (struct dirent *entry; !found && (entry = readdir(descriptors));) {
        int other = atoi(entry->d_name); /* "." and ".." read as 0, which is as good a descriptor as any to ask */
        struct stat status;
        found = other != fd && fstat(other, &status) == 0 && status.st_dev == file->st_dev &&
                status.st_ino == file->st_ino && (fcntl(other, F_GETFL) & O_ACCMODE) != O_RDONLY;
    }
    closedir(descriptors);
    return found;
}

/* Refuses what is not plainly our own file, and empties it. */
static int check(int fd, const char *path, struct stat *file, struct jitdump_error *error)
{
    if (fstat(fd, file) != 0)
        return jitdump_fail(error, -errno, "%s: %s", path, strerror(errno));
    if (!S_ISREG(file->st_mode))
        return jitdump_fail(error, -EINVAL, "%s: not a regular file; remove it", path);
    if (file->st_uid != geteuid())
        return jitdump_fail(error, -EPERM, "%s: belongs to user %u; remove it", path, (unsigned)file->st_uid);
    if (file->st_nlink != 1)
        return jitdump_fail(error, -EPERM, "%s: has other hard links; remove it", path);
    if (is_written_elsewhere(fd, file))
        return jitdump_fail(error, -EBUSY, "%s: somebody else in this process is writing it; use another directory",
                            path);
    if (ftruncate(fd, 0) != 0)
        return jitdump_fail(error, -errno, "%s: cannot truncate: %s", path, strerror(errno));
    return 0;
}

/* "DIRECTORY/jit-PID.dump", or false where PATH_MAX bytes do not hold it. */
static bool make_path(char path[PATH_MAX], const char *directory, pid_t pid)
{
    return snprintf(path, PATH_MAX, "%s/jit-%d.dump", directory, (int)pid) < PATH_MAX;
}

int jitdump_file_open(const char *directory, pid_t pid, struct stat *file, struct jitdump_error *error)
{
    char path[PATH_MAX];
    if (!make_path(path, directory, pid))
        return jitdump_fail(error, -ENAMETOOLONG, "%.80s...: the directory's name is too long", directory);
    /* O_NONBLOCK: opening a pipe must not wait for its other end. */
    int fd = open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK, 0600);
    if (fd < 0)
        return errno == ELOOP ? jitdump_fail(error, -ELOOP, "%s: is a symbolic link; remove it", path)
                              : jitdump_fail(error, -errno, "%s: cannot open: %s%s", path, strerror(errno),
                                             errno == EMFILE ? "; raise ulimit -n" : "");
    int status = check(fd, path, file, error);
    if (status != 0) {
        close(fd);
        return status;
    }
    return fd;
}

int jitdump_file_announce(int fd, const char *directory, pid_t pid, struct jitdump_error *error)
{
    void *marker = mmap(NULL, (size_t)sysconf(_SC_PAGESIZE), PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
    if (marker != MAP_FAILED)
        return 0;
    int failure = errno;
    char path[PATH_MAX];
    make_path(path, directory, pid);
    unlink(path);
    if (failure == EPERM)
        return jitdump_fail(error, -EPERM, "%s: cannot be mapped executable, so perf would not learn of it: its file "
                            "system is mounted noexec; use another directory", path);
    return jitdump_fail(error, -failure, "%s: cannot be mapped executable, so perf would not learn of it: %s", path,
                        strerror(failure));
}

int jitdump_file_append(int fd, uint64_t *end_bytes, const struct jitdump_bytes *bytes)
{
    for (size_t done = 0; done < bytes->used;) {
        ssize_t written = pwrite(fd, bytes->data + done, bytes->used - done, (off_t)(*end_bytes + done));
        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0) {
            int status = written < 0 ? -errno : -ENOSPC;
            if (done && ftruncate(fd, (off_t)*end_bytes) != 0)
                return -errno; /* a reader still finds whole records and then a cut one */
            return status;
        }
        done += (size_t)written;
    }
    *end_bytes += bytes->used;
    return 0;
}
