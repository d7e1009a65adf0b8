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

static void test_each_allocation(void **state)
{
    /* far locals, blocks, operands and names, so that every array there is gets made */
    struct bytes body = bytes_of_hex("02 40 41 00 41 00 6a 1a 0b"), bytes = bytes_of_body(&body);
    bytes_append_hex(&bytes, "00 0b 04 6e 61 6d 65 01 04 01 01 01 62");
    struct wasm_module *module;
    long failures = 0;
    for (long allowed = 0;; allowed++) {
        struct err err = {0};
        remaining = allowed;
        int rc = wasm_module_create(bytes.data, bytes.size, &module, &err);
        bool reached = remaining < 0;
        remaining = -1;
        if (!reached) {
            assert_int_equal(rc, 0);
            wasm_module_destroy(module);
            break;
        }
        failures++;
        assert_int_equal(rc, -ENOMEM);
        assert_null(module);
        assert_int_equal(err.kind, ERR_RESOURCE);
        assert_string_equal(err.message, "out of memory");
        assert_true(err.offset <= bytes.size);
    }
    assert_true(failures >= 18); /* one for each array of the module, the stacks and the module itself */
    free(bytes.data);
    free(body.data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_each_allocation)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
