/* A guest whose line tables lines_test.c reads. The words in capitals are what it looks for. */
#include "lines_guest.h"

/* Not called: the linker drops it, and leaves its line table behind. */
unsigned dropped(unsigned value);
unsigned dropped(unsigned value)
{
    return value * 3; /* DROPPED */
}

__attribute__((noinline)) unsigned churn(unsigned count)
{
    unsigned value = count | 1; /* CHURN-BEGIN */
    for (unsigned i = 0; i < count; i++)
        value = mix(value);
    return value; /* CHURN-END */
}

__attribute__((noinline)) unsigned add(unsigned left, unsigned right)
{
    return left + right; /* ADD */
}

int main(int argc, char **argv)
{
    return (int)add(churn((unsigned)argc), (unsigned)(argv != 0)); /* MAIN */
}
