/* Arguments and environment.
 *
 * options: --env=NAME=VALUE --env=EMPTY=
 * arguments: one 'two words' '' --dir=x
 * status: 0
 * output: args.c: good
 */
#include "check.h"

int main(int argc, char **argv)
{
    CHECK(argc == 5);
    CHECK(strstr(argv[0], "wasi_args"));
    CHECK(strcmp(argv[1], "one") == 0);
    CHECK(strcmp(argv[2], "two words") == 0);
    CHECK(strcmp(argv[3], "") == 0);
    CHECK(strcmp(argv[4], "--dir=x") == 0);
    CHECK(argv[5] == NULL);
    CHECK(strcmp(getenv("NAME"), "VALUE") == 0);
    CHECK(strcmp(getenv("EMPTY"), "") == 0);
    CHECK(getenv("PATH") == NULL); /* the host's environment is not the guest's */
    puts("args.c: good");
}
