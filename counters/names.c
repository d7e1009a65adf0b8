/* libpfm4, which knows the kernel's generic names, the raw form, and the names that each CPU's manual uses.
 *
 * Its header defines perf_event_attr and all that goes with it anew, so that no file can include it together with the
 * kernel's; hence a file of its own, and a structure that carries over what matters. Rejected: the files under
 * /sys/bus/event_source/devices/.../events, which name little more than the generic events, and a table of our own.
 *
 * perf writes several modifiers together (`:uk`), libpfm4 one by one (`:u:k`): the former is rewritten to the latter.
 * What perf's other letters ask for (precise samples, pinned events) is nothing for counting, and libpfm4 refuses it.
 */
#include <perfmon/pfmlib_perf_event.h>
#include <string.h>

#include "counters/names.h"

#define NAME_BYTES_MAX 256

/* Copies `name` to `spelled` as libpfm4 takes it. False: too long. */
static bool spell(const char *name, char spelled[NAME_BYTES_MAX])
{
    if (strlen(name) >= NAME_BYTES_MAX / 2)
        return false;
    const char *last = strrchr(name, ':');
    if (!last || !last[1] || strspn(last + 1, "ukh") != strlen(last + 1)) {
        strcpy(spelled, name);
        return true;
    }
    size_t used = (size_t)(last - name);
    memcpy(spelled, name, used);
    for (const char *modifier = last + 1; *modifier; modifier++) {
        spelled[used++] = ':';
        spelled[used++] = *modifier;
    }
    spelled[used] = '\0';
    return true;
}

const char *counters_names_encode(const char *name, struct names_encoding *encoding)
{
    char spelled[NAME_BYTES_MAX];
    if (!spell(name, spelled))
        return "the name is too long";
    struct perf_event_attr attr = {.size = sizeof attr};
    pfm_perf_encode_arg_t argument = {.attr = &attr, .size = sizeof argument};
    int status = pfm_initialize();
    if (status == PFM_SUCCESS)
        status = pfm_get_os_event_encoding(spelled, PFM_PLM0 | PFM_PLM3, PFM_OS_PERF_EVENT, &argument);
    if (status != PFM_SUCCESS)
        return pfm_strerror(status);
    *encoding = (struct names_encoding){.type = attr.type,
                                        .config = attr.config,
                                        .config1 = attr.config1,
                                        .config2 = attr.config2,
                                        .exclude_user = attr.exclude_user,
                                        .exclude_kernel = attr.exclude_kernel,
                                        .exclude_hv = attr.exclude_hv,
                                        .exclude_guest = attr.exclude_guest,
                                        .exclude_host = attr.exclude_host};
    return NULL;
}
