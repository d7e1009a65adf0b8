/* libperfmap and libjitdump on file systems that refuse: full, read-only, noexec. Needs a mount namespace. */
#include "tests/unit/perfmap/scratch.h"

#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/statvfs.h>

#include "jitdump/jitdump.h"
#include "perfmap/perfmap.h"
#include "tests/unit/jitdump/parser.h"

static int mount_setup(void **state)
{
    if (scratch_setup(state) != 0)
        return -1;
    return mount("none", scratch, "tmpfs", 0, "size=64k");
}

static int mount_teardown(void **state)
{
    return umount2(scratch, MNT_DETACH) || rmdir(scratch);
}

static void remount(unsigned long flags)
{
    assert_int_equal(mount("none", scratch, "tmpfs", MS_REMOUNT | flags, "size=64k"), 0);
}

static void noexec_is_named(void **state)
{
    remount(MS_NOEXEC);
    struct jitdump *dump;
    struct jitdump_error error;
    assert_int_equal(jitdump_open(scratch, &dump, &error), -EPERM);
    assert_null(dump);
    assert_non_null(strstr(error.message, "noexec"));
    /* a dump that perf cannot know of is removed */
    assert_null(scratch_read(scratch_file("jit", getpid(), "dump"), NULL));

    struct perfmap *map;
    assert_int_equal(perfmap_open(scratch, &map, NULL), 0); /* a map need not be mapped */
    perfmap_close(map);

    remount(0);
    assert_int_equal(jitdump_open(scratch, &dump, &error), 0);
    jitdump_close(dump);
}

static void read_only(void **state)
{
    remount(MS_RDONLY);
    struct jitdump *dump;
    struct jitdump_error jitdump_error;
    assert_int_equal(jitdump_open(scratch, &dump, &jitdump_error), -EROFS);
    assert_non_null(strstr(jitdump_error.message, "Read-only"));
    struct perfmap *map;
    struct perfmap_error perfmap_error;
    assert_int_equal(perfmap_open(scratch, &map, &perfmap_error), -EROFS);
    assert_non_null(strstr(perfmap_error.message, "Read-only"));
}

static void a_full_disk_leaves_a_whole_map(void **state)
{
    struct perfmap *map;
    struct perfmap_error error;
    assert_int_equal(perfmap_open(scratch, &map, NULL), 0);
    int status = 0;
    for (int i = 0; i < 10000 && status == 0; i++)
        status = perfmap_add(map, (void *)0x1000, 16, "a_function", 10, &error);
    assert_int_equal(status, -ENOSPC);
    assert_non_null(strstr(error.message, "No space left"));
    perfmap_close(map);
    size_t size_bytes;
    char *text = scratch_read(scratch_file("perf", getpid(), "map"), &size_bytes);
    assert_int_equal(size_bytes % strlen("1000 10 a_function\n"), 0);
    assert_in_range(size_bytes, 65536 - 20, 65536);
    free(text);
}

static void a_full_disk_leaves_a_whole_dump(void **state)
{
    struct jitdump *dump;
    struct jitdump_error error;
    struct jitdump_code code = {.address = (void *)&a_full_disk_leaves_a_whole_dump, .size_bytes = 1000, .name = "fib",
                                .name_bytes = 3};
    assert_int_equal(jitdump_open(scratch, &dump, NULL), 0);
    int status = 0;
    for (int i = 0; i < 100 && status == 0; i++)
        status = jitdump_load(dump, &code, NULL, &error);
    assert_int_equal(status, -ENOSPC);
    assert_non_null(strstr(error.message, "No space left"));
    jitdump_close(dump);
    size_t size_bytes;
    char *bytes = scratch_read(scratch_file("jit", getpid(), "dump"), &size_bytes);
    struct dump read;
    const char *wrong = dump_parse(bytes, size_bytes, &read);
    assert_null(wrong);
    assert_int_equal(read.count, (65536 - 40) / (56 + 4 + 1000) + 1); /* the last is CLOSE, for which there was room */
    free(read.records);
    free(bytes);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, mount_setup, mount_teardown)

int main(void)
{
    if (unshare(CLONE_NEWNS) != 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0) {
        printf("no mount namespace: %s\n", strerror(errno));
        return 77;
    }
    const struct CMUnitTest tests[] = {
        TEST(noexec_is_named),
        TEST(read_only),
        TEST(a_full_disk_leaves_a_whole_map),
        TEST(a_full_disk_leaves_a_whole_dump),
    };
    return cmocka_run_group_tests_name("unit/jitdump/mounts", tests, NULL, NULL);
}
