/* The four calls on sockets. */
#include "double.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cmocka.h>

#include "sandbox.h"

/* One end of a pair is the guest's descriptor 5, the other the host's. */
static int pair[2];

static void make_pair(int type)
{
    struct err err = {0};
    assert_int_equal(socketpair(AF_UNIX, type | SOCK_CLOEXEC, 0, pair), 0);
    assert_int_equal(wasi_inherit_fd(guest.wasi, pair[1], &err), 0);
    close(pair[1]);
}

static uint8_t filetype(uint32_t fd)
{
    uint32_t out = guest_room(sizeof(struct wasi_abi_fdstat));
    assert_int_equal(CALL(fd_fdstat_get, fd, out), WASI_SUCCESS);
    return *(uint8_t *)guest_at(out);
}

static void test_send_and_recv(void **state)
{
    char bytes[8] = "";
    uint32_t out = guest_room(4);
    uint32_t roflags = guest_room(2);
    uint32_t buf = guest_room(8);
    uint32_t room = guest_iovec(buf, 8);
    make_pair(SOCK_STREAM);
    assert_int_equal(filetype(5), WASI_FILETYPE_SOCKET_STREAM);
    uint32_t text = guest_put("abcdef", 6);
    struct wasi_abi_iovec parts[] = {{text, 2}, {text + 2, 4}};
    assert_int_equal(CALL(sock_send, 5, guest_put(parts, sizeof parts), 2, 0, out), WASI_SUCCESS);
    assert_int_equal(guest_u32(out), 6);
    assert_int_equal(read(pair[0], bytes, 8), 6);
    assert_string_equal(bytes, "abcdef");

    assert_int_equal(write(pair[0], "xyz", 3), 3);
    assert_int_equal(CALL(sock_recv, 5, room, 1, WASI_RECV_PEEK, out, roflags), WASI_SUCCESS);
    assert_int_equal(guest_u32(out), 3);
    assert_int_equal(CALL(sock_recv, 5, room, 1, 0, out, roflags), WASI_SUCCESS);
    assert_int_equal(guest_u32(out), 3);
    assert_int_equal(*(uint16_t *)guest_at(roflags), 0);
    assert_string_equal(guest_at(buf), "xyz");
    assert_int_equal(CALL(sock_recv, 5, room, 1, 4, out, roflags), WASI_EINVAL);
    assert_int_equal(CALL(sock_send, 5, room, 1, 1, out), WASI_EINVAL);
    assert_int_equal(CALL(sock_recv, 5, room, 1, 0, out, MEMORY_BYTES - 1), WASI_EFAULT);
    assert_int_equal(CALL(sock_send, 5, room, 1, 0, MEMORY_BYTES - 3), WASI_EFAULT);
    close(pair[0]);
}

static void test_a_datagram_that_is_cut(void **state)
{
    uint32_t out = guest_room(4);
    uint32_t roflags = guest_room(2);
    uint32_t buf = guest_room(2);
    make_pair(SOCK_DGRAM);
    assert_int_equal(filetype(5), WASI_FILETYPE_SOCKET_DGRAM);
    assert_int_equal(write(pair[0], "xyz", 3), 3);
    assert_int_equal(CALL(sock_recv, 5, guest_iovec(buf, 2), 1, 0, out, roflags), WASI_SUCCESS);
    assert_int_equal(guest_u32(out), 2);
    assert_int_equal(*(uint16_t *)guest_at(roflags), WASI_RECV_DATA_TRUNCATED);
    close(pair[0]);
}

static void test_shutdown(void **state)
{
    char byte;
    uint32_t out = guest_room(4);
    uint32_t iovec = guest_iovec(out, 1);
    make_pair(SOCK_STREAM);
    assert_int_equal(CALL(sock_shutdown, 5, 0), WASI_EINVAL);
    assert_int_equal(CALL(sock_shutdown, 5, 4), WASI_EINVAL);
    assert_int_equal(CALL(sock_shutdown, 5, WASI_SHUT_WR), WASI_SUCCESS);
    assert_int_equal(read(pair[0], &byte, 1), 0);
    assert_int_equal(CALL(sock_send, 5, iovec, 1, 0, out), WASI_EPIPE); /* and no SIGPIPE */
    assert_int_equal(CALL(sock_shutdown, 5, WASI_SHUT_RD | WASI_SHUT_WR), WASI_SUCCESS);
    assert_int_equal(CALL(fd_fdstat_set_rights, 5, 0, 0), WASI_SUCCESS);
    assert_int_equal(CALL(sock_shutdown, 5, WASI_SHUT_WR), WASI_ENOTCAPABLE);
    assert_int_equal(CALL(sock_send, 5, iovec, 1, 0, out), WASI_ENOTCAPABLE);
    assert_int_equal(CALL(sock_recv, 5, iovec, 1, 0, out, out), WASI_ENOTCAPABLE);
    assert_int_equal(CALL(sock_accept, 5, 0, out), WASI_ENOTCAPABLE);
    close(pair[0]);
}

static void test_accept(void **state)
{
    struct err err = {0};
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    snprintf(address.sun_path, sizeof address.sun_path, "%s", host_path("socket"));
    int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    int client = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(listener, (struct sockaddr *)&address, sizeof address), 0);
    assert_int_equal(listen(listener, 1), 0);
    assert_int_equal(connect(client, (struct sockaddr *)&address, sizeof address), 0);
    assert_int_equal(wasi_inherit_fd(guest.wasi, listener, &err), 0);

    uint32_t out = guest_room(8);
    assert_int_equal(CALL(sock_accept, 5, WASI_FDFLAG_APPEND, out), WASI_EINVAL);
    assert_int_equal(CALL(sock_accept, 5, 0, MEMORY_BYTES - 3), WASI_EFAULT);
    assert_int_equal(CALL(sock_accept, 5, WASI_FDFLAG_NONBLOCK, out), WASI_SUCCESS);
    assert_int_equal(guest_u32(out), 6);
    assert_int_equal(CALL(sock_recv, 6, guest_iovec(out, 4), 1, 0, out + 4, out), WASI_EAGAIN);
    assert_int_equal(CALL(fd_write, 6, guest_iovec(guest_put("hi", 2), 2), 1, out), WASI_SUCCESS);
    char bytes[8] = "";
    assert_int_equal(read(client, bytes, 8), 2);
    close(client);
    close(listener);
}

static void test_a_file_is_no_socket(void **state)
{
    uint32_t out = guest_room(8);
    uint32_t fd = guest_opened("file", WASI_OFLAG_CREAT, RIGHTS_ALL);
    assert_int_equal(CALL(sock_recv, fd, guest_iovec(out, 4), 1, 0, out, out), WASI_ENOTSOCK);
    assert_int_equal(CALL(sock_send, fd, guest_iovec(out, 4), 1, 0, out), WASI_ENOTSOCK);
    assert_int_equal(CALL(sock_accept, fd, 0, out), WASI_ENOTSOCK);
    assert_int_equal(CALL(sock_shutdown, fd, WASI_SHUT_RD), WASI_ENOTSOCK);
    assert_int_equal(CALL(sock_shutdown, 99, 1), WASI_EBADF);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_send_and_recv, sandbox_start, sandbox_stop),
        cmocka_unit_test_setup_teardown(test_a_datagram_that_is_cut, sandbox_start, sandbox_stop),
        cmocka_unit_test_setup_teardown(test_shutdown, sandbox_start, sandbox_stop),
        cmocka_unit_test_setup_teardown(test_accept, sandbox_start, sandbox_stop),
        cmocka_unit_test_setup_teardown(test_a_file_is_no_socket, sandbox_start, sandbox_stop),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
