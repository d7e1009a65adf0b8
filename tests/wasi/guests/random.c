/* Random bytes.
 *
 * status: 0
 * output: random.c: good
 */
#include <unistd.h>

#include "check.h"

int main(void)
{
    unsigned char first[256];
    unsigned char second[256];
    unsigned char seen[256] = {0};
    unsigned distinct = 0;
    CHECK(getentropy(first, sizeof first) == 0);
    CHECK(getentropy(second, sizeof second) == 0);
    CHECK(memcmp(first, second, sizeof first) != 0);
    for (int i = 0; i < 256; i++)
        distinct += seen[first[i]]++ == 0;
    CHECK(distinct > 100); /* 162 on average */
    puts("random.c: good");
}
