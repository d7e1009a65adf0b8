/* The exit status, and that what stdio holds is written before.
 *
 * status: 42
 * output: written
 * output: at exit
 */
#include "check.h"

static void at_exit(void)
{
    fputs("at exit\n", stdout);
}

int main(void)
{
    atexit(at_exit);
    fputs("written\n", stdout);
    exit(42);
}
