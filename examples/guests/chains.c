/* chains: call chains that are known, so that `perf report -g` of this program can be checked.
 *
 * Each mode spends its time in one leaf, spin(), reached in a way of its own:
 *
 *     chains plain [ROUNDS]      main → outer → middle → inner → spin
 *     chains deep [ROUNDS]       main → descend × 100 → spin
 *     chains callback [ROUNDS]   main → qsort (of the C library) → compare → spin, by call_indirect
 *     chains tail [ROUNDS]       main → before_tail → spin: after_tail replaces at_tail, spin replaces after_tail
 *     chains host [ROUNDS]       main → outer_host → random_bytes → libc's getentropy → the host's random_get
 *     chains all [ROUNDS]        one after another (the default)
 *
 * In `tail`, at_tail() and after_tail() must not show: a tail call gives its frame away. Every call but those is
 * followed by work that needs its result, and so is a call in any compiler's output.
 *
 * A round takes 0.1 to 1 ms in a fast interpreter; 200 by default. Prints checksums.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline))

enum { DEFAULT_ROUNDS = 200, SPIN = 20000, DEPTH = 100, SORTED = 8 };

NOINLINE static uint32_t spin(uint32_t value)
{
    for (int i = 0; i < SPIN; i++)
        value = (value ^ value >> 13) * 0x9e3779b1u + (uint32_t)i;
    return value;
}

/* ---- plain ---- */

NOINLINE static uint32_t inner(uint32_t value)
{
    return spin(value) + 1;
}

NOINLINE static uint32_t middle(uint32_t value)
{
    return inner(value) + 2;
}

NOINLINE static uint32_t outer(uint32_t value)
{
    return middle(value) + 3;
}

/* ---- deep: through a volatile pointer, or the compiler makes a loop of it ---- */

NOINLINE static uint32_t descend(uint32_t value, int depth);
static uint32_t (*volatile descend_again)(uint32_t, int) = descend;

NOINLINE static uint32_t descend(uint32_t value, int depth)
{
    return depth <= 1 ? spin(value) + 1 : descend_again(value, depth - 1) * 3 + 1;
}

/* ---- callback ---- */

static uint32_t compared;

NOINLINE static int compare(const void *left, const void *right)
{
    const uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    compared = spin(compared + a + b);
    return (a > b) - (a < b);
}

NOINLINE static uint32_t callback(uint32_t value)
{
    uint32_t numbers[SORTED];
    for (int i = 0; i < SORTED; i++)
        numbers[i] = value = value * 1664525u + 1013904223u;
    qsort(numbers, SORTED, sizeof *numbers, compare);
    return numbers[0] + compared;
}

/* ---- tail ---- */

NOINLINE static uint32_t after_tail(uint32_t value)
{
    __attribute__((musttail)) return spin(value);
}

NOINLINE static uint32_t at_tail(uint32_t value)
{
    __attribute__((musttail)) return after_tail(value ^ 5);
}

NOINLINE static uint32_t before_tail(uint32_t value)
{
    return at_tail(value) + 1;
}

/* ---- host: the bytes are random, so the checksum only counts them ---- */

NOINLINE static uint32_t random_bytes(void)
{
    static uint8_t bytes[256];
    uint32_t count = 0;
    for (int i = 0; i < 200; i++)
        count += getentropy(bytes, sizeof bytes) == 0;
    return count;
}

NOINLINE static uint32_t outer_host(uint32_t value)
{
    return value * 31 + random_bytes();
}

#define CHAINS(X)                                                                                                      \
    X(plain, outer(value))                                                                                             \
    X(deep, descend(value, DEPTH))                                                                                     \
    X(callback, callback(value))                                                                                       \
    X(tail, before_tail(value))                                                                                        \
    X(host, outer_host(value))

int main(int argc, char **argv)
{
    const char *mode = argc > 1 ? argv[1] : "all";
    int rounds = argc > 2 ? atoi(argv[2]) : DEFAULT_ROUNDS;
    int known = 0;
    uint32_t value = 1;
#define CHAIN(name, call)                                                                                              \
    if (!strcmp(mode, #name) || !strcmp(mode, "all")) {                                                                \
        known = 1;                                                                                                     \
        for (int round = 0; round < rounds; round++)                                                                   \
            value = call;                                                                                              \
        printf("chains: %s, %d rounds, checksum %08x\n", #name, rounds, (unsigned)value);                              \
    }
    CHAINS(CHAIN)
    if (!known)
        fprintf(stderr, "usage: chains [plain|deep|callback|tail|host|all] [ROUNDS]\n");
    return !known;
}
