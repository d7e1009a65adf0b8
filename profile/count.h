/* count: what was counted, ready to be written. Internal to profile/: frames_thread.c leaves trees, count_report.c
 * makes the report of them, and each format is one function. */
#ifndef GLASSBOX_PROFILE_COUNT_H
#define GLASSBOX_PROFILE_COUNT_H

#include <stdio.h>

#include "profile/frames_internal.h"

#ifdef __cplusplus
extern "C" {
#endif

/* One function over all of its contexts. */
struct profile_row {
    const struct profile_function *function; /* NULL: the time outside of counted functions, or merged contexts */
    bool is_merged;
    uint64_t calls;
    /* By event: */
    const uint64_t *self;
    const uint64_t *inclusive; /* recursion counted once */
    const double *error;       /* standard error of self; 0 where every call was measured */
};

/* All functions of a tree that were called, by their own cost in the first event that was counted, the dearest first.
 */
struct profile_rows {
    struct profile_row *rows;
    size_t count;
    uint64_t *numbers; /* what self and inclusive point into */
    double *errors;
};

struct profile_report {
    struct profile_frames *frames;
    struct profile_tree tree; /* of all threads, settled */
    bool *is_outermost;       /* by node: no caller of it is the same function */
    struct profile_rows all;
    struct profile_rows *threads; /* by frames->threads */
};

/* Made when first asked for. NULL: no memory. */
struct profile_report *profile_report_get(struct profile_frames *frames);
void profile_report_destroy(struct profile_report *report); /* NULL is allowed */

const char *profile_row_name(const struct profile_row *row);
const char *profile_node_name(const struct profile_report *report, const struct profile_node *node);
/* Of the function a node stands for, in callgrind's and the rows' order: 0 outside, 1 merged, then the functions. */
size_t profile_node_number(const struct profile_tree *tree, const struct profile_node *node);

/* The event was counted: its numbers mean something. */
bool profile_event_counted(const struct profile_report *report, size_t event);
struct counters_event profile_event(const struct profile_report *report, size_t event);
/* "cpu", "kernel", "clock", "external". */
const char *profile_event_source(const struct profile_report *report, size_t event);

/* Each writes to `stream`, whose error flag tells of failures. */
#define FORMAT(ident, suffix, wants_lines) \
    void profile_count_##ident(FILE *stream, const struct profile_report *report, size_t weight);
#include "profile/count_formats.def"
#undef FORMAT

#ifdef __cplusplus
}
#endif
#endif
