/* listing: the bytecode of published functions as text, so that perf has lines to show where the guest brings none.
 * Internal to profile/. The file's format is docs/formats/listing.md. Used by one thread at a time. */
#ifndef GLASSBOX_PROFILE_LISTING_H
#define GLASSBOX_PROFILE_LISTING_H

#include "profile/lines.h"

struct profile_listing;

/* Creates `directory`/glassbox-PID.wat, or glassbox-PID-1.wat, ... where that is taken. Returns 0, or a negative errno
 * with `err` filled. */
int profile_listing_create(const char *directory, struct profile_listing **listing, struct err *err)
    __attribute__((warn_unused_result));

/* Closes the file, which stays. NULL is allowed. */
void profile_listing_destroy(struct profile_listing *listing);

/* The file's absolute path; one pointer as long as the listing. */
const char *profile_listing_path(const struct profile_listing *listing);

/* Appends the function's text, called `name`, or only finds its lines again where *first_line says that it is there
 * already (0: it is not; set to its first line then). Writes the region's rows as profile_lines_rows does. Returns 0,
 * or a negative errno with `err` filled; the file is then as it was before, whole functions. */
int profile_listing_add(struct profile_listing *listing, const struct vm_code *code, const char *name,
                        uint32_t *first_line, struct elfimage_line *rows, size_t *row_count, struct err *err)
    __attribute__((warn_unused_result));

#endif
