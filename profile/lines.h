/* lines: internal to profile/. The public half is in profile.h.
 *
 * Rows are elfimage's, ascending in offset: from this byte of a region on, it belongs to this line. */
#ifndef GLASSBOX_PROFILE_LINES_H
#define GLASSBOX_PROFILE_LINES_H

#include "elfimage/elfimage.h"
#include "profile/profile.h"

/* Writes the rows of a region, neighbours of one line merged; `rows` has room for code->position_count. The first row
 * is at offset 0 where there is any. Returns how many. */
size_t profile_lines_rows(const struct profile_lines *lines, const struct vm_code *code, struct elfimage_line *rows);

/* Adds a row to the `count` that are there and returns how many there are then. What comes before the first row
 * (entering the function) goes to its line; a row of its predecessor's line says nothing new; of two at one offset the
 * last counts; one at the region's end has no code. */
static inline size_t profile_rows_append(struct elfimage_line *rows, size_t count, const struct vm_code *code,
                                         uint32_t region_offset, uint32_t line, const char *file)
{
    if (region_offset >= code->size_bytes)
        return count;
    if (count == 0)
        region_offset = 0;
    else if (rows[count - 1].offset == region_offset)
        count--;
    if (count > 0 && rows[count - 1].line == line && rows[count - 1].file == file)
        return count;
    rows[count] = (struct elfimage_line){region_offset, line, file};
    return count + 1;
}

#endif
