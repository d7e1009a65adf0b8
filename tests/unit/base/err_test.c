/* err: the first report wins, every kind has a name and an errno, and nobody needs to want the detail. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/err.h"

static void test_first_report_wins(void **state)
{
    struct err err = {0};
    assert_int_equal(err_set(&err, ERR_MALFORMED, 7, "byte %d", 3), -EBADMSG);
    assert_int_equal(err_set(&err, ERR_RESOURCE, 9, "later"), -ENOMEM);
    assert_int_equal(err.kind, ERR_MALFORMED);
    assert_int_equal(err.offset, 7);
    assert_string_equal(err.message, "byte 3");
}

static void test_detail_may_be_unwanted(void **state)
{
    assert_int_equal(err_set(NULL, ERR_INVALID, 0, "unread"), -EINVAL);
}

static void test_long_messages_are_cut(void **state)
{
    struct err err = {0};
    char text[1000];
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    assert_int_equal(err_set(&err, ERR_UNSUPPORTED, 0, "%s", text), -ENOTSUP);
    assert_int_equal(strlen(err.message), sizeof err.message - 1);
}

static void test_every_kind_has_a_name(void **state)
{
    for (enum err_kind kind = ERR_NONE; kind <= ERR_UNSUPPORTED; kind++)
        assert_true(strlen(err_kind_name(kind)) > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_first_report_wins),
        cmocka_unit_test(test_detail_may_be_unwanted),
        cmocka_unit_test(test_long_messages_are_cut),
        cmocka_unit_test(test_every_kind_has_a_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
