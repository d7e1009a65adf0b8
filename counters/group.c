/* The events of a set, counting for one thread.
 *
 *     set      instructions:u   cycles:u   page-faults   wall-clock
 *                    |             |            |            |
 *     units     [ counter       counter ]   [ counter ]    vDSO
 *                  leader
 *
 * The kernel counts the members of a unit (which it calls a group) together or not at all, so their counts are of the
 * same stretch of time, and one read(2) returns all of them. Each CPU event joins the unit of the one before it as
 * long as the kernel takes it there. One that does not fit begins the next unit, and then the kernel gives the units
 * their turns. Software events are a unit of their own: they have no register that user space could read, and
 * among CPU events they would make each reading a system call.
 *
 * Values are left as they were counted. Scaling them at each reading, by the times of that moment, would make a
 * counter that now and then runs backwards; sums are scaled at the end, by the times of the whole run.
 *
 * instructions-minus-irqs is two counters of one unit, of which the second is subtracted from the first.
 *
 * What is opened with the kernel included and refused for that (EACCES) is opened again for user space alone. Events
 * that happen in the kernel only are not: the kernel would take them, and count none.
 *
 * aarch64. The kernel wants to be told in config1 that user space will read a counter (2) and that it shall be 64 bits
 * wide (1), and refuses what the CPU or kernel.perf_user_access does not allow, so less and less is asked for.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "counters/internal.h"
#include "counters/page.h"

/* For how long the kernel lets a unit count before it is another's turn, where nobody has changed that: 4 ms on x86 at
 * 250 Hz, a tick elsewhere. */
#define TURN_NS 4000000.0

/* Opens an event as near to what is asked as the machine allows. Returns a descriptor or a negative errno. */
static int open_event(const struct perf_event_attr *wanted, int leader_fd, bool *is_user_only)
{
    struct perf_event_attr attr = *wanted;
    attr.disabled = leader_fd < 0;
    *is_user_only = false;
#if defined(__aarch64__)
    bool is_cpu = attr.type != PERF_TYPE_SOFTWARE && attr.type != PERF_TYPE_TRACEPOINT;
    attr.config1 = is_cpu ? 3 : 0;
#endif
    for (;;) {
        int fd = counters_machine_open(&attr, leader_fd);
        if (fd == -EACCES && !attr.exclude_kernel && !attr.exclude_user && !counters_is_kernel_only(&attr))
            attr.exclude_kernel = *is_user_only = true;
#if defined(__aarch64__)
        else if ((fd == -EOPNOTSUPP || fd == -EINVAL) && attr.config1 > 0)
            attr.config1--;
#endif
        else
            return fd;
    }
}

/* Gives `event` another counter in the last unit, or in a new one. Returns 0 or a negative errno. */
static int add_counter(struct counters_group *group, const struct perf_event_attr *attr, uint32_t event,
                       bool begins_unit, bool is_subtracted)
{
    struct unit *unit = &group->units[group->unit_count - !begins_unit];
    if (!begins_unit && unit->counter_count == UNIT_COUNTERS_MAX)
        return -ENOSPC;
    bool is_user_only;
    int fd = open_event(attr, begins_unit ? -1 : unit->counters[0].fd, &is_user_only);
    if (fd < 0)
        return fd;
    struct counter *counter = &group->counters[group->counter_count++];
    *counter = (struct counter){.fd = fd, .event = event, .is_subtracted = is_subtracted};
    if (begins_unit) {
        *unit = (struct unit){.counters = counter, .is_mapped = true};
        group->unit_count++;
    }
    unit->counter_count++;
    if (group->set->events[event].source == COUNTERS_CPU)
        counter->page = counters_machine_map(fd);
    unit->is_mapped = unit->is_mapped && counter->page;
    group->outcomes[event].unit = (uint32_t)group->unit_count - 1;
    group->outcomes[event].is_user_only = is_user_only;
    return 0;
}

static void remove_last_counter(struct counters_group *group)
{
    struct counter *counter = &group->counters[--group->counter_count];
    struct unit *unit = &group->units[group->unit_count - 1];
    if (counter->page)
        counters_machine_unmap(counter->page);
    close(counter->fd);
    if (--unit->counter_count == 0)
        group->unit_count--;
}

/* The second counter of instructions-minus-irqs. */
static int add_interrupts(struct counters_group *group, uint32_t event)
{
    struct counters_cpu cpu;
    counters_machine_cpu(&cpu);
    if (!counters_cpu_counts_interrupts(&cpu))
        return 0;
    struct perf_event_attr attr = group->set->events[event].attr;
    attr.type = PERF_TYPE_RAW;
    attr.config = counters_cpu_interrupts(&cpu);
    attr.exclude_kernel |= group->outcomes[event].is_user_only;
    return attr.config ? add_counter(group, &attr, event, false, true) : -ENOENT;
}

static bool is_for_want_of_room(int status)
{
    return status == -EINVAL || status == -ENOSPC;
}

/* Opens what `event` needs in the last unit, where it is of this kind and there is room, else in a new one. */
static int add_event(struct counters_group *group, uint32_t event, bool begins_unit)
{
    const struct event *wanted = &group->set->events[event];
    struct outcome *outcome = &group->outcomes[event];
    int status = add_counter(group, &wanted->attr, event, begins_unit, false);
    if (status == 0 && wanted->is_minus_irqs) {
        int interrupts = add_interrupts(group, event);
        bool is_user_only = outcome->is_user_only;
        if (is_for_want_of_room(interrupts) && !begins_unit) {
            remove_last_counter(group);
            status = interrupts;
        }
        outcome->is_uncorrected = interrupts != 0;
        outcome->is_user_only = is_user_only;
    }
    if (is_for_want_of_room(status) && !begins_unit)
        return add_event(group, event, true);
    return status;
}

static void open_events(struct counters_group *group, enum counters_source source)
{
    size_t first_unit = group->unit_count;
    for (uint32_t i = 0; i < group->set->event_count; i++) {
        if (group->set->events[i].source == source)
            group->outcomes[i].failure = -add_event(group, i, group->unit_count == first_unit);
    }
}

static void open_externals(struct counters_group *group, const uint64_t *const *externals)
{
    for (size_t i = 0; i < group->set->event_count; i++) {
        const struct event *event = &group->set->events[i];
        if (event->source == COUNTERS_EXTERNAL) {
            group->externals[i] = externals ? externals[event->external] : NULL;
            group->outcomes[i].failure = group->externals[i] ? 0 : ENODATA;
        }
        if (event->source == COUNTERS_CLOCK)
            group->clock = i;
    }
}

int counters_group_open(const struct counters_set *set, const uint64_t *const *externals,
                        struct counters_group **group, struct counters_error *error)
{
    *group = NULL;
    size_t count = set->event_count;
    struct counters_group *made = calloc(1, sizeof *made + 2 * count * sizeof made->counters[0]);
    if (made) {
        *made = (struct counters_group){.set = set, .pid = getpid(), .clock = count};
        made->units = calloc(count, sizeof *made->units);
        made->outcomes = calloc(count, sizeof *made->outcomes);
        made->externals = calloc(count, sizeof *made->externals);
    }
    if (!made || !made->units || !made->outcomes || !made->externals) {
        counters_group_close(made);
        return counters_fail(error, -ENOMEM, "counters: %s", strerror(ENOMEM));
    }
    open_externals(made, externals);
    open_events(made, COUNTERS_KERNEL);
    open_events(made, COUNTERS_CPU);
    for (size_t i = 0; i < made->unit_count; i++)
        made->units[i].is_lost = counters_machine_enable(made->units[i].counters[0].fd) != 0;
    *group = made;
    return 0;
}

void counters_group_close(struct counters_group *group)
{
    if (!group)
        return;
    /* A forked child has the descriptors but not the pages, and something of its own may be where they were. */
    bool has_pages = group->pid == getpid();
    for (size_t i = group->counter_count; i-- > 0;) {
        if (group->counters[i].page && has_pages)
            counters_machine_unmap(group->counters[i].page);
        close(group->counters[i].fd);
    }
    free(group->units);
    free(group->outcomes);
    free(group->externals);
    free(group);
}

static void give(const struct counter *counter, uint64_t count, uint64_t *values)
{
    values[counter->event] = counter->is_subtracted ? values[counter->event] - count : count;
}

static bool read_pages(const struct unit *unit, uint64_t *values)
{
    if (!unit->is_mapped)
        return false;
    for (size_t i = 0; i < unit->counter_count; i++) {
        uint64_t count;
        if (!counters_page_read(unit->counters[i].page, counters_register_read, &count))
            return false;
        give(&unit->counters[i], count, values);
    }
    return true;
}

/* What read(2) returns of a unit, with PERF_FORMAT_GROUP and both times. */
struct reading {
    uint64_t count;
    uint64_t enabled_ns;
    uint64_t running_ns;
    uint64_t counts[UNIT_COUNTERS_MAX];
};

static bool read_unit(const struct unit *unit, struct reading *reading)
{
    size_t size_bytes = offsetof(struct reading, counts) + unit->counter_count * sizeof reading->counts[0];
    return counters_machine_read(unit->counters[0].fd, reading, size_bytes) && reading->count == unit->counter_count;
}

static void read_kernel(struct unit *unit, uint64_t *values)
{
    struct reading reading;
    unit->is_lost = unit->is_lost || !read_unit(unit, &reading);
    for (size_t i = 0; i < unit->counter_count; i++)
        give(&unit->counters[i], unit->is_lost ? 0 : reading.counts[i], values);
}

void counters_read(struct counters_group *group, uint64_t *values)
{
    for (size_t i = 0; i < group->set->event_count; i++)
        values[i] = group->externals[i] ? *group->externals[i] : 0;
    if (group->clock < group->set->event_count) {
        struct timespec now;
        clock_gettime(CLOCK_MONOTONIC, &now);
        values[group->clock] = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
    }
    for (size_t i = 0; i < group->unit_count; i++) {
        if (!read_pages(&group->units[i], values))
            read_kernel(&group->units[i], values);
    }
}

/* Whether user space could read all of the unit just now. */
static bool is_read_by_page(const struct unit *unit)
{
    if (!unit->is_mapped)
        return false;
    for (size_t i = 0; i < unit->counter_count; i++) {
        uint64_t count;
        if (!counters_page_read(unit->counters[i].page, counters_register_read, &count))
            return false;
    }
    return true;
}

/* The turns that the event has had are a sample, without replacement, of all that there were. Its mean stands for
 * theirs with a standard error of deviation * sqrt((1 - share) / turns), and the deviation is taken to be as large as
 * the mean. */
static double relative_error(uint64_t enabled_ns, uint64_t running_ns)
{
    double share = (double)running_ns / (double)enabled_ns;
    return sqrt((1 - share) / fmax(1, (double)running_ns / TURN_NS));
}

struct counters_state counters_group_state(struct counters_group *group, size_t event)
{
    const struct outcome *outcome = &group->outcomes[event];
    struct counters_state state = {.status = COUNTERS_EXACT,
                                   .is_user_only = outcome->is_user_only,
                                   .is_uncorrected = outcome->is_uncorrected,
                                   .failure = outcome->failure};
    enum counters_source source = group->set->events[event].source;
    if (state.failure == 0 && (source == COUNTERS_CPU || source == COUNTERS_KERNEL)) {
        struct unit *unit = &group->units[outcome->unit];
        struct reading reading;
        unit->is_lost = unit->is_lost || !read_unit(unit, &reading);
        if (unit->is_lost) {
            state.failure = EIO;
        } else {
            state.enabled_ns = reading.enabled_ns;
            state.running_ns = reading.running_ns;
            state.is_read_by_page = is_read_by_page(unit);
        }
        if (state.running_ns == 0) {
            state.status = COUNTERS_NOT_COUNTED;
        } else if (state.running_ns < state.enabled_ns) {
            state.status = COUNTERS_SCALED;
            state.relative_error = relative_error(state.enabled_ns, state.running_ns);
        }
    }
    if (state.failure != 0)
        state.status = COUNTERS_UNAVAILABLE;
    return state;
}

uint64_t counters_scale(const struct counters_state *state, uint64_t value)
{
    if (state->status != COUNTERS_SCALED)
        return value;
    return (uint64_t)((unsigned __int128)value * state->enabled_ns / state->running_ns);
}

const char *counters_status_name(enum counters_status status)
{
    static const char *const names[] = {
        [COUNTERS_EXACT] = "exact",
        [COUNTERS_SCALED] = "scaled",
        [COUNTERS_NOT_COUNTED] = "not counted",
        [COUNTERS_UNAVAILABLE] = "unavailable",
    };
    return names[status];
}
