/* A list of events, parsed.
 *
 * A name is looked for among the caller's own first, then among those that this library makes (wall-clock,
 * instructions-minus-irqs), and what is left is the system's: counters_names_encode says what the kernel calls it. The
 * result is a perf_event_attr that is ready to be opened.
 *
 * Names are kept as they were written, since they are what a reader looks for in a report.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "counters/internal.h"
#include "counters/names.h"

static const struct {
    const char *name;
    const char *unit;
} units[] = {
#define EVENT(name, unit) {name, unit},
#include "counters/events.def"
#undef EVENT
};

int counters_fail(struct counters_error *error, int status, const char *format, ...)
{
    if (error) {
        va_list arguments;
        va_start(arguments, format);
        vsnprintf(error->message, sizeof error->message, format, arguments);
        va_end(arguments);
    }
    return status;
}

/* Up to its modifiers. */
static bool has_base_name(const char *name, const char *base)
{
    size_t base_bytes = strcspn(name, ":");
    return base_bytes == strlen(base) && strncasecmp(name, base, base_bytes) == 0;
}

static const char *unit_of(const char *name)
{
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) {
        if (has_base_name(name, units[i].name))
            return units[i].unit;
    }
    return "events";
}

bool counters_is_kernel_only(const struct perf_event_attr *attr)
{
    return attr->type == PERF_TYPE_SOFTWARE && (attr->config == PERF_COUNT_SW_CONTEXT_SWITCHES ||
                                                attr->config == PERF_COUNT_SW_CPU_MIGRATIONS);
}

/* Makes event->attr of a name that is the system's. `name` is event->name or what it is made from. */
static int look_up(struct event *event, const char *name, struct counters_error *error)
{
    struct names_encoding named;
    const char *why_not = counters_names_encode(name, &named);
    if (why_not)
        return counters_fail(error, -EINVAL, "event %s: %s; perf list shows what there is", event->name, why_not);
    event->attr = (struct perf_event_attr){
        .type = named.type,
        .size = sizeof event->attr,
        .config = named.config,
        .config1 = named.config1,
        .config2 = named.config2,
        .exclude_user = named.exclude_user,
        .exclude_kernel = named.exclude_kernel,
        .exclude_hv = named.exclude_hv,
        .exclude_guest = named.exclude_guest,
        .exclude_host = named.exclude_host,
        .read_format = PERF_FORMAT_GROUP | PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING,
    };
    if (counters_is_kernel_only(&event->attr) && event->attr.exclude_kernel)
        return counters_fail(error, -EINVAL, "event %s: happens in the kernel only, so that :u would count none",
                             event->name);
    bool is_kernel = event->attr.type == PERF_TYPE_SOFTWARE || event->attr.type == PERF_TYPE_TRACEPOINT;
    event->source = is_kernel ? COUNTERS_KERNEL : COUNTERS_CPU;
    return 0;
}

static int parse_event(const char *name, const struct counters_external *externals, size_t external_count,
                       struct event *event, struct counters_error *error)
{
    *event = (struct event){.name = name, .unit = unit_of(name)};
    for (size_t i = 0; i < external_count; i++) {
        if (strcmp(name, externals[i].name) == 0) {
            event->source = COUNTERS_EXTERNAL;
            event->external = i;
            event->unit = externals[i].unit;
            return 0;
        }
    }
    if (strcmp(name, "wall-clock") == 0) {
        event->source = COUNTERS_CLOCK;
        return 0;
    }
    if (has_base_name(name, "instructions-minus-irqs")) {
        char plain[64];
        event->is_minus_irqs = true;
        snprintf(plain, sizeof plain, "instructions%s", name + strcspn(name, ":"));
        return look_up(event, plain, error);
    }
    return look_up(event, name, error);
}

/* Cuts the blanks from both ends, in place. */
static char *trim(char *name)
{
    name += strspn(name, " \t\n");
    size_t length = strlen(name);
    while (length > 0 && strchr(" \t\n", name[length - 1]))
        length--;
    name[length] = '\0';
    return name;
}

static int parse_list(struct counters_set *set, const struct counters_external *externals, size_t external_count,
                      struct counters_error *error)
{
    char *rest = set->names;
    for (char *name; (name = strsep(&rest, ","));) {
        name = trim(name);
        if (!*name)
            return counters_fail(error, -EINVAL, "the list of events has an empty name");
        for (size_t i = 0; i < set->event_count; i++) {
            if (strcmp(set->events[i].name, name) == 0)
                return counters_fail(error, -EINVAL, "event %s is in the list twice", name);
        }
        int status = parse_event(name, externals, external_count, &set->events[set->event_count], error);
        if (status != 0)
            return status;
        set->event_count++;
    }
    return 0;
}

int counters_set_create(const char *list, const struct counters_external *externals, size_t external_count,
                        struct counters_set **set, struct counters_error *error)
{
    *set = NULL;
    size_t name_count = 1;
    for (const char *comma = list; (comma = strchr(comma, ',')); comma++)
        name_count++;
    struct counters_set *made = calloc(1, sizeof *made + name_count * sizeof made->events[0]);
    char *names = strdup(list);
    if (!made || !names) {
        free(made);
        free(names);
        return counters_fail(error, -ENOMEM, "events: %s", strerror(ENOMEM));
    }
    made->names = names;
    int status = parse_list(made, externals, external_count, error);
    if (status != 0) {
        counters_set_destroy(made);
        return status;
    }
    *set = made;
    return 0;
}

void counters_set_destroy(struct counters_set *set)
{
    if (!set)
        return;
    free(set->names);
    free(set);
}

size_t counters_set_count(const struct counters_set *set)
{
    return set->event_count;
}

struct counters_event counters_set_event(const struct counters_set *set, size_t event)
{
    const struct event *found = &set->events[event];
    return (struct counters_event){.name = found->name, .unit = found->unit, .source = found->source};
}

const char *counters_source_name(enum counters_source source)
{
    static const char *const names[] = {
        [COUNTERS_CPU] = "cpu",
        [COUNTERS_KERNEL] = "kernel",
        [COUNTERS_CLOCK] = "clock",
        [COUNTERS_EXTERNAL] = "external",
    };
    return names[source];
}
