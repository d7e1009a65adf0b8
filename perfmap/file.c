/* The file of a map: opened with care, appended to a line at a time.
 *
 * The name is known in advance and lies in a directory where everybody may write, so whatever is there already may be
 * a trap: a symbolic link, a hard link, somebody else's file, a pipe whose opening would wait. Each is refused. What
 * is left is our own regular file, and then the question is whose records it holds: those of an earlier process that
 * had the same pid, which perf would believe, or those of another engine in this process (or of another copy of this
 * library), which must stay. A process is one pid, so if a descriptor of this process other than ours writes to the
 * file, the records are live; if none does, they are not ours.
 *
 * Rejected: a lock on the file, which no other engine takes and which anybody who can read the file could hold;
 * comparing the file's time with the process's start, which a clock that is set breaks; O_TRUNC, which would act
 * before we have looked. Two copies of the library that open a stale file in the same microseconds may both leave it
 * alone.
 *
 * A line is one write(2) with O_APPEND, which the kernel makes atomic among all writers of the file.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "perfmap/internal.h"

int perfmap_fail(struct perfmap_error *error, int status, const char *format, ...)
{
    if (error) {
        va_list arguments;
        va_start(arguments, format);
        vsnprintf(error->message, sizeof error->message, format, arguments);
        va_end(arguments);
    }
    return status;
}

/* Without /proc nobody else is seen, and the file is taken to be stale. */
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

/* Refuses what is not plainly our own file; empties it where it is stale. */
static int check(int fd, const char *path, bool fresh, struct stat *file, struct perfmap_error *error)
{
    if (fstat(fd, file) != 0)
        return perfmap_fail(error, -errno, "%s: %s", path, strerror(errno));
    if (!S_ISREG(file->st_mode))
        return perfmap_fail(error, -EINVAL, "%s: not a regular file; remove it", path);
    if (file->st_uid != geteuid())
        return perfmap_fail(error, -EPERM, "%s: belongs to user %u; remove it", path, (unsigned)file->st_uid);
    if (file->st_nlink != 1)
        return perfmap_fail(error, -EPERM, "%s: has other hard links; remove it", path);
    if (fresh && file->st_size != 0 && !is_written_elsewhere(fd, file) && ftruncate(fd, 0) != 0)
        return perfmap_fail(error, -errno, "%s: cannot truncate: %s", path, strerror(errno));
    return 0;
}

int perfmap_file_open(const char *directory, pid_t pid, bool fresh, struct stat *file,
                      struct perfmap_error *error)
{
    char path[PATH_MAX];
    if (snprintf(path, sizeof path, "%s/perf-%d.map", directory, (int)pid) >= (int)sizeof path)
        return perfmap_fail(error, -ENAMETOOLONG, "%.80s...: the directory's name is too long", directory);
    /* O_NONBLOCK: opening a pipe must not wait for its reader. */
    int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK, 0644);
    if (fd < 0)
        return errno == ELOOP ? perfmap_fail(error, -ELOOP, "%s: is a symbolic link; remove it", path)
                              : perfmap_fail(error, -errno, "%s: cannot open: %s%s", path, strerror(errno),
                                             errno == EMFILE ? "; raise ulimit -n" : "");
    int status = check(fd, path, fresh, file, error);
    if (status != 0) {
        close(fd);
        return status;
    }
    return fd;
}

int perfmap_file_append(int fd, const char *line, size_t line_bytes)
{
    ssize_t written;
    do
        written = write(fd, line, line_bytes);
    while (written < 0 && errno == EINTR);
    if (written < 0)
        return -errno;
    if ((size_t)written == line_bytes)
        return 0;
    /* The disk or the allowance is full. With O_APPEND the offset is now the end of what was written. */
    struct stat file;
    off_t end = lseek(fd, 0, SEEK_CUR);
    if (fstat(fd, &file) == 0 && file.st_size == end && ftruncate(fd, end - written) != 0)
        return -errno;
    return -ENOSPC;
}
