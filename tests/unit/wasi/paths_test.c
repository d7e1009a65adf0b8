/* The path_ functions doing what they are for, with openat2 and with our own walk. */
#include "double.h"

#include <errno.h>
#include <unistd.h>

#include <cmocka.h>

#include "sandbox.h"
#include "vm/wasi/internal.h"

static int sandbox_start_walking(void **state)
{
    sandbox_start(state);
    guest.wasi->openat2_is_missing = true;
    return 0;
}

static struct wasi_abi_filestat filestat;

static uint32_t get_filestat(uint32_t lookupflags, const char *path)
{
    uint32_t out = guest_room(sizeof filestat);
    uint32_t error = CALL(path_filestat_get, INSIDE, lookupflags, PATH(path), out);
    memcpy(&filestat, guest_at(out), sizeof filestat);
    return error;
}

static void test_open(void **state)
{
    uint32_t fd;
    assert_int_equal(guest_open(INSIDE, "file", 0, RIGHTS_READ, &fd), WASI_ENOENT);
    assert_int_equal(guest_open(INSIDE, "file", WASI_OFLAG_CREAT, RIGHTS_WRITE, &fd), WASI_SUCCESS);
    assert_int_equal(guest_open(INSIDE, "file", WASI_OFLAG_CREAT | WASI_OFLAG_EXCL, RIGHTS_WRITE, &fd), WASI_EEXIST);
    host_write("inside/file", "text");
    assert_int_equal(guest_open(INSIDE, "file", WASI_OFLAG_TRUNC, RIGHTS_WRITE, &fd), WASI_SUCCESS);
    assert_string_equal(host_read("inside/file"), "");
    assert_int_equal(guest_open(INSIDE, "file", WASI_OFLAG_DIRECTORY, RIGHTS_READ, &fd), WASI_ENOTDIR);
    assert_int_equal(guest_open(INSIDE, "file/", 0, RIGHTS_READ, &fd), WASI_ENOTDIR);
    assert_int_equal(guest_open(INSIDE, "file/x", 0, RIGHTS_READ, &fd), WASI_ENOTDIR);
    assert_int_equal(guest_open(INSIDE, ".", WASI_OFLAG_DIRECTORY, RIGHTS_READ, &fd), WASI_SUCCESS);
    assert_int_equal(guest_open(INSIDE, ".", 0, RIGHTS_WRITE, &fd), WASI_EISDIR);
    assert_int_equal(guest_open(INSIDE, "", 0, RIGHTS_READ, &fd), WASI_ENOENT);
    assert_int_equal(guest_open(INSIDE, "file", 16, RIGHTS_READ, &fd), WASI_EINVAL);
    assert_int_equal(guest_open(INSIDE, "new", WASI_OFLAG_CREAT | WASI_OFLAG_DIRECTORY, RIGHTS_READ, &fd), WASI_EINVAL);
    assert_int_equal(guest_open(1, "file", 0, RIGHTS_READ, &fd), WASI_ENOTCAPABLE);
    assert_int_equal(guest_open(99, "file", 0, RIGHTS_READ, &fd), WASI_EBADF);
}

/* Nothing is opened for a guest that cannot be told its number. */
static void test_open_checks_the_result_address_first(void **state)
{
    assert_int_equal(CALL(path_open, INSIDE, 0, PATH("file"), WASI_OFLAG_CREAT, RIGHTS_WRITE, 0, 0, MEMORY_BYTES - 3),
                     WASI_EFAULT);
    assert_false(host_exists("inside/file"));
    assert_int_equal(guest_opened("file", WASI_OFLAG_CREAT, RIGHTS_WRITE), 5);
}

static void test_folders_and_dots(void **state)
{
    uint32_t fd;
    assert_int_equal(CALL(path_create_directory, INSIDE, PATH("a")), WASI_SUCCESS);
    assert_int_equal(CALL(path_create_directory, INSIDE, PATH("a/b/")), WASI_SUCCESS);
    assert_int_equal(CALL(path_create_directory, INSIDE, PATH("a//b///")), WASI_EEXIST);
    assert_int_equal(CALL(path_create_directory, INSIDE, PATH(".")), WASI_EEXIST);
    assert_int_equal(CALL(path_create_directory, INSIDE, PATH("a/..")), WASI_EINVAL);
    assert_int_equal(CALL(path_create_directory, INSIDE, PATH("x/y")), WASI_ENOENT);
    assert_int_equal(guest_open(INSIDE, "a/b/../.././a//b/./file", WASI_OFLAG_CREAT, RIGHTS_WRITE, &fd), WASI_SUCCESS);
    assert_true(host_exists("inside/a/b/file"));
    assert_int_equal(guest_open(INSIDE, "a/b", WASI_OFLAG_DIRECTORY, RIGHTS_ALL, &fd), WASI_EISDIR);
    assert_int_equal(guest_open(INSIDE, "a/b", WASI_OFLAG_DIRECTORY, WASI_RIGHTS_DIRECTORY, &fd), WASI_SUCCESS);
    assert_int_equal(guest_open(fd, "..", WASI_OFLAG_DIRECTORY, 0, &fd), WASI_EPERM);
    assert_int_equal(CALL(path_remove_directory, INSIDE, PATH("a/b")), WASI_ENOTEMPTY);
    assert_int_equal(CALL(path_remove_directory, INSIDE, PATH("a/b/file")), WASI_ENOTDIR);
    assert_int_equal(CALL(path_unlink_file, INSIDE, PATH("a/b")), WASI_EISDIR);
    assert_int_equal(CALL(path_unlink_file, INSIDE, PATH("a/b/file/")), WASI_ENOTDIR);
    assert_int_equal(CALL(path_unlink_file, INSIDE, PATH("a/b/file")), WASI_SUCCESS);
    assert_int_equal(CALL(path_unlink_file, INSIDE, PATH("a/b/file")), WASI_ENOENT);
    assert_int_equal(CALL(path_remove_directory, INSIDE, PATH("a/b/")), WASI_SUCCESS);
    assert_int_equal(CALL(path_remove_directory, INSIDE, PATH(".")), WASI_EINVAL);
    assert_int_equal(CALL(path_remove_directory, INSIDE, PATH("a/..")), WASI_EINVAL);
}

static void test_symlinks(void **state)
{
    uint32_t fd;
    uint32_t buf = guest_room(16);
    uint32_t out = guest_room(4);
    host_write("inside/file", "text");
    assert_int_equal(CALL(path_create_directory, INSIDE, PATH("a")), WASI_SUCCESS);
    assert_int_equal(CALL(path_symlink, PATH("../file"), INSIDE, PATH("a/link")), WASI_SUCCESS);
    assert_int_equal(CALL(path_symlink, PATH("a"), INSIDE, PATH("folder")), WASI_SUCCESS);
    assert_int_equal(CALL(path_symlink, PATH("later"), INSIDE, PATH("dangling")), WASI_SUCCESS);
    assert_int_equal(CALL(path_symlink, PATH("x"), INSIDE, PATH("dangling")), WASI_EEXIST);
    assert_int_equal(CALL(path_symlink, PATH("/etc/passwd"), INSIDE, PATH("absolute")), WASI_EPERM);
    assert_int_equal(CALL(path_symlink, PATH(""), INSIDE, PATH("empty")), WASI_ENOENT);

    assert_int_equal(CALL(path_readlink, INSIDE, PATH("folder/link"), buf, 16, out), WASI_SUCCESS);
    assert_int_equal(guest_u32(out), 7);
    assert_memory_equal(guest_at(buf), "../file", 8);
    assert_int_equal(CALL(path_readlink, INSIDE, PATH("folder/link"), buf, 4, out), WASI_SUCCESS);
    assert_int_equal(guest_u32(out), 4);
    assert_int_equal(CALL(path_readlink, INSIDE, PATH("file"), buf, 16, out), WASI_EINVAL);
    assert_int_equal(CALL(path_readlink, INSIDE, PATH("folder/"), buf, 16, out), WASI_EINVAL);
    assert_int_equal(CALL(path_readlink, INSIDE, PATH("missing"), buf, 16, out), WASI_ENOENT);

    assert_int_equal(guest_open(INSIDE, "folder/link", 0, RIGHTS_READ, &fd), WASI_SUCCESS);
    assert_int_equal(CALL(path_open, INSIDE, 0, PATH("folder/link"), 0, RIGHTS_READ, 0, 0, out), WASI_ELOOP);
    assert_int_equal(CALL(path_open, INSIDE, 0, PATH("folder/"), 0, 0, 0, 0, out), WASI_SUCCESS);
    assert_int_equal(guest_open(INSIDE, "dangling", 0, RIGHTS_READ, &fd), WASI_ENOENT);
    assert_int_equal(guest_open(INSIDE, "dangling", WASI_OFLAG_CREAT | WASI_OFLAG_EXCL, RIGHTS_READ, &fd), WASI_EEXIST);
    assert_int_equal(guest_open(INSIDE, "dangling", WASI_OFLAG_CREAT, RIGHTS_READ, &fd), WASI_SUCCESS);
    assert_true(host_exists("inside/later"));
    assert_int_equal(CALL(path_open, INSIDE, 2, PATH("file"), 0, 0, 0, 0, out), WASI_EINVAL);
}

static void test_link_loops(void **state)
{
    uint32_t fd;
    assert_int_equal(CALL(path_symlink, PATH("b"), INSIDE, PATH("a")), WASI_SUCCESS);
    assert_int_equal(CALL(path_symlink, PATH("a"), INSIDE, PATH("b")), WASI_SUCCESS);
    assert_int_equal(CALL(path_symlink, PATH("self/self"), INSIDE, PATH("self")), WASI_SUCCESS);
    assert_int_equal(guest_open(INSIDE, "a", 0, RIGHTS_READ, &fd), WASI_ELOOP);
    assert_int_equal(guest_open(INSIDE, "a/x", WASI_OFLAG_CREAT, RIGHTS_READ, &fd), WASI_ELOOP);
    assert_int_equal(guest_open(INSIDE, "self", 0, RIGHTS_READ, &fd), WASI_ELOOP);
    assert_int_equal(CALL(path_unlink_file, INSIDE, PATH("a")), WASI_SUCCESS);
}

static void test_filestat(void **state)
{
    host_write("inside/file", "text");
    assert_int_equal(CALL(path_symlink, PATH("file"), INSIDE, PATH("link")), WASI_SUCCESS);
    assert_int_equal(get_filestat(0, "file"), WASI_SUCCESS);
    assert_int_equal(filestat.filetype, WASI_FILETYPE_REGULAR_FILE);
    assert_int_equal(filestat.size, 4);
    assert_int_equal(get_filestat(0, "link"), WASI_SUCCESS);
    assert_int_equal(filestat.filetype, WASI_FILETYPE_SYMBOLIC_LINK);
    assert_int_equal(get_filestat(WASI_LOOKUP_SYMLINK_FOLLOW, "link"), WASI_SUCCESS);
    assert_int_equal(filestat.filetype, WASI_FILETYPE_REGULAR_FILE);
    assert_int_equal(get_filestat(0, "."), WASI_SUCCESS);
    assert_int_equal(filestat.filetype, WASI_FILETYPE_DIRECTORY);
    assert_int_equal(get_filestat(0, "file/"), WASI_ENOTDIR);
    assert_int_equal(get_filestat(0, "missing"), WASI_ENOENT);
    assert_int_equal(get_filestat(2, "file"), WASI_EINVAL);
    assert_int_equal(CALL(path_filestat_get, INSIDE, 0, PATH("file"), MEMORY_BYTES - 63), WASI_EFAULT);
}

static void test_set_times(void **state)
{
    uint32_t both = WASI_FST_ATIM | WASI_FST_MTIM;
    host_write("inside/file", "text");
    assert_int_equal(CALL(path_symlink, PATH("file"), INSIDE, PATH("link")), WASI_SUCCESS);
    assert_int_equal(CALL(path_filestat_set_times, INSIDE, 1, PATH("link"), 5000000005, 6000000006, both),
                     WASI_SUCCESS);
    assert_int_equal(CALL(path_filestat_set_times, INSIDE, 0, PATH("link"), 7, 8, both), WASI_SUCCESS);
    assert_int_equal(get_filestat(1, "link"), WASI_SUCCESS);
    assert_int_equal(filestat.atim, 5000000005);
    assert_int_equal(filestat.mtim, 6000000006);
    assert_int_equal(get_filestat(0, "link"), WASI_SUCCESS);
    assert_int_equal(filestat.mtim, 8);
    assert_int_equal(CALL(path_filestat_set_times, INSIDE, 0, PATH("file"), 0, 0, 3), WASI_EINVAL);
    assert_int_equal(CALL(path_filestat_set_times, INSIDE, 0, PATH("missing"), 0, 0, both), WASI_ENOENT);
}

static void test_rename(void **state)
{
    host_write("inside/file", "text");
    assert_int_equal(CALL(path_create_directory, INSIDE, PATH("a")), WASI_SUCCESS);
    assert_int_equal(CALL(path_rename, INSIDE, PATH("file"), INSIDE, PATH("a/moved")), WASI_SUCCESS);
    assert_string_equal(host_read("inside/a/moved"), "text");
    assert_int_equal(CALL(path_rename, INSIDE, PATH("a/moved"), OTHER, PATH("across")), WASI_SUCCESS);
    assert_string_equal(host_read("other/across"), "text");
    assert_int_equal(CALL(path_rename, INSIDE, PATH("missing"), INSIDE, PATH("x")), WASI_ENOENT);
    assert_int_equal(CALL(path_rename, INSIDE, PATH("a/"), INSIDE, PATH("b/")), WASI_SUCCESS);
    assert_int_equal(CALL(path_rename, OTHER, PATH("across/"), OTHER, PATH("x")), WASI_ENOTDIR);
    assert_int_equal(CALL(path_rename, INSIDE, PATH("b"), INSIDE, PATH("b/c")), WASI_EINVAL);
    assert_int_equal(CALL(path_rename, INSIDE, PATH("."), INSIDE, PATH("x")), WASI_EBUSY);
}

static void test_link(void **state)
{
    host_write("inside/file", "text");
    assert_int_equal(CALL(path_symlink, PATH("file"), INSIDE, PATH("link")), WASI_SUCCESS);
    assert_int_equal(CALL(path_create_directory, INSIDE, PATH("a")), WASI_SUCCESS);
    assert_int_equal(CALL(path_link, INSIDE, 0, PATH("file"), OTHER, PATH("hard")), WASI_SUCCESS);
    assert_string_equal(host_read("other/hard"), "text");
    assert_int_equal(get_filestat(0, "file"), WASI_SUCCESS);
    assert_int_equal(filestat.nlink, 2);
    assert_int_equal(CALL(path_link, INSIDE, 0, PATH("file"), OTHER, PATH("hard")), WASI_EEXIST);
    assert_int_equal(CALL(path_link, INSIDE, 0, PATH("link"), INSIDE, PATH("second-link")), WASI_SUCCESS);
    assert_int_equal(get_filestat(0, "second-link"), WASI_SUCCESS);
    assert_int_equal(filestat.filetype, WASI_FILETYPE_SYMBOLIC_LINK);
    assert_int_equal(CALL(path_link, INSIDE, 1, PATH("link"), INSIDE, PATH("followed")), WASI_SUCCESS);
    assert_int_equal(get_filestat(0, "followed"), WASI_SUCCESS);
    assert_int_equal(filestat.filetype, WASI_FILETYPE_REGULAR_FILE);
    assert_int_equal(CALL(path_link, INSIDE, 0, PATH("a"), INSIDE, PATH("b")), WASI_EPERM);
    assert_int_equal(CALL(path_link, INSIDE, 0, PATH("file/"), INSIDE, PATH("b")), WASI_ENOTDIR);
    assert_int_equal(CALL(path_link, INSIDE, 0, PATH("missing"), INSIDE, PATH("b")), WASI_ENOENT);
}

#define BOTH_WAYS(test)                                                                                                \
    {#test " (openat2)", test, sandbox_start, sandbox_stop, NULL},                                                     \
    {                                                                                                                  \
        #test " (walk)", test, sandbox_start_walking, sandbox_stop, NULL                                               \
    }

int main(void)
{
    const struct CMUnitTest tests[] = {
        BOTH_WAYS(test_open),
        BOTH_WAYS(test_open_checks_the_result_address_first),
        BOTH_WAYS(test_folders_and_dots),
        BOTH_WAYS(test_symlinks),
        BOTH_WAYS(test_link_loops),
        BOTH_WAYS(test_filestat),
        BOTH_WAYS(test_set_times),
        BOTH_WAYS(test_rename),
        BOTH_WAYS(test_link),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
