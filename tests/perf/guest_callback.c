/* guest_callback: the guest of callback.c. outer() calls the host, which calls back into called_back(). */
#include <stdint.h>

__attribute__((import_module("host"), import_name("call_back"))) uint32_t call_back(uint32_t value);

__attribute__((noinline)) static uint32_t spin(uint32_t value)
{
    for (int i = 0; i < 20000; i++)
        value = (value ^ value >> 13) * 0x9e3779b1u + (uint32_t)i;
    return value;
}

__attribute__((export_name("called_back"))) uint32_t called_back(uint32_t value)
{
    return spin(value) + 1;
}

__attribute__((noinline)) static uint32_t outer(uint32_t value)
{
    return call_back(value) + 2;
}

__attribute__((export_name("run"))) uint32_t run(uint32_t rounds)
{
    uint32_t value = 1;
    for (uint32_t round = 0; round < rounds; round++)
        value = outer(value);
    return value;
}

int main(void)
{
    return 0;
}
