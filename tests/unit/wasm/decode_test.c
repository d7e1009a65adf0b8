/* Every instruction of opcodes.def, through the validator, the decoder and the listing, which must agree on its bytes.
 */
#include "hex.h"

#include <stdio.h>

#include "vm/wasm/opcodes.h"

/* The least immediate of each kind that is valid in bytes_of_body()'s module. */
static const char *const immediates[] = {
    [WASM_IMM_NONE] = "",
    [WASM_IMM_BLOCKTYPE] = "40",
    [WASM_IMM_LABEL] = "00",
    [WASM_IMM_LABELS] = "02 00 00 00",
    [WASM_IMM_FUNC] = "00",
    [WASM_IMM_TYPE_TABLE] = "00 00",
    [WASM_IMM_VALTYPES] = "01 7f",
    [WASM_IMM_LOCAL] = "00",
    [WASM_IMM_GLOBAL] = "00",
    [WASM_IMM_TABLE] = "00",
    [WASM_IMM_TABLE_TABLE] = "00 00",
    [WASM_IMM_ELEM] = "00",
    [WASM_IMM_ELEM_TABLE] = "00 00",
    [WASM_IMM_MEMORY] = "00",
    [WASM_IMM_MEMORY_MEMORY] = "00 00",
    [WASM_IMM_DATA] = "00",
    [WASM_IMM_DATA_MEMORY] = "00 00",
    [WASM_IMM_MEMARG1] = "00 00",
    [WASM_IMM_MEMARG2] = "01 00",
    [WASM_IMM_MEMARG4] = "02 00",
    [WASM_IMM_MEMARG8] = "03 00",
    [WASM_IMM_I32] = "00",
    [WASM_IMM_I64] = "00",
    [WASM_IMM_F32] = "00 00 00 00",
    [WASM_IMM_F64] = "00 00 00 00 00 00 00 00",
    [WASM_IMM_HEAPTYPE] = "70",
};

/* unreachable, then the instruction, then unreachable again so that any operands are right. */
static struct wasm_module *load_instruction(const char *hex, const char *after, struct bytes *bytes)
{
    struct bytes body = {0};
    bytes_append_hex(&body, "00");
    bytes_append_hex(&body, hex);
    bytes_append_hex(&body, "00");
    bytes_append_hex(&body, after);
    *bytes = bytes_of_body(&body);
    free(body.data);
    struct wasm_module *module;
    struct err err = {0};
    if (wasm_module_create(bytes->data, bytes->size, &module, &err))
        fail_msg("%s: %s at %llu", hex, err.message, (unsigned long long)err.offset);
    return module;
}

/* The text of the instruction `hex`; its decoding must end where its bytes end. */
static void list_instruction(const char *hex, const char *after, char *text, size_t capacity)
{
    struct bytes bytes, bare = bytes_of_hex(hex);
    struct wasm_module *module = load_instruction(hex, after, &bytes);
    uint32_t offset = module->funcs[1].body.offset + 1;
    struct wasm_instruction instruction;
    assert_int_equal(wasm_decode(module, offset, &instruction), offset + bare.size);
    assert_int_equal(instruction.size_bytes, bare.size);
    assert_int_equal(instruction.offset, offset);
    assert_int_equal(wasm_listing(module, offset, text, capacity), offset + bare.size);
    wasm_module_destroy(module);
    free(bytes.data);
    free(bare.data);
}

static void test_every_opcode(void **state)
{
    for (unsigned opcode = 0; opcode < WASM_OPCODE_COUNT; opcode++) {
        const struct wasm_opcode_info *info = &wasm_opcodes[opcode];
        assert_int_equal(wasm_opcode_index[WASM_OPCODE_PAGE(info->prefix)][info->code], opcode + 1);
        if (opcode == WASM_OP_else || opcode == WASM_OP_end)
            continue;
        char hex[64], text[64];
        bool opens = info->immediate == WASM_IMM_BLOCKTYPE;
        /* a tail call needs a function with the caller's results */
        const char *immediate = opcode == WASM_OP_return_call ? "01" : immediates[info->immediate];
        if (info->prefix)
            snprintf(hex, sizeof hex, "%02x %02x %s", info->prefix, info->code, immediate);
        else
            snprintf(hex, sizeof hex, "%02x %s", info->code, immediate);
        list_instruction(hex, opens ? "0b" : "", text, sizeof text);
        assert_memory_equal(text, info->text, strlen(info->text));
    }
}

static void test_listing(void **state)
{
    static const struct {
        const char *hex, *after, *text;
    } cases[] = {
        {"02 40", "0b", "block"},
        {"02 7c", "0b 00", "block (result f64)"},
        {"03 01", "0b 00", "loop (type 1)"},
        {"04 6f", "05 00 0b 00", "if (result externref)"},
        {"0e 03 00 00 00 00", "", "br_table 0 0 0 0"},
        {"0e 00 00", "", "br_table 0"},
        {"10 00", "", "call 0"},
        {"11 01 00", "", "call_indirect (type 1)"},
        {"13 00 00", "", "return_call_indirect (type 0)"},
        {"1b", "", "select"},
        {"1c 01 70", "", "select (result funcref)"},
        {"20 83 80 00", "", "local.get 3"},
        {"24 00", "", "global.set 0"},
        {"25 01", "", "table.get 1"},
        {"28 02 08", "", "i32.load offset=8"},
        {"28 00 80 80 80 80 08", "", "i32.load offset=2147483648 align=1"},
        {"37 03 00", "", "i64.store"},
        {"28 42 00 04", "", "i32.load offset=4"},
        {"3f 00", "", "memory.size"},
        {"41 7f", "", "i32.const -1"},
        {"41 80 80 80 80 78", "", "i32.const -2147483648"},
        {"42 ff ff ff ff ff ff ff ff ff 00", "", "i64.const 9223372036854775807"},
        {"43 00 00 00 3f", "", "f32.const 0.5"},
        {"43 cd cc cc 3d", "", "f32.const 0.1"},
        {"43 00 00 00 80", "", "f32.const -0"},
        {"43 00 00 80 7f", "", "f32.const inf"},
        {"43 00 00 c0 ff", "", "f32.const -nan"},
        {"43 01 00 80 7f", "", "f32.const nan:0x1"},
        {"44 9a 99 99 99 99 99 b9 3f", "", "f64.const 0.1"},
        {"44 00 00 00 00 00 00 f8 7f", "", "f64.const nan"},
        {"44 00 00 00 00 00 00 f0 ff", "", "f64.const -inf"},
        {"44 ff ff ff ff ff ff ef 7f", "", "f64.const 1.7976931348623157e+308"},
        {"d0 6f", "", "ref.null extern"},
        {"d2 00", "", "ref.func 0"},
        {"fc 80 00", "", "i32.trunc_sat_f32_s"},
        {"fc 08 00 00", "", "memory.init 0"},
        {"fc 0a 00 00", "", "memory.copy"},
        {"fc 0c 00 00", "", "table.init 0"},
        {"fc 0e 01 01", "", "table.copy 1 1"},
        {"fc 0e 00 00", "", "table.copy"},
    };
    char text[128];
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        list_instruction(cases[i].hex, cases[i].after, text, sizeof text);
        assert_string_equal(text, cases[i].text);
    }
}

static void test_listing_is_cut(void **state)
{
    char text[16];
    memset(text, 'x', sizeof text);
    list_instruction("28 02 08", "", text, 8);
    assert_string_equal(text, "i32.loa");
    assert_int_equal(text[8], 'x');
    memset(text, 'x', sizeof text);
    list_instruction("28 02 08", "", text, 0);
    assert_int_equal(text[0], 'x');
}

static void test_decode_fields(void **state)
{
    struct bytes bytes;
    struct wasm_instruction instruction;
    struct wasm_module *module = load_instruction("29 02 90 01", "", &bytes);
    wasm_decode(module, module->funcs[1].body.offset + 1, &instruction);
    assert_int_equal(instruction.opcode, WASM_OP_i64_load);
    assert_int_equal(instruction.align, 2);
    assert_int_equal(instruction.index2, 0);
    assert_int_equal(instruction.immediate, 144);
    wasm_module_destroy(module);
    free(bytes.data);

    module = load_instruction("02 7e", "0b 00", &bytes);
    wasm_decode(module, module->funcs[1].body.offset + 1, &instruction);
    uint32_t scratch;
    struct wasm_functype type = wasm_blocktype(module, instruction.blocktype, &scratch);
    assert_int_equal(type.param_count, 0);
    assert_int_equal(type.result_count, 1);
    assert_int_equal(type.results[0], WASM_I64);
    type = wasm_blocktype(module, 1, &scratch);
    assert_int_equal(type.param_count, 2);
    assert_int_equal(type.results[1], WASM_F64);
    assert_int_equal(wasm_blocktype(module, -64, &scratch).result_count, 0);
    wasm_module_destroy(module);
    free(bytes.data);

    module = load_instruction("fc 0e 01 01", "", &bytes);
    wasm_decode(module, module->funcs[1].body.offset + 1, &instruction);
    assert_int_equal(instruction.index, 1);
    assert_int_equal(instruction.index2, 1);
    wasm_module_destroy(module);
    free(bytes.data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_opcode),
        cmocka_unit_test(test_listing),
        cmocka_unit_test(test_listing_is_cut),
        cmocka_unit_test(test_decode_fields),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
