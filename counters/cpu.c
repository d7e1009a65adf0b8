/* What is known of CPUs that falsifies a count of instructions.
 *
 * Interrupts. On x86 each interrupt that arrives in user space is counted as one instruction of user space, most
 * likely the IRET that goes back there, so that counts of one and the same work differ by how often the clock ticked.
 * CPUs have an event that counts them; Intel's from Sandy Bridge on, AMD's under one number until Zen and another
 * since. aarch64 retires no instruction for an interrupt, so there is nothing to correct.
 *
 * SpecLockMap. Zen runs locked instructions speculatively, and counts again what ran twice: any count that follows an
 * atomic instruction may be too high by a few, more or fewer each time. Whether it is on can be seen from an event of
 * its own (0x25 with unit 8), which stays at 0 where firmware or a module has turned it off. This is how rr finds out.
 *
 * The numbers stand here and not in libpfm4's tables because they go by family, and a CPU that is newer than the
 * machine's libpfm4 is the usual case.
 */
#include <string.h>
#include <unistd.h>

#include "counters/internal.h"

static const struct {
    const char *vendor;
    unsigned first_family;
    uint64_t interrupts;
} interrupts_of[] = {
    /* The latest family first. */
    {"GenuineIntel", 6, 0x01cb}, /* HW_INTERRUPTS.RECEIVED */
    {"AuthenticAMD", 0x17, 0x2c}, /* LsIntTaken */
    {"AuthenticAMD", 0xf, 0xcf},  /* Interrupts Taken */
    {"HygonGenuine", 0x18, 0x2c},
};

uint64_t counters_cpu_interrupts(const struct counters_cpu *cpu)
{
    for (size_t i = 0; i < sizeof interrupts_of / sizeof interrupts_of[0]; i++) {
        if (strcmp(cpu->vendor, interrupts_of[i].vendor) == 0 && cpu->family >= interrupts_of[i].first_family)
            return interrupts_of[i].interrupts;
    }
    return 0;
}

bool counters_cpu_counts_interrupts(const struct counters_cpu *cpu)
{
    return cpu->vendor[0] != '\0';
}

bool counters_cpu_has_speclockmap(void)
{
    struct counters_cpu cpu;
    counters_machine_cpu(&cpu);
    bool is_zen = cpu.family >= 0x17 &&
                  (strcmp(cpu.vendor, "AuthenticAMD") == 0 || strcmp(cpu.vendor, "HygonGenuine") == 0);
    if (!is_zen)
        return false;
    struct perf_event_attr attr = {
        .type = PERF_TYPE_RAW, .size = sizeof attr, .config = 0x0825, .exclude_kernel = 1, .exclude_hv = 1};
    int fd = counters_machine_open(&attr, -1);
    if (fd < 0)
        return false;
    uint64_t before = 0, after = 0;
    bool is_read = counters_machine_read(fd, &before, sizeof before);
    volatile int locked = 0;
    for (int i = 0; i < 1000; i++)
        __atomic_fetch_add(&locked, 1, __ATOMIC_SEQ_CST);
    is_read = is_read && counters_machine_read(fd, &after, sizeof after);
    close(fd);
    return is_read && after != before;
}
