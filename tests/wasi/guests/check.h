/* check: a guest program's expectations. CHECK(x) ends the guest with status 1 where x is false, saying where; FAILS(x,
 * error) expects a system call to fail so. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(condition)                                                                                               \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            printf("%s:%d: not so: %s (errno %d: %s)\n", __FILE_NAME__, __LINE__, #condition, errno, strerror(errno)); \
            exit(1);                                                                                                   \
        }                                                                                                              \
    } while (0)

#define FAILS(call, error) CHECK((errno = 0, (call) < 0) && errno == (error))
