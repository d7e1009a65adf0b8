/* Standard input to its end.
 *
 * input: some line of text
 * status: 0
 * output: SOME LINE OF TEXT
 */
#include <ctype.h>

#include "check.h"

int main(void)
{
    int byte;
    while ((byte = getchar()) != EOF)
        putchar(toupper(byte));
    CHECK(feof(stdin) && !ferror(stdin));
}
