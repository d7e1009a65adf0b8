/* What a person should be told about a group before the numbers are believed.
 *
 * Each event gets its reason, events of one reason are named together, and all of it is one line, since a library that
 * degrades must not fill the screen either:
 *
 *     instructions:u, cycles:u: not counted: this machine has no such counter (...); task-clock: user space only: ...
 *
 * Every reason says what to do where something can be done.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "counters/internal.h"

struct line {
    char *text;
    size_t capacity;
    size_t length; /* as it would be without the capacity */
};

struct reason {
    char text[256]; /* "": there is nothing to tell */
};

__attribute__((format(printf, 2, 3))) static void append(struct line *line, const char *format, ...)
{
    size_t used = line->length < line->capacity ? line->length : line->capacity;
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(used < line->capacity ? line->text + used : NULL, line->capacity - used, format, arguments);
    va_end(arguments);
    line->length += length > 0 ? (size_t)length : 0;
}

static const char *failure_text(int failure)
{
    switch (failure) {
#define FAILURE(number, text) case number: return text;
#include "counters/failures.def"
#undef FAILURE
    default: return strerror(failure);
    }
}

/* What kernel.perf_event_paranoid must be for the event, and what it is. */
static struct reason paranoid_reason(const char *verdict, bool needs_kernel)
{
    struct reason reason;
    int level = counters_machine_paranoid();
    int enough = needs_kernel ? 1 : 2;
    if (level > enough)
        snprintf(reason.text, sizeof reason.text,
                 "%s: kernel.perf_event_paranoid is %d: sysctl kernel.perf_event_paranoid=%d, or add CAP_PERFMON",
                 verdict, level, enough);
    else
        snprintf(reason.text, sizeof reason.text, "%s: %s: add CAP_PERFMON", verdict, strerror(EACCES));
    return reason;
}

static struct reason reason_of(struct counters_group *group, size_t event)
{
    const struct event *asked = &group->set->events[event];
    struct counters_state state = counters_group_state(group, event);
    struct reason reason = {""};
    if (state.status == COUNTERS_UNAVAILABLE && state.failure == EACCES)
        return paranoid_reason("not counted", !asked->attr.exclude_kernel);
    if (state.status == COUNTERS_UNAVAILABLE)
        snprintf(reason.text, sizeof reason.text, "not counted: %s", failure_text(state.failure));
    else if (state.status == COUNTERS_NOT_COUNTED && group->cpu_unit_count == 1) /* else its turn may still come */
        snprintf(reason.text, sizeof reason.text, "not counted so far: the CPU's counters are taken: ask for fewer "
                                                  "events, or sysctl kernel.nmi_watchdog=0");
    else if (state.is_user_only)
        return paranoid_reason("user space only", true);
    else if (state.is_uncorrected)
        snprintf(reason.text, sizeof reason.text, "not corrected: no counter of interrupts could be had beside it");
    return reason;
}

static void append_turns(const struct counters_group *group, struct line *line)
{
    if (group->cpu_unit_count > 1)
        append(line, "%sthe CPU counts these events in %zu turns: counts are scaled", line->length ? "; " : "",
               group->cpu_unit_count);
}

size_t counters_group_explain(struct counters_group *group, char *text, size_t capacity)
{
    struct line line = {.text = text, .capacity = capacity};
    if (capacity > 0)
        text[0] = '\0';
    size_t count = group->set->event_count;
    for (size_t i = 0; i < count; i++) {
        struct reason reason = reason_of(group, i);
        bool is_told = reason.text[0] == '\0';
        for (size_t before = 0; before < i && !is_told; before++)
            is_told = strcmp(reason_of(group, before).text, reason.text) == 0;
        if (is_told)
            continue;
        append(&line, "%s%s", line.length ? "; " : "", group->set->events[i].name);
        for (size_t after = i + 1; after < count; after++) {
            if (strcmp(reason_of(group, after).text, reason.text) == 0)
                append(&line, ", %s", group->set->events[after].name);
        }
        append(&line, ": %s", reason.text);
    }
    append_turns(group, &line);
    if (group->cpu_unit_count > 0 && counters_cpu_has_speclockmap())
        append(&line, "%sthis CPU counts some instructions twice after atomic ones (SpecLockMap): counts vary by a few "
                      "unless firmware turns it off; https://github.com/rr-debugger/rr/wiki/Zen tells how",
               line.length ? "; " : "");
    return line.length < capacity ? line.length : capacity ? capacity - 1 : 0;
}
