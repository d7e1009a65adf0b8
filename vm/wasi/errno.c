/* Error numbers, from the host's to preview 1's. A switch made from the table: a host number twice in it would not
 * compile. What preview 1 has no number for becomes EIO. */
#include "vm/wasi/internal.h"

#include <errno.h>

enum wasi_errno wasi_errno_from_host(int host_errno)
{
    switch (host_errno) {
#define ERRNO(name, number, host)                                                                                      \
    case host:                                                                                                         \
        return WASI_E##name;
#include "vm/wasi/errno.def"
    default:
        return WASI_EIO;
    }
}

enum wasi_errno wasi_errno_of(long result)
{
    return result < 0 ? wasi_errno_from_host(errno) : WASI_SUCCESS;
}
