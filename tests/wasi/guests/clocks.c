/* The clocks, and sleeping by them.
 *
 * status: 0
 * output: clocks.c: good
 */
#include <stdint.h>
#include <time.h>
#include <unistd.h>

#include "check.h"

static uint64_t now_ns(clockid_t clock)
{
    struct timespec now;
    CHECK(clock_gettime(clock, &now) == 0);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

int main(void)
{
    struct timespec resolution;
    struct timespec pause = {.tv_nsec = 20000000};
    CHECK(clock_getres(CLOCK_MONOTONIC, &resolution) == 0 && (resolution.tv_sec || resolution.tv_nsec));
    CHECK(time(NULL) > 1700000000);

    uint64_t before = now_ns(CLOCK_MONOTONIC);
    CHECK(nanosleep(&pause, NULL) == 0);
    CHECK(now_ns(CLOCK_MONOTONIC) - before >= 20000000);

    uint64_t deadline = now_ns(CLOCK_REALTIME) + 20000000;
    struct timespec when = {.tv_sec = (time_t)(deadline / 1000000000), .tv_nsec = (long)(deadline % 1000000000)};
    CHECK(clock_nanosleep(CLOCK_REALTIME, TIMER_ABSTIME, &when, NULL) == 0);
    CHECK(now_ns(CLOCK_REALTIME) >= deadline);
    CHECK(usleep(1000) == 0);
    puts("clocks.c: good");
}
