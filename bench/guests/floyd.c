/* floyd: all shortest paths of a graph (Floyd and Warshall): i32 loads, additions and a comparison that is seldom true.
 */
#include "benchmark.h"

const struct benchmark benchmark = {"floyd", 70, 0x6bb498a40e01dde9};

enum { NODES = 112 };

static int32_t paths[NODES][NODES];

uint64_t benchmark_run(void)
{
    uint64_t state = 7;
    for (int i = 0; i < NODES; i++)
        for (int j = 0; j < NODES; j++)
            paths[i][j] = i == j ? 0 : (int32_t)(random_next(&state) >> 40) % 1000 + 1;
    for (int k = 0; k < NODES; k++)
        for (int i = 0; i < NODES; i++)
            for (int j = 0; j < NODES; j++)
                if (paths[i][k] + paths[k][j] < paths[i][j])
                    paths[i][j] = paths[i][k] + paths[k][j];
    uint64_t sum = 1;
    for (int i = 0; i < NODES; i++)
        for (int j = 0; j < NODES; j++)
            sum = checksum_u64(sum, (uint32_t)paths[i][j]);
    return sum;
}
