/* The events of a set, counting for one thread.
 *
 *     set      instructions:u   cycles:u   page-faults   wall-clock
 *                    |             |            |            |
 *     units     [ counter       counter ]   [ counter ]    vDSO
 *                  leader
 *
 * The kernel counts the members of a unit (which it calls a group) together or not at all, so their counts are of the
 * same stretch of time, and one read(2) returns all of them. Each CPU event joins the unit of the one before it as
 * long as the kernel takes it there and the unit then counts. The latter is tried at once, since the kernel also takes
 * units that can never run: on aarch64 it allows for one counter too many, on x86 it forgets the one that the NMI
 * watchdog has. An event that does not fit begins the next unit, and then the kernel gives the units their turns.
 * Software events are a unit of their own: they have no register that user space could read, and among CPU events they
 * would make each reading a system call.
 *
 * Only the leader is ever stopped and started, since the rest follow it. The kernel's request to start a whole group
 * starts its members one by one, and whoever is first counts more.
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

const struct perf_event_mmap_page counters_no_page;

/* These tick in user space and kernel alike, whatever is excluded. */
static bool is_clock(const struct perf_event_attr *attr)
{
    return attr->type == PERF_TYPE_SOFTWARE && (attr->config == PERF_COUNT_SW_TASK_CLOCK ||
                                                attr->config == PERF_COUNT_SW_CPU_CLOCK);
}

/* Opens an event as near to what is asked as the machine allows. Returns a descriptor or a negative errno. */
static int open_event(const struct perf_event_attr *wanted, int leader_fd, bool *is_user_only)
{
    struct perf_event_attr attr = *wanted;
    attr.disabled = leader_fd < 0;
#if defined(__aarch64__)
    bool is_cpu = attr.type != PERF_TYPE_SOFTWARE && attr.type != PERF_TYPE_TRACEPOINT;
    attr.config1 = is_cpu ? 3 : 0;
#endif
    int fd;
    for (;;) {
        fd = counters_machine_open(&attr, leader_fd);
        if (fd == -EACCES && !attr.exclude_kernel && !attr.exclude_user && !counters_is_kernel_only(&attr))
            attr.exclude_kernel = true;
#if defined(__aarch64__)
        else if ((fd == -EOPNOTSUPP || fd == -EINVAL) && attr.config1 > 0)
            attr.config1--;
#endif
        else
            break;
    }
    *is_user_only = attr.exclude_kernel && !wanted->exclude_kernel && !is_clock(wanted);
    return fd;
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

static void remove_last_counter(struct counters_group *group)
{
    struct counter *counter = &group->counters[--group->counter_count];
    struct unit *unit = &group->units[group->unit_count - 1];
    if (counter->page != &counters_no_page)
        counters_machine_unmap(counter->page);
    close(counter->fd);
    if (--unit->counter_count == 0)
        group->unit_count--;
}

/* Whether the CPU counts the unit when it has nothing else to count. */
static bool fits(const struct unit *unit)
{
    struct reading before, after;
    int leader_fd = unit->counters[0].fd;
    bool is_read = read_unit(unit, &before) && counters_machine_switch(leader_fd, true) == 0 &&
                   counters_machine_switch(leader_fd, false) == 0 && read_unit(unit, &after);
    return is_read && (after.running_ns > before.running_ns || after.enabled_ns == before.enabled_ns);
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
    counter->page = group->set->events[event].source == COUNTERS_CPU ? counters_machine_map(fd) : NULL;
    if (!counter->page)
        counter->page = &counters_no_page;
    if (begins_unit) {
        *unit = (struct unit){.counters = counter};
        group->unit_count++;
    }
    unit->counter_count++;
    if (group->set->events[event].source == COUNTERS_CPU && !begins_unit && !fits(unit)) {
        remove_last_counter(group);
        return -ENOSPC;
    }
    group->outcomes[event].unit = (uint32_t)group->unit_count - 1;
    group->outcomes[event].is_user_only = is_user_only;
    return 0;
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
        const uint64_t *value = event->source == COUNTERS_EXTERNAL && externals ? externals[event->external] : NULL;
        if (value)
            group->places[group->place_count++] = (struct place){.value = value, .event = i};
        else if (event->source == COUNTERS_EXTERNAL)
            group->outcomes[i].failure = ENODATA;
    }
}

/* Events that are not counted read as 0. */
static void place_failed(struct counters_group *group)
{
    static const uint64_t nothing = 0;
    for (size_t i = 0; i < group->set->event_count; i++) {
        if (group->outcomes[i].failure != 0)
            group->places[group->place_count++] = (struct place){.value = &nothing, .event = i};
    }
}

static void start(struct unit *unit)
{
    struct reading trials;
    if (!read_unit(unit, &trials) || counters_machine_switch(unit->counters[0].fd, true) != 0) {
        unit->is_lost = true;
        return;
    }
    unit->tried_enabled_ns = trials.enabled_ns;
    unit->tried_running_ns = trials.running_ns;
}

int counters_group_open(const struct counters_set *set, const uint64_t *const *externals,
                        struct counters_group **group, struct counters_error *error)
{
    *group = NULL;
    size_t count = set->event_count;
    struct counters_group *made = calloc(1, sizeof *made + 2 * count * sizeof made->counters[0]);
    if (made) {
        *made = (struct counters_group){.set = set, .pid = getpid()};
        made->units = calloc(count, sizeof *made->units);
        made->outcomes = calloc(count, sizeof *made->outcomes);
        made->places = calloc(count, sizeof *made->places);
    }
    if (!made || !made->units || !made->outcomes || !made->places) {
        counters_group_close(made);
        return counters_fail(error, -ENOMEM, "counters: %s", strerror(ENOMEM));
    }
    for (size_t i = 0; i < count; i++) {
        if (set->events[i].source == COUNTERS_CLOCK) {
            made->has_clock = true;
            made->clock = i;
        }
    }
    open_externals(made, externals);
    open_events(made, COUNTERS_CPU);
    made->cpu_unit_count = made->unit_count;
    made->cpu_counter_count = made->counter_count;
    open_events(made, COUNTERS_KERNEL);
    made->has_rest = made->has_clock || made->unit_count > made->cpu_unit_count;
    place_failed(made);
    for (size_t i = 0; i < made->unit_count; i++)
        start(&made->units[i]);
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
        if (group->counters[i].page != &counters_no_page && has_pages)
            counters_machine_unmap(group->counters[i].page);
        close(group->counters[i].fd);
    }
    free(group->units);
    free(group->outcomes);
    free(group->places);
    free(group);
}

READ_INLINE void give(const struct counter *counter, uint64_t count, uint64_t *values)
{
    values[counter->event] = counter->is_subtracted ? values[counter->event] - count : count;
}

static bool read_pages(const struct unit *unit, uint64_t *values)
{
    for (size_t i = 0; i < unit->counter_count; i++) {
        uint64_t count;
        if (!counters_page_read(unit->counters[i].page, &count))
            return false;
        give(&unit->counters[i], count, values);
    }
    return true;
}

static void read_kernel(struct unit *unit, uint64_t *values)
{
    struct reading reading;
    unit->is_lost = unit->is_lost || !read_unit(unit, &reading);
    for (size_t i = 0; i < unit->counter_count; i++)
        give(&unit->counters[i], unit->is_lost ? 0 : reading.counts[i], values);
}

/* The units from number `first` on, each in user space where that can be, and the clock. */
__attribute__((noinline)) static void read_units(struct counters_group *group, size_t first, uint64_t *values)
{
    for (size_t i = first; i < group->unit_count; i++) {
        if (!read_pages(&group->units[i], values))
            read_kernel(&group->units[i], values);
    }
    if (group->has_clock) {
        struct timespec now;
        clock_gettime(CLOCK_MONOTONIC, &now);
        values[group->clock] = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
    }
}

/* Reads as if user space could read all of the CPU's, in one loop without a call, and starts anew where it cannot. */
void counters_read(struct counters_group *group, uint64_t *values)
{
    for (size_t i = 0; i < group->place_count; i++)
        values[group->places[i].event] = *group->places[i].value;
    const struct counter *end = group->counters + group->cpu_counter_count;
    for (const struct counter *counter = group->counters; counter < end; counter++) {
        uint64_t count;
        if (!counters_page_read(counter->page, &count)) {
            read_units(group, 0, values);
            return;
        }
        give(counter, count, values);
    }
    if (group->has_rest)
        read_units(group, group->cpu_unit_count, values);
}

/* Whether user space could read all of the unit just now. */
static bool is_readable(const struct unit *unit)
{
    uint64_t count;
    for (size_t i = 0; i < unit->counter_count; i++) {
        if (!counters_page_read(unit->counters[i].page, &count))
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
            state.enabled_ns = reading.enabled_ns - unit->tried_enabled_ns;
            state.running_ns = reading.running_ns - unit->tried_running_ns;
            state.is_read_by_page = is_readable(unit);
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
