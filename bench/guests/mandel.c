/* mandel: f64 arithmetic with a data-dependent exit, in registers only. */
#include "benchmark.h"

const struct benchmark benchmark = {"mandel", 130, 0xd61a099832c23be3};

enum { WIDTH = 96, HEIGHT = 64, LIMIT = 500 };

static uint32_t escape_time(double cx, double cy)
{
    double x = 0, y = 0;
    uint32_t count = 0;
    while (count < LIMIT && x * x + y * y <= 4) {
        double next = x * x - y * y + cx;
        y = 2 * x * y + cy;
        x = next;
        count++;
    }
    return count;
}

uint64_t benchmark_run(void)
{
    uint64_t sum = 1;
    for (int row = 0; row < HEIGHT; row++)
        for (int column = 0; column < WIDTH; column++)
            sum = checksum_u64(sum, escape_time(column * 3.0 / WIDTH - 2.25, row * 2.5 / HEIGHT - 1.25));
    return sum;
}
