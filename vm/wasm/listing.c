/* One instruction as text, as the specification's text format writes it in its flat form (§6.5). It is what perf
 * annotate shows as a source line, so it must be one line without control bytes whatever the module contains: a
 * function's name is written as an identifier where it can be one, else as a quoted identifier with escapes (§6.3.3,
 * §6.3.5).
 *
 * Floats are written in the fewest digits that read back as the same number. The library's shortest formatting of that
 * kind exists in C++ only, so precisions are tried in turn; a listing is made once, and few instructions are float
 * constants.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "vm/wasm/module.h"
#include "vm/wasm/types.h"

struct text {
    char *bytes;
    size_t length;
    size_t capacity; /* with the terminating NUL; 0: nothing is kept */
};

static void put_char(struct text *text, char character)
{
    if (text->length + 1 < text->capacity)
        text->bytes[text->length++] = character;
}

static void put(struct text *text, const char *string)
{
    while (*string)
        put_char(text, *string++);
}

static void put_u64(struct text *text, uint64_t value)
{
    char digits[24];
    snprintf(digits, sizeof digits, "%llu", (unsigned long long)value);
    put(text, digits);
}

static void put_s64(struct text *text, int64_t value)
{
    char digits[24];
    snprintf(digits, sizeof digits, "%lld", (long long)value);
    put(text, digits);
}

/* " 7" */
static void put_index(struct text *text, uint32_t index)
{
    put_char(text, ' ');
    put_u64(text, index);
}

/* The characters of identifiers: printable ASCII but space, quotes, comma, semicolon and brackets (§6.3.5). */
static bool is_idchar(char character)
{
    return character > ' ' && character < 0x7f && !strchr("\",;()[]{}", character);
}

static void put_quoted(struct text *text, const struct wasm_name *name)
{
    static const char hex[] = "0123456789abcdef";
    put(text, "$\"");
    for (uint32_t i = 0; i < name->size_bytes; i++) {
        unsigned char byte = (unsigned char)name->bytes[i];
        if (byte < ' ' || byte >= 0x7f || byte == '"' || byte == '\\') {
            put_char(text, '\\');
            put_char(text, hex[byte >> 4]);
            put_char(text, hex[byte & 15]);
        } else {
            put_char(text, (char)byte);
        }
    }
    put_char(text, '"');
}

/* " $name", or " 7" where it has none. */
static void put_func(struct text *text, const struct wasm_module *module, uint32_t funcidx)
{
    const struct wasm_name *name = module->func_names ? &module->func_names[funcidx] : NULL;
    if (!name || name->size_bytes == 0) {
        put_index(text, funcidx);
        return;
    }
    put_char(text, ' ');
    for (uint32_t i = 0; i < name->size_bytes; i++) {
        if (!is_idchar(name->bytes[i])) {
            put_quoted(text, name);
            return;
        }
    }
    put_char(text, '$');
    for (uint32_t i = 0; i < name->size_bytes; i++)
        put_char(text, name->bytes[i]);
}

static void put_blocktype(struct text *text, int64_t blocktype)
{
    if (blocktype >= 0) {
        put(text, " (type ");
        put_s64(text, blocktype);
        put(text, ")");
    } else if (blocktype != -64) {
        put(text, " (result ");
        put(text, wasm_valtype_name((uint32_t)(blocktype & 0x7f)));
        put(text, ")");
    }
}

static void put_memarg(struct text *text, const struct wasm_instruction *instruction, uint32_t natural)
{
    if (instruction->index2)
        put_index(text, instruction->index2);
    if (instruction->immediate) {
        put(text, " offset=");
        put_u64(text, instruction->immediate);
    }
    if (instruction->align != natural) {
        put(text, " align=");
        put_u64(text, (uint64_t)1 << instruction->align);
    }
}

/* The fewest of `digits` that give `value` back. A locale may have a decimal comma, wasm has not. */
static void put_number(struct text *text, double value, bool is_f32)
{
    char digits[40];
    for (int precision = 1; precision <= (is_f32 ? 9 : 17); precision++) {
        snprintf(digits, sizeof digits, "%.*g", precision, value);
        if (is_f32 ? strtof(digits, NULL) == (float)value : strtod(digits, NULL) == value)
            break;
    }
    char *comma = strchr(digits, ',');
    if (comma)
        *comma = '.';
    put(text, digits);
}

/* `mantissa`: the bits below the exponent. */
static void put_float(struct text *text, double value, uint64_t mantissa, bool is_f32)
{
    put_char(text, ' ');
    if (isfinite(value)) {
        put_number(text, value, is_f32);
        return;
    }
    put(text, signbit(value) ? "-" : "");
    put(text, isinf(value) ? "inf" : "nan");
    uint64_t canonical = (uint64_t)1 << (is_f32 ? 22 : 51);
    if (isnan(value) && mantissa != canonical) {
        char payload[24];
        snprintf(payload, sizeof payload, ":0x%llx", (unsigned long long)mantissa);
        put(text, payload);
    }
}

static void put_f32(struct text *text, uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    put_float(text, value, bits & 0x7fffff, true);
}

static void put_f64(struct text *text, uint64_t bits)
{
    double value;
    memcpy(&value, &bits, sizeof value);
    put_float(text, value, bits & 0xfffffffffffff, false);
}

static void put_labels(struct text *text, const struct wasm_instruction *instruction)
{
    const uint8_t *at = instruction->list;
    for (uint32_t i = 0; i <= instruction->count; i++)
        put_index(text, wasm_leb_u32(&at));
}

static void put_valtypes(struct text *text, const struct wasm_instruction *instruction)
{
    const uint8_t *at = instruction->list;
    put(text, " (result");
    for (uint32_t i = 0; i < instruction->count; i++) {
        put_char(text, ' ');
        put(text, wasm_valtype_name(wasm_leb_u32(&at)));
    }
    put(text, ")");
}

/* Both, or neither where both are 0. */
static void put_copy(struct text *text, uint32_t to, uint32_t from)
{
    if (to || from) {
        put_index(text, to);
        put_index(text, from);
    }
}

static void put_immediate(struct text *text, const struct wasm_module *module,
                          const struct wasm_instruction *instruction)
{
    enum wasm_immediate immediate = wasm_opcodes[instruction->opcode].immediate;
    switch (immediate) {
    case WASM_IMM_NONE:
        break;
    case WASM_IMM_BLOCKTYPE:
        put_blocktype(text, instruction->blocktype);
        break;
    case WASM_IMM_LABELS:
        put_labels(text, instruction);
        break;
    case WASM_IMM_FUNC:
        put_func(text, module, instruction->index);
        break;
    case WASM_IMM_TYPE_TABLE:
        if (instruction->index2)
            put_index(text, instruction->index2);
        put_blocktype(text, instruction->index);
        break;
    case WASM_IMM_VALTYPES:
        put_valtypes(text, instruction);
        break;
    case WASM_IMM_LABEL:
    case WASM_IMM_LOCAL:
    case WASM_IMM_GLOBAL:
    case WASM_IMM_TABLE:
    case WASM_IMM_ELEM:
    case WASM_IMM_DATA:
        put_index(text, instruction->index);
        break;
    case WASM_IMM_MEMORY:
        if (instruction->index)
            put_index(text, instruction->index);
        break;
    case WASM_IMM_TABLE_TABLE:
    case WASM_IMM_MEMORY_MEMORY:
        put_copy(text, instruction->index, instruction->index2);
        break;
    case WASM_IMM_ELEM_TABLE: /* the text has the table first */
    case WASM_IMM_DATA_MEMORY:
        if (instruction->index2)
            put_index(text, instruction->index2);
        put_index(text, instruction->index);
        break;
    case WASM_IMM_MEMARG1:
    case WASM_IMM_MEMARG2:
    case WASM_IMM_MEMARG4:
    case WASM_IMM_MEMARG8:
        put_memarg(text, instruction, immediate - WASM_IMM_MEMARG1);
        break;
    case WASM_IMM_I32:
        put_char(text, ' ');
        put_s64(text, (int32_t)instruction->immediate);
        break;
    case WASM_IMM_I64:
        put_char(text, ' ');
        put_s64(text, (int64_t)instruction->immediate);
        break;
    case WASM_IMM_F32:
        put_f32(text, (uint32_t)instruction->immediate);
        break;
    case WASM_IMM_F64:
        put_f64(text, instruction->immediate);
        break;
    case WASM_IMM_HEAPTYPE:
        put(text, instruction->index == WASM_FUNCREF ? " func" : " extern");
        break;
    }
}

uint32_t wasm_listing(const struct wasm_module *module, uint32_t offset, char *bytes, size_t capacity)
{
    struct text text = {.bytes = bytes, .capacity = capacity};
    struct wasm_instruction instruction;
    uint32_t next = wasm_decode(module, offset, &instruction);
    put(&text, wasm_opcodes[instruction.opcode].text);
    put_immediate(&text, module, &instruction);
    if (capacity)
        bytes[text.length] = '\0';
    return next;
}
