/* names: what functions are called, and that no bytes in a module make a name that breaks its readers. */
// clang-format off
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
// clang-format on
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "module_double.h"
#include "profile/profile.h"

static char got[PROFILE_NAME_BYTES + 1];

/* The name of function `funcidx` of a module with these names. */
static const char *name_of(const char **names, uint32_t count, uint32_t funcidx)
{
    struct vm_module module = double_of_names("ruby.wasm", names, count);
    struct profile_names *profile_names = profile_names_create(&module);
    assert_non_null(profile_names);
    assert_int_equal(profile_names_get(profile_names, funcidx, got), strlen(got));
    profile_names_destroy(profile_names);
    double_fini(&module);
    return got;
}

static const char *name_alone(const char *name)
{
    return name_of(&name, 1, 0);
}

static const char *escape(const char *text, size_t size_bytes)
{
    assert_int_equal(profile_name_escape(text, size_bytes, got), strlen(got));
    return got;
}

static void plain_names_stay(void **state)
{
    assert_string_equal(name_alone("rb_ary_push"), "rb_ary_push");
    assert_string_equal(name_alone("_start.command_export"), "_start.command_export");
    assert_string_equal(name_alone("std::vector<int>::push_back(int const&)"),
                        "std::vector<int>::push_back(int const&)");
    assert_string_equal(name_alone("gr\xc3\xbc\xc3\x9f"
                                   "e"),
                        "gr\xc3\xbc\xc3\x9f"
                        "e");
    assert_string_equal(name_alone("\xf0\x9f\x92\x8e.shine"), "\xf0\x9f\x92\x8e.shine");
}

static void mangled_names_are_demangled(void **state)
{
    assert_string_equal(name_alone("_ZN3foo3barEi"), "foo::bar(int)");
    assert_string_equal(name_alone("_ZNK3foo3barEv"), "foo::bar() const");
    assert_string_equal(name_alone("_ZN3foo3barEv.llvm.42"), "foo::bar() [clone .llvm.42]");
    assert_string_equal(name_alone("_ZN4core3fmt9Formatter3pad17h0123456789abcdefE"), "core::fmt::Formatter::pad");
    assert_string_equal(name_alone("_RNvCs1234_7mycrate3foo"), "mycrate::foo");
    assert_string_equal(name_alone("_RNvMC1aNtB2_1b3new"), "<a::b>::new");
    /* Rust's array types contain a semicolon. */
    assert_string_equal(name_alone("_RINvC1a1fAhj4_E"), "a::f::<[u8: 4]>");
    assert_string_equal(name_alone("_Zonk"), "_Zonk");
    assert_string_equal(name_alone("_RC0"), "_RC0"); /* an empty identifier: demangles to nothing */
    assert_string_equal(name_alone("_Z"), "_Z()");
    assert_string_equal(name_alone("_R"), "_R()");
}

static void names_of_two_bytes_or_fewer_grow(void **state)
{
    assert_string_equal(name_alone("f"), "f()");
    assert_string_equal(name_alone("ab"), "ab()");
    assert_string_equal(name_alone("abc"), "abc");
    assert_string_equal(name_alone("\xc3\xa9"), "\xc3\xa9()");
    assert_string_equal(escape("", 0), "(unnamed)");
}

static void functions_without_names_bear_the_modules(void **state)
{
    const char *names[] = {"main", NULL, ""};
    assert_string_equal(name_of(names, 3, 1), "ruby.wasm!func[1]");
    assert_string_equal(name_of(names, 3, 2), "ruby.wasm!func[2]");
    struct vm_module module = double_of_names("a;\n\xff", (const char *[]){NULL}, 1);
    struct profile_names *profile_names = profile_names_create(&module);
    profile_names_get(profile_names, 0, got);
    assert_string_equal(got, "a:\\x0a\\xff!func[0]");
    profile_names_destroy(profile_names);
    double_fini(&module);
}

static void shared_names_get_an_index(void **state)
{
    const char *names[] = {"init", "main", "init", "f", "f()", "_ZN1AC1Ev", "_ZN1AC2Ev", "a;b", "a:b"};
    const uint32_t count = sizeof names / sizeof names[0];
    assert_string_equal(name_of(names, count, 0), "init[0]");
    assert_string_equal(name_of(names, count, 1), "main");
    assert_string_equal(name_of(names, count, 2), "init[2]");
    assert_string_equal(name_of(names, count, 3), "f()[3]");
    assert_string_equal(name_of(names, count, 4), "f()[4]");
    assert_string_equal(name_of(names, count, 5), "A::A()[5]");
    assert_string_equal(name_of(names, count, 6), "A::A()[6]");
    assert_string_equal(name_of(names, count, 7), "a:b[7]");
    assert_string_equal(name_of(names, count, 8), "a:b[8]");
}

static void a_name_cannot_pose_as_another(void **state)
{
    const char *names[] = {"init[2]", "init", "init", "ruby.wasm!func[4]", NULL, "x[", "x]", "[7]", "x[]"};
    const uint32_t count = sizeof names / sizeof names[0];
    assert_string_equal(name_of(names, count, 0), "init[2][0]");
    assert_string_equal(name_of(names, count, 2), "init[2]");
    assert_string_equal(name_of(names, count, 3), "ruby.wasm!func[4][3]");
    assert_string_equal(name_of(names, count, 4), "ruby.wasm!func[4]");
    assert_string_equal(name_of(names, count, 5), "x[()");
    assert_string_equal(name_of(names, count, 6), "x]()");
    assert_string_equal(name_of(names, count, 7), "[7][7]");
    assert_string_equal(name_of(names, count, 8), "x[]");
}

static void bug37_invalid_utf8_is_escaped(void **state)
{
    assert_string_equal(name_alone("a\xff\xfe"
                                   "b"),
                        "a\\xff\\xfeb");
    assert_string_equal(name_alone("abc\xc3"), "abc\\xc3"); /* cut short */
    assert_string_equal(name_alone("a\xc0\x8a"
                                   "b"),
                        "a\\xc0\\x8ab"); /* overlong newline */
    assert_string_equal(name_alone("a\xe0\x80\x8a"
                                   "b"),
                        "a\\xe0\\x80\\x8ab");
    assert_string_equal(name_alone("a\xed\xa0\x80"
                                   "b"),
                        "a\\xed\\xa0\\x80"
                        "b"); /* surrogate */
    assert_string_equal(name_alone("a\xf4\x90\x80\x80"), "a\\xf4\\x90\\x80\\x80");
    assert_string_equal(name_alone("a\x80z"), "a\\x80z");
}

static void bug38_blanks_stay_inside_but_not_at_the_edges(void **state)
{
    assert_string_equal(name_alone("operator new"), "operator new");
    assert_string_equal(name_alone(" a b "), "\\x20a b\\x20");
    assert_string_equal(name_alone("   "), "\\x20 \\x20");
}

static void nothing_reaches_a_line_a_stack_or_a_terminal(void **state)
{
    assert_string_equal(name_alone("a\n7f00 10 evil"), "a\\x0a7f00 10 evil");
    assert_string_equal(name_alone("\x1b]0;title\x07"), "\\x1b]0:title\\x07");
    assert_string_equal(name_alone("a\r\tb\x7f"), "a\\x0d\\x09b\\x7f");
    assert_string_equal(escape("a\0b", 3), "a\\x00b");
    assert_string_equal(name_alone("a\xc2\x9b"
                                   "2J"),
                        "a\\u{9b}2J"); /* CSI of eight bits */
    assert_string_equal(name_alone("ab\xe2\x80\xae"
                                   "cd"),
                        "ab\\u{202e}cd"); /* right to left */
    assert_string_equal(name_alone("ab\xe2\x81\xa6"
                                   "cd"),
                        "ab\\u{2066}cd");
    assert_string_equal(name_alone("ab\xef\xbb\xbf"), "ab\\u{feff}");
    assert_string_equal(name_alone("ab\xf3\xa0\x81\x81"), "ab\\u{e0041}");
}

static void bug26_long_names_are_cut_between_characters(void **state)
{
    char *name = malloc(10001);
    for (size_t i = 0; i < 10000; i += 2)
        memcpy(name + i, "\xc3\xa9", 2);
    name[10000] = '\0';
    const char *names[] = {name, name};
    size_t length = strlen(name_of(names, 2, 1));
    assert_in_range(length, 3900, PROFILE_NAME_BYTES);
    assert_string_equal(got + length - 6, "...[1]");
    assert_int_equal((length - 6) % 2, 0);
    memset(name, 'x', 3900);
    name[3900] = '\0';
    assert_string_equal(name_alone(name), name);
    memset(name, '\n', 10000);
    assert_in_range(strlen(name_alone(name)), 3900, PROFILE_NAME_BYTES);
    free(name);
}

/* ---- demanglers under attack ---- */

/* A C++ name whose every template is a pair of the one before: 2^n leaves. */
static void write_cpp_bomb(char *name)
{
    static const char digits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
    strcpy(name, "_Z1f1AIiiE");
    for (int i = 0; i < 36; i++)
        sprintf(name + strlen(name), "S_IS%c_S%c_E", digits[i], digits[i]);
}

static void append_base62(char *name, unsigned value)
{
    static const char digits[] = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
    char text[8] = "_";
    if (value > 0 && --value >= 62)
        sprintf(text, "%c%c_", digits[value / 62], digits[value % 62]);
    else
        sprintf(text, "%c_", digits[value]);
    strcat(name, text);
}

/* The same in Rust's mangling. */
static void write_rust_bomb(char *name, const char *element)
{
    sprintf(name, "_RINvC1a1f");
    unsigned place = (unsigned)strlen(name) - 2;
    sprintf(name + strlen(name), "T%s%sE", element, element);
    for (int i = 0; i < 60; i++) {
        unsigned next = (unsigned)strlen(name) - 2;
        strcat(name, "TB");
        append_base62(name, place);
        strcat(name, "B");
        append_base62(name, place);
        strcat(name, "E");
        place = next;
    }
    strcat(name, "E");
}

static void assert_quick(const char *name)
{
    clock_t start = clock();
    size_t length = strlen(name_alone(name));
    assert_in_range(length, 3, PROFILE_NAME_BYTES);
    assert_true(clock() - start < CLOCKS_PER_SEC);
}

static void exponential_names_end(void **state)
{
    char name[2048];
    write_cpp_bomb(name);
    assert_quick(name);
    assert_in_range(strlen(got), 3900, PROFILE_NAME_BYTES);
    assert_memory_equal(got, "f(A<int, int>, A<A<int, int>, A<int, int> >, ", 44);
    write_rust_bomb(name, "l");
    assert_quick(name);
    assert_memory_equal(got, "a::f::<(i32, i32), ((i32, i32), (i32, i32)), ", 44);
    write_rust_bomb(name, "NvC1au5a_0ga"); /* an identifier in punycode */
    assert_quick(name);
}

static void deep_names_do_not_exhaust_the_stack(void **state)
{
    char *name = malloc(1 << 20);
    for (size_t size = 512; size < 1 << 20; size *= 4) {
        memset(name, 'P', size);
        memcpy(name, "_Z1f", 4);
        name[size - 1] = '\0';
        assert_quick(name);
        memset(name, 'N', size);
        memcpy(name, "_Z", 2);
        name[size - 1] = '\0';
        assert_quick(name);
        memset(name, 'R', size);
        memcpy(name, "_RIC1a", 6);
        name[size - 1] = '\0';
        assert_quick(name);
    }
    free(name);
}

static void a_million_functions_are_named_in_reasonable_time(void **state)
{
    const uint32_t count = 1000000;
    const char **names = malloc(count * sizeof *names);
    char *texts = malloc(count * 16);
    for (uint32_t i = 0; i < count; i++) {
        names[i] = texts + i * 16;
        sprintf(texts + i * 16, "f%u", i / 2);
    }
    clock_t start = clock();
    assert_string_equal(name_of(names, count, 999999), "f499999[999999]");
    print_message("%u names: %.0f ms\n", count, (double)(clock() - start) * 1000 / CLOCKS_PER_SEC);
    assert_true(clock() - start < 20 * CLOCKS_PER_SEC);
    free(names);
    free(texts);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plain_names_stay),
        cmocka_unit_test(mangled_names_are_demangled),
        cmocka_unit_test(names_of_two_bytes_or_fewer_grow),
        cmocka_unit_test(functions_without_names_bear_the_modules),
        cmocka_unit_test(shared_names_get_an_index),
        cmocka_unit_test(a_name_cannot_pose_as_another),
        cmocka_unit_test(bug37_invalid_utf8_is_escaped),
        cmocka_unit_test(bug38_blanks_stay_inside_but_not_at_the_edges),
        cmocka_unit_test(nothing_reaches_a_line_a_stack_or_a_terminal),
        cmocka_unit_test(bug26_long_names_are_cut_between_characters),
        cmocka_unit_test(exponential_names_end),
        cmocka_unit_test(deep_names_do_not_exhaust_the_stack),
        cmocka_unit_test(a_million_functions_are_named_in_reasonable_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
