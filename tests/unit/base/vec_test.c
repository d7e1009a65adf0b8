/* vec: grows, keeps what it had when it cannot, and gives its memory away whole. Linked with --wrap=realloc. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/vec.h"

void *__real_realloc(void *old, size_t size_bytes);
void *__wrap_realloc(void *old, size_t size_bytes);

static bool refuses;

void *__wrap_realloc(void *old, size_t size_bytes)
{
    return refuses ? NULL : __real_realloc(old, size_bytes);
}

static void test_grows_and_zeroes(void **state)
{
    struct vec vec = VEC_INIT(sizeof(uint32_t));
    for (uint32_t i = 0; i < 1000; i++) {
        uint32_t *element = vec_push(&vec);
        assert_int_equal(*element, 0);
        *element = i;
    }
    assert_int_equal(vec.count, 1000);
    for (uint32_t i = 0; i < 1000; i++)
        assert_int_equal(*(uint32_t *)vec_at(&vec, i), i);
    vec_fini(&vec);
    assert_null(vec.data);
}

/* NULL means failure, so it is no answer to this. */
static void test_nothing_appended_to_nothing(void **state)
{
    struct vec vec = VEC_INIT(1);
    assert_non_null(vec_append(&vec, NULL, 0));
    assert_int_equal(vec.count, 0);
    vec_fini(&vec);
}

static void test_failure_keeps_what_there_was(void **state)
{
    struct vec vec = VEC_INIT(1);
    assert_non_null(vec_append(&vec, "12345678", 8));
    refuses = true;
    assert_null(vec_push(&vec));
    refuses = false;
    assert_int_equal(vec.count, 8);
    assert_memory_equal(vec.data, "12345678", 8);
    vec_fini(&vec);
}

static void test_sizes_cannot_wrap(void **state)
{
    struct vec vec = VEC_INIT(1024);
    assert_null(vec_append(&vec, NULL, SIZE_MAX / 2));
    assert_int_equal(vec.count, 0);
    vec_fini(&vec);
}

static void test_take(void **state)
{
    struct vec vec = VEC_INIT(1);
    vec_append(&vec, "ab", 2);
    char *taken = vec_take(&vec);
    assert_memory_equal(taken, "ab", 2);
    assert_int_equal(vec.count, 0);
    free(taken);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_grows_and_zeroes),
        cmocka_unit_test(test_nothing_appended_to_nothing),
        cmocka_unit_test(test_failure_keeps_what_there_was),
        cmocka_unit_test(test_sizes_cannot_wrap),
        cmocka_unit_test(test_take),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
