/* Calls on open files. */
#include "double.h"

#include <errno.h>
#include <unistd.h>

#include <cmocka.h>

#include "sandbox.h"

static struct wasi_abi_filestat filestat(uint32_t fd)
{
    struct wasi_abi_filestat filestat;
    uint32_t out = guest_room(sizeof filestat);
    assert_int_equal(CALL(fd_filestat_get, fd, out), WASI_SUCCESS);
    memcpy(&filestat, guest_at(out), sizeof filestat);
    return filestat;
}

static void test_write_and_read_by_vectors(void **state)
{
    uint32_t fd = guest_opened("file", WASI_OFLAG_CREAT, RIGHTS_ALL);
    uint32_t out = guest_room(8);
    uint32_t text = guest_put("onetwothree", 11);
    struct wasi_abi_iovec parts[] = {{text, 3}, {text + 3, 0}, {text + 3, 8}};
    assert_int_equal(CALL(fd_write, fd, guest_put(parts, sizeof parts), 3, out), WASI_SUCCESS);
    assert_int_equal(guest_u32(out), 11);
    assert_string_equal(host_read("inside/file"), "onetwothree");

    assert_int_equal(CALL(fd_seek, fd, 3, WASI_WHENCE_SET, out), WASI_SUCCESS);
    assert_int_equal(guest_u64(out), 3);
    uint32_t buf = guest_room(32);
    struct wasi_abi_iovec rooms[] = {{buf, 3}, {buf + 8, 16}};
    assert_int_equal(CALL(fd_read, fd, guest_put(rooms, sizeof rooms), 2, out), WASI_SUCCESS);
    assert_int_equal(guest_u32(out), 8);
    assert_string_equal(guest_at(buf), "two");
    assert_string_equal(guest_at(buf + 8), "three");
    assert_int_equal(CALL(fd_read, fd, guest_iovec(buf, 32), 1, out), WASI_SUCCESS);
    assert_int_equal(guest_u32(out), 0);
    assert_int_equal(CALL(fd_read, fd, 16, 0, out), WASI_SUCCESS); /* no vector at all */
}

static void test_pread_and_pwrite_leave_the_position(void **state)
{
    uint32_t fd = guest_opened("file", WASI_OFLAG_CREAT, RIGHTS_ALL);
    uint32_t out = guest_room(8);
    uint32_t buf = guest_room(8);
    uint32_t iovec = guest_iovec(guest_put("xy", 2), 2);
    uint32_t room = guest_iovec(buf, 8);
    assert_int_equal(CALL(fd_pwrite, fd, iovec, 1, 4, out), WASI_SUCCESS);
    assert_int_equal(CALL(fd_pread, fd, room, 1, 3, out), WASI_SUCCESS);
    assert_int_equal(guest_u32(out), 3);
    assert_memory_equal(guest_at(buf), "\0xy", 3);
    assert_int_equal(CALL(fd_tell, fd, out), WASI_SUCCESS);
    assert_int_equal(guest_u64(out), 0);
    assert_int_equal(CALL(fd_pread, fd, room, 1, UINT64_MAX, out), WASI_EINVAL);
    assert_int_equal(CALL(fd_pwrite, fd, iovec, 1, UINT64_C(1) << 63, out), WASI_EINVAL);
}

static void test_seek(void **state)
{
    uint32_t out = guest_room(8);
    host_write("inside/file", "0123456789");
    uint32_t fd = guest_opened("file", 0, RIGHTS_READ);
    assert_int_equal(CALL(fd_seek, fd, -3, WASI_WHENCE_END, out), WASI_SUCCESS);
    assert_int_equal(guest_u64(out), 7);
    assert_int_equal(CALL(fd_seek, fd, -2, WASI_WHENCE_CUR, out), WASI_SUCCESS);
    assert_int_equal(guest_u64(out), 5);
    assert_int_equal(CALL(fd_tell, fd, out), WASI_SUCCESS);
    assert_int_equal(guest_u64(out), 5);
    assert_int_equal(CALL(fd_seek, fd, -6, WASI_WHENCE_CUR, out), WASI_EINVAL);
    assert_int_equal(CALL(fd_seek, fd, 0, 3, out), WASI_EINVAL);
    assert_int_equal(CALL(fd_seek, fd, INT64_MAX, WASI_WHENCE_CUR, out), WASI_EINVAL);
    assert_int_equal(CALL(fd_seek, fd, 0, WASI_WHENCE_SET, MEMORY_BYTES - 7), WASI_EFAULT);
}

static void test_a_pipe_does_not_seek(void **state)
{
    int ends[2];
    struct err err = {0};
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(wasi_inherit_fd(guest.wasi, ends[0], &err), 0);
    assert_int_equal(CALL(fd_seek, 5, 1, WASI_WHENCE_SET, 16), WASI_ESPIPE);
    assert_int_equal(CALL(fd_pread, 5, 16, 0, 0, 16), WASI_ESPIPE);
    close(ends[0]);
    close(ends[1]);
}

static void test_filestat(void **state)
{
    host_write("inside/file", "12345");
    uint32_t fd = guest_opened("file", 0, RIGHTS_ALL);
    struct wasi_abi_filestat file = filestat(fd);
    struct stat status;
    assert_int_equal(stat(host_path("inside/file"), &status), 0);
    assert_int_equal(file.filetype, WASI_FILETYPE_REGULAR_FILE);
    assert_int_equal(file.size, 5);
    assert_int_equal(file.nlink, 1);
    assert_int_equal(file.ino, status.st_ino);
    assert_int_equal(file.mtim, (uint64_t)status.st_mtim.tv_sec * 1000000000 + (uint64_t)status.st_mtim.tv_nsec);
    assert_int_equal(filestat(INSIDE).filetype, WASI_FILETYPE_DIRECTORY);
}

static void test_set_size(void **state)
{
    uint32_t fd = guest_opened("file", WASI_OFLAG_CREAT, RIGHTS_ALL);
    assert_int_equal(CALL(fd_filestat_set_size, fd, 100), WASI_SUCCESS);
    assert_int_equal(filestat(fd).size, 100);
    assert_int_equal(CALL(fd_filestat_set_size, fd, 1), WASI_SUCCESS);
    assert_int_equal(filestat(fd).size, 1);
    assert_int_equal(CALL(fd_filestat_set_size, fd, UINT64_MAX), WASI_EINVAL);
}

static void test_set_times(void **state)
{
    uint32_t fd = guest_opened("file", WASI_OFLAG_CREAT, RIGHTS_ALL);
    assert_int_equal(CALL(fd_filestat_set_times, fd, 1000000001, 2000000002, WASI_FST_ATIM | WASI_FST_MTIM),
                     WASI_SUCCESS);
    assert_int_equal(filestat(fd).atim, 1000000001);
    assert_int_equal(filestat(fd).mtim, 2000000002);
    assert_int_equal(CALL(fd_filestat_set_times, fd, 5, 6, WASI_FST_MTIM_NOW), WASI_SUCCESS);
    assert_int_equal(filestat(fd).atim, 1000000001);
    assert_true(filestat(fd).mtim > 2000000002);
    assert_int_equal(CALL(fd_filestat_set_times, fd, 0, 0, WASI_FST_ATIM | WASI_FST_ATIM_NOW), WASI_EINVAL);
    assert_int_equal(CALL(fd_filestat_set_times, fd, 0, 0, WASI_FST_MTIM | WASI_FST_MTIM_NOW), WASI_EINVAL);
    assert_int_equal(CALL(fd_filestat_set_times, fd, 0, 0, 16), WASI_EINVAL);
}

static void test_advise(void **state)
{
    uint32_t fd = guest_opened("file", WASI_OFLAG_CREAT, RIGHTS_ALL);
    for (uint32_t advice = 0; advice < 6; advice++)
        assert_int_equal(CALL(fd_advise, fd, 0, 10, advice), WASI_SUCCESS);
    assert_int_equal(CALL(fd_advise, fd, 0, 10, 6), WASI_EINVAL);
    assert_int_equal(CALL(fd_advise, fd, UINT64_MAX, 10, 0), WASI_EINVAL);
    assert_int_equal(CALL(fd_advise, fd, 0, UINT64_MAX, 0), WASI_EINVAL);
}

static void test_allocate(void **state)
{
    uint32_t fd = guest_opened("file", WASI_OFLAG_CREAT, RIGHTS_ALL);
    uint32_t error = CALL(fd_allocate, fd, 10, 20);
    if (error != WASI_ENOTSUP) { /* some file systems cannot */
        assert_int_equal(error, WASI_SUCCESS);
        assert_int_equal(filestat(fd).size, 30);
    }
    assert_int_equal(CALL(fd_allocate, fd, 0, 0), WASI_EINVAL);
    assert_int_equal(CALL(fd_allocate, fd, UINT64_MAX, 1), WASI_EINVAL);
}

static void test_sync(void **state)
{
    uint32_t fd = guest_opened("file", WASI_OFLAG_CREAT, RIGHTS_ALL);
    assert_int_equal(CALL(fd_sync, fd), WASI_SUCCESS);
    assert_int_equal(CALL(fd_datasync, fd), WASI_SUCCESS);
    assert_int_equal(CALL(fd_sync, 99), WASI_EBADF);
}

static void test_append(void **state)
{
    uint32_t out = guest_room(8);
    host_write("inside/file", "one");
    assert_int_equal(CALL(path_open, INSIDE, 0, PATH("file"), 0, RIGHTS_WRITE, 0, WASI_FDFLAG_APPEND, out),
                     WASI_SUCCESS);
    assert_int_equal(CALL(fd_write, guest_u32(out), guest_iovec(guest_put("two", 3), 3), 1, out + 4), WASI_SUCCESS);
    assert_string_equal(host_read("inside/file"), "onetwo");
}

static void test_nonblocking_read(void **state)
{
    int ends[2];
    struct err err = {0};
    uint32_t out = guest_room(8);
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(wasi_inherit_fd(guest.wasi, ends[0], &err), 0);
    assert_int_equal(CALL(fd_fdstat_set_flags, 5, WASI_FDFLAG_NONBLOCK), WASI_SUCCESS);
    assert_int_equal(CALL(fd_read, 5, guest_iovec(out, 1), 1, out + 4), WASI_EAGAIN);
    close(ends[0]);
    close(ends[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_write_and_read_by_vectors, sandbox_start, sandbox_stop),
        cmocka_unit_test_setup_teardown(test_pread_and_pwrite_leave_the_position, sandbox_start, sandbox_stop),
        cmocka_unit_test_setup_teardown(test_seek, sandbox_start, sandbox_stop),
        cmocka_unit_test_setup_teardown(test_a_pipe_does_not_seek, sandbox_start, sandbox_stop),
        cmocka_unit_test_setup_teardown(test_filestat, sandbox_start, sandbox_stop),
        cmocka_unit_test_setup_teardown(test_set_size, sandbox_start, sandbox_stop),
        cmocka_unit_test_setup_teardown(test_set_times, sandbox_start, sandbox_stop),
        cmocka_unit_test_setup_teardown(test_advise, sandbox_start, sandbox_stop),
        cmocka_unit_test_setup_teardown(test_allocate, sandbox_start, sandbox_stop),
        cmocka_unit_test_setup_teardown(test_sync, sandbox_start, sandbox_stop),
        cmocka_unit_test_setup_teardown(test_append, sandbox_start, sandbox_stop),
        cmocka_unit_test_setup_teardown(test_nonblocking_read, sandbox_start, sandbox_stop),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
