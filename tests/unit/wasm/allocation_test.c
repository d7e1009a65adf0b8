/* Every allocation made to fail in its turn: each failure is reported as such, leaves no module, and loses no memory
 * (which the address sanitizer's build of this test looks at). Linked with --wrap=malloc, calloc and realloc. */
#include "hex.h"

#include <errno.h>

void *__real_malloc(size_t size_bytes);
void *__real_calloc(size_t count, size_t size_bytes);
void *__real_realloc(void *old, size_t size_bytes);
void *__wrap_malloc(size_t size_bytes);
void *__wrap_calloc(size_t count, size_t size_bytes);
void *__wrap_realloc(void *old, size_t size_bytes);

static long remaining = -1; /* allocations until one fails; negative: none does */

static bool fails(void)
{
    return remaining >= 0 && remaining-- == 0;
}

void *__wrap_malloc(size_t size_bytes)
{
    return fails() ? NULL : __real_malloc(size_bytes);
}

void *__wrap_calloc(size_t count, size_t size_bytes)
{
    return fails() ? NULL : __real_calloc(count, size_bytes);
}

void *__wrap_realloc(void *old, size_t size_bytes)
{
    return fails() ? NULL : __real_realloc(old, size_bytes);
}

/* Loads the module with one failure after another, until there is none; returns how many there were. */
static long fail_each(const struct bytes *bytes)
{
    struct wasm_module *module;
    long failures = 0;
    for (long allowed = 0;; allowed++) {
        struct err err = {0};
        remaining = allowed;
        int rc = wasm_module_create(bytes->data, bytes->size, &module, &err);
        bool reached = remaining < 0;
        remaining = -1;
        if (!reached) {
            assert_int_equal(rc, 0);
            wasm_module_destroy(module);
            return failures;
        }
        failures++;
        assert_int_equal(rc, -ENOMEM);
        assert_null(module);
        assert_int_equal(err.kind, ERR_RESOURCE);
        assert_string_equal(err.message, "out of memory");
        assert_true(err.offset <= bytes->size);
    }
}

static void test_each_allocation(void **state)
{
    /* blocks, operands, a custom section and names: every array of the module, the two stacks and the module itself */
    struct bytes body = bytes_of_hex("02 40 41 00 41 00 6a 1a 0b"), bytes = bytes_of_body(&body);
    bytes_append_hex(&bytes, "00 0b 04 6e 61 6d 65 01 04 01 01 01 62");
    assert_true(fail_each(&bytes) >= 18);
    free(bytes.data);
    free(body.data);

    /* 200 locals: more than the validator has a table for */
    bytes = bytes_of_hex(MAGIC "01 04 01 60 00 00  03 02 01 00  0a 07 01 05 01 c8 01 7f 0b");
    assert_true(fail_each(&bytes) >= 6);
    free(bytes.data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_each_allocation)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
