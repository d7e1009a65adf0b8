/* The report's functions as CSV (RFC 4180): docs/formats/count-csv.md. */
#include <inttypes.h>

#include "profile/count.h"

static void write_text(FILE *stream, const char *text)
{
    fputc('"', stream);
    for (; *text; text++) {
        if (*text == '"')
            fputc('"', stream);
        fputc(*text, stream);
    }
    fputc('"', stream);
}

/* An event that was not counted leaves its fields empty. */
static void write_numbers(FILE *stream, const struct profile_report *report, const uint64_t *numbers)
{
    for (size_t e = 0; e < report->frames->event_count; e++) {
        fputc(',', stream);
        if (profile_event_counted(report, e))
            fprintf(stream, "%" PRIu64, numbers[e]);
    }
}

static void write_heads(FILE *stream, const struct profile_report *report, const char *which)
{
    for (size_t e = 0; e < report->frames->event_count; e++)
        fprintf(stream, ",\"%s %s\"", profile_event(report, e).name, which);
}

void profile_count_csv(FILE *stream, const struct profile_report *report, size_t weight)
{
    bool is_thinned = report->frames->config.every > 1;
    fputs("function,module,calls", stream);
    write_heads(stream, report, "self");
    write_heads(stream, report, "inclusive");
    if (is_thinned)
        write_heads(stream, report, "self error");
    fputs("\r\n", stream);
    for (size_t i = 0; i < report->all.count; i++) {
        const struct profile_row *row = &report->all.rows[i];
        write_text(stream, profile_row_name(row));
        fputc(',', stream);
        write_text(stream, row->function && row->function->module ? row->function->module : "");
        fprintf(stream, ",%" PRIu64, row->calls);
        write_numbers(stream, report, row->self);
        write_numbers(stream, report, row->inclusive);
        for (size_t e = 0; e < report->frames->event_count && is_thinned; e++)
            fprintf(stream, ",%.6g", row->error[e]);
        fputs("\r\n", stream);
    }
}
