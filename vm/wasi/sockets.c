/* The four calls on sockets. Preview 1 cannot make a socket: they serve those that the embedder gives
 * (wasi_inherit_fd), or standard input when it is one, and those accepted from them.
 */
#include "vm/wasi/internal.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* Like wasi_fds_find; what is no socket is refused as such before its rights are looked at, which it lacks. */
static enum wasi_errno find_socket(struct wasi *wasi, uint32_t number, uint64_t rights, struct wasi_fd **found)
{
    enum wasi_errno error = wasi_fds_find(wasi, number, 0, found);
    if (error)
        return error;
    if ((*found)->filetype != WASI_FILETYPE_SOCKET_STREAM && (*found)->filetype != WASI_FILETYPE_SOCKET_DGRAM)
        return WASI_ENOTSOCK;
    return wasi_fds_find(wasi, number, rights, found);
}

enum wasi_errno wasi_sock_accept(struct wasi_call *call)
{
    struct wasi_fd *fd;
    uint32_t fdflags = call->args[1].i32;
    enum wasi_errno error = find_socket(call->wasi, call->args[0].i32, WASI_RIGHT_SOCK_ACCEPT, &fd);
    if (error)
        return error;
    if (fdflags & ~(uint32_t)WASI_FDFLAG_NONBLOCK)
        return WASI_EINVAL;
    void *number_out = wasi_guest_range(call, call->args[2].i32, sizeof(uint32_t));
    if (!number_out)
        return WASI_EFAULT;
    int flags = SOCK_CLOEXEC | (fdflags ? SOCK_NONBLOCK : 0);
    int host = (int)TEMP_FAILURE_RETRY(accept4(fd->host, NULL, NULL, flags));
    if (host < 0)
        return wasi_errno_from_host(errno);
    uint32_t number;
    error = wasi_fds_insert(call->wasi, host, fd->rights_inheriting, fd->rights_inheriting, &number);
    if (!error)
        memcpy(number_out, &number, sizeof number);
    return error;
}

enum wasi_errno wasi_sock_recv(struct wasi_call *call)
{
    struct wasi_fd *fd;
    enum wasi_errno error = find_socket(call->wasi, call->args[0].i32, WASI_RIGHT_FD_READ, &fd);
    if (error)
        return error;
    struct iovec iovecs[WASI_IOVECS_MAX];
    uint32_t count = call->args[2].i32;
    uint32_t riflags = call->args[3].i32;
    error = wasi_guest_iovecs(call, call->args[1].i32, count, iovecs);
    if (error)
        return error;
    if (riflags & ~(uint32_t)(WASI_RECV_PEEK | WASI_RECV_WAITALL))
        return WASI_EINVAL;
    void *size_out = wasi_guest_range(call, call->args[4].i32, sizeof(uint32_t));
    void *roflags_out = wasi_guest_range(call, call->args[5].i32, sizeof(uint16_t));
    if (!size_out || !roflags_out)
        return WASI_EFAULT;
    int flags = (riflags & WASI_RECV_PEEK ? MSG_PEEK : 0) | (riflags & WASI_RECV_WAITALL ? MSG_WAITALL : 0);
    struct msghdr message = {.msg_iov = iovecs, .msg_iovlen = count};
    ssize_t got = TEMP_FAILURE_RETRY(recvmsg(fd->host, &message, flags));
    if (got < 0)
        return wasi_errno_from_host(errno);
    uint32_t size_bytes = (uint32_t)got;
    uint16_t roflags = message.msg_flags & MSG_TRUNC ? WASI_RECV_DATA_TRUNCATED : 0;
    memcpy(size_out, &size_bytes, sizeof size_bytes);
    memcpy(roflags_out, &roflags, sizeof roflags);
    return WASI_SUCCESS;
}

enum wasi_errno wasi_sock_send(struct wasi_call *call)
{
    struct wasi_fd *fd;
    enum wasi_errno error = find_socket(call->wasi, call->args[0].i32, WASI_RIGHT_FD_WRITE, &fd);
    if (error)
        return error;
    struct iovec iovecs[WASI_IOVECS_MAX];
    uint32_t count = call->args[2].i32;
    error = wasi_guest_iovecs(call, call->args[1].i32, count, iovecs);
    if (error)
        return error;
    if (call->args[3].i32) /* no flag is defined */
        return WASI_EINVAL;
    void *size_out = wasi_guest_range(call, call->args[4].i32, sizeof(uint32_t));
    if (!size_out)
        return WASI_EFAULT;
    struct msghdr message = {.msg_iov = iovecs, .msg_iovlen = count};
    ssize_t sent = TEMP_FAILURE_RETRY(sendmsg(fd->host, &message, MSG_NOSIGNAL));
    if (sent < 0)
        return wasi_errno_from_host(errno);
    uint32_t size_bytes = (uint32_t)sent;
    memcpy(size_out, &size_bytes, sizeof size_bytes);
    return WASI_SUCCESS;
}

enum wasi_errno wasi_sock_shutdown(struct wasi_call *call)
{
    static const int hows[] = {
        [WASI_SHUT_RD] = SHUT_RD, [WASI_SHUT_WR] = SHUT_WR, [WASI_SHUT_RD | WASI_SHUT_WR] = SHUT_RDWR};
    struct wasi_fd *fd;
    uint32_t sdflags = call->args[1].i32;
    enum wasi_errno error = find_socket(call->wasi, call->args[0].i32, WASI_RIGHT_SOCK_SHUTDOWN, &fd);
    if (error)
        return error;
    if (sdflags == 0 || sdflags > (WASI_SHUT_RD | WASI_SHUT_WR))
        return WASI_EINVAL;
    return wasi_errno_of(shutdown(fd->host, hows[sdflags]));
}
