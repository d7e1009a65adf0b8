/* shares: three functions whose shares of the program's time are known, so that a profile of it can be checked.
 *
 * heavy(), middling() and light() have the same loop, instruction for instruction, and run it 6, 3 and 1 times as
 * often: a flat report has to show 60 %, 30 % and 10 % of the guest's time. They are written out three times and not
 * called through one helper, because a helper would be the function that the samples fall on; each mixes in a constant
 * of its own, because a compiler may fold functions that are the same. The rounds are short beside the whole run, so
 * that a clock that changes its speed in mid-run changes the three alike.
 *
 *     shares [ROUNDS]     a round takes about 0.2 ms in a fast interpreter; 5000 rounds by default
 *
 * Prints a checksum, and where ROUNDS is the default compares it with the known one.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { DEFAULT_ROUNDS = 5000, UNIT = 4000 };

/* One step of the loop all three share: a multiply, a shift and two xors that each need the one before. */
#define STEP(value, constant) ((value) = ((value) ^ ((value) >> 13)) * 0x9e3779b1u ^ (constant))

__attribute__((noinline)) static uint32_t heavy(uint32_t value)
{
    for (int i = 0; i < 6 * UNIT; i++)
        STEP(value, 0x600u);
    return value;
}

__attribute__((noinline)) static uint32_t middling(uint32_t value)
{
    for (int i = 0; i < 3 * UNIT; i++)
        STEP(value, 0x300u);
    return value;
}

__attribute__((noinline)) static uint32_t light(uint32_t value)
{
    for (int i = 0; i < 1 * UNIT; i++)
        STEP(value, 0x100u);
    return value;
}

int main(int argc, char **argv)
{
    int rounds = argc > 1 ? atoi(argv[1]) : DEFAULT_ROUNDS;
    uint32_t value = 1;
    for (int round = 0; round < rounds; round++)
        value = light(middling(heavy(value)));
    printf("shares: %d rounds, checksum %08x\n", rounds, (unsigned)value);
    return rounds == DEFAULT_ROUNDS && value != 0x78ff9b88u;
}
