/* LEB128 at its exact limits, for every width; names and UTF-8; nothing is read beyond the end. */
#include "hex.h"

#include <inttypes.h>
#include <stdio.h>

#include "vm/wasm/cursor.h"
#include "vm/wasm/utf8.h"

enum width { U32, S32, S33, U64, S64 };

#define TOO_LONG "integer representation too long"
#define TOO_LARGE "integer too large"
#define END "unexpected end of section or function"

static const struct {
    enum width width;
    const char *hex;
    int64_t value;
    const char *words; /* NULL: it is read, and all of its bytes */
} cases[] = {
    {U32, "00", 0, NULL},
    {U32, "7f", 127, NULL},
    {U32, "80 01", 128, NULL},
    {U32, "80 80 80 80 00", 0, NULL},
    {U32, "ff ff ff ff 0f", UINT32_MAX, NULL},
    {U32, "ff ff ff ff 1f", 0, TOO_LARGE},
    {U32, "ff ff ff ff 7f", 0, TOO_LARGE},
    {U32, "80 80 80 80 80", 0, TOO_LONG},
    {U32, "80 80 80 80 80 00", 0, TOO_LONG},
    {U32, "", 0, END},
    {U32, "80 80", 0, END},
    {S32, "3f", 63, NULL},
    {S32, "40", -64, NULL},
    {S32, "7f", -1, NULL},
    {S32, "ff 7f", -1, NULL},
    {S32, "80 80 80 80 78", INT32_MIN, NULL},
    {S32, "ff ff ff ff 07", INT32_MAX, NULL},
    {S32, "80 80 80 80 70", 0, TOO_LARGE},
    {S32, "ff ff ff ff 0f", 0, TOO_LARGE},
    {S32, "ff ff ff ff ff 7f", 0, TOO_LONG},
    {S32, "c0", 0, END},
    {S33, "40", -64, NULL},
    {S33, "ff ff ff ff 0f", UINT32_MAX, NULL},
    {S33, "80 80 80 80 70", -4294967296, NULL},
    {S33, "80 80 80 80 10", 0, TOO_LARGE},
    {S33, "80 80 80 80 80 00", 0, TOO_LONG},
    {U64, "ff ff ff ff ff ff ff ff ff 01", -1, NULL},
    {U64, "80 80 80 80 80 80 80 80 80 00", 0, NULL},
    {U64, "ff ff ff ff ff ff ff ff ff 02", 0, TOO_LARGE},
    {U64, "80 80 80 80 80 80 80 80 80 80 00", 0, TOO_LONG},
    {U64, "80 80 80 80 80 80 80 80 80", 0, END},
    {S64, "7f", -1, NULL},
    {S64, "80 80 80 80 80 80 80 80 80 7f", INT64_MIN, NULL},
    {S64, "ff ff ff ff ff ff ff ff ff 00", INT64_MAX, NULL},
    {S64, "80 80 80 80 80 80 80 80 80 7e", 0, TOO_LARGE},
    {S64, "ff ff ff ff ff ff ff ff ff 01", 0, TOO_LARGE},
    {S64, "ff ff ff ff ff ff ff ff ff ff 7f", 0, TOO_LONG},
};

static int read_width(struct wasm_cursor *in, enum width width, int64_t *value)
{
    uint32_t u32 = 0;
    int32_t s32 = 0;
    uint64_t u64 = 0;
    int rc;
    switch (width) {
    case U32:
        rc = wasm_cursor_u32(in, &u32);
        *value = u32;
        return rc;
    case S32:
        rc = wasm_cursor_s32(in, &s32);
        *value = s32;
        return rc;
    case S33:
        return wasm_cursor_s33(in, value);
    case U64:
        rc = wasm_cursor_u64(in, &u64);
        *value = (int64_t)u64;
        return rc;
    default:
        return wasm_cursor_s64(in, value);
    }
}

static void test_leb(void **state)
{
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct bytes bytes = bytes_of_hex(cases[i].hex);
        struct err err = {0};
        struct wasm_cursor in = {bytes.data, bytes.data, bytes.data + bytes.size, true, &err};
        int64_t value = 0;
        int rc = read_width(&in, cases[i].width, &value);
        const char *words = cases[i].words ? cases[i].words : "";
        if (strcmp(err.message, words) != 0 || (rc != 0) != (cases[i].words != NULL) ||
            (!rc && (value != cases[i].value || in.at != in.end)))
            fail_msg("width %d, %s: %d \"%s\" %" PRId64, cases[i].width, cases[i].hex, rc, err.message, value);
        free(bytes.data);
    }
}

static void test_utf8(void **state)
{
    static const char *const valid[] = {
        "", "00", "7f", "c2 80", "df bf", "e0 a0 80", "ed 9f bf", "ee 80 80", "ef bf bf", "f0 90 80 80", "f4 8f bf bf",
        "61 61 61 61 61 61 61 61 61 c3 a4 61",
    };
    static const char *const invalid[] = {
        "80", "bf", "c0 80", "c1 bf", "c2", "c2 7f", "c2 c0", "e0 9f bf", "e0 a0", "e1 80 7f", "ed a0 80", "ed bf bf",
        "f0 8f bf bf", "f0 90 80", "f4 90 80 80", "f5 80 80 80", "ff", "fe", "61 61 61 61 61 61 61 61 80",
        "61 61 61 61 61 61 61 c3",
    };
    for (size_t i = 0; i < sizeof valid / sizeof valid[0] + sizeof invalid / sizeof invalid[0]; i++) {
        bool expected = i < sizeof valid / sizeof valid[0];
        const char *hex = expected ? valid[i] : invalid[i - sizeof valid / sizeof valid[0]];
        struct bytes bytes = bytes_of_hex(hex);
        if (wasm_utf8_valid(bytes.data, bytes.size) != expected)
            fail_msg("%s is %s", hex, expected ? "valid" : "invalid");
        free(bytes.data);
    }
}

/* Every code point there is, encoded by the rule and checked; and no string of two bytes but those. */
static void test_utf8_exhaustively(void **state)
{
    for (uint32_t point = 0x80; point <= 0x10ffff; point++) {
        uint8_t bytes[4];
        size_t length = point < 0x800 ? 2 : point < 0x10000 ? 3 : 4;
        for (size_t i = length - 1; i > 0; i--)
            bytes[i] = 0x80 | (uint8_t)(point >> 6 * (length - 1 - i) & 0x3f);
        bytes[0] = (uint8_t)((0xf00 >> length & 0xff) | point >> 6 * (length - 1));
        bool is_surrogate = point >= 0xd800 && point <= 0xdfff;
        if (wasm_utf8_valid(bytes, length) == is_surrogate)
            fail_msg("U+%04X", point);
    }
    unsigned count = 0;
    for (unsigned pair = 0; pair < 0x10000; pair++)
        count += wasm_utf8_valid((uint8_t[]){(uint8_t)(pair >> 8), (uint8_t)pair}, 2);
    assert_int_equal(count, 128 * 128 + 0x800 - 0x80);
}

static void test_counts_and_names(void **state)
{
    struct bytes bytes = bytes_of_hex("03 61 62");
    struct err err = {0};
    struct wasm_cursor in = {bytes.data, bytes.data, bytes.data + bytes.size, true, &err};
    uint32_t count;
    struct wasm_name name;
    assert_int_not_equal(wasm_cursor_count(&in, WASM_LIMIT_TYPES, &count), 0);
    assert_string_equal(err.message, END);
    err = (struct err){0};
    in.at = bytes.data;
    assert_int_not_equal(wasm_cursor_name(&in, &name), 0);
    assert_int_equal(err.kind, ERR_MALFORMED);
    assert_string_equal(err.message, "length out of bounds: a name of 3 bytes, 2 are left");
    free(bytes.data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_leb),
        cmocka_unit_test(test_utf8),
        cmocka_unit_test(test_utf8_exhaustively),
        cmocka_unit_test(test_counts_and_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
