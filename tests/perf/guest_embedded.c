/* guest_embedded: the guest of embedder.c. Its host calls it back, or forks. */
#include <stdint.h>

#define NOINLINE __attribute__((noinline))
#define HOST(name) __attribute__((import_module("host"), import_name(name)))
#define EXPORT(name) __attribute__((export_name(name)))

HOST("call_back") uint32_t call_back(uint32_t value);
HOST("fork") uint32_t host_fork(void);

NOINLINE static uint32_t spin(uint32_t value)
{
    for (int i = 0; i < 20000; i++)
        value = (value ^ value >> 13) * 0x9e3779b1u + (uint32_t)i;
    return value;
}

/* ---- reentry: run → outer → (host) → called_back → spin ---- */

EXPORT("called_back") uint32_t called_back(uint32_t value)
{
    return spin(value) + 1;
}

NOINLINE static uint32_t outer(uint32_t value)
{
    return call_back(value) + 2;
}

EXPORT("run") uint32_t run(uint32_t rounds)
{
    uint32_t value = 1;
    for (uint32_t round = 0; round < rounds; round++)
        value = outer(value);
    return value;
}

/* ---- fork: what each of the two runs was never run, and so not translated, before the fork ---- */

NOINLINE static uint32_t only_in_parent(uint32_t value)
{
    for (int i = 0; i < 20000; i++)
        value = (value ^ value >> 13) * 0x9e3779b1u + (uint32_t)i;
    return value + 1;
}

NOINLINE static uint32_t only_in_child(uint32_t value)
{
    for (int i = 0; i < 20000; i++)
        value = (value ^ value >> 13) * 0x9e3779b1u + (uint32_t)i;
    return value + 2;
}

EXPORT("run_forked") uint32_t run_forked(uint32_t rounds)
{
    uint32_t value = spin(1);
    uint32_t is_child = host_fork();
    for (uint32_t round = 0; round < rounds; round++)
        value = spin(is_child ? only_in_child(value) : only_in_parent(value));
    return value;
}

int main(void)
{
    return 0;
}
