/* mounts_test: file systems that refuse. Needs a mount namespace of its own, which the test makes. */
#include <errno.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <unistd.h>

#include <cmocka.h>

#include "elfimage/elfimage.h"
#include "tests/unit/elfimage/machine_code.h"
#include "tests/unit/elfimage/reader.h"
#include "tests/unit/elfimage/scratch.h"

static int own_namespace(void **state)
{
    if (unshare(CLONE_NEWNS) != 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0)
        return -1;
    return 0;
}

static void mount_small(const char *directory, unsigned long flags, const char *options)
{
    assert_int_equal(mount("none", directory, "tmpfs", flags, options), 0);
}

static void test_noexec(void **state)
{
    struct elfimage *image = NULL;
    mount_small(*state, MS_NOEXEC, NULL);
    assert_int_equal(elfimage_create(*state, "unit", 1 << 20, &image), -EPERM);
    assert_int_equal(umount2(*state, MNT_DETACH), 0);
}

static void test_read_only(void **state)
{
    struct elfimage *image = NULL;
    mount_small(*state, MS_RDONLY, NULL);
    assert_int_equal(elfimage_create(*state, "unit", 1 << 20, &image), -EROFS);
    assert_int_equal(umount2(*state, MNT_DETACH), 0);
}

/* Nothing at all fits: no image, and no file left behind. */
static void test_full_at_creation(void **state)
{
    struct elfimage *image = NULL;
    char filler[4096] = {0};
    char path[256];

    mount_small(*state, 0, "size=4k,nr_inodes=10");
    strcat(strcpy(path, *state), "/filler");
    FILE *file = fopen(path, "w");
    fwrite(filler, 1, sizeof(filler), file);
    fclose(file);
    assert_int_equal(elfimage_create(*state, "unit", 1 << 20, &image), -ENOSPC);
    unlink(path);
    assert_int_equal(umount2(*state, 0), 0);
}

/* The disk fills while code is reserved and functions are added: errors, never a SIGBUS, and what is there stays. */
static void test_fills_up(void **state)
{
    struct elfimage *image = NULL;
    struct elfimage_code code, more;
    char name[128];
    size_t added = 0;
    int status;

    mount_small(*state, 0, "size=512k");
    assert_int_equal(elfimage_create(*state, "unit", 64 << 20, &image), 0);
    assert_int_equal(elfimage_reserve(image, 64 << 10, &code), 0);
    assert_int_equal(elfimage_reserve(image, 1 << 20, &more), -ENOSPC);
    memset(code.write, 0xcc, 8192);
    memcpy((char *)code.write + 64, spin_code, sizeof(spin_code)); /* UBSan reads before a function that it calls */
    memcpy((char *)code.write + 20000, spin_code, sizeof(spin_code));
    const char *spin = (const char *)code.execute + 64;
    const char *unannounced = (const char *)code.execute + 20000;

    do {
        memset(name, 'n', sizeof(name));
        name[sizeof(name) - 1] = '\0';
        const struct elfimage_line line = {0, (uint32_t)added, "/src/spin.c"};
        status = elfimage_add(image, spin, sizeof(spin_code), name, &line, 1);
        added += status == 0;
    } while (status == 0);
    assert_int_equal(status, -ENOSPC);
    ((spin_fn)spin)(100);

    for (int finished = 0; finished < 2; finished++) {
        struct reader *reader = reader_open(elfimage_path(image));
        assert_non_null(reader);
        assert_int_equal(reader_symbol_count(reader), added);
        assert_true(reader_debug_is_whole(reader));
        reader_close(reader);
        status = elfimage_finish(image);
        assert_true(status == 0 || status == -ENOSPC);
    }
    ((spin_fn)spin)(100);
    ((spin_fn)unannounced)(100);
    elfimage_destroy(image);
    assert_int_equal(umount2(*state, MNT_DETACH), 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(test_##name, scratch_setup, scratch_teardown)
    const struct CMUnitTest tests[] = {TEST(noexec), TEST(read_only), TEST(full_at_creation), TEST(fills_up)};
    return cmocka_run_group_tests(tests, own_namespace, NULL);
}
