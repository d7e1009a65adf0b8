/* fib: recursion. Nearly nothing but calls of one function that does nearly nothing. */
#include "benchmark.h"

const struct benchmark benchmark = {"fib", 160, 0x9e379fe88bfd9b1c};

__attribute__((noinline)) static uint32_t fib(uint32_t n)
{
    return n < 2 ? n : fib(n - 1) + fib(n - 2);
}

uint64_t benchmark_run(void)
{
    return checksum_u64(1, fib(27));
}
