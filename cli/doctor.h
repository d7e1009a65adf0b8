/* doctor: what the files of `glassbox doctor` share. A check tries the thing itself wherever it can, rather than
 * reading the settings that should allow it. */
#ifndef GLASSBOX_CLI_DOCTOR_H
#define GLASSBOX_CLI_DOCTOR_H

#include <stdbool.h>
#include <stddef.h>

enum doctor_status {
    DOCTOR_OK,
    DOCTOR_WARN, /* something is less than it could be; the guest's functions are seen all the same */
    DOCTOR_FAIL, /* something that --perf needs does not work */
};

struct doctor_result {
    enum doctor_status status;
    char detail[512]; /* may hold bytes that are not ours: escape it */
    char fix[512];    /* what to do or the command that does it; empty where there is nothing to mend */
};

struct doctor_context {
    const char *dump_dir;
    char perf_path[4096];    /* empty: none on the PATH */
    char perf_version[8192]; /* what `perf version --build-options` printed */
};

/* Each fills `result` whole. */
#define CHECK(ident, name) void doctor_check_##ident(struct doctor_context *context, struct doctor_result *result);
#include "cli/doctor.def"

/* Fills a result's status and detail. */
void doctor_say(struct doctor_result *result, enum doctor_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Fills a result's fix. */
void doctor_fix(struct doctor_result *result, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The number in a file of /proc/sys or /sys; false where there is none. */
bool doctor_read_number(const char *path, long *value);

#endif
