/* What the files of libperfmap share. */
#ifndef PERFMAP_INTERNAL_H
#define PERFMAP_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "perfmap/perfmap.h"

/* Writes `name`, escaped as perfmap.h says, to `escaped`, which holds PERFMAP_NAME_BYTES. Returns the length; there
 * is no NUL. Async-signal-safe. */
size_t perfmap_name_escape(const char *name, size_t name_bytes, char *escaped);

/* Opens `directory`/perf-`pid`.map for appending. Where `fresh`, what is in it is removed, unless another descriptor of
 * this process is writing to it. Returns the descriptor, with `file` telling which file it is, or a negative errno with
 * `error` filled. */
int perfmap_file_open(const char *directory, pid_t pid, bool fresh, struct stat *file, struct perfmap_error *error);

/* Appends a whole line. Where that fails, the part that was written is taken back and a negative errno returned. */
int perfmap_file_append(int fd, const char *line, size_t line_bytes);

/* Fills `error` (may be NULL) and returns `status`, a negative errno. */
int perfmap_fail(struct perfmap_error *error, int status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
