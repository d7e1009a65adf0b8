/* The report in callgrind's format 1, for KCachegrind and callgrind_annotate: docs/formats/count-callgrind.md.
 *
 * A function's own cost stands on its first line, and so does every call it makes: counting is by calls, not by lines.
 * Calls are added up over contexts into one for each pair of caller and callee. Of a recursive function only the
 * outermost calls have inclusive cost, so that a caller's own cost and its calls' add up to its inclusive cost.
 *
 * Names are always given a number, "(3) name": one that begins with a parenthesis of its own would be taken for one.
 * Events' names lose what a reader might take for syntax: instructions:u is instructions_u, with its name and unit
 * beside it.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "profile/count.h"

struct edge {
    size_t caller, callee;
    const struct profile_node *node; /* whose calls these are */
};

struct writer {
    FILE *stream;
    const struct profile_report *report;
    bool *is_named; /* by number: its name was written */
};

static int compare_edges(const void *left, const void *right)
{
    const struct edge *a = left, *b = right;
    if (a->caller != b->caller)
        return a->caller < b->caller ? -1 : 1;
    return (a->callee > b->callee) - (a->callee < b->callee);
}

static const struct profile_function *function_of(const struct profile_report *report, size_t number)
{
    return number < 2 ? NULL : *(struct profile_function **)vec_at(&report->frames->functions, number - 2);
}

static void write_event_name(FILE *stream, const char *name)
{
    for (; *name; name++) {
        bool is_plain =
            (*name >= 'a' && *name <= 'z') || (*name >= 'A' && *name <= 'Z') || (*name >= '0' && *name <= '9');
        fputc(is_plain ? *name : '_', stream);
    }
}

static void write_costs(const struct writer *writer, uint32_t line, const uint64_t *costs)
{
    fprintf(writer->stream, "%" PRIu32, line);
    for (size_t e = 0; e < writer->report->frames->event_count; e++)
        if (profile_event_counted(writer->report, e))
            fprintf(writer->stream, " %" PRIu64, costs[e]);
    fputc('\n', writer->stream);
}

static void write_function(struct writer *writer, size_t number, const char *file_key, const char *name_key)
{
    const struct profile_function *function = function_of(writer->report, number);
    const char *file = function && function->file     ? function->file
                       : function && function->module ? function->module
                                                      : "host";
    fprintf(writer->stream, "%s=%s\n%s=(%zu)", file_key, file, name_key, number + 1);
    if (!writer->is_named[number])
        fprintf(writer->stream, " %s", function ? function->name : number == 0 ? "(outside)" : "(merged)");
    writer->is_named[number] = true;
    fputc('\n', writer->stream);
}

static uint32_t line_of(const struct writer *writer, size_t number)
{
    const struct profile_function *function = function_of(writer->report, number);
    return function ? function->line : 0;
}

/* Writes the calls that `edges`, of one caller and one callee, are. */
static void write_calls(struct writer *writer, const struct edge *edges, size_t count, uint64_t *costs)
{
    uint64_t calls = 0;
    for (size_t e = 0; e < writer->report->frames->event_count; e++)
        costs[e] = 0;
    for (size_t i = 0; i < count; i++) {
        const struct profile_node *node = edges[i].node;
        calls += node->calls;
        for (size_t e = 0; e < writer->report->frames->event_count; e++)
            costs[e] += writer->report->is_outermost[node->index] ? node->charges[e].sum : 0;
    }
    if (calls == 0 && edges->callee != 1)
        return;
    write_function(writer, edges->callee, "cfi", "cfn");
    fprintf(writer->stream, "calls=%" PRIu64 " %" PRIu32 "\n", calls, line_of(writer, edges->callee));
    write_costs(writer, line_of(writer, edges->caller), costs);
}

static void write_body(struct writer *writer, struct edge *edges, size_t edge_count, uint64_t *costs)
{
    const struct profile_report *report = writer->report;
    for (size_t i = 0; i < report->all.count; i++) {
        const struct profile_row *row = &report->all.rows[i];
        size_t number = row->function ? (size_t)row->function->number + 2 : row->is_merged;
        fputc('\n', writer->stream);
        write_function(writer, number, "fl", "fn");
        write_costs(writer, line_of(writer, number), row->self);
        size_t low = 0, high = edge_count;
        while (low < high) {
            size_t middle = low + (high - low) / 2;
            if (edges[middle].caller < number)
                low = middle + 1;
            else
                high = middle;
        }
        while (low < edge_count && edges[low].caller == number) {
            size_t end = low + 1;
            while (end < edge_count && compare_edges(&edges[low], &edges[end]) == 0)
                end++;
            write_calls(writer, edges + low, end - low, costs);
            low = end;
        }
    }
}

static void write_head(const struct writer *writer)
{
    const struct profile_report *report = writer->report;
    FILE *stream = writer->stream;
    fputs("# callgrind format\nversion: 1\ncreator: glassbox\npositions: line\n", stream);
    for (size_t e = 0; e < report->frames->event_count; e++) {
        struct counters_event event = profile_event(report, e);
        if (!profile_event_counted(report, e))
            continue;
        fputs("event: ", stream);
        write_event_name(stream, event.name);
        fprintf(stream, " : %s (%s)\n", event.name, event.unit);
    }
    fputs("events:", stream);
    for (size_t e = 0; e < report->frames->event_count; e++) {
        if (!profile_event_counted(report, e))
            continue;
        fputc(' ', stream);
        write_event_name(stream, profile_event(report, e).name);
    }
    fputs("\nsummary:", stream);
    for (size_t e = 0; e < report->frames->event_count; e++)
        if (profile_event_counted(report, e))
            fprintf(stream, " %" PRIu64, report->tree.root->charges[e].sum);
    fputc('\n', stream);
}

void profile_count_callgrind(FILE *stream, const struct profile_report *report, size_t weight)
{
    const struct profile_tree *tree = &report->tree;
    struct writer writer = {.stream = stream, .report = report};
    writer.is_named = calloc(report->frames->functions.count + 2, sizeof *writer.is_named);
    struct edge *edges = calloc(tree->node_count, sizeof *edges);
    uint64_t *costs = calloc(report->frames->event_count, sizeof *costs);
    if (!writer.is_named || !edges || !costs) {
        profile_frames_lack_memory(report->frames, "the file in callgrind's format is empty");
    } else {
        for (size_t i = 1; i < tree->node_count; i++) {
            const struct profile_node *node = profile_tree_at(tree, i);
            edges[i - 1] =
                (struct edge){profile_node_number(tree, node->parent), profile_node_number(tree, node), node};
        }
        qsort(edges, tree->node_count - 1, sizeof *edges, compare_edges);
        write_head(&writer);
        write_body(&writer, edges, tree->node_count - 1, costs);
    }
    free(writer.is_named);
    free(edges);
    free(costs);
}
