/* The report as JSON: docs/formats/count-json.md. Contexts are a list in which each names its parent, not nested
 * objects: a guest's recursion would else be deeper than most readers of JSON go. Written by hand and streamed, since
 * 65,536 contexts as a tree of a library's objects would take more memory than the guest; names are valid UTF-8
 * without control characters (profile.h), so that two characters are all there is to escape. */
#include <inttypes.h>
#include <stddef.h>

#include "profile/count.h"

static void write_text(FILE *stream, const char *text)
{
    fputc('"', stream);
    for (; *text; text++) {
        if (*text == '"' || *text == '\\')
            fputc('\\', stream);
        fputc(*text, stream);
    }
    fputc('"', stream);
}

/* ,"key":{"event":number,...}; an event that was not counted is null. The numbers stand `stride` bytes apart. */
static void write_strided(FILE *stream, const struct profile_report *report, const char *key, const void *numbers,
                          size_t stride)
{
    fprintf(stream, ",\"%s\":{", key);
    for (size_t e = 0; e < report->frames->event_count; e++) {
        fputs(e ? "," : "", stream);
        write_text(stream, profile_event(report, e).name);
        const uint64_t *number = (const uint64_t *)((const uint8_t *)numbers + e * stride);
        if (profile_event_counted(report, e))
            fprintf(stream, ":%" PRIu64, *number);
        else
            fputs(":null", stream);
    }
    fputc('}', stream);
}

static void write_numbers(FILE *stream, const struct profile_report *report, const char *key, const uint64_t *numbers)
{
    write_strided(stream, report, key, numbers, sizeof *numbers);
}

static void write_charges(FILE *stream, const struct profile_report *report, const struct profile_node *node,
                          const char *key, size_t member)
{
    write_strided(stream, report, key, (const uint8_t *)node->charges + member, sizeof node->charges[0]);
}

static void write_events(FILE *stream, const struct profile_report *report)
{
    fputs(",\n\"events\":[", stream);
    for (size_t e = 0; e < report->frames->event_count; e++) {
        struct counters_event event = profile_event(report, e);
        const struct profile_event_result *result = &report->frames->events[e];
        fputs(e ? ",\n{\"name\":" : "\n{\"name\":", stream);
        write_text(stream, event.name);
        fputs(",\"unit\":", stream);
        write_text(stream, event.unit);
        fprintf(stream, ",\"source\":\"%s\",\"scaled\":%s,\"status\":\"%s\"", profile_event_source(report, e),
                result->status == COUNTERS_SCALED ? "true" : "false", counters_status_name(result->status));
        if (result->status == COUNTERS_SCALED)
            fprintf(stream, ",\"relative_error\":%.6g", result->relative_error);
        if (profile_event_counted(report, e))
            fprintf(stream, ",\"total\":%" PRIu64 ",\"subtracted\":%" PRIu64 ",\"overhead_per_call\":%.6g",
                    report->tree.root->charges[e].sum, result->subtracted, result->overhead);
        fprintf(stream, ",\"user_only\":%s}", result->is_user_only ? "true" : "false");
    }
    fputs("]", stream);
}

static void write_errors(FILE *stream, const struct profile_report *report, const double *errors)
{
    if (report->frames->config.every <= 1)
        return;
    fputs(",\"self_error\":{", stream);
    for (size_t e = 0; e < report->frames->event_count; e++) {
        fputs(e ? "," : "", stream);
        write_text(stream, profile_event(report, e).name);
        fprintf(stream, ":%.6g", errors[e]);
    }
    fputc('}', stream);
}

static void write_rows(FILE *stream, const struct profile_report *report, const struct profile_rows *rows)
{
    fputs("\"functions\":[", stream);
    for (size_t i = 0; i < rows->count; i++) {
        const struct profile_row *row = &rows->rows[i];
        fputs(i ? ",\n{\"name\":" : "\n{\"name\":", stream);
        write_text(stream, profile_row_name(row));
        if (row->function && row->function->module) {
            fputs(",\"module\":", stream);
            write_text(stream, row->function->module);
        }
        fprintf(stream, ",\"calls\":%" PRIu64, row->calls);
        write_numbers(stream, report, "self", row->self);
        write_numbers(stream, report, "inclusive", row->inclusive);
        write_errors(stream, report, row->error);
        fputc('}', stream);
    }
    fputc(']', stream);
}

/* "event":[[least cost of the bucket, calls],...] for buckets that are not empty. */
static void write_histograms(FILE *stream, const struct profile_report *report, const struct profile_node *node)
{
    fputs(",\"histogram\":{", stream);
    for (size_t e = 0; e < report->frames->event_count; e++) {
        const char *separator = "";
        fputs(e ? "," : "", stream);
        write_text(stream, profile_event(report, e).name);
        fputs(profile_event_counted(report, e) ? ":[" : ":null", stream);
        for (size_t b = 0; b < PROFILE_BUCKETS && profile_event_counted(report, e); b++) {
            if (node->charges[e].buckets[b] == 0)
                continue;
            double least = (double)profile_bucket_least(b) * report->frames->events[e].bucket_scale;
            fprintf(stream, "%s[%.0f,%" PRIu64 "]", separator, least, node->charges[e].buckets[b]);
            separator = ",";
        }
        fputs(profile_event_counted(report, e) ? "]" : "", stream);
    }
    fputc('}', stream);
}

static void write_context(FILE *stream, const struct profile_report *report, const struct profile_node *node)
{
    fprintf(stream, "%s\n{\"id\":%" PRIu32 ",\"parent\":", node->parent ? "," : "", node->index);
    if (node->parent)
        fprintf(stream, "%" PRIu32, node->parent->index);
    else
        fputs("null", stream);
    fputs(",\"name\":", stream);
    write_text(stream, profile_node_name(report, node));
    fprintf(stream, ",\"calls\":%" PRIu64, node->parent ? node->calls : 0);
    write_charges(stream, report, node, "self", offsetof(struct profile_charge, self));
    write_charges(stream, report, node, "inclusive", offsetof(struct profile_charge, sum));
    write_charges(stream, report, node, "min", offsetof(struct profile_charge, min));
    write_charges(stream, report, node, "max", offsetof(struct profile_charge, max));
    write_histograms(stream, report, node);
    fputc('}', stream);
}

/* The merged node is there only where it was needed. */
static void write_contexts(FILE *stream, const struct profile_report *report)
{
    fputs(",\n\"contexts\":[", stream);
    for (size_t i = 0; i < report->tree.node_count; i++) {
        const struct profile_node *node = profile_tree_at(&report->tree, i);
        if (node != report->tree.merged || report->tree.flat_count > 0)
            write_context(stream, report, node);
    }
    fputs("]", stream);
}

static void write_threads(FILE *stream, const struct profile_report *report)
{
    fputs(",\n\"threads\":[", stream);
    for (size_t i = 0; i < report->frames->threads.count; i++) {
        const struct profile_thread_result *thread = vec_at(&report->frames->threads, i);
        fprintf(stream, "%s\n{\"number\":%" PRIu32 ",\"unfinished\":%" PRIu64, i ? "," : "", thread->number,
                thread->unfinished);
        write_charges(stream, report, thread->tree.root, "total", offsetof(struct profile_charge, sum));
        fputs(",\n", stream);
        write_rows(stream, report, &report->threads[i]);
        fputc('}', stream);
    }
    fputs("]", stream);
}

void profile_count_json(FILE *stream, const struct profile_report *report, size_t weight)
{
    fprintf(stream, "{\"format\":\"glassbox-count\",\"version\":1,\"every\":%" PRIu64 ",\"limit\":%zu",
            report->frames->config.every, report->frames->config.limit);
    write_events(stream, report);
    fputs(",\n", stream);
    write_rows(stream, report, &report->all);
    write_contexts(stream, report);
    write_threads(stream, report);
    fputs("}\n", stream);
}
