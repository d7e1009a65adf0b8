/* libperfmap: who may write to which map, and when.
 *
 *     handle ──┐
 *     handle ──┼── file (directory, pid, descriptor) ── perf-PID.map
 *     handle ──┘        all files of the process hang on one list
 *
 * perf asks for one file a process, but a process may hold several engines that know nothing of one another, several
 * threads, and it may fork. So the file belongs to the process: a list, the only mutable global, holds one entry for
 * each directory that was ever opened, and never loses one, because an engine that opens after another has closed
 * must still append. Handles are what the engines hold. They differ only in whether they have already been told of a
 * failure.
 *
 * One mutex guards all of it, also while a line is written: the write is most of the time anyway, and a line that a
 * full disk cut short can only be taken back while no other is appended.
 *
 * fork: an entry remembers the pid that opened it. Whoever adds under another pid is a child; it drops the
 * descriptor, which is its parent's, and opens its own. Since a thread that exists only in the parent may have held
 * the mutex, a fork handler makes it anew in the child. Taking the lock around fork instead would make every fork
 * wait for a slow disk. What the mutex guards is whole at every instruction that matters: an entry is complete before
 * it is linked, and is never unlinked.
 *
 * Records are not buffered: 300,000 of them take well under a second, and the last ones before a kill are often the
 * ones that matter.
 */
#include "perfmap/perfmap.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "perfmap/internal.h"

struct map_file {
    struct map_file *next;
    char *directory; /* absolute, so that a child finds it after chdir */
    pid_t pid;       /* who opened fd; 0: nobody yet */
    int fd;          /* -1: closed */
    dev_t dev;       /* what fd was when it was opened */
    ino_t ino;
    size_t handles;
};

struct perfmap {
    struct map_file *file;
    bool is_off; /* has failed and said so */
};

static struct {
    pthread_mutex_t lock;
    bool has_fork_handler;
    struct map_file *files;
} process = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void after_fork_in_child(void)
{
    pthread_mutex_init(&process.lock, NULL);
}

/* The entry of a directory, made where there is none; NULL: no memory. Takes `directory`, which came from malloc. */
static struct map_file *find_file(char *directory)
{
    for (struct map_file *file = process.files; file; file = file->next) {
        if (strcmp(file->directory, directory) == 0) {
            free(directory);
            return file;
        }
    }
    struct map_file *file = malloc(sizeof *file);
    if (!file) {
        free(directory);
        return NULL;
    }
    *file = (struct map_file){.next = process.files, .directory = directory, .fd = -1};
    process.files = file;
    return file;
}

/* A child that closed all its descriptors may have given our number to another file, which must stay open. */
static void close_file(struct map_file *file)
{
    struct stat now;
    if (file->fd >= 0 && fstat(file->fd, &now) == 0 && now.st_dev == file->dev && now.st_ino == file->ino)
        close(file->fd);
    file->fd = -1;
}

/* Makes the file's descriptor one of this very process. */
static int ensure_open(struct map_file *file, struct perfmap_error *error)
{
    pid_t pid = getpid();
    if (file->pid == pid && file->fd >= 0)
        return 0;
    close_file(file); /* the parent's */
    struct stat opened;
    int fd = perfmap_file_open(file->directory, pid, file->pid != pid, &opened, error);
    if (fd < 0)
        return fd;
    file->fd = fd;
    file->pid = pid;
    file->dev = opened.st_dev;
    file->ino = opened.st_ino;
    return 0;
}

static int open_locked(char *directory, struct perfmap *map, struct perfmap_error *error)
{
    if (!process.has_fork_handler) {
        int failure = pthread_atfork(NULL, NULL, after_fork_in_child);
        if (failure) {
            free(directory);
            return perfmap_fail(error, -failure, "perf map: %s", strerror(failure));
        }
        process.has_fork_handler = true;
    }
    map->file = find_file(directory);
    if (!map->file)
        return perfmap_fail(error, -ENOMEM, "perf map: %s", strerror(ENOMEM));
    int status = ensure_open(map->file, error);
    if (status == 0)
        map->file->handles++;
    return status;
}

int perfmap_open(const char *directory, struct perfmap **map, struct perfmap_error *error)
{
    *map = NULL;
    char *absolute = realpath(directory ? directory : "/tmp", NULL);
    if (!absolute)
        return perfmap_fail(error, -errno, "%s: %s", directory ? directory : "/tmp", strerror(errno));
    struct perfmap *opened = calloc(1, sizeof *opened);
    if (!opened) {
        free(absolute);
        return perfmap_fail(error, -ENOMEM, "perf map: %s", strerror(ENOMEM));
    }
    pthread_mutex_lock(&process.lock);
    int status = open_locked(absolute, opened, error);
    pthread_mutex_unlock(&process.lock);
    if (status != 0) {
        free(opened);
        return status;
    }
    *map = opened;
    return 0;
}

static int add_locked(struct perfmap *map, const char *line, size_t line_bytes, struct perfmap_error *error)
{
    if (map->is_off)
        return 0;
    int status = ensure_open(map->file, error);
    if (status == 0) {
        status = perfmap_file_append(map->file->fd, line, line_bytes);
        if (status != 0)
            perfmap_fail(error, status, "%s/perf-%d.map: cannot write: %s; functions from here on have no name",
                         map->file->directory, (int)map->file->pid, strerror(-status));
    }
    map->is_off = status != 0;
    return status;
}

int perfmap_add(struct perfmap *map, const void *address, size_t size_bytes, const char *name, size_t name_bytes,
                struct perfmap_error *error)
{
    if (!map)
        return 0;
    char line[2 * (16 + 1) + PERFMAP_NAME_BYTES + 1];
    size_t used = (size_t)snprintf(line, sizeof line, "%" PRIxPTR " %zx ", (uintptr_t)address,
                                   size_bytes ? size_bytes : 1);
    used += perfmap_name_escape(name, name_bytes, line + used);
    line[used++] = '\n';

    pthread_mutex_lock(&process.lock);
    int status = add_locked(map, line, used, error);
    pthread_mutex_unlock(&process.lock);
    return status;
}

void perfmap_close(struct perfmap *map)
{
    if (!map)
        return;
    pthread_mutex_lock(&process.lock);
    if (--map->file->handles == 0)
        close_file(map->file);
    pthread_mutex_unlock(&process.lock);
    free(map);
}
