/* libjitdump: who may write to which dump, and when.
 *
 *     handle ──┐
 *     handle ──┼── file (directory, pid, descriptor, end, next index) ── jit-PID.dump
 *     handle ──┘        all files of the process hang on one list
 *
 * A process may hold several engines that know nothing of one another, several threads, and it may fork; a dump has
 * one header, one sequence of timestamps and one numbering of functions (perf inject makes a file of each, and a
 * number that comes twice overwrites the first). So the file belongs to the process: a list, the only mutable global,
 * holds one entry for each directory that was ever opened and never loses one. Handles are what the engines hold.
 * They differ only in whether they have already been told of a failure.
 *
 * The descriptor stays open after the last handle is closed: the marker's mapping must stay in any case (file.c says
 * why), and so an engine that comes later only takes the CLOSE record back and goes on.
 *
 * One mutex guards all of it, also while records are made and written, so that timestamps ascend in the file.
 *
 * fork: an entry remembers the pid that opened it. Whoever records under another pid is a child; it drops the
 * descriptor, which is its parent's, and opens its own. Since a thread that exists only in the parent may have held
 * the mutex, a fork handler makes it anew in the child. Taking the lock around fork instead would make every fork
 * wait for a slow disk. What the mutex guards is whole at every instruction that matters: an entry is complete before
 * it is linked, is never unlinked, and a child replaces what describes its parent's file.
 */
#include "jitdump/jitdump.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "jitdump/format.h"
#include "jitdump/internal.h"

struct dump_file {
    struct dump_file *next;
    char *directory; /* absolute, so that a child finds it after chdir */
    pid_t pid;       /* who opened fd; 0: nobody yet */
    int fd;          /* -1: closed */
    dev_t dev;       /* what fd was when it was opened */
    ino_t ino;
    size_t handles;
    uint64_t end_bytes;
    uint64_t next_index;
    bool has_close_record;
};

struct jitdump {
    struct dump_file *file;
    bool is_off; /* has failed and said so */
};

static struct {
    pthread_mutex_t lock;
    bool has_fork_handler;
    struct dump_file *files;
} process = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void after_fork_in_child(void)
{
    pthread_mutex_init(&process.lock, NULL);
}

static struct jitdump_stamp stamp_now(const struct dump_file *file, uint64_t index)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (struct jitdump_stamp){
        .pid = file->pid,
        .tid = gettid(),
        .when_ns = (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec,
        .index = index,
    };
}

/* Appends `bytes` and frees them. */
static int append(struct dump_file *file, struct jitdump_bytes *bytes, struct jitdump_error *error)
{
    int status = bytes->is_out_of_memory ? -ENOMEM : jitdump_file_append(file->fd, &file->end_bytes, bytes);
    free(bytes->data);
    if (status != 0)
        jitdump_fail(error, status, "%s/jit-%d.dump: cannot write: %s; perf will not know the functions from here on",
                     file->directory, (int)file->pid, strerror(-status));
    return status;
}

/* ---- files ---- */

/* The entry of a directory, made where there is none; NULL: no memory. Takes `directory`, which came from malloc. */
static struct dump_file *find_file(char *directory)
{
    for (struct dump_file *file = process.files; file; file = file->next) {
        if (strcmp(file->directory, directory) == 0) {
            free(directory);
            return file;
        }
    }
    struct dump_file *file = malloc(sizeof *file);
    if (!file) {
        free(directory);
        return NULL;
    }
    *file = (struct dump_file){.next = process.files, .directory = directory, .fd = -1};
    process.files = file;
    return file;
}

/* A child that closed all its descriptors may have given our number to another file, which must stay open. */
static void close_file(struct dump_file *file)
{
    struct stat now;
    if (file->fd >= 0 && fstat(file->fd, &now) == 0 && now.st_dev == file->dev && now.st_ino == file->ino)
        close(file->fd);
    file->fd = -1;
}

static int begin_dump(struct dump_file *file, struct jitdump_error *error)
{
    struct jitdump_bytes bytes = {0};
    struct jitdump_stamp stamp = stamp_now(file, 0);
    jitdump_put_header(&bytes, &stamp);
    int status = append(file, &bytes, error);
    return status ? status : jitdump_file_announce(file->fd, file->directory, file->pid, error);
}

/* Makes the file one of this very process. */
static int ensure_open(struct dump_file *file, struct jitdump_error *error)
{
    pid_t pid = getpid();
    if (file->pid == pid && file->fd >= 0)
        return 0;
    close_file(file); /* the parent's */
    struct stat opened;
    int fd = jitdump_file_open(file->directory, pid, &opened, error);
    if (fd < 0)
        return fd;
    file->fd = fd;
    file->pid = pid;
    file->dev = opened.st_dev;
    file->ino = opened.st_ino;
    file->end_bytes = 0;
    file->next_index = 0;
    file->has_close_record = false;
    int status = begin_dump(file, error);
    if (status != 0)
        close_file(file);
    return status;
}

/* ---- handles ---- */

static int open_locked(char *directory, struct jitdump *dump, struct jitdump_error *error)
{
    if (!process.has_fork_handler) {
        int failure = pthread_atfork(NULL, NULL, after_fork_in_child);
        if (failure) {
            free(directory);
            return jitdump_fail(error, -failure, "jitdump: %s", strerror(failure));
        }
        process.has_fork_handler = true;
    }
    dump->file = find_file(directory);
    if (!dump->file)
        return jitdump_fail(error, -ENOMEM, "jitdump: %s", strerror(ENOMEM));
    int status = ensure_open(dump->file, error);
    if (status == 0)
        dump->file->handles++;
    return status;
}

int jitdump_open(const char *directory, struct jitdump **dump, struct jitdump_error *error)
{
    *dump = NULL;
    char *absolute = realpath(directory ? directory : ".", NULL);
    if (!absolute)
        return jitdump_fail(error, -errno, "%s: %s", directory ? directory : ".", strerror(errno));
    struct jitdump *opened = calloc(1, sizeof *opened);
    if (!opened) {
        free(absolute);
        return jitdump_fail(error, -ENOMEM, "jitdump: %s", strerror(ENOMEM));
    }
    pthread_mutex_lock(&process.lock);
    int status = open_locked(absolute, opened, error);
    pthread_mutex_unlock(&process.lock);
    if (status != 0) {
        free(opened);
        return status;
    }
    *dump = opened;
    return 0;
}

/* Ready to append a record of code. */
static int ensure_recording(struct dump_file *file, struct jitdump_error *error)
{
    int status = ensure_open(file, error);
    if (status == 0 && file->has_close_record) {
        file->end_bytes -= sizeof(struct jitdump_prefix);
        file->has_close_record = false;
    }
    return status;
}

static int load_locked(struct jitdump *dump, const struct jitdump_code *code, uint64_t *index,
                       struct jitdump_error *error)
{
    if (dump->is_off)
        return 0;
    int status = ensure_recording(dump->file, error);
    if (status == 0) {
        struct jitdump_bytes bytes = {0};
        struct jitdump_stamp stamp = stamp_now(dump->file, dump->file->next_index);
        jitdump_put_load(&bytes, &stamp, code);
        status = append(dump->file, &bytes, error);
    }
    if (status == 0 && index)
        *index = dump->file->next_index;
    if (status == 0)
        dump->file->next_index++;
    dump->is_off = status != 0;
    return status;
}

int jitdump_load(struct jitdump *dump, const struct jitdump_code *code, uint64_t *index, struct jitdump_error *error)
{
    if (!dump)
        return 0;
    pthread_mutex_lock(&process.lock);
    int status = load_locked(dump, code, index, error);
    pthread_mutex_unlock(&process.lock);
    return status;
}

static int move_locked(struct jitdump *dump, uint64_t index, const void *from, const void *to, size_t size_bytes,
                       struct jitdump_error *error)
{
    if (dump->is_off)
        return 0;
    int status = ensure_recording(dump->file, error);
    if (status == 0) {
        struct jitdump_bytes bytes = {0};
        struct jitdump_stamp stamp = stamp_now(dump->file, index);
        jitdump_put_move(&bytes, &stamp, from, to, size_bytes);
        status = append(dump->file, &bytes, error);
    }
    dump->is_off = status != 0;
    return status;
}

int jitdump_move(struct jitdump *dump, uint64_t index, const void *from, const void *to, size_t size_bytes,
                 struct jitdump_error *error)
{
    if (!dump)
        return 0;
    pthread_mutex_lock(&process.lock);
    int status = move_locked(dump, index, from, to, size_bytes, error);
    pthread_mutex_unlock(&process.lock);
    return status;
}

/* The last handle of a dump is gone. A child that recorded nothing has no dump to end. */
static void end_dump(struct dump_file *file)
{
    if (file->pid != getpid()) {
        close_file(file);
        return;
    }
    if (file->has_close_record)
        return;
    struct jitdump_bytes bytes = {0};
    struct jitdump_stamp stamp = stamp_now(file, 0);
    jitdump_put_close(&bytes, &stamp);
    file->has_close_record = append(file, &bytes, NULL) == 0;
}

void jitdump_close(struct jitdump *dump)
{
    if (!dump)
        return;
    pthread_mutex_lock(&process.lock);
    if (--dump->file->handles == 0)
        end_dump(dump->file);
    pthread_mutex_unlock(&process.lock);
    free(dump);
}
