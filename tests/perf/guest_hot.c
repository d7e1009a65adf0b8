/* guest_hot: a loop with one hot instruction. Each division needs the one before it and takes longer than all else in
 * the loop together, so a profile by bytecode instruction has to begin with i64.div_u. */
#include <stdint.h>
#include <stdlib.h>

__attribute__((noinline)) static uint64_t divide(uint64_t value, uint64_t divisor, int count)
{
#pragma clang loop unroll(disable)
    for (int i = 0; i < count; i++)
        value = UINT64_MAX / (value | divisor);
    return value;
}

static volatile uint64_t result;

int main(int argc, char **argv)
{
    result = divide(12345, (uint64_t)argc, atoi(argv[argc - 1]));
    return 0;
}
