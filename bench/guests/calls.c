/* calls: many small functions that call one another, as code with accessors and helpers does. The arguments and results
 * are of several types and counts. */
#include "benchmark.h"

const struct benchmark benchmark = {"calls", 65, 0xfb8e92fd36f310a2};

#define NOINLINE __attribute__((noinline))

struct point {
    int32_t x, y;
};

static struct point points[256];

NOINLINE static int32_t get_x(const struct point *point)
{
    return point->x;
}

NOINLINE static int32_t get_y(const struct point *point)
{
    return point->y;
}

NOINLINE static void set(struct point *point, int32_t x, int32_t y)
{
    point->x = x;
    point->y = y;
}

NOINLINE static int32_t larger(int32_t a, int32_t b)
{
    return a > b ? a : b;
}

NOINLINE static int32_t distance(const struct point *a, const struct point *b)
{
    int32_t x = get_x(a) - get_x(b), y = get_y(a) - get_y(b);
    return larger(x, -x) + larger(y, -y);
}

NOINLINE static double weigh(double sum, int32_t distance_units, double factor)
{
    return sum + distance_units * factor;
}

NOINLINE static uint64_t mix(uint64_t a, uint64_t b, uint32_t turn)
{
    return (a << turn | a >> (64 - turn)) + b;
}

NOINLINE static void step(struct point *point, int32_t i)
{
    set(point, larger(get_x(point) - 3, i & 63), get_y(point) ^ i);
}

uint64_t benchmark_run(void)
{
    for (int32_t i = 0; i < 256; i++)
        set(&points[i], i * 7 & 255, i * 13 & 255);
    double sum = 0;
    uint64_t mixed = 1;
    for (int32_t i = 0; i < 100000; i++) {
        struct point *a = &points[i & 255], *b = &points[i * 31 & 255];
        int32_t apart = distance(a, b);
        sum = weigh(sum, apart, 0.5);
        mixed = mix(mixed, (uint32_t)apart, 7);
        step(a, i);
    }
    return checksum_f64(mixed, sum);
}
