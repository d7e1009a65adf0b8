/* gemm: a matrix product in f64: loads, multiplications, additions and index arithmetic. */
#include "benchmark.h"

const struct benchmark benchmark = {"gemm", 150, 0xb4c8ea36dc5e3177};

enum { SIZE = 96 };

static double a[SIZE][SIZE], b[SIZE][SIZE], c[SIZE][SIZE];

uint64_t benchmark_run(void)
{
    for (int i = 0; i < SIZE; i++)
        for (int j = 0; j < SIZE; j++) {
            a[i][j] = (i * j % 7 + 1) / 7.0;
            b[i][j] = (i * (j + 1) % 11 + 2) / 11.0;
            c[i][j] = 0;
        }
    for (int i = 0; i < SIZE; i++)
        for (int k = 0; k < SIZE; k++)
            for (int j = 0; j < SIZE; j++)
                c[i][j] += a[i][k] * b[k][j];
    uint64_t sum = 1;
    for (int i = 0; i < SIZE; i++)
        for (int j = 0; j < SIZE; j++)
            sum = checksum_f64(sum, c[i][j]);
    return sum;
}
