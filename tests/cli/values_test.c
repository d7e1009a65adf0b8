/* cli/values.c: what is read is the value's bits, what is written is read back, and what is no value is refused. */
#include "cli/values.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const struct {
    uint32_t valtype;
    const char *text;
    uint64_t bits;
} readable[] = {
    {VM_I32, "0", 0},
    {VM_I32, "-0", 0},
    {VM_I32, "+7", 7},
    {VM_I32, "0012", 12},
    {VM_I32, "2147483647", 0x7fffffff},
    {VM_I32, "-2147483648", 0x80000000},
    {VM_I32, "-0x80000000", 0x80000000},
    {VM_I32, "4294967295", 0xffffffff},
    {VM_I32, "0XfF", 0xff},
    {VM_I64, "-1", UINT64_MAX},
    {VM_I64, "-9223372036854775808", UINT64_C(1) << 63},
    {VM_I64, "18446744073709551615", UINT64_MAX},
    {VM_I64, "0x8000000000000000", UINT64_C(1) << 63},
    {VM_F32, "0", 0},
    {VM_F32, "-0", 0x80000000},
    {VM_F32, "1", 0x3f800000},
    {VM_F32, ".5", 0x3f000000},
    {VM_F32, "0x1p-149", 1},
    {VM_F32, "1e-45", 1},
    {VM_F32, "inf", 0x7f800000},
    {VM_F32, "-inf", 0xff800000},
    {VM_F32, "nan", 0x7fc00000},
    {VM_F32, "-nan", 0xffc00000},
    {VM_F32, "+nan:0x1", 0x7f800001},
    {VM_F32, "-nan:0x7fffff", 0xffffffff},
    {VM_F32, "1.00000017881393432617187499", 0x3f800001}, /* 0x3f800002 where rounded by way of double */
    {VM_F64, "1e308", 0x7fe1ccf385ebc8a0},
    {VM_F64, "4.9e-324", 1},
    {VM_F64, "inf", UINT64_C(0x7ff0000000000000)},
    {VM_F64, "nan", UINT64_C(0x7ff8000000000000)},
    {VM_F64, "-nan:0xfffffffffffff", UINT64_MAX},
    {VM_EXTERNREF, "null", 0},
    {VM_FUNCREF, "null", 0},
};

static const struct {
    uint32_t valtype;
    const char *text;
} unreadable[] = {
    {VM_I32, ""},
    {VM_I32, "-"},
    {VM_I32, " 1"},
    {VM_I32, "1 "},
    {VM_I32, "1.0"},
    {VM_I32, "0x"},
    {VM_I32, "x"},
    {VM_I32, "1x"},
    {VM_I32, "--1"},
    {VM_I32, "+-1"},
    {VM_I32, "4294967296"},
    {VM_I32, "-2147483649"},
    {VM_I32, "-0xffffffff"},
    {VM_I32, "null"},
    {VM_I64, "18446744073709551616"},
    {VM_I64, "-9223372036854775809"},
    {VM_F32, ""},
    {VM_F32, "infinity"},
    {VM_F32, "INF"},
    {VM_F32, "nan(1)"},
    {VM_F32, "nan:1"},
    {VM_F32, "nan:0x0"},
    {VM_F32, "nan:0x800000"},
    {VM_F32, "nan:0x"},
    {VM_F32, "1e39"},
    {VM_F32, " 1"},
    {VM_F32, "1f"},
    {VM_F32, "."},
    {VM_F32, "0x"},
    {VM_F64, "1e309"},
    {VM_F64, "nan:0x10000000000000"},
    {VM_EXTERNREF, ""},
    {VM_EXTERNREF, "0"},
    {VM_FUNCREF, "func"},
};

/* The bits that a value of this type has in its slot. */
static uint64_t bits_of(uint32_t valtype, union vm_slot slot)
{
    return valtype == VM_I32 || valtype == VM_F32 ? slot.i32 : slot.i64;
}

static void test_reads(void **state)
{
    for (size_t i = 0; i < sizeof readable / sizeof *readable; i++) {
        union vm_slot slot;
        if (!cli_value_parse(readable[i].valtype, readable[i].text, &slot)) {
            fail_msg("%s %s is refused", cli_valtype_name(readable[i].valtype), readable[i].text);
        }
        if (bits_of(readable[i].valtype, slot) != readable[i].bits) {
            fail_msg("%s %s is read as %llx", cli_valtype_name(readable[i].valtype), readable[i].text,
                     (unsigned long long)slot.i64);
        }
    }
}

static void test_refuses(void **state)
{
    for (size_t i = 0; i < sizeof unreadable / sizeof *unreadable; i++) {
        union vm_slot slot;
        if (cli_value_parse(unreadable[i].valtype, unreadable[i].text, &slot)) {
            fail_msg("%s '%s' is accepted", cli_valtype_name(unreadable[i].valtype), unreadable[i].text);
        }
    }
}

/* Writes a value and returns the text, which the next call overwrites. */
static const char *written(uint32_t valtype, union vm_slot slot)
{
    static char text[64];
    memset(text, 0, sizeof text);
    FILE *stream = fmemopen(text, sizeof text, "w");
    assert_non_null(stream);
    cli_value_print(stream, valtype, slot);
    fclose(stream);
    return text;
}

static void test_writes_what_it_reads(void **state)
{
    static const uint32_t types[] = {VM_I32, VM_I64, VM_F32, VM_F64};
    uint64_t bits = 1;
    for (size_t round = 0; round < 100000; round++) {
        bits = bits * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        uint32_t valtype = types[round % 4];
        uint64_t value = bits ^ bits >> 29;
        union vm_slot slot = {.i64 = valtype == VM_I32 || valtype == VM_F32 ? value & UINT32_MAX : value};
        union vm_slot again;
        if (!cli_value_parse(valtype, written(valtype, slot), &again) || again.i64 != slot.i64) {
            fail_msg("%s %llx is written as %s", cli_valtype_name(valtype), (unsigned long long)slot.i64,
                     written(valtype, slot));
        }
    }
}

static void test_writes_few_digits(void **state)
{
    assert_string_equal(written(VM_F32, (union vm_slot){.f32 = 0.1f}), "0.1");
    assert_string_equal(written(VM_F64, (union vm_slot){.f64 = 0.1}), "0.1");
    assert_string_equal(written(VM_F64, (union vm_slot){.f64 = 0.1 + 0.2}), "0.30000000000000004");
    assert_string_equal(written(VM_F64, (union vm_slot){.f64 = -0.0}), "-0");
    assert_string_equal(written(VM_I32, (union vm_slot){.i32 = UINT32_MAX}), "-1");
    assert_string_equal(written(VM_EXTERNREF, (union vm_slot){.externref = NULL}), "null");
    assert_string_equal(written(VM_EXTERNREF, (union vm_slot){.i64 = 8}), "externref");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reads),
        cmocka_unit_test(test_refuses),
        cmocka_unit_test(test_writes_what_it_reads),
        cmocka_unit_test(test_writes_few_digits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
