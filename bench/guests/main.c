/* The main program of every benchmark: `NAME [ITERATIONS]`.
 *
 * Runs that many iterations and compares each one's checksum with the known one; prints it; exit status 1 where it is
 * wrong. It is a translation unit of its own, so that the compiler, which cannot see that benchmark_run() gives the
 * same result each time, does not call it once for all iterations.
 */
#include "benchmark.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    uint32_t iterations = argc > 1 ? (uint32_t)strtoul(argv[1], NULL, 10) : benchmark.iterations;
    for (uint32_t i = 0; i < iterations; i++) {
        uint64_t sum = benchmark_run();
        if (sum != benchmark.known) {
            printf("%s: iteration %" PRIu32 ": checksum %016" PRIx64 " is not the known %016" PRIx64 "\n",
                   benchmark.name, i, sum, benchmark.known);
            return 1;
        }
    }
    printf("%s: %" PRIu32 " iterations, checksum %016" PRIx64 "\n", benchmark.name, iterations, benchmark.known);
    return 0;
}
