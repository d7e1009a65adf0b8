/* The name section: what is read, that damage hides only what follows it, and names in the listing. */
#include "hex.h"

#include <stdio.h>

/* Two functions of type () -> (), the second calls the first; then the custom section "name" with these contents. */
static struct bytes module_with_names(const char *hex)
{
    struct bytes contents = {0}, bytes = {0};
    bytes_append_hex(&contents, "04 6e 61 6d 65");
    bytes_append_hex(&contents, hex);
    bytes_append_hex(&bytes, MAGIC "01 04 01 60 00 00  03 03 02 00 00  0a 09 02 02 00 0b 04 00 10 00 0b  00");
    bytes_append_leb(&bytes, contents.size);
    bytes_append(&bytes, contents.data, contents.size);
    free(contents.data);
    return bytes;
}

static void expect_names(const char *hex, const char *module_name, const char *first, const char *second)
{
    struct bytes bytes = module_with_names(hex);
    struct wasm_module *module;
    struct err err = {0};
    if (wasm_module_create(bytes.data, bytes.size, &module, &err))
        fail_msg("%s: %s", hex, err.message);
    const char *const expected[] = {module_name, first, second};
    const struct wasm_name actual[] = {module->module_name, module->func_names[0], module->func_names[1]};
    for (size_t i = 0; i < 3; i++) {
        if (!expected[i]) {
            assert_null(actual[i].bytes);
            continue;
        }
        assert_non_null(actual[i].bytes);
        assert_int_equal(actual[i].size_bytes, strlen(expected[i]));
        assert_memory_equal(actual[i].bytes, expected[i], actual[i].size_bytes);
    }
    wasm_module_destroy(module);
    free(bytes.data);
}

static void test_names(void **state)
{
    expect_names("", NULL, NULL, NULL);
    expect_names("00 02 01 6d  01 07 02 00 01 61 01 01 62", "m", "a", "b");
    expect_names("01 04 01 01 01 62  02 01 00  09 03 ff ff ff", NULL, NULL, "b"); /* others are passed over */
    expect_names("01 07 02 01 01 62 00 01 61", NULL, "a", "b");                   /* out of order */
    expect_names("01 07 02 00 01 61 00 01 62", NULL, "a", NULL);                  /* twice: the first */
    expect_names("01 07 02 00 01 61 07 01 62", NULL, "a", NULL);                  /* no such function */
    expect_names("01 04 01 00 01 80", NULL, NULL, NULL);                          /* not UTF-8 */
    expect_names("01 07 02 00 01 80 01 01 62", NULL, NULL, "b");
}

static void test_damage(void **state)
{
    expect_names("00", NULL, NULL, NULL);
    expect_names("00 02 01 6d  01 07 02 00 01 61 01 05 62", "m", "a", NULL); /* a name beyond its subsection */
    expect_names("00 02 01 6d  01 70 02 00 01 61 01 01 62", "m", NULL, NULL); /* a subsection beyond the section */
    expect_names("01 04 09 00 01 61", NULL, "a", NULL);                       /* a count too high */
    expect_names("01 04 ff ff ff ff", NULL, NULL, NULL);
    expect_names("00 02 01 6d  80 80", "m", NULL, NULL);
}

/* What wasm_listing() makes of a call of the function called so. */
static void expect_call(const char *name_hex, const char *text)
{
    struct bytes name = bytes_of_hex(name_hex), section = {0};
    bytes_append_leb(&section, name.size + 3);
    bytes_append_leb(&section, 1);
    bytes_append_leb(&section, 0);
    bytes_append_leb(&section, name.size);
    bytes_append(&section, name.data, name.size);
    char hex[256] = "01";
    for (size_t i = 0; i < section.size; i++)
        snprintf(hex + strlen(hex), sizeof hex - strlen(hex), "%02x", section.data[i]);
    struct bytes bytes = module_with_names(hex);
    struct wasm_module *module;
    struct err err = {0};
    if (wasm_module_create(bytes.data, bytes.size, &module, &err))
        fail_msg("%s: %s", hex, err.message);
    char actual[256];
    wasm_listing(module, module->funcs[1].body.offset, actual, sizeof actual);
    assert_string_equal(actual, text);
    wasm_module_destroy(module);
    free(bytes.data);
    free(section.data);
    free(name.data);
}

static void test_listing_of_names(void **state)
{
    expect_call("66 69 62", "call $fib");
    expect_call("61 3a 3a 62 3c 63 3e", "call $a::b<c>");
    expect_call("", "call 0");
    expect_call("66 28 69 6e 74 29 20 22", "call $\"f(int) \\22\"");
    expect_call("1b 5b 6d 0a 5c", "call $\"\\1b[m\\0a\\5c\"");
    expect_call("c3 a4", "call $\"\\c3\\a4\"");
    expect_call("00", "call $\"\\00\"");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_damage),
        cmocka_unit_test(test_listing_of_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
