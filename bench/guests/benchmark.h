/* benchmark: what a benchmark program consists of; main.c runs it.
 *
 * A benchmark is one .c file that defines `benchmark` and benchmark_run(). The work is cut into iterations that are all
 * the same, each some milliseconds in a fast interpreter, so that any number of them can be asked for and every one be
 * checked. The same file is compiled to wasm and natively, so results may not depend on the width of a long, on the
 * order in which a C library sorts, or on contracted floating-point operations.
 */
#ifndef GLASSBOX_BENCH_BENCHMARK_H
#define GLASSBOX_BENCH_BENCHMARK_H

#include <stdint.h>
#include <string.h>

struct benchmark {
    const char *name;
    uint32_t iterations; /* for a run of 1 to 3 seconds in a fast interpreter */
    uint64_t known;      /* what benchmark_run() returns */
};

extern const struct benchmark benchmark;

/* One iteration, from the same state each time. Returns a checksum of everything that it computed. */
uint64_t benchmark_run(void);

/* A checksum's next value: each step is a bijection, so no input is lost, and neither is its place. */
static inline uint64_t checksum_u64(uint64_t sum, uint64_t value)
{
    sum = (sum ^ value) * 0x9e3779b97f4a7c15u;
    return sum ^ sum >> 29;
}

/* By its bits: the result has to be exact. */
static inline uint64_t checksum_f64(uint64_t sum, double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return checksum_u64(sum, bits);
}

/* A random number generator (xorshift64*): *state is not 0. */
static inline uint64_t random_next(uint64_t *state)
{
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    return *state * 0x2545f4914f6cdd1du;
}

#endif
