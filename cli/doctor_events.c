/* What the kernel's perf events allow to this user, found out by opening some. Reading kernel.perf_event_paranoid alone
 * says too little: what a level means depends on capabilities, on the distribution's patches (a level of 3 or 4 is
 * Debian's and Ubuntu's) and on a container's seccomp filter, which refuses without asking the level at all.
 */
#include "cli/doctor.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdint.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#define PARANOID "/proc/sys/kernel/perf_event_paranoid"
#define MLOCK_KB "/proc/sys/kernel/perf_event_mlock_kb"

/* An event of this thread on any processor. Returns its descriptor or a negative errno. */
static int event_open(uint32_t type, uint64_t config, uint64_t period, bool with_kernel)
{
    struct perf_event_attr attr = {
        .type = type,
        .size = sizeof attr,
        .config = config,
#ifdef __aarch64__
        .config1 = type == PERF_TYPE_HARDWARE ? 2 : 0, /* asks for reads from user space */
#endif
        .sample_period = period,
        .sample_type = period ? PERF_SAMPLE_IP | PERF_SAMPLE_CALLCHAIN : 0,
        .exclude_kernel = !with_kernel,
        .exclude_hv = 1,
    };
    long descriptor = syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
    return descriptor < 0 ? -errno : (int)descriptor;
}

static int sampler_open(bool with_kernel)
{
    enum { PERIOD_NS = 1000000000 }; /* long: no sample is wanted */
    return event_open(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK, PERIOD_NS, with_kernel);
}

void doctor_check_kernel(struct doctor_context *context, struct doctor_result *result)
{
    struct utsname name;
    if (uname(&name) != 0) {
        doctor_say(result, DOCTOR_WARN, "unknown: uname: %s", strerror(errno));
        return;
    }
    doctor_say(result, DOCTOR_OK, "%s %s %s", name.sysname, name.release, name.machine);
}

void doctor_check_sampling(struct doctor_context *context, struct doctor_result *result)
{
    long level = 0;
    bool has_level = doctor_read_number(PARANOID, &level);
    int user = sampler_open(false);
    int kernel = sampler_open(true);

    if (user >= 0 && kernel >= 0) {
        doctor_say(result, DOCTOR_OK, "user space and kernel (kernel.perf_event_paranoid=%ld)", level);
    } else if (user >= 0) {
        doctor_say(result, DOCTOR_OK,
                   "user space, where guests run; not the kernel (kernel.perf_event_paranoid=%ld, 1 would allow it)",
                   level);
    } else if (user == -EACCES && has_level && level > 2) {
        doctor_say(result, DOCTOR_FAIL, "refused: kernel.perf_event_paranoid=%ld", level);
        doctor_fix(result, "sudo sysctl -w kernel.perf_event_paranoid=2");
    } else if (user == -EPERM || user == -EACCES || user == -ENOSYS) {
        doctor_say(result, DOCTOR_FAIL,
                   "perf_event_open is refused (%s): a seccomp filter, or a kernel without perf events",
                   strerror(-user));
        doctor_fix(result, "start the container with a seccomp profile that allows perf_event_open (docker run "
                           "--cap-add=PERFMON, or --security-opt seccomp=unconfined)");
    } else {
        doctor_say(result, DOCTOR_FAIL, "perf_event_open: %s", strerror(-user));
    }
    if (user >= 0) {
        close(user);
    }
    if (kernel >= 0) {
        close(kernel);
    }
}

void doctor_check_pmu(struct doctor_context *context, struct doctor_result *result)
{
    int event = event_open(PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS, 0, false);
    if (event >= 0) {
        doctor_say(result, DOCTOR_OK, "hardware counters are there");
        close(event);
        return;
    }
    if (event == -EACCES || event == -EPERM || event == -ENOSYS) {
        doctor_say(result, DOCTOR_WARN, "unknown: perf_event_open is refused (see sampling)");
        return;
    }
    doctor_say(result, DOCTOR_WARN, "no hardware counters (%s): perf samples by the clock, '-e cpu-clock'",
               strerror(-event));
    doctor_fix(result,
               "on a virtual machine, have its host pass the PMU through (libvirt: <pmu state='on'/>, qemu: -cpu "
               "host,pmu=on)");
}

void doctor_check_user_counters(struct doctor_context *context, struct doctor_result *result)
{
    int event = event_open(PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS, 0, false);
    if (event < 0) {
        doctor_say(result, DOCTOR_WARN, "no hardware counter to read (see pmu)");
        return;
    }
    size_t page_bytes = (size_t)sysconf(_SC_PAGESIZE);
    const struct perf_event_mmap_page *page = mmap(NULL, page_bytes, PROT_READ, MAP_SHARED, event, 0);
    if (page != MAP_FAILED && page->cap_user_rdpmc) {
        doctor_say(result, DOCTOR_OK, "counters can be read from user space");
    } else {
        doctor_say(result, DOCTOR_WARN, "each reading of a counter costs a system call");
#ifdef __aarch64__
        doctor_fix(result, "sudo sysctl -w kernel.perf_user_access=1");
#else
        doctor_fix(result, "echo 1 | sudo tee /sys/bus/event_source/devices/cpu/rdpmc");
#endif
    }
    if (page != MAP_FAILED) {
        munmap((void *)page, page_bytes);
    }
    close(event);
}

/* The buffer that perf record maps for each processor, unless told otherwise: 512 KiB and a page. */
void doctor_check_ring_buffer(struct doctor_context *context, struct doctor_result *result)
{
    enum { DATA_BYTES = 512 * 1024 };
    long limit_kb = 0;
    doctor_read_number(MLOCK_KB, &limit_kb);
    int event = sampler_open(false);
    if (event < 0) {
        doctor_say(result, DOCTOR_WARN, "unknown: perf_event_open is refused (see sampling)");
        return;
    }
    size_t size_bytes = DATA_BYTES + (size_t)sysconf(_SC_PAGESIZE);
    void *buffer = mmap(NULL, size_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, event, 0);
    if (buffer != MAP_FAILED) {
        doctor_say(result, DOCTOR_OK, "512 KiB can be mapped (kernel.perf_event_mlock_kb=%ld)", limit_kb);
        munmap(buffer, size_bytes);
    } else {
        doctor_say(result, DOCTOR_WARN,
                   "512 KiB cannot be mapped (%s, kernel.perf_event_mlock_kb=%ld): perf may lose samples",
                   strerror(errno), limit_kb);
        doctor_fix(result, "sudo sysctl -w kernel.perf_event_mlock_kb=516");
    }
    close(event);
}
