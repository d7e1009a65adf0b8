/* counters/names.c without libpfm4, for a program that is built for another machine than this one: the few names that
 * library.c uses.
 */
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>

#include "counters/names.h"

static const struct {
    const char *name;
    uint32_t type;
    uint64_t config;
} known[] = {
    {"instructions", PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS},
    {"cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES},
    {"page-faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS},
};

const char *counters_names_encode(const char *name, struct names_encoding *encoding)
{
    size_t name_bytes = strcspn(name, ":");
    *encoding = (struct names_encoding){.exclude_kernel = strcmp(name + name_bytes, ":u") == 0};
    if (name[0] == 'r') {
        encoding->type = PERF_TYPE_RAW;
        encoding->config = strtoull(name + 1, NULL, 16);
        return NULL;
    }
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        if (strlen(known[i].name) == name_bytes && strncmp(name, known[i].name, name_bytes) == 0) {
            encoding->type = known[i].type;
            encoding->config = known[i].config;
            return NULL;
        }
    }
    return "not a name of names_double.c";
}
