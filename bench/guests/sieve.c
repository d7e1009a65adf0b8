/* sieve: Eratosthenes: byte stores at growing strides and a scan of bytes. */
#include "benchmark.h"

const struct benchmark benchmark = {"sieve", 120, 0x407320d07e33c9b6};

enum { LIMIT = 400000 };

static uint8_t composite[LIMIT];

uint64_t benchmark_run(void)
{
    memset(composite, 0, sizeof composite);
    for (uint32_t i = 2; i * i < LIMIT; i++)
        if (!composite[i])
            for (uint32_t multiple = i * i; multiple < LIMIT; multiple += i)
                composite[multiple] = 1;
    uint32_t count = 0, last = 0;
    for (uint32_t i = 2; i < LIMIT; i++)
        if (!composite[i]) {
            count++;
            last = i;
        }
    return checksum_u64(checksum_u64(1, count), last);
}
