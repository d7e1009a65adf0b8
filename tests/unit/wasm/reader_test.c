/* What the reader makes of a module, and each report it can give: kind, offset and words. */
#include "hex.h"

#include <errno.h>

static void test_contents(void **state)
{
    /* (local.get 1) (drop), then i32.const 7 to the global */
    struct bytes body = bytes_of_hex("20 01 1a 41 07 24 00"), bytes = bytes_of_body(&body);
    struct wasm_module *module;
    struct err err = {0};
    assert_int_equal(wasm_module_create(bytes.data, bytes.size, &module, &err), 0);
    assert_int_equal(module->type_count, 2);
    assert_int_equal(module->types[1].params[1], WASM_I64);
    assert_int_equal(module->types[1].results[0], WASM_F32);
    assert_int_equal(module->import_count, 1);
    assert_int_equal(module->imports[0].kind, WASM_EXTERN_FUNC);
    assert_memory_equal(module->imports[0].module.bytes, "m", 1);
    assert_memory_equal(module->imports[0].name.bytes, "f", 1);

    assert_int_equal(module->func_count, 2);
    assert_int_equal(module->imported_func_count, 1);
    assert_int_equal(module->funcs[0].import, 0);
    assert_int_equal(module->funcs[0].typeidx, 1);
    const struct wasm_func *func = &module->funcs[1];
    assert_int_equal(func->import, UINT32_MAX);
    assert_int_equal(func->local_count, 5);
    assert_int_equal(func->run_count, 5);
    assert_int_equal(module->local_runs[func->first_run + 2].valtype, WASM_F32);
    assert_int_equal(func->body.offset, func->entry_offset + 11);
    assert_int_equal(func->body.size_bytes, body.size + 1);
    assert_memory_equal(bytes.data + func->body.offset, body.data, body.size);

    assert_int_equal(module->table_count, 2);
    assert_int_equal(module->tables[1].type.reftype, WASM_EXTERNREF);
    assert_int_equal(module->tables[0].type.limits.min, 1);
    assert_int_equal(module->tables[0].type.limits.max, UINT64_MAX);
    assert_false(module->tables[0].has_init);
    assert_int_equal(module->memory_count, 1);
    assert_int_equal(module->global_count, 1);
    assert_true(module->globals[0].type.is_mutable);
    assert_int_equal(module->globals[0].init.size_bytes, 3);
    assert_int_equal(bytes.data[module->globals[0].init.offset], 0x41);
    assert_int_equal(module->export_count, 1);
    assert_int_equal(module->elem_count, 1);
    assert_int_equal(module->elems[0].mode, WASM_SEGMENT_PASSIVE);
    assert_int_equal(module->elems[0].count, 1);
    assert_int_equal(module->elems[0].items.size_bytes, 1);
    assert_int_equal(module->data_count, 1);
    assert_int_equal(module->datas[0].mode, WASM_SEGMENT_PASSIVE);
    assert_int_equal(module->datas[0].bytes[0], '*');
    assert_int_equal(module->start, UINT32_MAX);
    assert_int_equal(bytes.data[module->code_offset - 2], 0x0a);
    assert_int_equal(module->code_offset + 2, func->entry_offset);
    assert_null(module->func_names);
    assert_null(wasm_module_custom(module, "name"));
    wasm_module_destroy(module);
    free(bytes.data);
    free(body.data);
}

static void test_customs(void **state)
{
    struct bytes bytes = bytes_of_hex(MAGIC "00 04 01 61 01 02  00 02 01 62");
    struct wasm_module *module;
    assert_int_equal(wasm_module_create(bytes.data, bytes.size, &module, NULL), 0);
    const struct wasm_custom *custom = wasm_module_custom(module, "a");
    assert_non_null(custom);
    assert_int_equal(custom->size_bytes, 2);
    assert_memory_equal(custom->bytes, "\1\2", 2);
    assert_int_equal(wasm_module_custom(module, "b")->size_bytes, 0);
    assert_null(wasm_module_custom(module, "c"));
    wasm_module_destroy(module);
    free(bytes.data);
}

static void test_segments(void **state)
{
    /* every one of the eight forms of an element segment, and two of the three of data (the other is above) */
    struct bytes bytes = bytes_of_hex(MAGIC "01 04 01 60 00 00  03 02 01 00  04 0a 01 40 00 70 01 01 02 d0 70 0b"
                                            "05 03 01 00 01  09 3f 08"
                                            "00 41 00 0b 01 00"
                                            "01 00 02 00 00"
                                            "02 00 41 01 0b 00 01 00"
                                            "03 00 01 00"
                                            "04 41 00 0b 01 d2 00 0b"
                                            "05 6f 02 d0 6f 0b d0 6f 0b"
                                            "06 00 41 00 0b 70 01 d0 70 0b"
                                            "07 70 03 d2 00 0b d0 70 0b d2 00 0b"
                                            "0a 04 01 02 00 0b  0b 0d 02 00 41 02 0b 01 61  02 00 41 00 0b 00");
    struct wasm_module *module;
    struct err err = {0};
    if (wasm_module_create(bytes.data, bytes.size, &module, &err))
        fail_msg("%s at %#llx", err.message, (unsigned long long)err.offset);
    static const struct {
        enum wasm_segment_mode mode;
        uint32_t reftype, count, items_bytes;
        bool is_exprs;
    } expected[] = {
        {WASM_SEGMENT_ACTIVE, WASM_FUNCREF, 1, 1, false},  {WASM_SEGMENT_PASSIVE, WASM_FUNCREF, 2, 2, false},
        {WASM_SEGMENT_ACTIVE, WASM_FUNCREF, 1, 1, false},  {WASM_SEGMENT_DECLARED, WASM_FUNCREF, 1, 1, false},
        {WASM_SEGMENT_ACTIVE, WASM_FUNCREF, 1, 3, true},   {WASM_SEGMENT_PASSIVE, WASM_EXTERNREF, 2, 6, true},
        {WASM_SEGMENT_ACTIVE, WASM_FUNCREF, 1, 3, true},   {WASM_SEGMENT_DECLARED, WASM_FUNCREF, 3, 9, true},
    };
    assert_int_equal(module->elem_count, 8);
    for (size_t i = 0; i < 8; i++) {
        assert_int_equal(module->elems[i].mode, expected[i].mode);
        assert_int_equal(module->elems[i].reftype, expected[i].reftype);
        assert_int_equal(module->elems[i].count, expected[i].count);
        assert_int_equal(module->elems[i].items.size_bytes, expected[i].items_bytes);
        assert_int_equal(module->elems[i].is_exprs, expected[i].is_exprs);
    }
    assert_int_equal(module->elems[2].offset.size_bytes, 3);
    assert_true(module->tables[0].has_init);
    assert_int_equal(module->tables[0].init.size_bytes, 3);
    assert_int_equal(module->data_count, 2);
    assert_int_equal(module->datas[0].mode, WASM_SEGMENT_ACTIVE);
    assert_int_equal(module->datas[0].offset.size_bytes, 3);
    assert_int_equal(module->datas[0].size_bytes, 1);
    assert_int_equal(module->datas[1].size_bytes, 0);
    wasm_module_destroy(module);
    free(bytes.data);
}

#define FUNC_TYPE "01 04 01 60 00 00 "
#define FUNC FUNC_TYPE "03 02 01 00 "

static const struct {
    const char *hex; /* after the header */
    enum err_kind kind;
    uint64_t offset;
    const char *message;
} reports[] = {
    {"01", ERR_MALFORMED, 9, "unexpected end"},
    {"0e 00", ERR_MALFORMED, 8, "malformed section id 14"},
    {"0d 01 00", ERR_UNSUPPORTED, 8, "exceptions: section 13"},
    {"01 05 00", ERR_MALFORMED, 8, "length out of bounds: section 1 of 5 bytes, 1 are left"},
    {"01 02 00 00", ERR_MALFORMED, 11, "section size mismatch: 1 bytes too many in section 1"},
    {"03 01 00 01 01 00", ERR_MALFORMED, 11, "unexpected content after last section: section 1 out of order"},
    {"01 01 05", ERR_MALFORMED, 11, "unexpected end of section or function"},
    {"01 02 01 61", ERR_MALFORMED, 11, "malformed type form 0x61"},
    {"01 03 01 5f 00", ERR_UNSUPPORTED, 11, "gc: type form 0x5f"},
    {"01 05 01 60 01 77 00", ERR_MALFORMED, 13, "malformed value type 0x77"},
    {"01 05 01 60 01 7b 00", ERR_UNSUPPORTED, 13, "simd: value type 0x7b"},
    {"01 05 01 60 01 6e 00", ERR_UNSUPPORTED, 13, "gc: value type 0x6e"},
    {"02 04 01 00 00 07", ERR_MALFORMED, 13, "malformed import kind 0x07"},
    {"02 05 01 00 00 04 00", ERR_UNSUPPORTED, 13, "exceptions: external kind 0x04"},
    {"02 05 01 00 00 00 00", ERR_INVALID, 14, "unknown type 0"},
    {"02 04 01 01 80 00", ERR_MALFORMED, 12, "malformed UTF-8 encoding"},
    {"03 02 01 00", ERR_INVALID, 11, "unknown type 0"},
    {FUNC, ERR_MALFORMED, 18, "function and code section have inconsistent lengths"},
    {FUNC "0a 01 00", ERR_MALFORMED, 20, "function and code section have inconsistent lengths"},
    {"04 03 01 7f 00", ERR_MALFORMED, 11, "malformed reference type: i32"},
    {"04 05 01 70 01 02 01", ERR_INVALID, 12, "size minimum must not be greater than maximum"},
    {"04 08 01 70 00 80 80 80 80 10", ERR_INVALID, 12, "table size must be at most 2^32-1"},
    {"04 04 01 70 04 00", ERR_UNSUPPORTED, 12, "memory64: limits flags 0x04"},
    {"05 03 01 08 00", ERR_MALFORMED, 11, "malformed limits flags 0x08"},
    {"05 04 01 03 01 02", ERR_UNSUPPORTED, 11, "threads: limits flags 0x03"},
    {"05 05 01 00 81 80 04", ERR_INVALID, 11, "memory size must be at most 65536 pages (4GiB)"},
    {"05 05 02 00 01 00 01", ERR_UNSUPPORTED, 13, "multi-memory: a second memory"},
    {"06 06 01 7f 02 41 00 0b", ERR_MALFORMED, 12, "malformed mutability 0x02"},
    {"06 04 01 7f 00 0b", ERR_INVALID, 13, "type mismatch: end expects i32, the stack is empty"},
    {"06 06 01 7f 00 42 00 0b", ERR_INVALID, 15, "type mismatch: end expects i32, found i64"},
    {"06 05 01 7f 00 01 0b", ERR_INVALID, 13, "constant expression required, found nop"},
    {"06 06 01 7f 00 23 00 0b", ERR_INVALID, 13, "unknown global 0"},
    {"06 0b 02 7f 01 41 00 0b 7f 00 23 00 0b", ERR_INVALID, 18, "constant expression required: global 0 is mutable"},
    {"06 06 01 70 00 d0 6f 0b", ERR_INVALID, 15, "type mismatch: end expects funcref, found externref"},
    {"06 06 01 70 00 d0 03 0b", ERR_UNSUPPORTED, 14, "gc: heap type 3"},
    {"07 05 01 01 61 00 00", ERR_INVALID, 14, "unknown function 0"},
    {"07 05 01 01 61 03 00", ERR_INVALID, 14, "unknown global 0"},
    {"07 05 01 01 61 09 00", ERR_MALFORMED, 13, "malformed export kind 0x09"},
    {FUNC "07 09 02 01 61 00 00 01 61 00 00", ERR_INVALID, 26, "duplicate export name"},
    {"08 01 00", ERR_INVALID, 10, "unknown function 0"},
    {"01 05 01 60 01 7f 00  03 02 01 00  08 01 00", ERR_INVALID, 21,
     "start function must have neither parameters nor results"},
    {"09 06 01 00 41 00 0b 00", ERR_INVALID, 12, "unknown table 0"},
    {"04 04 01 6f 00 00  09 06 01 00 41 00 0b 00", ERR_INVALID, 17,
     "type mismatch: a segment of funcref for a table of externref"},
    {"09 02 01 08", ERR_MALFORMED, 11, "malformed elements segment kind 8"},
    {"09 03 01 01 01", ERR_MALFORMED, 12, "malformed element kind 0x01"},
    {"09 05 01 01 00 01 05", ERR_INVALID, 14, "unknown function 5"},
    {"0b 02 01 03", ERR_MALFORMED, 11, "malformed data segment kind 3"},
    {"0b 06 01 00 41 00 0b 00", ERR_INVALID, 11, "unknown memory 0"},
    {"0c 01 01", ERR_MALFORMED, 11, "data count and data section have inconsistent lengths"},
    {FUNC "0a 04 01 02 00 01", ERR_MALFORMED, 24, "unexpected end of section or function"},
    {FUNC "0a 05 01 03 00 0b 0b", ERR_MALFORMED, 24, "section size mismatch: 1 bytes after the function's end"},
    {FUNC "0a 0a 01 08 01 ff ff ff ff 0f 7f 0b", ERR_INVALID, 22, "too many locals: 4294967295, the limit is 50000"},
    {FUNC "0a 0c 01 0a 02 ff ff ff ff 0f 7f 01 7f 0b", ERR_MALFORMED, 22, "too many locals"},
};

static void test_reports(void **state)
{
    for (size_t i = 0; i < sizeof reports / sizeof reports[0]; i++) {
        struct bytes all = bytes_of_hex(MAGIC);
        bytes_append_hex(&all, reports[i].hex);
        uint8_t *exact = malloc(all.size);
        memcpy(exact, all.data, all.size);
        struct wasm_module *module;
        struct err err = {0};
        int rc = wasm_module_create(exact, all.size, &module, &err);
        if (rc >= 0 || module || err.kind != reports[i].kind || err.offset != reports[i].offset ||
            strcmp(err.message, reports[i].message) != 0)
            fail_msg("%s\nexpected %s at %llu: %s\n     got %s at %llu: %s", reports[i].hex,
                     err_kind_name(reports[i].kind), (unsigned long long)reports[i].offset, reports[i].message,
                     err_kind_name(err.kind), (unsigned long long)err.offset, err.message);
        free(exact);
        free(all.data);
    }
}

static void test_header(void **state)
{
    static const struct {
        const char *hex, *message;
    } cases[] = {
        {"", "unexpected end"},
        {"00 61 73", "unexpected end"},
        {"00 61 73 6e 01 00 00 00", "magic header not detected"},
        {"00 61 73 6d 01 00 00", "unexpected end"},
        {"00 61 73 6d 0d 00 01 00", "unknown binary version"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct bytes bytes = bytes_of_hex(cases[i].hex);
        struct wasm_module *module;
        struct err err = {0};
        assert_int_equal(wasm_module_create(bytes.data, bytes.size, &module, &err), -EBADMSG);
        assert_string_equal(err.message, cases[i].message);
        free(bytes.data);
    }
    wasm_module_destroy(NULL);
}

/* The body of function 1 in bytes_of_body()'s module; offsets count from the body's first byte. */
static const struct {
    const char *hex;
    enum err_kind kind;
    int offset;
    const char *message;
} bodies[] = {
    {"ff", ERR_MALFORMED, 0, "illegal opcode ff"},
    {"fc 12", ERR_MALFORMED, 0, "illegal opcode fc0012"},
    {"fd 0c", ERR_UNSUPPORTED, 0, "simd: opcode 0xfd000c"},
    {"fd 94 02", ERR_MALFORMED, 0, "illegal opcode fd0114"},
    {"fe 10", ERR_UNSUPPORTED, 0, "threads: opcode 0xfe0010"},
    {"fb 00 00", ERR_UNSUPPORTED, 0, "gc: opcode 0xfb0000"},
    {"fb ff ff 7f", ERR_MALFORMED, 0, "illegal opcode fb 2097151"},
    {"08 00", ERR_UNSUPPORTED, 0, "exceptions: opcode 0x08"},
    {"14 00", ERR_UNSUPPORTED, 0, "gc: opcode 0x14"},
    {"05", ERR_MALFORMED, 0, "END opcode expected: else without if"},
    {"02 05 0b", ERR_INVALID, 0, "unknown type 5"},
    {"02 ff 7f 0b", ERR_MALFORMED, 1, "malformed value type 0xff"},
    {"41 00 04 7f 41 00 0b 1a", ERR_INVALID, 6,
     "type mismatch: an if without else must have results like its parameters"},
    {"41 00", ERR_INVALID, 2, "type mismatch: 1 more operands on the stack than the block has results"},
    {"0c 01", ERR_INVALID, 0, "unknown label 1"},
    {"02 7f 41 00 41 00 0e 01 00 01 0b 1a", ERR_INVALID, 6,
     "type mismatch: br_table's label 1 carries 0 operands, others 1"},
    {"10 05", ERR_INVALID, 0, "unknown function 5"},
    {"12 00", ERR_INVALID, 0, "type mismatch: return_call expects i64, the stack is empty"},
    {"41 00 42 00 12 00", ERR_INVALID, 4, "type mismatch: return_call of a function with 2 results from one with 0"},
    {"41 00 11 00 01", ERR_INVALID, 2, "type mismatch: call_indirect through a table of externref"},
    {"41 00 11 00 02", ERR_INVALID, 2, "unknown table 2"},
    {"41 00 11 09 00", ERR_INVALID, 2, "unknown type 9"},
    {"1a", ERR_INVALID, 0, "type mismatch: drop needs an operand, the stack is empty"},
    {"20 00 20 01 41 00 1b 1a", ERR_INVALID, 6, "type mismatch: select of i32 and i64"},
    {"20 04 20 04 41 00 1b 1a", ERR_INVALID, 6, "type mismatch: select of references needs a type"},
    {"20 00 20 00 41 00 1c 00 1a", ERR_INVALID, 6, "invalid result arity: select with 0 types"},
    {"20 05 1a", ERR_INVALID, 0, "unknown local 5"},
    {"20 00 21 01", ERR_INVALID, 2, "type mismatch: local.set expects i64, found i32"},
    {"23 01 1a", ERR_INVALID, 0, "unknown global 1"},
    {"d2 01 1a", ERR_INVALID, 0, "undeclared function reference 1"},
    {"20 00 d1 1a", ERR_INVALID, 2, "type mismatch: ref.is_null expects a reference, found i32"},
    {"fc 0e 00 01", ERR_INVALID, 0, "type mismatch: table.copy of externref into a table of funcref"},
    {"fc 0c 00 01", ERR_INVALID, 0, "type mismatch: table.init of funcref into a table of externref"},
    {"fc 0c 01 00", ERR_INVALID, 0, "unknown elem segment 1"},
    {"fc 0d 01", ERR_INVALID, 0, "unknown elem segment 1"},
    {"fc 08 01 00", ERR_INVALID, 0, "unknown data segment 1"},
    {"fc 08 00 01", ERR_INVALID, 0, "unknown memory 1"},
    {"41 00 28 03 00 1a", ERR_INVALID, 2, "alignment must not be larger than natural: 2^3, i32.load has 2^2"},
    {"41 00 28 80 01 00 1a", ERR_MALFORMED, 2, "malformed memop flags 0x80"},
    {"41 00 28 42 01 00 1a", ERR_INVALID, 2, "unknown memory 1"},
    {"41 00 28 02 80 80 80 80 10 1a", ERR_INVALID, 2, "offset out of range: 4294967296"},
    {"20 00 20 01 6a 1a", ERR_INVALID, 4, "type mismatch: i32.add expects i32, found i64"},
    {"00 20 01 6a 1a", ERR_INVALID, 3, "type mismatch: i32.add expects i32, found i64"}, /* also where unreachable */
};

static void test_bodies(void **state)
{
    for (size_t i = 0; i < sizeof bodies / sizeof bodies[0]; i++) {
        struct bytes body = bytes_of_hex(bodies[i].hex), bytes = bytes_of_body(&body);
        struct wasm_module *module;
        struct err err = {0};
        int rc = wasm_module_create(bytes.data, bytes.size, &module, &err);
        /* what follows the body: its end and the data section of 6 bytes */
        int offset = (int)err.offset - (int)(bytes.size - 7 - body.size);
        if (rc >= 0 || module || err.kind != bodies[i].kind || offset != bodies[i].offset ||
            strcmp(err.message, bodies[i].message) != 0)
            fail_msg("%s\nexpected %s at %d: %s\n     got %s at %d: %s", bodies[i].hex, err_kind_name(bodies[i].kind),
                     bodies[i].offset, bodies[i].message, err_kind_name(err.kind), offset, err.message);
        free(bytes.data);
        free(body.data);
    }
}

/* Locals beyond the table of near ones: (i32 × 200) (i64 × 0) (f32 × 100). */
static void test_far_locals(void **state)
{
    static const struct {
        const char *get;
        bool is_valid;
    } cases[] = {
        {"20 c7 01 45 1a 0b", true},  /* local.get 199, i32.eqz */
        {"20 c8 01 8b 1a 0b", true},  /* local.get 200, f32.abs */
        {"20 ab 02 8b 1a 0b", true},  /* local.get 299, f32.abs */
        {"20 c8 01 45 1a 0b", false}, /* local.get 200, i32.eqz */
        {"20 ac 02 8b 1a 0b", false}, /* local.get 300 */
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct bytes bytes = bytes_of_hex(MAGIC FUNC "0a 10 01 0e 03 c8 01 7f 00 7e 64 7d");
        bytes_append_hex(&bytes, cases[i].get);
        struct wasm_module *module;
        struct err err = {0};
        int rc = wasm_module_create(bytes.data, bytes.size, &module, &err);
        if ((rc == 0) != cases[i].is_valid)
            fail_msg("%s: %s", cases[i].get, err.message);
        wasm_module_destroy(module);
        free(bytes.data);
    }
}

/* Function 0: (i32 x 200) -> (i32 x 200), function 1: () -> () with this body. Lists so long are compared as memory. */
static void expect_long(const char *hex, bool is_valid)
{
    struct bytes bytes = {0}, types = {0};
    bytes_append_hex(&types, "02 60 00 00 60 c8 01");
    for (size_t i = 0; i < 200; i++)
        bytes_append_hex(&types, "7f");
    bytes_append_hex(&types, "c8 01");
    for (size_t i = 0; i < 200; i++)
        bytes_append_hex(&types, "7f");
    struct bytes body = bytes_of_hex(hex);
    bytes_append_hex(&bytes, MAGIC "01");
    bytes_append_leb(&bytes, types.size);
    bytes_append(&bytes, types.data, types.size);
    bytes_append_hex(&bytes, "03 03 02 01 00 0a");
    bytes_append_leb(&bytes, body.size + 13);
    bytes_append_hex(&bytes, "02 08 00 20 c7 01 45 1a 00 0b"); /* local.get 199, i32.eqz, drop, unreachable */
    bytes_append_leb(&bytes, body.size + 2);
    bytes_append_hex(&bytes, "00");
    bytes_append(&bytes, body.data, body.size);
    bytes_append_hex(&bytes, "0b");
    struct wasm_module *module;
    struct err err = {0};
    int rc = wasm_module_create(bytes.data, bytes.size, &module, &err);
    if (rc != (is_valid ? 0 : -EINVAL))
        fail_msg("%s: %s at %llu", hex, err.message, (unsigned long long)err.offset);
    wasm_module_destroy(module);
    free(bytes.data);
    free(types.data);
    free(body.data);
}

static void test_long_lists(void **state)
{
    expect_long("10 00 00", false);                   /* call, with no operand */
    expect_long("00 10 00 00", true);                 /* unreachable: any operands */
    expect_long("00 41 00 10 00 00", true);           /* the last of them is there */
    expect_long("00 42 00 10 00 00", false);          /* and of another type */
    expect_long("00 1b 10 00 00", true);              /* or of any type: select made it */
    expect_long("00 10 00 10 00 00", true);           /* results to operands */
    expect_long("00 10 00 41 00 10 00 00", true);     /* with one left below */
    expect_long("00 10 00 42 00 10 00 00", false);
}

/* A million blocks in one another: no recursion, and room in proportion. */
static void test_deep_nesting(void **state)
{
    struct bytes body = {.size = 3000000};
    body.data = malloc(body.size);
    for (size_t i = 0; i < 1000000; i++) {
        memcpy(body.data + 2 * i, "\x02\x40", 2);
        body.data[2000000 + i] = 0x0b;
    }
    struct bytes bytes = bytes_of_body(&body);
    struct wasm_module *module;
    assert_int_equal(wasm_module_create(bytes.data, bytes.size, &module, NULL), 0);
    wasm_module_destroy(module);
    free(bytes.data);
    free(body.data);
}

/* Calls of two bytes that leave 1,000 results each do not take 1,000 times the input. */
static void test_operand_limit(void **state)
{
    struct bytes bytes = {0}, section = {0};
    bytes_append_hex(&bytes, MAGIC);
    bytes_append_hex(&section, "01 60 00 e8 07");
    for (size_t i = 0; i < 1000; i++)
        bytes_append_hex(&section, "7f");
    bytes_append_hex(&bytes, "01");
    bytes_append_leb(&bytes, section.size);
    bytes_append(&bytes, section.data, section.size);
    bytes_append_hex(&bytes, "03 02 01 00");
    section.size = 0;
    bytes_append_hex(&section, "00");
    for (size_t i = 0; i < 2000; i++)
        bytes_append_hex(&section, "10 00");
    bytes_append_hex(&section, "00 0b");
    struct bytes code = {0};
    bytes_append_hex(&code, "01");
    bytes_append_leb(&code, section.size);
    bytes_append(&code, section.data, section.size);
    bytes_append_hex(&bytes, "0a");
    bytes_append_leb(&bytes, code.size);
    bytes_append(&bytes, code.data, code.size);
    struct wasm_module *module;
    struct err err = {0};
    assert_int_equal(wasm_module_create(bytes.data, bytes.size, &module, &err), -EINVAL);
    assert_string_equal(err.message, "operand stack too high: 1049000, the limit is 1048576");
    free(bytes.data);
    free(section.data);
    free(code.data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_contents),
        cmocka_unit_test(test_customs),
        cmocka_unit_test(test_segments),
        cmocka_unit_test(test_header),
        cmocka_unit_test(test_reports),
        cmocka_unit_test(test_bodies),
        cmocka_unit_test(test_far_locals),
        cmocka_unit_test(test_long_lists),
        cmocka_unit_test(test_deep_nesting),
        cmocka_unit_test(test_operand_limit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
