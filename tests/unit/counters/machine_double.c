/* The made-up machine: perf_event_open as far as the library uses it. A descriptor is a real one, on /dev/null, since
 * the library closes it with close(2); an event whose descriptor was closed is found out by asking the system for it.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "machine_double.h"

struct machine machine;

enum { FIRST_FD = 100 };

void machine_reset(void)
{
    machine = (struct machine){
        .cpu = {.vendor = "GenuineIntel", .family = 6},
        .paranoid = 2,
        .is_privileged = true,
        .descriptors = MACHINE_EVENTS_MAX,
        .unit_cpu_counters = 6,
        .unit_can_run = 6,
        .has_user_reads = true,
    };
}

static void find_closed(void)
{
    for (int i = 0; i < MACHINE_EVENTS_MAX; i++) {
        struct machine_event *event = &machine.events[i];
        if (event->is_open && fcntl(FIRST_FD + i, F_GETFD) < 0) {
            event->is_open = false;
            machine.open_count--;
        }
    }
}

static bool is_cpu(const struct machine_event *event)
{
    return event->attr.type != PERF_TYPE_SOFTWARE;
}

static size_t unit_cpu_counters(int leader_fd)
{
    size_t count = 0;
    for (int i = 0; i < MACHINE_EVENTS_MAX; i++)
        count += machine.events[i].is_open && machine.events[i].leader_fd == leader_fd && is_cpu(&machine.events[i]);
    return count;
}

/* The error that the kernel would return; 0: none. */
static int refusal_of(const struct perf_event_attr *attr, int leader_fd)
{
    bool is_cpu = attr->type != PERF_TYPE_SOFTWARE;
    if (machine.refusal)
        return machine.refusal;
    if (!machine.is_privileged && machine.paranoid >= (attr->exclude_kernel ? 3 : 2))
        return EACCES;
    if (is_cpu && machine.no_cpu_event)
        return machine.no_cpu_event;
    if (attr->type == PERF_TYPE_RAW && machine.no_raw_event && attr->config == machine.no_raw_event)
        return EINVAL;
    if (is_cpu && leader_fd >= 0 && unit_cpu_counters(leader_fd) >= machine.unit_cpu_counters)
        return EINVAL;
    if (machine.descriptors == 0)
        return EMFILE;
    return 0;
}

int counters_machine_open(struct perf_event_attr *attr, int leader_fd)
{
    find_closed();
    int refusal = refusal_of(attr, leader_fd);
    if (refusal)
        return -refusal;
    int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
    int fd = fcntl(null, F_DUPFD_CLOEXEC, FIRST_FD);
    close(null);
    struct machine_event *event = &machine.events[fd - FIRST_FD];
    *event = (struct machine_event){.is_open = true, .leader_fd = leader_fd < 0 ? fd : leader_fd, .attr = *attr};
    event->page = (struct perf_event_mmap_page){.index = (uint32_t)(fd - FIRST_FD) + 1, .pmc_width = 48};
    event->page.cap_user_rdpmc = machine.has_user_reads && is_cpu(event);
    machine.open_count++;
    machine.descriptors--;
    return fd;
}

const struct perf_event_mmap_page *counters_machine_map(int fd)
{
    if (machine.refuses_maps)
        return NULL;
    machine.map_count++;
    return &machine.events[fd - FIRST_FD].page;
}

void counters_machine_unmap(const struct perf_event_mmap_page *page)
{
    machine.map_count--;
}

/* A leader's page has the times that read(2) returns, which is where the real kernel has them too. */
int counters_machine_switch(int leader_fd, bool is_on)
{
    find_closed();
    struct perf_event_mmap_page *page = &machine.events[leader_fd - FIRST_FD].page;
    page->time_enabled += is_on;
    page->time_running += is_on && unit_cpu_counters(leader_fd) <= machine.unit_can_run;
    return 0;
}

bool counters_machine_read(int fd, void *buffer, size_t size_bytes)
{
    find_closed();
    machine.kernel_reads++;
    uint64_t values[3 + MACHINE_EVENTS_MAX] = {0};
    struct machine_event *leader = &machine.events[fd - FIRST_FD];
    if (leader->attr.read_format == 0) { /* the probe for SpecLockMap */
        values[0] = machine.has_speclockmap ? machine.kernel_reads : 0;
        memcpy(buffer, values, size_bytes);
        return true;
    }
    bool runs = leader->page.time_running > 0;
    values[1] = leader->page.time_enabled + machine.enabled_ns;
    values[2] = leader->page.time_running + (runs ? machine.running_ns : 0);
    for (int i = 0; i < MACHINE_EVENTS_MAX; i++) {
        if (machine.events[i].is_open && machine.events[i].leader_fd == fd)
            values[3 + values[0]++] = machine.events[i].count;
    }
    size_t got = (3 + values[0]) * sizeof values[0];
    memcpy(buffer, values, got < size_bytes ? got : size_bytes);
    return got == size_bytes && !machine.loses_reads;
}

void counters_machine_cpu(struct counters_cpu *cpu)
{
    *cpu = machine.cpu;
}

int counters_machine_paranoid(void)
{
    return machine.paranoid;
}

bool counters_register_read(uint32_t number, uint64_t *value)
{
    machine.register_reads++;
    struct machine_event *event = &machine.events[number];
    *value = (event->count - (uint64_t)event->page.offset) & ((UINT64_C(1) << 48) - 1);
    return true;
}

struct machine_event *machine_find(uint32_t type, uint64_t config)
{
    find_closed();
    for (int i = 0; i < MACHINE_EVENTS_MAX; i++) {
        struct machine_event *event = &machine.events[i];
        if (event->is_open && event->attr.type == type && event->attr.config == config)
            return event;
    }
    return NULL;
}

void machine_take_index(struct machine_event *event)
{
    event->page.index = 0;
    event->page.lock += 2;
}
