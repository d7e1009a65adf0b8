/* The report of a count: the threads' trees added up, functions added up over their contexts, files written whole.
 *
 * A function's inclusive cost is that of its contexts that are not beneath another one of itself. To know those, the
 * tree is walked in depth with a count, for each function, of how often it is open; without recursion, since a guest
 * may recurse as deep as there are contexts.
 *
 * Two rows are no functions: `(outside)` is what ran while no counted function did, and `(merged)` for the
 * contexts for which --count-limit left no room, whose functions are known all the same.
 *
 * A file is written under a temporary name in its own folder and renamed, so that whoever waits for it sees it whole.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "profile/count.h"

/* ---- names ---- */

const char *profile_row_name(const struct profile_row *row)
{
    return row->function ? row->function->name : row->is_merged ? "(merged)" : "(outside)";
}

const char *profile_node_name(const struct profile_report *report, const struct profile_node *node)
{
    struct profile_row row = {.function = node->function, .is_merged = node == report->tree.merged};
    return profile_row_name(&row);
}

size_t profile_node_number(const struct profile_tree *tree, const struct profile_node *node)
{
    return node == tree->root ? 0 : node == tree->merged ? 1 : (size_t)node->function->number + 2;
}

static bool is_counted(const struct profile_frames *frames, size_t event)
{
    enum counters_status status = frames->events[event].status;
    return status == COUNTERS_EXACT || status == COUNTERS_SCALED;
}

bool profile_event_counted(const struct profile_report *report, size_t event)
{
    return is_counted(report->frames, event);
}

struct counters_event profile_event(const struct profile_report *report, size_t event)
{
    return counters_set_event(report->frames->set, event);
}

const char *profile_event_source(const struct profile_report *report, size_t event)
{
    if ((int)event == report->frames->ticks_event)
        return counters_source_name(COUNTERS_CLOCK);
    return counters_source_name(profile_event(report, event).source);
}

/* ---- functions ---- */

static int compare_rows(const void *left, const void *right, void *event)
{
    const struct profile_row *a = left, *b = right;
    size_t e = *(size_t *)event;
    if (a->self[e] != b->self[e])
        return a->self[e] > b->self[e] ? -1 : 1;
    return strcmp(profile_row_name(a), profile_row_name(b));
}

/* Marks the nodes that have no ancestor of their own function. False: no memory. */
static bool find_outermost(const struct profile_tree *tree, size_t number_count, bool *is_outermost)
{
    struct profile_node **next = calloc(tree->node_count, sizeof *next); /* sibling */
    struct profile_node **first = calloc(tree->node_count, sizeof *first);
    uint32_t *open = calloc(number_count, sizeof *open);
    bool has_memory = next && first && open;
    for (size_t i = tree->node_count; i-- > 1 && has_memory;) {
        struct profile_node *node = profile_tree_at(tree, i);
        next[i] = first[node->parent->index];
        first[node->parent->index] = node;
    }
    for (struct profile_node *node = has_memory ? tree->root : NULL; node;) {
        is_outermost[node->index] = open[profile_node_number(tree, node)]++ == 0;
        if (first[node->index]) {
            node = first[node->index];
            continue;
        }
        while (node) {
            open[profile_node_number(tree, node)]--;
            if (next[node->index]) {
                node = next[node->index];
                break;
            }
            node = node->parent;
        }
    }
    free(next);
    free(first);
    free(open);
    return has_memory;
}

/* What a callee's estimate is wrong by, its caller's is too, the other way round: where they are one function, nothing
 * remains. */
static void add_node(const struct profile_tree *tree, const struct profile_node *node, bool is_outermost,
                     uint64_t *numbers, double *errors)
{
    size_t n = tree->event_count, at = profile_node_number(tree, node) * n;
    size_t caller = node->parent ? profile_node_number(tree, node->parent) * n : at;
    for (size_t e = 0; e < n; e++) {
        const struct profile_charge *charge = &node->charges[e];
        numbers[2 * at + e] += charge->self;
        numbers[2 * at + n + e] += node->is_flat && node->function ? charge->row : is_outermost ? charge->sum : 0;
        if (caller != at) {
            errors[at + e] += charge->squares;
            errors[caller + e] += charge->squares;
        }
    }
}

/* The caller frees. False: no memory. */
static bool make_rows(const struct profile_tree *tree, const struct profile_frames *frames, const bool *is_outermost,
                      struct profile_rows *rows)
{
    size_t number_count = frames->functions.count + 2, n = tree->event_count;
    rows->rows = calloc(number_count, sizeof *rows->rows);
    rows->numbers = calloc(number_count * 2 * n, sizeof *rows->numbers);
    rows->errors = calloc(number_count * n, sizeof *rows->errors);
    if (!rows->rows || !rows->numbers || !rows->errors)
        return false;
    for (size_t i = 0; i < tree->node_count; i++) {
        const struct profile_node *node = profile_tree_at(tree, i);
        struct profile_row *row = &rows->rows[profile_node_number(tree, node)];
        row->function = node->function;
        row->is_merged = node == tree->merged;
        row->calls += node == tree->root ? 0 : node->calls;
        add_node(tree, node, is_outermost[i], rows->numbers, rows->errors);
    }
    for (size_t i = 0; i < number_count; i++) {
        struct profile_row row = rows->rows[i];
        row.self = &rows->numbers[2 * i * n];
        row.inclusive = row.self + n;
        row.error = &rows->errors[i * n];
        if (i == 0 || (i == 1 && tree->flat_count > 0) || row.calls > 0)
            rows->rows[rows->count++] = row;
    }
    for (size_t i = 0; i < number_count * n; i++)
        rows->errors[i] = __builtin_sqrt(rows->errors[i]);
    size_t event = 0; /* the first that was counted */
    while (event + 1 < n && !is_counted(frames, event))
        event++;
    qsort_r(rows->rows, rows->count, sizeof *rows->rows, compare_rows, &event);
    return true;
}

static void rows_fini(struct profile_rows *rows)
{
    free(rows->rows);
    free(rows->numbers);
    free(rows->errors);
}

/* ---- the report ---- */

static bool make_table(const struct profile_frames *frames, const struct profile_tree *tree, bool **is_outermost,
                       struct profile_rows *rows)
{
    *is_outermost = calloc(tree->node_count, sizeof **is_outermost);
    return *is_outermost && find_outermost(tree, frames->functions.count + 2, *is_outermost) &&
           make_rows(tree, frames, *is_outermost, rows);
}

/* Where no call was measured, the smallest of none is still there. */
static void clear_unused_minima(struct profile_tree *tree)
{
    for (size_t i = 0; i < tree->node_count; i++)
        for (size_t e = 0; e < tree->event_count; e++) {
            struct profile_charge *charge = &profile_tree_at(tree, i)->charges[e];
            charge->min = charge->min == UINT64_MAX ? 0 : charge->min;
        }
}

static bool make_report(struct profile_report *report, struct profile_frames *frames)
{
    report->frames = frames;
    report->threads = calloc(frames->threads.count + 1, sizeof *report->threads);
    if (!report->threads || !profile_tree_init(&report->tree, frames->event_count, frames->config.limit))
        return false;
    for (size_t i = 0; i < frames->threads.count; i++) {
        struct profile_thread_result *thread = vec_at(&frames->threads, i);
        bool *is_outermost;
        bool has_memory = make_table(frames, &thread->tree, &is_outermost, &report->threads[i]);
        if (has_memory)
            profile_tree_merge(&report->tree, &thread->tree, is_outermost);
        free(is_outermost);
        if (!has_memory)
            return false;
    }
    clear_unused_minima(&report->tree);
    return make_table(frames, &report->tree, &report->is_outermost, &report->all);
}

struct profile_report *profile_report_get(struct profile_frames *frames)
{
    if (frames->report)
        return frames->report;
    struct profile_report *report = calloc(1, sizeof *report);
    if (report && !make_report(report, frames)) {
        profile_report_destroy(report);
        report = NULL;
    }
    return frames->report = report;
}

void profile_report_destroy(struct profile_report *report)
{
    if (!report)
        return;
    for (size_t i = 0; report->threads && i < report->frames->threads.count; i++)
        rows_fini(&report->threads[i]);
    free(report->threads);
    free(report->is_outermost);
    rows_fini(&report->all);
    profile_tree_fini(&report->tree);
    free(report);
}

/* ---- files ---- */

static const struct {
    const char *suffix;
    bool wants_lines;
    void (*write)(FILE *stream, const struct profile_report *report, size_t weight);
} formats[] = {
#define FORMAT(ident, suffix, wants_lines) {suffix, wants_lines, profile_count_##ident},
#include "profile/count_formats.def"
#undef FORMAT
};

#define FORMAT_COUNT (sizeof formats / sizeof formats[0])

const char *profile_frames_formats(void)
{
    static const char texts[] =
#define FORMAT(ident, suffix, wants_lines) " " suffix
#include "profile/count_formats.def"
#undef FORMAT
        ;
    return texts + 1;
}

static size_t find_format(const char *path)
{
    size_t format = 0, length = strlen(path);
    for (; format < FORMAT_COUNT; format++) {
        size_t suffix = strlen(formats[format].suffix);
        if (length > suffix && strcmp(path + length - suffix, formats[format].suffix) == 0)
            break;
    }
    return format;
}

bool profile_frames_format(const char *path, bool *wants_lines)
{
    size_t format = find_format(path);
    *wants_lines = format < FORMAT_COUNT && formats[format].wants_lines;
    return format < FORMAT_COUNT;
}

/* Creates a file beside `path`; its name goes to `temporary`, which is freed by the caller. */
static FILE *create_beside(const char *path, char **temporary)
{
    if (asprintf(temporary, "%s.XXXXXX", path) < 0) {
        *temporary = NULL;
        errno = ENOMEM;
        return NULL;
    }
    int fd = mkostemp(*temporary, O_CLOEXEC); /* O_EXCL and mode 0600 by itself */
    FILE *stream = fd >= 0 ? fdopen(fd, "w") : NULL;
    if (!stream && fd >= 0) {
        close(fd);
        unlink(*temporary);
    }
    return stream;
}

int profile_frames_write(struct profile_frames *frames, const char *path, size_t weight, struct err *err)
{
    size_t format = find_format(path);
    if (format == FORMAT_COUNT) {
        err_set(err, ERR_UNSUPPORTED, 0, "%.128s: the name ends in none of %s", path, profile_frames_formats());
        return -EINVAL;
    }
    const struct profile_report *report = profile_report_get(frames);
    char *temporary = NULL;
    errno = ENOMEM;
    FILE *stream = report ? create_beside(path, &temporary) : NULL;
    int error = stream ? 0 : errno;
    if (stream) {
        errno = 0;
        formats[format].write(stream, report, weight);
        error = ferror(stream) ? (errno ? errno : EIO) : 0;
        if (fclose(stream) != 0 && error == 0)
            error = errno;
        if (error == 0 && rename(temporary, path) != 0)
            error = errno;
        if (error != 0)
            unlink(temporary);
    }
    free(temporary);
    if (error != 0)
        err_set(err, ERR_RESOURCE, 0, "%.128s: %s", path, strerror(error));
    return -error;
}
