/* What the files of libcounters share. */
#ifndef COUNTERS_INTERNAL_H
#define COUNTERS_INTERNAL_H

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "counters/counters.h"

/* ---- set.c ---- */

struct event {
    const char *name;
    const char *unit;
    enum counters_source source;
    bool is_minus_irqs;
    size_t external;             /* EXTERNAL: its number among those registered */
    struct perf_event_attr attr; /* CPU, KERNEL */
};

struct counters_set {
    char *names; /* the list, cut into names */
    size_t event_count;
    struct event events[];
};

/* Whether the event happens only inside the kernel, so that to exclude the kernel is to exclude the event. */
bool counters_is_kernel_only(const struct perf_event_attr *attr);

/* Fills `error` (may be NULL) and returns `status`, a negative errno. */
int counters_fail(struct counters_error *error, int status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* ---- group.c ---- */

/* One perf event. */
struct counter {
    const struct perf_event_mmap_page *page; /* &counters_no_page: not mapped */
    int fd;
    uint32_t event;
    bool is_subtracted; /* from the event's value, which an earlier counter of the unit gives */
};

/* A page that says of itself that user space cannot read by it. */
extern const struct perf_event_mmap_page counters_no_page;

/* How many counters are read by one read(2) at most. No CPU counts so many at once. */
#define UNIT_COUNTERS_MAX 32

/* A group as the kernel means it: counted together or not at all. Its counters are neighbours, the leader first. */
struct unit {
    struct counter *counters;
    size_t counter_count;
    bool is_lost; /* reading has failed */
    uint64_t tried_enabled_ns; /* the times of the trials, before counting began */
    uint64_t tried_running_ns;
};

/* What opening an event came to. */
struct outcome {
    int failure;       /* a positive errno; 0: it counts */
    uint32_t unit;     /* CPU, KERNEL */
    bool is_user_only;
    bool is_uncorrected;
};

/* An event whose value lies in memory: an external, or one that is not counted. */
struct place {
    const uint64_t *value;
    size_t event;
};

struct counters_group {
    const struct counters_set *set;
    pid_t pid; /* who opened it, and not a forked child */
    bool has_clock;
    bool has_rest; /* a clock, or units that are not the CPU's */
    size_t clock;  /* the number of wall-clock */
    size_t place_count;
    struct place *places;     /* this and the next two have room for one for each event */
    struct outcome *outcomes; /* by event */
    struct unit *units;       /* the CPU's, then the kernel's */
    size_t unit_count;
    size_t cpu_unit_count;
    size_t counter_count;
    size_t cpu_counter_count;
    struct counter counters[]; /* room for two for each event; in the order of the units */
};

/* ---- cpu.c ---- */

struct counters_cpu {
    char vendor[13]; /* as cpuid spells it; "" on other architectures */
    unsigned family;
};

/* The raw event that counts interrupts; 0: none is known. */
uint64_t counters_cpu_interrupts(const struct counters_cpu *cpu);

/* Whether an interrupt adds to the count of instructions. */
bool counters_cpu_counts_interrupts(const struct counters_cpu *cpu);

/* Whether this CPU is one that may have the fault, and has it. */
bool counters_cpu_has_speclockmap(void);

/* ---- machine.c: all that is asked of the machine, in one place, so that tests can be the machine ---- */

/* perf_event_open for the calling thread on any CPU. Returns a descriptor or a negative errno. */
int counters_machine_open(struct perf_event_attr *attr, int leader_fd);
/* NULL: not allowed. */
const struct perf_event_mmap_page *counters_machine_map(int fd);
void counters_machine_unmap(const struct perf_event_mmap_page *page);
/* Starts or stops the leader and, with it, all that follow it. Returns 0 or a negative errno. */
int counters_machine_switch(int leader_fd, bool is_on);
/* False: not all of it could be read. Keeps errno. */
bool counters_machine_read(int fd, void *buffer, size_t size_bytes);
void counters_machine_cpu(struct counters_cpu *cpu);
/* kernel.perf_event_paranoid, or -1 where it cannot be read. */
int counters_machine_paranoid(void);

#endif
