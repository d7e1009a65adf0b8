/* failing_test: each call that the library makes and that can fail is made to fail in its turn, through the linker's
 * --wrap.
 *
 * The same scenario runs with the first such call failing, then with the second, and so on, until it runs to its end
 * without one. After each the library has returned the error, or done without, and the image has every function that
 * was reported as added and no other; nothing is leaked (the asan preset looks) and no file is left of an image that
 * was not made. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

#include <cmocka.h>

#include "elfimage/elfimage.h"
#include "tests/unit/elfimage/machine_code.h"
#include "tests/unit/elfimage/reader.h"
#include "tests/unit/elfimage/scratch.h"

/* How many more calls succeed; negative: all of them. */
static int calls_left = -1;

/* Counting starts with the first pread: when the first table is copied to a larger place. */
static bool waits_for_copy;

static bool must_fail(const char *name)
{
    if (waits_for_copy && strcmp(name, "pread") != 0)
        return false;
    waits_for_copy = false;
    return calls_left >= 0 && calls_left-- == 0;
}

/* `failure` is what the function returns after `errno` has been set. */
#define WRAP(type, name, parameters, arguments, failure, code)                                                         \
    type __real_##name parameters;                                                                                     \
    type __wrap_##name parameters;                                                                                     \
    type __wrap_##name parameters                                                                                      \
    {                                                                                                                  \
        if (must_fail(#name)) {                                                                                   \
            errno = code;                                                                                              \
            return failure;                                                                                            \
        }                                                                                                              \
        return __real_##name arguments;                                                                                \
    }

WRAP(void *, calloc, (size_t count, size_t size), (count, size), NULL, ENOMEM)
WRAP(void *, realloc, (void *old, size_t size), (old, size), NULL, ENOMEM)
WRAP(void *, mmap, (void *at, size_t size, int protection, int flags, int fd, off_t offset),
     (at, size, protection, flags, fd, offset), MAP_FAILED, ENOMEM)
WRAP(int, madvise, (void *at, size_t size, int advice), (at, size, advice), -1, EINVAL)
WRAP(int, open, (const char *path, int flags, mode_t mode), (path, flags, mode), -1, EMFILE)
WRAP(ssize_t, pwrite, (int fd, const void *bytes, size_t size, off_t offset), (fd, bytes, size, offset), -1, ENOSPC)
WRAP(ssize_t, pread, (int fd, void *bytes, size_t size, off_t offset), (fd, bytes, size, offset), -1, EIO)
WRAP(int, posix_fallocate, (int fd, off_t offset, off_t size), (fd, offset, size), ENOSPC, 0)
WRAP(int, ftruncate, (int fd, off_t size), (fd, size), -1, EIO)
WRAP(ssize_t, getrandom, (void *bytes, size_t size, unsigned flags), (bytes, size, flags), -1, ENOSYS)

enum { FUNCTIONS = 1500, CALLS = 60 };

struct outcome {
    int create_status;
    int other_status; /* the last that was not 0 */
    size_t added;
    char path[256];
};

static void note(struct outcome *outcome, int status)
{
    if (status != 0)
        outcome->other_status = status;
}

/* Makes tables grow; an addition that fails is skipped, and the next one succeeds. */
static struct outcome scenario(const char *directory)
{
    const struct elfimage_line lines[] = {{0, 1, "/src/spin.c"}, {SPIN_LOOP, 2, "/src/spin.c"}};
    struct outcome outcome = {0};
    struct elfimage *image;
    struct elfimage_code code;
    char name[64];

    outcome.create_status = elfimage_create(directory, "unit", 1 << 20, &image);
    if (outcome.create_status != 0)
        return outcome;
    strcpy(outcome.path, elfimage_path(image));
    for (int status = -1; status != 0; note(&outcome, status))
        status = elfimage_reserve(image, 4096, &code);
    memcpy(code.write, spin_code, sizeof(spin_code));
    for (int i = 0; i < FUNCTIONS; i++) {
        snprintf(name, sizeof(name), "function_with_a_name_%d", i);
        int status = elfimage_add(image, code.execute, sizeof(spin_code), name, lines, 2);
        outcome.added += status == 0;
        note(&outcome, status);
    }
    note(&outcome, elfimage_finish(image));
    elfimage_destroy(image);
    return outcome;
}

/* The first calls one after the other; then, since additions are alike, some. */
static void fail_each(void **state, bool from_copy)
{
    int failures = 0;

    for (int nth = 0;; nth += nth < CALLS ? 1 : 501) {
        calls_left = nth;
        waits_for_copy = from_copy;
        const struct outcome outcome = scenario(*state);
        const bool has_failed = calls_left < 0;
        calls_left = -1;

        assert_true(has_failed || (outcome.create_status == 0 && outcome.other_status == 0));
        failures += has_failed;
        if (outcome.create_status != 0) {
            assert_int_equal(rmdir(*state), 0); /* it is empty */
            assert_int_equal(mkdir(*state, 0700), 0);
            continue;
        }
        assert_true(outcome.added >= FUNCTIONS - 1);
        struct reader *reader = reader_open(outcome.path);
        assert_non_null(reader);
        assert_int_equal(reader_symbol_count(reader), outcome.added);
        assert_true(reader_debug_is_whole(reader));
        reader_close(reader);
        unlink(outcome.path);
        if (!has_failed)
            break;
    }
    assert_true(failures > CALLS);
}

static void test_from_creation(void **state)
{
    fail_each(state, false);
}

static void test_from_growth(void **state)
{
    fail_each(state, true);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_from_creation, scratch_setup, scratch_teardown),
        cmocka_unit_test_setup_teardown(test_from_growth, scratch_setup, scratch_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
