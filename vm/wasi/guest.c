/* The only door to the guest's memory.
 *
 * Every address and length that a guest passes is checked here, in 64 bits and without a sum that could wrap, against
 * the memory's size. Structures that steer the host (iovecs, subscriptions, paths) are copied before they are looked
 * at, so that a guest with threads could not change them between the check and the use. Plain data is moved by the
 * kernel straight from and to guest memory: what a second thread does to it meanwhile harms only the guest.
 *
 * A memory never moves and never shrinks, so a range that was good stays good for the length of the call.
 */
#include "vm/wasi/internal.h"

#include <string.h>

void *wasi_guest_range(const struct wasi_call *call, uint32_t address, uint64_t size_bytes)
{
    if (!call->memory || address > call->memory_bytes || size_bytes > call->memory_bytes - address)
        return NULL;
    return call->memory + address;
}

enum wasi_errno wasi_guest_path(const struct wasi_call *call, uint32_t address, uint32_t size_bytes,
                                char path[PATH_MAX])
{
    const char *source = wasi_guest_range(call, address, size_bytes);
    if (!source)
        return WASI_EFAULT;
    if (size_bytes >= PATH_MAX)
        return WASI_ENAMETOOLONG;
    memcpy(path, source, size_bytes);
    path[size_bytes] = 0;
    if (strlen(path) != size_bytes)
        return WASI_EINVAL;
    if (path[0] == '/')
        return WASI_EPERM;
    return size_bytes ? WASI_SUCCESS : WASI_ENOENT;
}

enum wasi_errno wasi_guest_iovecs(const struct wasi_call *call, uint32_t address, uint32_t count,
                                  struct iovec iovecs[WASI_IOVECS_MAX])
{
    const uint8_t *source = wasi_guest_range(call, address, (uint64_t)count * sizeof(struct wasi_abi_iovec));
    if (!source)
        return WASI_EFAULT;
    if (count > WASI_IOVECS_MAX)
        return WASI_EINVAL;
    for (uint32_t i = 0; i < count; i++) {
        struct wasi_abi_iovec iovec;
        memcpy(&iovec, source + i * sizeof iovec, sizeof iovec);
        iovecs[i].iov_base = wasi_guest_range(call, iovec.buf, iovec.buf_len);
        iovecs[i].iov_len = iovec.buf_len;
        if (!iovecs[i].iov_base)
            return WASI_EFAULT;
    }
    return WASI_SUCCESS;
}
