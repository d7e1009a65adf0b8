/* The four clocks of preview 1, and timestamps: unsigned nanoseconds.
 *
 * A time before 1970 has no timestamp and becomes 0; one after 2554 wraps, which only a forged file time reaches.
 */
#include "vm/wasi/internal.h"

#include <errno.h>
#include <string.h>
#include <time.h>

#define NS_PER_S UINT64_C(1000000000)

bool wasi_clock_to_host(uint32_t clockid, clockid_t *host)
{
    static const clockid_t clocks[] = {
        [WASI_CLOCK_REALTIME] = CLOCK_REALTIME,
        [WASI_CLOCK_MONOTONIC] = CLOCK_MONOTONIC,
        [WASI_CLOCK_PROCESS_CPUTIME] = CLOCK_PROCESS_CPUTIME_ID,
        [WASI_CLOCK_THREAD_CPUTIME] = CLOCK_THREAD_CPUTIME_ID,
    };
    if (clockid > WASI_CLOCK_THREAD_CPUTIME)
        return false;
    *host = clocks[clockid];
    return true;
}

uint64_t wasi_timestamp_from_host(struct timespec time)
{
    return time.tv_sec < 0 ? 0 : (uint64_t)time.tv_sec * NS_PER_S + (uint64_t)time.tv_nsec;
}

struct timespec wasi_timestamp_to_host(uint64_t when_ns)
{
    return (struct timespec){.tv_sec = (time_t)(when_ns / NS_PER_S), .tv_nsec = (long)(when_ns % NS_PER_S)};
}

static enum wasi_errno read_clock(struct wasi_call *call, int (*read)(clockid_t, struct timespec *), uint32_t address)
{
    clockid_t clock;
    struct timespec time;
    if (!wasi_clock_to_host(call->args[0].i32, &clock))
        return WASI_EINVAL;
    void *out = wasi_guest_range(call, address, sizeof(uint64_t));
    if (!out)
        return WASI_EFAULT;
    if (read(clock, &time) < 0)
        return wasi_errno_from_host(errno);
    uint64_t time_ns = wasi_timestamp_from_host(time);
    memcpy(out, &time_ns, sizeof time_ns);
    return WASI_SUCCESS;
}

enum wasi_errno wasi_clock_res_get(struct wasi_call *call)
{
    return read_clock(call, clock_getres, call->args[1].i32);
}

/* args[1] is how imprecise the answer may be: ours is always precise. */
enum wasi_errno wasi_clock_time_get(struct wasi_call *call)
{
    return read_clock(call, clock_gettime, call->args[2].i32);
}
