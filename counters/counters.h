/* counters.h: count what a thread does, exactly, between any two points of its run: instructions, cycles, cache
 * misses, page faults, time. The one header of libcounters. Serves any interpreter, runtime or benchmark; needs libc
 * and libpfm4 (for the names of events).
 *
 *     struct counters_set *set;
 *     struct counters_error error;
 *     if (counters_set_create("instructions:u,cycles:u,page-faults,wall-clock", NULL, 0, &set, &error) != 0)
 *         return warn(error.message);                              // a name that nobody knows
 *     struct counters_group *group;
 *     if (counters_group_open(set, NULL, &group, &error) != 0)      // in each thread that shall be counted
 *         return warn(error.message);                              // no memory; never a lack of counters
 *     char text[COUNTERS_MESSAGE_BYTES];
 *     if (counters_group_explain(group, text, sizeof text) != 0)
 *         warn(text);                                              // once: what is not counted, and why
 *
 *     uint64_t before[4], after[4];
 *     counters_read(group, before);
 *     work();
 *     counters_read(group, after);
 *
 *     struct counters_state state = counters_group_state(group, 0);
 *     uint64_t instructions = counters_scale(&state, after[0] - before[0]);
 *     counters_group_close(group);
 *     counters_set_destroy(set);
 *
 * Events of a list, separated by commas (blanks around a name are ignored; a name twice is refused):
 *
 *     instructions, cycles, cache-misses, L1-dcache-load-misses, ...   the CPU's counters, by libpfm4's names
 *     r01c2                                                            a raw event, in hexadecimal
 *     task-clock, cpu-clock, page-faults, context-switches, ...        the kernel's own
 *     instructions-minus-irqs                                          instructions less one for each interrupt
 *     wall-clock                                                       CLOCK_MONOTONIC
 *     anything registered as external                                  a counter of the caller's own
 *
 * Each but the last two takes `:u` and `:k` (and libpfm4's own modifiers): count in user space or kernel only, as in
 * perf. Without either both are counted where that is allowed, else user space alone, and state.is_user_only tells.
 *
 * Reading. Where kernel and CPU allow (x86-64: rdpmc; aarch64: kernel.perf_user_access=1), the CPU's counters are
 * read in user space by the protocol of perf's mapped page, some 25 ns an event; else by one read(2) for all of
 * them, some 1 us. Which, is decided again at each reading. The kernel's own events always take a read(2), shared by
 * all of them.
 *
 * Too many events. Those that the CPU cannot count together it counts in turns. Their values are what was counted
 * while they had their turn: scale the sums that you make of them, with counters_scale.
 *
 * Threads. A set never changes and may be shared. A group belongs to the thread that opened it: it counts that thread
 * only, and only that thread may read it, ask for its state, or close it. counters_set_create is not to be called by
 * two threads at once, nor beside other uses of libpfm4, whose state is the process's.
 *
 * fork. A child's group counts nothing and must not be read; closing it is all right.
 *
 * Signals. counters_read may be called from a signal handler of the owning thread; nothing else may.
 */
#ifndef COUNTERS_H
#define COUNTERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

struct counters_set;
struct counters_group;

/* One line of text for a person, NUL-terminated. */
struct counters_error {
    char message[512];
};

/* Enough for counters_group_explain whatever happens, short of hundreds of events. */
#define COUNTERS_MESSAGE_BYTES 2048

/* ---- a set: which events ---- */

enum counters_source {
    COUNTERS_CPU,      /* the PMU's */
    COUNTERS_KERNEL,   /* the kernel's software events and tracepoints */
    COUNTERS_CLOCK,    /* wall-clock */
    COUNTERS_EXTERNAL, /* the caller's */
};

/* "cpu", "kernel", "clock", "external". */
const char *counters_source_name(enum counters_source source);

struct counters_event {
    const char *name; /* as in the list; lives as long as the set */
    const char *unit; /* "instructions", "cycles", "ns", ..., "events" where nothing better is known */
    enum counters_source source;
};

/* A counter that the caller keeps. */
struct counters_external {
    const char *name; /* never a prefix match: the whole name */
    const char *unit;
};

/* Parses `list`. Nothing is opened. `externals` (`external_count` of them) are names that the list may hold beside the
 * system's; they go first. The array is borrowed for the call, the strings in it for the life of the set.
 *
 * Returns 0 with *set set, which counters_set_destroy frees. Or a negative errno with *set NULL and `error` filled
 * (it may be NULL): -EINVAL an empty list, an unknown or doubled name, an unknown modifier; -ENOMEM. */
int counters_set_create(const char *list, const struct counters_external *externals, size_t external_count,
                        struct counters_set **set, struct counters_error *error) __attribute__((warn_unused_result));

/* NULL: nothing happens. All groups of the set must be closed. */
void counters_set_destroy(struct counters_set *set);

/* At least 1. Events are numbered in the order of the list. */
size_t counters_set_count(const struct counters_set *set);

struct counters_event counters_set_event(const struct counters_set *set, size_t event);

/* ---- a group: the events of a set, counting for one thread ---- */

/* Begins to count for the calling thread. An event that cannot be counted is no failure: its value stays 0 and its
 * state tells. `externals` holds one pointer for each external that was registered (not only those in the list), in
 * that order: to where the caller counts for this thread, good until the group is closed, written by this thread
 * only. NULL where none was registered; a NULL in it: that one is not counted here.
 *
 * Returns 0 with *group set, which counters_group_close frees; or -ENOMEM with *group NULL and `error` filled (it may
 * be NULL). */
int counters_group_open(const struct counters_set *set, const uint64_t *const *externals,
                        struct counters_group **group, struct counters_error *error)
    __attribute__((warn_unused_result));

/* NULL: nothing happens. */
void counters_group_close(struct counters_group *group);

/* Writes the count of each event since the group was opened, counters_set_count of them. A value never decreases,
 * except that of an external, which is the caller's, and of instructions-minus-irqs, which may by a few. Keeps errno.
 * What it costs itself is in the counts that follow: read twice in a row to learn that. */
void counters_read(struct counters_group *group, uint64_t *values);

enum counters_status {
    COUNTERS_EXACT,       /* counted all the time */
    COUNTERS_SCALED,      /* counted in turns with others: values are to be scaled */
    COUNTERS_NOT_COUNTED, /* was never counted so far: the value 0 means nothing */
    COUNTERS_UNAVAILABLE, /* cannot be counted: the value 0 means nothing */
};

/* "exact", "scaled", "not counted", "unavailable". */
const char *counters_status_name(enum counters_status status);

/* How an event fared in this group until now. */
struct counters_state {
    enum counters_status status;
    uint64_t enabled_ns; /* how long the thread ran */
    uint64_t running_ns; /* for how much of that the event was counted; no more than enabled_ns */
    double relative_error; /* SCALED: standard error of the thread's scaled total as a share of it, where the rate
                            * varies, from one turn to the next, by as much as it is large. EXACT: 0 */
    bool is_user_only;     /* asked for user space and kernel, given user space */
    bool is_uncorrected;   /* instructions-minus-irqs: plain instructions, since the CPU cannot count interrupts */
    bool is_read_by_page;  /* at present the value is read in user space */
    int failure;           /* UNAVAILABLE: a positive errno; else 0 */
};

/* For a total: makes one system call. */
struct counters_state counters_group_state(struct counters_group *group, size_t event);

/* `value`, a count or a sum of differences of counts, as it would be had the event been counted all the time. */
uint64_t counters_scale(const struct counters_state *state, uint64_t value);

/* Writes, NUL-terminated and cut at `capacity`, one line that names each event that is not counted, or not as asked
 * for, with the reason and what to do about it; and a fault that this CPU is known to have with an event of the set.
 * Returns its length; 0: there is nothing to tell. Opens a counter or two of its own for the latter, so ask once, of
 * the first group. */
size_t counters_group_explain(struct counters_group *group, char *text, size_t capacity);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
