/* A hostile guest tries to get out of its directories, against openat2 and against our own walk. Whatever it does, the
 * file `secret` and the folder `outside` are as they were afterwards, and the treasure that they hold never came into
 * its memory.
 */
#include "double.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "sandbox.h"
#include "vm/wasi/internal.h"

#define TREASURE "TREASURE"

static void host_symlink(const char *target, const char *name)
{
    assert_int_equal(symlink(target, host_path(name)), 0);
}

static int escape_start(void **state)
{
    sandbox_start(state);
    host_write("secret", TREASURE);
    host_write("outside/secret", TREASURE);
    host_write("inside/file", "inside");
    return 0;
}

static int escape_start_walking(void **state)
{
    escape_start(state);
    guest.wasi->openat2_is_missing = true;
    return 0;
}

static int escape_stop(void **state)
{
    assert_string_equal(host_read("secret"), TREASURE);
    assert_string_equal(host_read("outside/secret"), TREASURE);
    assert_null(memmem(guest.memory.data, guest.memory.size_bytes, TREASURE, strlen(TREASURE)));
    struct stat status;
    assert_int_equal(stat(host_path("outside"), &status), 0);
    assert_int_equal(status.st_nlink, 2); /* no folder was made in it */
    return sandbox_stop(state);
}

/* Every path function with `path`, where it would do harm; each must fail. */
static void assert_no_function_takes(const char *path)
{
    uint32_t out = guest_room(64);
    uint32_t fd;
    uint32_t kept = guest.used_bytes;
    for (uint32_t oflags = 0; oflags < 16; oflags++)
        assert_int_not_equal(guest_open(INSIDE, path, oflags, RIGHTS_WRITE, &fd), WASI_SUCCESS);
    assert_int_not_equal(guest_open(INSIDE, path, 0, RIGHTS_READ, &fd), WASI_SUCCESS);
    assert_int_not_equal(guest_open(INSIDE, path, WASI_OFLAG_DIRECTORY, 0, &fd), WASI_SUCCESS);
    assert_int_not_equal(CALL(path_filestat_get, INSIDE, 1, PATH(path), out), WASI_SUCCESS);
    assert_int_not_equal(CALL(path_filestat_set_times, INSIDE, 1, PATH(path), 0, 0, 5), WASI_SUCCESS);
    assert_int_not_equal(CALL(path_create_directory, INSIDE, PATH(path)), WASI_SUCCESS);
    assert_int_not_equal(CALL(path_remove_directory, INSIDE, PATH(path)), WASI_SUCCESS);
    assert_int_not_equal(CALL(path_link, INSIDE, 1, PATH(path), INSIDE, PATH("stolen")), WASI_SUCCESS);
    assert_int_not_equal(CALL(path_link, INSIDE, 0, PATH("file"), INSIDE, PATH(path)), WASI_SUCCESS);
    assert_int_not_equal(CALL(path_symlink, PATH("file"), INSIDE, PATH(path)), WASI_SUCCESS);
    guest.used_bytes = kept;
}

/* As well for those that act on a last component that is a link, and so may succeed on one. */
static void assert_no_function_reaches(const char *path)
{
    uint32_t out = guest_room(64);
    assert_no_function_takes(path);
    assert_int_not_equal(CALL(path_filestat_get, INSIDE, 0, PATH(path), out), WASI_SUCCESS);
    assert_int_not_equal(CALL(path_filestat_set_times, INSIDE, 0, PATH(path), 0, 0, 5), WASI_SUCCESS);
    assert_int_not_equal(CALL(path_readlink, INSIDE, PATH(path), out, 64, out), WASI_SUCCESS);
    assert_int_not_equal(CALL(path_unlink_file, INSIDE, PATH(path)), WASI_SUCCESS);
    assert_int_not_equal(CALL(path_link, INSIDE, 0, PATH(path), INSIDE, PATH("stolen")), WASI_SUCCESS);
    assert_int_not_equal(CALL(path_rename, INSIDE, PATH(path), INSIDE, PATH("stolen")), WASI_SUCCESS);
    assert_int_not_equal(CALL(path_rename, INSIDE, PATH("file"), INSIDE, PATH(path)), WASI_SUCCESS);
}

static void test_dot_dot(void **state)
{
    assert_int_equal(mkdir(host_path("inside/a"), 0700), 0);
    static const char *const paths[] = {
        "..",      "../",      "../secret",      "../outside/secret", "a/../../secret",     "./../secret",
        "a/../..", "a/../../", "../inside/file", "..//secret",        "a/./.././../secret",
    };
    for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++)
        assert_no_function_reaches(paths[i]);
    uint32_t fd;
    assert_int_equal(guest_open(INSIDE, "../secret", 0, RIGHTS_READ, &fd), WASI_EPERM);
    /* From a descriptor that lies deeper, its own folder is the limit. */
    assert_int_equal(guest_open(INSIDE, "a", WASI_OFLAG_DIRECTORY, WASI_RIGHT_PATH_OPEN, &fd), WASI_SUCCESS);
    assert_int_equal(guest_open(fd, "../file", 0, 0, &fd), WASI_EPERM);
}

static void test_absolute_paths(void **state)
{
    char path[PATH_MAX];
    assert_no_function_reaches("/");
    assert_no_function_reaches("//");
    assert_no_function_reaches("/etc/passwd");
    snprintf(path, sizeof path, "%s/secret", sandbox);
    assert_no_function_reaches(path);
    snprintf(path, sizeof path, "%s/inside/file", sandbox);
    assert_no_function_reaches(path);
}

static void test_links_that_lead_out(void **state)
{
    char target[PATH_MAX];
    snprintf(target, sizeof target, "%s/secret", sandbox);
    host_symlink(target, "inside/absolute");
    host_symlink("../secret", "inside/relative");
    host_symlink("../outside", "inside/folder");
    host_symlink("/", "inside/root");
    host_symlink("relative", "inside/chain");
    host_symlink("chain", "inside/longer-chain");
    host_symlink("../missing", "inside/dangling");
    static const char *const links[] = {"absolute", "relative", "chain", "longer-chain", "dangling", "root", "folder"};
    for (size_t i = 0; i < sizeof links / sizeof links[0]; i++) {
        assert_no_function_takes(links[i]);
        char with_slash[32];
        snprintf(with_slash, sizeof with_slash, "%s/", links[i]);
        assert_no_function_reaches(with_slash);
    }
    assert_no_function_reaches("folder/secret");
    assert_no_function_reaches("folder/new");
    assert_no_function_reaches("folder/../secret");
    assert_no_function_reaches("root/etc/passwd");
    assert_false(host_exists("missing"));
    assert_false(host_exists("outside/new"));
}

static void test_links_that_the_guest_makes(void **state)
{
    uint32_t fd;
    assert_int_equal(CALL(path_symlink, PATH("/"), INSIDE, PATH("root")), WASI_EPERM);
    assert_int_equal(CALL(path_symlink, PATH(".."), INSIDE, PATH("up")), WASI_SUCCESS);
    assert_int_equal(CALL(path_symlink, PATH("up/secret"), INSIDE, PATH("secret-link")), WASI_SUCCESS);
    assert_no_function_takes("up");
    assert_no_function_reaches("up/secret");
    assert_no_function_takes("secret-link");
    /* In a deeper folder the link is good, and moved up it must not be. */
    assert_int_equal(CALL(path_create_directory, INSIDE, PATH("a")), WASI_SUCCESS);
    assert_int_equal(CALL(path_symlink, PATH("../secret"), INSIDE, PATH("a/link")), WASI_SUCCESS);
    assert_int_equal(guest_open(INSIDE, "a/link", 0, RIGHTS_READ, &fd), WASI_ENOENT);
    assert_int_equal(CALL(path_rename, INSIDE, PATH("a/link"), INSIDE, PATH("link")), WASI_SUCCESS);
    assert_int_equal(guest_open(INSIDE, "link", 0, RIGHTS_READ, &fd), WASI_EPERM);
    /* A link to a preopen beside is outside too. */
    assert_int_equal(CALL(path_symlink, PATH("../other"), INSIDE, PATH("beside")), WASI_SUCCESS);
    assert_int_equal(guest_open(INSIDE, "beside", WASI_OFLAG_DIRECTORY, 0, &fd), WASI_EPERM);
}

static void test_magic_links(void **state)
{
    struct err err = {0};
    uint32_t fd;
    assert_int_equal(wasi_preopen_dir(guest.wasi, "/proc/self", "/proc", &err), 0);
    assert_int_not_equal(guest_open(5, "cwd", WASI_OFLAG_DIRECTORY, 0, &fd), WASI_SUCCESS);
    assert_int_not_equal(guest_open(5, "root/etc/passwd", 0, RIGHTS_READ, &fd), WASI_SUCCESS);
    assert_int_not_equal(guest_open(5, "exe", 0, RIGHTS_READ, &fd), WASI_SUCCESS);
    assert_int_not_equal(guest_open(5, "fd/0", 0, RIGHTS_READ, &fd), WASI_SUCCESS);
    assert_int_equal(guest_open(5, "status", 0, RIGHTS_READ, &fd), WASI_SUCCESS);
}

static void test_odd_paths(void **state)
{
    uint32_t fd;
    uint32_t out = guest_room(4);
    uint32_t with_nul = guest_put("file\0/../../secret", 18);
    assert_int_equal(CALL(path_open, INSIDE, 1, with_nul, 18, 0, RIGHTS_READ, 0, 0, out), WASI_EINVAL);
    assert_int_equal(CALL(path_unlink_file, INSIDE, with_nul, 5), WASI_EINVAL);

    uint32_t huge = guest_room(65536);
    memset(guest_at(huge), 'x', 65536);
    assert_int_equal(CALL(path_open, INSIDE, 1, huge, 65536, 0, RIGHTS_READ, 0, 0, out), WASI_ENAMETOOLONG);
    assert_int_equal(CALL(path_open, INSIDE, 1, huge, 4096, 0, RIGHTS_READ, 0, 0, out), WASI_ENAMETOOLONG);
    assert_int_equal(CALL(path_open, INSIDE, 1, huge, 4095, 0, RIGHTS_READ, 0, 0, out), WASI_ENAMETOOLONG);
    assert_int_equal(CALL(path_create_directory, INSIDE, huge, 256), WASI_ENAMETOOLONG);
    assert_int_equal(CALL(path_symlink, huge, 65536, INSIDE, PATH("l")), WASI_ENAMETOOLONG);
    for (uint32_t i = 0; i < 4096; i++)
        memcpy(guest_at(huge + 2 * i), "./", 2);
    assert_int_equal(CALL(path_open, INSIDE, 1, huge, 4094, 0, 0, 0, 0, out), WASI_SUCCESS);
    for (uint32_t i = 0; i < 1024; i++)
        memcpy(guest_at(huge + 3 * i), "../", 3);
    assert_int_equal(CALL(path_open, INSIDE, 1, huge, 3072, 0, 0, 0, 0, out), WASI_EPERM);

    assert_int_equal(guest_open(INSIDE, "fi\x1ble\n", WASI_OFLAG_CREAT, RIGHTS_READ, &fd), WASI_SUCCESS);
    assert_int_equal(guest_open(INSIDE, "\xff\xfe", WASI_OFLAG_CREAT, RIGHTS_READ, &fd), WASI_SUCCESS);
    assert_int_equal(guest_open(INSIDE, "...", WASI_OFLAG_CREAT, RIGHTS_READ, &fd), WASI_SUCCESS);
    assert_int_equal(guest_open(INSIDE, "..x", WASI_OFLAG_CREAT, RIGHTS_READ, &fd), WASI_SUCCESS);
}

static void test_deep_folders(void **state)
{
    char path[PATH_MAX] = "";
    for (int depth = 0; depth < 120; depth++) {
        snprintf(path + strlen(path), sizeof path - strlen(path), "%sd", depth ? "/" : "");
        assert_int_equal(CALL(path_create_directory, INSIDE, PATH(path)), WASI_SUCCESS);
    }
    uint32_t fd;
    snprintf(path + strlen(path), sizeof path - strlen(path), "/file");
    assert_int_equal(guest_open(INSIDE, path, WASI_OFLAG_CREAT, RIGHTS_READ, &fd), WASI_SUCCESS);
}

static void test_rename_across_preopens_stays_within_them(void **state)
{
    host_symlink("../outside", "other/out");
    assert_int_not_equal(CALL(path_rename, INSIDE, PATH("file"), OTHER, PATH("out/stolen")), WASI_SUCCESS);
    assert_int_not_equal(CALL(path_rename, INSIDE, PATH("file"), OTHER, PATH("../stolen")), WASI_SUCCESS);
    assert_int_not_equal(CALL(path_rename, OTHER, PATH("out/secret"), INSIDE, PATH("stolen")), WASI_SUCCESS);
    assert_int_not_equal(CALL(path_rename, OTHER, PATH("../secret"), INSIDE, PATH("stolen")), WASI_SUCCESS);
    assert_int_not_equal(CALL(path_rename, OTHER, PATH("out/"), INSIDE, PATH("stolen")), WASI_SUCCESS);
    assert_int_not_equal(CALL(path_link, OTHER, 0, PATH("out/secret"), INSIDE, PATH("stolen")), WASI_SUCCESS);
    assert_int_equal(CALL(path_rename, OTHER, PATH("out"), INSIDE, PATH("link")), WASI_SUCCESS); /* the link itself */
    assert_int_not_equal(CALL(path_unlink_file, INSIDE, PATH("link/secret")), WASI_SUCCESS);
}

/* ---- races ---- */

static atomic_bool is_over;

/* inside/swap is a folder one moment and a link that leads out the next. */
static void *swap_folder_and_link(void *unused)
{
    char folder[PATH_MAX];
    char link[PATH_MAX];
    snprintf(folder, sizeof folder, "%s/inside/swap", sandbox);
    snprintf(link, sizeof link, "%s/inside/swap-link", sandbox);
    while (!is_over) {
        renameat2(AT_FDCWD, folder, AT_FDCWD, link, RENAME_EXCHANGE);
        usleep(1); /* or the guest would hardly see the folder */
    }
    return NULL;
}

static void test_race_of_a_folder_with_a_link(void **state)
{
    pthread_t thread;
    uint32_t fd;
    uint32_t out = guest_room(4);
    uint32_t buf = guest_room(16);
    uint32_t iovec = guest_iovec(buf, 16);
    unsigned opened = 0;
    unsigned refused = 0;
    assert_int_equal(mkdir(host_path("inside/swap"), 0700), 0);
    host_write("inside/swap/secret", "inside");
    host_symlink("../outside", "inside/swap-link");
    is_over = false;
    assert_int_equal(pthread_create(&thread, NULL, swap_folder_and_link, NULL), 0);
    uint32_t kept = guest.used_bytes;
    time_t end = time(NULL) + 20;
    while ((opened < 200 || refused < 2000) && time(NULL) < end) {
        guest.used_bytes = kept;
        if (guest_open(INSIDE, "swap/secret", 0, RIGHTS_READ, &fd) == WASI_SUCCESS) {
            opened++;
            assert_int_equal(CALL(fd_read, fd, iovec, 1, out), WASI_SUCCESS);
            assert_memory_equal(guest_at(buf), "inside", 6);
            assert_int_equal(CALL(fd_close, fd), WASI_SUCCESS);
        } else {
            refused++;
        }
        CALL(path_create_directory, INSIDE, PATH("swap/made"));
        CALL(path_rename, INSIDE, PATH("swap/secret"), INSIDE, PATH("swap/secret"));
        CALL(path_remove_directory, INSIDE, PATH("swap/made"));
        assert_false(host_exists("outside/made"));
    }
    is_over = true;
    pthread_join(thread, NULL);
    print_message("%u opened, %u refused\n", opened, refused);
    assert_true(opened > 0 && refused > 0);
}

/* inside/a/deep is moved out and back in: `..` from it must not lead to where it is now. */
static void *move_out_and_in(void *unused)
{
    char inside[PATH_MAX];
    char outside[PATH_MAX];
    snprintf(inside, sizeof inside, "%s/inside/a/deep", sandbox);
    snprintf(outside, sizeof outside, "%s/outside/deep", sandbox);
    while (!is_over) {
        rename(inside, outside);
        rename(outside, inside);
    }
    return NULL;
}

static void test_race_of_a_folder_that_moves_out(void **state)
{
    pthread_t thread;
    uint32_t fd;
    assert_int_equal(mkdir(host_path("inside/a"), 0700), 0);
    assert_int_equal(mkdir(host_path("inside/a/deep"), 0700), 0);
    is_over = false;
    assert_int_equal(pthread_create(&thread, NULL, move_out_and_in, NULL), 0);
    uint32_t kept = guest.used_bytes;
    for (int i = 0; i < 20000; i++) {
        guest.used_bytes = kept;
        assert_int_not_equal(guest_open(INSIDE, "a/deep/../../secret", 0, RIGHTS_READ, &fd), WASI_SUCCESS);
    }
    is_over = true;
    pthread_join(thread, NULL);
}

#define BOTH_WAYS(test)                                                                                                \
    {#test " (openat2)", test, escape_start, escape_stop, NULL},                                                       \
    {                                                                                                                  \
        #test " (walk)", test, escape_start_walking, escape_stop, NULL                                                 \
    }

int main(void)
{
    const struct CMUnitTest tests[] = {
        BOTH_WAYS(test_dot_dot),
        BOTH_WAYS(test_absolute_paths),
        BOTH_WAYS(test_links_that_lead_out),
        BOTH_WAYS(test_links_that_the_guest_makes),
        BOTH_WAYS(test_magic_links),
        BOTH_WAYS(test_odd_paths),
        BOTH_WAYS(test_deep_folders),
        BOTH_WAYS(test_rename_across_preopens_stays_within_them),
        BOTH_WAYS(test_race_of_a_folder_with_a_link),
        BOTH_WAYS(test_race_of_a_folder_that_moves_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
