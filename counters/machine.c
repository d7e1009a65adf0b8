/* What the library asks of the machine. Each function is one system call or one question, and nothing is decided here,
 * so that a test can be linked with another machine in this file's place: one that refuses, one with few counters, one
 * whose pages hold what the test wants.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include "counters/internal.h"

int counters_machine_open(struct perf_event_attr *attr, int leader_fd)
{
    long fd = syscall(SYS_perf_event_open, attr, 0, -1, leader_fd, PERF_FLAG_FD_CLOEXEC);
    return fd < 0 ? -errno : (int)fd;
}

const struct perf_event_mmap_page *counters_machine_map(int fd)
{
    void *page = mmap(NULL, (size_t)sysconf(_SC_PAGESIZE), PROT_READ, MAP_SHARED, fd, 0);
    return page == MAP_FAILED ? NULL : page;
}

void counters_machine_unmap(const struct perf_event_mmap_page *page)
{
    munmap((void *)(uintptr_t)page, (size_t)sysconf(_SC_PAGESIZE));
}

int counters_machine_switch(int leader_fd, bool is_on)
{
    unsigned long request = is_on ? PERF_EVENT_IOC_ENABLE : PERF_EVENT_IOC_DISABLE;
    return ioctl(leader_fd, request, 0) == 0 ? 0 : -errno;
}

bool counters_machine_read(int fd, void *buffer, size_t size_bytes)
{
    int kept = errno;
    ssize_t got;
    do
        got = read(fd, buffer, size_bytes);
    while (got < 0 && errno == EINTR);
    errno = kept;
    return got == (ssize_t)size_bytes;
}

void counters_machine_cpu(struct counters_cpu *cpu)
{
    *cpu = (struct counters_cpu){0};
#if defined(__x86_64__)
    unsigned eax, words[3];
    if (!__get_cpuid(0, &eax, &words[0], &words[2], &words[1]))
        return;
    memcpy(cpu->vendor, words, sizeof words);
    unsigned signature, unused;
    if (__get_cpuid(1, &signature, &unused, &unused, &unused)) {
        cpu->family = signature >> 8 & 0xf;
        if (cpu->family == 0xf)
            cpu->family += signature >> 20 & 0xff;
    }
#endif
}

int counters_machine_paranoid(void)
{
    char text[16] = "";
    int fd = open("/proc/sys/kernel/perf_event_paranoid", O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    ssize_t got = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
    if (fd >= 0)
        close(fd);
    return got > 0 ? atoi(text) : -1;
}
