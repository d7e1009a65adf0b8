/* What the files of libjitdump share. */
#ifndef JITDUMP_INTERNAL_H
#define JITDUMP_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "jitdump/jitdump.h"

/* Writes `name`, escaped as jitdump.h says, to `escaped`, which holds JITDUMP_NAME_BYTES. Returns the length; there
 * is no NUL. */
size_t jitdump_name_escape(const char *name, size_t name_bytes, char *escaped);

/* ---- record.c: records in memory ---- */

struct jitdump_bytes {
    unsigned char *data; /* free() it */
    size_t used;
    size_t capacity;
    bool is_out_of_memory; /* from then on nothing is put, and nothing in `data` is of use */
};

/* Who records, when, and as which piece of code. */
struct jitdump_stamp {
    pid_t pid;
    pid_t tid;
    uint64_t when_ns; /* CLOCK_MONOTONIC */
    uint64_t index;
};

void jitdump_put_header(struct jitdump_bytes *bytes, const struct jitdump_stamp *stamp);
/* With the records that must stand before it. */
void jitdump_put_load(struct jitdump_bytes *bytes, const struct jitdump_stamp *stamp, const struct jitdump_code *code);
void jitdump_put_move(struct jitdump_bytes *bytes, const struct jitdump_stamp *stamp, const void *from, const void *to,
                      size_t size_bytes);
void jitdump_put_close(struct jitdump_bytes *bytes, const struct jitdump_stamp *stamp);

/* ---- file.c ---- */

/* Opens `directory`/jit-`pid`.dump and empties it. Returns the descriptor, with `file` telling which file it is, or a
 * negative errno with `error` filled. */
int jitdump_file_open(const char *directory, pid_t pid, struct stat *file, struct jitdump_error *error);

/* Maps the file executable, which perf sees and takes for the news that there is a dump. Removes it where that fails.
 * */
int jitdump_file_announce(int fd, const char *directory, pid_t pid, struct jitdump_error *error);

/* Writes all of `bytes` at *end_bytes and advances that. Where it fails the file ends at *end_bytes as before. */
int jitdump_file_append(int fd, uint64_t *end_bytes, const struct jitdump_bytes *bytes);

/* Fills `error` (may be NULL) and returns `status`, a negative errno. */
int jitdump_fail(struct jitdump_error *error, int status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
