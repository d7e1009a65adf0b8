/* The table of descriptors: status, flags, rights, preopens, closing and renumbering. */
#include "double.h"

#include <unistd.h>

#include <cmocka.h>

#include "sandbox.h"

static struct wasi_abi_fdstat fdstat(uint32_t fd)
{
    uint32_t out = guest_room(sizeof(struct wasi_abi_fdstat));
    struct wasi_abi_fdstat fdstat;
    assert_int_equal(CALL(fd_fdstat_get, fd, out), WASI_SUCCESS);
    memcpy(&fdstat, guest_at(out), sizeof fdstat);
    return fdstat;
}

static void test_prestat(void **state)
{
    uint32_t out = guest_room(8);
    uint32_t name = guest_room(16);
    assert_int_equal(CALL(fd_prestat_get, INSIDE, out), WASI_SUCCESS);
    assert_int_equal(guest_u32(out), 0);
    assert_int_equal(guest_u32(out + 4), 1);
    assert_int_equal(CALL(fd_prestat_get, OTHER, out), WASI_SUCCESS);
    assert_int_equal(guest_u32(out + 4), 6);
    assert_int_equal(CALL(fd_prestat_dir_name, OTHER, name, 6), WASI_SUCCESS);
    assert_string_equal(guest_at(name), "/other");
    assert_int_equal(CALL(fd_prestat_dir_name, OTHER, name, 5), WASI_ENAMETOOLONG);
    assert_int_equal(CALL(fd_prestat_dir_name, OTHER, MEMORY_BYTES - 5, 6), WASI_EFAULT);
    assert_int_equal(CALL(fd_prestat_get, 5, out), WASI_EBADF); /* where wasi-libc stops to look */
    assert_int_equal(CALL(fd_prestat_get, 1, out), WASI_EBADF);
    assert_int_equal(CALL(fd_prestat_dir_name, 1, name, 6), WASI_EBADF);
}

static void test_fdstat(void **state)
{
    struct wasi_abi_fdstat directory = fdstat(INSIDE);
    assert_int_equal(directory.filetype, WASI_FILETYPE_DIRECTORY);
    assert_true(directory.rights_base & WASI_RIGHT_PATH_OPEN);
    assert_false(directory.rights_base & WASI_RIGHT_FD_READ);
    assert_true(directory.rights_inheriting & WASI_RIGHT_FD_READ);

    struct wasi_abi_fdstat file = fdstat(guest_opened("file", WASI_OFLAG_CREAT, RIGHTS_ALL));
    assert_int_equal(file.filetype, WASI_FILETYPE_REGULAR_FILE);
    assert_true(file.rights_base & WASI_RIGHT_FD_WRITE);
    assert_false(file.rights_base & WASI_RIGHT_PATH_OPEN); /* does not apply to a file */
    assert_int_equal(fdstat(guest_opened("file", 0, RIGHTS_READ)).rights_base, RIGHTS_READ);
    assert_int_equal(CALL(fd_fdstat_get, 99, 16), WASI_EBADF);
}

static void test_flags(void **state)
{
    uint32_t fd = guest_opened("file", WASI_OFLAG_CREAT, RIGHTS_ALL);
    assert_int_equal(fdstat(fd).flags, 0);
    assert_int_equal(CALL(fd_fdstat_set_flags, fd, WASI_FDFLAG_APPEND | WASI_FDFLAG_NONBLOCK), WASI_SUCCESS);
    assert_int_equal(fdstat(fd).flags, WASI_FDFLAG_APPEND | WASI_FDFLAG_NONBLOCK);
    assert_int_equal(CALL(fd_fdstat_set_flags, fd, 0), WASI_SUCCESS);
    assert_int_equal(fdstat(fd).flags, 0);
    assert_int_equal(CALL(fd_fdstat_set_flags, fd, WASI_FDFLAG_SYNC), WASI_ENOTSUP);
    assert_int_equal(CALL(fd_fdstat_set_flags, fd, 1 << 5), WASI_EINVAL);

    uint32_t out = guest_room(4);
    uint32_t flags = WASI_FDFLAG_DSYNC | WASI_FDFLAG_APPEND;
    assert_int_equal(CALL(path_open, INSIDE, 0, PATH("file"), 0, RIGHTS_ALL, 0, flags, out), WASI_SUCCESS);
    assert_int_equal(fdstat(guest_u32(out)).flags, flags);
    assert_int_equal(CALL(fd_fdstat_set_flags, guest_u32(out), WASI_FDFLAG_DSYNC), WASI_SUCCESS);
    assert_int_equal(fdstat(guest_u32(out)).flags, WASI_FDFLAG_DSYNC);
    assert_int_equal(CALL(path_open, INSIDE, 0, PATH("file"), 0, RIGHTS_ALL, 0, 1 << 5, out), WASI_EINVAL);
}

static void test_rights_only_shrink(void **state)
{
    uint32_t out = guest_room(8);
    uint32_t fd = guest_opened("file", WASI_OFLAG_CREAT, RIGHTS_WRITE);
    uint32_t iovec = guest_iovec(out, 1);
    assert_int_equal(CALL(fd_fdstat_set_rights, fd, RIGHTS_WRITE | WASI_RIGHT_FD_SYNC, 0), WASI_ENOTCAPABLE);
    assert_int_equal(CALL(fd_fdstat_set_rights, fd, RIGHTS_READ, WASI_RIGHT_FD_READ), WASI_ENOTCAPABLE);
    assert_int_equal(CALL(fd_write, fd, iovec, 1, out), WASI_SUCCESS);
    assert_int_equal(CALL(fd_fdstat_set_rights, fd, RIGHTS_READ, 0), WASI_SUCCESS);
    assert_int_equal(CALL(fd_write, fd, iovec, 1, out), WASI_ENOTCAPABLE);
    assert_int_equal(CALL(fd_fdstat_set_rights, fd, RIGHTS_WRITE, 0), WASI_ENOTCAPABLE);
    assert_int_equal(CALL(fd_fdstat_set_rights, fd, WASI_RIGHT_FD_TELL, 0), WASI_SUCCESS);
    assert_int_equal(CALL(fd_tell, fd, out), WASI_SUCCESS);
    assert_int_equal(CALL(fd_seek, fd, 0, WASI_WHENCE_CUR, out), WASI_SUCCESS);
    assert_int_equal(CALL(fd_seek, fd, 1, WASI_WHENCE_CUR, out), WASI_ENOTCAPABLE);
    assert_int_equal(CALL(fd_read, fd, iovec, 1, out), WASI_ENOTCAPABLE);
    assert_int_equal(CALL(fd_filestat_get, fd, 16), WASI_ENOTCAPABLE);
}

/* A descriptor that may nothing is refused by every call that needs a right. */
static void test_each_right_is_asked_for(void **state)
{
    uint32_t out = guest_room(64);
    host_write("inside/file", "x");
    uint32_t fd;
    assert_int_equal(guest_open(INSIDE, ".", WASI_OFLAG_DIRECTORY, WASI_RIGHT_PATH_OPEN, &fd), WASI_SUCCESS);
    /* `fd` may open and nothing else, and what it opens may nothing. */
    uint32_t opened;
    assert_int_equal(guest_open(fd, "file", 0, 0, &opened), WASI_SUCCESS);
    assert_int_equal(guest_open(fd, "file", 0, WASI_RIGHT_FD_READ, &opened), WASI_ENOTCAPABLE);
    assert_int_equal(guest_open(fd, "new", WASI_OFLAG_CREAT, 0, &opened), WASI_ENOTCAPABLE);
    assert_int_equal(guest_open(fd, "file", WASI_OFLAG_TRUNC, 0, &opened), WASI_ENOTCAPABLE);
    assert_int_equal(CALL(path_create_directory, fd, PATH("new")), WASI_ENOTCAPABLE);
    assert_int_equal(CALL(path_filestat_get, fd, 0, PATH("file"), out), WASI_ENOTCAPABLE);
    assert_int_equal(CALL(path_filestat_set_times, fd, 0, PATH("file"), 0, 0, 0), WASI_ENOTCAPABLE);
    assert_int_equal(CALL(path_link, fd, 0, PATH("file"), INSIDE, PATH("new")), WASI_ENOTCAPABLE);
    assert_int_equal(CALL(path_link, INSIDE, 0, PATH("file"), fd, PATH("new")), WASI_ENOTCAPABLE);
    assert_int_equal(CALL(path_readlink, fd, PATH("file"), 16, 8, out), WASI_ENOTCAPABLE);
    assert_int_equal(CALL(path_remove_directory, fd, PATH("file")), WASI_ENOTCAPABLE);
    assert_int_equal(CALL(path_rename, fd, PATH("file"), INSIDE, PATH("new")), WASI_ENOTCAPABLE);
    assert_int_equal(CALL(path_rename, INSIDE, PATH("file"), fd, PATH("new")), WASI_ENOTCAPABLE);
    assert_int_equal(CALL(path_symlink, PATH("file"), fd, PATH("new")), WASI_ENOTCAPABLE);
    assert_int_equal(CALL(path_unlink_file, fd, PATH("file")), WASI_ENOTCAPABLE);
    assert_int_equal(CALL(fd_readdir, fd, out, 8, 0, out + 8), WASI_ENOTCAPABLE);
    assert_int_equal(CALL(fd_filestat_set_times, fd, 0, 0, 0), WASI_ENOTCAPABLE);
    /* And a file that may nothing. */
    assert_int_equal(guest_open(fd, "file", 0, 0, &opened), WASI_SUCCESS);
    assert_int_equal(CALL(fd_advise, opened, 0, 0, 0), WASI_ENOTCAPABLE);
    assert_int_equal(CALL(fd_allocate, opened, 0, 1), WASI_ENOTCAPABLE);
    assert_int_equal(CALL(fd_datasync, opened), WASI_ENOTCAPABLE);
    assert_int_equal(CALL(fd_sync, opened), WASI_ENOTCAPABLE);
    assert_int_equal(CALL(fd_fdstat_set_flags, opened, 0), WASI_ENOTCAPABLE);
    assert_int_equal(CALL(fd_filestat_set_size, opened, 0), WASI_ENOTCAPABLE);
    assert_int_equal(CALL(fd_tell, opened, out), WASI_ENOTCAPABLE);
    assert_int_equal(CALL(fd_pread, opened, 16, 0, 0, out), WASI_ENOTCAPABLE);
    assert_int_equal(CALL(fd_pwrite, opened, 16, 0, 0, out), WASI_ENOTCAPABLE);
}

static void test_close(void **state)
{
    uint32_t fd = guest_opened("file", WASI_OFLAG_CREAT, RIGHTS_READ);
    assert_int_equal(CALL(fd_close, fd), WASI_SUCCESS);
    assert_int_equal(CALL(fd_close, fd), WASI_EBADF);
    assert_int_equal(CALL(fd_close, 0xffffffff), WASI_EBADF);
    assert_int_equal(guest_opened("file", 0, RIGHTS_READ), fd); /* the lowest free number */
}

static void test_closing_standard_output_leaves_the_hosts_open(void **state)
{
    assert_int_equal(CALL(fd_close, 1), WASI_SUCCESS);
    assert_true(fcntl(1, F_GETFD) >= 0);
    assert_int_equal(guest_opened("file", WASI_OFLAG_CREAT, RIGHTS_READ), 1);
}

static void test_flags_of_inherited_files_are_put_back(void **state)
{
    int ends[2];
    struct err err = {0};
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(wasi_inherit_fd(guest.wasi, ends[0], &err), 0);
    assert_int_equal(CALL(fd_fdstat_set_flags, 5, WASI_FDFLAG_NONBLOCK), WASI_SUCCESS);
    assert_true(fcntl(ends[0], F_GETFL) & O_NONBLOCK);
    assert_int_equal(CALL(fd_close, 5), WASI_SUCCESS);
    assert_false(fcntl(ends[0], F_GETFL) & O_NONBLOCK);
    close(ends[0]);
    close(ends[1]);
}

static void test_an_inherited_descriptor_has_the_rights_of_its_access_mode(void **state)
{
    int ends[2];
    struct err err = {0};
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(wasi_inherit_fd(guest.wasi, ends[0], &err), 0);
    assert_int_equal(wasi_inherit_fd(guest.wasi, ends[1], &err), 0);
    assert_true(fdstat(5).rights_base & WASI_RIGHT_FD_READ);
    assert_false(fdstat(5).rights_base & WASI_RIGHT_FD_WRITE);
    assert_false(fdstat(6).rights_base & WASI_RIGHT_FD_READ);
    assert_true(fdstat(6).rights_base & WASI_RIGHT_FD_WRITE);
    assert_int_equal(fdstat(6).filetype, WASI_FILETYPE_UNKNOWN);
    assert_int_not_equal(wasi_inherit_fd(guest.wasi, 9999, &err), 0);
    assert_int_equal(err.kind, ERR_RESOURCE);
    close(ends[0]);
    close(ends[1]);
}

static void test_renumber(void **state)
{
    host_write("inside/a", "a");
    host_write("inside/b", "b");
    uint32_t a = guest_opened("a", 0, RIGHTS_READ);
    uint32_t b = guest_opened("b", 0, RIGHTS_READ);
    uint32_t out = guest_room(8);
    uint32_t iovec = guest_iovec(out, 1);
    assert_int_equal(CALL(fd_renumber, a, 99), WASI_EBADF); /* the table does not grow */
    assert_int_equal(CALL(fd_renumber, 99, a), WASI_EBADF);
    assert_int_equal(CALL(fd_renumber, a, a), WASI_SUCCESS);
    assert_int_equal(CALL(fd_renumber, a, b), WASI_SUCCESS);
    assert_int_equal(CALL(fd_close, a), WASI_EBADF);
    assert_int_equal(CALL(fd_read, b, iovec, 1, out + 4), WASI_SUCCESS);
    assert_int_equal(*(char *)guest_at(out), 'a');
}

/* A file over a preopened directory: the number is the file's then, and the name is gone. */
static void test_renumber_over_a_preopen(void **state)
{
    uint32_t out = guest_room(8);
    uint32_t fd = guest_opened("file", WASI_OFLAG_CREAT, RIGHTS_WRITE);
    assert_int_equal(CALL(fd_renumber, fd, OTHER), WASI_SUCCESS);
    assert_int_equal(CALL(fd_prestat_get, OTHER, out), WASI_EBADF);
    assert_int_equal(guest_open(OTHER, "x", WASI_OFLAG_CREAT, 0, &fd), WASI_ENOTCAPABLE);
    /* And one preopen over another moves its name and no more. */
    assert_int_equal(CALL(fd_renumber, INSIDE, OTHER), WASI_SUCCESS);
    assert_int_equal(CALL(fd_prestat_get, OTHER, out), WASI_SUCCESS);
    assert_int_equal(guest_u32(out + 4), 1);
    assert_int_equal(guest_open(OTHER, "../secret", 0, RIGHTS_READ, &fd), WASI_EPERM);
}

static void test_a_preopen_that_is_not_there(void **state)
{
    struct err err = {0};
    assert_int_not_equal(wasi_preopen_dir(guest.wasi, host_path("missing"), "/x", &err), 0);
    assert_int_equal(err.kind, ERR_RESOURCE);
    assert_non_null(strstr(err.message, "missing"));
    err = (struct err){0};
    assert_int_not_equal(wasi_preopen_dir(guest.wasi, host_path("secret"), "/x", &err), 0); /* not a directory */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_prestat, sandbox_start, sandbox_stop),
        cmocka_unit_test_setup_teardown(test_fdstat, sandbox_start, sandbox_stop),
        cmocka_unit_test_setup_teardown(test_flags, sandbox_start, sandbox_stop),
        cmocka_unit_test_setup_teardown(test_rights_only_shrink, sandbox_start, sandbox_stop),
        cmocka_unit_test_setup_teardown(test_each_right_is_asked_for, sandbox_start, sandbox_stop),
        cmocka_unit_test_setup_teardown(test_close, sandbox_start, sandbox_stop),
        cmocka_unit_test_setup_teardown(test_closing_standard_output_leaves_the_hosts_open, sandbox_start,
                                        sandbox_stop),
        cmocka_unit_test_setup_teardown(test_flags_of_inherited_files_are_put_back, sandbox_start, sandbox_stop),
        cmocka_unit_test_setup_teardown(test_an_inherited_descriptor_has_the_rights_of_its_access_mode, sandbox_start,
                                        sandbox_stop),
        cmocka_unit_test_setup_teardown(test_renumber, sandbox_start, sandbox_stop),
        cmocka_unit_test_setup_teardown(test_renumber_over_a_preopen, sandbox_start, sandbox_stop),
        cmocka_unit_test_setup_teardown(test_a_preopen_that_is_not_there, sandbox_start, sandbox_stop),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
