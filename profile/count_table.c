/* The table at the end of a run: what was counted and what counting cost, then functions by their own cost. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "profile/count.h"

#define TABLE_ROWS 30
#define NUMBER_BYTES 40

/* 1234567 as "1,234,567". */
static void group_digits(uint64_t value, char text[NUMBER_BYTES])
{
    char digits[NUMBER_BYTES];
    int length = snprintf(digits, sizeof digits, "%" PRIu64, value);
    for (int i = 0; i < length; i++) {
        if (i > 0 && (length - i) % 3 == 0)
            *text++ = ',';
        *text++ = digits[i];
    }
    *text = '\0';
}

/* A number of the event as a person reads it: ns as ms, all else in full. */
static void format_value(const struct profile_report *report, size_t event, uint64_t value, char text[NUMBER_BYTES])
{
    if (!profile_event_counted(report, event))
        strcpy(text, "-");
    else if (strcmp(profile_event(report, event).unit, "ns") == 0)
        snprintf(text, NUMBER_BYTES, "%.3f ms", (double)value / 1e6);
    else
        group_digits(value, text);
}

/* A column of 9: "  12.34 %", or "-" for what was not counted. */
static void print_share(FILE *stream, const struct profile_report *report, const struct profile_tree *tree,
                        size_t event, uint64_t value)
{
    uint64_t total = tree->root->charges[event].sum;
    if (profile_event_counted(report, event))
        fprintf(stream, " %6.2f %%", total ? 100.0 * (double)value / (double)total : 0);
    else
        fprintf(stream, " %8s", "-");
}

static void print_event(FILE *stream, const struct profile_report *report, const struct profile_tree *tree, size_t e)
{
    const struct profile_event_result *result = &report->frames->events[e];
    struct counters_event event = profile_event(report, e);
    bool is_time = strcmp(event.unit, "ns") == 0;
    char total[NUMBER_BYTES], subtracted[NUMBER_BYTES];
    if (!profile_event_counted(report, e)) {
        fprintf(stream, "  %s: %s\n", event.name, counters_status_name(result->status));
        return;
    }
    format_value(report, e, tree->root->charges[e].sum, total);
    format_value(report, e, result->subtracted, subtracted);
    fprintf(stream, "  %s: %s%s%s", event.name, total, is_time ? "" : " ", is_time ? "" : event.unit);
    if (result->is_user_only)
        fputs(", in user space only", stream);
    if (result->status == COUNTERS_SCALED)
        fprintf(stream, ", counted in turns and scaled, +-%.2g %%", 100 * result->relative_error);
    if (tree == &report->tree && result->overhead > 0)
        fprintf(stream, ", without the %s that measuring cost, %.4g %s a call", subtracted, result->overhead,
                event.unit);
    fputc('\n', stream);
}

static void print_head(FILE *stream, const struct profile_report *report)
{
    fprintf(stream, "%15s", "calls");
    for (size_t e = 0; e < report->frames->event_count; e++)
        fprintf(stream, "  %22s %8s %8s", profile_event(report, e).name, "self", "incl");
    if (report->frames->config.every > 1)
        fprintf(stream, " %8s", "+-");
    fputs("  function\n", stream);
}

static void print_row(FILE *stream, const struct profile_report *report, const struct profile_tree *tree,
                      const struct profile_row *row)
{
    char text[NUMBER_BYTES];
    group_digits(row->calls, text);
    fprintf(stream, "%15s", row->calls ? text : "");
    for (size_t e = 0; e < report->frames->event_count; e++) {
        format_value(report, e, row->self[e], text);
        fprintf(stream, "  %22s", text);
        print_share(stream, report, tree, e, row->self[e]);
        print_share(stream, report, tree, e, row->inclusive[e]);
    }
    if (report->frames->config.every > 1)
        fprintf(stream, " %6.2f %%", row->self[0] ? 100.0 * row->error[0] / (double)row->self[0] : 0);
    fprintf(stream, "  %s\n", profile_row_name(row));
}

static void print_rows(FILE *stream, const struct profile_report *report, const struct profile_tree *tree,
                       const struct profile_rows *rows)
{
    print_head(stream, report);
    for (size_t i = 0; i < rows->count && i < TABLE_ROWS; i++)
        print_row(stream, report, tree, &rows->rows[i]);
    if (rows->count > TABLE_ROWS)
        fprintf(stream, "%15s  and %zu more\n", "", rows->count - TABLE_ROWS);
}

static uint64_t calls_of(const struct profile_rows *rows)
{
    uint64_t calls = 0;
    for (size_t i = 0; i < rows->count; i++)
        calls += rows->rows[i].calls;
    return calls;
}

void profile_frames_print(struct profile_frames *frames, FILE *stream, bool by_thread)
{
    const struct profile_report *report = profile_report_get(frames);
    if (!report) {
        profile_frames_lack_memory(frames, "there is no report");
        return;
    }
    char calls[NUMBER_BYTES];
    group_digits(calls_of(&report->all), calls);
    fprintf(stream, "Counted: %s calls in %zu contexts, %zu thread%s", calls,
            report->tree.node_count - report->tree.flat_count - 2, frames->threads.count,
            frames->threads.count == 1 ? "" : "s");
    if (frames->config.every > 1)
        fprintf(stream, "; one call in %" PRIu64 " was measured, numbers are estimates", frames->config.every);
    fputc('\n', stream);
    for (size_t e = 0; e < frames->event_count; e++)
        print_event(stream, report, &report->tree, e);
    if (report->tree.flat_count > 0)
        fprintf(stream,
                "  more than %zu contexts: in the others functions are known, callers are not; --count-limit keeps "
                "more apart\n",
                frames->config.limit);
    print_rows(stream, report, &report->tree, &report->all);
    for (size_t i = 0; i < frames->threads.count && by_thread; i++) {
        const struct profile_thread_result *thread = vec_at(&frames->threads, i);
        group_digits(calls_of(&report->threads[i]), calls);
        fprintf(stream, "\nThread %" PRIu32 ": %s calls\n", thread->number, calls);
        for (size_t e = 0; e < frames->event_count; e++)
            print_event(stream, report, &thread->tree, e);
        print_rows(stream, report, &thread->tree, &report->threads[i]);
    }
}
