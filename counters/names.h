/* names: what the name of an event means to perf_event_open. The one door to libpfm4. */
#ifndef COUNTERS_NAMES_H
#define COUNTERS_NAMES_H

#include <stdbool.h>
#include <stdint.h>

/* Of a perf_event_attr, what a name determines. */
struct names_encoding {
    uint32_t type;
    uint64_t config;
    uint64_t config1;
    uint64_t config2;
    bool exclude_user;
    bool exclude_kernel;
    bool exclude_hv;
    bool exclude_guest;
    bool exclude_host;
};

/* Returns NULL with `encoding` filled, or why not, for a person, good for ever. */
const char *counters_names_encode(const char *name, struct names_encoding *encoding);

#endif
