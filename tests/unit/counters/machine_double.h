/* A machine that a test makes up, in place of counters/machine.c and counters/register.h. */
#ifndef MACHINE_DOUBLE_H
#define MACHINE_DOUBLE_H

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "counters/internal.h"
#include "counters/register.h"

enum { MACHINE_EVENTS_MAX = 64 };

struct machine_event {
    bool is_open;
    int leader_fd; /* its own for a leader */
    struct perf_event_attr attr;
    uint64_t count; /* a test sets it, for read(2) and, less page.offset, for the register */
    struct perf_event_mmap_page page;
};

struct machine {
    /* What it is like. */
    struct counters_cpu cpu;
    int paranoid;
    bool is_privileged;
    int refusal;              /* a positive errno for every opening; 0: none */
    int no_cpu_event;         /* ENOENT where there is no PMU */
    uint64_t no_raw_event;    /* this raw event is EINVAL; 0: none */
    int descriptors;          /* how many are left before EMFILE */
    size_t unit_cpu_counters; /* more in one unit are EINVAL */
    size_t unit_can_run;      /* a unit with more is taken and never runs */
    bool has_user_reads;
    bool refuses_maps;
    bool loses_reads;
    bool has_speclockmap;
    uint64_t enabled_ns, running_ns; /* of every unit that runs, on top of 1 for each start */
    /* What became of it. */
    struct machine_event events[MACHINE_EVENTS_MAX]; /* by descriptor, less the first one */
    size_t open_count;
    size_t map_count;
    size_t kernel_reads;
    size_t register_reads;
};

extern struct machine machine;

/* A machine where everything can be counted by one who may. */
void machine_reset(void);
/* The open event of this type and config, or NULL. */
struct machine_event *machine_find(uint32_t type, uint64_t config);
/* From now on only read(2) can read it. */
void machine_take_index(struct machine_event *event);

#endif
